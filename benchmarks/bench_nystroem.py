"""Many rows: `StochasticSVC(kernel="nystroem")`, its time and memory, and what the approximation costs in errors.

Run with `python benchmarks/bench_nystroem.py [--rows 200000] [--components 300] [--jobs 2] [--skip-datasets]`, some
minutes.  The fit is the default one, cross-validation included, in a process of its own, whose largest memory is what
is printed.  Then both kernels on the nine data sets of the paper: the error of the majority vote, and the mean error of
the stochastic classifier, on a third of the rows, which neither has seen, averaged over seeds.
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
    model = StochasticSVC(kernel="nystroem", n_components=components, n_jobs=jobs, random_state=0)
    model.fit(X[:rows], y[:rows])
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bound, new = model.certificate_.bound, model.set_params(voting="majority").score(X[rows:], y[rows:])
    print(f"{rows} rows x {FEATURES} features, {components} landmarks, 201 lambdas, cv=5, n_jobs={jobs}")
    print(f"  {seconds:.0f} s by the clock, {worked:.0f} s of processor time ({worked / seconds:.2f} cores)")
    print(f"  peak memory {peak / 1e6:.2f} GB ({before / 1e6:.2f} GB of it before the fit)")
    print(f"  bound {bound:.4f}, error of the vote on 20000 new rows {1 - new:.4f}", flush=True)


def compare(components: int, seeds: int) -> None:
    """Print errors of both kernels on rows that neither has seen."""
    print("\n| data set | rows | vote, rbf | vote, nystroem | stochastic, rbf | stochastic, nystroem | time ratio |")
    print("|---|---|---|---|---|---|---|")
    differences = []
    for name in NINE:
        data = load_dataset(name)
        found = np.zeros((seeds, 2, 3))
        for seed in range(seeds):
            X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=1 / 3, random_state=seed)
            for k, kernel in enumerate(("rbf", "nystroem")):
                model = StochasticSVC(
                    kernel=kernel, n_components=components, voting="majority", cv=None, random_state=seed
                )
                started = time.process_time()
                model.fit(X, y)
                taken = time.process_time() - started
                wrong = (model.classifiers_.predict(X_new) != y_new).mean(axis=1)
                found[seed, k] = 1.0 - model.score(X_new, y_new), model.posterior_.weights @ wrong, taken
        rbf, nystroem = found.mean(axis=0)
        differences.append(nystroem[:2] - rbf[:2])
        print(
            f"| {name} | {len(data.target)} | {rbf[0]:.4f} | {nystroem[0]:.4f} | {rbf[1]:.4f} | {nystroem[1]:.4f} | "
            f"{rbf[2] / nystroem[2]:.1f} |",
            flush=True,
        )
    vote, stochastic = np.mean(differences, axis=0)
    print(f"nystroem - rbf on average: vote {vote:+.4f}, stochastic {stochastic:+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--components", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=3, help="for the data sets")
    parser.add_argument("--skip-datasets", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        fit_many(options.rows, options.components, options.jobs)
        return
    subprocess.run([sys.executable, __file__, *sys.argv[1:], "--inside"], check=True)
    if not options.skip_datasets:
        compare(options.components, options.seeds)


if __name__ == "__main__":
    main()
