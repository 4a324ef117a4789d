"""`StochasticSVC(kernel="nystroem")` on many rows: time, memory, and test errors of the approximation.

Run with `python benchmarks/bench_nystroem.py [--rows 200000] [--components 300] [--jobs 2] [--skip-datasets]
[--only-datasets]`, some minutes.  The fit has hedge=0.1, so that all SVMs are cross-validated, in its own process,
whose peak memory is printed.  Then fits with both kernels on the nine data sets of the paper: test errors of the
certified majority vote and of the stochastic classifier on a third of the rows, averaged over seeds: five, or two for
data sets of more than 2500 rows.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC, load_dataset
from pacbayes.paper.protocol import NINE

FEATURES = 20
# Rows from which a data set is large.
LARGE = 2500


def fit_many(rows: int, components: int, jobs: int | None) -> None:
    """Fit on so many rows and print what it took; for a process of its own."""
    X, y = make_classification(rows + 20_000, FEATURES, flip_y=0.1, random_state=0)
    # Compiled code is loaded before the clock starts.
    StochasticSVC([1.0], kernel="nystroem", cv=None, random_state=0).fit(X[:200], y[:200])
    before, started, worked = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        time.perf_counter(),
        time.process_time(),
    )
    model = StochasticSVC(kernel="nystroem", n_components=components, hedge=0.1, n_jobs=jobs, random_state=0)
    model.fit(X[:rows], y[:rows])
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bound, new = model.certificate_.bound, model.set_params(voting="majority").score(X[rows:], y[rows:])
    print(f"{rows} rows x {FEATURES} features, {components} landmarks, 201 lambdas, cv=5, n_jobs={jobs}")
    print(f"  {seconds:.0f} s by the clock, {worked:.0f} s of processor time ({worked / seconds:.2f} cores)")
    print(f"  peak memory {peak / 1e6:.2f} GB ({before / 1e6:.2f} GB of it before the fit)")
    print(f"  bound {bound:.4f}, error of the vote on 20000 new rows {1 - new:.4f}", flush=True)


def errors_of(kernel: str, components: int, seed: int, parts: list[np.ndarray]) -> list[float]:
    """Return the errors of both ways of predicting on new rows, and the processor time of the fit."""
    X, X_new, y, y_new = parts
    started = time.process_time()
    model = StochasticSVC(kernel=kernel, n_components=components, hedge=0.1, random_state=seed).fit(X, y)
    taken = time.process_time() - started
    errors = [1.0 - model.set_params(voting=voting).score(X_new, y_new) for voting in ("majority", "stochastic")]
    return [*errors, taken]


def compare(components: int, few: int, many: int) -> None:
    """Print errors of both kernels on rows that neither has seen, over `many` seeds, `few` for large data sets."""
    print("\n| data set | rows | seeds | vote, rbf | vote, nystroem | stochastic, rbf | stochastic, nystroem |", end="")
    print(" time, rbf / nystroem |\n|---|---|---|---|---|---|---|---|")
    differences = []
    for name in NINE:
        data = load_dataset(name)
        seeds = few if len(data.target) > LARGE else many
        found = np.zeros((seeds, 2, 3))
        for seed in range(seeds):
            parts = train_test_split(data.data, data.target, test_size=1 / 3, random_state=seed)
            for k, kernel in enumerate(("rbf", "nystroem")):
                found[seed, k] = errors_of(kernel, components, seed, parts)
        rbf, nystroem = found.mean(axis=0)
        differences.append(nystroem[:2] - rbf[:2])
        print(
            f"| {name} | {len(data.target)} | {seeds} | {rbf[0]:.4f} | {nystroem[0]:.4f} | {rbf[1]:.4f} | "
            f"{nystroem[1]:.4f} | {rbf[2] / nystroem[2]:.2f} |",
            flush=True,
        )
    (vote, stochastic), (vote_most, stochastic_most) = np.mean(differences, axis=0), np.max(differences, axis=0)
    print(f"nystroem - rbf on average: vote {vote:+.4f}, stochastic {stochastic:+.4f}", end="")
    print(f"; at most: vote {vote_most:+.4f}, stochastic {stochastic_most:+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--components", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--seeds", type=int, nargs=2, default=[2, 5], help="for large data sets and the others")
    parser.add_argument("--skip-datasets", action="store_true")
    parser.add_argument("--only-datasets", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        fit_many(options.rows, options.components, options.jobs)
        return
    if not options.only_datasets:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--inside"], check=True)
    if not options.skip_datasets:
        compare(options.components, *options.seeds)


if __name__ == "__main__":
    main()
