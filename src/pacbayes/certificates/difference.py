"""Two classifiers on the same rows: bounds on the difference of their error rates, of rows or of groups."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import check_level, check_not_masked, warn_caller
from pacbayes._utils.words import card
from pacbayes.bounds.trinomial import difference_upper, group_difference_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import plain
from pacbayes.certificates.metrics import check_compared
from pacbayes.certificates.sentences import four_digits
from pacbayes.data.dataset import (
    check_complete,
    check_groups,
    check_same_kind,
    check_same_order,
    missing_labels,
    one_label_each,
)
from pacbayes.data.duplicates import Overlap, check_new_rows, models_inside
from pacbayes.data.rows import copy_rows
from pacbayes.data.split import GROUP


@dataclass(frozen=True, repr=False)
class Difference:
    """How much the risks of two classifiers differ, from the rows on which exactly one of them errs.

    Of `certify_difference`, whose notes say where the limits come from.

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
    >>> seen = Difference(lower=-0.0133, upper=-0.0024, delta=0.05, m=2000, only_a=22, only_b=6, both=178)
    >>> print(seen)  # doctest: +NORMALIZE_WHITESPACE
    With probability at least 95 %, B errs at least 0.2 percentage points less often than A,
    and at most 1.4.
    >>> seen
    Difference(B less A in [-0.0133, -0.0023]; m=2000, delta=0.05)
    >>> seen.observed, seen.better
    (-0.008, 'B')
    """

    #: B's risk less A's is at least this; rounded down.
    lower: float
    #: And at most this; rounded up.  Both hold at once.
    upper: float
    #: They fail with at most this probability over the sample.
    delta: float
    #: The rows.
    m: int
    #: Rows on which only the first errs.
    only_a: int
    #: Rows on which only the second errs.
    only_b: int
    #: Rows on which both err.
    both: int
    #: What the two are called.
    names: tuple[str, str] = ("A", "B")
    #: What must hold outside the data.
    assumptions: tuple[str, ...] = sentences.ROWS_COMPARED
    #: Where recall is compared, and all of this is about examples of one class: which.
    of: Any = None
    #: The number of groups, where these are the independent draws; None where rows are.
    groups: int | None = None
    #: With groups, the mean of their differences.
    group_mean: float | None = None

    @property
    def observed(self) -> float:
        """B's share of errors on these rows less A's; with groups the mean over groups."""
        return (self.only_b - self.only_a) / self.m if self.group_mean is None else self.group_mean

    @property
    def better(self) -> str | None:
        """The one that errs less often, by the guarantee; None where it does not tell."""
        a, b = self.names
        return b if self.upper < 0.0 else a if self.lower > 0.0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON."""
        lists = {"names": list(self.names), "assumptions": list(self.assumptions)}
        return asdict(self) | lists | {"observed": self.observed, "better": self.better}

    def __str__(self) -> str:
        return sentences.difference_text(self)

    def explain(self) -> str:
        """Return the claim, the counts it comes from and its assumptions, one to a line.

        Examples
        --------
        >>> print(certify_difference([0, 1, 0, 1], [0, 1, 0, 0]).explain())  # doctest: +NORMALIZE_WHITESPACE
        With probability at least 95 %, B errs at most 45.9 percentage points more often than A,
        and at most 80.8 less often.
        Of 4 rows, A errs on 2 (50.0 %) and B on 1 (25.0 %): both on 1, A alone on 1, B alone on 0.
        Both limits are exact, from the rows on which one errs alone, each at half of delta.
        Assumed: The rows are independent draws from the population that the difference is about.
        Assumed: Neither classifier was trained, tuned or chosen with these rows.
        Assumed: What a classifier says of a row depends on that row alone.
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
        return card(sentences.difference_title(self), [str(self), *self.assumptions], facts)


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
    r"""Bound how much more often B errs than A, and how much less often, both at once.

    Rows that both get wrong, or both right, say nothing about the difference :math:`R_B - R_A = p_B - p_A` of the
    probabilities that one errs alone.  Each limit is exact at :math:`\delta/2`: the largest difference under which a
    result that speaks at least as much for B as the one seen still has that probability, at the least favourable rate
    of disagreement; equation (difference) of docs/mathematics.md.

    Parameters
    ----------
    wrong_a, wrong_b : array_like of shape (m,)
        For every row whether A, and B, gets it wrong: True or False, or 1 and 0.  The same rows in the same order.
    delta : float, default=0.05
        Both limits hold together with probability at least 1 - delta over the sample.
    names : tuple of str, default=("A", "B")
        What the two are called in words.
    risk : {"error", "recall"}
        With "recall" everything is about the rows of class `pos_label`: B's recall is larger by as much as it errs less
        often on them.
    y : array_like of shape (m,), optional
        The true labels, for ``risk="recall"``.
    pos_label : label, optional
        The class, for ``risk="recall"``.
    groups : array_like of shape (m,), optional
        The group of every row, where groups and not rows are independent draws.  The difference is then of the error
        rates within a group, on average over groups; for ``risk="error"`` alone.

    Returns
    -------
    Difference

    See Also
    --------
    compare_classifiers : The same for fitted classifiers or their predictions.

    Notes
    -----
    The rows must be independent draws that neither classifier was trained, tuned or chosen with.  Two separate limits,
    one for each classifier, say far less where the two mostly err on the same rows.

    With groups the limits are those of bets on the mean of the groups' differences, equation (group-difference).

    References
    ----------
    .. [1] C. J. Lloyd and M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
       proportions", Statistics in Medicine 26, 2007.
    .. [2] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance parameter", Journal
       of the American Statistical Association 89, 1994.

    Examples
    --------
    Both err on 100 of 1000 rows, and on 90 of these together:

    >>> wrong_a, wrong_b = np.zeros(1000, dtype=bool), np.zeros(1000, dtype=bool)
    >>> wrong_a[:100] = wrong_b[10:110] = True
    >>> print(certify_difference(wrong_a, wrong_b))  # doctest: +NORMALIZE_WHITESPACE
    With probability at least 95 %, B errs at most 1.1 percentage points more often than A,
    and at most 1.1 less often.
    """
    level = check_level(delta)
    check_same_order(wrong_a=wrong_a, wrong_b=wrong_b, y=y, groups=groups)
    a, b = _check_wrong("wrong_a", wrong_a), _check_wrong("wrong_b", wrong_b)
    if a.size != b.size:
        raise ValueError(f"wrong_a and wrong_b must be about the same rows, got {a.size} and {b.size}")
    of = None
    if check_compared(risk, pos_label):
        if groups is not None:
            raise ValueError("groups must be None for risk='recall': only errors are compared by groups")
        of, mine = plain(pos_label), _rows_of(y, pos_label, a.size)
        a, b = a[mine], b[mine]
    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    if groups is None:
        low, high = (difference_upper(*one, a.size, 0.5 * level) for one in ((only_b, only_a), (only_a, only_b)))
        metrics: dict[str, Any] = {"lower": max(-low, -1.0), "upper": min(high, 1.0)}
    else:
        metrics = _group_bounds(a, b, check_groups(groups, a.size), 0.5 * level)
    return Difference(
        delta=level,
        m=int(a.size),
        only_a=only_a,
        only_b=only_b,
        both=int(np.count_nonzero(a & b)),
        names=_check_names(names),
        of=of,
        **metrics,
    )


def _group_bounds(a: NDArray[np.bool_], b: NDArray[np.bool_], groups: Rows, level: float) -> dict[str, Any]:
    """Bound the mean over groups of the difference of their error rates; equation (group-difference)."""
    sizes = np.bincount(groups)
    more = np.bincount(groups[b], minlength=sizes.size) - np.bincount(groups[a], minlength=sizes.size)
    return {
        "lower": -group_difference_upper(-more, sizes, level),
        "upper": group_difference_upper(more, sizes, level),
        "assumptions": sentences.GROUPS_COMPARED,
        "groups": int(sizes.size),
        "group_mean": float(np.mean(more / sizes)),
    }


def _rows_of(y: ArrayLike | None, pos_label: Any, number: int) -> NDArray[np.bool_]:
    """Return which rows are of a class, or raise if none is."""
    labels = None if y is None else np.asarray(check_complete(y))
    if labels is None or labels.shape != (number,):
        raise ValueError(f"y must be the true labels of the {number} rows for risk='recall'")
    mine = np.asarray(labels == pos_label, dtype=bool)
    if mine.shape != labels.shape or not mine.any():
        raise ValueError(f"y must hold rows of class {pos_label!r}, whose recall is compared; got none")
    return mine


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
    """Bound how much more often, and how much less often, classifier `b` errs than `a` on new rows.

    Parameters
    ----------
    a, b : fitted classifier, or array_like of shape (m,)
        Anything with a method ``predict``; or what a classifier said of these rows.
    X : array_like of shape (m, d), or None
        Rows that neither of them was trained, tuned or chosen with; None if both are predictions.
    y : array_like of shape (m,)
        The true labels.
    delta : float, default=0.05
        Both limits hold together with probability at least 1 - delta over the sample.
    names : tuple of str, default=("A", "B")
        What the two are called in words.
    risk, pos_label, groups
        As for `certify_difference`.  A model that was certified by groups needs groups.

    Returns
    -------
    Difference

    See Also
    --------
    certify_difference : From row-wise errors, and where the limits come from.

    References
    ----------
    .. [1] C. J. Lloyd and M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
       proportions", Statistics in Medicine 26, 2007.

    Examples
    --------
    >>> said_by_old, said_by_new = ["no"] * 6 + ["yes"] * 34, ["no"] * 40
    >>> compare_classifiers(said_by_old, said_by_new, None, ["no"] * 40, names=("old", "new"))
    Difference(new less old in [-0.9458, -0.6518]; m=40, delta=0.05)
    """
    check_level(delta)
    check_compared(risk, pos_label)
    check_same_order(a=a, b=b, X=X, y=y, groups=groups)
    labels = np.asarray(check_complete(y))
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {labels.shape}")
    for name, one in (("a", a), ("b", b)):
        if groups is None and by_groups(one):
            raise ValueError(f"groups must name the group of every row: {name} was certified by groups")
    wrong_a, wrong_b = (_predicted(name, one, X, labels) != labels for name, one in (("a", a), ("b", b)))
    return certify_difference(
        wrong_a, wrong_b, delta, names=names, risk=risk, y=labels, pos_label=pos_label, groups=groups
    )


def by_groups(model: Any) -> bool:
    """Whether a model of this library, or one nested in a model, was certified by groups."""
    inside = models_inside(model, None) if hasattr(model, "predict") else []
    certificates = [getattr(one, "certificate_", None) for one, _ in inside]
    return any(one is not None and one.unit == GROUP for one in certificates)


def _predicted(name: str, one: Any, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
    if hasattr(one, "predict"):
        if X is None:
            raise ValueError(f"X must hold the rows that {name} is to predict, got None")
        warn_of_known(check_new_rows(one, X, "X", name), "X", name)
        one = one.predict(copy_rows(X))  # a classifier may write into its rows
    said = one_label_each(name, one, labels.size)
    check_same_kind(name, said, labels, "y")
    gaps = missing_labels(said)
    if gaps.any():
        raise ValueError(f"{name} must give a label for every row, got none for row {int(gaps.argmax())}")
    return said


def warn_of_known(found: Overlap | None, rows: str, who: str) -> None:
    """Warn if a model was fitted with many of the rows that it is compared on."""
    if found is not None and found.is_large:
        warn_caller(
            f"of {rows}, {found.said} that {who} was fitted with. If they are the same examples, the limits do not hold"
        )


def _check_wrong(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Return row-wise errors as booleans, or raise; a count of errors is no such thing."""
    check_not_masked(name, values)
    array = np.asarray(values)
    wanted = f"{name} must say for every row whether it is wrong: a list of True and False, or of 1 and 0"
    if array.ndim == 0:
        raise TypeError(f"{wanted}; got {values!r}. From counts alone nothing is known of the rows that both get wrong")
    if array.ndim != 1:
        raise ValueError(f"{wanted}; got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{wanted}; got no rows")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{wanted}; got dtype {array.dtype}")
    wrong = array == 1
    if not (wrong | (array == 0)).all():
        raise ValueError(f"{wanted}; got {array[~(wrong | (array == 0))][0]}")
    return np.asarray(wrong)


def _check_names(names: Any) -> tuple[str, str]:
    if not isinstance(names, tuple | list) or len(names) != 2 or not all(isinstance(one, str) and one for one in names):
        raise TypeError(f"names must be two words for the classifiers, got {names!r}")
    if names[0] == names[1]:
        raise ValueError(f"names must tell the classifiers apart, got {names[0]!r} twice")
    return names[0], names[1]
