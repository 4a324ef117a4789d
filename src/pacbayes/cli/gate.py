"""`pacbayes gate`: pass or fail for a model in a release pipeline, with a ledger for all models on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import (
    NO_GUARANTEE,
    Column,
    File,
    Model,
    Name,
    Quiet,
    Separator,
    Share,
    Sign,
    Texts,
    named_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pacbayes.certificates.ledger import Statement
    from pacbayes.cli.show import Note
    from pacbayes.data.io import ReadOptions

EXAMPLES = (
    "pacbayes gate holdout.csv --target class --model model.pacbayes --at-most 0.05 --ledger ledger.json",
    "pacbayes gate predictions.csv --target class --predicted second --recall 0.8 --positive b",
    "pacbayes gate --history --ledger releases.json",
)
HELP = {
    "Arguments": {
        "data": "A CSV, TSV or Parquet file: validation rows that were not used to train or choose any model."
    },
    "Tested model and bounds": {
        "target": "The column with the true class.",
        "model": "The model, as saved by certify.",
        "predicted": "Instead of --model: the column with the predictions.",
        "at_most": "Pass if the error rate is at most this, with probability 1 - delta.",
        "recall": "Pass if the recall of --positive is at least this; alone or with the others.",
        "precision": "Pass if the precision of --positive is at least this.",
        "positive": "The class of --recall and --precision.",
    },
    "The ledger": {
        "ledger": "Record the attempt in this file: delta is then for all attempts on the same rows.",
        "id_": "The column that identifies the rows.  [default: the features of the model]",
        "name": "Name of the attempt.  [default: the model file, or the column of predictions]",
        "delta": "Maximum probability of any false pass, ever.  [default: 0.05, or that of the ledger]",
        "tell": "Print and record the counts; this uses up most of the remaining delta.",
        "group": "RejectedColumn: the ledger is for independent rows.",
        "history": "Print the attempts of a ledger, without a new one.",
    },
}
_MISSING_HINT = "every row requires a value"


def gate(
    data: Annotated[Path | None, typer.Argument(dir_okay=False)] = None,
    target: Column = None,
    model: Model = None,
    predicted: Column = None,
    at_most: Share = None,
    recall: Share = None,
    precision: Share = None,
    positive: Annotated[str | None, typer.Option(metavar="CLASS")] = None,
    ledger: File = None,
    id_: Annotated[str | None, typer.Option("--id", metavar="COLUMN")] = None,
    name: Name = None,
    delta: Share = None,
    tell: bool = False,
    group: Column = None,
    history: bool = False,
    missing: Texts = None,
    not_missing: Texts = None,
    sep: Separator = None,
    encoding: Name = None,
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Test on validation rows whether a model meets a bound that was fixed in advance: pass or fail.

    With --ledger, the same rows may be used for one model after another: with probability 1 - delta, no false statement
    ever passes. Counts are not printed, because the next model could be fitted to them.

    The exit code is 0 if the model passed, 3 if it did not, and 2 for invalid input.
    """
    from pacbayes.certificates.ledger import DEFAULT_DELTA, Ledger, Statement
    from pacbayes.certificates.sentences import cost_of_counts
    from pacbayes.cli.new_rows import read_options
    from pacbayes.cli.show import Note, print_json, print_lines, warnings_as_notes
    from pacbayes.data.rejections import format_names

    if history:
        _print_history(ledger, Note(quiet), json)
        return
    if data is None or target is None or (model is None) is (predicted is None):
        raise ValueError("DATA, --target COLUMN and either --model MODEL or --predicted COLUMN are required")
    if group is not None:
        raise ValueError("--group is not supported: the guarantee requires independent rows")
    if ledger is None and (tell or name is not None):
        raise ValueError("--tell and --name require --ledger FILE")
    if ledger is not None and model is None and id_ is None:
        raise ValueError(
            "--id COLUMN is required with --predicted and --ledger: the ledger identifies the validation rows by it"
        )
    statement = Statement(at_most, recall, precision, positive)
    columns = named_columns({"--target": target, "--predicted": predicted, "--id": id_})
    note, options = Note(quiet), read_options(sep, encoding, decimal, thousands, missing)
    with warnings_as_notes(note):
        rows = _Rows.read(data, columns, (options, not_missing or ()), note, model, trust)
        if ledger is None:
            rows.check_class_overlap()
            rows.normalise_spellings(positive)
            level = delta or DEFAULT_DELTA
            found = _test_once(statement, rows, level)
        else:
            # Do not reveal which true classes occur: later models could use this, and it costs no delta.
            note(f"Predicted classes: {format_names(rows.predicted)}.")
            rows.normalise_spellings(positive)
            if tell:
                note(f"{cost_of_counts(statement.n_possible_counts(rows.y_true.size)).capitalize()}.")
            attempt = Ledger(ledger, delta).attempt(
                rows.y_true,
                rows if rows.y_pred is None else rows.y_pred,
                rows=rows.X if rows.ids is None else rows.ids,
                at_most=at_most,
                recall=recall,
                precision=precision,
                pos_label=positive,
                name=name or predicted or Path(str(model)).name,
                tell=tell,
            )
            level, found = attempt.delta, attempt.to_dict()
    if json:
        print_json(found)
    else:
        print_lines(found["text"], _explain_outcome(level, ledger))
    if not found["passed"]:
        raise typer.Exit(NO_GUARANTEE)


