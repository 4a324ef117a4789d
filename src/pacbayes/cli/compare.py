"""`pacbayes compare`: how much more often, and how much less often, one model errs than another."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import AsJson, MissingTexts, Quiet, Separator, Trust

if TYPE_CHECKING:
    import pandas as pd

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
    sep: Separator = None,
    trust: Trust = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print how much more often, and how much less often, the second model errs than the first, both at once.

    Each is a column of predictions (--a, --b) or a saved model (--model-a, --model-b), the one in use against the
    candidate, say. The rows must be independent draws that neither was trained, tuned or chosen with.
    """
    from pacbayes.certificates.questions.difference import certify_difference
    from pacbayes.cli.show import Note, on_screen, print_json, print_tables, warnings_as_notes
    from pacbayes.numeric.checks import check_level, warn_of_level
    from pacbayes.report.tables import TextTable

    level = check_level(delta)
    for option, column, model in (("a", a, model_a), ("b", b, model_b)):
        if (column is None) is (model is None):
            raise ValueError(f"give either --{option} COLUMN or --model-{option} MODEL, and not both")
    note = Note(quiet)
    texts = tuple(missing or ())
    truth, labels, is_text = _labels(data, target, a, b, texts, sep)
    # What both models say of the file is said once.
    note_once, used = cache(note), tuple(labels)
    with warnings_as_notes(note):
        warn_of_level(level)
        said = [
            labels[column] if column is not None else _predicted(model, data, texts, sep, trust, used, note_once)
            for column, model in ((a, model_a), (b, model_b))
        ]
    classes, *answers = [truth, *said] if is_text else _spelt_alike(truth, said)
    for option, one, written in zip(("a", "b"), answers, said, strict=True):
        if not set(one) & set(classes):
            raise ValueError(_never_right(option, written, truth))
    names = _names(a if a is not None else str(model_a), b if b is not None else str(model_b))
    found = certify_difference(answers[0] != classes, answers[1] != classes, level, names=names)
    if json:
        print_json(found.to_dict() | {"text": str(found)})
        return
    print(f"{on_screen(str(found))}\n{_ASSUMED}\n")
    rows = (
        ("both", str(found.both)),
        (f"only {names[0]}", str(found.only_a)),
        (f"only {names[1]}", str(found.only_b)),
        ("neither", str(found.m - found.both - found.only_a - found.only_b)),
    )
    print_tables([TextTable("Who errs on how many rows", ("who errs", "rows"), rows)], note)


def _labels(
    path: Path, target: str, a: str | None, b: str | None, missing: tuple[str, ...], sep: str | None
) -> tuple[Any, dict[str, Any], bool]:
    """Return the true classes and the columns of predictions as text, or raise if one is absent or lacks a value.

    And whether the file says that the classes are text, as only Parquet does.
    """
    from pacbayes.data.files.reading import file_kind, listed, read_frame

    wanted = {"--target": target} | {name: one for name, one in (("--a", a), ("--b", b)) if one is not None}
    if len(set(wanted.values())) < len(wanted):
        raise ValueError("--target, --a and --b must name different columns")
    # As written: what pandas makes of a text depends on the others in its column, and these are to be compared.
    frame = read_frame(path, missing, tuple(wanted.values()), sep)
    for option, name in wanted.items():
        if name not in frame.columns:
            known = listed(list(frame.columns))
            raise ValueError(f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {known}")
        _check_complete(frame[name], name, path)
    columns = {name: _as_text(frame[name]) for name in wanted.values()}
    is_text = file_kind(path, sep) is None and all(isinstance(one, str) for one in frame[target].tolist())
    return columns[target], columns, is_text


def _check_complete(column: "pd.Series[Any]", name: str, path: Path) -> None:
    gaps = column.isna().to_numpy()
    if gaps.any():
        raise ValueError(
            f"column {name!r} of {str(path)!r} lacks a value in example {int(gaps.argmax()) + 1}; a row that a model "
            "did not answer is neither right nor wrong: compare the rows that both answer"
        )


def _never_right(option: str, said: Any, truth: Any) -> str:
    """Return what is wrong where a model never says any of the true classes: they are written otherwise."""
    from pacbayes.data.files.reading import listed

    return (
        f"no prediction of --{option} is any of the true classes: it says {listed(sorted(set(said)), 5)}, and "
        f"--target holds {listed(sorted(set(truth)), 5)}"
    )


def _as_text(column: "pd.Series[Any]") -> Any:
    import numpy as np

    return np.array([_written(value) for value in column.tolist()], dtype=object)


def _written(value: Any) -> str:
    """Return a label as text, whole numbers without a fraction: 1 and 1.0 are one class."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _spelt_alike(truth: Any, said: list[Any]) -> list[Any]:
    """Return true classes and predictions in one spelling: where all classes are numbers, 1 for 01 and 1.0."""
    import numpy as np

    spelling = next((one for one in (_number, _truth_value) if all(one(text) for text in set(truth))), None)
    if spelling is None:
        return [truth, *said]
    first: dict[str | None, str] = {}
    for text in sorted(set(truth)):
        if first.setdefault(spelling(text), text) != text:
            raise ValueError(
                f"--target holds both {first[spelling(text)]!r} and {text!r}: if they are one class, write them alike; "
                "if not, give them names that are not the same number or truth value"
            )
    columns = [truth, *said]
    spellings = {text: spelling(text) or text for column in columns for text in set(column)}
    return [np.array([spellings[text] for text in column], dtype=object) for column in columns]


def _number(text: str) -> str | None:
    """Return the one way in which a number is written here, exact however many digits it has; None for other texts."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_nan() or "_" in text:
        return None
    # Not normalize(): it rounds to the digits of a context.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return f"{'-' if sign else ''}inf"
    whole = "".join(map(str, digits)).lstrip("0")
    kept = whole.rstrip("0")
    return f"{'-' if sign and kept else ''}{kept or '0'}e{exponent + len(whole) - len(kept) if kept else 0}"


def _truth_value(text: str) -> str | None:
    return text.lower() if text.lower() in ("true", "false") else None


def _predicted(
    model: Path | None,
    data: Path,
    missing: tuple[str, ...],
    sep: str | None,
    trust: bool,
    used: tuple[str, ...],
    note: Callable[[str], None],
) -> Any:
    """Return what a saved model says of the rows, as text."""
    import pandas as pd

    from pacbayes.certificates.questions.difference import warn_of_known
    from pacbayes.cli.inputs.new_rows import read_new
    from pacbayes.cli.inputs.saved_model import load_saved

    assert model is not None
    loaded = load_saved(model, trust)
    if loaded.certificate_.answered is not None:
        raise ValueError(
            f"{str(model)!r} has a target (--max-error) and leaves examples unanswered, which are neither right nor "
            "wrong: compare the predictions of both on the rows that both answer, as columns --a and --b"
        )
    rows, notes = read_new(data, loaded, missing, sep, used)
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
    return _as_text(pd.Series(loaded.predict(given)))


def _names(a: str, b: str) -> tuple[str, str]:
    """Return what the two are called: their columns, or their files without folders where these differ."""
    short = Path(a).name, Path(b).name
    return short if short[0] != short[1] else (f"{a} (first)", f"{b} (second)")
