"""Classifiers of scikit-learn by name, with the grids they are tried with where nobody gives one."""

import re
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

#: Short names: the class, its fixed parameters, its grid, and whether its columns are scaled first.
SHORT_NAMES: dict[str, tuple[str, dict[str, Any], dict[str, list[Any]], bool]] = {
    "logistic": (
        "sklearn.linear_model.LogisticRegression",
        {"max_iter": 2000},
        {"C": [float(f"{value:.4g}") for value in np.logspace(-4, 4, 33)]},
        True,
    ),
    "forest": (
        "sklearn.ensemble.RandomForestClassifier",
        {"n_estimators": 100},
        {"max_depth": [2, 4, 8, None], "max_features": ["sqrt", 0.3, 0.6], "min_samples_leaf": [1, 4]},
        False,
    ),
    "boosting": (
        "sklearn.ensemble.HistGradientBoostingClassifier",
        {"early_stopping": False},
        {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 8, 16], "max_iter": [50, 150]},
        False,
    ),
}
_DOTTED = re.compile(r"sklearn(\.[a-z]\w*)+\.[A-Z]\w*")
_NO_PART_OF_A_NAME = {"conftest", "externals", "tests"}


def classifier_by_name(name: str, grid: Any = None, prepare: Any = None) -> tuple[Pipeline, Any]:
    """Return a pipeline that ends in the named classifier, and its grid, with the names of the pipeline's parameters.

    Parameters
    ----------
    name : str
        A short name ("logistic", "forest", "boosting") or the full name of a classifier under ``sklearn.``, such as
        ``sklearn.tree.DecisionTreeClassifier``.  Nothing else is ever imported.
    grid : dict or list of dicts, optional
        Lists of values by parameter of the classifier; by default that of the short name, or the classifier as it is.
    prepare : transformer, optional
        The first step of the pipeline.

    Examples
    --------
    >>> pipeline, grid = classifier_by_name("sklearn.tree.DecisionTreeClassifier", {"max_depth": [1, 2]})
    >>> pipeline
    Pipeline(steps=[('model', DecisionTreeClassifier())])
    >>> grid
    {'model__max_depth': [1, 2]}
    >>> classifier_by_name("os.system")
    Traceback (most recent call last):
    ValueError: estimator must be svm, logistic, forest, boosting or the full name of a classifier under sklearn., such
    as sklearn.tree.DecisionTreeClassifier; got 'os.system'
    """
    path, fixed, usual, scaled = SHORT_NAMES.get(name, (name, {}, {}, False))
    try:
        model = _class(path)(**fixed)
    except TypeError as error:
        raise ValueError(f"estimator {name!r} cannot be made without further arguments: {error}") from None
    steps = [("prepare", prepare)] if prepare is not None else []
    steps += [("scale", StandardScaler())] if scaled else []
    chosen = usual if grid is None else check_grid(grid, model)
    return Pipeline([*steps, ("model", model)]), _with_prefix(chosen)


def check_grid(grid: Any, model: Any) -> Any:
    """Return a grid, or raise if it is not lists of values by parameters that `model` has.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> check_grid({"depth": [1]}, DecisionTreeClassifier(random_state=0))
    Traceback (most recent call last):
    ValueError: grid names 'depth', which DecisionTreeClassifier does not have; it has ccp_alpha, class_weight,
    criterion, max_depth, max_features, max_leaf_nodes, min_impurity_decrease, min_samples_leaf, min_samples_split,
    min_weight_fraction_leaf, monotonic_cst, random_state, splitter
    """
    parts = grid if isinstance(grid, list) else [grid]
    if not parts or not all(isinstance(part, dict) for part in parts):
        raise ValueError(
            f"grid must be an object with a list of values for each parameter, or a list of such, got {_short(grid)}"
        )
    for part in parts:
        for name, values in part.items():
            if not isinstance(values, list) or not values:
                raise ValueError(f"grid must give {name!r} a list of at least one value, got {_short(values)}")
            if name not in model.get_params(deep=True):
                known = ", ".join(sorted(model.get_params(deep=True)))
                raise ValueError(f"grid names {name!r}, which {type(model).__name__} does not have; it has {known}")
            for value in values:
                clone(model).set_params(**{name: value})
    return grid


def _with_prefix(grid: Any) -> Any:
    if isinstance(grid, list):
        return [_with_prefix(part) for part in grid]
    return {f"model__{name}": values for name, values in grid.items()}


def _class(path: str) -> Any:
    """Return the classifier class of a full name, or raise; nothing outside scikit-learn is imported."""
    wrong = ValueError(
        f"estimator must be svm, {', '.join(SHORT_NAMES)} or the full name of a classifier under sklearn., such as "
        f"sklearn.tree.DecisionTreeClassifier; got {path!r}"
    )
    if not _DOTTED.fullmatch(path) or _NO_PART_OF_A_NAME & set(path.split(".")):
        raise wrong
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        raise wrong from None
    inside = isinstance(found, type) and found.__module__.startswith("sklearn.")
    if not inside or not issubclass(found, ClassifierMixin) or not issubclass(found, BaseEstimator):
        raise ValueError(f"estimator must be a classifier, which {path} is not")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
