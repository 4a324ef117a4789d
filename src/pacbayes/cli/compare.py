"""`pacbayes compare`: how much more often, and how much less often, one model errs than another."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import AsJson, MissingTexts, NotMissing, Quiet, Separator, Trust

if TYPE_CHECKING:
    import pandas as pd

    from pacbayes.cli.new_rows import Cells

_ASSUMED = (
    "This assumes that the rows are independent draws from the population that the difference is about, and that "
    "neither model was trained, tuned or chosen with these rows."
)
EXAMPLES = (
    "pacbayes compare said.csv --target class --a old --b new",
    "pacbayes compare said.csv --target class --a old --model-b model.pacbayes --json",
)


def compare(
    data: Annotated[
        Path, typer.Argument(help="A CSV, TSV or Parquet file: rows that trained and chose neither model.")
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the true class.")],
    a: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with what the first model said.")] = None,
    b: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with what the second model said.")] = None,
    model_a: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="The first model, as saved by certify, instead of --a.")
    ] = None,
    model_b: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="The second model, as saved by certify, instead of --b.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The limits fail with at most this probability, both together.")] = 0.05,
    missing: MissingTexts = None,
    not_missing: NotMissing = None,
    sep: Separator = None,
    trust: Trust = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print how much more often, and how much less often, the second model errs than the first, both at once.

    Each is a column of predictions (--a, --b) or a saved model (--model-a, --model-b), the one in use against the
    candidate, say. The rows must be independent draws that neither was trained, tuned or chosen with.
    """
    from pacbayes.certificates.difference import certify_difference
    from pacbayes.cli.new_rows import Cells
    from pacbayes.cli.predictions import no_class
    from pacbayes.cli.show import Note, on_screen, print_json, print_tables, warnings_as_notes
    from pacbayes.numeric.checks import check_level, warn_of_level
    from pacbayes.report.tables import TextTable

    level = check_level(delta)
    for option, column, model in (("a", a, model_a), ("b", b, model_b)):
        if (column is None) is (model is None):
            raise ValueError(f"give either --{option} COLUMN or --model-{option} MODEL, and not both")
    note = Note(quiet)
    cells = Cells(tuple(missing or ()), tuple(not_missing or ()), sep)
    truth, labels, is_text = _labels(data, target, a, b, cells)
    names = _names(a if a is not None else str(model_a), b if b is not None else str(model_b))
    # What both models say of the file is said once.
    note_once, cells = cache(note), replace(cells, used=tuple(labels))
    with warnings_as_notes(note):
        warn_of_level(level)
        said = [
            (labels[column], False) if column is not None else _predicted(model, data, cells, trust, note_once)
            for column, model in ((a, model_a), (b, model_b))
        ]
    answers = _answers(truth, said, is_text)
    strangers = [no_class(one, truth, name) for one, name in zip(answers, names, strict=True)]
    found = certify_difference(answers[0] != truth, answers[1] != truth, level, names=names)
    for line in (line for _, lines in strangers for line in lines):
        note(line)
    if json:
        print_json(found.to_dict() | {"text": str(found), "no_class": [number for number, _ in strangers]})
        return
    print(f"{on_screen(str(found))}\n{_ASSUMED}\n")
    rows = (
        ("both", str(found.both)),
        (f"only {names[0]}", str(found.only_a)),
        (f"only {names[1]}", str(found.only_b)),
        ("neither", str(found.m - found.both - found.only_a - found.only_b)),
    )
    print_tables([TextTable("Who errs on how many rows", ("who errs", "rows"), rows)], note)


