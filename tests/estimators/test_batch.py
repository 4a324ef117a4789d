"""Certificates of batches: of both estimators, of prefit classifiers, of loaded models, and in blocks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, load, save
from pacbayes.bounds.binomial import hypergeometric_upper

X, Y = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(Y.size)
OLD, NEW = ORDER[:400], ORDER[400:]
TREES = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 4]})


MODELS = {
    "trees": CertifiedClassifier(TREES, cv=3, random_state=0),
    "SVMs": StochasticSVC([0.1, 1.0, 10.0], hedge=0.1, cv=3, random_state=0),
    "posterior": StochasticSVC([0.1, 1.0, 10.0], voting="best", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_bound_on_the_errors_of_a_batch(name, tmp_path):
    model = clone(MODELS[name]).fit(X[OLD], Y[OLD])
    batch, validation = model.certify_batch(X[NEW]), OLD[model.classifiers_.splits(0)[1]]
    errors = int((model.predict(X[validation]) != Y[validation]).sum())
    assert (batch.rows, batch.errors, batch.m, batch.seen) == (169, errors, validation.size, 0)
    assert batch.wrong == hypergeometric_upper(errors, validation.size, 169, batch.level)
    assert batch.wrong >= (model.predict(X[NEW]) != Y[NEW]).sum()
    assert batch.level == pytest.approx({"trees": 0.05, "SVMs": 0.045, "posterior": 0.05 / 3}[name])
    save(model, tmp_path / "model")
    assert load(tmp_path / "model", trusted=["sklearn."]).certify_batch(X[NEW]) == batch


@pytest.fixture(scope="module")
def clf():
    return clone(MODELS["trees"]).fit(X[OLD], Y[OLD])


# -- prefit classifiers ----------------------------------------------------------------------------------------------


def prefit(models, **options):
    half = OLD[:200]
    fitted = [clone(model).fit(X[half], Y[half]) for model in models]
    return CertifiedClassifier.from_fitted(fitted, X[OLD[200:]], Y[OLD[200:]], random_state=0, **options)


THREE = (DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3, random_state=0), GaussianNB())


@pytest.mark.parametrize(
    ("models", "options", "rule", "level"),
    [
        ((GaussianNB(),), {}, "primary", 0.05),
        (THREE, {}, "Occam", 0.05 / 3),
        (THREE, {"primary": 2, "hedge": 0}, "primary", 0.05),
        (THREE, {"primary": 2, "hedge": 0.1}, "primary", 0.045),
        # This vote and the posterior share the hedge.
        (THREE, {"primary": 1, "hedge": 0.1, "voting": "majority"}, "equal vote", 0.005 / 2),
        (THREE, {"prior": [0.5, 0.3, 0.2]}, "Occam", None),
    ],
)
def test_from_fitted(models, options, rule, level):
    clf = prefit(models, **options)
    assert clf.certificate_.rule == rule
    batch = clf.certify_batch(X[NEW])
    assert (batch.m, batch.rows) == (200, 169)
    assert batch.errors == (clf.predict(X[OLD[200:]]) != Y[OLD[200:]]).sum()
    share = clf.prior_[clf.best_index_]
    assert batch.level == pytest.approx(0.05 * share if level is None else level)
    with pytest.raises(ValueError, match="200 of 200 rows equal a row behind the model"):
        clf.certify_batch(X[OLD[200:]])


# -- rows that are not new -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["training", "validation", "both", "half"])
def test_rows_of_the_fit_are_rejected(which, clf):
    train, validation = clf.classifiers_.splits(0)
    rows = {"training": OLD[train], "validation": OLD[validation][::-1], "both": OLD, "half": np.r_[OLD[:20], NEW[:20]]}
    seen = 20 if which == "half" else rows[which].size
    message = f"X must contain new rows, but {seen} of {rows[which].size} rows equal a row behind"
    with pytest.raises(ValueError, match=message):
        clf.certify_batch(X[rows[which]])


def test_a_few_rows_of_the_fit_are_reported(clf):
    batch = clf.certify_batch(X[np.r_[OLD[:3], NEW]])
    assert (batch.rows, batch.seen) == (172, 3)
    assert "3 rows equal rows that the model was fitted with" in str(batch)
    with pytest.raises(ValueError, match="1 of 1 rows equals a row behind the model"):
        clf.certify_batch(X[OLD[:1]])


# -- block by block --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_blocks_of_any_size(size, clf):
    for rows in (NEW, np.r_[OLD[:3], NEW], OLD):
        blocks = clf._counted_batch()
        for start in range(0, rows.size, size):
            blocks.add(X[rows[start : start + size]])
        if rows is OLD:
            with pytest.raises(ValueError, match="400 of 400 rows equal"):
                blocks.batch()
        else:
            assert blocks.batch() == clf.certify_batch(X[rows])
