"""New examples in a file, in the form a fitted model takes, block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbayes.cli.inputs.unseen import Unseen
from pacbayes.data.files.blocks import FileBlocks
from pacbayes.data.files.column_fit import ColumnFit
from pacbayes.data.files.columns import Columns
from pacbayes.data.files.reading import listed, read_frame

if TYPE_CHECKING:
    import pandas as pd


class NewRows:
    """The examples of a file: blocks of data frames, and afterwards what a person should know about them.

    The types of columns are those the model was trained with, so that it does not depend on the blocks what is refused.
    A pipeline that was not made here takes whatever pandas sees in the whole file, which is read at once.
    Columns in `used` are of use to somebody else: it is not said that they are not used.

    Attributes
    ----------
    total, done : int
        The size of the work, and how much of it is done, in units of the file.
    notes : list of str
        When all of it was read.
    """

    def __init__(
        self, path: Path, model: Any, missing: tuple[str, ...], sep: str | None = None, used: tuple[str, ...] = ()
    ) -> None:
        self._path, self._model, self._missing, self._sep, self._used = path, model, missing, sep, used
        known = _columns_of(model, [str(name) for name in getattr(model, "feature_names_in_", ())])
        self._blocks = None if known is None else FileBlocks(path, missing, known.categorical, sep)
        self.total, self.done = 1 if self._blocks is None else self._blocks.total, 0
        self.notes: list[str] = []

    def __iter__(self) -> "Iterator[pd.DataFrame]":
        """Yield the blocks; raise `ValueError` at the first that does not fit."""
        if self._blocks is None:
            yield self._everything()
            return
        reader = None
        for frame in self._blocks:
            reader = reader or self._reader(frame)
            fit, columns, unseen, wanted = reader
            first = fit.done
            X = fit.fit(frame)[wanted]
            if columns.plain and X.isna().to_numpy().any():
                raise ValueError(lacking(X, str(self._path), first))
            unseen.count(X)
            self.done = self._blocks.done
            yield X
        self.notes += unseen.said()

    def _reader(self, frame: "pd.DataFrame") -> tuple[ColumnFit, Columns, Unseen, list[str]]:
        """Return what reads a file whose first block this is."""
        wanted = self._wanted(frame)
        unused = [name for name in frame.columns if name not in (*wanted, *self._used)]
        self.notes = [f"Columns not used: {listed(unused)}."] if unused else []
        columns = _columns_of(self._model, wanted)
        assert columns is not None
        return ColumnFit(columns, repr(str(self._path))), columns, Unseen(columns, self._model), wanted

    def _everything(self) -> "pd.DataFrame":
        frame = read_frame(self._path, self._missing, (), self._sep)
        wanted = self._wanted(frame)
        absent = [name for name in wanted if name not in frame.columns]
        if absent:
            raise ValueError(
                f"{str(self._path)!r} lacks the columns {listed(absent)}, which the model was trained with"
            )
        self.done = 1
        return frame[wanted]

    def _wanted(self, frame: "pd.DataFrame") -> list[str]:
        wanted = [str(name) for name in getattr(self._model, "feature_names_in_", frame.columns)]
        expected = getattr(self._model, "n_features_in_", len(wanted))
        if len(wanted) != expected:
            raise ValueError(
                f"{str(self._path)!r} must have the {expected} columns the model was trained with (their names were "
                f"not saved), got {len(wanted)}"
            )
        return wanted


def read_new(
    path: Path, model: Any, missing: tuple[str, ...], sep: str | None, used: tuple[str, ...]
) -> "tuple[pd.DataFrame, list[str]]":
    """Return all rows of a file in the form a fitted model takes, and what a person should know about them."""
    import pandas as pd

    rows = NewRows(path, model, missing, sep, used)
    blocks = list(rows)
    return blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True), rows.notes


def _columns_of(model: Any, names: list[str]) -> Columns | None:
    """Return the types of a model's columns; None for a pipeline that was not made here."""
    if hasattr(model, "estimator"):
        steps = getattr(model.estimator, "named_steps", {})
        if not steps or not set(steps) <= {"prepare", "scale", "model"}:
            return None
        prepare = steps.get("prepare")
    else:
        prepare = model.prepare
    if prepare is None:
        return Columns(tuple(names), (), {})
    parts = {name: tuple(columns) for name, _, columns in getattr(prepare, "transformers", [])}
    if not parts or not parts.keys() <= {"numbers", "categories"}:
        return None
    # Any value may be missing: the transformer fills it in.
    return Columns(parts.get("numbers", ()), parts.get("categories", ()), dict.fromkeys(names, 0))


def lacking(X: "pd.DataFrame", path: str, first: int = 0) -> str:
    """Return what is said of missing values where there were none in training; `first` rows come before."""
    gaps = [(str(name), first + int(X[name].isna().to_numpy().argmax())) for name in X if X[name].isna().any()]
    said = [f"column {name!r} of {path!r} lacks a value in example {place + 1}" for name, place in gaps[:10]]
    more = f" and {len(gaps) - 10} more columns" if len(gaps) > 10 else ""
    return f"{', '.join(said)}{more}, but the training data lacks none: nothing was learnt about missing values"
