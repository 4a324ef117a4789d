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
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import did_you_mean, narrow_labels
from pacbayes._utils.progress import progress
from pacbayes.data.class_names import check_spellings, number_spelling, truth_spelling
from pacbayes.data.leakage import is_unnamed, refused_name, refused_numbers, refused_runs
from pacbayes.data.number_format import AS_USUAL, NumberFormat, suggest_number_formats
from pacbayes.data.packed_files import MemoryBudget, ParquetRows, unpacked_text, without_missing
from pacbayes.data.rejections import Hint, Refused, in_python, refuse
from pacbayes.data.tables import MISSING_WORDS, Table

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zip")
_CSV_ENDINGS = tuple(f".csv{ending}" for ending in _COMPRESSED)
_TSV_ENDINGS = tuple(f".tsv{ending}" for ending in _COMPRESSED)
_PARQUET_ENDINGS = (".parquet",)


def read_file(
    path: Path,
    target: str | None,
    *,
    drop: Collection[str] = (),
    keep: Collection[str] = (),
    sep: str | None = None,
    skip_unlabelled: bool = False,
    signs: NumberFormat | None = None,
) -> tuple[Table, int]:
    """Return the rows of a file and how many without a class were left out; the class is by default last."""
    frame = read_frame(path, sep=sep, signs=signs)
    unknown = {name: sorted(set(columns) - set(frame.columns)) for name, columns in (("drop", drop), ("keep", keep))}
    for name, columns in unknown.items():
        if columns:
            raise ValueError(
                f"{name} must name columns of {str(path)!r}, got {listed(columns)}; {columns_of(frame, columns)}"
            )
    frame = frame.drop(columns=list(drop))
    chosen, skipped = target_of(frame, target, path), 0
    if skip_unlabelled:
        frame, skipped = labelled(frame, chosen, path)
    features, labels = divide_columns(frame, chosen, path, sep=sep)
    data = _features(features, path, keep)
    names = [str(label) for label in np.unique(labels)]
    return Table(data, labels, list(features.columns), names, chosen, str(path)), skipped


def read_frame(
    path: Path,
    missing: Sequence[str] = (),
    as_text: Sequence[str] = (),
    sep: str | None = None,
    as_written: Sequence[str] = (),
    spaces: bool = False,
    signs: NumberFormat | None = None,
) -> "pd.DataFrame":
    """Return a CSV, TSV or Parquet file as a data frame with at least one row and distinct names.

    `missing` are texts, and numbers, that stand for a missing value, in CSV and TSV files besides `MISSING_WORDS`.
    Columns in `as_text` are read as text: otherwise what a value becomes depends on the others in its file ("TRUE" or
    True, 01 or 1).  In columns in `as_written` no text stands for a missing value either.  `sep` is the character
    between two fields, by default a comma in CSV and a tab in TSV files.  With `spaces` those after it belong to the
    text.  Columns without a name are called as pandas does, ``Unnamed: 0``; who uses them has to say so.
    """
    separator = file_kind(path, sep)
    with progress(f"reading {path.name!r}", None):
        if separator is None:
            frame = without_missing(ParquetRows(path).whole(), missing, as_written)
            frame = (signs or AS_USUAL).read(frame, (*as_text, *as_written))
        else:
            with path.open("rb") as file:
                frame = next(csv_frames(path, file, separator, missing, as_text, as_written, spaces, signs))
    check_frame(frame, path)
    if len(frame) == 0:
        raise ValueError(f"{str(path)!r} has column names but no rows")
    return frame


def file_kind(path: Path, sep: str | None) -> str | None:
    """Return the character between two fields of a text file, None for a Parquet file; raise for any other."""
    separator = None if sep is None else check_separator(sep)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not a CSV, TSV or Parquet file")
    name = path.name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        if separator is not None:
            raise ValueError(f"sep is for CSV and TSV files, got sep={sep!r} for {str(path)!r}")
        return None
    if name.endswith((*_CSV_ENDINGS, *_TSV_ENDINGS)):
        return separator or ("," if name.endswith(_CSV_ENDINGS) else "\t")
    raise ValueError(
        f"cannot tell the format of {str(path)!r}: the name must end in one of .csv, .tsv (these also with .gz, "
        ".bz2, .xz or .zip) and .parquet"
    )


