"""`pacbayes watch`: monitor the certificate of a saved model on labelled rows that arrived since."""

from collections.abc import Iterable
from dataclasses import asdict
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
    from pacbayes.cli.arrivals import Arrivals
    from pacbayes.cli.show import Note
    from pacbayes.report.tables import TextTable
    from pacbayes.report.timeline import Totals

EXAMPLES = (
    "pacbayes watch model.pacbayes new.csv --target class",
    "pacbayes watch model.pacbayes new.csv --target class --alpha 0.001 --json",
    "pacbayes watch model.pacbayes 2024 --target class --order day --by week --plot watch.svg",
)
_ASSUMPTIONS = (
    "Assumes that the rows are in their order of arrival, and that which rows have a label does not depend on whether "
    "the model is wrong on them."
)
_PERIODS = ("file", "day", "week", "month")
# Maximum number of slices to print.
_MOST_SLICES = 20


HELP = {
    "Arguments": {
        "model": "A model saved by pacbayes certify --save.",
        "data": "CSV, TSV or Parquet files with all rows that arrived since, in their order of arrival, or a folder of "
        "files, in the order of their names.",
    },
    "Options": {
        "target": "The column with the true class.",
        "alpha": "Probability of a false alarm, ever, however often you check.",
        "order": "A column of numbers or dates that gives the order of arrival.  [default: the order of the rows]",
        "by": "Print a line by file, day, week or month.  [default: week with dates, file with several files]",
        "slice_": "A column, such as the site: print errors by its values, before the change and since.",
        "group": "The column of groups of dependent rows, which must be complete; each counts once, by its error rate. "
        "If it is the --order column, its days are the groups.",
    },
}


