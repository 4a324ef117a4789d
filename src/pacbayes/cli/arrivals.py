"""Labelled rows that arrived since a model was certified, file by file in their order of arrival."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes.cli.new_rows import CodedColumn, LabelColumns, NewRows, iterate_labelled_blocks, match_spelling
from pacbayes.cli.show import Note
from pacbayes.data.rows import row_hashes
from pacbayes.data.spelling import to_label_strings
from pacbayes.data.split import DISTINCT

if TYPE_CHECKING:
    from pacbayes.data.io import ReadOptions

# File extensions that `open_table` supports.
_TABLE = re.compile(r"[^.].*\.((csv|tsv)(\.(gz|bz2|xz|zip))?|parquet)", re.IGNORECASE)
ORDER, GROUP, SLICE = "--order", "--group", "--slice"
_MISSING_HINT = "every row requires a value: drop rows without a class"
_NEW_ROWS_HINT = "watch rows that arrived after it was fitted"
#: Periods of dates, as units of NumPy.
CALENDAR = {"day": "D", "week": "D", "month": "M"}


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Accepted rows of one file, in their order of arrival."""

    name: str
    #: Whether each prediction is wrong: 0 or 1.
    losses: FloatArray
    #: Row numbers in the file, starting at 1.
    places: Rows
    #: Values of the --order column: numbers or dates.
    times: NDArray[Any] | None
    groups: NDArray[Any] | None
    slices: NDArray[Any] | None
    abstained: int

    @property
    def has_dates(self) -> bool:
        """Whether the --order column contains dates."""
        return self.times is not None and self.times.dtype.kind == "M"

    def period_starts(self, by: str) -> NDArray[np.datetime64]:
        """First day of the calendar period of every row; weeks begin on Mondays.

        Examples
        --------
        >>> days = np.array(["2024-05-31", "2024-06-02", "2024-06-03"], dtype="M8[s]")
        >>> Arrivals("", np.zeros(3), np.arange(3), days, None, None, 0).period_starts("week").astype(str).tolist()
        ['2024-05-27', '2024-05-27', '2024-06-03']
        """
        days: NDArray[Any] = np.asarray(self.times).astype("M8[D]")
        if by == "week":
            # 1970-01-01 was a Thursday.
            days = days - (days.astype(np.int64) + 3) % 7
        return days.astype(f"M8[{CALENDAR[by]}]").astype("M8[D]")


def expand_folders(paths: Sequence[Path]) -> list[Path]:
    """Replace folders by their files, in natural order of the names (9 before 10).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("week10.csv", "week9.csv", "notes.txt"):
    ...         _ = Path(folder, name).write_text("a")
    ...     [path.name for path in expand_folders([Path(folder)])]
    ['week9.csv', 'week10.csv']
    """
    files: list[Path] = []
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = [one for one in path.iterdir() if one.is_file() and _TABLE.fullmatch(one.name)]
            inside.sort(key=lambda one: [(part.zfill(20), part) for part in re.split(r"(\d+)", one.name)])
            if not inside:
                raise ValueError(f"the folder {str(path)!r} has no CSV, TSV or Parquet file")
        files += inside
    twice = [path for i, path in enumerate(files) if path.resolve() in {one.resolve() for one in files[:i]}]
    if twice:
        raise ValueError(f"{str(twice[0])!r} is given twice: its rows would be counted twice")
    return files


