"""1990 support vector machines by `svm_path` against loops of scikit-learn's SVC.

Prints ratios of medians of three, on one core for both and in processor time, which other work on the computer hardly
affects.  The grid is 0.1, 0.11, ..., 19.99; each side trains on m rows and predicts as many others.  The loops are
timed on 20 lambdas, evenly spread, and scaled up to 1990.

  loop         SVC(C, gamma).fit(X, y).predict(X_new) for every lambda
  precomputed  the best use of SVC: one kernel matrix, kernel="precomputed", predictions as one matrix product
  10 x         the time for 19900 lambdas on the same range over the time for 1990, for svm_path and with predictions

Then, for independent splits, `svm_set` against a plain loop of StandardScaler and SVC, on the same number of cores
(threads and joblib processes), with the same splits and kernel widths, predicting the same validation rows.

The data sets are four of the paper's, with its training sizes: Wdbc, Waveform, Spambase and Mushroom.

Run: python benchmarks/bench_svm_path.py [--quick]
"""

import argparse
import sys
import time

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pacbayes import load_dataset, sigest, svm_path, svm_set
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.one_vs_one import path_scores

GRID = np.round(np.arange(10, 2000) / 100.0, 2)
PROBES = np.linspace(0, GRID.size - 1, 20).astype(int)


SIZES = {"wdbc": 227, "waveform": 1323, "spambase": 1840, "mushroom": 2257}


def samples(quick):
    for name in list(SIZES)[: 2 if quick else 4]:
        data = load_dataset(name)
        yield name, data.data, data.target, SIZES[name]


def timed(function, repeats=3, clock=time.process_time):
    """Return the median of the times and the last result."""
    times, result = [], None
    for _ in range(repeats):
        result = None  # its memory free again, as before the first
        start = clock()
        result = function()
        times.append(clock() - start)
    return float(np.median(times)), result


def ours(X, signs, new, gamma, lambdas):
    kernel = Kernel("rbf", gamma)
    path = svm_path(kernel.gram(X), signs, lambdas)
    return path_scores(path, 1.0).positive(kernel.between(X, new))


def svc_loop(X, signs, new, gamma):
    return np.array([SVC(C=1 / GRID[h], gamma=gamma).fit(X, signs).predict(new) > 0 for h in PROBES])


def svc_precomputed(K, signs):
    coefs, intercepts = np.zeros((PROBES.size, len(signs))), np.empty(PROBES.size)
    for row, h in enumerate(PROBES):
        machine = SVC(C=1 / GRID[h], kernel="precomputed").fit(K, signs)
        coefs[row, machine.support_] = machine.dual_coef_[0]
        intercepts[row] = machine.intercept_[0]
    return coefs, intercepts


def shared(name, X, y, m):
    order = np.random.default_rng(1).permutation(len(y))
    scaler = StandardScaler().fit(X[order[:m]])
    rows, new = scaler.transform(X[order[:m]]), scaler.transform(X[order[m : 2 * m]])
    signs = np.where(y[order[:m]] == 1, 1.0, -1.0)
    gamma = sigest(rows, random_state=0)
    kernel = Kernel("rbf", gamma)
    fine = np.linspace(GRID[0], GRID[-1], 10 * GRID.size)

    t_ours, positive = timed(lambda: ours(rows, signs, new, gamma, GRID))
    scale = GRID.size / PROBES.size
    t_loop, expected = timed(lambda: svc_loop(rows, signs, new, gamma))
    K, K_new = kernel.gram(rows), kernel.between(rows, new)
    t_kernels, _ = timed(lambda: (kernel.gram(rows), kernel.between(rows, new)))
    t_fits, (coefs, intercepts) = timed(lambda: svc_precomputed(K, signs))
    full = np.tile(coefs, (-(-GRID.size // len(coefs)), 1))[: GRID.size]
    t_product, _ = timed(lambda: (full @ K_new + intercepts[0]) >= 0)
    t_path, path = timed(lambda: svm_path(K, signs, GRID))
    t_path_fine, _ = timed(lambda: svm_path(K, signs, fine))
    t_fine, _ = timed(lambda: ours(rows, signs, new, gamma, fine))
    print(
        f"{name:14s} m = {m:4d}  svm_path {t_path:7.3f} s, with kernels and predictions {t_ours:7.3f} s"
        f"  loop {t_loop * scale / t_ours:6.0f} x"
        f"  precomputed {(t_kernels + t_fits * scale + t_product) / t_ours:5.0f} x"
        f"  10 x: svm_path {t_path_fine / t_path:4.1f}, with predictions {t_fine / t_ours:4.1f}"
        f"  predictions that differ {np.mean(positive[PROBES] != expected):.3%}"
        f"  iterations per lambda {path.n_iter.mean():.0f}",
        flush=True,
    )


def plain_fit(X, y, train, validation, lam, gamma, scale):
    scaler = StandardScaler() if scale else FunctionTransformer()
    machine = SVC(C=1 / lam, gamma=gamma).fit(scaler.fit_transform(X[train]), y[train])
    return np.count_nonzero(machine.predict(scaler.transform(X[validation])) != y[validation])


def independent(name, X, y, m, jobs):
    lambdas = GRID[np.linspace(0, GRID.size - 1, 50).astype(int)]
    # As many rows as the paper trains and validates with.
    X, _, y, _ = train_test_split(X, y, test_size=0.2, random_state=0)
    # Processor time of other processes is not seen: with several cores the time on the wall is taken.
    clock = time.process_time if jobs == 1 else time.perf_counter
    for scale in (True, False):
        arguments = {"split": "independent", "random_state": 0, "n_jobs": jobs, "scale": scale}
        t_ours, classifiers = timed(lambda arguments=arguments: svm_set(X, y, lambdas, **arguments), clock=clock)
        assert classifiers.m == m
        gammas = [one["gamma"] for one in classifiers.params]
        work = [(*classifiers.splits(i), lambdas[i], gammas[i], scale) for i in range(len(lambdas))]
        with Parallel(n_jobs=jobs) as parallel:
            parallel(delayed(plain_fit)(X, y, *one) for one in work[:jobs])  # start the processes outside the time
            t_plain, errors = timed(
                lambda p=parallel, w=work: p(delayed(plain_fit)(X, y, *one) for one in w), clock=clock
            )
        print(
            f"{name:14s} m = {m:4d}  independent splits, scale={scale}, {jobs} core(s): svm_set {t_ours:6.2f} s, plain "
            f"{t_plain:6.2f} s, {t_plain / t_ours:4.1f} x  errors differ by at most "
            f"{np.abs(np.array(errors) - classifiers.errors).max()} of {m}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the two smaller samples only")
    quick = parser.parse_args().quick
    svm_path(np.eye(4), [1, 1, -1, -1], [1.0])  # compile
    ours(np.eye(4), np.array([1.0, 1, -1, -1]), np.eye(4), 1.0, np.array([1.0]))
    with threadpool_limits(1):
        for name, X, y, m in samples(quick):
            shared(name, X, y, m)
    for name, X, y, m in samples(quick):
        if m in (1323, 1840):
            for jobs in sorted({1, cpu_count()}):
                independent(name, X, y, m, jobs)


if __name__ == "__main__":
    sys.exit(main())
