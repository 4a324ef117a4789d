"""Named families, the portfolio of "auto" by size of the data, and scikit-learn classifiers by full name."""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from pacbayes._utils.checks import warn_caller
from pacbayes.data.preprocessing import with_categories
from pacbayes.svm.kernel import THREE_WIDTHS

_FORESTS = ("sklearn.ensemble.RandomForestClassifier", "sklearn.ensemble.ExtraTreesClassifier")
_SMALL = {"early_stopping": False, "max_iter": 100}
#: Named families: classes with parameters, and whether columns are scaled.
FAMILIES: dict[str, tuple[list[tuple[str, dict[str, Any]]], bool]] = {
    "forest": ([(name, {"n_estimators": 200, "bootstrap": True}) for name in _FORESTS], False),
    "boosting": (
        [("sklearn.ensemble.HistGradientBoostingClassifier", _SMALL | {"max_leaf_nodes": n}) for n in (4, 16)],
        False,
    ),
    "logistic": (
        [("sklearn.linear_model.LogisticRegression", {"C": c, "max_iter": 2000}) for c in (0.01, 0.1, 1.0, 10.0)],
        True,
    ),
    "neighbours": (
        # A tree, because distances by matrix products depend on the rest of the batch in their last bits.
        [
            ("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": k, "algorithm": "kd_tree"})
            for k in (1, 5, 11, 21)
        ],
        True,
    ),
}
# For sparse rows, "svm" is linear.
_SPARSE_FAMILIES = {
    "svm": ([("sklearn.svm.LinearSVC", {"C": c, "max_iter": 10_000}) for c in (0.01, 0.1, 1.0, 10.0)], True)
}
# Maximum number of bootstrap rows of a tree in a forest, to limit training time.
_MAX_BOOTSTRAP = 50_000
_CLASS_PATH = re.compile(r"sklearn(\.[a-z]\w*)+\.[A-Z]\w*")
_PRIVATE_PACKAGES = {"conftest", "externals", "tests"}

AUTO, SVM = "auto", "svm"
#: Families of "auto", which new names must not change.
PORTFOLIO = (SVM, "forest", "boosting", "logistic", "neighbours")
#: All named families.
NAMES = (SVM, *FAMILIES)
#: Named families for sparse rows.
SPARSE = (SVM, "forest", "logistic")
# Maximum numbers of training rows of "svm" for five widths with all costs, for three widths with costs up to 100, and
# for three widths on landmarks (a single width beyond): each takes about a minute on two cores and a few GB.
_FIVE_WIDTHS, _EXACT, _THREE_WIDTHS = 5_000, 10_000, 50_000
# Maximum number of columns of nonlinear families: beyond, distances between rows are similar and trees are slow.
_WIDE = 1_000
# Maximum number of training rows of "neighbours".
_NEIGHBOURS = 20_000


@dataclass(frozen=True)
class Size:
    """Number of training rows and of columns, and whether rows are sparse."""

    rows: int
    columns: int = 1
    sparse: bool = False

    @classmethod
    def of(cls, X: Any, rows: int, preprocessor: Any = None) -> Self:
        """Size of X with this number of training rows; preprocessed rows are dense.

        Examples
        --------
        >>> Size.of([[1.0, 2.0]], 1)
        Size(rows=1, columns=2, sparse=False)
        """
        shape = np.shape(X) if not hasattr(X, "shape") else X.shape
        return cls(rows, int(shape[1]) if len(shape) == 2 else 1, preprocessor is None and bool(issparse(X)))

    @property
    def linear(self) -> bool:
        """Whether all families are linear, as for wide and for sparse rows."""
        return self.sparse or self.columns > _WIDE


def portfolio(size: Size) -> list[str]:
    """Families of "auto" for data of a size.

    Examples
    --------
    >>> portfolio(Size(500)), portfolio(Size(100_000)), portfolio(Size(500, 20_000))  # doctest: +NORMALIZE_WHITESPACE
    (['svm', 'forest', 'boosting', 'logistic', 'neighbours'], ['svm', 'forest', 'boosting', 'logistic'],
     ['svm', 'logistic'])
    """
    if size.linear:
        return [SVM, "logistic"]
    return [name for name in PORTFOLIO if name != "neighbours" or size.rows <= _NEIGHBOURS]


