"""The classifiers of a grid before they are trained: which there are, and with which random numbers each starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler

from pacbayes.classifiers.fingerprint import fingerprint
from pacbayes.classifiers.seeds import generator

# Purposes of random numbers, see `seeds.generator`; those of splits and kernel widths come before.
FITTING, SAMPLING = 4, 5


@dataclass(frozen=True)
class Candidates:
    """An estimator with many settings, or (where it is None) many estimators; what each is depends on seed and place.

    Attributes
    ----------
    params : list of dict
        What distinguishes each: its setting, or ``{"estimator": ...}``.
    """

    estimator: Any
    params: list[dict[str, Any]]
    seed: int

    def __len__(self) -> int:
        return len(self.params)

    def __getitem__(self, i: int) -> Any:
        """Return a new, unfitted estimator; its random states that were None are numbers drawn for this place."""
        if self.estimator is None:
            one = clone(self.params[i]["estimator"])
        else:
            # Values may be estimators themselves (a step of a pipeline): each classifier needs its own.
            settings = {name: clone(value, safe=False) for name, value in self.params[i].items()}
            one = clone(self.estimator).set_params(**settings)
        return _seeded(one, self.seed, i)

    def described(self) -> list[str]:
        """Return what says whether two lists of candidates are the same."""
        return [fingerprint(self.estimator), *(fingerprint(params) for params in self.params)]

    def modules(self) -> tuple[str, ...]:
        """Return the modules of the estimators, whose versions matter."""
        estimators = [self.estimator, *(value for params in self.params for value in params.values())]
        steps = [part for one in estimators if hasattr(one, "get_params") for part in one.get_params().values()]
        return tuple(sorted({type(one).__module__ for one in [*estimators, *steps] if hasattr(one, "get_params")}))


def plan_candidates(estimator: Any, param_grid: Any, n_iter: int | None, seed: int) -> Candidates:
    """Return all settings of a grid, `n_iter` of them, or the estimators of a list; wrong ones are refused.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> candidates = plan_candidates(DecisionTreeClassifier(), {"max_depth": [1, 2]}, None, seed=0)
    >>> candidates.params
    [{'max_depth': 1}, {'max_depth': 2}]
    >>> candidates[1].max_depth, candidates[1].random_state == candidates[0].random_state
    (2, False)
    """
    if _are_estimators(param_grid):
        candidates = Candidates(None, _listed(estimator, param_grid, n_iter), seed)
    else:
        _check_classifier("estimator", estimator)
        candidates = Candidates(estimator, _settings(param_grid, n_iter, seed), seed)
    seen = set()
    for i, params in enumerate(candidates.params):
        # Names are the same for many settings; building every candidate here would double that work.
        if (names := tuple(params)) not in seen:
            seen.add(names)
            try:
                candidates[i]
            except (TypeError, ValueError) as error:
                raise type(error)(f"param_grid: {params} does not fit the estimator: {error}") from error
    return candidates


def _are_estimators(param_grid: Any) -> bool:
    return isinstance(param_grid, list | tuple) and any(hasattr(one, "fit") for one in param_grid)


def _listed(estimator: Any, estimators: Any, n_iter: int | None) -> list[dict[str, Any]]:
    if estimator is not None:
        raise ValueError(f"estimator must be None where param_grid is a list of estimators, got {estimator!r}")
    if n_iter is not None:
        raise ValueError(f"n_iter must be None where param_grid is a list of estimators, got {n_iter!r}")
    for i, one in enumerate(estimators):
        _check_classifier(f"param_grid[{i}]", one)
    return [{"estimator": one} for one in estimators]


def _check_classifier(name: str, estimator: Any) -> None:
    if isinstance(estimator, list | tuple):
        raise TypeError(
            f"{name} must be one scikit-learn classifier; give a list of them as param_grid, with estimator None"
        )
    missing = [method for method in ("fit", "predict", "get_params", "set_params") if not hasattr(estimator, method)]
    if missing or isinstance(estimator, type):
        raise TypeError(
            f"{name} must be an unfitted scikit-learn classifier with fit, predict, get_params and set_params, "
            f"got {estimator!r}"
        )
    # Classifiers that only look like scikit-learn's carry no tags and are believed.
    if (hasattr(estimator, "__sklearn_tags__") or hasattr(estimator, "_estimator_type")) and not is_classifier(
        estimator
    ):
        raise ValueError(f"{name} must be a classifier, got {estimator!r}")


def _settings(param_grid: Any, n_iter: int | None, seed: int) -> list[dict[str, Any]]:
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if not isinstance(grids, list | tuple) or not grids or not all(isinstance(grid, Mapping) for grid in grids):
        raise TypeError(
            f"param_grid must be a dict, a list of dicts or (with estimator None) a list of estimators, "
            f"got {param_grid!r}"
        )
    if n_iter is None:
        for grid in grids:
            for name, values in grid.items():
                if hasattr(values, "rvs"):
                    raise ValueError(f"n_iter must say how many settings to draw: param_grid[{name!r}] is {values!r}")
        return [dict(one) for one in ParameterGrid(param_grid)]
    if isinstance(n_iter, bool | np.bool_) or not isinstance(n_iter, int | np.integer):
        raise TypeError(f"n_iter must be an integer of at least 1 or None, got {n_iter!r}")
    if n_iter < 1:
        raise ValueError(f"n_iter must be at least 1, got {n_iter}")
    draw = int(generator(seed, SAMPLING).integers(2**32))
    return [dict(one) for one in ParameterSampler(param_grid, int(n_iter), random_state=draw)]


def _seeded(estimator: Any, seed: int, i: int) -> Any:
    """Give every random state that is None, at any depth, a number; others are the user's choice."""
    values = estimator.get_params(deep=True)
    names = sorted(name for name in values if name == "random_state" or name.endswith("__random_state"))
    empty = [name for name in names if values[name] is None]
    if not empty:
        return estimator
    numbers = generator(seed, FITTING, i).integers(2**31 - 1, size=len(empty))
    return estimator.set_params(**dict(zip(empty, numbers.tolist(), strict=True)))
