"""A finite set of classifiers with what each said of validation examples it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Rows, cached_property
from pacbayes._utils.checks import check_between, check_not_masked
from pacbayes.data.dataset import Dataset, check_complete, check_same_kind, check_same_order
from pacbayes.data.rows import csr_rows, few_rows, number_of_rows, pick_rows, warn_if_batch_dependent
from pacbayes.data.split import (
    EXAMPLE,
    GROUP,
    Split,
    all_validate,
    check_duplicates,
    validation_split,
)
from pacbayes.ensemble.cross_validation import Folds
from pacbayes.ensemble.members import Coding, Estimators, Members, smallest_code_dtype
from pacbayes.ensemble.validation import Counted, ValidationPredictions, check_predictions_fit, observe, risks_of_losses


def check_prefit(estimators: Any, data: Dataset) -> Estimators:
    """Return fitted classifiers as members, or raise; whether one is fitted shows when it is asked."""
    if hasattr(estimators, "predict"):
        raise TypeError(f"estimators must be a list of fitted classifiers, got the single {type(estimators).__name__}")
    fitted = list(estimators)
    if not fitted:
        raise ValueError("estimators must hold at least one fitted classifier, got none")
    for i, estimator in enumerate(fitted):
        if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
            raise TypeError(f"estimators[{i}] must be a fitted classifier with a method predict, got {estimator!r}")
    params = [one.get_params() if hasattr(one, "get_params") else {} for one in fitted]
    return Estimators(fitted, params, data.classes, elsewhere=True)


def warn_prefit(members: Estimators, data: Dataset) -> None:
    """Warn of classifiers whose answer to one of these rows depends on the rows around it."""
    try:
        some = pick_rows(data.rows, few_rows(data.labels))
    except Exception:  # rows, or labels, of a kind that scikit-learn cannot pick from: nobody is asked about them
        return
    warn_if_batch_dependent(members.estimators, lambda i: some)


class ClassifierSet:
    r"""Classifiers :math:`h_1, \dots, h_H` with what each said of `m` validation examples.

    A PAC-Bayesian bound on them is valid if no classifier depends on the examples its own errors were counted on.
    Made by `svm_set` and `grid_set`, or from classifiers trained elsewhere by `from_fitted`,
    `from_predictions` and `from_losses`.

    Attributes
    ----------
    params : list of dict
        What distinguishes each classifier.
    evidence : ValidationPredictions or None
        What each classifier said of the validation examples, and what was true; None for a set made from losses.
    errors : ndarray of int, shape (H,), or None
        Validation errors; None for a set made from losses, or from groups.
    m : int
        Validation examples (or groups) behind each risk.
    risks : ndarray of shape (H,)
        errors / m (or mean losses), rounded up: never below the exact quotient, 0 and 1 exact.
    unit : {"example", "distinct example", "group"}
        What is counted.  "distinct example": rows equal in features and class as one.  "group": the share of errors
        among the rows of each group.
    copies : int or None
        Validation rows that equal a training row in features and class; with independent splits the most that any
        classifier has.  None where that is not known.
    splits : Split or None
        ``splits(i)`` gives the row numbers of classifier i's training and validation sample.
    kkt_violation, converged : ndarrays of shape (H,), or None
        For support vector machines: how far each is from optimal, the worst over pairs of classes.
    dropped : list of dict
        Candidates that could not be trained and were left out: "params" and "error" of each.
    error_rows : ndarray of bool, shape (H, m), or None
        Which validation rows each classifier gets wrong, for `optimal_vote`.  Where classifiers have validation rows of
        their own, the columns are all rows.  None for losses and for groups, of which no such bound is proved.
    validated_rows : ndarray of bool of the same shape, or None
        Which rows validate which classifier; None where all columns of `error_rows` validate each.

    See Also
    --------
    svm_set : Support vector machines for many regularisation parameters.
    grid_set : Any scikit-learn estimator with every setting of a grid.
    optimal_posterior : The posterior over a set from its risks.

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
            self.m, self._number = splits.m, len(predictions)
        elif losses is not None:
            self._number, self.m = losses.shape

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
        """Make a set of fitted classifiers, with their answers to examples none of them was trained on.

        `groups` and `duplicates` say which of these rows are one draw, as for `grid_set`.

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> constant = [DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1]) for c in (0, 1)]
        >>> ClassifierSet.from_fitted(constant, [[0], [0], [0]], [0, 0, 1]).errors
        array([1, 2])
        """
        check_duplicates(duplicates, groups)
        check_same_order(X_val=X_val, y_val=y_val, groups=groups)
        rows, labels = csr_rows(X_val), _check_labels(y_val)
        if number_of_rows(rows) != labels.size:
            raise ValueError(f"X_val and y_val must have the same length, got {number_of_rows(rows)} and {labels.size}")
        data = Dataset.checked(rows, labels, groups)
        members, split = check_prefit(estimators, data), all_validate(data, duplicates)
        check_predictions_fit(len(members), data.number)
        predictions = observe(members, data, split)
        warn_prefit(members, data)
        return cls(members, predictions, split)

    @classmethod
    def from_predictions(cls, predictions: ArrayLike, y_val: ArrayLike) -> ClassifierSet:
        """Make a set from predicted labels, shape (H, m), of examples no classifier was trained on.

        Examples
        --------
        >>> ClassifierSet.from_predictions([["a", "b"], ["b", "b"]], ["a", "b"]).risks
        array([0. , 0.5])
        """
        for i, one in enumerate(predictions if isinstance(predictions, list | tuple) else ()):
            check_same_order(y_val=y_val, **{f"predictions[{i}]": one})
        labels = _check_labels(y_val)
        check_not_masked("predictions", predictions)
        table = np.asarray(predictions)
        if table.ndim != 2 or table.shape[1] != labels.size or table.shape[0] == 0:
            raise ValueError(
                f"predictions must have one row per classifier and one column per entry of y_val, shape "
                f"(H, {labels.size}) with H >= 1, got shape {table.shape}"
            )
        check_same_kind("predictions", table, labels)
        classes, y_true = np.unique(labels, return_inverse=True)
        coding = Coding(classes)
        codes = [coding.codes(row) for row in table]
        kept = smallest_code_dtype(coding.labels.size)
        y_pred = np.stack([row.astype(kept) for row in codes])
        return cls(
            None,
            ValidationPredictions(coding.labels, classes.size, y_pred, y_true.astype(kept)),
            validation_split(labels.size),
        )

    @classmethod
    def from_losses(cls, losses: ArrayLike) -> ClassifierSet:
        """Make a set from losses in [0, 1], shape (H, m): row i on m examples classifier i does not depend on.

        Examples
        --------
        >>> ClassifierSet.from_losses([[0.5, 0.25], [0.0, 1.0]]).risks.round(6)
        array([0.375, 0.5  ])
        """
        table = check_between("losses", losses, 0.0, 1.0)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"losses must have shape (H, m) with H >= 1 and m >= 1, got shape {table.shape}")
        return cls(None, None, None, table)

    def __len__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        lowest, highest = self.risks.min(), self.risks.max()
        return f"ClassifierSet({len(self)} classifiers, m={self.m}, risks from {lowest:.4g} to {highest:.4g})"

    def __getitem__(self, i: int) -> Any:
        """Return the i-th classifier, fitted."""
        if isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise TypeError(f"the number of a classifier must be an integer, got {i!r}")
        if not -len(self) <= i < len(self):
            raise IndexError(f"the set has {len(self)} classifiers, got number {i}")
        return self._members[int(i) % len(self)]

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each classifier."""
        return [{} for _ in range(len(self))] if self.members is None else self.members.params

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained and were left out."""
        return [] if self.members is None else self.members.dropped

    @property
    def kkt_violation(self) -> FloatArray | None:
        """How far each support vector machine is from optimal; None for other classifiers."""
        return None if self.members is None else self.members.kkt_violation

    @property
    def converged(self) -> BoolArray | None:
        """Whether each support vector machine is near enough to optimal; None for other classifiers."""
        return None if self.members is None else self.members.converged

    @cached_property
    def counted(self) -> Counted:
        """The errors on validation rows; certificates rest on it."""
        if self.predictions is None or self.splits is None:
            raise ValueError("this set was made from losses: it holds risks, not counted errors")
        return self.predictions.count(self.splits)

    @property
    def errors(self) -> Rows | None:
        """The validation errors of each classifier; None for losses and for groups."""
        return self.counted.errors[:, 0] if self.predictions is not None and self.unit != GROUP else None

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier, or its mean loss, rounded up."""
        return self.counted.risks if self._losses is None else risks_of_losses(self._losses)

    @property
    def unit(self) -> str:
        """What is counted: examples, distinct examples or groups."""
        return EXAMPLE if self.splits is None else self.splits.unit

    @property
    def copies(self) -> int | None:
        """Validation rows that equal a training row in features and class; None where that is not known."""
        return None if self.splits is None else self.splits.copies

    @property
    def prefit(self) -> bool:
        """Whether the classifiers were trained before, on rows that are not known here."""
        return self.splits is not None and self.splits.prefit

    @property
    def error_rows(self) -> BoolArray | None:
        """Which validation rows each classifier gets wrong; None for losses and for groups."""
        return None if self.predictions is None or self.unit == GROUP else self.predictions.wrong()

    @property
    def validated_rows(self) -> BoolArray | None:
        """Which rows validate which classifier; None where all columns of `error_rows` do, or there are none."""
        return None if self.predictions is None or self.unit == GROUP else self.predictions.validates()

    def tandem_risks(self) -> FloatArray:
        """Return for each pair of classifiers the share of validation rows on which both err, rounded up.

        Shape (H, H).  Where classifiers have validation rows of their own, those that validate both count.

        Examples
        --------
        >>> predicted = [[0, 1, 1, 0], [0, 1, 0, 1]]
        >>> ClassifierSet.from_predictions(predicted, [1, 0, 0, 0]).tandem_risks().tolist()
        [[0.75, 0.5], [0.5, 0.75]]
        """
        if self.predictions is None or self.unit == GROUP:
            raise ValueError("this set does not know who errs on which row: it was made from losses, or of groups")
        return self.predictions.tandem_risks

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels that every classifier gives the rows of X, shape (H, n)."""
        members = self._members
        coding = Coding(members.classes)
        codes = members.predict(members.prepared(X), np.arange(len(members)), coding)
        return np.asarray(coding.labels[codes])

    @property
    def _members(self) -> Members:
        if self.members is None:
            raise ValueError("this set was made from predictions or losses: it holds risks, not classifiers")
        return self.members


def _check_labels(y_val: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(check_complete(y_val, "y_val"))
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_val must be one-dimensional and not empty, got shape {labels.shape}")
    return labels


@dataclass(frozen=True, eq=False)
class Work:
    """What classifiers are trained with: divided rows, workers, and where finished classifiers are kept."""

    data: Dataset
    #: Its seed is that of all training.
    split: Split
    n_jobs: int | None
    checkpoint: Any
    #: What else makes two runs the same.
    options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Trained:
    """Classifiers that have seen training rows only."""

    members: Members
    #: Which rows train and which validate.
    split: Split
    #: The classifiers with the training rows that all share; None where they share none.
    folds: Folds | None = None

    def as_set(self, data: Dataset, n_jobs: int | None) -> ClassifierSet:
        """Return the classifiers with their answers to the validation rows."""
        return ClassifierSet(self.members, observe(self.members, data, self.split, n_jobs), self.split)