def check_frame(frame: "pd.DataFrame", path: Path) -> "pd.DataFrame":
    """Return a frame with names of columns as texts, or raise if two are equal."""
    frame.columns = [str(column) for column in frame.columns]
    if not frame.columns.is_unique:
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise ValueError(f"column names of {str(path)!r} must differ, got more than once: {listed(repeated)}")
    return frame


def check_separator(sep: str) -> str:
    r"""Return the character between two fields; a tab may be written as ``\t`` or ``tab``.

    Examples
    --------
    >>> check_separator(";"), check_separator("tab")
    (';', '\t')
    >>> check_separator(";;")
    Traceback (most recent call last):
    ValueError: sep must be one character that is no letter, digit, quote, sign, point or line break, or tab; got ';;'
    """
    if not isinstance(sep, str):
        raise TypeError(f"sep must be a character, got {sep!r}")
    character = "\t" if sep in ("\\t", "tab") else sep
    if len(character) != 1 or character.isalnum() or character in "\"'+-.\n\r\0":
        raise ValueError(
            f"sep must be one character that is no letter, digit, quote, sign, point or line break, or tab; got {sep!r}"
        )
    return character


def divide_columns(
    frame: "pd.DataFrame", target: str, path: Path, hint: Hint = in_python, sep: str | None = None
) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the features, in whatever form they are, and the labels."""
    features = frame[[column for column in frame.columns if column != target]]
    labels = _labels(frame[target], target, path, hint)
    separator = file_kind(path, sep) if labels.dtype.kind in "biuf" else None
    if separator is not None:
        # pandas made one class of 1 and 01, and of TRUE and true.
        spelling = truth_spelling if labels.dtype.kind == "b" else number_spelling
        check_spellings(_written(path, separator, target), spelling, f"column {target!r} of {str(path)!r}")
    return features, labels


def _written(path: Path, separator: str, name: str) -> list[str]:
    """Return a column of a text file as it is written."""
    import pandas as pd

    options: Any = {"usecols": lambda one: one == name, "dtype": str, "keep_default_na": False, "index_col": False}
    return list(pd.read_csv(path, sep=separator, skipinitialspace=True, **options).iloc[:, 0])


def target_of(frame: "pd.DataFrame", target: str | None, path: Path, hint: Hint = in_python) -> str:
    """Return the column with the classes, by default the last, or raise if there is none, or nothing beside it."""
    columns = list(frame.columns)
    if len(columns) < 2:
        separator = "tabs" if path.name.lower().endswith(_TSV_ENDINGS) else "commas"
        raise ValueError(
            f"{str(path)!r} must have at least one feature and a class column, separated by {separator}; "
            f"its only column is {columns}{_other_separator(columns[0] if columns else '', hint)}"
        )
    chosen = columns[-1] if target is None else target
    if chosen not in columns:
        raise ValueError(f"target must be a column of {str(path)!r}, got {chosen!r}; {columns_of(frame, [chosen])}")
    if target is None and is_unnamed(chosen):
        raise ValueError(
            f"the last column of {str(path)!r} would be the class, but it has no name; leave it out with "
            f"{hint('drop', chosen)}, or name the class with {hint('target', columns[0])} or another"
        )
    return chosen


def _other_separator(name: str, hint: Hint) -> str:
    """Return what to try if the only name of a file is many with another character between them."""
    found = next((character for character in ";\t|" if character in name), None)
    if found is None:
        return ""
    return f"; if they are separated by {found!r} give {hint('sep', 'tab' if found == chr(9) else found)}"


def columns_of(frame: "pd.DataFrame", asked: Sequence[str]) -> str:
    """Say which columns there are: the one that is probably meant, or all but of very many."""
    like = did_you_mean(asked, frame.columns)
    return like.removeprefix("; ") or f"its columns are {listed(list(frame.columns), 12)}"


def labelled(frame: "pd.DataFrame", target: str, path: Path) -> "tuple[pd.DataFrame, int]":
    """Return the rows that have a class, and how many have none."""
    from pandas.api.types import is_float_dtype

    lacking = frame[target].isna().to_numpy()
    if lacking.all():
        raise ValueError(f"no example has a class: column {target!r} of {str(path)!r} is empty")
    kept = frame[~lacking].reset_index(drop=True)
    if lacking.any():
        # With gaps pandas reads whole numbers as fractions and truth values as objects.
        labels = kept[target].infer_objects()
        whole = is_float_dtype(labels) and bool(((labels == np.floor(labels)) & (labels.abs() < 2.0**53)).all())
        kept[target] = labels.astype(np.int64) if whole else labels
    return kept, int(lacking.sum())


def csv_frames(
    path: Path,
    file: BinaryIO,
    separator: str,
    missing: Sequence[str],
    as_text: Sequence[str],
    as_written: Sequence[str | int] = (),
    spaces: bool = False,
    signs: NumberFormat | None = None,
    rows: Callable[[int], int] | None = None,
) -> "Iterator[pd.DataFrame]":
    """Yield a text file as one frame, or in frames of ``rows(number of columns)`` rows; `file` is the open file.

    Columns in `as_written` may be named by their place.  With `spaces` those after a separator belong to the text.
    A frame that would not fit into half of the free memory is a `MemoryError`.
    """
    import pandas as pd

    kind, signs = "TSV" if path.name.lower().endswith(_TSV_ENDINGS) else "CSV", signs or AS_USUAL
    # Before 3.1 pandas reads decimals only to about 1e-12 unless asked; from 3.1 on it reads them exactly, and
    # asking is deprecated.
    exact = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    suffix, room = path.suffix.lower(), MemoryBudget(path)
    with _readable(path, kind):
        header = _header(unpacked_text(file, suffix, separator, room), separator)
    _check_header(header, path)
    file.seek(0)
    room.clear()
    # As pandas calls them.
    at = {place: name or f"Unnamed: {place}" for place, name in enumerate(header)}
    named = [at.get(name, "") if isinstance(name, int) else name for name in as_written]
    gaps = [*MISSING_WORDS, *missing]
    na_values: Any = {name: [] if name in named else gaps for name in at.values()} if named else gaps
    with _readable(path, kind, header):
        found: Any = pd.read_csv(
            unpacked_text(file, suffix, separator, room),
            sep=separator,
            na_values=na_values,
            keep_default_na=False,
            dtype=dict.fromkeys((*as_text, *named), str),
            skipinitialspace=not spaces,
            low_memory=False,
            index_col=False,
            decimal=signs.decimal,
            float_precision=None if exact else "round_trip",
            chunksize=None if rows is None else rows(len(header)),
        )
    if rows is None:
        yield signs.read(found, (*as_text, *named))
        return
    with found:
        while True:
            with _readable(path, kind, header):
                frame = next(found, None)
            if frame is None:
                return
            room.clear()
            yield signs.read(frame.reset_index(drop=True), (*as_text, *named))


def _header(text: BinaryIO, separator: str) -> list[str]:
    """Return the names of the columns as they are written."""
    import pandas as pd

    options: Any = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False, "skipinitialspace": True}
    return [str(cell) for cell in pd.read_csv(text, sep=separator, **options).iloc[0]]


def _check_header(header: list[str], path: Path) -> None:
    """Raise if the names of columns are none."""
    if all(is_number(cell) for cell in header):
        raise ValueError(
            f"the first line of {str(path)!r} must hold column names, but it holds only numbers ({listed(header)}); "
            "add a line of names, or the first example is lost"
        )
    repeated = sorted(cell for cell, times in Counter(header).items() if times > 1 and cell)
    if repeated:
        raise ValueError(f"column names of {str(path)!r} must differ, got more than once: {listed(repeated)}")


@contextmanager
def _readable(path: Path, kind: str, header: Sequence[str] = ()) -> Iterator[None]:
    """Turn what pandas says of a file that it cannot read into one line that names the file."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would take their first field for an index, or with index_col=False
            # drop the last with a warning.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.ParserWarning:
        raise ValueError(
            f"the rows of {str(path)!r} have more fields than its line of {len(header)} column names{_probably(header)}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            f"cannot read {str(path)!r} as {kind}: it is not UTF-8 text; save it in the encoding UTF-8"
        ) from None
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        # pandas' own parser errors are ValueErrors, the others come from damaged compressed files
        raise ValueError(f"cannot read {str(path)!r} as {kind}: {error}{_probably(header)}") from None


