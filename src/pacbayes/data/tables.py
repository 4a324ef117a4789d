"""Tables: what every reader returns, and how the columns of a table were read.

A CSV file does not say whether ``01`` is a number, nor whether ``NA`` is a text or a gap.  Read otherwise than the rows
that were certified, the rows of a new file are other rows, and the certificate is not about them.  So a model keeps how
its table was read, and another table is read in the same way.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.number_format import AS_USUAL, NumberFormat
from pacbayes.data.rejections import in_shell


@dataclass(frozen=True)
class Table:
    """Rows with their classes; `target_names` follow the sorted distinct values of `target`."""

    data: FloatArray
    target: NDArray[Any]
    feature_names: list[str]
    target_names: list[str]
    target_column: str
    filename: str


#: What means a missing value in a CSV or TSV file unless something else is said; the list of pandas, whatever version.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
# What `pandas.api.types.infer_dtype` calls values that a file holds as numbers; a column may have no value at all.
_NUMBERS = ("boolean", "decimal", "empty", "floating", "integer", "mixed-integer-float")


@dataclass(frozen=True)
class TextColumn:
    """A column of text, by its place among the features."""

    place: int
    #: Texts that stood in it although they mean a missing value elsewhere: "NA" for Namibia.
    words: tuple[str, ...] = ()
    #: Whether empty texts and gaps stood in it: an empty cell may be either.
    has_both: bool = False


@dataclass(frozen=True)
class TableReading:
    """Which columns of a table are text, and which texts are gaps; all other columns are numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> reading = TableReading.of(pd.DataFrame({"age": [31, 52], "land": ["NA", "DE"]}))
    >>> reading.text, reading.is_gap(reading.text[0], "NA"), reading.is_gap(reading.text[0], "null")
    ((TextColumn(place=1, words=('NA',), has_both=False),), False, None)
    """

    text: tuple[TextColumn, ...] = ()
    #: Places of columns that a file could not hold as they were: dates, or numbers and text.
    unclear: tuple[int, ...] = ()
    #: Texts that were gaps, in every column.
    missing: tuple[str, ...] = ()
    #: Whether 3.0 and 3 are two texts; in the categories of a file they are one.
    as_written: bool = True
    #: Whether a text began with a space, so that those after a separator count.
    spaces: bool = False
    #: How numbers were written in the file.
    signs: NumberFormat = AS_USUAL

    @classmethod
    def of(cls, X: Any) -> Self | None:
        """Return how a file must be read to hold these rows; None for rows that are no table."""
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
            return cls()
        import pandas as pd  # not for rows of numbers alone

        if not isinstance(X, pd.DataFrame):
            try:
                values = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
            except ValueError:  # rows of different lengths
                return None
            if values.ndim != 2:
                return None
            X = pd.DataFrame(values.astype(object))
        text, unclear, spaces = [], [], False
        for place in range(X.shape[1]):
            series = X.iloc[:, place]
            kind = _kind(series)
            if kind == "string":
                texts = set(series.dropna().tolist())
                both = "" in texts and bool(series.isna().any())
                text.append(TextColumn(place, tuple(sorted(texts.intersection(MISSING_WORDS))), both))
                spaces = spaces or any(one.startswith(" ") for one in texts)
            elif kind not in _NUMBERS:
                unclear.append(place)
        return cls(tuple(text), tuple(unclear), spaces=spaces)

    def of_file(self, missing: Iterable[str], cells: bool, signs: NumberFormat | None = None) -> Self:
        """Return the same for the columns of a file, whose texts are categories, and what was missing there.

        `cells` are those of a CSV or TSV file, where spaces after a separator count for nothing.  A Parquet file says
        itself what is missing and where a text begins.
        """
        words = MISSING_WORDS if cells else ()
        spaces, signs = self.spaces and not cells, signs or AS_USUAL
        return replace(self, missing=_spellings((*words, *missing)), as_written=False, spaces=spaces, signs=signs)

    def settled(self, missing: Iterable[str], not_missing: Iterable[str]) -> Self:
        """Return the same where a person says of further texts what they are."""
        gaps, texts = _spellings(missing), tuple(not_missing)
        for word in texts:
            if word in (*gaps, *self.missing):
                why = "is given too" if word in gaps else "is how the model's own table was read"
                raise ValueError(f"{in_shell('not_missing', word)} cannot be: {in_shell('missing', word)} {why}")
        columns = (
            replace(column, words=(*column.words, *texts), has_both=column.has_both and "" not in texts)
            for column in self.text
        )
        return replace(self, text=tuple(columns), missing=(*self.missing, *gaps))

    def is_gap(self, column: TextColumn, text: str) -> bool | None:
        """Return whether a cell of a CSV file is a gap; None where that is not known."""
        if text in self.missing:
            return True
        if text not in MISSING_WORDS:
            return False
        if text == "":
            return None if column.has_both else "" not in column.words
        return False if text in column.words else None


def _kind(series: Any) -> str:
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(series) or is_bool_dtype(series):
        return "floating"
    return infer_dtype(series.astype(object), skipna=True)


def _spellings(missing: Iterable[str]) -> tuple[str, ...]:
    """Return texts, and of whole numbers among them the spellings that pandas takes for the same: 999 and 999.0."""
    found: dict[str, None] = {}
    for text in missing:
        found[text] = None
        try:
            number = float(text)
        except ValueError:
            continue
        if number.is_integer():
            found |= {str(int(number)): None, f"{int(number)}.0": None}
    return tuple(found)
