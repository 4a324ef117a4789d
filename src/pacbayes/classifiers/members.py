"""The classifiers of a set themselves: handed out one by one, or asked all at once."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from pacbayes.data.labels import one_label_each
from pacbayes.data.rows import copy_rows, csr_rows
from pacbayes.runtime.threads import one_thread


class Members(Protocol):
    """The classifiers themselves: handed out one by one, or asked all at once."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Any: ...

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels every classifier gives the rows of X, shape (H, n)."""


class EstimatorMembers:
    """Fitted estimators somebody else trained."""

    def __init__(self, estimators: Sequence[Any]) -> None:
        self._estimators = list(estimators)

    def __len__(self) -> int:
        return len(self._estimators)

    def __getitem__(self, i: int) -> Any:
        return self._estimators[i]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels every classifier gives the rows of X, shape (H, n)."""
        rows = csr_rows(X)
        with one_thread():
            # A classifier may write into its rows (StandardScaler(copy=False)): each gets its own.
            said = [estimator.predict(copy_rows(rows)) for estimator in self._estimators]
        number = _num_samples(rows)
        return np.stack([one_label_each(f"classifier {i}.predict", one, number) for i, one in enumerate(said)])
