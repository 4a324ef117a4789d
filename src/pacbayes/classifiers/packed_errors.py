"""Which classifier errs on which validation row, a bit each: what bounds on a vote need beyond numbers of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.risks import quotient_up
from pacbayes.data.division import GROUP, Splits
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.memory import check_fits

BoolArray = NDArray[np.bool_]
Bits = NDArray[np.uint8]

# Pairs are counted in blocks of about this many entries.  Single precision counts exactly up to 2^24.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class PackedErrors:
    """Errors of H classifiers on `n_rows` rows, eight to a byte.

    Attributes
    ----------
    packed : ndarray of uint8, shape (H, ceil(n_rows / 8))
        As `numpy.packbits` packs them.
    n_rows : int
    validated : ndarray of uint8 of the same shape, or None
        Which rows validate which classifier; None where all validate each.

    Examples
    --------
    >>> kept = PackedErrors.of(np.array([[True, False, True], [True, True, False]]))
    >>> kept.errors, kept.tandem_risks().round(4).tolist()
    (array([2, 2]), [[0.6667, 0.3333], [0.3333, 0.6667]])
    """

    packed: Bits
    n_rows: int
    validated: Bits | None = None

    @classmethod
    def of(cls, wrong: BoolArray, validated: BoolArray | None = None) -> PackedErrors:
        """Pack errors, true where a classifier errs, and where not all rows validate all, which do."""
        return cls(np.packbits(wrong, axis=1), wrong.shape[1], None if validated is None else np.packbits(validated, 1))

    @classmethod
    def none(cls, number: int, n_rows: int) -> PackedErrors:
        """Return no errors of so many classifiers, to be filled in by `put`."""
        return cls(np.zeros((number, -(-n_rows // 8)), dtype=np.uint8), n_rows)

    def put(self, rows: slice, wrong: BoolArray) -> None:
        """Add the errors of all classifiers on some rows, which had none.

        Examples
        --------
        >>> kept = PackedErrors.none(1, 12)
        >>> kept.put(slice(6, 9), np.array([[True, False, True]]))
        >>> np.flatnonzero(kept.rows()[0])
        array([6, 8])
        """
        before = rows.start % 8
        bits = np.packbits(np.pad(wrong, ((0, 0), (before, 0))), axis=1)
        first = rows.start // 8
        self.packed[:, first : first + bits.shape[1]] |= bits

    def __len__(self) -> int:
        return len(self.packed)

    def rows(self) -> BoolArray:
        """Return the errors unpacked, shape (H, n_rows)."""
        return self._unpacked(self.packed)

    def validated_rows(self) -> BoolArray | None:
        """Return which rows validate which classifier, None where all validate each."""
        return None if self.validated is None else self._unpacked(self.validated)

    @property
    def errors(self) -> Rows:
        """The number of errors of each classifier."""
        return _set_bits(self.packed)

    @property
    def sizes(self) -> Rows:
        """The number of rows that validate each classifier."""
        if self.validated is None:
            return np.full(len(self), self.n_rows, dtype=np.int64)
        return _set_bits(self.validated)

    def tandem_risks(self) -> FloatArray:
        """Return the share of the rows that validate both on which two classifiers both err, rounded up, for each pair.

        1 for two classifiers that no row validates both.
        """
        counts = self._pairs(self.packed)
        sizes = np.full_like(counts, self.n_rows) if self.validated is None else self._pairs(self.validated)
        # Pairs with equal counts have equal risks: few quotients are computed, each the least double not below it.
        kinds, places = np.unique(counts * (self.n_rows + 1) + sizes, return_inverse=True)
        pairs = (divmod(kind, self.n_rows + 1) for kind in kinds.tolist())
        risks = np.array([quotient_up(count, size) if size else 1.0 for count, size in pairs])
        return np.asarray(risks[places.reshape(counts.shape)])

    def _unpacked(self, bits: Bits) -> BoolArray:
        return np.unpackbits(bits, axis=1, count=self.n_rows).view(np.bool_)

    def _pairs(self, bits: Bits) -> Rows:
        """Return how many rows are set for both of two classifiers, for each pair."""
        number = len(bits)
        found = np.zeros((number, number), dtype=np.int64)
        step = max(1, _BLOCK // (8 * number))
        for start in range(0, bits.shape[1], step):
            # Bits beyond the last row are zero.
            block = np.unpackbits(bits[:, start : start + step], axis=1).astype(np.float32)
            found += (block @ block.T).astype(np.int64)
        return found


def _set_bits(bits: Bits) -> Rows:
    found: Rows = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return found


def check_error_rows_fit(number: int, n_rows: int, max_bytes: int | None = None, tables: int = 1) -> None:
    """Raise `MemoryError` if the bits of so many classifiers and rows would not fit, before they are counted.

    Examples
    --------
    >>> check_error_rows_fit(10**6, 10**6, max_bytes=10**9)
    Traceback (most recent call last):
    MemoryError: keep_error_rows=True for 1000000 classifiers and 1000000 rows needs 125 GB, more than max_bytes = 1 GB.
    Give fewer classifiers or rows, or keep_error_rows=False.
    """
    check_fits(
        tables * number * -(-n_rows // 8),
        max_bytes,
        f"keep_error_rows=True for {number} classifiers and {n_rows} rows",
        "Give fewer classifiers or rows, or keep_error_rows=False.",
    )


def check_kept_rows(splits: Splits, number: int, max_bytes: int | None = None) -> None:
    """Raise if the errors of so many classifiers cannot be kept row by row, before any is trained."""
    if splits.unit == GROUP:
        raise ValueError(
            "keep_error_rows must be False with groups: what is counted is a group's share of errors, for which the "
            "bounds on votes that need single rows are not made"
        )
    if splits.shared is not None:
        check_error_rows_fit(number, splits.shared[1].size, max_bytes)
    else:
        check_error_rows_fit(number, splits.n_rows, max_bytes, tables=3)


def kept_errors(splits: Splits, numbers: Sequence[int], wrong: Sequence[Bits]) -> PackedErrors | None:
    """Return the errors of classifiers, given by their numbers, from packed errors on the validation rows of each.

    With one split for all, columns are its validation rows; otherwise all rows, and which of them validate whom is kept
    too.  None where there are none to keep.

    Examples
    --------
    >>> from pacbayes.data.division import plan_splits
    >>> splits = plan_splits(10, kind="independent", validation_size=4, seed=0)
    >>> kept = kept_errors(splits, [0, 1], [np.packbits([True, False, False, True])] * 2)
    >>> kept.n_rows, kept.errors, kept.sizes
    (10, array([2, 2]), array([4, 4]))
    >>> bool((kept.rows()[1][splits(1)[1]] == [True, False, False, True]).all())
    True
    """
    if not wrong:
        return None
    if splits.shared is not None:
        return PackedErrors(np.stack(wrong), splits.shared[1].size)
    n_rows = splits.n_rows
    packed = np.empty((len(wrong), -(-n_rows // 8)), dtype=np.uint8)
    validated = np.empty_like(packed)
    for k, (i, bits) in enumerate(zip(numbers, wrong, strict=True)):
        rows = splits(i)[1]
        for table, values in ((packed, np.unpackbits(bits, count=rows.size)), (validated, np.uint8(1))):
            line = np.zeros(n_rows, dtype=np.uint8)
            line[rows] = values
            table[k] = np.packbits(line)
    return PackedErrors(packed, n_rows, validated)
