"""Slices: names, invalid values, duplicates, and slices without validation rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, load, model_card, save
from pacbayes.data.dataset import Slices
from pacbayes.report import report_html


def names_of(values):
    return Slices.from_values(values, len(values)).names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", "b"], ("a", "b")),
        (pd.Series(["b", "a"], dtype="category"), ("a", "b")),
        (pd.Series([2, 1], dtype="Int64"), (1, 2)),
        (np.array([np.int64(2), np.int64(1)], dtype=object), (1, 2)),
        ([True, False], (False, True)),
        ([0.5, 0.25], (0.25, 0.5)),
        (np.array(["2020-01-02", "2020-01-01"], dtype="datetime64[D]"), ("2020-01-01", "2020-01-02")),
    ],
)
def test_names(values, names):
    assert names_of(values) == names
    assert list(map(type, names_of(values))) == list(map(type, names))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], "got none for row 1"),
        (pd.Series(["a", None], dtype="string"), "got none for row 1"),
        (np.array(["2020-01-02", "NaT"], dtype="datetime64[D]"), "got none for row 1"),
        (np.array(["a", None], dtype=object), "got none for row 1"),
        (np.array(["a", 1], dtype=object), "got a mixture"),
        (np.array([("a",), "b"], dtype=object), "must be numbers or strings, got tuple"),
        ([["a"], ["b"]], "one entry for each of 2 rows"),
    ],
)
def test_invalid_values(values, message):
    with pytest.raises(ValueError, match=message):
        names_of(values)


def sample(n=120):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (n, 2)).astype(float)
    return X, (X.sum(axis=1) + rng.normal(size=n) > 5).astype(int)


def trees(**params):
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}), random_state=0, cv=3, **params)


def svc(**params):
    return StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0, **params)


@pytest.mark.parametrize("make", [trees, svc])
def test_duplicates_have_one_slice(make):
    X, y = sample()
    by_value = np.where(X[:, 0] > 2, "high", "low")
    clf = make(metrics=("error",), duplicates="together").fit(X, y, slices=by_value)
    assert sum(metric.rows for metric in clf.certificate_.metrics if metric.kind == "slice") == clf.classifiers_.m
    with pytest.raises(ValueError, match="the same for duplicates of an example"):
        make(metrics=("error",), duplicates="together").fit(X, y, slices=np.arange(len(X)) % 2)


def test_bound_is_one_without_validation_rows(tmp_path):
    X, y = sample()
    train = trees().fit(X, y).classifiers_.splits(0)[0]
    slices = np.where(np.arange(len(X)) == train[0], "rare", "usual")
    labels = np.where(np.arange(len(X)) == train[1], 2, y)
    clf = trees(metrics=("error",)).fit(X, labels, slices=slices)
    by_name = {(metric.kind, metric.of): metric for metric in clf.certificate_.metrics}
    for key in (("class", 2), ("slice", "rare")):
        assert (by_name[key].rows, by_name[key].bound) == (0, 1.0)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == clf.certificates_


def test_slices_of_two_columns(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    table = pd.DataFrame({"site": rng.choice(["north", "south"], 400), "device": rng.integers(2, size=400)})
    clf = CertifiedClassifier("logistic", metrics=("error",), cv=2, random_state=0).fit(X, y, slices=table)
    expected = [("north", 0), ("north", 1), ("south", 0), ("south", 1)]
    assert [metric.of for metric in clf.certificate_.metrics if metric.kind == "slice"] == expected
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificate_ == clf.certificate_
    assert "site, device = (&#39;north&#39;, 0)" in report_html(clf)
    assert "('north', 0)" in model_card(clf)
    separate = CertifiedClassifier("logistic", metrics=("error",), cv=2, random_state=0)
    validation = {"X_val": X[200:], "y_val": y[200:], "slices_val": table[200:]}
    separate.fit(X[:200], y[:200], slices=table[:200], **validation)
    assert separate._fitted.plan.slices == tuple(expected)
    assert separate._fitted.plan.slice_column == "site, device"
