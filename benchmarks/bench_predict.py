"""Predictions of StochasticSVC on 100 000 rows against one SVC with as many support vectors.

The SVC is scikit-learn's, trained on so many rows of the same data that it has as many support vectors as all SVMs with
posterior weight together (for "best": as the one SVM).  Both on one core, in processor seconds, medians of three, in
one run; the time of StochasticSVC includes checks, scaling and the hash of every row.

Run: python benchmarks/bench_predict.py [--quick]
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bench_estimator import GRID, timed, waveform
from pacbayes import StochasticSVC


def svc_with(number, X):
    """Train an SVC with that many support vectors: with a tiny C and balanced labels every row is one."""
    rows = np.random.default_rng(1).permutation(len(X))[:number]
    return SVC(C=1e-3, gamma=1 / X.shape[1]).fit(X[rows], np.arange(number) % 2)


def compare(name, X, y, n):
    clf = StochasticSVC(GRID, n_jobs=1, cv=None, random_state=0).fit(X, y)
    rng = np.random.default_rng(2)
    new = X[rng.integers(0, len(X), n)] + 0.01 * rng.normal(size=(n, X.shape[1])) * X.std(axis=0)
    (svms,) = clf.classifiers_.members.svms  # of one width
    used = clf.posterior_.weights > 0
    together = max(int(pair.path.dual_coef[used].any(axis=0).sum()) for pair in svms.pairs)
    single = len(clf.classifiers_[clf.best_index_].support_vectors_)
    print(f"{name}: {n} rows, {X.shape[1]} features, {int(used.sum())} SVMs with weight")
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    new_scaled = (new - X.mean(axis=0)) / X.std(axis=0)
    for voting, number in (("stochastic", together), ("best", single), ("majority", together)):
        svc = svc_with(number, scaled)
        reference, _ = timed(lambda svc=svc: svc.predict(new_scaled), 3)
        clf.set_params(voting=voting)
        ours, _ = timed(lambda: clf.predict(new), 3)
        print(
            f"  {voting:<11} {ours:7.2f} s; SVC with {len(svc.support_vectors_):>5} support vectors {reference:7.2f} "
            f"s: ratio {ours / reference:.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 000 rows")
    n = 10_000 if parser.parse_args().quick else 100_000
    with threadpool_limits(1):
        compare("Wdbc", *load_breast_cancer(return_X_y=True), n)
        compare("waveform", *waveform(3308, np.random.default_rng(0)), n)


if __name__ == "__main__":
    main()
