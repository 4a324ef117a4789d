"""Columns of another file that must be of the types of the first: those a model was trained with."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.files.columns import Columns, as_text, float_of, is_nan, values_of
from pacbayes.data.files.reading import is_number, listed

if TYPE_CHECKING:
    import pandas as pd


def fit_columns(frame: "pd.DataFrame", columns: Columns, where: str) -> "pd.DataFrame":
    """Return the same columns of another file, of the same types, in the same order.

    Examples
    --------
    >>> import pandas as pd
    >>> fit_columns(pd.DataFrame({"b": ["x"], "age": ["old"]}), Columns(("age",), (), {}), "'new.csv'")
    Traceback (most recent call last):
    ValueError: column 'age' of 'new.csv' must hold numbers, got 'old' in example 1
    """
    return ColumnFit(columns, where).fit(frame)


class ColumnFit:
    """Columns of known types in another file, block by block: what is refused does not depend on the blocks.

    A column of True and False is one of numbers, as long as the whole file holds nothing else in it.

    Examples
    --------
    >>> import pandas as pd
    >>> fitted = ColumnFit(Columns(("a",), (), {}), "'new.csv'")
    >>> fitted.fit(pd.DataFrame({"a": [True, False]}))["a"].tolist()
    [1.0, 0.0]
    >>> fitted.fit(pd.DataFrame({"a": [3, 4]}))
    Traceback (most recent call last):
    ValueError: column 'a' of 'new.csv' must hold numbers, got 'True' in example 1
    """

    def __init__(self, columns: Columns, where: str) -> None:
        self._columns, self._where = columns, where
        #: Rows of the blocks so far.
        self.done = 0
        self._truths: dict[str, tuple[int, str]] = {}
        self._with_numbers: set[str] = set()

    def fit(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return the columns of the next block, numbers as float64, categories as text."""
        import pandas as pd

        wanted = [*self._columns.numeric, *self._columns.categorical]
        absent = sorted(set(wanted) - set(frame.columns), key=wanted.index)
        if absent:
            raise ValueError(f"{self._where} lacks the columns {listed(absent)}, which the model was trained with")
        made: dict[str, Any] = {}
        wrong = []
        for name in wanted:
            if name in self._columns.categorical:
                made[name] = as_text(values_of(frame[name]))
                continue
            made[name], said = self._numbers(frame[name], name)
            wrong += [] if said is None else [f"column {name!r} of {self._where} must hold {said}"]
        if wrong:
            raise ValueError(_together(wrong))
        self.done += len(frame)
        return pd.DataFrame(made)

    def _numbers(self, series: "pd.Series[Any]", name: str) -> tuple[NDArray[np.float64] | None, str | None]:
        """Return a column as numbers, or None and what it must hold and does not."""
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            numbers = series.to_numpy(dtype=np.float64)
            infinite = np.isinf(numbers)
            if infinite.any():
                bad = int(infinite.argmax())
                return None, f"finite numbers, got {series.iloc[bad]!r} in example {self.done + bad + 1}"
            if not np.isnan(numbers).all():
                self._with_numbers.add(name)
            return numbers, self._mixed(name)
        values = values_of(series)
        found = [float_of(value) if is_nan(value) or is_number(value) else None for value in values]
        bad = next((i for i, number in enumerate(found) if number is None or math.isinf(number)), -1)
        if bad >= 0:
            finite = "" if found[bad] is None else "finite "
            return None, f"{finite}numbers, got {values[bad]!r} in example {self.done + bad + 1}"
        for i, value in enumerate(values):
            if isinstance(value, bool | np.bool_):
                self._truths.setdefault(name, (self.done + i + 1, str(value)))
            elif not is_nan(value):
                self._with_numbers.add(name)
        return np.array(found, dtype=np.float64), self._mixed(name)

    def _mixed(self, name: str) -> str | None:
        """Return what is wrong with a column in which some blocks hold True and False and others numbers."""
        if name not in self._truths or name not in self._with_numbers:
            return None
        place, word = self._truths[name]
        return f"numbers, got {word!r} in example {place}"


def _together(wrong: Sequence[str], most: int = 10) -> str:
    rest = f"; and so {len(wrong) - most} more" if len(wrong) > most else ""
    return "; ".join(wrong[:most]) + rest
