"""What "auto" and the names of families stand for, by rows and columns; classifiers of scikit-learn by full name."""

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
#: Families by short name: settings of classifiers, each a class with its parameters, and whether columns are scaled.
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
        # By a tree: equal distances in products of matrices would differ in last bits with the rows around a row.
        [
            ("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": k, "algorithm": "kd_tree"})
            for k in (1, 5, 11, 21)
        ],
        True,
    ),
}
# Where rows are sparse "svm" stands for linear machines.
_OF_SPARSE_ROWS = {
    "svm": ([("sklearn.svm.LinearSVC", {"C": c, "max_iter": 10_000}) for c in (0.01, 0.1, 1.0, 10.0)], True)
}
# Trees of a forest draw no more rows than this: twenty times as many would take twenty times as long.
_MOST_DRAWN = 50_000
_DOTTED = re.compile(r"sklearn(\.[a-z]\w*)+\.[A-Z]\w*")
_NO_PART_OF_A_NAME = {"conftest", "externals", "tests"}

AUTO, SVM = "auto", "svm"
#: The families of "auto": written out, as one more name must not change what everybody gets.
PORTFOLIO = (SVM, "forest", "boosting", "logistic", "neighbours")
#: All that have a name.
NAMES = (SVM, *FAMILIES)
#: Those that take sparse rows.
SPARSE = (SVM, "forest", "logistic")
# Up to so many training rows a family by name has five widths with all costs; three widths with costs up to 100; as
# many on landmarks, and beyond that one width: about a minute each on two cores, and no more memory than a few GB.
_FIVE_WIDTHS, _EXACT, _THREE_WIDTHS = 5_000, 10_000, 50_000
# With more columns than this machines and all others are linear: distances of rows are all alike, trees take long.
_WIDE = 1_000
# With more training rows nobody looks for neighbours.
_NEIGHBOURS = 20_000


@dataclass(frozen=True)
class Size:
    """How many training rows there are, and columns; and whether rows are sparse."""

    rows: int
    columns: int = 1
    sparse: bool = False

    @classmethod
    def of(cls, X: Any, rows: int, preprocessor: Any = None) -> Self:
        """Return the size of data, of which so many rows train; what is prepared is dense.

        Examples
        --------
        >>> Size.of([[1.0, 2.0]], 1)
        Size(rows=1, columns=2, sparse=False)
        """
        shape = np.shape(X) if not hasattr(X, "shape") else X.shape
        return cls(rows, int(shape[1]) if len(shape) == 2 else 1, preprocessor is None and bool(issparse(X)))

    @property
    def linear(self) -> bool:
        """Whether all members are linear: for wide rows, and sparse ones."""
        return self.sparse or self.columns > _WIDE


def portfolio(size: Size) -> list[str]:
    """Return the families of "auto" for data of a size.

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
    """Warn if "auto" trains linear classifiers only, and name the families that take such rows and are left out.

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
    others = ", ".join(one for one in PORTFOLIO if one not in trained and not (size.sparse and one not in SPARSE))
    why = "are sparse" if size.sparse else f"have {size.columns} columns, more than {_WIDE}"
    warn_caller(
        f'candidates="auto" leaves out {others}, because the rows {why}. Only linear classifiers are trained '
        f"({', '.join(trained)}); the others may have a much smaller error rate. To include one, name it, as in "
        f'candidates="{"forest" if size.sparse else "boosting"}", or several. Decide this before you look at a '
        "certificate."
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
    """Unfitted classifiers of a family, for `rows` training rows; `preprocessor` is their first step, or None.

    Columns of sparse rows are divided by their largest values, and not centred.  Boosting gets categories as such.

    Examples
    --------
    >>> [one.get_params()["model__n_neighbors"] for one in named_family("neighbours", None, 40)]
    [1, 5, 11]
    """
    settings, scaled = (FAMILIES | _OF_SPARSE_ROWS if sparse else FAMILIES)[name]
    found = [_class(path)(**params) for path, params in settings if params.get("n_neighbors", 1) <= max(1, rows // 3)]
    if name == "forest" and rows > _MOST_DRAWN:
        found = [one.set_params(max_samples=_MOST_DRAWN) for one in found]
    if name == "boosting" and (native := with_categories(preprocessor)) is not None:
        preprocessor = native
        found = [one.set_params(categorical_features="from_dtype") for one in found]
    scale = MaxAbsScaler() if sparse else StandardScaler()
    before = ([("preprocessor", preprocessor)] if preprocessor is not None else []) + (
        [("scale", scale)] if scaled else []
    )
    return [
        Pipeline([(step, clone(part)) for step, part in before] + [("model", one)]) if before else one for one in found
    ]


def classifier_by_name(name: str, grid: Any = None, preprocessor: Any = None) -> tuple[Any, Any]:
    """Return the named classifier of scikit-learn, behind `preprocessor` where there is such a thing, and its grid.

    Parameters
    ----------
    name : str
        The full name of a classifier under ``sklearn.``, such as ``sklearn.tree.DecisionTreeClassifier``.  Nothing else
        is ever imported.
    grid : dict or list of dicts, optional
        Lists of values by parameter of the classifier; by default the classifier as it is.
    preprocessor : transformer, optional
        The first step of a pipeline.

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
        model = _class(name)()
    except TypeError as error:
        raise ValueError(f"candidates {name!r} cannot be made without further arguments: {error}") from None
    chosen = {} if grid is None else check_grid(grid, model)
    before = [] if preprocessor is None else [("preprocessor", preprocessor)]
    return Pipeline([*before, ("model", model)]), _with_prefix(chosen)


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
        f"candidates must be auto, svm, {', '.join(FAMILIES)} or the full name of a classifier under sklearn., such as "
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
        raise ValueError(f"candidates must be a classifier, which {path} is not")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
