"""Monitoring: false alarms, rows until the alarm, late changes, planted faults, speed; planning: rows needed.

Errors of rows are independent, with a known risk.  "B" is the bound, alpha = 0.01.  A false alarm is an alarm at a risk
of at most B, within 10 000 rows.  Planted faults must be detected: bets on risks below B too, errors first in every
hundred rows, the best of the eight bets instead of their mean.

Planning: the share of 20 000 samples in which the Clopper-Pearson bound (SciPy's quantile of the beta distribution) is
at most the required one, with the number of rows of `rows_needed` and with one row less.

Run: python benchmarks/bench_watch.py [--runs N]
Twenty seconds with 2000 runs.
"""

import argparse
import time

import numpy as np
from scipy.stats import beta

from pacbayes import Monitor, rows_needed
from pacbayes.certificates.monitor import MULTIPLES, Bets, bets_against

ALPHA, ROWS = 0.01, 10_000
BOUNDS = (0.01, 0.05, 0.2, 0.5)
PLANS = (
    (0.05, 0.08, 0.05, 0.8),
    (0.0, 0.02, 0.05, 0.8),
    (0.01, 0.03, 0.05, 0.9),
    (0.1, 0.2, 0.01, 0.95),
    (0.3, 0.5, 0.1, 0.5),
    (0.5, 0.9, 0.05, 0.8),
    (0.05, 0.3, 0.05, 0.2),
    (0.9, 0.99, 0.05, 0.8),
    (0.2, 0.25, 0.2, 0.6),
    (0.001, 0.02, 0.05, 0.8),
    (0.02, 0.03, 0.05, 0.9),
    (0.02, 0.05, 0.001, 0.99),
)


def alarms(bound, risks, runs, seed=0, bets=None, errors_first=False):
    """Return after how many rows each run has its alarm, infinity where it has none."""
    rng, found = np.random.default_rng(seed), np.full(runs, np.inf)
    for run in range(runs):
        wrong = rng.random(len(risks)) < risks
        if errors_first:
            wrong = np.sort(wrong.reshape(-1, 100), axis=1)[:, ::-1].ravel()
        monitor = Monitor(bound, ALPHA)
        if bets is not None:
            monitor._bets, monitor._capital = bets, np.zeros(bets.win.size)
        monitor.update_errors(wrong)
        found[run] = np.inf if monitor.alarm_at is None else monitor.alarm_at
    return found


def table(title, head, rows):
    print(f"\n{title}\n")
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(str(cell).rjust(width) for cell, width in zip(row, widths, strict=True)) + " |")


def percent(found):
    share = np.isfinite(found).mean()
    return f"{100 * share:.2f} +- {100 * np.sqrt(share * (1 - share) / found.size):.2f}"


def whole(value):
    return "more" if not np.isfinite(value) else f"{value:.0f}"


def false_alarms(runs):
    rows = [
        [bound, *(percent(alarms(bound, np.full(ROWS, part * bound), runs)) for part in (1.0, 0.8, 0.5))]
        for bound in BOUNDS
    ]
    table(f"False alarms in % of runs, {ROWS} rows, alpha 1 %", ["B", "risk B", "risk .8 B", "risk .5 B"], rows)


def delays(runs):
    rows = []
    for bound in BOUNDS:
        cells = [bound]
        for times, length in ((2.0, 20_000), (1.2, 200_000)):
            if times * bound < 1.0:
                found = alarms(bound, np.full(length, times * bound), runs // 10 if times < 2 else runs // 2)
                cells += [whole(np.quantile(found, one, method="higher")) for one in (0.5, 0.9)]
            else:
                cells += ["", ""]
        rows.append(cells)
    head = ["B", "2 B: median", "90 %", "1.2 B: median", "90 %"]
    table("Rows until an alarm", head, rows)


def changes(runs):
    rows = []
    for bound in (0.02, 0.05, 0.2):
        found = alarms(bound, np.repeat([0.6 * bound, 2 * bound], [3000, 2500]), runs // 2)
        late = found[np.isfinite(found)] - 3000
        rows.append([bound, percent(found), whole(np.median(late)), whole(np.quantile(late, 0.9))])
    head = ["B", "seen in % of runs", "rows after it: median", "90 %"]
    table("A change from .6 B to 2 B after 3000 rows, 2500 rows to see it", head, rows)


def faults(runs):
    bound, bets = 0.05, bets_against(0.05)
    below = np.array([1 / c for c in MULTIPLES])
    both = Bets(np.append(bets.lose, (1 - bound * below) / (1 - bound)), np.append(bets.win, below))
    single = [Bets(bets.lose[[k]], bets.win[[k]]) for k in range(len(MULTIPLES))]
    at = np.full(ROWS, bound)
    best = np.minimum.reduce([alarms(bound, at, runs, bets=one) for one in single])
    rows = [
        ["as it is", "B", percent(alarms(bound, at, runs))],
        ["bets below B too", ".8 B", percent(alarms(bound, 0.8 * at, runs // 4, bets=both))],
        ["errors first in a hundred rows", "B", percent(alarms(bound, at, runs // 4, errors_first=True))],
        ["the best bet afterwards", "B", percent(best)],
    ]
    table("Planted faults, B = 0.05: false alarms in % of runs", ["what", "risk", "false alarms"], rows)


def speed():
    wrong = np.random.default_rng(0).random(1_000_000) < 0.05
    Monitor(0.05).update_errors(wrong[:10])
    rows, ends = [], []
    for size in (1_000_000, 1000, 10, 1):
        number, monitor = min(wrong.size, 100_000 * size), Monitor(0.05)
        began = time.perf_counter()
        for start in range(0, number, size):
            monitor.update_errors(wrong[start : start + size])
        rows.append([size, number, f"{time.perf_counter() - began:.3f}"])
        ends.append(monitor.e_values[:100_000])
    table("Seconds", ["rows in a batch", "rows", "seconds"], rows)
    print(f"The same path, to the bit: {all(np.array_equal(one, ends[0]) for one in ends)}")


def plans(samples=20_000):
    rng, rows = np.random.default_rng(0), []
    for error, target, delta, chance in PLANS:
        began = time.perf_counter()
        m = rows_needed(error, target, delta=delta, chance=chance)
        took, shares = 1000 * (time.perf_counter() - began), []
        for number in (m, max(m - 1, 1)):
            k = rng.binomial(number, error, samples)
            upper = np.where(k < number, beta.ppf(1 - delta, k + 1, np.maximum(number - k, 1)), 1.0)
            shares.append(f"{100 * (upper <= target).mean():.1f}")
        rows.append([error, target, delta, f"{100 * chance:.0f} %", m, *shares, f"{took:.1f}"])
    head = ["error", "target", "delta", "chance", "rows", "reached %", "one row less %", "ms"]
    table("Rows needed, and how often the bound is at most the required one", head, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    false_alarms(runs)
    delays(runs)
    changes(runs)
    faults(runs)
    speed()
    plans()


if __name__ == "__main__":
    main()
