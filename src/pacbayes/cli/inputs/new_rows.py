"""New examples in a file, in the form a fitted model takes, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbayes.cli.inputs.unseen import Unseen
from pacbayes.data.files.blocks import FileBlocks
from pacbayes.data.files.column_fit import ColumnFit
from pacbayes.data.files.reading import file_kind, listed
from pacbayes.data.files.table_reading import TableReading

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Cells:
    """What the options say of the cells of a file."""

    missing: tuple[str, ...] = ()
    not_missing: tuple[str, ...] = ()
    sep: str | None = None
    #: Columns that somebody else uses: it is not said that they are not used.
    used: tuple[str, ...] = ()


class NewRows:
    """The examples of a file: blocks of data frames, and afterwards what a person should know about them.

    A column is read as that of the model's own table was, so that it does not depend on the blocks what is refused.

    Attributes
    ----------
    total, done : int
        The size of the work, and how much of it is done, in units of the file.
    notes : list of str
        When all of it was read.
    """

    def __init__(self, path: Path, model: Any, cells: Cells) -> None:
        reading: TableReading | None = vars(model).get("_reading")
        if reading is None:
            raise ValueError(
                "the model was fitted with rows that are no table: a file cannot hold such; use it in Python"
            )
        self._path, self._model = path, model
        self._reading = reading.settled(cells.missing, cells.not_missing)
        self._cells, self._used = file_kind(path, cells.sep) is not None, cells.used
        names = getattr(model, "feature_names_in_", None)
        texts = [column.place if names is None else str(names[column.place]) for column in reading.text]
        self._blocks = FileBlocks(path, self._reading.missing, (), cells.sep, texts, reading.spaces)
        self.total, self.done = self._blocks.total, 0
        self.notes: list[str] = []

    def __iter__(self) -> "Iterator[pd.DataFrame]":
        """Yield the blocks; raise `ValueError` at the first that does not fit."""
        fit, unseen, complete = None, Unseen(self._model), _lacks_nothing(self._model)
        for frame in self._blocks:
            fit = fit or self._fit(frame)
            first = fit.done
            X = fit.fit(frame)
            if complete and X.isna().to_numpy().any():
                raise ValueError(lacking(X, str(self._path), first))
            unseen.count(X)
            self.done = self._blocks.done
            yield X
        self.notes += unseen.said()

    def _fit(self, frame: "pd.DataFrame") -> ColumnFit:
        """Return what reads a file whose first block this is."""
        wanted = [str(name) for name in getattr(self._model, "feature_names_in_", frame.columns)]
        expected = getattr(self._model, "n_features_in_", len(wanted))
        if len(wanted) != expected:
            raise ValueError(
                f"{str(self._path)!r} must have the {expected} columns the model was trained with (their names were "
                f"not saved), got {len(wanted)}"
            )
        unused = [name for name in frame.columns if name not in (*wanted, *self._used)]
        self.notes = [f"Columns not used: {listed(unused)}."] if unused else []
        return ColumnFit(wanted, self._reading, repr(str(self._path)), self._cells)


def read_new(path: Path, model: Any, cells: Cells) -> "tuple[pd.DataFrame, list[str]]":
    """Return all rows of a file in the form a fitted model takes, and what a person should know about them."""
    import pandas as pd

    rows = NewRows(path, model, cells)
    blocks = list(rows)
    return blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True), rows.notes


def _lacks_nothing(model: Any) -> bool:
    """Return whether the training data lacked no value, so that nothing prepares a row that lacks one."""
    if not hasattr(model, "estimator"):
        return not model._prepares()
    steps = getattr(model.best_estimator_, "named_steps", {})
    # A pipeline that was not made here may do with missing values what it likes.
    return bool(steps) and set(steps) <= {"scale", "model"}


def lacking(X: "pd.DataFrame", path: str, first: int = 0) -> str:
    """Return what is said of missing values where there were none in training; `first` rows come before."""
    gaps = [(str(name), first + int(X[name].isna().to_numpy().argmax())) for name in X if X[name].isna().any()]
    said = [f"column {name!r} of {path!r} lacks a value in example {place + 1}" for name, place in gaps[:10]]
    more = f" and {len(gaps) - 10} more columns" if len(gaps) > 10 else ""
    return f"{', '.join(said)}{more}, but the training data lacks none: nothing was learnt about missing values"
