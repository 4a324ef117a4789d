"""Errors kept row by row: the bits against the plain matrix, sets of every origin against their own predictions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from pacbayes import ClassifierSet, grid_set, svm_set
from pacbayes.classifiers.packed_errors import PackedErrors, check_error_rows_fit

GRID = {"max_depth": [1, 2, 3]}


def rows_and_labels(n=61, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 10**6), st.booleans())
def test_bits_are_the_matrix(number, n_rows, seed, own_rows):
    rng = np.random.default_rng(seed)
    validated = rng.random((number, n_rows)) < 0.5 if own_rows else np.ones((number, n_rows), dtype=bool)
    wrong = (rng.random((number, n_rows)) < 0.4) & validated
    kept = PackedErrors.of(wrong, validated if own_rows else None)
    np.testing.assert_array_equal(kept.rows(), wrong)
    assert kept.errors.tolist() == wrong.sum(axis=1).tolist()
    assert kept.sizes.tolist() == validated.sum(axis=1).tolist()
    found = kept.tandem_risks()
    for i in range(number):
        for j in range(number):
            both, size = int((wrong[i] & wrong[j]).sum()), int((validated[i] & validated[j]).sum())
            if size == 0:
                assert found[i, j] == 1.0
            else:
                # Not below the exact quotient, and at most a unit above: in whole numbers.
                assert found[i, j].as_integer_ratio()[0] * size >= both * found[i, j].as_integer_ratio()[1]
                assert found[i, j] <= np.nextafter(both / size, 2.0)
    blocks = PackedErrors.none(number, n_rows)
    cuts = sorted({0, n_rows, *rng.integers(0, n_rows + 1, 3).tolist()})
    for start, stop in itertools.pairwise(cuts):
        blocks.put(slice(start, stop), wrong[:, start:stop])
    np.testing.assert_array_equal(blocks.packed, kept.packed)


def test_many_rows_are_counted_in_blocks():
    rng = np.random.default_rng(0)
    wrong = rng.random((200, 30_000)) < 0.3
    # Whole numbers, exact as doubles too, whose products are quicker.
    exact = wrong.astype(np.float64) @ wrong.T
    np.testing.assert_allclose(PackedErrors.of(wrong).tandem_risks(), exact / 30_000, rtol=1e-15)


def expected_errors(classifiers, X, y):
    """Who errs on which row, asked one by one; in the columns of a set's `error_rows`."""
    shared = classifiers.validated_rows is None
    columns = classifiers.splits(0)[1] if shared else np.arange(len(y))
    table = np.array([classifiers[i].predict(X[columns]) != y[columns] for i in range(len(classifiers))])
    if shared:
        return table
    inside = np.zeros_like(table)
    for i in range(len(classifiers)):
        inside[i, classifiers.splits(i)[1]] = True
    np.testing.assert_array_equal(classifiers.validated_rows, inside)
    return table & inside


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("kind", ["svm", "grid"])
@pytest.mark.parametrize("duplicates", ["keep", "together"])
def test_sets_keep_what_they_count(kind, split, duplicates):
    X, y = rows_and_labels()
    X, y = np.vstack([X, X[:9]]), np.r_[y, y[:9]]
    options = {"split": split, "random_state": 0, "duplicates": duplicates}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # of copies, which are planted
        if kind == "svm":
            plain, kept = (svm_set(X, y, [0.1, 1.0, 5.0], keep_error_rows=keep, **options) for keep in (False, True))
        else:
            tree = DecisionTreeClassifier(random_state=0)
            plain, kept = (grid_set(tree, GRID, X, y, keep_error_rows=keep, **options) for keep in (False, True))
    assert plain.error_rows is None
    np.testing.assert_array_equal(plain.errors, kept.errors)
    np.testing.assert_array_equal(kept.error_rows, expected_errors(kept, X, y))
    np.testing.assert_array_equal(kept.error_rows.sum(axis=1), kept.errors)
    with pytest.raises(ValueError, match="make it with keep_error_rows=True"):
        plain.tandem_risks()
    np.testing.assert_array_equal(np.diag(kept.tandem_risks()), kept.risks)
    assert kept.without_error_rows().error_rows is None


def test_a_checkpoint_of_another_choice_is_refused(tmp_path):
    X, y = rows_and_labels()
    options = {"split": "independent", "random_state": 0, "checkpoint": tmp_path}
    first = svm_set(X, y, [0.1, 1.0], keep_error_rows=True, **options)
    again = svm_set(X, y, [0.1, 1.0], keep_error_rows=True, **options)
    np.testing.assert_array_equal(again.error_rows, first.error_rows)
    with pytest.raises(ValueError, match="keep_error_rows"):
        svm_set(X, y, [0.1, 1.0], **options)


def test_sets_of_other_peoples_classifiers():
    X, y = rows_and_labels()
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[:30], y[:30]) for d in (1, 3)]
    expected = np.array([one.predict(X[30:]) != y[30:] for one in fitted])
    kept = ClassifierSet.from_fitted(fitted, X[30:], y[30:], keep_error_rows=True)
    np.testing.assert_array_equal(kept.error_rows, expected)
    kept = ClassifierSet.from_predictions([one.predict(X[30:]) for one in fitted], y[30:], keep_error_rows=True)
    np.testing.assert_array_equal(kept.error_rows, expected)
    assert kept.validated_rows is None
    assert ClassifierSet.from_fitted(fitted, X[30:], y[30:]).error_rows is None


def test_dropped_classifiers_leave_no_row():
    class Never(DecisionTreeClassifier):
        def fit(self, X, y):
            raise ValueError("never")

    X, y = rows_and_labels()
    trees = [DecisionTreeClassifier(random_state=0), Never(), DecisionTreeClassifier(max_depth=1, random_state=0)]
    with pytest.warns(UserWarning, match="1 of 3 classifiers could not be fitted"):
        kept = grid_set(None, trees, X, y, error_score="drop", keep_error_rows=True, random_state=0)
    np.testing.assert_array_equal(kept.error_rows, expected_errors(kept, X, y))


def test_groups_are_refused_before_any_training():
    X, y = rows_and_labels()
    groups = np.arange(len(y)) // 2
    for make in (
        lambda: svm_set(X, y, [1.0], groups=groups, keep_error_rows=True),
        lambda: grid_set(DecisionTreeClassifier(), GRID, X, y, groups=groups, keep_error_rows=True),
    ):
        with pytest.raises(ValueError, match="keep_error_rows must be False with groups"):
            make()


def test_what_does_not_fit_is_refused_before_any_training(monkeypatch):
    X, y = rows_and_labels()
    with pytest.raises(MemoryError, match=r"keep_error_rows=True for 3 classifiers and 30 rows needs 12 bytes"):
        svm_set(X, y, [0.1, 1.0, 5.0], keep_error_rows=True, max_bytes=11)
    monkeypatch.setattr("pacbayes.runtime.memory.free_bytes", lambda: 20)
    with pytest.raises(MemoryError, match="Give fewer classifiers or rows, or keep_error_rows=False"):
        grid_set(DecisionTreeClassifier(), GRID, X, y, keep_error_rows=True)
    with pytest.raises(MemoryError, match="keep_error_rows=True"):
        ClassifierSet.from_predictions(np.zeros((20, 10)), np.zeros(10), keep_error_rows=True)
    check_error_rows_fit(1, 80, max_bytes=10)
