"""Who errs on which row: sets of every origin against their own predictions."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from pacbayes import ClassifierSet, grid_set, svm_set
from pacbayes.ensemble.evidence import check_evidence_fits

GRID = {"max_depth": [1, 2, 3]}


def rows_and_labels(n=61, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


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
            kept = svm_set(X, y, [0.1, 1.0, 5.0], **options)
        else:
            kept = grid_set(DecisionTreeClassifier(random_state=0), GRID, X, y, **options)
    np.testing.assert_array_equal(kept.error_rows, expected_errors(kept, X, y))
    np.testing.assert_array_equal(kept.error_rows.sum(axis=1), kept.errors)
    np.testing.assert_array_equal(np.diag(kept.tandem_risks()), kept.risks)


def test_a_checkpoint_gives_the_same(tmp_path):
    X, y = rows_and_labels()
    options = {"split": "independent", "random_state": 0, "checkpoint": tmp_path}
    first, again = (svm_set(X, y, [0.1, 1.0], **options) for _ in range(2))
    np.testing.assert_array_equal(again.error_rows, first.error_rows)


def test_sets_of_other_peoples_classifiers():
    X, y = rows_and_labels()
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[:30], y[:30]) for d in (1, 3)]
    expected = np.array([one.predict(X[30:]) != y[30:] for one in fitted])
    kept = ClassifierSet.from_fitted(fitted, X[30:], y[30:])
    np.testing.assert_array_equal(kept.error_rows, expected)
    kept = ClassifierSet.from_predictions([one.predict(X[30:]) for one in fitted], y[30:])
    np.testing.assert_array_equal(kept.error_rows, expected)
    assert kept.validated_rows is None


def test_dropped_classifiers_leave_no_row():
    class Never(DecisionTreeClassifier):
        def fit(self, X, y):
            raise ValueError("never")

    X, y = rows_and_labels()
    trees = [DecisionTreeClassifier(random_state=0), Never(), DecisionTreeClassifier(max_depth=1, random_state=0)]
    with pytest.warns(UserWarning, match="1 of 3 classifiers could not be fitted"):
        kept = grid_set(None, trees, X, y, error_score="drop", random_state=0)
    np.testing.assert_array_equal(kept.error_rows, expected_errors(kept, X, y))


def test_what_does_not_fit_is_refused_before_any_training(monkeypatch):
    class Never(DecisionTreeClassifier):
        def fit(self, X, y):
            pytest.fail("there is no room for its answers")

    X, y = rows_and_labels()
    with pytest.raises(MemoryError, match="the answers of 3 classifiers to 30 rows needs 270 bytes"):
        svm_set(X, y, [0.1, 1.0, 5.0], max_bytes=269)
    monkeypatch.setattr("pacbayes._utils.memory.free_bytes", lambda: 20)
    with pytest.raises(MemoryError, match="Give fewer classifiers or rows"):
        grid_set(Never(), GRID, X, y)
    with pytest.raises(MemoryError, match="Give fewer classifiers or rows"):
        ClassifierSet.from_fitted([DecisionTreeClassifier().fit(X, y)], X, y)
    check_evidence_fits(1, 80, max_bytes=240)
