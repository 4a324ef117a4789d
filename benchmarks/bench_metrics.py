"""Bounds on recall, precision and F1 against the package `confidenceinterval`; betting against Chernoff bounds.

A fixed classifier with known probabilities of class and prediction is evaluated on 50, 200 and 1000 rows, repeatedly.
All bounds are lower bounds for the positive class at level 0.05: ours are exact, those of the package are the lower
ends of 90 % intervals (F1 by Takahashi's normal approximation, the others by Wilson's score).  "Misses" is the
percentage of samples with a bound above the true value (5 are allowed; +- is a standard error), "bound" the mean bound.

Groups: bounds on the mean over m groups of their error rates at level 0.05, with a bet fixed on as many other groups.
Simulated groups have ten rows, with error rates from a beta distribution.  Real rows are clusters of about eight
similar rows of a data set (banknote, spambase), with the bound for a soft vote of SVMs.

Run: python benchmarks/bench_metrics.py [--draws N]
Needs `pip install confidenceinterval` for the comparison; without it only our bounds are shown.  A minute with 2000
draws, most of it for the package.
"""

import argparse
import importlib.util
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import binom
from sklearn.cluster import MiniBatchKMeans

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.bounds.bets import best_bet, bet_upper
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper

DELTA = 0.05
#: The probabilities of (class, answer), from 00 to 11.
LAWS = {
    "balanced, 10 % errors": (0.45, 0.05, 0.05, 0.45),
    "one in ten positive": (0.87, 0.03, 0.03, 0.07),
    "nearly perfect": (0.69, 0.01, 0.01, 0.29),
}
HAVE = importlib.util.find_spec("confidenceinterval") is not None


def lower(count: int, rows: int) -> float:
    """Return the exact lower limit."""
    return 0.0 if rows == 0 else 1.0 - float(binomial_upper(rows - count, rows, DELTA))


def ours(counts: np.ndarray) -> dict[str, float]:
    """Return our limits from the counts of (class, answer)."""
    _, false, missed, hits = counts.tolist()
    index = lower(hits, hits + missed + false)
    return {
        "recall": lower(hits, hits + missed),
        "precision": lower(hits, hits + false),
        "F1": 2.0 * index / (1.0 + index),
    }


def theirs(counts: np.ndarray) -> dict[str, float]:
    """Return the limits of confidenceinterval; what it cannot compute counts as 0."""
    import confidenceinterval as ci

    y, said = np.repeat([0, 0, 1, 1], counts), np.repeat([0, 1, 0, 1], counts)
    found = {}
    for name, score in (("recall", ci.tpr_score), ("precision", ci.ppv_score), ("F1", ci.f1_score)):
        more = {"average": "binary"} if name == "F1" else {}
        try:
            found[name] = float(np.nan_to_num(score(y, said, confidence_level=1.0 - 2.0 * DELTA, **more)[1][0]))
        except (ValueError, ZeroDivisionError, IndexError):
            found[name] = 0.0
    return found


def compare(draws: int) -> None:
    """Print misses and mean limits of both."""
    methods: dict[str, Callable[[np.ndarray], dict[str, float]]] = {"exact": ours}
    if HAVE:
        methods["confidenceinterval"] = theirs
    print(f"{'law':<24}{'rows':>5}  {'risk':<10}" + "".join(f"{name:>22} misses   limit" for name in methods))
    for law, chances in LAWS.items():
        _, false, missed, hits = chances
        truth = {"recall": hits / (hits + missed), "precision": hits / (hits + false)}
        truth["F1"] = 2 * hits / (2 * hits + false + missed)
        for m in (50, 200, 1000):
            samples = np.random.default_rng([m, 1]).multinomial(m, chances, draws)
            found = {name: [method(one) for one in samples] for name, method in methods.items()}
            for risk, true in truth.items():
                line = ""
                for name in methods:
                    limits = np.array([one[risk] for one in found[name]])
                    misses = float((limits > true).mean())
                    error = 100 * np.sqrt(misses * (1 - misses) / draws)
                    line += f"{100 * misses:>20.1f} +- {error:.1f} {limits.mean():>9.3f}"
                print(f"{law:<24}{m:>5}  {risk:<10}{line}", flush=True)


def groups(draws: int) -> None:
    """Print the limits of bets, as parts of Chernoff's, for simulated groups."""
    print("\nsimulated groups of ten rows; mean limit and misses (per cent)")
    for a, b in ((1.0, 9.0), (0.3, 2.7), (4.0, 36.0)):
        for m in (30, 60, 300):
            rng = np.random.default_rng([m, 2])
            shares = binom.rvs(10, rng.beta(a, b, (draws, 2, m)), random_state=rng) / 10
            bets = np.array([bet_upper(new, best_bet(old, m, DELTA), DELTA) for old, new in shares])
            chernoff = np.array([float(chernoff_upper([new.mean()], m, DELTA)[0]) for _, new in shares])
            misses = [100 * float((limits < a / (a + b)).mean()) for limits in (bets, chernoff)]
            both = f"bet {bets.mean():.4f} ({misses[0]:.1f})  Chernoff {chernoff.mean():.4f} ({misses[1]:.1f})"
            ratio = bets.mean() / chernoff.mean()
            print(f"Beta({a:g}, {b:g}), m = {m:<4} {both}  ratio {ratio:.3f}", flush=True)


def real_groups(divisions: int) -> None:
    """Print the bounds of a soft vote for clusters of like rows, by the bet and by Chernoff."""
    print("\nreal rows, clusters of about eight as groups: soft vote of support vector machines")
    for name in ("banknote", "spambase"):
        data = load_dataset(name)
        some = np.random.default_rng(0).permutation(len(data.target))[:1400]
        X, y = np.asarray(data.data, dtype=float)[some], np.asarray(data.target)[some]
        clusters = MiniBatchKMeans(len(y) // 8, random_state=0, n_init=1).fit_predict(
            (X - X.mean(0)) / (X.std(0) + 1e-9)
        )
        found = []
        for seed in range(divisions):
            clf = CertifiedClassifier("svm", random_state=seed).fit(X, y, groups=clusters)
            fitted = clf._fitted
            own = fitted.predictions.count_rule_errors(fitted.predictions.rule_predictions, fitted.plan.split)
            place = fitted.plan.primary("soft")
            found.append((clf.certificate_.bound, float(own[place].upper(clf.certificate_.level)[0])))
        bet, chernoff = np.mean(found, axis=0)
        print(
            f"{name}: {fitted.plan.split.m} groups, bet {bet:.4f}, Chernoff {chernoff:.4f}, ratio {bet / chernoff:.3f}"
        )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--divisions", type=int, default=3)
    choices = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(choices.draws)
        groups(max(choices.draws // 4, 2))
        real_groups(choices.divisions)


if __name__ == "__main__":
    main()
