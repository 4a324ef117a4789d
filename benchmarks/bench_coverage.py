"""Selective classification: acceptance rates at maximum error rates, and scores of confidence.

Run with `python benchmarks/bench_coverage.py [--quick]`; `--splits N` for other than ten splits of each data set,
`--data NAME ...` and `--model NAME ...` for some of them, `--only decisions` or `--only scores` for one table.

The first table has, for nine data sets, the area under the curve of error rate against acceptance rate (test rows in
the order of a score, means over splits; smaller is better).  "used" is the score of the estimators: the lead of the
label's mean calibrated probability in the primary soft vote.  "votes" is the lead of the label's share of the weights.
The second table has acceptance rates for maximum error rates, and the error rates among accepted rows.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, load_dataset
from pacbayes.ensemble.calibration import compute_margins

DATA = ("wdbc", "ionosphere", "mammographic", "haberman", "banknote", "bupa", "waveform", "spambase", "mushroom")
# Data set and maximum error rate.
MAX_ERRORS = (("spambase", 0.03), ("haberman", 0.05), ("wdbc", 0.05), ("waveform", 0.05))


def forest(seed: int, **options: Any) -> CertifiedClassifier:
    """Forests of 100 trees with two minimum leaf sizes."""
    sizes = {"min_samples_leaf": [1, 2]}
    forests = Grid(RandomForestClassifier(100), sizes)
    return CertifiedClassifier(forests, voting="majority", validation_size=0.5, cv=3, random_state=seed, **options)


def trees(seed: int, **options: Any) -> CertifiedClassifier:
    """Vote of one hundred random trees."""
    tree = DecisionTreeClassifier(max_features="sqrt", splitter="random", min_samples_leaf=2)
    seeds = {"random_state": list(range(100))}
    many = Grid(tree, seeds)
    return CertifiedClassifier(many, voting="majority", validation_size=0.5, cv=3, random_state=seed, **options)


def svms(seed: int, **options: Any) -> StochasticSVC:
    """SVMs for 201 values of lambda."""
    return StochasticSVC(voting="majority", random_state=seed, **options)


MODELS: dict[str, Callable[..., Any]] = {"forests": forest, "100 trees": trees, "svm": svms}


def train_test_rows(name: str, seed: int) -> list[Any]:
    """Split into three quarters for fitting and one quarter for testing."""
    data = load_dataset(name)
    return list(train_test_split(data.data, data.target, test_size=0.25, random_state=seed))


def area(score: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    """Area under the error rate of accepted rows by acceptance rate; rows of equal score share their errors."""
    _, ranks = np.unique(-score, return_inverse=True)
    counts, errors = np.bincount(ranks), np.bincount(ranks, weights=wrong)
    spread = np.repeat(errors / counts, counts)
    return float((np.cumsum(spread) / np.arange(1, spread.size + 1)).mean())


def areas(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Areas of the score in use and of the vote shares, for the labels of the vote."""
    labels = model.predict(X)
    codes, rows = np.searchsorted(model.classes_, labels), np.arange(len(labels))
    used = model._fitted.confidence("majority", X)
    votes = compute_margins(model.vote_share(X))[rows, codes]
    return area(used, labels != y), area(votes, labels != y)


def print_scores(names: Sequence[str], models: Sequence[str], splits: int) -> None:
    print("area under error rate by acceptance rate, in percent: used / votes")
    print("data set".ljust(14) + "".join(name.rjust(18) for name in models))
    ratios: dict[str, list[float]] = {name: [] for name in models}
    for data in names:
        cells = []
        for name, make in ((name, MODELS[name]) for name in models):
            values = []
            for seed in range(splits):
                X, X_test, y, y_test = train_test_rows(data, seed)
                values.append(areas(make(seed, hedge=0).fit(X, y), X_test, y_test))
            used, votes = np.mean(values, axis=0)
            if votes > 0.0:
                ratios[name].append(used / votes)
            cells.append(f"{100 * used:.2f} / {100 * votes:.2f}")
        print(data.ljust(14) + "".join(cell.rjust(18) for cell in cells), flush=True)
    print("mean ratio".ljust(14) + "".join(f"{np.mean(ratios[name]):.2f}".rjust(18) for name in models))


def print_decisions(names: Sequence[str], models: Sequence[str], splits: int) -> None:
    print("\ndata set, maximum error rate, model: acceptance rate on test rows, error rate (mean over splits)")
    for data, max_error in [row for row in MAX_ERRORS if row[0] in names]:
        for name, make in ((name, MODELS[name]) for name in models):
            shares, errors = [], []
            for seed in range(splits):
                X, X_test, y, y_test = train_test_rows(data, seed)
                params: dict[str, Any] = {"max_error": max_error} if make is svms else {"decision": Abstain(max_error)}
                model = make(seed, hedge=0, **params).fit(X, y)
                accepted = model.accepts(X_test)
                shares.append(accepted.mean())
                errors += [(model.predict(X_test) != y_test)[accepted].mean()] if accepted.any() else []
            wrong = f"{100 * np.mean(errors):.2f} %" if errors else "none"
            nothing = sum(share == 0.0 for share in shares)
            result = f"accepted {100 * np.mean(shares):.1f} %, errors {wrong}, nothing accepted in {nothing}"
            print(f"{data}, {max_error}, {name}: {result} of {splits}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one split")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA, help="these data sets")
    parser.add_argument("--model", nargs="+", choices=list(MODELS), default=list(MODELS), help="these models")
    parser.add_argument("--only", choices=("decisions", "scores"), help="one of the tables")
    options = parser.parse_args()
    number = 1 if options.quick else options.splits
    if options.only != "scores":
        print_decisions(options.data, options.model, number)
    if options.only != "decisions":
        print_scores(options.data, options.model, number)
