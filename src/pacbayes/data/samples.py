"""Rows of any kind (arrays, sparse matrices, data frames, texts): those each classifier is trained and measured on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from pacbayes.data.division import Division, Splits
from pacbayes.data.labels import check_complete
from pacbayes.data.rows import copy_rows, csr_rows, pick_rows
from pacbayes.data.rows_alone import few_rows
from pacbayes.numeric.arrays import FloatArray, Labels
from pacbayes.numeric.cached import cached_property
from pacbayes.numeric.checks import check_numbers, narrow_labels


@dataclass(frozen=True)
class Training:
    """What one classifier is trained on."""

    X: Any
    y: Labels
    weights: FloatArray | None


@dataclass(frozen=True)
class Samples:
    """The rows of all classifiers; with a shared split, cut once."""

    X: Any
    y: Labels
    weights: FloatArray | None
    splits: Splits
    shared: tuple[Training, tuple[Any, Labels]] | None
    #: Validation rows with an equal training row; None where that is not known.
    copies: int | None = None

    def __call__(self, i: int) -> tuple[Training, tuple[Any, Labels]]:
        """Return the i-th classifier's training sample and its validation rows with their labels."""
        if self.shared is not None:
            # A classifier may write into its rows (StandardScaler(copy=False)): each gets its own.
            training, (rows, labels) = self.shared
            own = Training(copy_rows(training.X), training.y.copy(), copy_rows(training.weights))
            return own, (copy_rows(rows), labels)
        train, validation = self.splits(i)
        return _training(self.X, self.y, self.weights, train), (pick_rows(self.X, validation), self.y[validation])

    def kinds(self, i: int) -> tuple[NDArray[np.int64], int]:
        """Return the kinds of the i-th classifier's validation rows, and how many there are."""
        return self._shared_kinds if self.shared is not None else self._kinds(i)

    @cached_property
    def _shared_kinds(self) -> tuple[NDArray[np.int64], int]:
        return self._kinds(0)

    def _kinds(self, i: int) -> tuple[NDArray[np.int64], int]:
        splits = self.splits
        return splits.kinds(splits(i)[1]), splits.sizes.size

    def few(self, i: int) -> Any:
        """Return a few rows of the i-th classifier's training sample."""
        if self.shared is not None:
            return self._shared_few
        train = self.splits(i)[0]
        return pick_rows(self.X, train[few_rows(self.y[train])])

    @cached_property
    def _shared_few(self) -> Any:
        assert self.shared is not None
        training = self.shared[0]
        return pick_rows(training.X, few_rows(training.y))


def _training(X: Any, y: Labels, weights: FloatArray | None, rows: NDArray[np.int64]) -> Training:
    return Training(pick_rows(X, rows), y[rows], None if weights is None else weights[rows])


def cut_samples(X: Any, y: Labels, weights: FloatArray | None, division: Division) -> Samples:
    """Return the samples of checked rows."""
    splits, copies = division.splits, division.copies
    if splits.shared is None:
        return Samples(X, y, weights, splits, None, copies)
    train, validation = splits.shared
    cut = (_training(X, y, weights, train), (pick_rows(X, validation), y[validation]))
    # Only what is cut travels to the workers.
    return Samples(None, y[:0], None, splits, cut, copies)


def check_rows(X: Any, y: ArrayLike, name: str = "") -> tuple[Any, Labels]:
    """Return rows that can be picked by number, and their labels; `name` is the prefix of arguments in errors.

    Examples
    --------
    >>> check_rows(["good", "bad", "fine"], ["a", "b", "a"])[1]
    array(['a', 'b', 'a'], dtype='<U1')
    """
    labels = column_or_1d(check_complete(narrow_labels(y), f"{name}y"), warn=True)
    if labels.size == 0:
        raise ValueError(f"{name}y must not be empty")
    assert_all_finite(labels, input_name=f"{name}y")
    check_classification_targets(labels)
    X = csr_rows(X)
    if isinstance(X, str) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise TypeError(f"{name}X must be rows: an array, a sparse matrix, a data frame or a list, got {X!r}")
    if _num_samples(X) != labels.size:
        raise ValueError(f"{name}X and {name}y must have the same length, got {_num_samples(X)} and {labels.size}")
    return indexable(X)[0], labels


def check_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return weights of the training rows: finite, not negative, not all zero; None for none."""
    if sample_weight is None:
        return None
    weights = check_numbers("sample_weight", sample_weight)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per row of X, shape ({n},), got shape {weights.shape}")
    if not (np.isfinite(weights).all() and weights.min() >= 0.0):
        bad = weights[~(np.isfinite(weights) & (weights >= 0.0))][0]
        raise ValueError(f"sample_weight must be finite and not negative, got {bad}")
    if weights.max() == 0.0:
        raise ValueError("sample_weight must not be zero for every row")
    return weights
