"""Slices that Holm's procedure shows to be below an error rate, by simulation with known truth; a planted fault."""

import numpy as np
import pandas as pd
import pytest

from pacbayes import certify_predictions

DELTA, MOST = 0.4, 0.1
#: With the default share of metrics, and half of it for slices.
LEVEL = DELTA * 0.2 / 2
#: Error rates of slices: at the maximum, where a false statement is most likely, and below it.
WORLDS = {"all at the maximum": np.full(6, MOST), "half": np.repeat([MOST, 0.01], 3), "one": np.array([0.1, 0, 0, 0])}


def certificate(slices, wrong):
    zeros = np.zeros(wrong.size, dtype=int)
    return certify_predictions(zeros, wrong.astype(int), delta=DELTA, metrics=("error",), slices=slices)


def draw(rates, rng):
    slices = rng.integers(rates.size, size=100 * rates.size)
    return slices, rng.random(slices.size) < rates[slices]


def allowed(draws):
    return LEVEL * draws + 2 * np.sqrt(draws * LEVEL * (1 - LEVEL))


@pytest.mark.parametrize("draws", [100, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORLDS)
def test_no_slice_is_falsely_shown(name, draws):
    rates, failed, shown, bounded = WORLDS[name], 0, 0, 0
    for seed in range(draws):
        result = certificate(*draw(rates, np.random.default_rng([seed, 9])))
        below = result.slices_below(np.nextafter(MOST, 0.0))
        failed += any(rates[place] >= MOST for place in below)
        shown += len(below)
        by_slice = [metric.of for metric in result.metrics if metric.kind == "slice" and metric.bound < MOST]
        assert set(by_slice) <= set(below)
        bounded += len(by_slice)
    assert failed <= allowed(draws)
    # Otherwise the procedure would not be better than the bounds.
    assert shown > bounded or name == "all at the maximum"


def test_slices_chosen_by_their_errors_are_detected():
    """Rows whose prediction is right are put into one slice: its error rate on new rows is 10 %."""
    failed = 0
    for seed in range(60):
        _, wrong = draw(WORLDS["half"][:3], np.random.default_rng([seed, 9]))
        failed += "best" in certificate(np.where(wrong, "rest", "best"), wrong).slices_below(0.09)
    assert failed > 2 * allowed(60)


def test_two_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"site": rng.choice(["north", "south"], 400), "device": rng.integers(2, size=400)})
    wrong = rng.random(400) < np.where((table["site"] == "north") & (table["device"] == 1), 0.4, 0.0)
    result = certificate(table, wrong)
    bounds = {metric.of: metric for metric in result.metrics if metric.kind == "slice"}
    assert list(bounds) == [("north", 0), ("north", 1), ("south", 0), ("south", 1)]
    assert all(metric.column == "site, device" for metric in bounds.values())
    for (site, device), metric in bounds.items():
        rows = (table["site"] == site) & (table["device"] == device)
        assert (metric.count, metric.rows) == (wrong[rows].sum(), rows.sum())
    assert result.slices_below(0.1) == (("north", 0), ("south", 0), ("south", 1))
    shares = dict.fromkeys(bounds, 0.25)
    mean = sum(metric.bound for metric in bounds.values()) / 4
    assert result.with_slice_shares(shares).bound == pytest.approx(mean)


@pytest.mark.parametrize("max_error", [0.0, 1.0, "a"])
def test_invalid_maximum(max_error):
    with pytest.raises((TypeError, ValueError), match="max_error must"):
        certificate(np.arange(20) % 2, np.zeros(20, dtype=bool)).slices_below(max_error)


def test_slices_are_needed():
    with pytest.raises(ValueError, match="slices_below requires a bound for every slice"):
        certify_predictions([0, 1], [0, 1]).slices_below(0.1)
