"""Comparison of two classifiers on the same rows: exact bounds on the difference of paired error rates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import check_level, check_not_masked, warn_caller
from pacbayes._utils.words import html_card
from pacbayes.bounds.trinomial import difference_upper, group_difference_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import to_python_scalar
from pacbayes.certificates.metrics import is_recall_comparison
from pacbayes.certificates.sentences import four_digits
from pacbayes.data.dataset import (
    check_groups,
    check_label_types,
    check_no_missing_labels,
    check_same_order,
    flatten_predictions,
    missing_label_mask,
)
from pacbayes.data.duplicates import Overlap, check_new_rows, find_nested_models
from pacbayes.data.rows import copy_rows
from pacbayes.data.split import GROUP


@dataclass(frozen=True, repr=False)
class Difference:
    """Confidence bounds on the difference of two error rates, from the discordant rows (as in McNemar's test).

    Returned by `certify_difference`, where the bounds are described.

    See Also
    --------
    certify_difference : From row-wise errors.
    compare_classifiers : From fitted classifiers or their predictions.

    References
    ----------
    .. [1] C. J. Lloyd and M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
       proportions", Statistics in Medicine 26, 2007.

    Examples
    --------
    >>> difference = Difference(lower=-0.0133, upper=-0.0024, delta=0.05, m=2000, only_a=22, only_b=6, both=178)
    >>> print(difference)  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, the error rate of B is at least 0.2 and at most 1.4 percentage points lower than that of A.
    >>> difference
    Difference(B less A in [-0.0133, -0.0023]; m=2000, delta=0.05)
    >>> difference.observed, difference.better
    (-0.008, 'B')
    """

    #: Lower bound of B's risk minus A's; rounded down.
    lower: float
    #: Upper bound, rounded up.  Both bounds hold simultaneously.
    upper: float
    #: The bounds fail with at most this probability over the sample.
    delta: float
    #: The number of rows.
    m: int
    #: Rows on which only A is wrong.
    only_a: int
    #: Rows on which only B is wrong.
    only_b: int
    #: Rows on which both are wrong.
    both: int
    #: The names of the classifiers.
    names: tuple[str, str] = ("A", "B")
    #: The assumptions of the guarantee.
    assumptions: tuple[str, ...] = sentences.COMPARISON_ASSUMPTIONS
    #: The class whose recall is compared; None if error rates on all examples are compared.
    of: Any = None
    #: The number of groups, if groups are the independent draws; else None.
    groups: int | None = None
    #: The mean of the groups' differences; None without groups.
    group_mean: float | None = None

    @property
    def observed(self) -> float:
        """B's error rate on these rows minus A's; with groups the mean over groups."""
        return (self.only_b - self.only_a) / self.m if self.group_mean is None else self.group_mean

    @property
    def better(self) -> str | None:
        """Name of the classifier with the smaller error rate; None if 0 lies between the bounds."""
        a, b = self.names
        return b if self.upper < 0.0 else a if self.lower > 0.0 else None

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python numbers, strings and lists for JSON."""
        lists = {"names": list(self.names), "assumptions": list(self.assumptions)}
        return asdict(self) | lists | {"observed": self.observed, "better": self.better}

    def __str__(self) -> str:
        return sentences.difference_text(self)

    def explain(self) -> str:
        """Describe the guarantee, its counts and its assumptions, one per line.

        Examples
        --------
        >>> print(certify_difference([0, 1, 0, 1], [0, 1, 0, 0]).explain())  # doctest: +NORMALIZE_WHITESPACE
        With 95 % confidence, the error rate of B is at most 45.9 percentage points higher and at most 80.8
        lower than that of A.
        Errors on 4 rows: 2 (50.0 %) of A, 1 (25.0 %) of B; 1 of both, 1 of A alone, 0 of B alone.
        Both bounds are exact, from the rows on which only one is wrong, each at half of delta.
        Assumption: The rows are independent draws from the population that the difference is about.
        Assumption: Neither classifier was trained, tuned or chosen with these rows.
        Assumption: The prediction for a row depends on that row alone.
        """
        return sentences.difference_explained(self)

    def __repr__(self) -> str:
        a, b = self.names
        low, high = four_digits(self.lower, ROUND_FLOOR), four_digits(self.upper, ROUND_CEILING)
        groups = "" if self.groups is None else f", groups={self.groups}"
        return f"Difference({b} less {a} in [{low}, {high}]; m={self.m}{groups}, delta={self.delta:g})"

    def _repr_html_(self) -> str:
        a, b = self.names
        facts = {
            "rows m": str(self.m),
            f"{a} errs on": f"{self.both + self.only_a} ({self.only_a} alone)",
            f"{b} errs on": f"{self.both + self.only_b} ({self.only_b} alone)",
            "δ": f"{self.delta:g}",
        } | ({} if self.groups is None else {"groups": str(self.groups)})
        return html_card(sentences.difference_title(self), [str(self), *self.assumptions], facts)


def certify_difference(
    wrong_a: ArrayLike,
    wrong_b: ArrayLike,
    delta: float = 0.05,
    *,
    names: tuple[str, str] = ("A", "B"),
    risk: str = "error",
    y: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
) -> Difference:
    r"""Certify the difference of two paired error rates, from both sides.

    Rows on which both classifiers are wrong, or both right, carry no information on the difference
    :math:`R_B - R_A = p_B - p_A` of the probabilities that only one of them is wrong.  Each bound is exact at
    :math:`\delta/2`: it inverts the test for the least favourable probability of a discordant row; equation
    (difference) of docs/mathematics.md, [1]_ and [2]_.

    Parameters
    ----------
    wrong_a, wrong_b : array_like of shape (m,)
        Whether the prediction of A, and of B, is wrong for each row: booleans, or 0 and 1.  The same rows in the same
        order.
    delta : float, default=0.05
        Both bounds hold simultaneously with probability at least 1 - delta over the sample.
    names : tuple of str, default=("A", "B")
        The names of the classifiers in sentences.
    risk : {"error", "recall"}
        With "recall", error rates among the rows of class `pos_label` are compared: recall is one minus this rate.
    y : array_like of shape (m,), optional
        The true labels, for ``risk="recall"``.
    pos_label : label, optional
        The class, for ``risk="recall"``.
    groups : array_like of shape (m,), optional
        The group of every row, if groups and not rows are independent draws.  The difference is then that of the error
        rates within a group, averaged over groups; only for ``risk="error"``.

    Returns
    -------
    Difference

    See Also
    --------
    compare_classifiers : For fitted classifiers or their predictions.

    Notes
    -----
    The rows must be independent draws that neither classifier was trained, tuned or chosen with.  A separate bound for
    each classifier is far wider if both are mostly wrong on the same rows.

    With groups, the bounds are betting confidence bounds of the mean of the groups' differences, equation
    (group-difference).

    References
    ----------
    .. [1] C. J. Lloyd and M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
       proportions", Statistics in Medicine 26, 2007.
    .. [2] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance parameter", Journal
       of the American Statistical Association 89, 1994.

    Examples
    --------
    Both are wrong on 100 of 1000 rows, 90 of them in common:

    >>> wrong_a, wrong_b = np.zeros(1000, dtype=bool), np.zeros(1000, dtype=bool)
    >>> wrong_a[:100] = wrong_b[10:110] = True
    >>> print(certify_difference(wrong_a, wrong_b))  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, the error rate of B is at most 1.1 percentage points higher and at most 1.1 lower than
    that of A.
    """
    level = check_level(delta)
    check_same_order(wrong_a=wrong_a, wrong_b=wrong_b, y=y, groups=groups)
    a, b = _check_wrong("wrong_a", wrong_a), _check_wrong("wrong_b", wrong_b)
    if a.size != b.size:
        raise ValueError(f"wrong_a and wrong_b must have one value for each row, got {a.size} and {b.size}")
    of = None
    if is_recall_comparison(risk, pos_label):
        if groups is not None:
            raise ValueError("groups must be None if risk='recall'")
        of, selected = to_python_scalar(pos_label), _class_mask(y, pos_label, a.size)
        a, b = a[selected], b[selected]
    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    if groups is None:
        low = difference_upper(only_b, only_a, a.size, 0.5 * level)
        high = difference_upper(only_a, only_b, a.size, 0.5 * level)
        bounds: dict[str, Any] = {"lower": max(-low, -1.0), "upper": min(high, 1.0)}
    else:
        bounds = _group_bounds(a, b, check_groups(groups, a.size), 0.5 * level)
    return Difference(
        delta=level,
        m=int(a.size),
        only_a=only_a,
        only_b=only_b,
        both=int(np.count_nonzero(a & b)),
        names=_check_names(names),
        of=of,
        **bounds,
    )


def _group_bounds(a: NDArray[np.bool_], b: NDArray[np.bool_], groups: Rows, level: float) -> dict[str, Any]:
    """Bound the mean over groups of the difference of their error rates; equation (group-difference)."""
    sizes = np.bincount(groups)
    more = np.bincount(groups[b], minlength=sizes.size) - np.bincount(groups[a], minlength=sizes.size)
    return {
        "lower": -group_difference_upper(-more, sizes, level),
        "upper": group_difference_upper(more, sizes, level),
        "assumptions": sentences.GROUP_COMPARISON_ASSUMPTIONS,
        "groups": int(sizes.size),
        "group_mean": float(np.mean(more / sizes)),
    }


def _class_mask(y: ArrayLike | None, pos_label: Any, number: int) -> NDArray[np.bool_]:
    """Mask of the rows of a class; raise if there are none."""
    labels = None if y is None else np.asarray(check_no_missing_labels(y))
    if labels is None or labels.shape != (number,):
        raise ValueError(f"y must contain the true labels of the {number} rows if risk='recall'")
    mask = np.asarray(labels == pos_label, dtype=bool)
    if mask.shape != labels.shape or not mask.any():
        raise ValueError(f"y must contain class {pos_label!r} if risk='recall'")
    return mask


def compare_classifiers(
    a: Any,
    b: Any,
    X: Any,
    y: ArrayLike,
    delta: float = 0.05,
    *,
    names: tuple[str, str] = ("A", "B"),
    risk: str = "error",
    pos_label: Any = None,
    groups: ArrayLike | None = None,
) -> Difference:
    """Certify the difference of the error rates of two classifiers on new rows, from both sides.

    Parameters
    ----------
    a, b : fitted classifier, or array_like of shape (m,)
        An object with a method ``predict``, or predictions for these rows.
    X : array_like of shape (m, d), or None
        Rows that neither classifier was trained, tuned or chosen with; None if both are predictions.
    y : array_like of shape (m,)
        The true labels.
    delta : float, default=0.05
        Both bounds hold simultaneously with probability at least 1 - delta over the sample.
    names : tuple of str, default=("A", "B")
        The names of the classifiers in sentences.
    risk, pos_label, groups
        As for `certify_difference`.  Models certified by groups require `groups`.

    Returns
    -------
    Difference

    See Also
    --------
    certify_difference : From row-wise errors; describes the bounds.

    References
    ----------
    .. [1] C. J. Lloyd and M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
       proportions", Statistics in Medicine 26, 2007.

    Examples
    --------
    >>> old, new = ["no"] * 6 + ["yes"] * 34, ["no"] * 40
    >>> compare_classifiers(old, new, None, ["no"] * 40, names=("old", "new"))
    Difference(new less old in [-0.9458, -0.6518]; m=40, delta=0.05)
    """
    check_level(delta)
    is_recall_comparison(risk, pos_label)
    check_same_order(a=a, b=b, X=X, y=y, groups=groups)
    labels = np.asarray(check_no_missing_labels(y))
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {labels.shape}")
    for name, classifier in (("a", a), ("b", b)):
        if groups is None and certified_by_groups(classifier):
            raise ValueError(f"groups are required, because {name} was certified by groups")
    wrong_a, wrong_b = (
        _predictions(name, classifier, X, labels) != labels for name, classifier in (("a", a), ("b", b))
    )
    return certify_difference(
        wrong_a, wrong_b, delta, names=names, risk=risk, y=labels, pos_label=pos_label, groups=groups
    )


def certified_by_groups(model: Any) -> bool:
    """Whether a model of this library, or one nested in a model, was certified by groups."""
    nested = find_nested_models(model, None) if hasattr(model, "predict") else []
    certificates = [getattr(inner, "certificate_", None) for inner, _ in nested]
    return any(certificate is not None and certificate.unit == GROUP for certificate in certificates)


def _predictions(name: str, classifier: Any, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Predictions of a classifier for X, or the predictions passed instead; both are validated."""
    if hasattr(classifier, "predict"):
        if X is None:
            raise ValueError(f"X must contain the rows that {name} predicts, got None")
        warn_of_overlap(check_new_rows(classifier, X, "X", name), "X", name)
        classifier = classifier.predict(copy_rows(X))  # a classifier may write into its rows
    y_pred = flatten_predictions(name, classifier, labels.size)
    check_label_types(name, y_pred, labels, "y")
    missing = missing_label_mask(y_pred)
    if missing.any():
        raise ValueError(f"{name} must have a label for every row, got none for row {int(missing.argmax())}")
    return y_pred


def warn_of_overlap(overlap: Overlap | None, rows: str, model: str) -> None:
    """Warn if many of the rows that a model is evaluated on were used to fit it."""
    if overlap is not None and overlap.is_large:
        warn_caller(
            f"of {rows}, {overlap.summary} that {model} was fitted with. If they are the same examples, the bounds do "
            "hold"
        )


def _check_wrong(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Validate row-wise errors and convert them to booleans; a total number of errors is rejected."""
    check_not_masked(name, values)
    array = np.asarray(values)
    expected = f"{name} must contain a boolean, or 0 or 1, for every row"
    if array.ndim == 0:
        raise TypeError(f"{expected}; got {values!r}. Counts do not show on which rows both are wrong")
    if array.ndim != 1:
        raise ValueError(f"{expected}; got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{expected}; got no rows")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{expected}; got dtype {array.dtype}")
    wrong = array == 1
    if not (wrong | (array == 0)).all():
        raise ValueError(f"{expected}; got {array[~(wrong | (array == 0))][0]}")
    return np.asarray(wrong)


def _check_names(names: Any) -> tuple[str, str]:
    if not isinstance(names, tuple | list) or len(names) != 2 or not all(isinstance(x, str) and x for x in names):
        raise TypeError(f"names must be two non-empty strings, got {names!r}")
    if names[0] == names[1]:
        raise ValueError(f"names must be different, got {names[0]!r} twice")
    return names[0], names[1]
