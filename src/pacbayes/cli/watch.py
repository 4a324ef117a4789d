"""`pacbayes watch`: monitor the certificate of a saved model on labelled rows that arrived since."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import (
    NO_GUARANTEE,
    SHARE,
    Column,
    Digest,
    Input,
    Name,
    Plot,
    Quiet,
    Separator,
    Sign,
    Texts,
    named_columns,
)

if TYPE_CHECKING:
    from pacbayes.certificates.monitor import Monitor
    from pacbayes.data.io import ReadOptions

EXAMPLES = (
    "pacbayes watch model.pacbayes new.csv --target class",
    "pacbayes watch model.pacbayes new.csv --target class --alpha 0.001 --json",
)
_MISSING_HINT = "every row requires a value: drop rows without a class"
_NEW_ROWS_HINT = "watch rows that arrived after it was fitted"
_ASSUMPTIONS = (
    "Assumes that the rows are in their order of arrival, and that which rows have a label does not depend on whether "
    "the model is wrong on them."
)


HELP = {
    "Arguments": {
        "model": "A model saved by pacbayes certify --save.",
        "data": "A CSV, TSV or Parquet file with all rows that arrived since, in their order of arrival.",
    },
    "Options": {
        "target": "The column with the true class.",
        "alpha": "Probability of a false alarm, ever, however often you check.",
        "order": "A column of numbers or dates that gives the order of arrival.  [default: the order of the file]",
        "group": "The column of groups, for models certified by groups; every group must be complete.",
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
    encoding: Name = None,
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    sha256: Digest = None,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Monitor whether the certificate of a saved model still holds on labelled rows that arrived since.

    Append new rows to the file and run the command again, as often as you like: every run starts from the first row. If
    the certificate is true and nothing changes, the probability of any false alarm, ever, is at most alpha.

    The exit code is 3 on an alarm.
    """
    from pacbayes._utils.words import printable
    from pacbayes.cli.new_rows import load_saved, read_options
    from pacbayes.cli.options import check_outputs, write_plot
    from pacbayes.cli.show import Note, print_json, warnings_as_notes
    from pacbayes.estimators.prediction import MonitoredErrors, check_monitorable

    check_outputs({"--plot": plot}, (model, data))
    columns = named_columns({"--target": target, "--order": order, "--group": group})
    note, loaded = Note(quiet), load_saved(model, trust, sha256)
    check_monitorable(loaded.certificate_, loaded.voting_, drops_duplicates=True)
    monitor = loaded.certificate_.monitor(alpha, wrong=MonitoredErrors(loaded, loaded._fitted, loaded.voting_))
    _check_group(group, monitor, model)
    options = read_options(sep, encoding, decimal, thousands, missing)
    with warnings_as_notes(note):
        wrong, rows, groups, n_abstained = _errors_in_order(
            loaded, (model, data), columns, options, not_missing or (), note
        )
    monitor.update_errors(wrong, groups=groups)
    if plot is not None:
        from pacbayes.report.plots import plot_monitor

        write_plot(plot, lambda axes: plot_monitor(monitor, axes))
    row = None if monitor.alarm_at is None or group is not None else rows[monitor.alarm_at - 1]
    if json:
        print_json(_as_dict(monitor, row, n_abstained))
    else:
        print(f"{printable(str(monitor))}\n{_ASSUMPTIONS}")
        if loaded.certificate_.abstains:
            note(f"The model abstains on {n_abstained} of {len(rows) + n_abstained} rows: they do not count.")
        if row is not None:
            note(f"The alarm was raised at row {row} of the file.")
    if monitor.alarm:
        raise typer.Exit(NO_GUARANTEE)


def _check_group(group: str | None, monitor: "Monitor", model: Path) -> None:
    if monitor.unit == "group" and group is None:
        raise ValueError("--group is required: the model was certified by groups")
    if monitor.unit != "group" and group is not None:
        raise ValueError(f"--group requires a model certified by groups, which {str(model)!r} is not")


def _errors_in_order(
    loaded: Any,
    files: tuple[Path, Path],
    columns: dict[str, str],
    options: "ReadOptions",
    not_missing: Sequence[str],
    note: Callable[[str], None],
) -> tuple[Any, list[int], Any, int]:
    """Predict the rows of a file in their order of arrival; raise if the model was fitted with them.

    Returns, for the accepted rows, whether each is wrong, its place in the file (from 1) and its group; and the number
    of abstentions.
    """
    import numpy as np
    import pandas as pd

    from pacbayes.cli.new_rows import LabelColumns, NewRows, in_spelling_of, labelled_blocks
    from pacbayes.data.rows import row_hashes
    from pacbayes.data.spelling import as_labels
    from pacbayes.data.split import DISTINCT

    model, data = files
    labels = LabelColumns(data, columns, options, not_missing, _MISSING_HINT)
    rows = NewRows(data, loaded, options, not_missing, list(columns.values()))
    distinct = loaded.certificate_.unit == DISTINCT
    predictions, accepted_blocks, covered, hashes = [], [], [], []
    for X in labelled_blocks(loaded, rows, labels, files, _NEW_ROWS_HINT):
        predictions.append(as_labels(loaded.predict(X)))
        accepted_blocks.append(loaded.accepts(X))
        covered.append(loaded.covered(X))
        hashes += [row_hashes(X, b"")] if distinct else []
    for line in rows.notes:
        note(line)
    texts = labels.columns()
    y_true = texts[columns["--target"]]
    # With all classes of the model, because all predictions of a few rows may be wrong.
    y_pred = in_spelling_of(y_true, np.concatenate([*predictions, as_labels(loaded.classes_)]), repr(str(model)))
    order = _order(texts[columns["--order"]], columns["--order"]) if "--order" in columns else np.arange(y_true.size)
    if distinct:
        pairs = pd.DataFrame({"row": np.concatenate(hashes), "label": y_true})
        order = order[~pairs.iloc[order].duplicated().to_numpy()]
        if order.size < y_true.size:
            note(f"{y_true.size - order.size} of {y_true.size} rows are duplicates of earlier ones: they do not count.")
    accepted = np.concatenate(accepted_blocks)[order]
    places = order[accepted]
    groups = texts[columns["--group"]][places] if "--group" in columns else None
    # After a refit, only covered predictions can be errors.
    wrong = (y_pred[: y_true.size] != y_true) & np.concatenate(covered)
    return wrong[places], (places + 1).tolist(), groups, int((~accepted).sum())


def _order(texts: Any, name: str) -> Any:
    """Sort a column of numbers or dates: indices of the rows, equal values in the order of the file."""
    import pandas as pd

    values = pd.Series(texts, dtype=object)
    times = pd.to_numeric(values, errors="coerce")
    if times.isna().any():
        times = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    if times.isna().any():
        first = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"--order must name a column of numbers, or of dates such as 2024-05-31, got {texts[first]!r} in row "
            f"{first + 1} of {name!r}"
        )
    return times.to_numpy().argsort(kind="stable")


def _as_dict(monitor: "Monitor", row: int | None, n_abstained: int) -> dict[str, Any]:
    """Convert the result to JSON types."""
    names = ("alarm", "alarm_at", "bound", "alpha", "unit", "rows", "errors", "needed")
    e_values = monitor.e_values
    return {name: getattr(monitor, name) for name in names} | {
        "alarm_row": row,
        "abstained": n_abstained,
        "e_value": float(e_values[-1]) if monitor.rows else 1.0,
        "largest_e_value": max(1.0, float(e_values.max(initial=0.0))),
        "text": str(monitor),
    }
