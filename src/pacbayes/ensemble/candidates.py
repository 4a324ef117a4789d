"""Classifiers of grids before they are trained: which there are, their random numbers, weights for their `fit`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags

from pacbayes._utils.arrays import Rows, cached_property
from pacbayes._utils.checks import check_choice, check_count
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
        setting, estimator = self.settings[i], self.grids[self.families[i]].estimator
        # Values may be estimators themselves (a step of a pipeline): each classifier needs its own.
        setting = _copied(setting)
        one = setting["estimator"] if estimator is None else clone(estimator).set_params(**setting)
        empty = sorted(name for name, value in one.get_params().items() if value is None and _is_state(name))
        if empty:
            numbers = generator(self.seed, Purpose.FITTING, i).integers(2**31 - 1, size=len(empty))
            one.set_params(**dict(zip(empty, numbers.tolist(), strict=True)))
        return one

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
    def estimators(self) -> list[Any]:
        """All estimators that were given, values of settings among them."""
        values = [value for setting in self.settings for value in setting.values()]
        return [one for one in (*(grid.estimator for grid in self.grids), *values) if hasattr(one, "get_params")]

    def described(self) -> list[str]:
        """Fingerprints by which two lists of candidates are compared."""
        return [fingerprint(one) for one in (*(grid.estimator for grid in self.grids), *self.settings)]

    def modules(self) -> tuple[str, ...]:
        """Modules of the estimators, whose versions matter."""
        steps = [part for one in self.estimators for part in one.get_params().values() if hasattr(part, "get_params")]
        return tuple(sorted({type(one).__module__ for one in [*self.estimators, *steps]}))


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
    return replace(candidates, settings=[_copied(setting) for setting in candidates.settings])


def _settings_of(grid: GridFamily, seed: int) -> list[dict[str, Any]]:
    """Return the settings of a grid, or raise for what is none."""
    given, n_iter = grid.param_grid, grid.n_iter
    several = [given] if isinstance(given, Mapping) else given
    if isinstance(several, list | tuple) and any(hasattr(one, "fit") for one in several):
        for name, value in (("estimator", grid.estimator), ("n_iter", n_iter)):
            if value is not None:
                raise ValueError(f"{name} must be None where param_grid is a list of estimators, got {value!r}")
        for i, one in enumerate(several):
            check_classifier(f"param_grid[{i}]", one)
        return [{"estimator": one} for one in several]
    check_classifier("estimator", grid.estimator)
    if not isinstance(several, list | tuple) or not several or not all(isinstance(one, Mapping) for one in several):
        raise TypeError(
            f"param_grid must be a dict, a list of dicts or (with estimator None) a list of estimators, got {given!r}"
        )
    if n_iter is None:
        for name, values in (item for one in several for item in one.items()):
            if hasattr(values, "rvs"):
                raise ValueError(f"n_iter must say how many settings to draw: param_grid[{name!r}] is {values!r}")
        return [dict(one) for one in ParameterGrid(given)]
    draw = int(generator(seed, Purpose.SAMPLING).integers(2**32))
    return [dict(one) for one in ParameterSampler(given, check_count("n_iter", n_iter), random_state=draw)]


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


def _is_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _copied(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting apart from the given one, its estimators unfitted."""
    return {name: clone(value, safe=False) for name, value in setting.items()}
