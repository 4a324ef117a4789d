"""Whether a row gets the same answer alone as among others: asked of fitted estimators about a few rows.

What is fitted anew on every batch (a scaler that takes the batch's own mean) gives a row one answer among the
validation rows and another when it comes alone.  Then errors were counted of a classifier that nobody will use.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes._utils.threads import one_thread
from pacbayes.data.rows import pick_rows

# Rows to ask about together, two of them also alone.  Asking takes as long as some fits do: it is done for one
# classifier of so many of a kind.
TOGETHER = 100
ONE_OF = 50
# What rounding may do to a sum of products, in units of the largest number's last place.
_ROUNDING = 1000.0


def few_rows(y: NDArray[Any]) -> Rows:
    """Return the numbers of a few rows of all classes, in the order of these.

    Examples
    --------
    >>> few_rows(np.array([0, 1, 2, 1, 0])).tolist()
    [0, 4, 1, 3, 2]
    """
    order = np.argsort(y, kind="stable")
    return order[np.unique(np.linspace(0, y.size - 1, min(TOGETHER, y.size)).round().astype(np.int64))]


def warn_of_batches(
    estimators: Sequence[Any],
    rows: Callable[[int], Any],
    method: str = "predict",
    settings: Sequence[Any] | None = None,
) -> None:
    """Warn of estimators whose answer for a row depends on the rows around it; ``rows(i)`` gives some for the i-th.

    One of each kind is asked, and every fiftieth.  `settings` are what distinguishes them, where that is known.
    """
    kinds: set[Any] = set()
    asked: list[int] = []
    for i, estimator in enumerate(estimators):
        kind = _kind(estimator if settings is None else settings[i])
        if i % ONE_OF == 0 or kind not in kinds:
            kinds.add(kind)
            asked.append(i)
    with one_thread():
        found = [depends_on_batch(estimators[i], rows(i), method) for i in asked]
    for name in dict.fromkeys(found):
        if name is not None:
            warn_caller(
                f"{name} gives a row another answer, or none, when asked about it alone and not among other rows. "
                "Certificates hold only for classifiers whose answer for a row depends on that row alone."
            )


def _kind(value: Any) -> Any:
    """Return what estimators, or their settings, have in common that differ in their numbers only.

    A step that looks at the batch may be anywhere in an estimator, and chosen by a word or a switch.

    Examples
    --------
    >>> _kind({"depth": 3}) == _kind({"depth": 5}), _kind({"scaled": True}) == _kind({"scaled": False})
    (True, False)
    """
    if value is None or isinstance(value, bool | np.bool_ | str):
        return value
    if isinstance(value, Mapping):
        return tuple((str(name), _kind(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_kind, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value), _kind(value.get_params(deep=False))
    return id(value) if callable(value) else type(value)


def depends_on_batch(estimator: Any, X: Any, method: str = "predict") -> str | None:
    """Return the name of the class that answers for some row otherwise alone than among the rows of X, or None.

    In a pipeline each step is asked in its turn; of a classifier, labels are compared.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> depends_on_batch(FunctionTransformer(lambda rows: rows - rows.mean()), X, "transform")
    'FunctionTransformer'
    >>> depends_on_batch(StandardScaler().fit(X), X, "transform") is None
    True
    """
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    # Steps that only training has, and "passthrough", have no such method.
    asked = [getattr(step, "transform", None) for step in steps[:-1]] + [getattr(steps[-1], method, None)]
    rows = X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is said of a single row is no answer to the user
        for step, ask in zip(steps, asked, strict=True):
            if ask is None:
                continue
            try:
                together = ask(_picked(rows, range(_num_samples(rows))))
                said = _table(together)
                some = _two(said)
                same = _same(said[some], np.concatenate([_table(ask(_picked(rows, [j]))) for j in some]))
            except Exception:  # other people's classifiers raise what they like; these rows they have been trained on
                same = False
            if not same:
                return type(step).__name__
            rows = together
    return None


def _two(said: NDArray[Any]) -> list[int]:
    """Return two rows, with different answers where there are any: who looks at the batch may say one of all lone rows.

    Examples
    --------
    >>> _two(np.array([1, 0, 0, 1, 2]))
    [1, 4]
    """
    if said.ndim > 1:
        return [0, len(said) - 1]
    # As texts labels of any kind have an order.
    order = np.argsort(said if said.dtype.kind in "biufU" else said.astype(str), kind="stable")
    return [int(order[0]), int(order[-1])]


def _picked(X: Any, which: Sequence[int]) -> Any:
    """Return a copy of some rows: a classifier may write into what it is given."""
    return pick_rows(X, np.array(which))


def _table(made: Any) -> NDArray[Any]:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


def _same(together: NDArray[Any], alone: NDArray[Any]) -> bool:
    """Return whether two tables hold the same, up to what rounding does in sums of another order.

    Numbers may differ by half of their digits within a column: rounding does less, a mean of other rows does more.
    In a column that is nothing but the rounding error of large numbers they may differ by that.

    Examples
    --------
    >>> _same(np.array([[1.0, 1e9]]), np.array([[1.0 + 1e-12, 1e9]])), _same(np.array([1.0]), np.array([1.001]))
    (True, False)
    """
    if together.shape != alone.shape:
        return False
    equal = (together == alone) | ((together != together) & (alone != alone))
    if together.dtype.kind == "f" and alone.dtype.kind == "f":
        unit = float(np.finfo(together.dtype).eps)
        sizes = np.where(np.isfinite(together), np.abs(together), 0.0)
        allowed = np.sqrt(unit) * sizes.max(axis=0) + _ROUNDING * unit * sizes.max(initial=0.0)
        with np.errstate(invalid="ignore"):
            equal |= np.abs(together - alone) <= allowed
    return bool(np.all(equal))
