"""Monitors by simulation with known truth: false alarms at any time, detected changes, and planted faults."""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import CertifiedClassifier, Monitor
from pacbayes.certificates.monitor import MULTIPLES, Bets, bets_against

ALPHA, RUNS, ROWS = 0.01, 2000, 10_000


def alarm_times(bound, risks, runs=RUNS, seed=0, arrange=None, bets=None):
    """Number of rows until the alarm of each run, or infinity; `risks` are those of the rows."""
    rng, times = np.random.default_rng(seed), np.full(runs, np.inf)
    for run in range(runs):
        wrong = rng.random(len(risks)) < risks
        monitor = Monitor(bound, ALPHA)
        if bets is not None:
            monitor._process._bets, monitor._process._capital = bets, np.zeros(bets.win.size)
        monitor.update_errors(wrong if arrange is None else arrange(wrong))
        times[run] = np.inf if monitor.alarm_at is None else monitor.alarm_at
    return times


def p_value(times):
    """P-value of the number of alarms if each run has one with probability alpha."""
    return binom.sf(np.isfinite(times).sum() - 1, times.size, ALPHA)


@pytest.mark.parametrize("part", [1.0, 0.8, 0.5])
@pytest.mark.parametrize("bound", [0.05, 0.2])
def test_false_alarms_within_ten_thousand_rows(bound, part):
    times = alarm_times(bound, np.full(ROWS, part * bound))
    assert np.isfinite(times).mean() <= ALPHA
    assert p_value(times) > 1e-3


@pytest.mark.parametrize("bound", [0.003, 0.7, 0.97])
def test_false_alarms_at_other_bounds(bound):
    assert p_value(alarm_times(bound, np.full(ROWS, bound), runs=1000)) > 1e-3


def test_false_alarms_where_the_risk_depends_on_the_past():
    """An adversary chooses the risk after every row: the bound while the e-value is large, else zero."""
    rng, false = np.random.default_rng(7), 0
    for _ in range(300):
        monitor = Monitor(0.2, 0.1)
        for _ in range(60):
            promising = monitor.rows == 0 or monitor.e_values[-1] > 0.3
            monitor.update_errors(rng.random(10) < (0.2 if promising else 0.0))
        false += monitor.alarm
    assert binom.sf(false - 1, 300, 0.1) > 1e-3


def test_false_alarms_of_groups():
    """Rows of a group have a common risk; its mean over groups is the bound."""
    rng, false = np.random.default_rng(8), 0
    for _ in range(1000):
        shares, groups = rng.beta(0.2, 1.8, 1000), np.repeat(np.arange(1000), 10)
        false += (
            Monitor(0.1, ALPHA, unit="group").update_errors(rng.random(10_000) < shares[groups], groups=groups).alarm
        )
    assert binom.sf(false - 1, 1000, ALPHA) > 1e-3


def test_a_risk_above_the_bound_is_detected():
    double = alarm_times(0.05, np.full(ROWS, 0.1), runs=500)
    assert np.median(double) < 300
    assert np.quantile(double, 0.9) < 700
    slightly = alarm_times(0.05, np.full(3 * ROWS, 0.06), runs=200)
    assert np.median(slightly) < 8000


def test_a_change_after_three_thousand_good_rows_is_detected():
    times = alarm_times(0.05, np.repeat([0.03, 0.1], [3000, 2500]), runs=500)
    assert (times <= 3000).mean() <= ALPHA
    assert np.isfinite(times).mean() >= 0.99


# -- planted faults --------------------------------------------------------------------------------------------------


def test_bets_below_the_bound_are_caught():
    """A mixture over all risks raises an alarm for a model that is better than its bound."""
    below = [1 / c for c in MULTIPLES]
    both = bets_against(0.05)
    bets = Bets(
        np.append(both.lose, [(1 - c * 0.05) / 0.95 for c in below]),
        np.append(both.win, below),
    )
    times = alarm_times(0.05, np.full(ROWS, 0.04), runs=200, bets=bets)
    assert np.isfinite(times).mean() > 0.8
    assert p_value(times) < 1e-6


def test_errors_first_within_a_batch_are_caught():
    def errors_first(wrong):
        return -np.sort(-wrong.reshape(-1, 100), axis=1).ravel()

    times = alarm_times(0.05, np.full(ROWS, 0.05), runs=100, arrange=lambda wrong: errors_first(wrong.astype(int)))
    assert np.isfinite(times).mean() > 0.9
    assert p_value(times) < 1e-6


def test_the_best_bet_in_hindsight_is_caught():
    """The maximum likelihood bet above the bound, recomputed after every row."""
    rng, false = np.random.default_rng(9), 0
    for _ in range(2 * RUNS):
        errors = np.cumsum(rng.random(ROWS) < 0.05)
        rows = np.arange(1, ROWS + 1)
        p = np.clip(errors / rows, 0.05, 1 - 1e-9)
        log_capital = errors * np.log(p / 0.05) + (rows - errors) * np.log((1 - p) / 0.95)
        false += log_capital.max() >= np.log(1 / ALPHA)
    assert binom.sf(false - 1, 2 * RUNS, ALPHA) < 1e-6


def test_the_best_of_the_eight_bets_is_caught():
    """Each bet alone has the false alarm probability alpha, but not their maximum."""
    bets = bets_against(0.05)
    single = [Bets(bets.lose[[k]], bets.win[[k]]) for k in range(len(MULTIPLES))]
    times = np.minimum.reduce([alarm_times(0.05, np.full(ROWS, 0.05), 2 * RUNS, bets=bet) for bet in single])
    assert p_value(times) < 1e-6


def test_bets_without_restarts_miss_late_changes():
    """Valid, but without power: the capital is lost before the change."""
    bets, risks = bets_against(0.05), np.repeat([0.03, 0.1], [3000, 2500])
    rng, detected = np.random.default_rng(10), 0
    for _ in range(50):
        wrong = rng.random(risks.size) < risks
        path = np.where(wrong[:, None], np.log(bets.win), np.log(bets.lose)).cumsum(axis=0)
        detected += np.log(np.exp(path).mean(axis=1)).max() >= np.log(1 / ALPHA)
    assert detected / 50 < 0.8


def test_a_model_on_its_distribution_and_on_another():
    rng = np.random.default_rng(11)

    def rows(n, noise):
        X = rng.normal(size=(n, 2))
        return X, ((X[:, 0] > 0) ^ (rng.random(n) < noise)).astype(int)

    clf = CertifiedClassifier("logistic", random_state=0).fit(*rows(600, 0.05))
    monitor = clf.monitor()
    monitor.update(*rows(3000, 0.05))
    assert not monitor.alarm
    monitor.update(*rows(1000, 0.3))
    assert 3000 < monitor.alarm_at < 3200
