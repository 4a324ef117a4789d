"""Settings that are drawn, and random states that are set where nobody chose one."""

import pytest
from scipy.stats import loguniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.ensemble.grids import X, Y

from pacbayes import grid_set


def test_random_states_are_set_where_they_are_none_and_only_there():
    forest = RandomForestClassifier(n_estimators=2)
    a, b = (grid_set(forest, {"max_depth": [1, 2]}, X, Y, random_state=0) for _ in range(2))
    assert forest.random_state is None
    assert a[0].random_state == b[0].random_state
    assert len({a[0].random_state, a[1].random_state, *_states(forest, 1)}) == 4
    fixed = grid_set(RandomForestClassifier(2, random_state=7), {"max_depth": [1, 2]}, X, Y, random_state=0)
    assert [one.random_state for one in fixed] == [7, 7]
    grid = grid_set(forest, {"random_state": [3, None]}, X, Y, random_state=0)
    assert grid[0].random_state == 3
    assert isinstance(grid[1].random_state, int)
    nested = grid_set(None, [make_pipeline(StandardScaler(), SGDClassifier())], X, Y, random_state=0)[0]
    assert isinstance(nested[-1].random_state, int)


def _states(forest, seed):
    return [one.random_state for one in grid_set(forest, {"max_depth": [1, 2]}, X, Y, random_state=seed)]


def test_drawn_settings():
    distributions = {"C": loguniform(1e-3, 1e3), "fit_intercept": [True, False]}
    a, b, c = (
        grid_set(LogisticRegression(solver="liblinear"), distributions, X, Y, n_iter=4, random_state=seed).params
        for seed in (1, 1, 2)
    )
    assert len(a) == 4
    assert a == b
    assert a != c
    with pytest.raises(ValueError, match=r"n_iter must say how many .*param_grid\['C'\]"):
        grid_set(LogisticRegression(), distributions, X, Y)
