"""`pacbayes compare`: how much more often, and how much less often, one model errs than another."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import SHARE, Column, Input, Model, Quiet, Separator, Sign, Texts, named_columns

if TYPE_CHECKING:
    from pacbayes.cli.new_rows import Cells

_ASSUMED = (
    "This assumes that the {units} are independent draws from the population that the difference is about, and that "
    "neither model was trained, tuned or chosen with {these}."
)
_GAP = (
    "every row needs one; a row that a model did not answer is neither right nor wrong: compare the rows that both "
    "answer"
)
EXAMPLES = (
    "pacbayes compare said.csv --target class --a old --b new",
    "pacbayes compare said.csv --target class --a old --model-b model.pacbayes --json",
)


HELP = {
    "Arguments": {"data": "A CSV, TSV or Parquet file: rows that trained and chose neither model."},
    "Options": {
        "target": "The column with the true class.",
        "a": "The column with what the first model said.",
        "b": "The column with what the second model said.",
        "model_a": "The first model, as saved by certify, instead of --a.",
        "model_b": "The second model, as saved by certify, instead of --b.",
        "group": "Groups of rows, such as patients; for models certified by groups.",
        "delta": "The limits fail with at most this probability, both together.",
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
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Print how much more often, and how much less often, the second model errs than the first, both at once.

    Each is a column of predictions (--a, --b) or a saved model (--model-a, --model-b), the one in use against the
    candidate, say. The rows must be independent draws that neither was trained, tuned or chosen with.
    """
    from pacbayes._utils.checks import check_level, warn_of_level
    from pacbayes.certificates.difference import certify_difference
    from pacbayes.cli.new_rows import TARGET, Cells, in_one_spelling, no_class, read_labels
    from pacbayes.cli.show import Note, print_json, print_lines, print_tables, warnings_as_notes
    from pacbayes.data.number_format import NumberFormat
    from pacbayes.report.tables import TextTable

    level = check_level(delta)
    for option, column, model in (("a", a, model_a), ("b", b, model_b)):
        if (column is None) is (model is None):
            raise ValueError(f"give either --{option} COLUMN or --model-{option} MODEL, and not both")
    note = Note(quiet)
    columns = named_columns({TARGET: target, "--a": a, "--b": b, "--group": group})
    signs = NumberFormat.given(decimal, thousands)
    cells = Cells(missing or (), not_missing or (), sep, signs, list(columns.values()))
    labels, is_text = read_labels(data, columns, cells, _GAP)
    y_true, names = labels[target], _names(a if a is not None else str(model_a), b if b is not None else str(model_b))
    # What both models say of the file is said once.
    note_once = cache(note)
    with warnings_as_notes(note):
        warn_of_level(level)
        predicted = [
            (f"--{option}", labels[column], False)
            if column is not None
            else (f"--{option}", *_predicted(model, data, cells, trust, note_once, group))
            for option, column, model in (("a", a, model_a), ("b", b, model_b))
        ]
    answers = in_one_spelling(y_true, predicted, is_text)
    strangers = [no_class(one, y_true, name) for one, name in zip(answers, names, strict=True)]
    groups = None if group is None else labels[group]
    found = certify_difference(answers[0] != y_true, answers[1] != y_true, level, names=names, groups=groups)
    for line in (line for _, lines in strangers for line in lines):
        note(line)
    if json:
        print_json(found.to_dict() | {"text": str(found), "no_class": [number for number, _ in strangers]})
        return
    units, these = ("rows", "these rows") if group is None else ("groups", "rows of these groups")
    print_lines(str(found), _ASSUMED.format(units=units, these=these), "")
    rows = (
        ("both", str(found.both)),
        (f"only {names[0]}", str(found.only_a)),
        (f"only {names[1]}", str(found.only_b)),
        ("neither", str(found.m - found.both - found.only_a - found.only_b)),
    )
    print_tables([TextTable("Who errs on how many rows", ("who errs", "rows"), rows)], note)


def _predicted(
    model: Path | None, data: Path, cells: "Cells", trust: bool, note: Callable[[str], None], group: str | None
) -> tuple[Any, bool]:
    """Return what a saved model says of the rows, as text, and whether its classes are text."""
    from pacbayes.certificates.difference import certified_by_groups
    from pacbayes.cli.new_rows import load_saved, unknown_rows
    from pacbayes.data.class_names import as_labels

    assert model is not None
    loaded = load_saved(model, trust)
    if loaded.certificate_.abstains:
        raise ValueError(
            f"{str(model)!r} has a target (--max-error) and leaves examples unanswered, which are neither right nor "
            "wrong: compare the predictions of both on the rows that both answer, as columns --a and --b"
        )
    if group is None and certified_by_groups(loaded):
        raise ValueError(f"--group must name the column of groups: {str(model)!r} was certified by groups")
    way = "compare on rows that neither model was trained, tuned or chosen with"
    given = unknown_rows(loaded, model, data, cells, note, way)
    return as_labels(loaded.predict(given)), all(isinstance(one, str) for one in loaded.classes_.tolist())


def _names(a: str, b: str) -> tuple[str, str]:
    """Return what the two are called: their columns, or their files without folders where these differ."""
    short = Path(a).name, Path(b).name
    return short if short[0] != short[1] else (f"{a} (first)", f"{b} (second)")
