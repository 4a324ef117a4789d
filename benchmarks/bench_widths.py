"""Five widths with folds: the family `SVMs()` against liquidSVM and GridSearchCV(SVC), times as ratios in one run.

Made data (make_classification, 20 features, a tenth of the labels flipped), standardised; n rows train, n others are
asked about.  All of them train the same machines: five widths of the Gaussian kernel (that of sigest times 1/16, 1/4,
1, 4, 16), 26 costs C from 0.01 to 1000, five folds.

  ours         `SvmFamily`: all machines on all training rows, and anew without each fold, with out-of-fold decisions of
               every machine, its calibration and errors; then the machine with the fewest errors in cross-validation
  liquidSVM    the same widths, costs and folds (`gammas`, `c_values`, `folds`), training and selection, two threads;
               its machines have no intercept, and its final vote is that of the folds.  Left out where it is not
               installed: pip install wheel && pip install --no-build-isolation liquidSVM
  GridSearchCV SVC over the same settings: what it takes is estimated from every third cost in one fold, scaled up to
               all (`--svc` says up to how many rows)

Ratios are by the clock on the wall; run it with nothing beside it.  The hinge risk is the mean of max(0, 1 - y f) over
the other rows, of the chosen machine; the error is its share of wrong answers there.

Run: python benchmarks/bench_widths.py [--rows 1000 2500 5000 10000] [--svc 2500]
"""

import argparse
import sysconfig
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes.classifiers.calibration import calibrate
from pacbayes.classifiers.cross_validation import counted_by_fold, dealt, middle_of_fewest
from pacbayes.classifiers.families import FEW_LAMBDAS
from pacbayes.classifiers.svm.folds import train_shared
from pacbayes.classifiers.svm.kernel import FACTORS
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.runtime.threads import one_thread

FOLDS = 5
LAMBDAS = np.array(FEW_LAMBDAS)


def made(n):
    """Return training rows and others, with classes 0 and 1."""
    X, y = make_classification(2 * n, n_features=20, flip_y=0.1, random_state=0)
    X = StandardScaler().fit(X[:n]).transform(X)
    return X[:n], y[:n], X[n:], y[n:]


def hinge(y, decisions):
    return float(np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * decisions).mean())


def ours(X, y, X_new, y_new):
    """Return the time, the widths, and the errors and hinge risk of the machine that cross-validation chooses."""
    settings = MachineSettings(LAMBDAS, "rbf", "widths", False, 300, 0)
    start = time.perf_counter()
    with one_thread():
        members, folds = train_shared(settings, X, y.astype(np.int64), np.array([0, 1]), None, 2)
        fold = dealt(folds.codes, FOLDS, np.random.default_rng(0), None)
        errors = []
        for heard in folds.out_of_fold(folds.families, fold):
            calibrate(heard.kind, heard.scores, folds.codes, 2)
            errors.append(counted_by_fold(heard.answers[None], folds.codes, fold)[0].sum())
    seconds = time.perf_counter() - start
    best = members[middle_of_fewest(np.array(errors))]
    decisions = best.decision_function(X_new)
    widths = [kernel.gamma for kernel in members.kernels]
    worst = float(members.kkt_violation.max())
    return seconds, widths, float(np.mean((decisions > 0) != y_new)), hinge(y_new, decisions), worst


def liquid(*given):
    """Return the time of liquidSVM, its errors and hinge risk; None where it is not installed.

    In a process of its own: it ties the threads of its process to cores, and whoever comes later to one of them.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_liquid, *given).result()


def _liquid(X, y, X_new, y_new, widths):
    asked = sysconfig.get_config_var
    # It asks for a name that Python no longer knows.
    sysconfig.get_config_var = lambda name: ".so" if name == "SO" else asked(name)
    try:
        import liquidSVM
    except (ImportError, AttributeError):
        return None
    finally:
        sysconfig.get_config_var = asked
    signs, new = (np.where(labels == 1, 1.0, -1.0) for labels in (y, y_new))
    # Its kernel is exp(-|x - x'|^2 / gamma^2).
    gammas, costs = [float(width**-0.5) for width in sorted(widths, reverse=True)], sorted(1.0 / LAMBDAS)
    start = time.perf_counter()
    model = liquidSVM.mcSVM(X, signs, folds=FOLDS, threads=2, scale=False, gammas=gammas, c_values=costs)
    seconds = time.perf_counter() - start
    said, _ = model.test(X_new, new)
    decisions = np.asarray(said)[:, 0]
    return seconds, float(np.mean((decisions > 0) != (new > 0))), hinge(y_new, decisions)


def searched(X, y, widths):
    """Return what GridSearchCV would take: every third cost in one fold, scaled up to all costs and folds."""
    fold = dealt(y.astype(np.int64), FOLDS, np.random.default_rng(0), None)
    train, test = fold != 0, fold == 0
    costs = sorted(1.0 / LAMBDAS)[::3]
    start = time.perf_counter()
    for width in widths:
        for cost in costs:
            SVC(C=cost, gamma=width, cache_size=1000).fit(X[train], y[train]).predict(X[test])
    return (time.perf_counter() - start) * FOLDS * LAMBDAS.size / len(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2500, 5000, 10_000])
    parser.add_argument("--svc", type=int, default=2500, help="estimate GridSearchCV up to so many rows")
    given = parser.parse_args()
    ours(*made(300))  # compiled, loaded
    print(f"{len(FACTORS)} widths x {LAMBDAS.size} costs x ({FOLDS} folds + all rows); two cores\n")
    print("| rows | ours | error, hinge, KKT | liquidSVM / ours | its error, hinge | GridSearchCV / ours |")
    print("|---|---|---|---|---|---|")
    for n in given.rows:
        X, y, X_new, y_new = made(n)
        seconds, widths, error, risk, worst = ours(X, y, X_new, y_new)
        peer = liquid(X, y, X_new, y_new, widths)
        first = "not installed" if peer is None else f"{peer[0] / seconds:.2f}"
        second = "" if peer is None else f"{100 * peer[1]:.2f} %, {peer[2]:.3f}"
        third = f"{searched(X, y, widths) / seconds:.0f}" if n <= given.svc else "not measured"
        print(
            f"| {n} | {seconds:.2f} s | {100 * error:.2f} %, {risk:.3f}, {worst:.1e} | {first} | {second} | {third} |"
        )


if __name__ == "__main__":
    main()
