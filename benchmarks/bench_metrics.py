"""Bounds on recall, precision and F1 against the package `confidenceinterval`; betting against Chernoff bounds.

A fixed classifier with known probabilities of class and prediction is evaluated on 50, 200 and 1000 rows, repeatedly.
All bounds are lower bounds for the positive class at level 0.05: ours are exact, those of the package are the lower
ends of 90 % intervals (F1 by Takahashi's normal approximation, the others by Wilson's score).  "Misses" is the
percentage of samples with a bound above the true value (5 are allowed; +- is a standard error), "bound" the mean bound.

AUC: lower bounds at level 0.05 for normal scores with known AUC, on 100, 400 and 2000 rows: ours, DeLong's normal
approximation, the percentile of 200 bootstrap samples, and `confidenceinterval` with its default, DeLong's method.
"margin" is the mean distance of the bound from the true AUC.  With `--only-auc`, this part alone.

Groups: bounds on the mean over m groups of their error rates at level 0.05, with a bet fixed on as many other groups.
Simulated groups have ten rows, with error rates from a beta distribution.  Real rows are clusters of about eight
similar rows of a data set (banknote, spambase), with the bound for a soft vote of SVMs.

Run: python benchmarks/bench_metrics.py [--draws N] [--only-auc]
Needs `pip install confidenceinterval` for the comparison; without it only our bounds are shown.  A minute with 2000
draws, most of it for the package.
"""

import argparse
import importlib.util
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import binom, norm, rankdata
from sklearn.cluster import MiniBatchKMeans

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.bounds.auc import auc_lower, count_ordered_pairs
from pacbayes.bounds.bets import best_bet, bet_upper
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper

DELTA = 0.05
#: Probabilities of (class, prediction), from 00 to 11.
DISTRIBUTIONS = {
    "balanced, 10 % errors": (0.45, 0.05, 0.05, 0.45),
    "10 % positive": (0.87, 0.03, 0.03, 0.07),
    "nearly perfect": (0.69, 0.01, 0.01, 0.29),
}
INSTALLED = importlib.util.find_spec("confidenceinterval") is not None


def lower(count: int, rows: int) -> float:
    """Clopper-Pearson lower bound."""
    return 0.0 if rows == 0 else 1.0 - float(binomial_upper(rows - count, rows, DELTA))


def ours(counts: np.ndarray) -> dict[str, float]:
    """Our bounds from the counts of (class, prediction)."""
    _, false, missed, hits = counts.tolist()
    index = lower(hits, hits + missed + false)
    return {
        "recall": lower(hits, hits + missed),
        "precision": lower(hits, hits + false),
        "F1": 2.0 * index / (1.0 + index),
    }


def reference(counts: np.ndarray) -> dict[str, float]:
    """Bounds of confidenceinterval; 0 if it fails."""
    import confidenceinterval as ci

    y, y_pred = np.repeat([0, 0, 1, 1], counts), np.repeat([0, 1, 0, 1], counts)
    bounds_of = {}
    for name, score in (("recall", ci.tpr_score), ("precision", ci.ppv_score), ("F1", ci.f1_score)):
        options_of_score = {"average": "binary"} if name == "F1" else {}
        try:
            bounds_of[name] = float(
                np.nan_to_num(score(y, y_pred, confidence_level=1.0 - 2.0 * DELTA, **options_of_score)[1][0])
            )
        except (ValueError, ZeroDivisionError, IndexError):
            bounds_of[name] = 0.0
    return bounds_of


def compare(draws: int) -> None:
    """Print misses and mean bounds of both."""
    methods: dict[str, Callable[[np.ndarray], dict[str, float]]] = {"exact": ours}
    if INSTALLED:
        methods["confidenceinterval"] = reference
    print(f"{'distribution':<24}{'rows':>5}  {'risk':<10}" + "".join(f"{name:>22} misses   bound" for name in methods))
    for distribution, probabilities in DISTRIBUTIONS.items():
        _, false, missed, hits = probabilities
        truth = {"recall": hits / (hits + missed), "precision": hits / (hits + false)}
        truth["F1"] = 2 * hits / (2 * hits + false + missed)
        for m in (50, 200, 1000):
            samples = np.random.default_rng([m, 1]).multinomial(m, probabilities, draws)
            bounds_of = {name: [method(counts) for counts in samples] for name, method in methods.items()}
            for risk, true in truth.items():
                line = ""
                for name in methods:
                    bounds = np.array([counts[risk] for counts in bounds_of[name]])
                    misses = float((bounds > true).mean())
                    error = 100 * np.sqrt(misses * (1 - misses) / draws)
                    line += f"{100 * misses:>20.1f} +- {error:.1f} {bounds.mean():>9.3f}"
                print(f"{distribution:<24}{m:>5}  {risk:<10}{line}", flush=True)


def delong(positive: np.ndarray, negative: np.ndarray, rng: np.random.Generator) -> float:
    """DeLong's lower bound."""
    of_positive = rankdata(np.concatenate([positive, negative]))[: positive.size] - rankdata(positive)
    of_negative = positive.size - (rankdata(np.concatenate([negative, positive]))[: negative.size] - rankdata(negative))
    auc = float(of_positive.mean()) / negative.size
    variance = np.var(of_positive / negative.size, ddof=1) / positive.size
    variance += np.var(of_negative / positive.size, ddof=1) / negative.size
    return auc - float(norm.ppf(1.0 - DELTA) * np.sqrt(variance))


