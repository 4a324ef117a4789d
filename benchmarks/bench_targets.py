"""Thresholds for recall, precision and false alarms: ours beside MAPIE's, on the same scores and validation rows.

Run with `python benchmarks/bench_targets.py [--divisions N] [--draws N]`, 0 to leave a part out; MAPIE is optional
(`pip install mapie`).

Twenty sets of rows, each divided several times into a third that trains a logistic regression, a third that validates
and a third that is only looked at.  For each target: in which share of divisions a threshold is found, and what the
other measure is there on the last third, its mean over the divisions in which all ways found one.  Then draws of scores
from a known distribution: in which share the threshold in use breaks a target.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes import Threshold
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold

try:
    from mapie.risk_control import BinaryClassificationController
except ImportError:
    BinaryClassificationController = None

DELTA = 0.1
# The target, and the measure that pays for it.
TARGETS = (
    (Threshold(recall=0.9), "precision"),
    (Threshold(precision=0.8), "recall"),
    (Threshold(fpr=0.1), "recall"),
    (Threshold(recall=0.7, precision=0.7), "f1"),
)
Scores = NDArray[np.float64]
Positive = NDArray[np.bool_]
#: From scores of training rows out of fold and which are positive, and those of validation rows, to a threshold.
Way = Callable[[Scores, Positive, Scores, Positive, Threshold], float | None]


def ours(
    train: Scores, train_positive: Positive, scores: Scores, positive: Positive, target: Threshold
) -> float | None:
    """Return the threshold that this library takes."""
    cuts = ThresholdGrid.from_scores(train, train_positive, 1)
    found = certify_threshold(cuts, ConfusionCounts.at(cuts.values, scores, positive), target, DELTA)
    return found.threshold if found.passed else None


def mapie(method: str) -> Way:
    """Return what takes MAPIE's threshold, of a hundred, by one of its ways to test many."""

    def way(
        train: Scores, train_positive: Positive, scores: Scores, positive: Positive, target: Threshold
    ) -> float | None:
        names, levels = list(target.asked), list(target.asked.values())
        # Rows are known by their numbers: training rows, then validation rows.
        known, n = np.concatenate([train, scores]), train.size
        controller = BinaryClassificationController(
            lambda rows: np.column_stack([1.0 - known[rows.ravel()], known[rows.ravel()]]),
            names if len(names) > 1 else names[0],
            levels if len(names) > 1 else levels[0],
            confidence_level=1.0 - DELTA,
            fwer_method=method,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == "split_fixed_sequence":
                controller.learn_fixed_sequence_order(np.arange(n)[:, None], train_positive.astype(int))
            controller.calibrate(np.arange(n, known.size)[:, None], positive.astype(int))
        best = controller.best_predict_param
        return None if best is None else float(best)

    return way


def ways() -> dict[str, Way]:
    """Return all ways to a threshold that are installed."""
    if BinaryClassificationController is None:
        print("MAPIE is not installed (pip install mapie): ours alone.")
        return {"ours": ours}
    # The second learns its order from the training rows, as we do.
    return {"ours": ours, "MAPIE": mapie("bonferroni_holm"), "MAPIE split": mapie("split_fixed_sequence")}


def sets() -> Iterator[tuple[str, Any, NDArray[np.int64]]]:
    """Yield twenty sets of rows with two classes."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, 1 - y
    X, y = datasets.load_digits(return_X_y=True)
    for digit in (1, 3, 5, 8, 9):
        # A few columns of noise beside a few pixels: all pixels would make it too easy.
        yield f"digit {digit}", X[:, 10:24], (y == digit).astype(int)
    X, y = datasets.make_moons(900, noise=0.35, random_state=0)
    yield "moons", X, y
    X, y = datasets.make_gaussian_quantiles(n_samples=900, n_features=4, n_classes=2, random_state=0)
    yield "quantiles", X**2, y
    for number, (share, apart) in enumerate((s, a) for s in (0.5, 0.7, 0.9) for a in (0.6, 1.0, 1.5, 2.5)):
        X, y = datasets.make_classification(
            900, 10, n_informative=5, weights=[share], class_sep=apart, random_state=number
        )
        yield f"made, {100 * share:g} % others, apart {apart:g}", X, y


def measures(scores: Scores, positive: Positive, threshold: float) -> dict[str, float]:
    """Return recall, precision, the false positive rate and F1 at a threshold."""
    said = scores >= threshold
    hits = int((said & positive).sum())
    recall, precision = hits / max(positive.sum(), 1), hits / max(said.sum(), 1)
    fpr = float((said & ~positive).sum() / max((~positive).sum(), 1))
    return {"recall": recall, "precision": precision, "fpr": fpr, "f1": 2 * hits / max(said.sum() + positive.sum(), 1)}


def print_found(divisions: int) -> None:
    """Print how often each way finds a threshold, and what that costs."""
    known = ways()
    found = {(name, target): 0 for name in known for target, _ in TARGETS}
    paid: dict[tuple[str, Threshold], list[float]] = {key: [] for key in found}
    runs = 0
    for _, X, y in sets():
        for seed in range(divisions):
            runs += 1
            X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=seed)
            X_val, X_test, y_val, y_test = train_test_split(rest, y_rest, train_size=1 / 2, random_state=seed)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
            train = cross_val_predict(model, X_train, y_train, method="predict_proba", cv=5)[:, 1]
            scores, test = (model.fit(X_train, y_train).predict_proba(rows)[:, 1] for rows in (X_val, X_test))
            for target, other in TARGETS:
                taken = {name: way(train, y_train == 1, scores, y_val == 1, target) for name, way in known.items()}
                for name, threshold in taken.items():
                    found[name, target] += threshold is not None
                    if None not in taken.values() and threshold is not None:
                        paid[name, target].append(measures(test, y_test == 1, threshold)[other])
    print(f"{runs} runs, delta {DELTA:g}: share that finds a threshold; the other measure where all do")
    for target, other in TARGETS:
        cells = [
            f"{name} {100 * found[name, target] / runs:.1f} %, {other} {np.mean(paid[name, target] or [np.nan]):.3f}"
            for name in known
        ]
        print(f"{target}: {'; '.join(cells)} (of {len(paid['ours', target])})")


def print_violations(draws: int) -> None:
    """Print how often a target is broken at the threshold in use, by normal scores whose measures are known."""
    apart, share, n = 1.5, 0.3, 200
    known = ways()
    print(f"{draws} draws of {n} validation rows, normal scores {apart:g} apart: share that breaks a target, finds one")
    for target, _ in TARGETS:
        broken, some = dict.fromkeys(known, 0), dict.fromkeys(known, 0)
        for seed in range(draws):
            rng = np.random.default_rng([seed, 5])
            positive = rng.random(2 * n) < share
            scores = norm.cdf((rng.normal(size=2 * n) + apart * positive - apart / 2) / 1.2)
            for name, way in known.items():
                threshold = way(scores[:n], positive[:n], scores[n:], positive[n:], target)
                if threshold is not None:
                    some[name] += 1
                    broken[name] += _breaks(target, 1.2 * norm.ppf(threshold) + apart / 2, apart, share)
        cells = [f"{name} {100 * broken[name] / draws:.1f} %, {100 * some[name] / draws:.1f} %" for name in known]
        print(f"{target}: {'; '.join(cells)}")


def _breaks(target: Threshold, cut: float, apart: float, share: float) -> bool:
    recall, fpr = norm.sf(cut - apart), norm.sf(cut)
    answered = share * recall + (1 - share) * fpr
    true = {"recall": recall, "fpr": fpr, "precision": share * recall / answered if answered > 0 else 1.0}
    return any((true[name] > goal) if name == "fpr" else (true[name] < goal) for name, goal in target.asked.items())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--divisions", type=int, default=10)
    parser.add_argument("--draws", type=int, default=500)
    options = parser.parse_args()
    if options.divisions:
        print_found(options.divisions)
    if options.draws:
        print_violations(options.draws)
