"""The classifiers of a grid before they are trained: which there are, their random numbers, weights for their `fit`."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.cached import cached_property
from pacbayes._utils.fingerprint import fingerprint
from pacbayes._utils.seeds import Purpose, generator
from pacbayes.data.preprocessing import check_trained_here


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
    #: The place of the first among all that share the seed.
    first: int = 0

    def __len__(self) -> int:
        return len(self.params)

    def __getitem__(self, i: int) -> Any:
        """Return a new, unfitted estimator; its random states that were None are numbers drawn for this place."""
        params = self.params[i]
        if self.estimator is None:
            return _seeded(clone(params["estimator"]), self.seed, self.first + i)
        if all(_is_plain(value) and _is_plain(self._values.get(name)) for name, value in params.items()):
            # No part is exchanged, so the random states are known, and all is set at once: for a small classifier
            # asking it for its parameters takes as long as a tenth of its training.
            states = _drawn_states(self._states | params, self.seed, self.first + i)
            return clone(self.estimator).set_params(**params | states)
        # Values may be estimators themselves (a step of a pipeline): each classifier needs its own.
        settings = {name: _own(value) for name, value in params.items()}
        return _seeded(clone(self.estimator).set_params(**settings), self.seed, self.first + i)

    @cached_property
    def _values(self) -> dict[str, Any]:
        """The parameters of the estimator as it was given."""
        return dict(self.estimator.get_params(deep=True))

    @cached_property
    def _states(self) -> dict[str, Any]:
        """The random states among them."""
        return {name: value for name, value in self._values.items() if _is_state(name)}

    def described(self) -> list[str]:
        """Return what says whether two lists of candidates are the same."""
        return [fingerprint(self.estimator), *(fingerprint(params) for params in self.params)]

    def modules(self) -> tuple[str, ...]:
        """Return the modules of the estimators, whose versions matter."""
        estimators = [self.estimator, *(value for params in self.params for value in params.values())]
        steps = [part for one in estimators if hasattr(one, "get_params") for part in one.get_params().values()]
        return tuple(sorted({type(one).__module__ for one in [*estimators, *steps] if hasattr(one, "get_params")}))


@dataclass(frozen=True)
class Families:
    """The candidates of several families as one list."""

    parts: tuple[Candidates, ...]
    #: What each family is called.
    names: tuple[str, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, i: int) -> Any:
        """Return a new, unfitted estimator."""
        family = int(self.families[i])
        return self.parts[family][i - self.parts[family].first]

    @cached_property
    def families(self) -> Rows:
        """The family of each."""
        return np.repeat(np.arange(len(self.parts)), [len(part) for part in self.parts])

    @cached_property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each; of several families also what its own is called."""
        if len(self.parts) == 1:
            return self.parts[0].params
        return [
            {"candidate": name} | ({} if part.estimator is None and len(part) == 1 else one)
            for part, name in zip(self.parts, self.names, strict=True)
            for one in part.params
        ]

    def have(self, trait: Callable[[Any], bool]) -> bool:
        """Return whether an estimator of some family has a trait."""
        kinds = [
            one for part in self.parts for one in ([part.estimator] if part.estimator is not None else part.params)
        ]
        return any(trait(one["estimator"] if isinstance(one, dict) else one) for one in kinds)

    def described(self) -> list[str]:
        """Return what says whether two lists of candidates are the same."""
        return [one for part in self.parts for one in part.described()]

    def modules(self) -> tuple[str, ...]:
        """Return the modules of the estimators, whose versions matter."""
        return tuple(sorted({one for part in self.parts for one in part.modules()}))


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
        check_classifier("estimator", estimator)
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
        if any(isinstance(value, str) and value == "precomputed" for value in params.values()):
            check_takes_rows("param_grid", candidates[i])
        for value in params.values():
            check_trained_here("param_grid", value)
    # What a set says of its classifiers stays so, whatever becomes of the user's estimators.
    own = [{name: _own(value) for name, value in params.items()} for params in candidates.params]
    return replace(candidates, params=own)


