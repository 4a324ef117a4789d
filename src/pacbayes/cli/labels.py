"""Columns of labels as they are written, in one spelling; and rows for a model that it was not fitted with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbayes.certificates.difference import warn_of_known
from pacbayes.cli.new_rows import Cells, read_new
from pacbayes.data.class_names import aligned, as_labels, check_spellings, from_cells, spelling_of
from pacbayes.data.duplicates import largest_overlap
from pacbayes.data.reading import file_kind, listed, read_frame
from pacbayes.data.refusals import in_shell
from pacbayes.data.tables import MISSING_WORDS

if TYPE_CHECKING:
    import pandas as pd

TARGET = "--target"


def read_labels(path: Path, wanted: dict[str, str], cells: Cells, gap: str) -> tuple[dict[str, Any], bool]:
    """Return columns of a file as text, by name, or raise if one is absent or lacks a value; `gap` says what to do.

    `wanted` are their names by option, the true classes first.  And whether the file says that the classes are text,
    as only Parquet does.
    """
    # As written: what pandas makes of a text depends on the others in its column, and these are to be compared.
    frame = read_frame(path, cells.missing, (), cells.sep, tuple(wanted.values()))
    of_cells, target = file_kind(path, cells.sep) is not None, wanted[TARGET]
    gaps = {*(MISSING_WORDS if of_cells else ()), *cells.missing} - {*cells.not_missing}
    columns = {}
    for option, name in wanted.items():
        if name not in frame.columns:
            known = listed(list(frame.columns))
            raise ValueError(f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {known}")
        _check_complete(frame[name], name, path, gaps, gap)
        columns[name] = as_labels(frame[name])
        if option in ("--a", "--b"):
            columns[name][:] = from_cells(columns[name].tolist(), set(columns[target]), option)
    return columns, not of_cells and all(isinstance(one, str) for one in frame[target].tolist())


def _check_complete(column: "pd.Series[Any]", name: str, path: Path, gaps: set[str], gap: str) -> None:
    lacking = (column.isna() | column.isin(list(gaps))).to_numpy()
    if lacking.any():
        first = int(lacking.argmax())
        text = column.iloc[first]
        way = f"; if {text!r} is a class give {in_shell('not_missing', text)}" if isinstance(text, str) and text else ""
        raise ValueError(f"column {name!r} of {str(path)!r} lacks a value in example {first + 1}; {gap}{way}")


def in_one_spelling(truth: Any, said: list[tuple[str, Any, bool]], is_text: bool) -> list[Any]:
    """Return predictions in the spelling of the true classes: where these are no text, numbers are compared.

    `said` are, for each who predicts, the option, the predictions, and whether they are known to be text.
    """
    as_written = is_text or any(of_text for _, _, of_text in said)
    spelling = None if as_written else spelling_of(truth)
    if spelling is not None:
        check_spellings(truth, spelling, TARGET)
    answers = []
    for option, one, _ in said:
        answers.append(one if spelling is None else aligned(one.tolist(), truth.tolist(), option))
        if not set(answers[-1]) & set(truth):
            raise ValueError(
                f"no prediction of {option} is any of the true classes: it says {listed(sorted(set(one)), 5)}, and "
                f"--target holds {listed(sorted(set(truth)), 5)}"
            )
    return answers


def unknown_rows(loaded: Any, model: Path, data: Path, cells: Cells, note: Callable[[str], None], way: str) -> Any:
    """Return the rows of a file in the form a model takes, or raise if it was fitted with them; `way` says what to do.

    Where some of them equal rows behind the model, that is warned of.
    """
    # How the features are read the model knows; the option may be for the classes.
    known = getattr(loaded._fitted.plan.reading, "missing", ())
    own = replace(cells, not_missing=tuple(text for text in cells.not_missing if text not in known))
    rows, notes = read_new(data, loaded, own)
    for line in notes:
        note(line)
    given = rows if hasattr(loaded, "feature_names_in_") else rows.to_numpy()
    found, named = largest_overlap(loaded, given), (repr(str(data)), repr(str(model)))
    if found is not None and found.is_copy:
        raise ValueError(f"{named[1]} was fitted with these rows: {found.said} behind it; {way}")
    warn_of_known(found, *named)
    return given
