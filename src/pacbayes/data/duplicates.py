r"""Detection of duplicates across a split, and of duplicates created after sampling.

`find_units` and `Split` handle duplicates in a split.

Equal rows are harmless if they are independent draws: rows with a few coarse columns coincide by chance.  Copies
created after sampling, by oversampling or a join, are not independent, and a validation row with a copy in the training
set is leakage.  Two tests distinguish copies from coincidences.

*Multiplicities.*  Let :math:`f_k` be the number of distinct rows that occur `k` times.  If rows are independent draws,
the multiplicity of a row of probability `p` is approximately Poisson with mean :math:`\lambda=np`, so that
:math:`k!\,E f_k = \sum \lambda^k e^{-\lambda}` over all possible rows, and by the Cauchy-Schwarz inequality

.. math:: (k!\,E f_k)^2 \le (k-1)!\,E f_{k-1} \; (k+1)!\,E f_{k+1}.

Rows that all occur five times, or either once or twice, violate it.  The test uses Poisson confidence bounds of the
three means.

*Near-duplicates.*  If rows are equal by chance, more rows are nearly equal, while copies agree in all columns or in
none.  Copies are suspected if at least a tenth of the distinct rows of a class, and ten of them, occur more than once,
and the distinct rows that agree with another one in the finer half of the columns are less than a quarter of those that
occur more than once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc, gammainccinv, gammaincinv, gammaln, pdtr
from sklearn.pipeline import Pipeline

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.rows import copy_rows, index_distinct_rows, pick_rows, sorted_row_hashes

# False-positive rates of the tests for copies.  The second applies if at least half of the new rows equal a known row,
# under the assumption that both sides have the same distribution.
_OVERLAP_LEVEL, _HALF_LEVEL = 1e-3, 1e-2


@dataclass(frozen=True)
class Overlap:
    """Number of new rows that equal known rows, and whether chance explains it."""

    #: Number of new rows that equal a known row.
    seen: int
    #: Number of new rows.
    rows: int
    #: Number of known rows.
    known: int
    #: Whether the new rows are copies: a permutation of the known rows, or an overlap that no distribution explains.
    is_copy: bool
    #: Whether the overlap is larger than chance explains, even for two different distributions.
    is_large: bool

    @property
    def summary(self) -> str:
        """Summary of the overlap, as the start of a sentence for a message.

        Examples
        --------
        >>> from pacbayes.data.rows import sorted_row_hashes
        >>> known = sorted_row_hashes([[1], [2], [3]], b"")
        >>> measure_overlap(known, sorted_row_hashes([[2], [5], [6], [7]], b"")).summary
        '1 of 4 rows equals a row'
        """
        return f"{self.seen} of {self.rows} rows equal{'s' if self.seen == 1 else ''} a row"


def measure_overlap(known: NDArray[np.int64], new: NDArray[np.int64] | None) -> Overlap | None:
    """Compute the overlap of new rows with known rows from their hashes; None if there are no new rows.

    Examples
    --------
    >>> from pacbayes.data.rows import sorted_row_hashes
    >>> known = sorted_row_hashes([[i] for i in range(100)], b"")
    >>> measure_overlap(known, sorted_row_hashes([[i] for i in range(100)][::-1], b""))
    Overlap(seen=100, rows=100, known=100, is_copy=True, is_large=True)
    >>> measure_overlap(known, sorted_row_hashes([[i + 90] for i in range(100)], b""))
    Overlap(seen=10, rows=100, known=100, is_copy=False, is_large=True)
    >>> coins = sorted_row_hashes([[i % 2] for i in range(100)], b"")
    >>> measure_overlap(coins, coins[:60])
    Overlap(seen=60, rows=60, known=100, is_copy=False, is_large=False)
    """
    if new is None or not new.size:
        return None
    before, after = _count_occurrences(known, new)
    seen = int(after[before > 0].sum())
    is_copy = (before.max() == 1 and np.array_equal(before, after)) or _p_value_same_table(
        before, after
    ) <= _OVERLAP_LEVEL
    if not is_copy and 2 * seen >= new.size:
        originals = _infer_original_counts(before)
        is_copy = _p_value_pairs(originals, after, float(new.size / (originals.sum() + new.size))) <= _HALF_LEVEL
    return Overlap(seen, new.size, known.size, is_copy, is_copy or exceeds_chance_overlap(known, new))


def exceeds_chance_overlap(known: NDArray[np.int64], new: NDArray[np.int64]) -> bool:
    """Test from row hashes whether new and known rows overlap more than independent draws would.

    The probability of duplicates is estimated from duplicates within each side.  The two sides may have different
    distributions: docs/mathematics.md, "A division of one's own".

    Examples
    --------
    >>> rows = np.arange(300)
    >>> exceeds_chance_overlap(np.repeat(rows, 3), rows[:200])
    True
    >>> coins = np.random.default_rng(0).integers(0, 20, 1000)
    >>> exceeds_chance_overlap(coins[:900], coins[900:])
    False
    """
    before, after = _count_occurrences(known, new)
    if min(_p_value_same_table(before, after), _p_value_few_repeats(before, after)) <= _OVERLAP_LEVEL:
        return True
    originals = _infer_original_counts(before)
    return _p_value_pairs(originals, after) <= _OVERLAP_LEVEL or _has_excess_singletons(originals, after)


def _count_occurrences(known: NDArray[np.int64], new: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Count how often each distinct row occurs among the known and among the new rows."""
    joined = np.concatenate([known, new])
    order = np.argsort(joined, kind="stable")
    ordered = joined[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    before = np.add.reduceat((order < known.size).astype(np.int64), starts)
    return before, np.diff(starts, append=joined.size) - before


def _infer_original_counts(before: Rows) -> Rows:
    """Divide multiplicities by their greatest common divisor, in case every row was copied equally often."""
    copies: Rows = np.gcd.reduce(before)
    return before // copies


def _p_value_same_table(before: Rows, after: Rows) -> float:
    """Bound the p-value of equal multiplicities on both sides, for independent rows; equation (same-table)."""
    if not np.array_equal(before, after):
        return 1.0
    n = before.sum()
    return float(np.exp(_log_central_binomial(before).sum() - _log_central_binomial(n)))


def _log_central_binomial(k: Any) -> Any:
    """Compute the logarithm of the central binomial coefficient, 2k choose k."""
    return gammaln(2.0 * k + 1.0) - 2.0 * gammaln(k + 1.0)


def _p_value_few_repeats(before: Rows, after: Rows) -> float:
    """Bound the p-value of the number of duplicates within the new rows being so small; equation (few-repeats).

    The test makes no assumption about the known rows, so duplicates among them cannot hide an overlap.
    """
    seen = after[before > 0]
    distinct = np.count_nonzero(seen)
    repeats, expected = seen.sum() - distinct, distinct * (distinct - 1.0) / (2.0 * seen.size)
    return float(pdtr(repeats, expected)) if repeats <= expected - 1.0 else 1.0


def _p_value_pairs(before: Rows, after: Rows, share: float = 0.5) -> float:
    """Bound the p-value of the number of pairs of equal rows across the two sides being so large; equation (pairs).

    If both sides have the same distribution, `share` is the fraction of new rows; 1/2 is valid for any distributions.
    """
    pairs = np.count_nonzero(before + after == 2)
    across = np.count_nonzero((before == 1) & (after == 1))
    return float(bdtrc(across - 1, pairs, 2.0 * share * (1.0 - share))) if across else 1.0


def _has_excess_singletons(before: Rows, after: Rows) -> bool:
    """Test whether too many of the new rows occur exactly once among the known rows; equation (once)."""
    absent, once, twice = np.bincount(before[after > 0], minlength=3)[:3]
    level = _OVERLAP_LEVEL / 3.0
    least = gammaincinv(once, level) if once else 0.0
    return bool(least**2 > 2.0 * gammainccinv(absent + 1.0, level) * gammainccinv(twice + 1.0, level))


def find_nested_models(model: Any, X: Any) -> list[tuple[Any, Callable[[], Any]]]:
    """Find all pacbayes models nested in a model, each with a function that computes its input from X.

    Within a Pipeline, the previous steps transform the input.  Attributes, lists and dicts are searched recursively.
    """
    models, visited = [], {}
    todo: list[tuple[Any, Callable[[], Any]]] = [(model, lambda: X)]
    while todo:
        value, rows = todo.pop()
        # Check the type, because the value may delegate attributes to a model.
        if hasattr(type(value), "_overlap_with"):
            models.append((value, rows))
        if id(value) in visited:
            continue
        visited[id(value)] = value
        if isinstance(value, Pipeline):
            for _, step in value.steps:
                todo.append((step, rows))
                rows = partial(_transform_rows, step, rows) if hasattr(step, "transform") else rows
        else:
            todo += [(part, rows) for part in _iter_children(value) if not isinstance(part, _LEAF_TYPES)]
    return models


# Types that are not searched.  Modules, types and functions refer to everything that was ever imported.
_LEAF_TYPES = (type(None), bool, int, float, complex, str, bytes, np.generic, type, ModuleType, FunctionType)


def _iter_children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.kind == "O" else ()
    return tuple(getattr(value, "__dict__", {}).values())


def _transform_rows(step: Any, rows: Callable[[], Any]) -> Any:
    return step.transform(copy_rows(rows()))  # a step may modify its input


class OverlapCounter:
    """Accumulate the overlap of rows that arrive in blocks with the rows that a model was fitted on."""

    def __init__(self, model: Any) -> None:
        self._model = model
        # For each nested model, the hashes of its rows and of the new rows; None if they cannot be compared.
        self._hashes: dict[int, tuple[Any, list[Any] | None]] = {}

    def add(self, X: Any) -> None:
        """Add a block of rows."""
        for i, (nested, rows) in enumerate(find_nested_models(self._model, X)):
            known, new = self._hashes.get(i, (None, []))
            try:
                plan = nested._fitted.plan
                hashes = None if plan.row_fingerprints is None else sorted_row_hashes(rows(), plan.key)
            except Exception:  # not fitted, or an earlier step rejects X, as it would in predict
                hashes = plan = None
            if hashes is None or new is None:
                self._hashes[i] = (known, None)
            else:
                self._hashes[i] = (plan.row_fingerprints, [*new, hashes])

    def largest(self) -> Overlap | None:
        """Return the largest overlap over the nested models; None if it is unknown."""
        overlaps = [measure_overlap(known, np.concatenate(new)) for known, new in self._hashes.values() if new]
        return max(
            (result for result in overlaps if result is not None),
            key=lambda result: (result.is_copy, result.is_large, result.seen),
            default=None,
        )


def find_largest_overlap(model: Any, X: Any) -> Overlap | None:
    """Compute the largest overlap of X with the rows that a (nested) pacbayes model was fitted on; None if unknown."""
    counter = OverlapCounter(model)
    counter.add(X)
    return counter.largest()


def check_new_rows(model: Any, X: Any, name: str, owner: str) -> Overlap | None:
    """Compute the overlap of X with the rows of a model; raise if X is the table that the model was fitted on.

    `name` is the name of X in the message.  A partial overlap may be due to chance.  pacbayes models are also found
    inside a Pipeline, a search or a voting classifier; the rows of other models are unknown.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[float(i), i % 3] for i in range(60)], [0, 1] * 30
    >>> check_new_rows(StochasticSVC([1.0], random_state=0).fit(X, y), X, "test", "the model")
    Traceback (most recent call last):
    ValueError: test must hold rows that the model was not fitted with, but 60 of 60 rows equal a row behind it
    """
    result = find_largest_overlap(model, X)
    if result is not None and result.is_copy and result.seen == result.rows == result.known:
        raise ValueError(f"{name} must hold rows that {owner} was not fitted with, but {result.summary} behind it")
    return result


# Level of each of the three Poisson bounds; it is small because several inequalities are tested.
_POISSON_LEVEL = 1e-5
# Minimum number and fraction of repeated rows, and maximum ratio of near-duplicates to repeated rows.
_MIN_REPEATED, _MIN_REPEATED_SHARE, _MAX_NEAR_RATIO = 10, 0.1, 0.25
# Number of rows in the sample from which the columns are ordered by their number of distinct values.
_N_SAMPLED = 2000


def index_distinct_samples(X: Any, codes: Rows) -> Rows | None:
    """Assign an index to each distinct row (features and class); None if rows cannot be compared.

    Indices are in order of first appearance.

    Examples
    --------
    >>> index_distinct_samples([["a"], ["b"], ["a"], ["a"]], np.array([0, 0, 0, 1]))
    array([0, 1, 0, 2])
    """
    try:
        rows = index_distinct_rows(X)
    except (TypeError, ValueError):  # functions or rows of different lengths cannot be compared
        return None
    _, first, numbers = np.unique(rows * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(first.size)
    return ranks[numbers]


def warn_about_duplicates(X: Any, codes: Rows, same: Rows, copies: int, groups: Rows | None) -> None:
    """Warn if duplicates across the split look like copies created after sampling."""
    if copies == 0:
        return
    # Duplicates within a group are on the same side.
    rows = np.arange(same.size)
    if groups is not None:
        rows = np.unique(same * (int(groups.max()) + 1) + groups, return_index=True)[1]
    reason = explain_copies(pick_rows(X, rows), codes[rows], same[rows])
    if reason is not None:
        warn_caller(
            f"{copies} validation rows have a duplicate (features and class) in the training set, and the duplicates "
            f"look like copies made after sampling: {reason}. The certificate assumes independent rows and "
            "does not hold for copies. If they are copies, fit on the original rows, or use duplicates='together'; "
            "use groups= for several rows of one person or thing."
        )


def explain_copies(X: Any, codes: Rows, same: Rows) -> str | None:
    """Explain why duplicates look like copies created after sampling; None if they look like independent draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    >>> X5, y5 = np.tile(X, (5, 1)), np.tile(y, 5)
    >>> explain_copies(X, y, index_distinct_samples(X, y)) is None
    True
    >>> explain_copies(X5, y5, index_distinct_samples(X5, y5))
    '100 distinct rows occur 5 times each, 0 occur 4 times and 0 occur 6 times'
    """
    times = np.bincount(same)
    first = np.unique(same, return_index=True)[1]
    for multiplicities in [times, *(times[codes[first] == code] for code in np.unique(codes))]:
        reason = _find_implausible_counts(np.bincount(multiplicities))
        if reason is not None:
            return reason
    for code in np.unique(codes):
        of_class = times[codes[first] == code]
        repeated = int(np.count_nonzero(of_class > 1))
        if repeated >= max(_MIN_REPEATED, _MIN_REPEATED_SHARE * of_class.size) and _lacks_near_duplicates(
            X, first, times
        ):
            return (
                f"{repeated} of the {of_class.size} distinct rows of a class occur more than once, but there are "
                "hardly any near-duplicates"
            )
    return None


def _find_implausible_counts(frequencies: NDArray[np.int64]) -> str | None:
    """Describe a multiplicity that independent draws cannot explain; None if there is none."""
    f = np.concatenate([frequencies, [0]]).astype(np.float64)
    k = np.arange(2, f.size - 1)
    least = gammaincinv(np.maximum(f[k], 1.0), _POISSON_LEVEL) * (f[k] > 0)
    below, above = gammainccinv(f[k - 1] + 1.0, _POISSON_LEVEL), gammainccinv(f[k + 1] + 1.0, _POISSON_LEVEL)
    odd = k[least**2 * k / (k + 1.0) > below * above]
    if odd.size == 0:
        return None
    worst = int(odd[np.argmax(f[odd])])
    return (
        f"{int(f[worst])} distinct rows occur {worst} times each, {int(f[worst - 1])} occur {_format_times(worst - 1)} "
        f"and {int(f[worst + 1])} occur {_format_times(worst + 1)}"
    )


def _format_times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _lacks_near_duplicates(X: Any, first: Rows, times: Rows) -> bool:
    """Whether hardly any distinct rows agree in the half of the columns with the most distinct values."""
    half = _select_finest_columns(pick_rows(X, first))
    if half is None:
        return False
    sizes = np.bincount(index_distinct_rows(half))
    return bool(sizes[sizes > 1].sum() < _MAX_NEAR_RATIO * np.count_nonzero(times > 1))


def _select_finest_columns(X: Any) -> Any:
    """Select the half of the columns with the most distinct values (nonzeros if sparse); None for a single column."""
    table: Any = X
    if sp.issparse(X):
        table = table.tocsc()
        values = np.diff(table.indptr)
    else:
        table = np.asarray(X)
        table = table.reshape(len(table), -1)
        sample = table[:: max(1, len(table) // _N_SAMPLED)]
        values = np.array([np.unique(index_distinct_rows(sample[:, j])).size for j in range(table.shape[1])])
    if values.size < 2:
        return None
    return table[:, np.argsort(-values, kind="stable")[: (values.size + 1) // 2]]
