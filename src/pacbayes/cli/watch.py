"""`pacbayes watch`: whether the certificate of a saved model still holds for labelled rows that arrived since."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import (
    NO_GUARANTEE,
    SHARE,
    Column,
    Digest,
    Input,
    Plot,
    Quiet,
    Separator,
    Sign,
    Texts,
    named_columns,
)

if TYPE_CHECKING:
    from pacbayes.certificates.monitor import Monitor
    from pacbayes.cli.new_rows import Cells

EXAMPLES = (
    "pacbayes watch model.pacbayes new.csv --target class",
    "pacbayes watch model.pacbayes new.csv --target class --alpha 0.001 --json",
)
_GAP = "every row needs one: leave out rows that have none"
_WAY = "watch rows that arrived after it was fitted"
_ASSUMED = (
    "This assumes that the rows are in the order in which they arrived, and that which of them have a class does not "
    "depend on whether the model is wrong."
)


HELP = {
    "Arguments": {
        "model": "What pacbayes certify --save wrote.",
        "data": "A CSV, TSV or Parquet file: all rows that arrived since, in that order.",
    },
    "Options": {
        "target": "The column with the true class.",
        "alpha": "The probability of a false alarm, ever, however often you look.",
        "order": "Numbers or dates that say in which order the rows arrived.  [default: as in the file]",
        "group": "The groups, all complete, of a model certified by groups.",
    },
}


def watch(
    model: Input,
    data: Input,
    target: Annotated[str, typer.Option(metavar="COLUMN")],
    alpha: Annotated[float, SHARE] = 0.01,
    order: Column = None,
    group: Column = None,
    plot: Plot = None,
    missing: Texts = None,
    not_missing: Texts = None,
    sep: Separator = None,
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    sha256: Digest = None,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Say whether the certificate of a saved model still holds for labelled rows that arrived since.

    Everything is computed from the first row each time: append new rows to the file and run it again, as often as you
    like. If the certificate is true and nothing changes, an alarm is ever seen with probability at most alpha.

    The exit code is 3 on an alarm and 0 otherwise.
    """
    from pacbayes._utils.words import printable
    from pacbayes.cli.new_rows import Cells, load_saved
    from pacbayes.cli.options import check_outputs, write_plot
    from pacbayes.cli.show import Note, print_json, warnings_as_notes
    from pacbayes.data.number_format import NumberFormat
    from pacbayes.estimators.prediction import MonitoredErrors, check_monitorable

    check_outputs({"--plot": plot}, (model, data))
    columns = named_columns({"--target": target, "--order": order, "--group": group})
    note, loaded = Note(quiet), load_saved(model, trust, sha256)
    check_monitorable(loaded.certificate_, loaded.voting_, drops_duplicates=True)
    monitor = loaded.certificate_.monitor(alpha, wrong=MonitoredErrors(loaded, loaded._fitted, loaded.voting_))
    _check_group(group, monitor, model)
    signs = NumberFormat.given(decimal, thousands)
    cells = Cells(missing or (), not_missing or (), sep, signs, list(columns.values()))
    with warnings_as_notes(note):
        wrong, rows, groups, unanswered = _arrived(loaded, (model, data), columns, cells, note)
    monitor.update_errors(wrong, groups=groups)
    if plot is not None:
        from pacbayes.report.plots import plot_monitor

        write_plot(plot, lambda axes: plot_monitor(monitor, axes))
    row = None if monitor.alarm_at is None or group is not None else rows[monitor.alarm_at - 1]
    if json:
        print_json(_summary(monitor, row, unanswered))
    else:
        print(f"{printable(str(monitor))}\n{_ASSUMED}")
        if loaded.certificate_.abstains:
            note(f"{unanswered} of {len(rows) + unanswered} rows are not answered: they do not count.")
        if row is not None:
            note(f"The alarm came at row {row} of the file.")
    if monitor.alarm:
        raise typer.Exit(NO_GUARANTEE)


def _check_group(group: str | None, monitor: "Monitor", model: Path) -> None:
    if monitor.unit == "group" and group is None:
        raise ValueError("--group must name the column of groups: the certificate is about groups")
    if monitor.unit != "group" and group is not None:
        raise ValueError(f"--group is for a model that was certified by groups, which {str(model)!r} was not")


def _arrived(
    loaded: Any, files: tuple[Path, Path], columns: dict[str, str], cells: "Cells", note: Callable[[str], None]
) -> tuple[Any, list[int], Any, int]:
    """Ask a model about the rows of a file, or raise if it was fitted with them.

    Returned are, of the rows that it answers and in the order in which they arrived: whether each is wrong, where it
    stands in the file (from 1), and its group; and how many other rows there are.
    """
    import numpy as np
    import pandas as pd

    from pacbayes.cli.new_rows import in_one_spelling, read_labels, unknown_rows
    from pacbayes.data.class_names import as_labels
    from pacbayes.data.split import DISTINCT

    model, data = files
    labels, is_text = read_labels(data, columns, cells, _GAP)
    y_true = labels[columns["--target"]]
    given = unknown_rows(loaded, model, data, cells, note, _WAY)
    of_text = all(isinstance(one, str) for one in loaded.classes_.tolist())
    # With all that it can say: a few rows may all be wrong.
    said = np.concatenate([as_labels(loaded.predict(given)), as_labels(loaded.classes_)])
    said = in_one_spelling(y_true, [(repr(str(model)), said, of_text)], is_text)[0][: y_true.size]
    places = (
        _in_order(labels[columns["--order"]], columns["--order"]) if "--order" in columns else np.arange(y_true.size)
    )
    if loaded.certificate_.unit == DISTINCT:
        rows = pd.concat([pd.DataFrame(given).reset_index(drop=True), pd.Series(y_true)], axis=1)
        places = places[~rows.iloc[places].duplicated().to_numpy()]
        if places.size < y_true.size:
            note(f"{y_true.size - places.size} of {y_true.size} rows are copies of earlier ones: they do not count.")
    answered = loaded.accepts(given)[places]
    kept = places[answered]
    groups = labels[columns["--group"]][kept] if "--group" in columns else None
    # After a refit an answer that is not covered is no error.
    wrong = (said != y_true) & loaded.covered(given)
    return wrong[kept], (kept + 1).tolist(), groups, int((~answered).sum())


def _in_order(texts: Any, name: str) -> Any:
    """Return the numbers of rows in the order of a column of numbers or dates; equal ones as in the file."""
    import pandas as pd

    written = pd.Series(texts, dtype=object)
    times = pd.to_numeric(written, errors="coerce")
    if times.isna().any():
        times = pd.to_datetime(written, errors="coerce", format="ISO8601", utc=True)
    if times.isna().any():
        bad = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"--order must name a column of numbers, or of dates such as 2024-05-31, got {texts[bad]!r} in example "
            f"{bad + 1} of {name!r}"
        )
    return times.to_numpy().argsort(kind="stable")


def _summary(monitor: "Monitor", row: int | None, unanswered: int) -> dict[str, Any]:
    """Return what is known as plain values."""
    names = ("alarm", "alarm_at", "bound", "alpha", "unit", "rows", "errors", "needed")
    e_values = monitor.e_values
    return {name: getattr(monitor, name) for name in names} | {
        "alarm_row": row,
        "not_answered": unanswered,
        "e_value": float(e_values[-1]) if monitor.rows else 1.0,
        "largest_e_value": max(1.0, float(e_values.max(initial=0.0))),
        "text": str(monitor),
    }
