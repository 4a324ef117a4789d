"""Thresholds for recall, precision and false positive rate: ours and MAPIE's, on the same scores and validation rows.

Run with `python benchmarks/bench_thresholds.py [--splits N] [--draws N]`, 0 to omit a part; MAPIE is optional
(`pip install mapie`).

Twenty data sets, each split several times into thirds: one trains a logistic regression, one is the validation set, one
the test set.  For each requirement: the share of splits in which a threshold is found, and the other measure on the
test set, averaged over the splits in which all methods find one.  Then draws of scores from a known distribution: the
share in which the threshold in use violates the requirement.
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
# Decision rules, and the measure that they trade off.
DECISIONS = (
    (Threshold(recall=0.9), "precision"),
    (Threshold(precision=0.8), "recall"),
    (Threshold(fpr=0.1), "recall"),
    (Threshold(recall=0.7, precision=0.7), "f1"),
)
Scores = NDArray[np.float64]
Positive = NDArray[np.bool_]
#: A threshold from out-of-fold scores of training rows, scores of validation rows, and masks of positive rows.
Method = Callable[[Scores, Positive, Scores, Positive, Threshold], float | None]


def ours(
    train: Scores, train_positive: Positive, scores: Scores, positive: Positive, decision: Threshold
) -> float | None:
    """Threshold of this library."""
    grid = ThresholdGrid.from_scores(train, train_positive, 1)
    found = certify_threshold(grid, ConfusionCounts.from_scores(grid.values, scores, positive), decision, DELTA)
    return found.threshold if found.passed else None


def mapie(fwer_method: str) -> Method:
    """MAPIE's threshold, of a hundred, by one of its multiple tests."""

    def method(
        train: Scores, train_positive: Positive, scores: Scores, positive: Positive, decision: Threshold
    ) -> float | None:
        names, levels = list(decision.required), list(decision.required.values())
        # Rows are represented by their indices: training rows, then validation rows.
        known_scores, n = np.concatenate([train, scores]), train.size
        controller = BinaryClassificationController(
            lambda rows: np.column_stack([1.0 - known_scores[rows.ravel()], known_scores[rows.ravel()]]),
            names if len(names) > 1 else names[0],
            levels if len(names) > 1 else levels[0],
            confidence_level=1.0 - DELTA,
            fwer_method=fwer_method,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if fwer_method == "split_fixed_sequence":
                controller.learn_fixed_sequence_order(np.arange(n)[:, None], train_positive.astype(int))
            controller.calibrate(np.arange(n, known_scores.size)[:, None], positive.astype(int))
        best = controller.best_predict_param
        return None if best is None else float(best)

    return method


def methods() -> dict[str, Method]:
    """Installed methods."""
    if BinaryClassificationController is None:
        print("MAPIE is not installed (pip install mapie): only ours.")
        return {"ours": ours}
    # MAPIE split learns its order from the training rows, as ours does.
    return {"ours": ours, "MAPIE": mapie("bonferroni_holm"), "MAPIE split": mapie("split_fixed_sequence")}


def data_sets() -> Iterator[tuple[str, Any, NDArray[np.int64]]]:
    """Yield twenty data data_sets with two classes."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, 1 - y
    X, y = datasets.load_digits(return_X_y=True)
    for digit in (1, 3, 5, 8, 9):
        # Only some of the pixels, since all of them would be too easy.
        yield f"digit {digit}", X[:, 10:24], (y == digit).astype(int)
    X, y = datasets.make_moons(900, noise=0.35, random_state=0)
    yield "moons", X, y
    X, y = datasets.make_gaussian_quantiles(n_samples=900, n_features=4, n_classes=2, random_state=0)
    yield "quantiles", X**2, y
    for number, (share, apart) in enumerate((s, a) for s in (0.5, 0.7, 0.9) for a in (0.6, 1.0, 1.5, 2.5)):
        X, y = datasets.make_classification(
            900, 10, n_informative=5, weights=[share], class_sep=apart, random_state=number
        )
        yield f"simulated, {100 * share:g} % others, apart {apart:g}", X, y


def measures(scores: Scores, positive: Positive, threshold: float) -> dict[str, float]:
    """Recall, precision, false positive rate and F1 at a threshold."""
    predicted = scores >= threshold
    hits = int((predicted & positive).sum())
    recall, precision = hits / max(positive.sum(), 1), hits / max(predicted.sum(), 1)
    fpr = float((predicted & ~positive).sum() / max((~positive).sum(), 1))
    return {
        "recall": recall,
        "precision": precision,
        "fpr": fpr,
        "f1": 2 * hits / max(predicted.sum() + positive.sum(), 1),
    }


def print_success(splits: int) -> None:
    """Print how often each method finds a threshold, and the other measure there."""
    installed = methods()
    found = {(name, decision): 0 for name in installed for decision, _ in DECISIONS}
    others: dict[tuple[str, Threshold], list[float]] = {key: [] for key in found}
    runs = 0
    for _, X, y in data_sets():
        for seed in range(splits):
            runs += 1
            X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=seed)
            X_val, X_test, y_val, y_test = train_test_split(rest, y_rest, train_size=1 / 2, random_state=seed)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
            train = cross_val_predict(model, X_train, y_train, method="predict_proba", cv=5)[:, 1]
            scores, test = (model.fit(X_train, y_train).predict_proba(rows)[:, 1] for rows in (X_val, X_test))
            for decision, other in DECISIONS:
                thresholds = {
                    name: method(train, y_train == 1, scores, y_val == 1, decision)
                    for name, method in installed.items()
                }
                for name, threshold in thresholds.items():
                    found[name, decision] += threshold is not None
                    if None not in thresholds.values() and threshold is not None:
                        others[name, decision].append(measures(test, y_test == 1, threshold)[other])
    print(f"{runs} runs, delta {DELTA:g}: share of runs with a threshold; the other measure if all methods have one")
    for decision, other in DECISIONS:
        cells = [
            f"{name} {100 * found[name, decision] / runs:.1f} %, "
            f"{other} {np.mean(others[name, decision] or [np.nan]):.3f}"
            for name in installed
        ]
        print(f"{decision}: {'; '.join(cells)} (of {len(others['ours', decision])})")


def print_violations(draws: int) -> None:
    """Print how often the threshold in use violates the requirement, for normal scores with known_scores measures."""
    apart, share, n = 1.5, 0.3, 200
    installed = methods()
    print(f"{draws} draws of {n} validation rows, normal scores {apart:g} apart: violations, draws with a threshold")
    for decision, _ in DECISIONS:
        broken, some = dict.fromkeys(installed, 0), dict.fromkeys(installed, 0)
        for seed in range(draws):
            rng = np.random.default_rng([seed, 5])
            positive = rng.random(2 * n) < share
            scores = norm.cdf((rng.normal(size=2 * n) + apart * positive - apart / 2) / 1.2)
            for name, method in installed.items():
                threshold = method(scores[:n], positive[:n], scores[n:], positive[n:], decision)
                if threshold is not None:
                    some[name] += 1
                    broken[name] += _breaks(decision, 1.2 * norm.ppf(threshold) + apart / 2, apart, share)
        cells = [f"{name} {100 * broken[name] / draws:.1f} %, {100 * some[name] / draws:.1f} %" for name in installed]
        print(f"{decision}: {'; '.join(cells)}")


def _breaks(decision: Threshold, cut: float, apart: float, share: float) -> bool:
    recall, fpr = norm.sf(cut - apart), norm.sf(cut)
    predicted_positive = share * recall + (1 - share) * fpr
    true = {
        "recall": recall,
        "fpr": fpr,
        "precision": share * recall / predicted_positive if predicted_positive > 0 else 1.0,
    }
    return any(
        (true[name] > required) if name == "fpr" else (true[name] < required)
        for name, required in decision.required.items()
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=500)
    options = parser.parse_args()
    if options.splits:
        print_success(options.splits)
    if options.draws:
        print_violations(options.draws)
