"""Monitor a certificate over many files, with totals by period instead of a history of all rows.

A `Monitor` stores every loss and e-value.  A `Timeline` has the same e-process, to the last bit, and its memory depends
on the number of periods alone.  `plot_timeline` plots it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.words import PLURAL
from pacbayes.certificates import sentences
from pacbayes.certificates.monitor import EProcess, Monitor
from pacbayes.report.plots import ACCENT, RISK, format_as_percent, set_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Blocks of rows are merged in pairs when their number reaches twice this.
_FEWEST_BLOCKS = 50
# Range of plotted e-values, relative to the one that raises the alarm.
_LOWEST, _HIGHEST = 1e-4, 1e2


@dataclass
class Totals:
    """Number of rows (groups), and the sum of their losses."""

    rows: int = 0
    errors: float = 0.0

    @property
    def error_rate(self) -> float:
        """Mean loss; NaN without rows."""
        return self.errors / self.rows if self.rows else float("nan")

    def add(self, rows: int, errors: float) -> None:
        """Add rows."""
        self.rows += rows
        self.errors += errors


@dataclass
class Period(Totals):
    """Totals of a period, and the e-value at its end."""

    label: str = ""
    #: First day, if rows have dates.
    start: np.datetime64 | None = None
    e_value: float = 1.0
    #: Whether the alarm was raised in this period, or in an earlier one.
    alarm: bool = False


class Timeline:
    """Monitor in constant memory: the e-process of `Monitor`, with the totals of every period.

    Parameters
    ----------
    monitor : Monitor
        Monitor without rows, which provides bound, alpha and descriptions.
    unit : str
        Unit of the losses.  May be groups even if the bound is on rows; the loss of a group is its error rate.

    Attributes
    ----------
    periods : list of Period
        In the order of arrival.
    alarm_at : int or None
        The number of rows (groups) at the first alarm.

    Examples
    --------
    >>> timeline = Timeline(Monitor(0.05))
    >>> timeline.update(np.zeros(60), np.repeat(["May", "June"], 30))
    >>> timeline.update(np.tile([0.0, 1.0], 20), np.repeat("July", 40))
    >>> [(period.label, period.rows, period.errors, period.alarm) for period in timeline.periods]
    [('May', 30, 0.0, False), ('June', 30, 0.0, False), ('July', 40, 20.0, True)]
    >>> timeline.alarm_at, timeline.since.label
    (76, 'July')
    """

    def __init__(self, monitor: Monitor, unit: str = "") -> None:
        self.bound, self.alpha, self.about = monitor.bound, monitor.alpha, monitor.about
        self.unit, self.needed = unit or monitor.unit, monitor.needed
        self.periods: list[Period] = []
        self.alarm_at: int | None = None
        self.e_value = self.largest_e_value = 1.0
        self._process, self._total, self._block = EProcess(monitor.bound), Totals(), 1

    @property
    def rows(self) -> int:
        """The number of rows, or groups."""
        return self._total.rows

    @property
    def errors(self) -> float:
        """The sum of the losses."""
        return self._total.errors

    @property
    def alarm(self) -> bool:
        """Whether there was an alarm."""
        return self.alarm_at is not None

    @property
    def since(self) -> Period | None:
        """Period in which the error rate most likely changed to twice the bound (Page's CUSUM); None without an alarm.

        It is an estimate, unlike the alarm.
        """
        B = max(self.bound, 1e-9)
        p, capital, first = min(2.0 * B, (1.0 + B) / 2.0), 0.0, 0
        for i, period in enumerate(self.periods):
            right = period.rows - period.errors
            capital = max(capital, 0.0) + period.errors * log(p / B) + right * log((1.0 - p) / (1.0 - B))
            if period.alarm:
                return self.periods[first]
            if capital <= 0.0:
                first = i + 1
        return None

    def update(
        self,
        losses: FloatArray,
        labels: NDArray[np.str_] | None = None,
        starts: NDArray[np.datetime64] | None = None,
    ) -> None:
        """Update with the next losses; `labels` are their periods, by default blocks of equal numbers of rows."""
        if losses.size == 0:
            return
        e_values = self._process.update(losses)
        self._raise_alarm(e_values)
        numbers = self.rows + np.arange(losses.size)
        names = numbers // self._block if labels is None else labels
        firsts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
        for first, end in zip(firsts.tolist(), [*firsts[1:].tolist(), losses.size], strict=True):
            start = None if starts is None else starts[first]
            period = self._period(str(names[first]), start)
            period.add(end - first, float(losses[first:end].sum()))
            period.e_value = float(e_values[end - 1])
            period.alarm = self.alarm_at is not None and self.alarm_at <= self.rows + end
        self._total.add(losses.size, float(losses.sum()))
        self.e_value, self.largest_e_value = float(e_values[-1]), max(self.largest_e_value, float(e_values.max()))
        while labels is None and len(self.periods) >= 2 * _FEWEST_BLOCKS:
            self._merge_blocks()

    def _raise_alarm(self, e_values: FloatArray) -> None:
        reached = e_values >= self._process.threshold(self.alpha)
        if self.alarm_at is None and reached.any():
            self.alarm_at = self.rows + int(reached.argmax()) + 1

    def _period(self, label: str, start: np.datetime64 | None) -> Period:
        """Return the period with this label: the last one, or a new one."""
        if not self.periods or self.periods[-1].label != label:
            self.periods.append(Period(label=label, start=start))
        return self.periods[-1]

    def _merge_blocks(self) -> None:
        """Merge neighbouring blocks in pairs."""
        self._block *= 2
        merged: list[Period] = []
        for i, period in enumerate(self.periods):
            if i % 2 == 0:
                period.label = str(i // 2)
                merged.append(period)
                continue
            last = merged[-1]
            last.add(period.rows, period.errors)
            last.e_value, last.alarm = period.e_value, period.alarm
        self.periods = merged

    def __str__(self) -> str:
        return sentences.monitor_text(self)


class SliceTotals:
    """Errors by slice, before the change that raised an alarm and since.

    Examples
    --------
    >>> totals = SliceTotals()
    >>> totals.add(np.array([0.0, 1.0, 1.0]), np.array(["May", "May", "June"]), np.array(["north", "south", "south"]))
    >>> [(name, before.rows, since.rows, since.errors) for name, before, since in totals.by_excess("June", 0.05)]
    [('south', 1, 1, 1.0), ('north', 1, 0, 0.0)]
    """

    def __init__(self) -> None:
        self._totals: dict[str, dict[str, Totals]] = {}

    def __bool__(self) -> bool:
        return bool(self._totals)

    def add(self, losses: FloatArray, labels: NDArray[Any], slices: NDArray[Any]) -> None:
        """Add rows with the labels of their periods, in the order of arrival."""
        table = pd.DataFrame({"label": labels.astype(str), "slice": slices.astype(str), "loss": losses})
        grouped = table.groupby(["label", "slice"], sort=False)["loss"].agg(["size", "sum"])
        for (label, name), (rows, errors) in zip(grouped.index, grouped.to_numpy().tolist(), strict=True):
            self._totals.setdefault(label, {}).setdefault(name, Totals()).add(int(rows), errors)

    def by_excess(self, since: str | None, bound: float) -> list[tuple[str, Totals, Totals]]:
        """Totals of every slice before and since a period, in descending order of the errors in excess of the bound."""
        found: dict[str, tuple[Totals, Totals]] = {}
        later = since not in self._totals
        for label, slices in self._totals.items():
            later = later or label == since
            for name, totals in slices.items():
                found.setdefault(name, (Totals(), Totals()))[later].add(totals.rows, totals.errors)
        rows = [(name, *both) for name, both in found.items()]
        return sorted(rows, key=lambda row: bound * row[2].rows - row[2].errors)


def plot_timeline(timeline: Timeline, figure: Figure) -> tuple[Axes, Axes]:
    """Plot the error rate of every period with the bound, and the e-value below.

    Parameters
    ----------
    timeline : Timeline
        Its periods have dates, or are drawn in their order.
    figure : matplotlib Figure

    Returns
    -------
    tuple of matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pacbayes import Monitor
    >>> timeline = Timeline(Monitor(0.05))
    >>> timeline.update(np.tile([0.0, 0.0, 1.0], 50))
    >>> upper, lower = plot_timeline(timeline, Figure())
    >>> upper.get_ylabel(), lower.get_ylabel(), lower.get_yscale()
    ('error rate', 'e-value', 'log')
    """
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    periods = timeline.periods
    dated = bool(periods) and periods[0].start is not None
    x = np.array([one.start for one in periods]) if dated else np.cumsum([one.rows for one in periods])
    upper.plot(x, [one.error_rate for one in periods], ".-", color=RISK, label="error rate")
    words = f"bound {sentences.written_percent(timeline.bound)}"
    upper.axhline(timeline.bound, color=ACCENT, linestyle="--", label=words)
    upper.set_ylim(bottom=0.0)
    format_as_percent(upper.yaxis)
    low, high = _LOWEST * timeline.needed, _HIGHEST * timeline.needed
    e_values = np.clip([one.e_value for one in periods], low, high)
    lower.plot(x, e_values, ".-", color=RISK, label="e-value")
    lower.axhline(timeline.needed, color=ACCENT, linestyle="--", label=f"alarm at {timeline.needed:.6g}")
    lower.set_yscale("log")
    lower.set_ylim(low / 2.0, high * 2.0)
    lower.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if timeline.since is not None:
        for axes, label in ((upper, "since the rise"), (lower, "")):
            axes.axvspan(x[periods.index(timeline.since)], x[-1], color=ACCENT, alpha=0.15, label=label)
    set_labels(upper, "", "error rate", outside=False)
    set_labels(lower, "" if dated else f"{PLURAL[timeline.unit]} observed", "e-value", outside=False)
    if dated:
        figure.autofmt_xdate()
    return upper, lower