def _are_estimators(param_grid: Any) -> bool:
    return isinstance(param_grid, list | tuple) and any(hasattr(one, "fit") for one in param_grid)


def _listed(estimator: Any, estimators: Any, n_iter: int | None) -> list[dict[str, Any]]:
    if estimator is not None:
        raise ValueError(f"estimator must be None where param_grid is a list of estimators, got {estimator!r}")
    if n_iter is not None:
        raise ValueError(f"n_iter must be None where param_grid is a list of estimators, got {n_iter!r}")
    for i, one in enumerate(estimators):
        check_classifier(f"param_grid[{i}]", one)
    return [{"estimator": one} for one in estimators]


def check_classifier(name: str, estimator: Any) -> None:
    """Raise for what is no unfitted classifier that can be trained on rows."""
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
    check_takes_rows(name, estimator)
    check_trained_here(name, estimator)


def check_takes_rows(name: str, estimator: Any) -> None:
    """Raise for an estimator of distances or kernel values between rows: these cannot be divided row by row alone.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> check_takes_rows("estimator", SVC(kernel="precomputed"))
    Traceback (most recent call last):
    ValueError: estimator must take rows, but SVC(kernel='precomputed') takes distances or kernel values between pairs
    of them; give it the rows themselves, with a kernel or metric that is computed from rows
    """
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            f"{name} must take rows, but {estimator!r} takes distances or kernel values between pairs of them; give it "
            "the rows themselves, with a kernel or metric that is computed from rows"
        )


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
    draw = int(generator(seed, Purpose.SAMPLING).integers(2**32))
    return [dict(one) for one in ParameterSampler(param_grid, int(n_iter), random_state=draw)]


def _seeded(estimator: Any, seed: int, i: int) -> Any:
    """Give every random state that is None, at any depth, a number; others are the user's choice."""
    states = _drawn_states(estimator.get_params(deep=True), seed, i)
    return estimator.set_params(**states) if states else estimator


def _drawn_states(values: dict[str, Any], seed: int, i: int) -> dict[str, int]:
    """Return numbers for the random states that are None among the parameters of the i-th classifier."""
    empty = sorted(name for name, value in values.items() if value is None and _is_state(name))
    if not empty:
        return {}
    numbers = generator(seed, Purpose.FITTING, i).integers(2**31 - 1, size=len(empty))
    return dict(zip(empty, numbers.tolist(), strict=True))


def _is_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _own(value: Any) -> Any:
    """Return a parameter's value apart from the given one, unfitted where it is an estimator."""
    return value if _is_plain(value) else clone(value, safe=False)


def _is_plain(value: Any) -> bool:
    """Return whether a parameter's value is a number, a word or nothing: neither an estimator nor a list of some."""
    return value is None or isinstance(value, str | int | float | np.number)


def fit_arguments(estimator: Any, weights: FloatArray | None) -> dict[str, FloatArray]:
    """Return the keyword argument that brings the weights to the last step; with metadata routing the steps ask.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> list(fit_arguments(make_pipeline(make_pipeline(SVC())), np.ones(3)))
    ['pipeline__svc__sample_weight']
    """
    if weights is None:
        return {}
    names = [] if get_config()["enable_metadata_routing"] else _path(estimator)[0]
    return {"__".join([*names, "sample_weight"]): weights}


def check_takes_weights(estimator: Any) -> None:
    """Raise if the last step has no `sample_weight` in its `fit`."""
    last = _path(estimator)[1]
    accepted = inspect.signature(last.fit).parameters
    if "sample_weight" not in accepted and all(one.kind is not one.VAR_KEYWORD for one in accepted.values()):
        raise ValueError(f"sample_weight must be None for estimators whose fit does not take it, such as {last!r}")


def _path(estimator: Any) -> tuple[list[str], Any]:
    """Return the names of last steps down to the one that is no pipeline, and that one."""
    names: list[str] = []
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        names.append(name)
    return names, estimator