def warn_left_out(candidates: Any, size: Size) -> None:
    """Warn if "auto" trains linear classifiers only, and name the other families.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_left_out("auto", Size(500, 2000))
    >>> print(str(caught[0].message).partition(".")[0])
    candidates="auto" leaves out forest, boosting, neighbours, because the rows have 2000 columns, more than 1000
    """
    if not (isinstance(candidates, str) and candidates == AUTO and size.linear):
        return
    trained = portfolio(size)
    others = ", ".join(name for name in PORTFOLIO if name not in trained and not (size.sparse and name not in SPARSE))
    why = "are sparse" if size.sparse else f"have {size.columns} columns, more than {_WIDE}"
    warn_caller(
        f'candidates="auto" leaves out {others}, because the rows {why}. Only linear classifiers are trained '
        f"({', '.join(trained)}); the others may have a much smaller error rate. To include families, name them, as in "
        f'candidates="{"forest" if size.sparse else "boosting"}". Decide this before you look at a certificate.'
    )


def svm_settings(size: Size) -> dict[str, Any]:
    """Parameters of the `SVMs` that "svm" stands for.

    Examples
    --------
    >>> svm_settings(Size(300)), svm_settings(Size(300, 20_000))
    ({}, {'kernel': 'linear'})
    >>> svm_settings(Size(8_000))["gamma"], [svm_settings(Size(n))["kernel"] for n in (20_000, 10**6)]
    ('three widths', ['nystroem', 'nystroem'])
    """
    if size.columns > _WIDE and size.rows <= _EXACT:
        return {"kernel": "linear"}
    if size.rows <= _FIVE_WIDTHS:
        return {}
    if size.rows <= _EXACT:
        return {"lambdas": np.logspace(2, -2, 21).tolist(), "gamma": THREE_WIDTHS}
    if size.rows <= _THREE_WIDTHS:
        return {"lambdas": np.logspace(2, -2, 11).tolist(), "kernel": "nystroem", "gamma": THREE_WIDTHS}
    return {"lambdas": np.logspace(2, -2, 6).tolist(), "kernel": "nystroem", "gamma": "sigest"}


def named_family(name: str, preprocessor: Any, rows: int, sparse: bool = False) -> list[Any]:
    """Unfitted classifiers of a named family for `rows` training rows, behind the preprocessor, if any.

    Sparse columns are divided by their maximum absolute value instead of being centred.  Boosting treats categories
    natively.

    Examples
    --------
    >>> [pipeline.get_params()["model__n_neighbors"] for pipeline in named_family("neighbours", None, 40)]
    [1, 5, 11]
    """
    settings, scaled = (FAMILIES | _SPARSE_FAMILIES if sparse else FAMILIES)[name]
    max_neighbours = max(1, rows // 3)
    models = [
        _import_class(path)(**params) for path, params in settings if params.get("n_neighbors", 1) <= max_neighbours
    ]
    if name == "forest" and rows > _MAX_BOOTSTRAP:
        models = [model.set_params(max_samples=_MAX_BOOTSTRAP) for model in models]
    if name == "boosting" and (with_dtypes := with_categories(preprocessor)) is not None:
        preprocessor = with_dtypes
        models = [model.set_params(categorical_features="from_dtype") for model in models]
    steps = [] if preprocessor is None else [("preprocessor", preprocessor)]
    if scaled:
        steps.append(("scale", MaxAbsScaler() if sparse else StandardScaler()))
    return [
        Pipeline([*((step, clone(transformer)) for step, transformer in steps), ("model", model)]) if steps else model
        for model in models
    ]


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
        model = _import_class(name)()
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


def _import_class(path: str) -> Any:
    """Import a classifier of scikit-learn by its full name; other names are rejected without an import."""
    unknown = ValueError(
        f"candidates must be auto, svm, {', '.join(FAMILIES)} or the full name of a classifier under sklearn., such as "
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
