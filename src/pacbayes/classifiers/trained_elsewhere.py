"""Classifiers that were trained before, on other rows: their errors on rows that all validate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.packed_errors import Bits, PackedErrors, check_kept_rows, kept_errors
from pacbayes.classifiers.wrong_rows import wrong_rows
from pacbayes.data.division import Splits, belonging, check_duplicates, validating_splits
from pacbayes.data.rows import copy_rows, pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches
from pacbayes.numeric.arrays import Rows


@dataclass(frozen=True)
class CountedElsewhere:
    """Fitted classifiers, what was counted of them, and which rows are one draw."""

    fitted: list[Any]
    counts: Rows
    splits: Splits
    kept: PackedErrors | None


def count_fitted(
    estimators: Any, rows: Any, labels: NDArray[Any], *, groups: ArrayLike | None, duplicates: str, keep: bool
) -> CountedElsewhere:
    """Ask fitted classifiers about all rows and count their errors; warn where an answer depends on the rows around.

    With `keep`, which rows each gets wrong is kept too.
    """
    fitted = _check_fitted(estimators)
    check_duplicates(duplicates, groups)
    together = belonging(rows, np.unique(labels, return_inverse=True)[1], groups, duplicates)
    splits = validating_splits(labels.size, together.unit, together.units)
    if keep:
        check_kept_rows(splits, len(fitted))
    counted = splits(0)[1]
    kinds, sizes = splits.kinds(counted), splits.sizes
    counts = np.empty((len(fitted), sizes.size), dtype=np.int64)
    kept: list[Bits] = []
    for i, estimator in enumerate(fitted):
        wrong = _wrong_rows(estimator, copy_rows(rows), labels, f"estimators[{i}]")[counted]
        counts[i] = count_errors_by_kind(wrong, kinds, sizes.size)
        if keep:
            kept.append(np.packbits(wrong))
    try:
        some = pick_rows(rows, few_rows(labels))
    except Exception:  # rows, or labels, of a kind that scikit-learn cannot pick from: nobody is asked about them
        some = None
    if some is not None:
        warn_of_batches(fitted, lambda i: some)
    return CountedElsewhere(fitted, counts, splits, kept_errors(splits, range(len(fitted)), kept))


def _check_fitted(estimators: Any) -> list[Any]:
    """Return classifiers as a list, or raise if one cannot predict; whether it is fitted shows when it is asked."""
    if hasattr(estimators, "predict"):
        raise TypeError(f"estimators must be a list of fitted classifiers, got the single {type(estimators).__name__}")
    fitted = list(estimators)
    if not fitted:
        raise ValueError("estimators must hold at least one fitted classifier, got none")
    for i, estimator in enumerate(fitted):
        if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
            raise TypeError(f"estimators[{i}] must be a fitted classifier with a method predict, got {estimator!r}")
    return fitted


def _wrong_rows(estimator: Any, X: Any, labels: NDArray[Any], name: str) -> NDArray[np.bool_]:
    try:
        return wrong_rows(estimator, X, labels, f"{name}.predict(X_val)")
    except NotFittedError as error:
        raise ValueError(f"{name} must be fitted, on rows other than these: {error}") from error
