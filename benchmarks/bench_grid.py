"""Overhead of `grid_set` over its fits and predictions.

Run with `python benchmarks/bench_grid.py [--repeats N] [--cpu]`, a minute or two.  A bare loop, the same as joblib
tasks, and `grid_set` do the same work in one process: clone, set parameters, fit on the training rows, predict the
validation rows, count errors.  They alternate, and the minimum of N times is compared, since other work can only add
to it.  The loops limit BLAS to one thread, as `grid_set` always does.  With --cpu, processor time replaces wall-clock
time, on shared computers; it does not include waiting for the disk.

All classifiers with a random state have an integer: `grid_set` sets one where there is none, so that classifiers can be
trained again, and scikit-learn takes a quarter of a millisecond to create a generator from it.

The last line is the holdout choice of `CertifiedClassifier` for boosting, with three folds of two thirds of the
training rows each: cross-validation / fits, wall-clock time.  With equal thread limits it is about three times two
thirds.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pacbayes import CertifiedClassifier, Grid, grid_set

GRIDS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "100 forests of 20 trees": (
        RandomForestClassifier(20, random_state=0),
        {"max_depth": list(range(1, 11)), "max_features": list(range(1, 11))},
    ),
    "30 boostings of 20 trees": (
        GradientBoostingClassifier(n_estimators=20, random_state=0),
        {"learning_rate": np.geomspace(0.01, 1.0, 30).tolist()},
    ),
    "200 logistic regressions": (LogisticRegression(random_state=0), {"C": np.geomspace(1e-3, 1e3, 200).tolist()}),
    "200 trees": (DecisionTreeClassifier(random_state=0), {"min_samples_leaf": list(range(1, 201))}),
    "200 naive Bayes (the cheapest fit)": (GaussianNB(), {"var_smoothing": np.geomspace(1e-9, 1, 200).tolist()}),
}


def fit_and_count(estimator: Any, params: dict[str, Any], parts: list[Any]) -> int:
    X_train, y_train, X_validation, y_validation = parts
    clf = clone(estimator).set_params(**params).fit(X_train, y_train)
    return int(np.count_nonzero(clf.predict(X_validation) != y_validation))


def bare_loop(estimator: Any, grid: dict[str, list[Any]], parts: list[Any]) -> list[int]:
    with threadpool_limits(1):
        return [fit_and_count(estimator, params, parts) for params in ParameterGrid(grid)]


def joblib_loop(estimator: Any, grid: dict[str, list[Any]], parts: list[Any]) -> list[int]:
    with threadpool_limits(1):
        return list(
            Parallel(n_jobs=1)(delayed(fit_and_count)(estimator, params, parts) for params in ParameterGrid(grid))
        )


def seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    started = clock()
    work()
    return clock() - started


def cross_validation(rows: int) -> None:
    """Print how long the holdout choice takes beside the fits."""
    X, y = make_classification(rows, 20, n_informative=8, flip_y=0.05, random_state=0)
    grid = {"learning_rate": np.geomspace(0.02, 0.5, 12).tolist()}
    times = []
    for folds in (None, 3):
        family = Grid(HistGradientBoostingClassifier(), grid)
        model = CertifiedClassifier(family, validation_size=0.5, cv=folds, n_jobs=2, random_state=0)
        with parallel_config(backend="threading"):
            times.append(seconds(lambda m=model: m.fit(X, y), time.perf_counter))
    fits, both = times
    print(
        f"\n12 boostings, {rows} rows, two threads: fits {fits:.1f} s, cross-validation {both - fits:.1f} s, "
        f"ratio {(both - fits) / fits:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--only-cross-validation", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000, help="for the cross-validation")
    arguments = parser.parse_args()
    if arguments.only_cross_validation:
        cross_validation(arguments.rows)
        return
    repeats, clock = arguments.repeats, time.process_time if arguments.cpu else time.perf_counter
    X, y = make_classification(2000, 20, n_informative=8, flip_y=0.05, random_state=0)
    print(f"2000 rows, 20 features, shared split in halves; {'processor time' if arguments.cpu else 'wall clock'}\n")
    print("| grid | ms per classifier, bare loop | grid_set / bare loop | with a checkpoint / bare loop |", end="")
    print(" grid_set / joblib's loop |\n|---|---|---|---|---|")
    for name, (estimator, grid) in GRIDS.items():
        classifiers = grid_set(estimator, grid, X, y, random_state=0)
        train, validation = classifiers.splits(0)
        parts = [X[train], y[train], X[validation], y[validation]]
        assert bare_loop(estimator, grid, parts) == classifiers.errors.tolist()
        times = np.full((4, repeats), np.inf)
        for k in range(repeats):
            times[0, k] = seconds(lambda e=estimator, g=grid, p=parts: bare_loop(e, g, p), clock)
            times[3, k] = seconds(lambda e=estimator, g=grid, p=parts: joblib_loop(e, g, p), clock)
            times[1, k] = seconds(lambda e=estimator, g=grid: grid_set(e, g, X, y, random_state=0), clock)
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory, "run")
                times[2, k] = seconds(
                    lambda e=estimator, g=grid, d=path: grid_set(e, g, X, y, random_state=0, checkpoint=d),
                    clock,
                )
        bare, plain, stored, joblib = times.min(axis=1)
        print(
            f"| {name} | {1e3 * bare / len(classifiers):.2f} | {plain / bare:.3f} | {stored / bare:.3f} | "
            f"{plain / joblib:.3f} |",
            flush=True,
        )
    cross_validation(arguments.rows)


if __name__ == "__main__":
    main()