def watch(
    model: Input,
    data: Annotated[list[Path], typer.Argument()],
    target: Annotated[str, typer.Option(metavar="COLUMN")],
    alpha: Annotated[float, SHARE] = 0.01,
    order: Column = None,
    by: Annotated[str | None, typer.Option(metavar="PERIOD")] = None,
    slice_: Annotated[str | None, typer.Option("--slice", metavar="COLUMN")] = None,
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

    Append new rows to the file, or add files, and run the command again, as often as you like: every run starts from
    the first row. If the certificate is true and nothing changes, the probability of any false alarm, ever, is at most
    alpha.

    The exit code is 3 on an alarm.
    """
    from pacbayes.cli.arrivals import ArrivalReader, expand_folders
    from pacbayes.cli.new_rows import load_model_file, read_options
    from pacbayes.cli.options import check_outputs, write_figure
    from pacbayes.cli.show import Note, print_json, warnings_as_notes
    from pacbayes.estimators.prediction import MonitoredErrors, check_monitorable

    files = expand_folders(data)
    check_outputs({"--plot": plot}, (model, *files))
    by_day = group is not None and group == order
    columns = named_columns(
        {"--target": target, "--order": order, "--slice": slice_, "--group": None if by_day else group}
    )
    note, loaded = Note(quiet), load_model_file(model, trust, sha256)
    check_monitorable(loaded.certificate_, loaded.voting_, drops_duplicates=True)
    monitor = loaded.certificate_.monitor(alpha, wrong=MonitoredErrors(loaded, loaded._fitted, loaded.voting_))
    _check_group(group, monitor, model)
    options = read_options(sep, encoding, decimal, thousands, missing)
    watched = _MonitoringRun(monitor, by, len(files) > 1, group is not None, note)
    with warnings_as_notes(note):
        reader = ArrivalReader((model, loaded), columns, options, not_missing or (), note)
        watched.read(reader.read(files), order, by_day)
    if plot is not None:
        from pacbayes.report.timeline import plot_timeline

        write_figure(plot, lambda figure: plot_timeline(watched.timeline, figure))
    if json:
        print_json(watched.to_dict())
    else:
        watched.show(loaded.certificate_.abstains, target)
    if watched.timeline.alarm:
        raise typer.Exit(NO_GUARANTEE)


def _check_group(group: str | None, monitor: "Monitor", model: Path) -> None:
    from pacbayes.data.split import DISTINCT
    from pacbayes.data.split import GROUP as BY_GROUP

    if monitor.unit == BY_GROUP and group is None:
        raise ValueError("--group is required: the model was certified by groups")
    if monitor.unit == DISTINCT and group is not None:
        raise ValueError(f"--group must be left out: {str(model)!r} was certified with --duplicates together")


class _MonitoringRun:
    """Timeline of the rows of all files, and its output."""

    def __init__(self, monitor: "Monitor", by: str | None, several: bool, grouped: bool, note: "Note") -> None:
        from pacbayes._utils.checks import check_choice
        from pacbayes.data.split import GROUP as BY_GROUP
        from pacbayes.report.timeline import SliceTotals, Timeline

        self._by = by if by is None else check_choice("--by", by, _PERIODS)
        self._several, self._grouped, self._note, self._configured = several, grouped, note, False
        self.timeline = Timeline(monitor, BY_GROUP if grouped else "")
        self.slices, self.abstained, self._seen = SliceTotals(), 0, 0
        #: File, row (or group) and time of the alarm.
        self.place: dict[str, Any] = dict.fromkeys(("alarm_file", "alarm_row", "alarm_group", "alarm_time"))

    def read(self, stream: "Iterable[Arrivals]", order: str | None, by_day: bool) -> None:
        """Read all files; error rates of groups are added after the last file."""
        groups: dict[str, list[Any]] = {}
        for rows in stream:
            self._configure(rows, order, by_day)
            labels, starts = self._periods(rows)
            self.abstained += rows.abstained
            self._seen += rows.losses.size + rows.abstained
            if rows.slices is not None:
                self.slices.add(rows.losses, labels, rows.slices)
            if self._grouped:
                _collect(groups, rows, labels, starts, rows.period_starts("day").astype(str) if by_day else rows.groups)
            else:
                self._update(rows.losses, labels, starts)
                self._record_alarm_position(rows)
        if groups:
            self._update_groups(groups)

    def _configure(self, rows: "Arrivals", order: str | None, by_day: bool) -> None:
        """Choose the kind of periods by the first file; raise if a file has no dates although they are required."""
        from pacbayes.cli.arrivals import CALENDAR

        if not rows.has_dates and (self._by in CALENDAR or by_day):
            option = "--group with the column of --order" if by_day else f"--by {self._by}"
            raise ValueError(f"{option} requires --order COLUMN with dates, such as 2024-05-31")
        if self._configured:
            return
        self._configured = True
        if self._by is None:
            self._by = "week" if rows.has_dates else "file" if self._several else None
        days = rows.period_starts("day") if rows.has_dates else ()
        if not self._grouped and len(set(days)) < len(days) and self.timeline.unit == "example":
            self._note(
                "Rows of one day may depend on each other. Then false alarms are more frequent than --alpha: add "
                f"--group {order}, which counts every day once, by its error rate."
            )

    def _periods(self, rows: "Arrivals") -> tuple[Any, Any]:
        """Label and first day of the period of each row."""
        import numpy as np

        if self._by in (None, "file"):
            return np.full(rows.losses.size, rows.name if self._by else ""), None
        starts = rows.period_starts(str(self._by))
        return starts.astype(str), starts

    def _update(self, losses: Any, labels: Any, starts: Any) -> None:
        self.timeline.update(losses, None if self._by is None else labels, starts)

    def _record_alarm_position(self, rows: "Arrivals") -> None:
        """Store the file, row and time of the alarm if it was raised in `rows`, the latest of the timeline."""
        at = self.timeline.alarm_at
        if at is None or self.place["alarm_file"] is not None:
            return
        i = at - 1 - (self.timeline.rows - rows.losses.size)
        time = None if rows.times is None else str(rows.times[i]).removesuffix("T00:00:00")
        self.place |= {"alarm_file": rows.name, "alarm_row": int(rows.places[i]), "alarm_time": time}

    def _update_groups(self, groups: dict[str, list[Any]]) -> None:
        """Update with the error rates of groups, in the order of their first rows."""
        import numpy as np

        sums, sizes, labels, starts = zip(*groups.values(), strict=True)
        days = None if starts[0] is None else np.array(starts)
        self._update(np.array(sums) / np.array(sizes), np.array(labels), days)
        if self.timeline.alarm_at is not None:
            self.place["alarm_group"] = list(groups)[self.timeline.alarm_at - 1]

    # -- output --------------------------------------------------------------------------------------------------------

    def show(self, abstains: bool, target: str) -> None:
        """Print tables and outcome, and, after an alarm, the estimated time of the change and the next step."""
        from pacbayes.cli.show import print_lines, print_tables

        timeline = self.timeline
        tables = [table for table in (self._period_table(), self._slice_table()) if table is not None]
        print_tables(tables, self._note)
        if tables:
            print_lines("", "")
        counted = (
            "Every group counts once. Assumes that its expected error rate, given the earlier groups, is at most the "
            "bound while nothing changes."
        )
        print_lines(str(timeline), *self._after_alarm(target), _ASSUMPTIONS, *([counted] if self._grouped else []))
        if abstains:
            self._note(f"The model abstains on {self.abstained} of {self._seen} rows: they are not counted.")

    def _after_alarm(self, target: str) -> list[str]:
        """Position of the alarm, estimated time of the change, and next step; empty without an alarm."""
        since, place = self.timeline.since, self.place
        if since is None:
            return []
        row = f"row {place['alarm_row']} of {place['alarm_file'] if self._several else 'the file'}"
        where = row if place["alarm_group"] is None else f"group {place['alarm_group']!r}"
        time = "" if place["alarm_time"] is None else f" ({place['alarm_time'].replace('T', ' ')})"
        rose = "" if self._by is None else f" The error rate most likely rose in {self._by} {since.label}."
        slices = "" if self.slices else " --slice COLUMN shows where the errors are."
        return [
            f"The alarm was raised at {where}{time}.{rose}",
            "Next step: do not rely on the certificate from now on. Check how the latest rows and labels arose."
            f"{slices} If they are correct, certify a model with rows since the change: pacbayes certify NEW.csv "
            f"--target {target}.",
        ]

    def _period_table(self) -> "TextTable | None":
        from pacbayes._utils.words import PLURAL, format_share
        from pacbayes.certificates.sentences import written_percent
        from pacbayes.report.tables import TextTable

        if self._by is None:
            return None
        bound, rows, before = written_percent(self.timeline.bound), [], False
        for period in self.timeline.periods:
            state = "" if not period.alarm else "after the alarm" if before else "alarm"
            before = period.alarm
            counts = (str(period.rows), f"{period.errors:.6g}", format_share(period.error_rate))
            rows.append((period.label, *counts, bound, f"{period.e_value:.3g}", state))
        header = (self._by, PLURAL[self.timeline.unit], "errors", "error rate", "bound", "e-value", "")
        return TextTable(f"Errors by {self._by}", header, rows)

    def _slice_table(self) -> "TextTable | None":
        from pacbayes._utils.words import format_share
        from pacbayes.report.tables import TextTable

        if not self.slices:
            return None

        def cells(totals: "Totals") -> tuple[str, str, str]:
            share = format_share(totals.error_rate) if totals.rows else "–"
            return str(totals.rows), f"{totals.errors:g}", share

        since = self.timeline.since
        label = None if since is None or self._by is None else since.label
        table = self.slices.by_excess(label, self.timeline.bound)
        rows = [(name, *(() if label is None else cells(before)), *cells(later)) for name, before, later in table]
        names = ("rows", "errors", "error rate")
        header = ("slice", *names, *(() if label is None else (f"{name} since {label}" for name in names)))
        more = f" The {_MOST_SLICES} of {len(rows)} slices with most errors." if len(rows) > _MOST_SLICES else ""
        caption = f"A description, without a guarantee.{more}"
        return TextTable("Errors by slice", header, rows[:_MOST_SLICES], caption)

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to JSON types."""
        timeline = self.timeline
        names = (
            "alarm",
            "alarm_at",
            "bound",
            "alpha",
            "unit",
            "rows",
            "errors",
            "needed",
            "e_value",
            "largest_e_value",
        )
        since = timeline.since
        label = None if since is None else since.label
        periods = [asdict(period) | {"error_rate": period.error_rate} for period in timeline.periods if self._by]
        return (
            {name: getattr(timeline, name) for name in names}
            | self.place
            | {
                "since": label if self._by else None,
                "abstained": self.abstained,
                "periods": [{name: value for name, value in period.items() if name != "start"} for period in periods],
                "slices": [
                    {"slice": name, "before": asdict(before), "since": asdict(later)}
                    for name, before, later in self.slices.by_excess(label, timeline.bound)
                ],
                "text": str(timeline),
            }
        )


def _collect(groups: dict[str, list[Any]], rows: "Arrivals", labels: Any, starts: Any, names: Any) -> None:
    """Add the losses and the number of rows of each group, with the period of its first row."""
    for i, name in enumerate(names.tolist()):
        group = groups.setdefault(name, [0.0, 0, labels[i], None if starts is None else starts[i]])
        group[0] += float(rows.losses[i])
        group[1] += 1
