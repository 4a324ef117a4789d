"""A finite set of classifiers with the errors each made on validation examples it was not trained on."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.members import EstimatorMembers, Members
from pacbayes.classifiers.packed_errors import PackedErrors, check_error_rows_fit
from pacbayes.classifiers.risks import count_errors, risks_of_errors, risks_of_losses
from pacbayes.classifiers.trained_elsewhere import count_fitted
from pacbayes.data.division import EXAMPLE, GROUP, OUT_OF_BAG, Splits
from pacbayes.data.labels import check_complete, check_same_kind
from pacbayes.data.rows import csr_rows
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_between, check_not_masked
from pacbayes.runtime.html_card import card

Errors = NDArray[np.int64]


# How rows were divided, in words.
_DIVISIONS = {
    "shared": "one for all",
    "independent": "one for each classifier",
    OUT_OF_BAG: "a bag for each classifier, validated by the rows left out of it",
}


class ClassifierSet:
    r"""Classifiers :math:`h_1, \dots, h_H` with their errors on `m` validation examples each.

    A PAC-Bayesian bound on them is valid if no classifier depends on the examples its own errors were counted on.
    Made by `svm_set` and `grid_set`, or from classifiers trained elsewhere by `from_fitted`, `from_predictions` and
    `from_losses`.

    Attributes
    ----------
    params : list of dict
        What distinguishes each classifier.
    errors : ndarray of int, shape (H,), or None
        Validation errors; None for a set made from losses, or from groups.
    group_errors : GroupErrors or None
        With groups: errors by the size of the group, from which their mean over groups is exact.
    m : int
        Validation examples (or groups) behind each risk; the least, where classifiers have different numbers.
    m_each : ndarray of int, shape (H,)
        Those behind the risk of each classifier, all `m` but for the out-of-bag rows of `forest_set`.
    risks : ndarray of shape (H,)
        errors / m (or mean losses), rounded up: never below the exact quotient, 0 and 1 exact.
    unit : {"example", "distinct example", "group"}
        What is counted.  "distinct example": rows equal in features and class as one.  "group": the share of errors
        among the rows of each group.
    copies : int or None
        Validation rows that equal a training row in features and class; with independent splits the most that any
        classifier has.  None where that is not known.
    splits : callable or None
        ``splits(i)`` gives the row numbers of classifier i's training and validation sample.
    kkt_violation, converged : ndarrays of shape (H,), or None
        For support vector machines: how far each is from optimal, the worst over pairs of classes.
    dropped : list of dict
        Candidates that could not be trained and were left out: "params" and "error" of each.
    error_rows : ndarray of bool, shape (H, m), or None
        Which validation rows each classifier gets wrong, where it was made with ``keep_error_rows=True``: for
        `optimal_vote`.  Where classifiers have validation rows of their own, the columns are all rows.
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
        params: Sequence[dict[str, Any]],
        risks: FloatArray,
        m: int,
        *,
        errors: Errors | None = None,
        group_errors: GroupErrors | None = None,
        copies: int | None = None,
        members: Members | None = None,
        splits: Splits | None = None,
        kkt_violation: FloatArray | None = None,
        converged: NDArray[np.bool_] | None = None,
        dropped: Sequence[dict[str, Any]] = (),
        kept_errors: PackedErrors | None = None,
    ) -> None:
        self.params = list(params)
        self.risks = risks
        self.m = m
        self.errors = errors
        self.group_errors = group_errors
        self.copies = copies
        self.splits = splits
        self.kkt_violation = kkt_violation
        self.converged = converged
        self.dropped = list(dropped)
        if kept_errors is not None:
            self._kept_errors = kept_errors
        self._members = members

    @classmethod
    def from_errors(cls, params: Sequence[dict[str, Any]], errors: Errors, m: int, **details: Any) -> ClassifierSet:
        """Make a set from counted errors; the risks follow."""
        return cls(params, risks_of_errors(errors, m), m, errors=errors, **details)

    @classmethod
    def from_counts(
        cls, params: Sequence[dict[str, Any]], counts: Errors, splits: Splits, **details: Any
    ) -> ClassifierSet:
        """Make a set from errors counted by the kinds of rows that a division has, shape (H, kinds)."""
        if splits.unit != GROUP:
            return cls.from_errors(params, counts[:, 0], splits.m, splits=splits, **details)
        errors = GroupErrors(splits.sizes, counts)
        return cls(params, errors.risks(splits.m), splits.m, group_errors=errors, splits=splits, **details)

    @classmethod
    def from_fitted(
        cls,
        estimators: Iterable[Any],
        X_val: Any,
        y_val: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        duplicates: str = "keep",
        keep_error_rows: bool = False,
    ) -> ClassifierSet:
        """Make a set of fitted classifiers, with errors on examples none of them was trained on.

        `groups` and `duplicates` say which of these rows are one draw, as for `grid_set`.  With `keep_error_rows` it
        also knows which examples each gets wrong; see `error_rows`.

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> constant = [DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1]) for c in (0, 1)]
        >>> ClassifierSet.from_fitted(constant, [[0], [0], [0]], [0, 0, 1]).errors
        array([1, 2])
        """
        labels, rows = _check_labels(y_val), csr_rows(X_val)
        found = count_fitted(estimators, rows, labels, groups=groups, duplicates=duplicates, keep=keep_error_rows)
        params = [one.get_params() if hasattr(one, "get_params") else {} for one in found.fitted]
        details = {"members": EstimatorMembers(found.fitted), "kept_errors": found.kept}
        return cls.from_counts(params, found.counts, found.splits, **details)

    @classmethod
    def from_predictions(
        cls, predictions: ArrayLike, y_val: ArrayLike, *, keep_error_rows: bool = False
    ) -> ClassifierSet:
        """Make a set from predicted labels, shape (H, m), of examples no classifier was trained on.

        With `keep_error_rows` it also knows which examples each gets wrong; see `error_rows`.

        Examples
        --------
        >>> ClassifierSet.from_predictions([["a", "b"], ["b", "b"]], ["a", "b"]).risks
        array([0. , 0.5])
        """
        labels = _check_labels(y_val)
        check_not_masked("predictions", predictions)
        table = np.asarray(predictions)
        if table.ndim != 2 or table.shape[1] != labels.size or table.shape[0] == 0:
            raise ValueError(
                f"predictions must have one row per classifier and one column per entry of y_val, shape "
                f"(H, {labels.size}) with H >= 1, got shape {table.shape}"
            )
        check_same_kind("predictions", table, labels)
        kept = _kept_errors(keep_error_rows, len(table), labels.size)
        if kept is not None:
            for bits, row in zip(kept.packed, table, strict=True):
                bits[:] = np.packbits(row != labels)
        return cls.from_errors([{} for _ in table], count_errors(table, labels), labels.size, kept_errors=kept)

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
        return cls([{} for _ in table], risks_of_losses(table), table.shape[1])

    def __len__(self) -> int:
        return len(self.params)

    def __repr__(self) -> str:
        return f"ClassifierSet({len(self)} classifiers, m={self.m}, risks {_from_to(self.risks)})"

    def _repr_html_(self) -> str:
        return card(f"Set of {len(self)} classifiers", facts=self._facts())

    def _facts(self) -> dict[str, str]:
        """Return what is to be known of the set at a glance."""
        facts = {"validation risks": _from_to(self.risks), "validation examples m": str(self.m)}
        if self.splits is not None:
            elsewhere = self.splits.trained_elsewhere
            facts["training examples"] = "not here" if elsewhere else str(self.splits.n_train)
            facts["division"] = _DIVISIONS[self.splits.kind]
        if self.dropped:
            facts["left out, could not be trained"] = str(len(self.dropped))
        if self._members is None:
            facts["classifiers"] = "not here: made from predictions or losses"
        return facts

    def __getitem__(self, i: int) -> Any:
        """Return the i-th classifier, fitted."""
        if isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise TypeError(f"the number of a classifier must be an integer, got {i!r}")
        if not -len(self) <= i < len(self):
            raise IndexError(f"the set has {len(self)} classifiers, got number {i}")
        return self._known_members()[int(i) % len(self)]

    @property
    def m_each(self) -> Errors:
        """The number of validation examples (or groups) of each classifier, shape (H,); `m` is the least."""
        sizes = None if self.splits is None else self.splits.sizes_each
        return np.full(len(self), self.m, dtype=np.int64) if sizes is None else sizes

    @property
    def unit(self) -> str:
        """What is counted: examples, distinct examples or groups."""
        return EXAMPLE if self.splits is None else self.splits.unit

    @property
    def counted(self) -> Errors | GroupErrors:
        """What was counted on validation rows; certificates rest on it."""
        found = self.errors if self.group_errors is None else self.group_errors
        if found is None:
            raise ValueError("this set was made from losses: it holds risks, not counted errors")
        return found

    @property
    def kept_errors(self) -> PackedErrors | None:
        """Which validation rows each classifier gets wrong, packed; None where the set was not asked to keep them."""
        return self.__dict__.get("_kept_errors")

    @property
    def error_rows(self) -> NDArray[np.bool_] | None:
        """Which validation rows each classifier gets wrong; None where the set was not asked to keep them."""
        return None if self.kept_errors is None else self.kept_errors.rows()

    @property
    def validated_rows(self) -> NDArray[np.bool_] | None:
        """Which rows validate which classifier; None where all columns of `error_rows` do, or none are kept."""
        return None if self.kept_errors is None else self.kept_errors.validated_rows()

    def tandem_risks(self) -> FloatArray:
        """Return for each pair of classifiers the share of validation rows on which both err, rounded up.

        Shape (H, H).  Where classifiers have validation rows of their own, those that validate both count.

        Examples
        --------
        >>> predicted = [[0, 1, 1, 0], [0, 1, 0, 1]]
        >>> ClassifierSet.from_predictions(predicted, [1, 0, 0, 0], keep_error_rows=True).tandem_risks().tolist()
        [[0.75, 0.5], [0.5, 0.75]]
        """
        if self.kept_errors is None:
            raise ValueError("this set does not know who errs on which row: make it with keep_error_rows=True")
        return self.kept_errors.tandem_risks()

    @property
    def trained_elsewhere(self) -> bool:
        """Whether the classifiers were trained before, on rows that are not known here."""
        return self.splits is not None and self.splits.trained_elsewhere

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels that every classifier gives the rows of X, shape (H, n)."""
        return self._known_members().predict(X)

    @property
    def members(self) -> Members | None:
        """The classifiers themselves, None for a set made from predictions or losses."""
        return self._members

    def recounted(self) -> ClassifierSet:
        """Return the same set with the risks that follow from its errors."""
        again, counted = copy.copy(self), self.counted
        if isinstance(counted, GroupErrors):
            again.risks = counted.risks(self.m)
        else:
            unequal = self.splits is not None and self.splits.sizes_each is not None
            again.risks = risks_of_errors(counted, self.m_each if unequal else self.m)
        return again

    def without_error_rows(self) -> ClassifierSet:
        """Return the same set, which no longer knows who errs on which row."""
        slim = copy.copy(self)
        slim.__dict__.pop("_kept_errors", None)
        return slim

    def without_data(self) -> ClassifierSet:
        """Return the same set without the rows that only training and validation needed."""
        slim = copy.copy(self)
        slim._members = getattr(self._members, "without_data", lambda: self._members)()
        return slim

    def _known_members(self) -> Members:
        if self._members is None:
            raise ValueError("this set was made from predictions or losses: it holds risks, not classifiers")
        return self._members


def _kept_errors(keep: bool, number: int, n_rows: int) -> PackedErrors | None:
    """Return room for the errors on every row where they are to be kept and fit into memory."""
    if not keep:
        return None
    check_error_rows_fit(number, n_rows)
    return PackedErrors.none(number, n_rows)


def _from_to(risks: FloatArray) -> str:
    return f"from {risks.min():.4g} to {risks.max():.4g}"


def _check_labels(y_val: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(check_complete(y_val, "y_val"))
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_val must be one-dimensional and not empty, got shape {labels.shape}")
    return labels
