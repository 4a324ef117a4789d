"""Predictions of StochasticSVC on 100 000 rows against one SVC with as many support vectors.

The SVC is scikit-learn's, trained on so many rows of the same data that it has as many support vectors as all SVMs with
posterior weight together (for "best": as the one SVM).  Both on one core, in processor seconds, medians of three, in
one run; the time of StochasticSVC includes checks, scaling and the hash of every row.

Then the default vote of CertifiedClassifier on a data frame of 5822 rows and 85 columns of small whole numbers, which
is the shape of Caravan (`--caravan FILE` for the data themselves, of the package ISLP): one row, and 100 000 rows.  The
ratio is to `predict_proba` of the members with weight other than SVMs, called one after the other.

Run: python benchmarks/bench_predict.py [--quick] [--default] [--caravan FILE.csv]
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bench_estimator import GRID, timed, waveform
from pacbayes import CertifiedClassifier, StochasticSVC


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


def like_caravan(rng):
    """Draw 5822 rows of 85 whole numbers, of which 6 % are of the second class."""
    factors = rng.normal(size=(5822, 12))
    X = np.clip(np.round(2 + factors @ rng.normal(size=(12, 85)) / 2 + rng.normal(size=(5822, 85)) / 2), 0, 9)
    score = factors[:, 0] + rng.normal(size=5822)
    y = np.where(score > np.quantile(score, 0.94), "Yes", "No")
    return pd.DataFrame(X.astype(np.int64)).add_prefix("x"), y


def default_vote(X, y, n):
    clf = CertifiedClassifier(n_jobs=1, random_state=0).fit(X, y)
    members = [clf.classifiers_[int(i)] for i in np.flatnonzero(clf.weights_)]
    others = [member for member in members if hasattr(member, "predict_proba")]
    rows = X.iloc[np.random.default_rng(3).integers(0, len(X), n)].reset_index(drop=True)
    print(f"default vote: {len(X)} rows, {X.shape[1]} columns, {len(members)} members with weight")
    for number, repeats in ((1, 50), (n, 3)):
        new = rows[:number]
        ours, _ = timed(lambda new=new: clf.predict(new), repeats)
        alone, _ = timed(lambda new=new: [other.predict_proba(new) for other in others], repeats)
        print(f"  {number:>6} rows {1000 * ours:9.1f} ms: ratio {ours / alone:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 000 rows")
    parser.add_argument("--default", action="store_true", help="the default vote only")
    parser.add_argument("--caravan", metavar="FILE.csv", help="Caravan as a table with the target Purchase")
    options = parser.parse_args()
    n = 10_000 if options.quick else 100_000
    if options.caravan is None:
        table, labels = like_caravan(np.random.default_rng(0))
    else:
        table = pd.read_csv(options.caravan)
        labels = table.pop("Purchase")
    with threadpool_limits(1):
        default_vote(table, labels, n)
        if options.default:
            return
        compare("Wdbc", *load_breast_cancer(return_X_y=True), n)
        compare("waveform", *waveform(3308, np.random.default_rng(0)), n)


if __name__ == "__main__":
    main()
