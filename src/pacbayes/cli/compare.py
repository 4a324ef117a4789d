"""`pacbayes compare`: how much more often, and how much less often, one model errs than another."""

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
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.numeric.checks import check_level, warn_of_level
    from pacbayes.report.tables import TextTable

    level = check_level(delta)
    for option, column, model in (("a", a, model_a), ("b", b, model_b)):
        if (column is None) is (model is None):
            raise ValueError(f"give either --{option} COLUMN or --model-{option} MODEL, and not both")
    note = Note(quiet)
    texts = tuple(missing or ())
    truth, labels = _labels(data, target, a, b, texts, sep)
    with warnings_as_notes(note):
        warn_of_level(level)
        said = [
            labels[column] if column is not None else _predicted(model, data, texts, sep, trust, note)
            for column, model in ((a, model_a), (b, model_b))
        ]
    for option, one in zip(("a", "b"), said, strict=True):
        _check_labels(option, one, truth)
    names = _names(a if a is not None else str(model_a), b if b is not None else str(model_b))
    found = certify_difference(said[0] != truth, said[1] != truth, level, names=names)
    if json:
        print_json(found.to_dict() | {"text": str(found)})
        return
    print(f"{found}\n{_ASSUMED}\n")
    rows = (
        ("both", str(found.both)),
        (f"only {names[0]}", str(found.only_a)),
        (f"only {names[1]}", str(found.only_b)),
        ("neither", str(found.m - found.both - found.only_a - found.only_b)),
    )
    print_tables([TextTable("Who errs on how many rows", ("who errs", "rows"), rows)], note)


def _labels(
    path: Path, target: str, a: str | None, b: str | None, missing: tuple[str, ...], sep: str | None
) -> tuple[Any, dict[str, Any]]:
    """Return the true classes and the columns of predictions as text, or raise if one is absent or lacks a value."""
    from pacbayes.data.files.reading import listed, read_frame

    wanted = {"--target": target} | {name: one for name, one in (("--a", a), ("--b", b)) if one is not None}
    if len(set(wanted.values())) < len(wanted):
        raise ValueError("--target, --a and --b must name different columns")
    frame = read_frame(path, missing, (), sep)
    for option, name in wanted.items():
        if name not in frame.columns:
            known = listed(list(frame.columns))
            raise ValueError(f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {known}")
        _check_complete(frame[name], name, path)
    columns = {name: _as_text(frame[name]) for name in wanted.values()}
    return columns[target], columns


def _check_complete(column: "pd.Series[Any]", name: str, path: Path) -> None:
    gaps = column.isna().to_numpy()
    if gaps.any():
        raise ValueError(
            f"column {name!r} of {str(path)!r} lacks a value in example {int(gaps.argmax()) + 1}; a row that a model "
            "did not answer is neither right nor wrong: compare the rows that both answer"
        )


def _check_labels(option: str, said: Any, truth: Any) -> None:
    """Raise if a model never says any of the true classes: then these are written otherwise."""
    from pacbayes.data.files.reading import listed

    if not set(said) & set(truth):
        raise ValueError(
            f"no prediction of --{option} is any of the true classes: it says {listed(sorted(set(said)), 5)}, and "
            f"--target holds {listed(sorted(set(truth)), 5)}"
        )


def _as_text(column: "pd.Series[Any]") -> Any:
    import numpy as np

    return np.array([_written(value) for value in column.tolist()], dtype=object)


def _written(value: Any) -> str:
    """Return a label as text, whole numbers without a fraction: 1 and 1.0 are one class."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _predicted(
    model: Path | None, data: Path, missing: tuple[str, ...], sep: str | None, trust: bool, note: Any
) -> Any:
    """Return what a saved model says of the rows, as text."""
    import pandas as pd

    from pacbayes.cli.inputs.new_rows import read_new
    from pacbayes.cli.inputs.saved_model import load_saved

    assert model is not None
    loaded = load_saved(model, trust)
    if loaded.certificate_.answered is not None:
        raise ValueError(
            f"{str(model)!r} has a target (max_error) and leaves examples unanswered, which are neither right nor "
            "wrong: compare the predictions of both on the rows that both answer, as columns --a and --b"
        )
    rows, notes = read_new(data, loaded, missing, sep)
    for line in notes:
        note(line)
    given = rows if hasattr(loaded, "feature_names_in_") else rows.to_numpy()
    _check_new(loaded, given, str(model), str(data), note)
    return _as_text(pd.Series(loaded.predict(given)))


def _check_new(loaded: Any, rows: Any, model: str, data: str, note: Any) -> None:
    """Raise if a model was fitted with these rows, and say so where it may have been."""
    found = loaded._overlap_with(rows)
    if found is None:
        return
    if found.is_copy:
        raise ValueError(
            f"{model!r} was fitted with these rows: {found.said} behind it; compare on rows that neither model was "
            "trained, tuned or chosen with"
        )
    if found.is_large:
        note(
            f"warning: of {data!r}, {found.said} that {model!r} was fitted with. If they are the same examples, the "
            "limits do not hold."
        )


def _names(a: str, b: str) -> tuple[str, str]:
    """Return what the two are called: their columns, or their files without folders where these differ."""
    short = Path(a).name, Path(b).name
    return short if short[0] != short[1] else (f"{a} (first)", f"{b} (second)")