def _labels(path: Path, target: str, a: str | None, b: str | None, cells: "Cells") -> tuple[Any, dict[str, Any], bool]:
    """Return the true classes and the columns of predictions as text, or raise if one is absent or lacks a value.

    And whether the file says that the classes are text, as only Parquet does.
    """
    from pacbayes.data.class_names import as_labels, from_cells
    from pacbayes.data.reading import file_kind, listed, read_frame
    from pacbayes.data.tables import MISSING_WORDS

    wanted = {"--target": target} | {name: one for name, one in (("--a", a), ("--b", b)) if one is not None}
    if len(set(wanted.values())) < len(wanted):
        raise ValueError("--target, --a and --b must name different columns")
    # As written: what pandas makes of a text depends on the others in its column, and these are to be compared.
    frame = read_frame(path, cells.missing, (), cells.sep, tuple(wanted.values()))
    of_cells = file_kind(path, cells.sep) is not None
    gaps = {*(MISSING_WORDS if of_cells else ()), *cells.missing} - {*cells.not_missing}
    columns = {}
    for option, name in wanted.items():
        if name not in frame.columns:
            known = listed(list(frame.columns))
            raise ValueError(f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {known}")
        _check_complete(frame[name], name, path, gaps)
        columns[name] = as_labels(frame[name])
        if option != "--target":
            columns[name][:] = from_cells(columns[name].tolist(), set(columns[target]), option)
    is_text = not of_cells and all(isinstance(one, str) for one in frame[target].tolist())
    return columns[target], columns, is_text


def _check_complete(column: "pd.Series[Any]", name: str, path: Path, gaps: set[str]) -> None:
    from pacbayes.data.refusals import in_shell

    lacking = (column.isna() | column.isin(list(gaps))).to_numpy()
    if lacking.any():
        first = int(lacking.argmax())
        text = column.iloc[first]
        way = f"; if {text!r} is a class give {in_shell('not_missing', text)}" if isinstance(text, str) and text else ""
        raise ValueError(
            f"column {name!r} of {str(path)!r} lacks a value in example {first + 1}; a row that a model "
            f"did not answer is neither right nor wrong: compare the rows that both answer{way}"
        )


def _answers(truth: Any, said: list[tuple[Any, bool]], is_text: bool) -> list[Any]:
    """Return what both say, in the spelling of the true classes: where these are no text, numbers are compared."""
    from pacbayes.data.class_names import aligned, check_spellings, spelling_of

    as_written = is_text or any(of_text for _, of_text in said)
    spelling = None if as_written else spelling_of(truth)
    if spelling is not None:
        check_spellings(truth, spelling, "--target")
    answers = []
    for option, (one, _) in zip(("a", "b"), said, strict=True):
        answers.append(one if spelling is None else aligned(one.tolist(), truth.tolist(), f"--{option}"))
        if not set(answers[-1]) & set(truth):
            raise ValueError(_never_right(option, one, truth))
    return answers


def _never_right(option: str, said: Any, truth: Any) -> str:
    """Return what is wrong where a model never says any of the true classes: they are written otherwise."""
    from pacbayes.data.reading import listed

    return (
        f"no prediction of --{option} is any of the true classes: it says {listed(sorted(set(said)), 5)}, and "
        f"--target holds {listed(sorted(set(truth)), 5)}"
    )


def _predicted(
    model: Path | None, data: Path, cells: "Cells", trust: bool, note: Callable[[str], None]
) -> tuple[Any, bool]:
    """Return what a saved model says of the rows, as text, and whether its classes are text."""
    from pacbayes.certificates.difference import warn_of_known
    from pacbayes.cli.new_rows import load_saved, read_new
    from pacbayes.data.class_names import as_labels

    assert model is not None
    loaded = load_saved(model, trust)
    if loaded.certificate_.answered is not None:
        raise ValueError(
            f"{str(model)!r} has a target (--max-error) and leaves examples unanswered, which are neither right nor "
            "wrong: compare the predictions of both on the rows that both answer, as columns --a and --b"
        )
    # How the features are read the model knows; the option may be for the classes.
    known = getattr(loaded._fitted.plan.reading, "missing", ())
    own = replace(cells, not_missing=tuple(text for text in cells.not_missing if text not in known))
    rows, notes = read_new(data, loaded, own)
    for line in notes:
        note(line)
    given = rows if hasattr(loaded, "feature_names_in_") else rows.to_numpy()
    found, named = loaded._overlap_with(given), (repr(str(data)), repr(str(model)))
    if found is not None and found.is_copy:
        raise ValueError(
            f"{named[1]} was fitted with these rows: {found.said} behind it; compare on rows that neither model was "
            "trained, tuned or chosen with"
        )
    warn_of_known(found, *named)
    return as_labels(loaded.predict(given)), all(isinstance(one, str) for one in loaded.classes_.tolist())


def _names(a: str, b: str) -> tuple[str, str]:
    """Return what the two are called: their columns, or their files without folders where these differ."""
    short = Path(a).name, Path(b).name
    return short if short[0] != short[1] else (f"{a} (first)", f"{b} (second)")