def _probably(header: Sequence[str]) -> str:
    """Say what to try if all names of columns are one, and commas between fields may be those before decimals."""
    found = _other_separator(header[0], in_python) if len(header) == 1 else ""
    return found and f"{found}, and {in_python('decimal', ',')} for numbers such as 3,5"


def _features(frame: "pd.DataFrame", path: Path, keep: Collection[str]) -> FloatArray:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    bad = [str(name) for name in frame if not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))]
    refuse(_unusable(frame, bad, keep), in_python)
    if bad:
        example = next((value for value in frame[bad[0]] if not is_number(value)), frame[bad[0]].iloc[0])
        ways = "".join(f"{way}; " for way in suggest_number_formats(frame[bad[0]].dropna(), in_python))
        raise ValueError(
            f"features must be numbers, but in {str(path)!r} these columns are not: {listed(bad)} "
            f"({bad[0]!r} holds {example!r}); {ways}encode them first, for instance with pandas.get_dummies, leave "
            f"them out with drop={bad!r}, or say which column is the class with target="
        )
    data = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(data)
    if not finite.all():
        row, column = (int(index[0]) for index in np.nonzero(~finite))
        where = [str(name) for name in frame.columns[~finite.all(axis=0)]]
        raise ValueError(
            f"features must be finite, but {int((~finite).sum())} values in {str(path)!r} are missing or infinite, "
            f"first in column {frame.columns[column]!r}, example {row + 1} (columns {listed(where)}); fill them in or "
            "drop those rows"
        )
    return data


