"""Validation predictions: every row is predicted once, and error counts equal a loop."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grouped import is_rounded_up
from tests.ensemble.recording import recording_members

from pacbayes import CertifiedClassifier, Grid
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import DISTINCT, GROUP, make_validation_split, plan_split
from pacbayes.ensemble import validation as module
from pacbayes.ensemble.members import smallest_code_dtype
from pacbayes.ensemble.validation import (
    ErrorCounts,
    ValidationPredictions,
    collect_predictions,
    errors_to_risks,
    losses_to_risks,
)

N, MEMBERS = 60, 5
RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(12), [1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 9]))
DUPLICATES = np.unique(RNG.integers(0, 40, N), return_inverse=True)[1].astype(np.int64)


def split_of(kind, unit="example", units=None):
    return plan_split(N, kind=kind, validation_size=0.5, seed=3, unit=unit, units=units)


SPLITS = {
    "shared": split_of("shared"),
    "independent": split_of("independent"),
    "validation only": make_validation_split(N),
    "groups": split_of("shared", GROUP, GROUPS),
    "groups, independent": split_of("independent", GROUP, GROUPS),
    "groups, validation only": make_validation_split(N, GROUP, GROUPS),
    "duplicates": split_of("shared", DISTINCT, DUPLICATES),
    "duplicates, independent": split_of("independent", DISTINCT, DUPLICATES),
}


# -- error counts ----------------------------------------------------------------------------------------------------


def random_predictions(split, n_labels, n_classes=3):
    rng, dtype = np.random.default_rng(0), smallest_code_dtype(n_labels)
    columns = split.validation_rows
    y_pred = np.full((MEMBERS, columns.size), np.iinfo(dtype).max, dtype=dtype)
    for i, row in enumerate(y_pred):
        evaluated = np.isin(columns, split(i)[1])
        row[evaluated] = rng.integers(n_labels, size=evaluated.sum())
    y_true = rng.integers(n_classes, size=columns.size).astype(dtype)
    return ValidationPredictions(np.arange(n_labels), n_classes, y_pred, y_true)


def errors_by_loop(predictions, split, i):
    """Mask of errors among the validation rows of a classifier, and the exact mean loss of the units."""
    columns = {row: column for column, row in enumerate(split.validation_rows.tolist())}
    rows = split(i)[1]
    errors = np.array([predictions.y_pred[i, columns[row]] != predictions.y_true[columns[row]] for row in rows])
    if split.unit != GROUP:
        return errors, Fraction(int(errors.sum()), rows.size)
    groups = split.units[rows]
    losses = [Fraction(int(errors[groups == group].sum()), int((groups == group).sum())) for group in np.unique(groups)]
    return errors, sum(losses) / len(losses)


@pytest.mark.parametrize("block", [7, 1 << 22])
@pytest.mark.parametrize("name", SPLITS)
def test_error_counts_equal_a_loop(name, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_SIZE", block)
    split = SPLITS[name]
    for n_labels in (4, 300):
        predictions = random_predictions(split, n_labels)
        counts = predictions.count_errors(split)
        assert (counts.sizes is not None) == (split.unit == GROUP)
        for i in range(MEMBERS):
            errors, risk = errors_by_loop(predictions, split, i)
            assert counts.total[i] == errors.sum()
            assert is_rounded_up(counts.risks[i], risk)
            n_units = errors.size if split.unit != GROUP else np.unique(split.units[split(i)[1]]).size
            assert counts.m == n_units == split.m


@given(st.integers(1, 10**7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_risk_is_the_smallest_double_not_below_the_quotient(case):
    m, errors = case
    risk = float(errors_to_risks(np.array([errors]), m)[0])
    assert is_rounded_up(risk, Fraction(errors, m))
    assert risk <= 1.0


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_mean_loss_is_never_below_the_exact_mean(losses):
    risk = Fraction(float(losses_to_risks(np.array([losses]))[0]))
    exact = sum(map(Fraction, losses)) / len(losses)
    assert exact <= risk <= min(1, exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1070))
    assert (risk == 0) == (exact == 0)


def test_risks_of_groups_are_exact_means_rounded_up():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes = rng.integers(1, 60, rng.integers(1, 30))
        errors = rng.integers(0, sizes + 1, (2, sizes.size))
        m = int(rng.integers(1, sizes.size + 1))
        for risk, row in zip(ErrorCounts(errors, sizes, m).risks, errors, strict=True):
            assert is_rounded_up(risk, sum(Fraction(int(k), int(s)) for k, s in zip(row, sizes, strict=True)) / m)


# -- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", SPLITS)
def test_each_classifier_predicts_its_validation_rows_once_and_no_others(name, n_jobs):
    split = SPLITS[name]
    table, members, X = recording_members(n_classifiers=MEMBERS, n=N)
    data = Dataset.from_arrays(X, np.random.default_rng(1).choice(["b", "c"], size=N))
    predictions = collect_predictions(members, data, split, n_jobs)
    columns = split.validation_rows
    np.testing.assert_array_equal(predictions.labels[predictions.y_true], data.labels[columns])
    for i, classifier in enumerate(members.estimators):
        rows = split(i)[1]
        assert sorted(classifier.predicted) == rows.tolist()
        evaluated = np.isin(columns, rows)
        np.testing.assert_array_equal(predictions.labels[predictions.y_pred[i, evaluated]], table[i, rows])
        assert (predictions.y_pred[i, ~evaluated] == predictions.not_evaluated).all()


class RecordingTree(DecisionTreeClassifier):
    """Record the predicted rows, whose first column is their index, of each tree and of all trees."""

    by_all: list = []  # noqa: RUF012  # shared on purpose

    def fit(self, X, y):
        self.predicted_ = []
        return super().fit(X, y)

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int).tolist()
        self.predicted_ += rows
        RecordingTree.by_all += rows
        return super().predict(X)


@pytest.mark.parametrize("options", [{}, {"hedge": 1, "cv": None}, {"metrics": ("error",)}, {"voting": "stochastic"}])
def test_fit_predicts_validation_rows_once(options):
    """Training rows show whether predictions depend on the batch."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(120.0), rng.normal(size=(120, 2))])
    y = (X[:, 1] + 0.5 * rng.normal(size=120) > 0).astype(int)
    RecordingTree.by_all.clear()
    grid = Grid(RecordingTree(), {"max_depth": [1, 2, 3, None]})
    clf = CertifiedClassifier(grid, random_state=0, **{"cv": 3, "validation_size": 0.5} | options).fit(X, y)
    validation = clf.classifiers_.splits(0)[1].tolist()
    for tree in clf.classifiers_:
        counts = Counter(tree.predicted_)
        assert [counts[row] for row in validation] == [1] * len(validation)
    # No other classifiers predict them, such as those of folds.
    by_all = Counter(RecordingTree.by_all)
    assert [by_all[row] for row in validation] == [4] * len(validation)
