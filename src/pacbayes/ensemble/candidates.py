"""Classifiers of grids before they are trained: which there are, their random numbers, weights for their `fit`."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from pacbayes._utils.arrays import FloatArray, Rows, cached_property
from pacbayes._utils.checks import check_choice
from pacbayes._utils.seeds import Purpose, generator
from pacbayes._utils.values import fingerprint
from pacbayes.data.preprocessing import check_trained_here

ERROR_SCORES = ("raise", "drop")


@dataclass(frozen=True, eq=False)
class GridFamily:
    """A classifier with every setting of a grid, or many classifiers, as they were asked for."""

    name: str
    estimator: Any
    param_grid: Any
    n_iter: int | None = None
    error_score: str = "raise"
    #: Whether it is a family by name, whose classifiers train in threads beside each other.
    own: bool = False

    def check(self, split: str) -> None:
        """Raise before any work for what does not go with such a division."""
        check_choice("error_score", self.error_score, ERROR_SCORES)
        if split == "independent" and self.error_score == "drop":
            raise ValueError(
                "error_score='drop' needs split='shared': with independent splits whether a classifier is left out "
                "depends on examples that validate others, and a bound on those left would not hold"
            )


@dataclass(frozen=True, eq=False)
class Candidates:
    """The unfitted classifiers of some grids; what each is depends on the seed and its place."""

    grids: tuple[GridFamily, ...]
    #: The setting of each, or ``{"estimator": ...}``.
    settings: list[dict[str, Any]]
    #: The grid that each is of.
    families: Rows
    seed: int

    def __len__(self) -> int:
        return len(self.settings)

    def __getitem__(self, i: int) -> Any:
        """Make a new, unfitted estimator; its random states that were None are numbers drawn for this place."""
        setting, family = self.settings[i], int(self.families[i])
        estimator = self.grids[family].estimator
        if estimator is None:
            return _seeded(clone(setting["estimator"]), self.seed, i)
        known = self._known[family]
        if all(_is_plain(value) and _is_plain(known.get(name)) for name, value in setting.items()):
            # No part is exchanged, so the random states are known, and all is set at once: for a small classifier
            # asking it for its parameters takes as long as a tenth of its training.
            states = _drawn_states(self._states[family] | setting, self.seed, i)
            return clone(estimator).set_params(**setting | states)
        # Values may be estimators themselves (a step of a pipeline): each classifier needs its own.
        own = {name: _own(value) for name, value in setting.items()}
        return _seeded(clone(estimator).set_params(**own), self.seed, i)

    @cached_property
    def _known(self) -> list[dict[str, Any]]:
        """The parameters of each grid's estimator as it was given."""
        return [{} if grid.estimator is None else dict(grid.estimator.get_params(deep=True)) for grid in self.grids]

    @cached_property
    def _states(self) -> list[dict[str, Any]]:
        """The random states among them."""
        return [{name: value for name, value in known.items() if _is_state(name)} for known in self._known]

    @cached_property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each; of several grids also what its own is called."""
        if len(self.grids) == 1:
            return self.settings
        alone = [grid.estimator is None and int(np.sum(self.families == k)) == 1 for k, grid in enumerate(self.grids)]
        return [
            {"candidate": self.grids[family].name} | ({} if alone[family] else setting)
            for family, setting in zip(self.families.tolist(), self.settings, strict=True)
        ]

    @property
    def unfitted(self) -> list[Any]:
        """The estimators as they were given."""
        pairs = zip(self.families.tolist(), self.settings, strict=True)
        listed = [setting["estimator"] for family, setting in pairs if self.grids[family].estimator is None]
        return [grid.estimator for grid in self.grids if grid.estimator is not None] + listed

    def described(self) -> list[str]:
        """Fingerprints by which two lists of candidates are compared."""
        return [fingerprint(one) for one in (*(grid.estimator for grid in self.grids), *self.settings)]

    def modules(self) -> tuple[str, ...]:
        """Modules of the estimators, whose versions matter."""
        estimators = [*self.unfitted, *(value for setting in self.settings for value in setting.values())]
        steps = [part for one in estimators if hasattr(one, "get_params") for part in one.get_params().values()]
        return tuple(sorted({type(one).__module__ for one in [*estimators, *steps] if hasattr(one, "get_params")}))


def plan_candidates(grids: Sequence[GridFamily], seed: int) -> Candidates:
    """Make the candidates of some grids: all settings, `n_iter` of them, or listed estimators; wrong ones are refused.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> candidates = plan_candidates([GridFamily("", DecisionTreeClassifier(), {"max_depth": [1, 2]})], seed=0)
    >>> candidates.params
    [{'max_depth': 1}, {'max_depth': 2}]
    >>> candidates[1].max_depth, candidates[1].random_state == candidates[0].random_state
    (2, False)
    """
    several = [_settings_of(grid, seed) for grid in grids]
    families = np.repeat(np.arange(len(several)), np.array([len(settings) for settings in several], dtype=np.intp))
    candidates = Candidates(tuple(grids), [one for settings in several for one in settings], families, seed)
    seen = set()
    for i, params in enumerate(candidates.settings):
        # Names are the same for many settings; building every candidate here would double that work.
        if (names := (int(families[i]), *params)) not in seen:
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
    own = [{name: _own(value) for name, value in params.items()} for params in candidates.settings]
    return replace(candidates, settings=own)


def _settings_of(grid: GridFamily, seed: int) -> list[dict[str, Any]]:
    if isinstance(grid.param_grid, list | tuple) and any(hasattr(one, "fit") for one in grid.param_grid):
        return _listed(grid.estimator, grid.param_grid, grid.n_iter)
    check_classifier("estimator", grid.estimator)
    return _settings(grid.param_grid, grid.n_iter, seed)


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
