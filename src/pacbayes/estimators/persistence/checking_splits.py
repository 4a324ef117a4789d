"""What a division of rows from a file must be like."""

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.splits import DISTINCT, EXAMPLE, GROUP, OUT_OF_BAG, SPLITS, Splits
from pacbayes.estimators.persistence.needs import MOST_ROWS, need, need_array, need_rows, need_whole


def _check_bags(splits: Splits) -> None:
    """Raise unless bags of all rows each leave some out, the fewest as many as the division says."""
    n, bags = splits.rest.size, splits.bags
    whole = splits.shared is None and splits.test.size == 0 and splits.unit == EXAMPLE and not splits.stratified
    need(whole and np.array_equal(splits.rest, np.arange(n)), "Splits", "must be of all rows, out of bag")
    need_array(bags, "Splits.bags", "u", (None, -(-n // 8)))
    assert bags is not None
    need(bags.dtype == np.uint8 and len(bags) > 0, "Splits.bags", "must be bytes")
    need(not (bags & ~np.packbits(np.ones(n, dtype=bool))).any(), "Splits.bags", "must be zero beyond the last row")
    assert splits.sizes_each is not None
    need(splits.m == splits.sizes_each.min(), "Splits.m", "must be the least number of rows out of bag")


def check_splits(splits: Splits) -> None:
    """Raise unless the parts of a division are sorted rows, none of them in two parts, of the sizes it says."""
    need(splits.kind in (*SPLITS, OUT_OF_BAG), "Splits.kind", "is not known")
    need_whole(splits.n_train, "Splits.n_train", 1)
    need_whole(splits.m, "Splits.m", 1)
    need(type(splits.seed) is int and 0 <= splits.seed < 2**4096, "Splits.seed", "must be a seed")
    need(type(splits.stratified) is bool, "Splits.stratified", "must be True or False")
    units = splits.units
    need((units is None) == (splits.unit == EXAMPLE), "Splits.units", "must be None if every row is one")
    if units is not None:
        need(splits.unit in (DISTINCT, GROUP), "Splits.unit", "is not known")
        need_array(units, "Splits.units", "i", (None,))
        # Every number from 0 on, so that there are not more of them than rows.
        known = np.unique(units)
        need(np.array_equal(known, np.arange(known.size)), "Splits.units", "must be numbered from 0")
    end = MOST_ROWS if units is None else units.size
    need_rows(splits.test, "Splits.test", end)
    need_rows(splits.rest, "Splits.rest", end)
    need((splits.bags is None) == (splits.kind != OUT_OF_BAG), "Splits.bags", "must be there out of bag")
    if splits.bags is not None:
        _check_bags(splits)
        return
    tested, divided = _units(splits, splits.test), _units(splits, splits.rest)
    need(np.intersect1d(tested, divided).size == 0, "Splits.test", "must not be in rest")
    need(divided.size == splits.n_train + splits.m, "Splits.rest", "must train or validate")
    need((splits.kind == "shared") == (splits.shared is not None), "Splits.shared", "must be there if it is shared")
    if splits.shared is None:
        return
    need(type(splits.shared) is tuple and len(splits.shared) == 2, "Splits.shared", "must be a pair")
    for part in splits.shared:
        need_rows(part, "Splits.shared", end)
    train, validation = (_units(splits, part) for part in splits.shared)
    need((train.size, validation.size) == (splits.n_train, splits.m), "Splits.shared", "must have the sizes it says")
    need(np.array_equal(np.sort(np.concatenate([train, validation])), divided), "Splits.shared", "must divide rest")


def _units(splits: Splits, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of what some rows belong to, sorted; of the rows themselves where each is one."""
    return rows if splits.units is None else np.unique(splits.units[rows])