def bootstrap(positive: np.ndarray, negative: np.ndarray, rng: np.random.Generator) -> float:
    """Percentile of bootstrap samples within the classes."""
    resampled = [
        count_ordered_pairs(rng.choice(positive, positive.size), rng.choice(negative, negative.size))
        for _ in range(200)
    ]
    return float(np.quantile(resampled, DELTA)) / (positive.size * negative.size)


def reference_auc(positive: np.ndarray, negative: np.ndarray, rng: np.random.Generator) -> float:
    """Lower end of the 90 % interval of confidenceinterval."""
    import confidenceinterval as ci

    y = np.repeat([1, 0], [positive.size, negative.size])
    return float(ci.roc_auc_score(y, np.concatenate([positive, negative]), confidence_level=1.0 - 2.0 * DELTA)[1][0])


def compare_auc(draws: int) -> None:
    """Print misses and margins of lower bounds of the AUC."""
    methods: dict[str, Callable[[np.ndarray, np.ndarray, np.random.Generator], float]] = {
        "exact": lambda positive, negative, rng: auc_lower(positive, negative, DELTA, rng),
        "DeLong": delong,
        "bootstrap": bootstrap,
    }
    if INSTALLED:
        methods["confidenceinterval"] = reference_auc
    print(f"{'AUC':<6}{'positive':>9}{'rows':>6}" + "".join(f"{name:>20} misses  margin" for name in methods))
    for auc, share in ((0.7, 0.5), (0.88, 0.5), (0.88, 0.2), (0.97, 0.5), (0.97, 0.1)):
        distance = float(norm.ppf(auc) * np.sqrt(2.0))
        for m in (100, 400, 2000):
            bounds: dict[str, list[float]] = {name: [] for name in methods}
            for draw in range(draws):
                rng = np.random.default_rng([m, draw, 3])
                n = int(np.clip(rng.binomial(m, share), 2, m - 2))
                positive, negative = rng.normal(distance, size=n), rng.normal(size=m - n)
                for name, method in methods.items():
                    bounds[name].append(method(positive, negative, rng))
            line = ""
            for values in bounds.values():
                misses = float((np.array(values) > auc).mean())
                error = 100 * np.sqrt(misses * (1 - misses) / draws)
                line += f"{100 * misses:>18.1f} +- {error:.1f}{auc - np.mean(values):>9.3f}"
            print(f"{auc:<6}{100 * share:>7.0f} %{m:>6}{line}", flush=True)


def groups(draws: int) -> None:
    """Print betting bounds for simulated groups, relative to Chernoff bounds."""
    print("\nsimulated groups of ten rows; mean bound and misses (per cent)")
    for a, b in ((1.0, 9.0), (0.3, 2.7), (4.0, 36.0)):
        for m in (30, 60, 300):
            rng = np.random.default_rng([m, 2])
            shares = binom.rvs(10, rng.beta(a, b, (draws, 2, m)), random_state=rng) / 10
            bets = np.array([bet_upper(new, best_bet(old, m, DELTA), DELTA) for old, new in shares])
            chernoff = np.array([float(chernoff_upper([new.mean()], m, DELTA)[0]) for _, new in shares])
            misses = [100 * float((bounds < a / (a + b)).mean()) for bounds in (bets, chernoff)]
            both = f"bet {bets.mean():.4f} ({misses[0]:.1f})  Chernoff {chernoff.mean():.4f} ({misses[1]:.1f})"
            ratio = bets.mean() / chernoff.mean()
            print(f"Beta({a:g}, {b:g}), m = {m:<4} {both}  ratio {ratio:.3f}", flush=True)


def real_groups(splits: int) -> None:
    """Print betting and Chernoff bounds of a soft vote for clusters of similar rows."""
    print("\nreal rows, clusters of about eight as groups: soft vote of SVMs")
    for name in ("banknote", "spambase"):
        data = load_dataset(name)
        rows = np.random.default_rng(0).permutation(len(data.target))[:1400]
        X, y = np.asarray(data.data, dtype=float)[rows], np.asarray(data.target)[rows]
        clusters = MiniBatchKMeans(len(y) // 8, random_state=0, n_init=1).fit_predict(
            (X - X.mean(0)) / (X.std(0) + 1e-9)
        )
        bounds_of = []
        for seed in range(splits):
            clf = CertifiedClassifier("svm", random_state=seed).fit(X, y, groups=clusters)
            fitted = clf._fitted
            rule_errors = fitted.predictions.count_rule_errors(fitted.predictions.rule_predictions, fitted.plan.split)
            primary = fitted.plan.fixed_rules.index(fitted.plan.primary_rules["soft"])
            risk, level = rule_errors.risks[primary], clf.certificate_.level
            bounds_of.append((clf.certificate_.bound, float(chernoff_upper([risk], rule_errors.m, level)[0])))
        bet, chernoff = np.mean(bounds_of, axis=0)
        print(
            f"{name}: {fitted.plan.split.m} groups, bet {bet:.4f}, Chernoff {chernoff:.4f}, ratio {bet / chernoff:.3f}"
        )


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only-auc", action="store_true")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_auc(max(options.draws // 4, 2))
        if options.only_auc:
            return
        compare(options.draws)
        groups(max(options.draws // 4, 2))
        real_groups(options.splits)


if __name__ == "__main__":
    main()
