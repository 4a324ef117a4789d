"""`pacbayes compare`: bounds on the difference in error rate between two models."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import SHARE, Column, Input, Model, Name, Quiet, Separator, Sign, Texts, named_columns

if TYPE_CHECKING:
    from pacbayes.data.io import ReadOptions

_ASSUMPTIONS = (
    "Assumes that the {units} are independent draws from the population that the difference is about, and that neither "
    "model was trained, tuned or chosen with {rows}."
)
_MISSING_HINT = "every row requires a value; if a model abstains, compare only the rows on which both models predict"
EXAMPLES = (
    "pacbayes compare predicted.csv --target class --a old --b new",
    "pacbayes compare predicted.csv --target class --a old --model-b model.pacbayes --json",
)


HELP = {
    "Arguments": {"data": "A CSV, TSV or Parquet file with rows that were used to train or choose neither model."},
    "Options": {
        "target": "The column with the true class.",
        "a": "The column with the predictions of the first model.",
        "b": "The column with the predictions of the second model.",
        "model_a": "The first model, as saved by certify; instead of --a.",
        "model_b": "The second model, as saved by certify; instead of --b.",
        "group": "The column of groups, such as patients; required for models certified by groups.",
        "delta": "Maximum probability that either bound fails.",
    },
}


def compare(
    data: Input,
    target: Annotated[str, typer.Option(metavar="COLUMN")],
    a: Column = None,
    b: Column = None,
    model_a: Model = None,
    model_b: Model = None,
    group: Column = None,
    delta: Annotated[float, SHARE] = 0.05,
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
    """Bound the difference in error rate between two models, from both sides.

    Each model is a column of predictions (--a, --b) or a saved model (--model-a, --model-b): for example, the model in
    use and its candidate successor. The rows must be independent, and not used to train, tune or choose either model.
    """
    from pacbayes._utils.checks import check_level, warn_if_large_delta
    from pacbayes.certificates.difference import certify_difference
    from pacbayes.cli.new_rows import TARGET, LabelColumns, count_unknown_predictions, match_spelling, read_options
    from pacbayes.cli.show import Note, print_json, print_lines, print_tables, warnings_as_notes
    from pacbayes.report.tables import TextTable

    level = check_level(delta)
    for option, column, model in (("a", a, model_a), ("b", b, model_b)):
        if (column is None) is (model is None):
            raise ValueError(f"exactly one of --{option} COLUMN and --model-{option} MODEL is required")
    note = Note(quiet)
    columns = named_columns({TARGET: target, "--a": a, "--b": b, "--group": group})
    options = read_options(sep, encoding, decimal, thousands, missing)
    labels = LabelColumns(data, columns, options, not_missing or (), _MISSING_HINT).read()
    y_true, names = labels[target], _names(a if a is not None else str(model_a), b if b is not None else str(model_b))
    # Print notes on the file once, because they are the same for both models.
    note_once = cache(note)
    with warnings_as_notes(note):
        warn_if_large_delta(level)
        predicted = [
            (f"--{option}", labels[column])
            if column is not None
            else (f"--{option}", _predicted(model, data, options, columns, not_missing or (), trust, note_once))
            for option, column, model in (("a", a, model_a), ("b", b, model_b))
        ]
    predictions = [match_spelling(y_true, values, option) for option, values in predicted]
    unknown = [count_unknown_predictions(y_pred, y_true, name) for y_pred, name in zip(predictions, names, strict=True)]
    groups = None if group is None else labels[group]
    errors = [y_pred != y_true for y_pred in predictions]
    difference = certify_difference(errors[0], errors[1], level, names=names, groups=groups)
    for line in (line for _, lines in unknown for line in lines):
        note(line)
    if json:
        counts = [number for number, _ in unknown]
        print_json(difference.to_dict() | {"text": str(difference), "unknown_classes": counts})
        return
    units, rows = ("rows", "these rows") if group is None else ("groups", "rows of these groups")
    print_lines(str(difference), _ASSUMPTIONS.format(units=units, rows=rows), "")
    neither = difference.m - difference.both - difference.only_a - difference.only_b
    table = (
        ("both", str(difference.both)),
        (f"only {names[0]}", str(difference.only_a)),
        (f"only {names[1]}", str(difference.only_b)),
        ("neither", str(neither)),
    )
    print_tables([TextTable("Wrong predictions", ("wrong", "rows"), table)], note)


def _predicted(
    model: Path | None,
    data: Path,
    options: "ReadOptions",
    columns: dict[str, str],
    not_missing: Sequence[str],
    trust: bool,
    note: Callable[[str], None],
) -> Any:
    """Predict the rows of a file with a saved model; return the labels as strings."""
    from pacbayes.certificates.difference import certified_by_groups
    from pacbayes.cli.new_rows import CodedColumn, LabelColumns, NewRows, iterate_labelled_blocks, load_model_file
    from pacbayes.data.spelling import to_label_strings

    assert model is not None
    loaded = load_model_file(model, trust)
    if loaded.certificate_.abstains:
        raise ValueError(
            f"{str(model)!r} abstains on some rows (--max-error): save the predictions on accepted rows, and "
            "compare these columns with --a and --b"
        )
    if "--group" not in columns and certified_by_groups(loaded):
        raise ValueError(f"--group is required: {str(model)!r} was certified by groups")
    hint = "compare on rows that were used to train, tune or choose neither model"
    rows = NewRows(data, loaded, options, not_missing, list(columns.values()))
    labels = LabelColumns(data, columns, options, not_missing, _MISSING_HINT)
    predicted = CodedColumn()
    for X in iterate_labelled_blocks(loaded, rows, labels, (model, data), hint):
        predicted.add(to_label_strings(loaded.predict(X)))
    for line in rows.notes:
        note(line)
    return predicted.values[predicted.codes]


def _names(a: str, b: str) -> tuple[str, str]:
    """Short names of both models: column names, or file names without folders if these differ."""
    short = Path(a).name, Path(b).name
    return short if short[0] != short[1] else (f"{a} (first)", f"{b} (second)")