@dataclass(eq=False)
class _Rows:
    """Validation rows with labels as strings, and a model or its predictions."""

    y_true: "NDArray[Any]"
    y_pred: "NDArray[Any] | None" = None
    ids: "NDArray[Any] | None" = None
    X: Any = None
    model: Any = None
    #: Normalised spelling of the positive class, and its spelling by the user.
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        data: Path,
        columns: dict[str, str],
        reading: "tuple[ReadOptions, Sequence[str]]",
        note: "Note",
        model: Path | None,
        trust: bool,
    ) -> "_Rows":
        """Read a file, and a saved model; raise if the model was fitted with these rows."""
        from pacbayes.certificates.ledger import check_not_trained_on
        from pacbayes.cli.new_rows import TARGET, LabelColumns, NewRows, iterate_labelled_blocks, load_model_file

        options, not_missing = reading
        collected = LabelColumns(data, columns, options, not_missing, _MISSING_HINT)
        loaded = None
        if model is None:
            labels, X = collected.read(), None
        else:
            loaded = load_model_file(model, trust)
            new_rows = NewRows(data, loaded, options, not_missing, list(columns.values()))
            hint = "use rows that no model was trained on"
            X = _concatenate_blocks(list(iterate_labelled_blocks(loaded, new_rows, collected, (model, data), hint)))
            labels = collected.columns()
            for line in new_rows.notes:
                note(line)
        rows = cls(labels[columns[TARGET]], X=X, model=loaded)
        if "--id" in columns:
            rows.ids = labels[columns["--id"]]
        if loaded is None:
            rows.y_pred = _without_apostrophes(labels[columns["--predicted"]], rows.y_true)
        else:
            check_not_trained_on(rows.model, rows.X)
        return rows

    @property
    def predicted(self) -> list[str]:
        """Sorted predicted classes, or classes of the model."""
        from pacbayes.data.spelling import to_label_strings

        return sorted(set((to_label_strings(self.model.classes_) if self.y_pred is None else self.y_pred).tolist()))

    def check_class_overlap(self) -> None:
        """Raise if no class that may be predicted is a true class; the message reveals some true classes."""
        import numpy as np

        from pacbayes.cli.new_rows import match_spelling

        match_spelling(self.y_true, np.array(self.predicted), "--model" if self.y_pred is None else "--predicted")

    def normalise_spellings(self, positive: str | None) -> None:
        """Normalise the spelling of all classes, of the positive class to that of --positive."""
        from pacbayes.data.rejections import format_names
        from pacbayes.data.spelling import normalize_spelling

        if positive is not None:
            if normalize_spelling(positive) not in map(normalize_spelling, self.predicted):
                known = format_names(self.predicted)
                raise ValueError(f"--positive must be one of the predicted classes {known}, got {positive!r}")
            self.names = {normalize_spelling(positive): positive}
        self.y_true = self._normalise_spelling(self.y_true)
        if self.y_pred is not None:
            self.y_pred = self._normalise_spelling(self.y_pred)

    def _normalise_spelling(self, labels: "NDArray[Any]") -> "NDArray[Any]":
        from pacbayes.data.spelling import align_spellings, normalize_spellings

        return align_spellings(normalize_spellings(labels).tolist(), self.names.values(), "")

    def predict(self, X: Any = None) -> "NDArray[Any]":
        """Predict the rows, with normalised spelling of the classes."""
        from pacbayes.data.spelling import to_label_strings

        return (
            self._normalise_spelling(to_label_strings(self.model.predict(self.X)))
            if self.y_pred is None
            else self.y_pred
        )


