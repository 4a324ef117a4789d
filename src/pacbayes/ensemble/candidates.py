"""Unfitted classifiers of grids: settings, validation and random states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags

from pacbayes._utils.arrays import Rows, cached_property
from pacbayes._utils.checks import check_choice, check_count
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes._utils.values import fingerprint
from pacbayes.data.preprocessing import check_not_frozen

ERROR_SCORES = ("raise", "drop")


@dataclass(frozen=True, eq=False)
class GridFamily:
    """Grid of settings of a classifier, or list of classifiers."""

    name: str
    estimator: Any
    param_grid: Any
    n_iter: int | None = None
    error_score: str = "raise"
    #: Whether this is a named family, which can be trained in threads.
    builtin: bool = False
    #: Whether the soft vote may give weight to several classifiers of the family, instead of one.
    separate: bool = False

    def check_split(self, split: str) -> None:
        """Raise before training if the grid is incompatible with the kind of split."""
        check_choice("error_score", self.error_score, ERROR_SCORES)
        if split == "independent" and self.error_score == "drop":
            raise ValueError(
                "error_score='drop' requires split='shared': with independent splits, whether a classifier is dropped "
                "depends on validation rows of others, and no bound would hold for the rest"
            )


@dataclass(frozen=True, eq=False)
class Candidates:
    """Unfitted classifiers of some grids, each determined by its index and the seed."""

    grids: tuple[GridFamily, ...]
    #: Setting of each classifier, or ``{"estimator": ...}``.
    settings: list[dict[str, Any]]
    #: Index of the grid of each classifier.
    families: Rows
    seed: int

    def __len__(self) -> int:
        return len(self.settings)

    def __getitem__(self, i: int) -> Any:
        """Create the unfitted classifier i, with random states drawn from the seed and i where they are None."""
        estimator = self.grids[self.families[i]].estimator
        # Values may be estimators (steps of a pipeline), which must not be shared by several classifiers.
        setting = _clone_setting(self.settings[i])
        classifier = setting["estimator"] if estimator is None else clone(estimator).set_params(**setting)
        names = sorted(
            name
            for name, value in classifier.get_params().items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        )
        if names:
            numbers = make_rng(self.seed, Purpose.FITTING, i).integers(2**31 - 1, size=len(names))
            classifier.set_params(**dict(zip(names, numbers.tolist(), strict=True)))
        return classifier

    @cached_property
    def vote_families(self) -> Rows:
        """Family of each classifier in the soft vote; a classifier of a separate grid is a family."""
        separate = np.array([grid.separate for grid in self.grids])[self.families]
        numbers = np.where(separate, len(self.grids) + np.arange(len(self)), self.families)
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def params(self) -> list[dict[str, Any]]:
        """Parameters that distinguish the classifiers, with the name of the candidate if there are several grids."""
        if len(self.grids) == 1:
            return self.settings
        single = [grid.estimator is None and int(np.sum(self.families == k)) == 1 for k, grid in enumerate(self.grids)]
        return [
            {"candidate": self.grids[family].name} | ({} if single[family] else setting)
            for family, setting in zip(self.families.tolist(), self.settings, strict=True)
        ]

    @property
    def estimators(self) -> list[Any]:
        """All estimators of the user, including values of settings."""
        values = [value for setting in self.settings for value in setting.values()]
        return [value for value in (*(grid.estimator for grid in self.grids), *values) if hasattr(value, "get_params")]

    def fingerprints(self) -> list[str]:
        """Fingerprints that identify the candidates in a checkpoint."""
        return [fingerprint(value) for value in (*(grid.estimator for grid in self.grids), *self.settings)]

    def modules(self) -> tuple[str, ...]:
        """Modules of the estimators, whose versions identify the run in a checkpoint."""
        estimators = self.estimators
        params = [value for estimator in estimators for value in estimator.get_params().values()]
        steps = [value for value in params if hasattr(value, "get_params")]
        return tuple(sorted({type(estimator).__module__ for estimator in [*estimators, *steps]}))


def plan_candidates(grids: Sequence[GridFamily], seed: int) -> Candidates:
    """Validate grids and list their classifiers: all settings, `n_iter` of them, or given estimators.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> candidates = plan_candidates([GridFamily("", DecisionTreeClassifier(), {"max_depth": [1, 2]})], seed=0)
    >>> candidates.params
    [{'max_depth': 1}, {'max_depth': 2}]
    >>> candidates[1].max_depth, candidates[1].random_state == candidates[0].random_state
    (2, False)
    """
    by_grid = [_list_settings(grid, seed) for grid in grids]
    families = np.repeat(np.arange(len(by_grid)), np.array([len(settings) for settings in by_grid], dtype=np.intp))
    candidates = Candidates(tuple(grids), [setting for settings in by_grid for setting in settings], families, seed)
    checked = set()
    for i, params in enumerate(candidates.settings):
        # Check names once: many settings share them, and building every candidate here would double the work.
        if (names := (int(families[i]), *params)) not in checked:
            checked.add(names)
            try:
                candidates[i]
            except (TypeError, ValueError) as error:
                raise type(error)(f"param_grid: {params} does not fit the estimator: {error}") from error
        if any(isinstance(value, str) and value == "precomputed" for value in params.values()):
            check_not_precomputed("param_grid", candidates[i])
        for value in params.values():
            check_not_frozen("param_grid", value)
    # Later changes of the user's estimators must not affect `params`.
    return replace(candidates, settings=[_clone_setting(setting) for setting in candidates.settings])


def _list_settings(grid: GridFamily, seed: int) -> list[dict[str, Any]]:
    """Validate a grid and list its settings."""
    param_grid, n_iter = grid.param_grid, grid.n_iter
    parts = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if isinstance(parts, list | tuple) and any(hasattr(part, "fit") for part in parts):
        for name, value in (("estimator", grid.estimator), ("n_iter", n_iter)):
            if value is not None:
                raise ValueError(f"{name} must be None where param_grid is a list of estimators, got {value!r}")
        for i, part in enumerate(parts):
            check_classifier(f"param_grid[{i}]", part)
        return [{"estimator": part} for part in parts]
    check_classifier("estimator", grid.estimator)
    if not isinstance(parts, list | tuple) or not parts or not all(isinstance(part, Mapping) for part in parts):
        raise TypeError(
            "param_grid must be a dict, a list of dicts or (with estimator None) a list of estimators, "
            f"got {param_grid!r}"
        )
    if n_iter is None:
        for name, values in (item for part in parts for item in part.items()):
            if hasattr(values, "rvs"):
                raise ValueError(f"n_iter must be set to draw from the distribution param_grid[{name!r}]: {values!r}")
        return [dict(setting) for setting in ParameterGrid(param_grid)]
    sampler_seed = int(make_rng(seed, Purpose.SAMPLING).integers(2**32))
    sampler = ParameterSampler(param_grid, check_count("n_iter", n_iter), random_state=sampler_seed)
    return [dict(setting) for setting in sampler]


def check_classifier(name: str, estimator: Any) -> None:
    """Raise unless `estimator` is an unfitted classifier that is trained on rows."""
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
    # Duck-typed classifiers have no tags.
    if (hasattr(estimator, "__sklearn_tags__") or hasattr(estimator, "_estimator_type")) and not is_classifier(
        estimator
    ):
        raise ValueError(f"{name} must be a classifier, got {estimator!r}")
    check_not_precomputed(name, estimator)
    check_not_frozen(name, estimator)


def check_not_precomputed(name: str, estimator: Any) -> None:
    """Raise for estimators of precomputed distances or kernels, which cannot be split by rows only.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> check_not_precomputed("estimator", SVC(kernel="precomputed"))
    Traceback (most recent call last):
    ValueError: estimator must take rows, but SVC(kernel='precomputed') takes precomputed distances or kernel values;
    use a kernel or metric that is computed from rows
    """
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            f"{name} must take rows, but {estimator!r} takes precomputed distances or kernel values; use a kernel or "
            "metric that is computed from rows"
        )


def _clone_setting(setting: dict[str, Any]) -> dict[str, Any]:
    """Copy a setting and clone its estimators."""
    return {name: clone(value, safe=False) for name, value in setting.items()}
