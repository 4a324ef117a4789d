"""StochasticSVC against GridSearchCV(SVC): time to fit, and test errors.

Times: `StochasticSVC(grid).fit(X, y)` with 1990 values of lambda, including its holdout baseline, against
`GridSearchCV(make_pipeline(StandardScaler(), SVC()), C = 1/lambda, cv=5).fit(X, y)`, which is timed on 20 of the
values, evenly spread, without its final refit, and scaled up to 1990; the refit is then added once.  Both on one core
and in processor seconds, medians of three (one for GridSearchCV), in one run.

Errors: over 20 splits of each data set into 80 % and 20 %, the test errors of three voting rules and of GridSearchCV
with 60 values on the same range, which refits its choice on all rows.  StochasticSVC trains on half of the rows and
validates on the others, since a refitted classifier would have no certificate.

Wdbc is real; waveform is simulated by its generator (two of the three classes).

Run: python benchmarks/bench_estimator.py [--quick]
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pacbayes import StochasticSVC

GRID = np.round(np.arange(10, 2000) / 100.0, 2)
PROBES = GRID[np.linspace(0, GRID.size - 1, 20).astype(int)]
CHOICES = np.geomspace(0.1, 19.99, 60)


def waveform(n, rng):
    """Return fresh rows of the generator: `load_dataset("waveform")` has no 100 000 of them to predict."""
    x = np.arange(1, 22)
    peaks = [np.maximum(6 - np.abs(x - centre), 0) for centre in (7, 15, 11)]
    y = rng.integers(0, 2, n)
    u = rng.random((n, 1))
    return u * peaks[0] + (1 - u) * np.where(y[:, None] == 0, peaks[1], peaks[2]) + rng.normal(size=(n, 21)), y


def timed(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return float(np.median(times)), result


def search(lambdas, **choices):
    pipeline = make_pipeline(StandardScaler(), SVC(cache_size=500))
    return GridSearchCV(pipeline, {"svc__C": (1 / lambdas).tolist()}, cv=5, n_jobs=1, **choices)


def speed(name, X, y):
    ours, clf = timed(lambda: StochasticSVC(GRID, n_jobs=1, random_state=0).fit(X, y), 3)
    probes, _ = timed(lambda: search(PROBES, refit=False).fit(X, y), 1)
    refit, _ = timed(lambda: make_pipeline(StandardScaler(), SVC()).fit(X, y), 1)
    theirs = probes * GRID.size / PROBES.size + refit
    print(
        f"{name:<10} n = {len(y):<6} StochasticSVC {ours:8.3f} s   GridSearchCV {theirs:9.1f} s   "
        f"{theirs / ours:6.0f} times faster   certificate {clf.certificate_.bound:.4f}"
    )


def errors(name, X, y, splits):
    names = ("stochastic", "majority", "best", "GridSearchCV")
    table = np.empty((splits, len(names)))
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=split)
        clf = StochasticSVC(GRID, n_jobs=1, cv=None, random_state=split).fit(X_train, y_train)
        for column, voting in enumerate(names[:3]):
            table[split, column] = np.mean(clf.set_params(voting=voting).predict(X_test) != y_test)
        table[split, 3] = np.mean(search(CHOICES).fit(X_train, y_train).predict(X_test) != y_test)
    print(f"{name}: mean test error over {splits} splits (standard error), and how often GridSearchCV errs less")
    for column, title in enumerate(names):
        mean, error = table[:, column].mean(), table[:, column].std(ddof=1) / np.sqrt(splits)
        less = "" if column == 3 else f"   {int((table[:, 3] < table[:, column]).sum())} of {splits}"
        print(f"  {title:<14}{mean:8.4f} ({error:.4f}){less}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 splits of Wdbc and 300 rows of waveform for the errors")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    samples = {"Wdbc": load_breast_cancer(return_X_y=True), "waveform": waveform(3308, rng)}
    with threadpool_limits(1):
        StochasticSVC([1.0]).fit(*samples["Wdbc"])  # compile
        for name, (X, y) in samples.items():
            speed(name, X, y)
        for name, (X, y) in samples.items():
            # A search on all rows of waveform takes minutes for each split.
            rows = slice(None, 300 if quick else 1000)
            errors(name, X[rows], y[rows], 3 if quick else 20)


if __name__ == "__main__":
    main()
