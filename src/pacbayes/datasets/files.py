"""Reading a user's own CSV, TSV or Parquet file.

Wherever pandas would guess in silence (a first row of data taken for column names, an index taken for a feature) this
stops instead: both change what a certificate is about.
"""

import gzip
import lzma
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray, narrow_labels
from pacbayes.datasets.table import Table

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zip")
_CSV_ENDINGS = tuple(f".csv{ending}" for ending in _COMPRESSED)
_TSV_ENDINGS = tuple(f".tsv{ending}" for ending in _COMPRESSED)
_PARQUET_ENDINGS = (".parquet",)


def read_file(path: Path, target: str | None) -> Table:
    """Return the examples in a file; the class is the column `target`, by default the last."""
    frame = read_frame(path)
    features, labels = divide_columns(frame, target, path)
    data = _features(features, path)
    names = [str(label) for label in np.unique(labels)]
    return Table(data, labels, list(features.columns), names, _target(frame, target, path), str(path))


def read_frame(path: Path, missing: Sequence[str] = (), as_text: Sequence[str] = ()) -> "pd.DataFrame":
    """Return a CSV, TSV or Parquet file as a data frame with at least one row and distinct names.

    `missing` are further texts that stand for a missing value in a CSV or TSV file.  Columns in `as_text` are read as
    written: otherwise what a value becomes depends on the others in its file ("TRUE" or True, 01 or 1).
    """
    if not path.exists():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"name must be a CSV, TSV or Parquet file, got the folder {str(path)!r}")
    name = path.name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        frame = _read_parquet(path)
    elif name.endswith(_CSV_ENDINGS):
        frame = _read_csv(path, ",", missing, as_text)
    elif name.endswith(_TSV_ENDINGS):
        frame = _read_csv(path, "\t", missing, as_text)
    else:
        raise ValueError(
            f"cannot tell the format of {str(path)!r}: the name must end in one of .csv, .tsv (these also with .gz, "
            ".bz2, .xz or .zip) and .parquet"
        )
    frame.columns = [str(column) for column in frame.columns]
    if not frame.columns.is_unique:
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise ValueError(f"column names of {str(path)!r} must differ, got more than once: {listed(repeated)}")
    if len(frame) == 0:
        raise ValueError(f"{str(path)!r} has column names but no rows")
    return frame


def divide_columns(frame: "pd.DataFrame", target: str | None, path: Path) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the features, in whatever form they are, and the labels; the class is by default the last column."""
    columns = list(frame.columns)
    if len(columns) < 2:
        separator = "tabs" if path.name.lower().endswith(_TSV_ENDINGS) else "commas"
        raise ValueError(
            f"{str(path)!r} must have at least one feature and a class column, separated by {separator}; "
            f"its only column is {columns}"
        )
    chosen = _target(frame, target, path)
    return frame[[column for column in columns if column != chosen]], _labels(frame[chosen], chosen, path)


def _target(frame: "pd.DataFrame", target: str | None, path: Path) -> str:
    columns = list(frame.columns)
    chosen = columns[-1] if target is None else target
    if chosen not in columns:
        raise ValueError(f"target must be a column of {str(path)!r}, got {chosen!r}; its columns are {listed(columns)}")
    return chosen


def _read_csv(path: Path, separator: str, missing: Sequence[str], as_text: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd

    kind = "CSV" if separator == "," else "TSV"
    # Before 3.1 pandas reads decimals only to about 1e-12 unless asked; from 3.1 on it reads them exactly, and
    # asking is deprecated.
    exact = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    try:
        first = pd.read_csv(
            path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False, skipinitialspace=True
        )
        header = [str(cell) for cell in first.iloc[0]]
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would take their first field for an index, or with index_col=False
            # drop the last with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                na_values=list(missing),
                dtype=dict.fromkeys(as_text, str),
                skipinitialspace=True,
                low_memory=False,
                index_col=False,
                float_precision=None if exact else "round_trip",
            )
    except pd.errors.ParserWarning:
        raise ValueError(
            f"the rows of {str(path)!r} have more fields than its line of {len(header)} column names"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            f"cannot read {str(path)!r} as {kind}: it is not UTF-8 text; save it in the encoding UTF-8"
        ) from None
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        # pandas' own parser errors are ValueErrors, the others come from damaged compressed files
        raise ValueError(f"cannot read {str(path)!r} as {kind}: {error}") from None
    if all(is_number(cell) for cell in header):
        raise ValueError(
            f"the first line of {str(path)!r} must hold column names, but it holds only numbers ({listed(header)}); "
            "add a line of names, or the first example is lost"
        )
    if "" in header:
        raise ValueError(
            f"column {header.index('') + 1} of {str(path)!r} has no name; name it, or if it is the row number pandas "
            "adds, write the file with to_csv(index=False)"
        )
    repeated = sorted(cell for cell, times in Counter(header).items() if times > 1)
    if repeated:
        raise ValueError(f"column names of {str(path)!r} must differ, got more than once: {listed(repeated)}")
    return frame


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ImportError(
            f"reading {str(path)!r} needs pyarrow, which is not installed: pip install 'pacbayes[parquet]'"
        ) from None
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise ValueError(f"cannot read {str(path)!r} as Parquet: {error}") from None


def _features(frame: "pd.DataFrame", path: Path) -> FloatArray:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    bad = [str(name) for name in frame if not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))]
    if bad:
        example = next((value for value in frame[bad[0]] if not is_number(value)), frame[bad[0]].iloc[0])
        raise ValueError(
            f"features must be numbers, but in {str(path)!r} these columns are not: {listed(bad)} "
            f"({bad[0]!r} holds {example!r}); encode them first, for instance with pandas.get_dummies, "
            "or say which column is the class with target="
        )
    data = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(data)
    if not finite.all():
        row, column = (int(index[0]) for index in np.nonzero(~finite))
        raise ValueError(
            f"features must be finite, but {int((~finite).sum())} values in {str(path)!r} are missing or infinite, "
            f"first in column {frame.columns[column]!r}, example {row + 1}; fill them in or drop those rows"
        )
    return data


def _labels(series: "pd.Series[Any]", name: str, path: Path) -> NDArray[Any]:
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

    missing = series.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"every example needs a class, but {int(missing.sum())} in column {name!r} of {str(path)!r} are missing "
            f"(empty, NA, None, nan and the like), the first in example {int(missing.argmax()) + 1}"
        )
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    if is_bool_dtype(series):
        return series.to_numpy(dtype=np.bool_)
    if is_integer_dtype(series):
        return series.to_numpy(dtype=np.uint64 if int(series.max()) > np.iinfo(np.int64).max else np.int64)
    if is_float_dtype(series):
        return series.to_numpy(dtype=np.float64)
    return np.asarray(narrow_labels([str(value) for value in series]))


def is_number(value: Any) -> bool:
    """Return whether a value, text included, stands for a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:  # an integer too large for a float is one all the same
        return True
    return True


def listed(names: list[str], most: int = 10) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
