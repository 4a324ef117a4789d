"""The timeline: the e-process of the monitor, to the last bit, in memory that does not grow with the rows."""

import numpy as np
import pytest

from pacbayes import Monitor
from pacbayes.report.timeline import SliceTotals, Timeline, plot_timeline


def drawn(n, seed=0, risk=0.04):
    return (np.random.default_rng(seed).random(n) < risk).astype(float)


@pytest.mark.parametrize("sizes", [(3000,), (1,) * 300 + (2700,), (999, 0, 2001)])
def test_same_bits_as_the_monitor(sizes):
    losses = np.concatenate([drawn(2000), drawn(1000, 1, 0.2)])
    monitor, timeline = Monitor(0.05).update_errors(losses), Timeline(Monitor(0.05))
    for part in np.split(losses, np.cumsum(sizes)[:-1]):
        timeline.update(part)
    assert (timeline.rows, timeline.errors, timeline.alarm_at) == (3000, monitor.errors, monitor.alarm_at)
    assert (timeline.e_value, timeline.largest_e_value) == (monitor.e_values[-1], monitor.e_values.max())
    assert str(timeline) == str(monitor)
    assert timeline.periods[-1].e_value == monitor.e_values[-1]


def test_blocks_of_rows_are_merged():
    timeline, losses = Timeline(Monitor(0.05)), drawn(10**5, 2)
    for part in np.split(losses, 100):
        timeline.update(part)
    assert 50 <= len(timeline.periods) < 100
    sizes = [period.rows for period in timeline.periods]
    assert len(set(sizes[:-1])) == 1
    ends = np.cumsum(sizes)
    assert [period.errors for period in timeline.periods] == [
        losses[end - size : end].sum() for end, size in zip(ends, sizes, strict=True)
    ]
    e_values = Monitor(0.05).update_errors(losses).e_values
    assert [period.e_value for period in timeline.periods] == e_values[ends - 1].tolist()


def test_since_when():
    timeline = Timeline(Monitor(0.05))
    for k, risk in enumerate((0.0, 0.1, 0.0, 0.06, 0.1, 0.1, 0.5, 0.0)):
        timeline.update((np.arange(50) < 50 * risk).astype(float), np.repeat(f"w{k}", 50))
    assert [period.alarm for period in timeline.periods] == [False] * 6 + [True] * 2
    assert timeline.since.label == "w4"
    assert timeline.periods[6].error_rate == 0.5
    assert Timeline(Monitor(0.05)).since is None


def test_slices_before_and_since():
    totals, rng = SliceTotals(), np.random.default_rng(3)
    labels, slices, losses = np.repeat(["a", "b", "c"], 400), rng.choice(["x", "y"], 1200), drawn(1200, 4, 0.1)
    losses[(labels != "a") & (slices == "y")] = 1.0
    for part in np.split(np.arange(1200), 6):
        totals.add(losses[part], labels[part], slices[part])
    (name, before, since), (other, *_) = totals.by_excess("b", 0.05)
    assert (name, other) == ("y", "x")
    assert since.rows == since.errors == ((labels != "a") & (slices == "y")).sum()
    assert before.errors == losses[(labels == "a") & (slices == "y")].sum()
    assert [row[1].rows for row in totals.by_excess(None, 0.05)] == [0, 0]


@pytest.mark.parametrize(("by_day", "low", "high"), [(False, 0.2, 1.0), (True, 0.0, 0.05)])
def test_rows_of_one_day_that_depend_on_each_other(by_day, low, high):
    """A tenth of the days has half of its rows wrong: an error rate of 5 %, and many false alarms by rows at 1 %."""
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(100):
        risks = np.where(rng.random(200) < 0.1, 0.5, 0.0)
        losses = (rng.random((200, 40)) < risks[:, None]).astype(float)
        timeline = Timeline(Monitor(0.05), "group" if by_day else "")
        timeline.update(losses.mean(axis=1) if by_day else losses.ravel())
        alarms += timeline.alarm
    assert low <= alarms / 100 <= high


def test_plot():
    figure = pytest.importorskip("matplotlib.figure")
    timeline = Timeline(Monitor(0.05))
    plot_timeline(timeline, figure.Figure())
    days = np.repeat(np.arange("2024-01-01", "2024-01-31", dtype="M8[D]"), 20)
    losses = np.concatenate([drawn(400, 6), drawn(200, 7, 0.4)])
    timeline.update(losses, days.astype(str), days)
    upper, lower = plot_timeline(timeline, figure.Figure())
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), losses.reshape(30, 20).mean(axis=1))
    assert upper.lines[0].get_xdata().tolist() == np.unique(days).tolist()
    drawn_values, low, high = lower.lines[0].get_ydata(), *lower.get_ylim()
    assert ((drawn_values > low) & (drawn_values < high)).all()
    assert high / low < 1e7
    assert timeline.e_value > high
