"""How a file writes its numbers: 3682.5, 3,682.50 or 3.682,50; and what to say of columns written in another way."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacbayes._utils.arrays import cached_property
from pacbayes.data.rejections import Hint

if TYPE_CHECKING:
    import pandas as pd

_DECIMAL, _THOUSANDS = (".", ","), (",", ".", "'", " ")
# Blanks that programs put between thousands.
_BLANKS = " \u00a0\u202f"


@dataclass(frozen=True)
class NumberFormat:
    """The sign before the decimals, and the one between thousands, None if there is none.

    Examples
    --------
    >>> NumberFormat(".", ",").number("3,682.50"), NumberFormat(",", ".").number("1.000")
    (3682.5, 1000.0)
    >>> NumberFormat(".", ",").number("3,68"), NumberFormat(",").number("3.5")
    (None, None)
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in _DECIMAL:
            raise ValueError(f"decimal must be one of {' '.join(_DECIMAL)}, got {self.decimal!r}")
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise ValueError(f"thousands must be a blank or one of {' '.join(_THOUSANDS[:3])}, got {self.thousands!r}")
        if self.thousands == self.decimal:
            raise ValueError(f"decimal and thousands must differ, got {self.decimal!r} for both")

    @classmethod
    def given(cls, decimal: str | None, thousands: str | None) -> "NumberFormat | None":
        """Return what was asked for; None if nothing was."""
        return None if decimal is None and thousands is None else cls(decimal or ".", thousands)

    @property
    def are_usual(self) -> bool:
        """Whether numbers are as in programs."""
        return self == AS_USUAL

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        between = f"[{_BLANKS}]" if self.thousands == " " else re.escape(self.thousands or "")
        groups = "" if self.thousands is None else rf"|\d{{1,3}}(?:{between}\d{{3}})+"
        point = re.escape(self.decimal)
        return re.compile(rf"[+-]?(?:(?:\d+{groups})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")

    def number(self, text: str) -> float | None:
        """Return the number a text stands for, None if it is not written like this: groups have three digits."""
        text = text.strip()
        if not self._pattern.fullmatch(text):
            return None
        for sign in _BLANKS if self.thousands == " " else self.thousands or "":
            text = text.replace(sign, "")
        return float(text.replace(self.decimal, "."))

    def read(self, frame: "pd.DataFrame", texts: Collection[str]) -> "pd.DataFrame":
        """Return a frame whose columns of text are numbers where all of their cells are; `texts` are left as they are.

        pandas has read the decimals, but takes 1,2 for 12 where it is asked for thousands.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"a": ["1,200", "7", None], "b": ["1,2", "x", "y"]})
        >>> NumberFormat(".", ",").read(frame, ())["a"].tolist()
        [1200.0, 7.0, nan]
        """
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        made: dict[str, Any] = {}
        for name in frame.columns:
            column = frame[name]
            if self.are_usual or name in texts or is_numeric_dtype(column) or is_bool_dtype(column):
                continue
            found = column.dropna().tolist()
            cells = {cell for cell in found if isinstance(cell, str)}
            known = {cell: self.number(cell) for cell in cells}
            if all(isinstance(cell, str) for cell in found) and None not in known.values():
                made[name] = column.map(known).astype("float64")
            else:
                self._check_points(name, cells)
        return frame.assign(**made) if made else frame

    def _check_points(self, name: str, cells: set[str]) -> None:
        """Raise for numbers with a point where that is not the sign before decimals: later they would be taken so."""
        if self.decimal == ".":
            return
        wrong = sorted(cell for cell in cells if "." in cell and AS_USUAL.number(cell) is not None)
        if wrong:
            raise ValueError(
                f"column {name!r} holds {wrong[0]!r}, but a comma was said to stand before decimals, or did so in the "
                "model's own table; give '.' as decimal if it is a point here, or as thousands too if it is between "
                "these"
            )


#: As programs write them.
AS_USUAL = NumberFormat()
# The simpler first: of those that read all cells the first is said, and another where a comma may be either.
_OTHERS = (
    (NumberFormat(".", ","), "if the comma stands between thousands"),
    (NumberFormat(","), "if the comma stands before decimals"),
    (NumberFormat(",", "."), "if the comma stands before decimals and the point between thousands"),
    (NumberFormat(".", "'"), "if the apostrophe stands between thousands"),
    (NumberFormat(".", " "), "if the blank stands between thousands"),
    (NumberFormat(",", " "), "if the comma stands before decimals and the blank between thousands"),
)


def suggest_number_formats(cells: Iterable[Any], hint: Hint) -> tuple[str, ...]:
    """Return which options read all of these cells as numbers; none if they are numbers already, or no option does.

    Examples
    --------
    >>> from pacbayes.data.rejections import in_shell
    >>> suggest_number_formats(["3,682.50", "12"], in_shell)
    ('if the comma stands between thousands give --thousands ","',)
    >>> [len(suggest_number_formats(cells, in_shell)) for cells in (["3,682"], ["a", "3,5"], ["3.5"])]
    [2, 0, 0]
    """
    texts = set(cells)
    if not texts or not all(isinstance(cell, str) for cell in texts):
        return ()
    if all(AS_USUAL.number(cell) is not None for cell in texts):
        return ()
    found: list[NumberFormat] = []
    ways = []
    for signs, why in _OTHERS:
        simpler = any(one.decimal == signs.decimal and one.thousands in (None, signs.thousands) for one in found)
        if not simpler and all(signs.number(cell) is not None for cell in texts):
            found.append(signs)
            given = [hint("decimal", signs.decimal)] if signs.decimal != "." else []
            given += [] if signs.thousands is None else [hint("thousands", signs.thousands)]
            ways.append(f"{why} give {' '.join(given)}")
    return tuple(ways)
