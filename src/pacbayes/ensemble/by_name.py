"""Classifiers by name: those of scikit-learn by their full names."""

import re
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline

#: All named families, without those of other libraries.
NAMES = ("svm", "forest", "boosting", "logistic", "neighbours")
_CLASS_PATH = re.compile(r"sklearn(\.[a-z]\w*)+\.[A-Z]\w*")
_PRIVATE_PACKAGES = {"conftest", "externals", "tests"}


def classifier_by_name(name: str, grid: Any = None, preprocessor: Any = None) -> tuple[Any, Any]:
    """Pipeline of the preprocessor, if any, with a scikit-learn classifier, and its parameter grid.

    Parameters
    ----------
    name : str
        Full name of a classifier in scikit-learn, such as ``sklearn.tree.DecisionTreeClassifier``.  Nothing else is
        imported.
    grid : dict or list of dicts, optional
        Lists of values by parameter of the classifier; by default its default parameters.
    preprocessor : transformer, optional
        First step of the pipeline.

    Examples
    --------
    >>> classifier_by_name("sklearn.tree.DecisionTreeClassifier", {"max_depth": [1, 2]})
    (Pipeline(steps=[('model', DecisionTreeClassifier())]), {'model__max_depth': [1, 2]})
    >>> classifier_by_name("os.system")
    Traceback (most recent call last):
    ValueError: candidates must be auto, svm, forest, boosting, logistic, neighbours or the full name of a classifier
    under sklearn., such as sklearn.tree.DecisionTreeClassifier; got 'os.system'
    """
    try:
        model = import_class(name)()
    except TypeError as error:
        raise ValueError(f"candidates {name!r} cannot be created without arguments: {error}") from None
    params = {} if grid is None else check_grid(grid, model)
    steps = [] if preprocessor is None else [("preprocessor", preprocessor)]
    return Pipeline([*steps, ("model", model)]), _with_prefix(params)


def check_grid(grid: Any, model: Any) -> Any:
    """Raise unless the grid has lists of values for parameters of `model`; return it.

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
            f"grid must be an object with a list of values for each parameter, or a list of objects, got {_short(grid)}"
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


def import_class(path: str) -> Any:
    """Import a classifier of scikit-learn by its full name; other names are rejected without an import."""
    unknown = ValueError(
        f"candidates must be auto, {', '.join(NAMES)} or the full name of a classifier under sklearn., such as "
        f"sklearn.tree.DecisionTreeClassifier; got {path!r}"
    )
    if not _CLASS_PATH.fullmatch(path) or _PRIVATE_PACKAGES & set(path.split(".")):
        raise unknown
    module, _, name = path.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        raise unknown from None
    in_sklearn = isinstance(cls, type) and cls.__module__.startswith("sklearn.")
    if not in_sklearn or not issubclass(cls, ClassifierMixin) or not issubclass(cls, BaseEstimator):
        raise ValueError(f"candidates must be a classifier, but {path} is not")
    return cls


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
