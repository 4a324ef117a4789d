"""Named families of classifiers, and the portfolio of "auto" for data of a given size."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.preprocessing import to_native_encoder
from pacbayes.ensemble.by_name import LIBRARIES, import_class, make_library_classifier
from pacbayes.svm.kernel import THREE_WIDTHS

AUTO, SVM, BOOSTING, FOREST, LOGISTIC, NEIGHBOURS = "auto", "svm", "boosting", "forest", "logistic", "neighbours"
#: Families of "auto", which new names must not change.
PORTFOLIO = (SVM, FOREST, BOOSTING, LOGISTIC, NEIGHBOURS)
#: The same in order of promise, for many and for few rows.
PROMISING = (
    (BOOSTING, FOREST, SVM, LOGISTIC, NEIGHBOURS),
    (SVM, FOREST, BOOSTING, LOGISTIC, NEIGHBOURS),
)
#: Named families of third-party classifiers.
FAMILIES = (*PORTFOLIO[1:], *LIBRARIES)
#: Named families for sparse rows.
SPARSE = (SVM, FOREST, LOGISTIC)
#: Maximum number of training rows of a small portfolio, of many settings in five folds.
FEW_ROWS = 3_000
#: Number of classes above which SVMs, trained for each pair of them, have few settings.
MANY_CLASSES = 10
# Minimum number of training rows of a class that is not rare.
_RARE = 20
# Maximum number of training rows for all settings of SVMs and neighbours.
_MANY_SETTINGS = 1_000
# Maximum number of bootstrap rows of a tree in a forest, to limit training time.
_MAX_BOOTSTRAP = 50_000
# Boosting and neighbours use at most so many columns, those with the largest F statistics on the training rows.
_MAX_COLUMNS = 500
# Maximum number of training rows of "neighbours" in "auto": predictions take longer with every row.
_MAX_NEIGHBOURS = 50_000
# Entries of the training rows above which logistic regression has two costs instead of four.
_MANY_ENTRIES = 2_000_000


@dataclass(frozen=True)
class Size:
    """Number of training rows, columns and classes, and whether rows are sparse.

    With a rare class, part of the rows cannot be stratified by class.
    """

    rows: int
    columns: int = 1
    classes: int = 2
    sparse: bool = False
    rare: bool = False

    @classmethod
    def from_data(cls, X: Any, codes: Rows, preprocessor: Any = None) -> Self:
        """Determine the size of X with the classes of its training rows; preprocessed rows are dense.

        Examples
        --------
        >>> Size.from_data([[1.0, 2.0], [3.0, 4.0]], np.array([0, 1]))
        Size(rows=2, columns=2, classes=2, sparse=False, rare=True)
        """
        shape = np.shape(X) if not hasattr(X, "shape") else X.shape
        columns = int(shape[1]) if len(shape) == 2 else 1
        counts = np.unique(codes, return_counts=True)[1]
        rare = counts.min() < _RARE or 10 * counts.size > codes.size
        return cls(codes.size, columns, counts.size, preprocessor is None and bool(issparse(X)), bool(rare))

    @property
    def few(self) -> bool:
        """Whether the portfolio is one of many settings, in several folds."""
        return self.rows <= FEW_ROWS


def select_portfolio(size: Size) -> list[str]:
    """Select the families of "auto" for data of a given size.

    Examples
    --------
    >>> select_portfolio(Size(500)), select_portfolio(Size(1_000_000))
    (['svm', 'forest', 'boosting', 'logistic', 'neighbours'], ['svm', 'forest', 'boosting', 'logistic'])
    """
    if size.sparse:
        return [SVM, LOGISTIC]
    return [name for name in PORTFOLIO if name != NEIGHBOURS or size.rows <= _MAX_NEIGHBOURS]


def warn_about_omitted_families(candidates: Any, size: Size) -> None:
    """Warn if "auto" trains linear classifiers only, because rows are sparse, and name the other families.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_about_omitted_families("auto", Size(500, 2000, sparse=True))
    >>> print(str(caught[0].message).partition(".")[0])
    candidates="auto" leaves out forest, because the rows are sparse
    """
    if not (isinstance(candidates, str) and candidates == AUTO and size.sparse):
        return
    trained = select_portfolio(size)
    others = ", ".join(name for name in SPARSE if name not in trained)
    warn_caller(
        f'candidates="auto" leaves out {others}, because the rows are sparse. Only linear classifiers are trained '
        f"({', '.join(trained)}); the others may have a much smaller error rate. To include families, name them, as in "
        f'candidates="{FOREST}". Decide this before you look at a certificate.'
    )


def select_svm_settings(size: Size) -> dict[str, Any]:
    """Select the parameters of the `SVMs` for "svm", with up to `FEW_ROWS` training rows.

    Examples
    --------
    >>> select_svm_settings(Size(300)), len(select_svm_settings(Size(2000))["lambdas"])
    ({}, 13)
    """
    # With more rows, large costs take longest and hardly ever get weight.
    return {} if size.rows <= _MANY_SETTINGS else {"lambdas": np.logspace(2, -2, 13).tolist(), "gamma": THREE_WIDTHS}


def make_named_family(name: str, preprocessor: Any, size: Size) -> list[Any]:
    """Unfitted classifiers of a named family for data of a size, behind the preprocessor, if any.

    Sparse columns are divided by their maximum absolute value instead of being centred.  Boosting treats categories
    natively.

    Examples
    --------
    >>> [pipeline.get_params()["model__n_neighbors"] for pipeline in make_named_family("neighbours", None, Size(40))]
    [1, 5, 11]
    """
    models = [make_library_classifier(name)] if name in LIBRARIES else _FACTORIES[name](size)
    steps: list[tuple[str, Any]] = []
    native = to_native_encoder(preprocessor) if name == BOOSTING else None
    if native is not None:
        models = [model.set_params(categorical_features="from_dtype") for model in models]
        preprocessor = native
    if preprocessor is not None:
        steps.append(("preprocessor", preprocessor))
    if name in (BOOSTING, NEIGHBOURS) and native is None and size.columns > _MAX_COLUMNS:
        steps.append(("select", SelectKBest(k=_MAX_COLUMNS)))
    if name in (SVM, LOGISTIC, NEIGHBOURS):
        steps.append(("scale", MaxAbsScaler() if size.sparse else StandardScaler()))
    return [
        Pipeline([*((step, clone(transformer)) for step, transformer in steps), ("model", model)]) if steps else model
        for model in models
    ]


def _make_forests(size: Size) -> list[Any]:
    settings: dict[str, Any] = {"n_estimators": 200 if size.rows <= _MAX_BOOTSTRAP else 100, "bootstrap": True}
    if size.rows > _MAX_BOOTSTRAP:
        settings["max_samples"] = _MAX_BOOTSTRAP
    names = ("RandomForestClassifier", "ExtraTreesClassifier")
    return [import_class(f"sklearn.ensemble.{name}")(**settings) for name in names]


def _make_boosting(size: Size) -> list[Any]:
    """Gradient boosting: small trees for few rows; for more, as many iterations as a tenth of the rows recommend."""
    # An iteration trains a tree for each class, and with several classes and few rows other families do better.
    few: list[dict[str, Any]] = [{"max_leaf_nodes": 8, "learning_rate": 0.2, "early_stopping": False, "max_iter": 50}]
    if size.classes == 2:
        few = [{"max_leaf_nodes": leaves, "early_stopping": False, "max_iter": 100} for leaves in (4, 16)]
    iterations = max(100, 1000 // max(1, size.classes - 1))
    stopping = {"early_stopping": not size.rare, "max_iter": min(iterations, 100) if size.rare else iterations}
    many = [{"max_leaf_nodes": n, "learning_rate": rate} | stopping for n, rate in ((31, 0.1), (63, 0.05))]
    model = import_class("sklearn.ensemble.HistGradientBoostingClassifier")
    return [model(**settings) for settings in (few if size.few else many)]


def _make_logistic(size: Size) -> list[Any]:
    model = import_class("sklearn.linear_model.LogisticRegression")
    few_entries = size.few and size.rows * size.columns <= _MANY_ENTRIES
    return [model(C=cost, max_iter=2000) for cost in ((0.01, 0.1, 1.0, 10.0) if few_entries else (0.1, 10.0))]


def _make_neighbours(size: Size) -> list[Any]:
    numbers = [k for k in ((1, 5, 11, 21) if size.rows <= _MANY_SETTINGS else (5, 21)) if k <= max(1, size.rows // 3)]
    model = import_class("sklearn.neighbors.KNeighborsClassifier")
    # A tree, because distances by matrix products depend on the rest of the batch in their last bits.
    return [model(n_neighbors=k, algorithm="kd_tree") for k in numbers]


def _make_linear_svms(size: Size) -> list[Any]:
    """Linear support vector machines, for sparse rows only."""
    return [import_class("sklearn.svm.LinearSVC")(C=cost, max_iter=10_000) for cost in (0.01, 0.1, 1.0, 10.0)]


_FACTORIES = {
    SVM: _make_linear_svms,
    FOREST: _make_forests,
    BOOSTING: _make_boosting,
    LOGISTIC: _make_logistic,
    NEIGHBOURS: _make_neighbours,
}
