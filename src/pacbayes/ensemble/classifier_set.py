"""Finite set of classifiers with their validation predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Rows, cached_property
from pacbayes._utils.checks import check_in_range, check_not_masked
from pacbayes.data.dataset import Dataset, check_label_types, check_no_missing_labels, check_same_order
from pacbayes.data.rows import count_rows, pick_rows, select_test_rows, to_csr, warn_if_batch_dependent
from pacbayes.data.split import (
    EXAMPLE,
    GROUP,
    Split,
    check_duplicates,
    make_prefit_split,
    make_validation_split,
)
from pacbayes.ensemble.cross_validation import Folds
from pacbayes.ensemble.members import Coding, Estimators, Members, smallest_code_dtype
from pacbayes.ensemble.validation import (
    ErrorCounts,
    ValidationPredictions,
    check_predictions_fit,
    collect_predictions,
    losses_to_risks,
)


def check_prefit(estimators: Any, data: Dataset) -> Estimators:
    """Convert prefit classifiers to members; those that are not fitted raise when they predict."""
    if hasattr(estimators, "predict"):
        raise TypeError(f"estimators must be a list of fitted classifiers, got the single {type(estimators).__name__}")
    fitted = list(estimators)
    if not fitted:
        raise ValueError("estimators must hold at least one fitted classifier, got none")
    for i, estimator in enumerate(fitted):
        if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
            raise TypeError(f"estimators[{i}] must be a fitted classifier with a method predict, got {estimator!r}")
    params = [estimator.get_params() if hasattr(estimator, "get_params") else {} for estimator in fitted]
    return Estimators(fitted, params, data.classes, prefit=True)


def warn_if_prefit_batch_dependent(members: Estimators, data: Dataset) -> None:
    """Warn of classifiers whose prediction for a row depends on the rest of the batch."""
    try:
        sample = pick_rows(data.rows, select_test_rows(data.labels))
    except Exception:  # rows or labels from which scikit-learn cannot pick: not checked
        return
    warn_if_batch_dependent(members.estimators, lambda i: sample)


class ClassifierSet:
    r"""Classifiers :math:`h_1, \dots, h_H` with their predictions for `m` validation rows.

    A PAC-Bayesian bound on them is valid if no classifier depends on its validation rows.  `svm_set` and `grid_set`
    train sets; `from_fitted`, `from_predictions` and `from_losses` make sets of prefit classifiers.

    Attributes
    ----------
    params : list of dict
        Parameters that distinguish the classifiers.
    predictions : ValidationPredictions or None
        Validation predictions and labels; None for a set made from losses.
    errors : ndarray of int, shape (H,), or None
        Validation errors; None for a set made from losses, or with groups.
    m : int
        Number of validation rows (or groups) of each classifier.
    risks : ndarray of shape (H,)
        errors / m (or mean losses), rounded up: never below the exact quotient, 0 and 1 exact.
    unit : {"example", "distinct example", "group"}
        Unit of the loss.  "distinct example": rows equal in features and class count once.  "group": the loss of a
        group is its error rate.
    copies : int or None
        Number of validation rows that equal a training row in features and class; with independent splits, the maximum
        over classifiers.  None if it is unknown.
    splits : Split or None
        ``splits(i)`` returns the indices of the training and validation rows of classifier i.
    kkt_violation, converged : ndarrays of shape (H,), or None
        For support vector machines: the KKT violation, the maximum over pairs of classes, and whether it is small
        enough.
    dropped : list of dict
        Candidates that could not be trained: "params" and "error" of each.
    error_rows : ndarray of bool, shape (H, m), or None
        Mask of the validation errors of each classifier, for `optimal_vote`.  With independent splits, the columns are
        all rows.  None for losses and with groups, for which no such bound is proved.
    validated_rows : ndarray of bool of the same shape, or None
        Mask of the rows that validate each classifier; None if all columns of `error_rows` validate all classifiers.

    See Also
    --------
    svm_set : Support vector machines for many regularisation parameters.
    grid_set : Any scikit-learn classifier with every setting of a grid.
    optimal_posterior : Posterior over a set from its risks.

    References
    ----------
    .. [1] D. A. McAllester, "PAC-Bayesian model averaging", COLT, 1999.

    Examples
    --------
    >>> from pacbayes import ClassifierSet, bound
    >>> classifiers = ClassifierSet.from_predictions([[0, 1, 1, 0], [0, 1, 0, 0]], [0, 1, 0, 0])
    >>> classifiers.errors, classifiers.risks, len(classifiers)
    (array([1, 0]), array([0.25, 0.  ]), 2)
    >>> classifiers
    ClassifierSet(2 classifiers, m=4, risks from 0 to 0.25)
    """

    def __init__(
        self,
        members: Members | None,
        predictions: ValidationPredictions | None,
        splits: Split | None,
        losses: FloatArray | None = None,
    ) -> None:
        self.members, self.predictions, self.splits = members, predictions, splits
        self._losses = losses
        if predictions is not None and splits is not None:
            self.m, self._n_classifiers = splits.m, len(predictions)
        elif losses is not None:
            self._n_classifiers, self.m = losses.shape

    @classmethod
    def from_fitted(
        cls,
        estimators: Iterable[Any],
        X_val: Any,
        y_val: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        duplicates: str = "keep",
    ) -> ClassifierSet:
        """Set of prefit classifiers with their predictions for a validation set.

        `groups` and `duplicates` are as for `grid_set`.

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> constant = [DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1]) for c in (0, 1)]
        >>> ClassifierSet.from_fitted(constant, [[0], [0], [0]], [0, 0, 1]).errors
        array([1, 2])
        """
        check_duplicates(duplicates, groups)
        check_same_order(X_val=X_val, y_val=y_val, groups=groups)
        rows, labels = to_csr(X_val), _check_labels(y_val)
        if count_rows(rows) != labels.size:
            raise ValueError(f"X_val and y_val must have the same length, got {count_rows(rows)} and {labels.size}")
        data = Dataset.from_arrays(rows, labels, groups)
        members, split = check_prefit(estimators, data), make_prefit_split(data, duplicates)
        check_predictions_fit(len(members), data.n_rows)
        predictions = collect_predictions(members, data, split)
        warn_if_prefit_batch_dependent(members, data)
        return cls(members, predictions, split)

    @classmethod
    def from_predictions(cls, predictions: ArrayLike, y_val: ArrayLike) -> ClassifierSet:
        """Set of classifiers given by their predictions for a validation set, shape (H, m).

        Examples
        --------
        >>> ClassifierSet.from_predictions([["a", "b"], ["b", "b"]], ["a", "b"]).risks
        array([0. , 0.5])
        """
        for i, row in enumerate(predictions if isinstance(predictions, list | tuple) else ()):
            check_same_order(y_val=y_val, **{f"predictions[{i}]": row})
        labels = _check_labels(y_val)
        check_not_masked("predictions", predictions)
        table = np.asarray(predictions)
        if table.ndim != 2 or table.shape[1] != labels.size or table.shape[0] == 0:
            raise ValueError(
                f"predictions must have one row per classifier and one column per entry of y_val, shape "
                f"(H, {labels.size}) with H >= 1, got shape {table.shape}"
            )
        check_label_types("predictions", table, labels)
        classes, y_true = np.unique(labels, return_inverse=True)
        coding = Coding(classes)
        codes = [coding.encode(row) for row in table]
        dtype = smallest_code_dtype(coding.labels.size)
        y_pred = np.stack([row.astype(dtype) for row in codes])
        return cls(
            None,
            ValidationPredictions(coding.labels, classes.size, y_pred, y_true.astype(dtype)),
            make_validation_split(labels.size),
        )

    @classmethod
    def from_losses(cls, losses: ArrayLike) -> ClassifierSet:
        """Set of classifiers given by their losses in [0, 1] on validation sets, shape (H, m).

        Examples
        --------
        >>> ClassifierSet.from_losses([[0.5, 0.25], [0.0, 1.0]]).risks.round(6)
        array([0.375, 0.5  ])
        """
        table = check_in_range("losses", losses, 0.0, 1.0)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"losses must have shape (H, m) with H >= 1 and m >= 1, got shape {table.shape}")
        return cls(None, None, None, table)

    def __len__(self) -> int:
        return self._n_classifiers

    def __repr__(self) -> str:
        lowest, highest = self.risks.min(), self.risks.max()
        return f"ClassifierSet({len(self)} classifiers, m={self.m}, risks from {lowest:.4g} to {highest:.4g})"

    def __getitem__(self, i: int) -> Any:
        """Fitted classifier i."""
        if isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise TypeError(f"the index of a classifier must be an integer, got {i!r}")
        if not -len(self) <= i < len(self):
            raise IndexError(f"the set has {len(self)} classifiers, got index {i}")
        return self._trained_members[int(i) % len(self)]

    @property
    def params(self) -> list[dict[str, Any]]:
        """Parameters that distinguish the classifiers."""
        return [{} for _ in range(len(self))] if self.members is None else self.members.params

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained."""
        return [] if self.members is None else self.members.dropped

    @property
    def kkt_violation(self) -> FloatArray | None:
        """KKT violation of each support vector machine; None for other classifiers."""
        return None if self.members is None else self.members.kkt_violation

    @property
    def converged(self) -> BoolArray | None:
        """Whether each support vector machine converged; None for other classifiers."""
        return None if self.members is None else self.members.converged

    @cached_property
    def error_counts(self) -> ErrorCounts:
        """Validation errors, on which certificates are based."""
        if self.predictions is None or self.splits is None:
            raise ValueError("this set was made from losses: it holds risks, not error counts")
        return self.predictions.count_errors(self.splits)

    @property
    def errors(self) -> Rows | None:
        """Validation errors of each classifier; None for losses and with groups."""
        return self.error_counts.errors[:, 0] if self.predictions is not None and self.unit != GROUP else None

    @cached_property
    def risks(self) -> FloatArray:
        """Error rate or mean loss of each classifier, rounded up."""
        return self.error_counts.risks if self._losses is None else losses_to_risks(self._losses)

    @property
    def unit(self) -> str:
        """Unit of the loss: examples, distinct examples or groups."""
        return EXAMPLE if self.splits is None else self.splits.unit

    @property
    def copies(self) -> int | None:
        """Number of validation rows that equal a training row in features and class; None if it is unknown."""
        return None if self.splits is None else self.splits.copies

    @property
    def prefit(self) -> bool:
        """Whether the classifiers were fitted before they reached this library."""
        return self.splits is not None and self.splits.prefit

    @property
    def error_rows(self) -> BoolArray | None:
        """Mask of the validation errors of each classifier; None for losses and with groups."""
        return None if self.predictions is None or self.unit == GROUP else self.predictions.error_mask()

    @property
    def validated_rows(self) -> BoolArray | None:
        """Mask of the rows that validate each classifier; None if all do, or for losses and with groups."""
        return None if self.predictions is None or self.unit == GROUP else self.predictions.evaluated_mask()

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict X with every classifier; labels of shape (H, n)."""
        members = self._trained_members
        coding = Coding(members.classes)
        codes = members.predict(members.preprocess(X), np.arange(len(members)), coding)
        return np.asarray(coding.labels[codes])

    @property
    def _trained_members(self) -> Members:
        if self.members is None:
            raise ValueError("this set was made from predictions or losses: it holds risks, not classifiers")
        return self.members


def _check_labels(y_val: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(check_no_missing_labels(y_val, "y_val"))
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_val must be one-dimensional and not empty, got shape {labels.shape}")
    return labels


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Input of the training of any family."""

    data: Dataset
    #: Its seed is that of all training.
    split: Split
    n_jobs: int | None
    checkpoint: Any
    #: Options of the split, which identify the run in a checkpoint.
    options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class TrainedMembers:
    """Classifiers that were trained on training rows only."""

    members: Members
    split: Split
    #: Folds of the common training rows; None with independent splits.
    folds: Folds | None = None

    def as_set(self, data: Dataset, n_jobs: int | None) -> ClassifierSet:
        """Predict the validation rows."""
        return ClassifierSet(self.members, collect_predictions(self.members, data, self.split, n_jobs), self.split)
