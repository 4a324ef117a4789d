"""A saved model, and new examples for it: a file in the form the model takes, block by block, and its labels."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbayes.certificates.difference import warn_of_overlap
from pacbayes.data.blocks import ColumnFit, FileBlocks
from pacbayes.data.class_names import aligned, as_labels, check_spellings, from_cells, spelling_of
from pacbayes.data.duplicates import largest_overlap
from pacbayes.data.number_format import NumberFormat
from pacbayes.data.reading import file_kind, listed, read_frame
from pacbayes.data.rejections import in_shell
from pacbayes.data.schema import UnseenCategoryWarning
from pacbayes.data.tables import MISSING_WORDS, TableReading

if TYPE_CHECKING:
    import pandas as pd

TARGET = "--target"
# So many new categories of a column are named.
_NAMED = 5


def load_saved(path: Path, trust: bool, sha256: str | None = None) -> Any:
    """Return a model, or raise in the words of the command line."""
    from pacbayes._utils.memory import check_libraries
    from pacbayes.files import UntrustedTypesError, load

    if not path.exists():
        raise FileNotFoundError(f"no such model: {str(path)!r}; pacbayes certify --save MODEL writes one")
    check_libraries()
    try:
        return load(path, sha256=sha256, trusted=["sklearn."] if trust else [])
    except UntrustedTypesError as error:
        of_sklearn = all(name.startswith("sklearn.") for name in error.names)
        way = "add --trust" if of_sklearn else "load it in Python, with trusted=[...] and their names"
        raise ValueError(
            f"{str(error).partition('. If you')[0]}; if you know where the file comes from, {way}"
        ) from None


@dataclass(frozen=True)
class Cells:
    """What the options say of the cells of a file."""

    missing: Sequence[str]
    not_missing: Sequence[str]
    sep: str | None
    #: How numbers are written; None for as in the model's own table.
    signs: NumberFormat | None
    #: Columns that somebody else uses: it is not said that they are not used.
    used: Sequence[str] = ()


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
        reading: TableReading | None = model._fitted.plan.reading
        if reading is None:
            raise ValueError(
                "the model was fitted with rows that are no table: a file cannot hold such; use it in Python"
            )
        self._path, self._model = path, model
        self._reading = reading.settled(cells.missing, cells.not_missing)
        self._cells, self._used = file_kind(path, cells.sep) is not None, cells.used
        names = getattr(model, "feature_names_in_", None)
        signs = cells.signs or reading.signs
        texts = [column.place if names is None else str(names[column.place]) for column in reading.text]
        self._blocks = FileBlocks(path, self._reading.missing, (), cells.sep, texts, reading.spaces, signs)
        self.total, self.done = self._blocks.total, 0
        self.notes: list[str] = []

    def __iter__(self) -> "Iterator[pd.DataFrame]":
        """Yield the blocks; raise `ValueError` at the first that does not fit."""
        fit, unseen, complete = None, _Unseen(self._model), _lacks_nothing(self._model)
        for frame in self._blocks:
            fit = fit or self._fit(frame)
            first = fit.done
            X = fit.fit(frame)
            if complete and X.isna().to_numpy().any():
                raise ValueError(lacking(X, str(self._path), first))
            unseen.count(X)
            self.done = self._blocks.done
            with warnings.catch_warnings():
                # Counted here for the whole file.
                warnings.simplefilter("ignore", UnseenCategoryWarning)
                yield X
        self.notes += unseen.notes()

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


def _lacks_nothing(model: Any) -> bool:
    """Return whether the training data lacked no value, so that nothing prepares a row that lacks one."""
    from pacbayes.ensemble.svm_members import KernelSVMs

    members = _first_part(model)
    if isinstance(members, KernelSVMs):
        return members.preprocessor is None
    steps = getattr(members[0], "named_steps", {})
    # A pipeline that was not made here may do with missing values what it likes.
    return bool(steps) and set(steps) <= {"scale", "model"}


def lacking(X: "pd.DataFrame", path: str, first: int = 0) -> str:
    """Return what is said of missing values where there were none in training; `first` rows come before."""
    gaps = [(str(name), first + int(X[name].isna().to_numpy().argmax())) for name in X if X[name].isna().any()]
    said = [f"column {name!r} of {path!r} lacks a value in example {place + 1}" for name, place in gaps[:10]]
    more = f" and {len(gaps) - 10} more columns" if len(gaps) > 10 else ""
    return f"{', '.join(said)}{more}, but the training data lacks none: nothing was learnt about missing values"


class _Unseen:
    """Number of rows with categories that no training row had, block by block."""

    def __init__(self, model: Any) -> None:
        self._schema = next((encoder.schema_ for encoder in _encoders(model)), None)
        self._rows = 0
        self._counts: dict[str, Counter[str]] = {}

    def count(self, X: "pd.DataFrame") -> None:
        """Count the next block."""
        self._rows += len(X)
        for name, counts in ({} if self._schema is None else self._schema.unseen(X)).items():
            self._counts.setdefault(name, Counter()).update({str(value): n for value, n in counts.items()})

    def notes(self) -> list[str]:
        """One sentence for each column with new categories."""
        return [
            f"Column {name!r}: {counts.total()} of {self._rows} examples hold a category that was not in the training "
            f"data ({listed([value[:40] for value in counts], _NAMED)})."
            for name, counts in self._counts.items()
        ]


def _first_part(model: Any) -> Any:
    """Classifiers of a model, of several kinds the first: all have the same preprocessor."""
    from pacbayes.ensemble.members import CompositeMembers

    members = model.classifiers_.members
    return members.parts[0] if isinstance(members, CompositeMembers) else members


def _encoders(model: Any) -> Iterator[Any]:
    """Yield fitted table encoders of a model."""
    from pacbayes.data.encoder import TableEncoder
    from pacbayes.ensemble.svm_members import KernelSVMs

    members = _first_part(model)
    steps = (
        [members.preprocessor]
        if isinstance(members, KernelSVMs)
        else [getattr(members[i], "named_steps", {}).get("preprocessor") for i in range(len(members))]
    )
    yield from (step for step in steps if isinstance(step, TableEncoder))


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


def in_one_spelling(y_true: Any, said: list[tuple[str, Any, bool]], is_text: bool) -> list[Any]:
    """Return predictions in the spelling of the true classes: where these are no text, numbers are compared.

    `said` are, for each who predicts, the option, the predictions, and whether they are known to be text.
    """
    as_written = is_text or any(of_text for _, _, of_text in said)
    spelling = None if as_written else spelling_of(y_true)
    if spelling is not None:
        check_spellings(y_true, spelling, TARGET)
    answers = []
    for option, one, _ in said:
        answers.append(one if spelling is None else aligned(one.tolist(), y_true.tolist(), option))
        if not set(answers[-1]) & set(y_true):
            raise ValueError(
                f"no prediction of {option} is any of the true classes: it says {listed(sorted(set(one)), 5)}, and "
                f"--target holds {listed(sorted(set(y_true)), 5)}"
            )
    return answers


def unknown_rows(loaded: Any, model: Path, data: Path, cells: Cells, note: Callable[[str], None], way: str) -> Any:
    """Return the rows of a file in the form a model takes, or raise if it was fitted with them; `way` says what to do.

    Where some of them equal rows behind the model, that is warned of.
    """
    import pandas as pd

    # How the features are read the model knows; the option may be for the classes.
    known = getattr(loaded._fitted.plan.reading, "missing", ())
    own = replace(cells, not_missing=tuple(text for text in cells.not_missing if text not in known))
    rows = NewRows(data, loaded, own)
    frame = pd.concat(list(rows), ignore_index=True)
    for line in rows.notes:
        note(line)
    given = frame if hasattr(loaded, "feature_names_in_") else frame.to_numpy()
    found, named = largest_overlap(loaded, given), (repr(str(data)), repr(str(model)))
    if found is not None and found.is_copy:
        raise ValueError(f"{named[1]} was fitted with these rows: {found.said} behind it; {way}")
    warn_of_overlap(found, *named)
    return given


def no_class(said: Any, classes: Any, name: str) -> tuple[int, list[str]]:
    """Return how many predictions are no class, and what to say of them.

    Examples
    --------
    >>> import numpy as np
    >>> no_class(np.array(["a", "x", "x"], dtype=object), np.array(["a", "b"], dtype=object), "old")
    (2, ["2 of 3 predictions of 'old' are no class of the target ('x'): they count as errors."])
    """
    known = set(classes.tolist())
    others = [text for text in said.tolist() if text not in known]
    shown = listed(sorted(set(others)), 5)
    line = f"{len(others)} of {said.size} predictions of {name!r} are no class of the target ({shown})"
    return len(others), [f"{line}: they count as errors."] if others else []
