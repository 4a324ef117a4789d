"""Creation of classifiers by name: boosting of other libraries, and scikit-learn classifiers by their full names."""

import re
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline

from pacbayes._utils.checks import import_optional

#: Named families of other libraries, with their classifiers.
LIBRARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", {"n_estimators": 300, "learning_rate": 0.05, "verbosity": -1, "n_jobs": 1}),
    "xgboost": ("XGBClassifier", {"n_estimators": 300, "learning_rate": 0.05, "n_jobs": 1}),
    "catboost": ("CatBoostClassifier", {"verbose": False, "allow_writing_files": False, "thread_count": 1}),
}
#: All named families.
NAMES = ("svm", "forest", "boosting", "logistic", "neighbours", *LIBRARIES)
_CLASS_PATH = re.compile(r"sklearn(\.[a-z]\w*)+\.[A-Z]\w*")
_PRIVATE_PACKAGES = {"conftest", "externals", "tests"}


class EncodedLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Classifier that is trained on class codes instead of labels, and predicts one label per row.

    XGBoost requires codes, and CatBoost predicts a column.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`; cloned.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EncodedLabels(DecisionTreeClassifier()).fit([[0.0], [1.0]], ["a", "b"]).predict([[0.9]]).tolist()
    ['b']
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> "EncodedLabels":
        """Train on class codes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities."""
        return self.estimator_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Predict the class with the highest probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def make_library_classifier(name: str) -> Any:
    """Create an unfitted classifier of another library; raise `ImportError` if the library is not installed."""
    class_name, settings = LIBRARIES[name]
    library = import_optional(name, f"candidates {name!r}")
    return EncodedLabels(getattr(library, class_name)(**settings))


def make_classifier_by_name(name: str, grid: Any = None, preprocessor: Any = None) -> tuple[Any, Any]:
    """Create a pipeline with a scikit-learn classifier, and its parameter grid.

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
    >>> make_classifier_by_name("sklearn.tree.DecisionTreeClassifier", {"max_depth": [1, 2]})
    (Pipeline(steps=[('model', DecisionTreeClassifier())]), {'model__max_depth': [1, 2]})
    >>> make_classifier_by_name("os.system")
    Traceback (most recent call last):
    ValueError: candidates must be auto, svm, forest, boosting, logistic, neighbours, lightgbm, xgboost, catboost or
    the full name of a classifier under sklearn., such as sklearn.tree.DecisionTreeClassifier; got 'os.system'
    """
    try:
        model = import_class(name)()
    except TypeError as error:
        raise ValueError(f"candidates {name!r} cannot be created without arguments: {error}") from None
    params = {} if grid is None else check_grid(grid, model)
    steps = [] if preprocessor is None else [("preprocessor", preprocessor)]
    return Pipeline([*steps, ("model", model)]), _add_prefix(params)


def check_grid(grid: Any, model: Any) -> Any:
    """Validate that a grid has lists of values for parameters of `model`, and return it.

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
            "grid must be an object with a list of values for each parameter, or a list of objects, "
            f"got {_shorten(grid)}"
        )
    for part in parts:
        for name, values in part.items():
            if not isinstance(values, list) or not values:
                raise ValueError(f"grid must give {name!r} a list of at least one value, got {_shorten(values)}")
            if name not in model.get_params(deep=True):
                known = ", ".join(sorted(model.get_params(deep=True)))
                raise ValueError(f"grid names {name!r}, which {type(model).__name__} does not have; it has {known}")
            for value in values:
                clone(model).set_params(**{name: value})
    return grid


def _add_prefix(grid: Any) -> Any:
    if isinstance(grid, list):
        return [_add_prefix(part) for part in grid]
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


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