class ArrivalReader:
    """Predict the labelled rows of several files; raise if the model was fitted with them.

    One file is in memory at a time, plus the hashes of all rows for ``duplicates="together"``.
    """

    def __init__(
        self,
        model: tuple[Path, Any],
        columns: dict[str, str],
        options: "ReadOptions",
        not_missing: Sequence[str],
        note: Note,
    ) -> None:
        self._path, self._model = model
        self._columns, self._options, self._not_missing, self._note = columns, options, not_missing, note
        self._noted: set[str] = set()
        self._last: Any = None
        self._seen: set[tuple[int, str]] = set()

    def read(self, files: Sequence[Path]) -> Iterator[Arrivals]:
        """Yield the rows of each file; raise if files are not in the order of --order."""
        for file in files:
            arrivals = self._arrivals(file)
            times = arrivals.times
            if times is not None and times.size:
                if self._last is not None and self._last.dtype.kind != times.dtype.kind:
                    raise ValueError(
                        f"{ORDER} must be numeric in all files or contain dates in all files; {str(file)!r} differs"
                    )
                if self._last is not None and times[0] < self._last:
                    raise ValueError(
                        f"files must be sorted by {ORDER}: {str(file)!r} begins at {times[0]}, before the "
                        f"end of the file before it, {self._last}"
                    )
                self._last = times[-1]
            yield arrivals

    def _arrivals(self, file: Path) -> Arrivals:
        model, columns = self._model, self._columns
        labels = LabelColumns(file, columns, self._options, self._not_missing, _MISSING_HINT)
        rows = NewRows(file, model, self._options, self._not_missing, list(columns.values()))
        distinct = model.certificate_.unit == DISTINCT
        predicted, accepted_blocks, covered, hashes = CodedColumn(), [], [], []
        for X in iterate_labelled_blocks(model, rows, labels, (self._path, file), _NEW_ROWS_HINT):
            predicted.add(to_label_strings(model.predict(X)))
            accepted_blocks.append(model.accepts(X))
            covered.append(model.covered(X))
            hashes += [row_hashes(X, b"")] if distinct else []
        for line in rows.notes:
            if line not in self._noted:
                self._note(line)
                self._noted.add(line)
        texts = labels.columns()
        y_true = texts[columns["--target"]]
        # With all classes of the model, because all predictions of a few rows may be wrong.
        values = np.concatenate([predicted.values, to_label_strings(model.classes_)])
        y_pred = match_spelling(y_true, values, repr(str(self._path)))[predicted.codes]
        times = _times(texts[columns[ORDER]], columns[ORDER]) if ORDER in columns else None
        order = np.arange(y_true.size) if times is None else times.argsort(kind="stable")
        if distinct:
            order = self._first_occurrences(order, np.concatenate(hashes), y_true)
        accepted = np.concatenate(accepted_blocks)[order]
        places = order[accepted]
        # After a refit, only covered predictions can be errors.
        wrong = (y_pred != y_true) & np.concatenate(covered)
        groups, slices = (texts[columns[option]][places] if option in columns else None for option in (GROUP, SLICE))
        kept_times = None if times is None else times[places]
        abstained = int((~accepted).sum())
        return Arrivals(str(file), wrong[places].astype(float), places + 1, kept_times, groups, slices, abstained)

    def _first_occurrences(self, order: Rows, hashes: NDArray[Any], y_true: NDArray[Any]) -> Rows:
        """Rows that do not equal an earlier row of any file."""
        new = np.zeros(order.size, dtype=bool)
        for i, place in enumerate(order.tolist()):
            pair = (int(hashes[place]), y_true[place])
            new[i] = pair not in self._seen
            self._seen.add(pair)
        if not new.all():
            count = f"{np.count_nonzero(~new)} of {order.size} rows"
            self._note(f"{count} are duplicates of earlier ones: they are not counted.")
        return order[new]


def _times(texts: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert a column of numbers or dates (to UTC)."""
    import pandas as pd

    values = pd.Series(texts, dtype=object)
    numbers = pd.to_numeric(values, errors="coerce")
    if not numbers.isna().any():
        return numbers.to_numpy()
    times = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"{ORDER} must name a column of numbers or of dates such as 2024-05-31, got {texts[first]!r} in row "
            f"{first + 1} of {name!r}"
        )
    return times.dt.tz_localize(None).to_numpy().astype("M8[s]")
