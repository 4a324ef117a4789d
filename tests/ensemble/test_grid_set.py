"""Sets of scikit-learn classifiers: errors recomputed from predictions, with any number of workers."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing
from tests.ensemble.grids import GRIDS, X, Y, bits

from pacbayes import grid_set, optimal_posterior


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("name", GRIDS)
def test_errors_equal_those_of_predictions(name, split):
    estimator, grid, rows, labels = GRIDS[name]
    classifiers = grid_set(estimator, grid, rows, labels, split=split, random_state=1)
    rows = rows.tocsr() if name == "sparse" else rows
    labels = np.asarray(labels)
    predictions = classifiers.predict(rows)
    assert predictions.shape == (len(classifiers), len(labels))
    assert (classifiers.risks < 0.6).all()
    for i in range(len(classifiers)):
        train, validation = classifiers.splits(i)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(len(labels)))
        wrong = predictions[i] != labels
        assert classifiers.m == validation.size
        assert classifiers.errors[i] == np.count_nonzero(wrong[validation])
        refitted = clone(classifiers[i]).fit(_safe_indexing(rows, train), labels[train])
        np.testing.assert_array_equal(refitted.predict(rows), predictions[i])
    majority_error = 1.0 - np.unique(labels, return_counts=True)[1].max() / labels.size
    assert optimal_posterior(classifiers.risks, classifiers.m).empirical_risk < majority_error


@pytest.mark.parametrize("name", GRIDS)
def test_same_bits_for_any_number_of_workers(name):
    estimator, grid, rows, labels = GRIDS[name]
    arguments = {"split": "independent", "random_state": 5}
    one = grid_set(estimator, grid, rows, labels, **arguments)
    two = grid_set(estimator, grid, rows, labels, n_jobs=2, **arguments)
    with parallel_config(backend="threading", n_jobs=3):
        three = grid_set(estimator, grid, rows, labels, **arguments)
    for other in (two, three):
        np.testing.assert_array_equal(one.errors, other.errors)
        for i in range(len(one)):
            assert bits(one[i]) == bits(other[i])


def test_only_training_rows_are_used():
    tree = DecisionTreeClassifier()
    grid, arguments = {"max_depth": [2, 5, None]}, {"split": "independent", "random_state": 3}
    before = grid_set(tree, grid, X, Y, **arguments)
    for i in range(3):
        train, _ = before.splits(i)
        changed = np.full_like(X, 1e3)
        changed[train] = X[train]
        after = grid_set(tree, grid, changed, Y, **arguments)
        np.testing.assert_array_equal(after[i].predict(X), before[i].predict(X))


class FragileTree(DecisionTreeClassifier):
    """Fail for large leaves, in `fit` or, if `late`, in `predict`."""

    def __init__(self, min_samples_leaf=1, late=False):
        super().__init__(min_samples_leaf=min_samples_leaf)
        self.late = late

    def fit(self, X, y):
        if self.min_samples_leaf > 5 and not self.late:
            raise RuntimeError("broken")
        return super().fit(X, y)

    def predict(self, X):
        if self.min_samples_leaf > 5 and self.late:
            raise RuntimeError("broken")
        return super().predict(X)


def test_failures():
    grid, arguments = {"min_samples_leaf": [1, 9, 2]}, {"random_state": 0}
    for n_jobs in (1, 2):
        with pytest.raises(
            ValueError, match=r"classifier 1 with {'min_samples_leaf': 9} could not be fitted: .*broken"
        ):
            grid_set(FragileTree(), grid, X, Y, n_jobs=n_jobs, **arguments)
    with pytest.warns(UserWarning, match=r"1 of 3 classifiers could not be fitted .*'min_samples_leaf': 9.*broken"):
        classifiers = grid_set(FragileTree(), grid, X, Y, error_score="drop", **arguments)
    assert [params["min_samples_leaf"] for params in classifiers.params] == [1, 2]
    assert classifiers.dropped == [{"params": {"min_samples_leaf": 9}, "error": "RuntimeError: broken"}]
    assert len(classifiers) == classifiers.predict(X).shape[0] == 2
    # Errors of `predict` depend on validation rows and must not drop classifiers.
    with pytest.raises(ValueError, match=r"classifier 1 with .* was fitted but could not predict"):
        grid_set(FragileTree(late=True), grid, X, Y, error_score="drop", **arguments)
    with pytest.raises(ValueError, match="none of 1 classifiers could be fitted"):
        grid_set(FragileTree(), {"min_samples_leaf": [9]}, X, Y, error_score="drop", **arguments)
    with pytest.raises(ValueError, match="error_score='drop' requires split='shared'"):
        grid_set(FragileTree(), grid, X, Y, error_score="drop", split="independent", **arguments)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"param_grid": {"nonsense": [1]}}, ValueError, r"param_grid: {'nonsense': 1} .*Invalid parameter 'nonsense'"),
        ({"param_grid": 3}, TypeError, "param_grid must be a dict, a list of dicts or .*got 3"),
        ({"param_grid": []}, TypeError, r"param_grid must be .*got \[\]"),
        ({"param_grid": [GaussianNB()]}, ValueError, "estimator must be None where"),
        ({"estimator": None, "param_grid": [GaussianNB(), 3]}, TypeError, r"param_grid\[1\] must be .*got 3"),
        ({"estimator": [GaussianNB()]}, TypeError, "give a list of them as param_grid"),
        ({"estimator": StandardScaler()}, TypeError, "estimator must be .*StandardScaler"),
        ({"estimator": GaussianNB}, TypeError, "estimator must be an unfitted"),
        ({"n_iter": 0}, ValueError, "n_iter must be at least 1, got 0"),
        ({"n_iter": True}, TypeError, "n_iter must be an integer"),
        ({"error_score": 0.0}, TypeError, "error_score must be a string, one of raise, drop"),
        ({"error_score": "ignore"}, ValueError, "unknown error_score 'ignore'"),
        ({"split": "both"}, ValueError, "unknown split 'both'"),
        ({"y": Y[:-1]}, ValueError, "X and y must have the same length, got 569 and 568"),
        ({"y": np.zeros(len(Y))}, ValueError, "y must hold at least two classes"),
        ({"y": np.where(Y, np.nan, 1.0)}, ValueError, "y contains NaN"),
        ({"y": Y + np.random.default_rng(0).random(len(Y))}, ValueError, "continuous"),
        ({"X": "text"}, TypeError, "X must be rows: .*got 'text'"),
        ({"random_state": -1}, ValueError, "random_state must not be negative"),
    ],
)
def test_wrong_input(change, error, message):
    arguments = {"estimator": DecisionTreeClassifier(), "param_grid": {"max_depth": [1]}, "X": X, "y": Y} | change
    with pytest.raises(error, match=message):
        grid_set(**arguments)


def test_random_states_that_are_none_are_set():
    forest = RandomForestClassifier(n_estimators=2)
    a, b, other_seed = (grid_set(forest, {"max_depth": [1, 2]}, X, Y, random_state=seed) for seed in (0, 0, 1))
    assert forest.random_state is None
    assert a[0].random_state == b[0].random_state
    assert len({classifier.random_state for classifier in (*a, *other_seed)}) == 4
    fixed = grid_set(RandomForestClassifier(2, random_state=7), {"max_depth": [1, 2]}, X, Y, random_state=0)
    assert [classifier.random_state for classifier in fixed] == [7, 7]
    grid = grid_set(forest, {"random_state": [3, None]}, X, Y, random_state=0)
    assert grid[0].random_state == 3
    assert isinstance(grid[1].random_state, int)
    nested = grid_set(None, [make_pipeline(StandardScaler(), SGDClassifier())], X, Y, random_state=0)[0]
    assert isinstance(nested[-1].random_state, int)


def test_drawn_settings():
    distributions = {"C": loguniform(1e-3, 1e3), "fit_intercept": [True, False]}
    a, b, c = (
        grid_set(LogisticRegression(solver="liblinear"), distributions, X, Y, n_iter=4, random_state=seed).params
        for seed in (1, 1, 2)
    )
    assert len(a) == 4
    assert a == b
    assert a != c
    with pytest.raises(ValueError, match=r"n_iter must be set .*param_grid\['C'\]"):
        grid_set(LogisticRegression(), distributions, X, Y)