def _unusable(frame: "pd.DataFrame", not_numbers: Collection[str], keep: Collection[str]) -> list[Refused]:
    """Return the columns that identify rows, and where there are such also those that are no numbers."""
    from pandas.api.types import is_bool_dtype

    found: list[Refused | None] = []
    for name in frame.columns:
        if name in keep or is_bool_dtype(frame[name]):
            continue
        values = frame[name].dropna().to_numpy()
        found.append(
            refused_name(name, in_python)
            or (None if name in not_numbers else refused_numbers(name, values, len(frame), in_python))
            or refused_runs(name, values, len(frame), in_python)
        )
    wrong = [one for one in found if one is not None]
    named = {one.column for one in wrong}
    encode = "encode it, for instance with pandas.get_dummies"
    if wrong:
        wrong += [Refused(name, "must hold numbers", (encode,)) for name in not_numbers if name not in named]
    return wrong


def _labels(series: "pd.Series[Any]", name: str, path: Path, hint: Hint) -> NDArray[Any]:
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

    missing = series.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"every example needs a class, but {int(missing.sum())} in column {name!r} of {str(path)!r} are missing "
            f"(empty, NA, None, nan and the like), the first in example {int(missing.argmax()) + 1}; fill them in, or "
            f"leave such examples out with {hint('skip_unlabelled', None)}"
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
    # One or two more are as soon named as counted.
    most = len(names) if len(names) <= most + 2 else most
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