def _without_apostrophes(y_pred: "NDArray[Any]", y_true: "NDArray[Any]") -> "NDArray[Any]":
    """Predictions without the apostrophes that predict writes; raise if one may belong to the name of a class."""
    import numpy as np

    from pacbayes.data.spelling import unescape_cells

    cells = y_pred.tolist()
    unescape_cells(cells, set(y_true.tolist()), "--predicted")
    # Not decided by the true classes: what is printed would tell which of them occur.
    return np.array(unescape_cells(cells, {cell.removeprefix("'") for cell in cells}, "--predicted"), dtype=object)


def _concatenate_blocks(blocks: list[Any]) -> Any:
    """Concatenate blocks of data frames or arrays."""
    import numpy as np
    import pandas as pd

    is_frame = isinstance(blocks[0], pd.DataFrame)
    return pd.concat(blocks, ignore_index=True) if is_frame else np.concatenate(blocks)


def _test_once(statement: "Statement", rows: _Rows, delta: float) -> dict[str, Any]:
    """Test the statement once, at level delta."""
    from dataclasses import asdict

    from pacbayes._utils.checks import check_level
    from pacbayes.certificates.difference import certified_by_groups

    if certified_by_groups(rows.model):
        raise ValueError("the model was certified by groups, but the guarantee of this test requires independent rows")
    passed = statement.is_proved(statement.counts(rows.y_true, rows.predict()), check_level(delta))
    text = f"{'Passed' if passed else 'Not passed'}: {statement}."
    return {"passed": passed, "statement": asdict(statement), "rows": rows.y_true.size, "delta": delta, "text": text}


def _explain_outcome(delta: float, ledger: Path | None) -> str:
    from pacbayes._utils.words import format_confidence

    sure = f"With probability at least {format_confidence(delta)},"
    if ledger is None:
        return f"{sure} a false statement does not pass. This holds for one attempt; use --ledger for more."
    return f"{sure} no statement that passes in this ledger is false. Assumes independent rows, used only here."


def _print_history(ledger: Path | None, note: "Note", json: bool) -> None:
    """Print the attempts of a ledger."""
    from pacbayes._utils.words import format_level, format_share
    from pacbayes.certificates.ledger import Ledger
    from pacbayes.cli.show import print_json, print_tables
    from pacbayes.report.tables import TextTable

    if ledger is None or not ledger.exists():
        raise ValueError("--history requires --ledger FILE, where FILE was written by pacbayes gate")
    attempts = Ledger(ledger).attempts
    if json:
        print_json([attempt.to_dict() for attempt in attempts])
        return
    header = ("attempt", "time", "name", "statement", "outcome", "rows", "level", "delta left")
    rows = tuple(
        (
            *(str(one.number), one.time, one.name, str(one.statement), "passed" if one.passed else "not passed"),
            *(str(one.rows), format_level(one.level), format_share(one.left / one.delta)),
        )
        for one in attempts
    )
    print_tables([TextTable(f"Ledger {ledger}", header, rows)], note)
