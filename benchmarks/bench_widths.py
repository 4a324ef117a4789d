"""Five kernel widths with cross-validation: `SVMs()` against liquidSVM and GridSearchCV(SVC), as ratios in one run.

Simulated data (make_classification, 20 features, a tenth of the labels flipped), standardised; n training rows and n
test rows.  All methods train the same SVMs: five widths of the Gaussian kernel (that of sigest times 1/16, 1/4, 1, 4,
16), 26 costs C from 0.01 to 1000, five folds.

  ours         the family `SVMs()`: all SVMs on all training rows and without each fold, out-of-fold decision values of
               all SVMs, calibration and errors; then the SVM with the fewest errors in cross-validation
  liquidSVM    the same widths, costs and folds (`gammas`, `c_values`, `folds`), training and selection, two threads;
               its SVMs have no intercept, and its final vote is that of the folds.  Omitted where it is not installed:
               pip install wheel && pip install --no-build-isolation liquidSVM
  GridSearchCV SVC over the same settings: estimated from every third cost in one fold, scaled up (`--svc` is the
               largest number of rows for this)

Ratios are of wall-clock times, on an idle computer.  The hinge risk is the mean of max(0, 1 - y f) of the selected SVM
over the test rows; the error is its error rate there.

`--where` shows the work instead: SMO iterations, each of which reads two rows of a kernel matrix in single precision;
active-set steps, each of which reads the factor of the free variables twice; changes of the sets, each of which takes
about F^2 operations for F free variables; kernel values, each an exponential.  Divided by the speeds of a core at
these, measured in the same run, this gives a lower bound on the time.

Run: python benchmarks/bench_widths.py [--rows 1000 2500 5000 10000] [--svc 2500] [--where]
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

from pacbayes._utils.threads import limit_cores, limit_to_one_thread
from pacbayes.ensemble.calibration import calibrate
from pacbayes.ensemble.cross_validation import assign_folds, count_fold_errors, find_middle_of_minimum
from pacbayes.ensemble.families import SVM_FAMILY_LAMBDAS
from pacbayes.ensemble.svm_folds import train_shared
from pacbayes.svm import active_set, one_vs_one
from pacbayes.svm.kernel import WIDTH_FACTORS, load_compiled
from pacbayes.svm.svm_classifier import SVMSettings

FOLDS = 5
LAMBDAS = np.array(SVM_FAMILY_LAMBDAS)


def made(n):
    """Return training rows and others, with classes 0 and 1."""
    X, y = make_classification(2 * n, n_features=20, flip_y=0.1, random_state=0)
    X = StandardScaler().fit(X[:n]).transform(X)
    return X[:n], y[:n], X[n:], y[n:]


def hinge(y, decisions):
    return float(np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * decisions).mean())


def ours(X, y, X_new, y_new, jobs=2):
    """Time, widths, and errors and hinge risk of the SVM that cross-validation selects."""
    settings = SVMSettings(LAMBDAS, "rbf", "widths", False, 300, 0)
    start = time.perf_counter()
    with limit_to_one_thread():
        members, folds = train_shared(settings, X, y.astype(np.int64), np.array([0, 1]), None, jobs)
        fold = assign_folds(folds.codes, FOLDS, np.random.default_rng(0), None)
        errors = []
        for heard in folds.out_of_fold(folds.families, fold):
            calibrate(heard.kind, heard.scores, folds.codes, 2)
            errors.append(count_fold_errors(heard.y_pred[None], folds.codes, fold)[0].sum())
    seconds = time.perf_counter() - start
    best = members[find_middle_of_minimum(np.array(errors))]
    decisions = best.decision_function(X_new)
    widths = [kernel.gamma for kernel in members.kernels]
    worst = float(members.kkt_violation.max())
    return seconds, widths, float(np.mean((decisions > 0) != y_new)), hinge(y_new, decisions), worst


def liquid(*arguments):
    """Return the time of liquidSVM, its errors and hinge risk; None where it is not installed.

    In a process of its own: it ties the threads of its process to cores, and whoever comes later to one of them.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_liquid, *arguments).result()


def _liquid(X, y, X_new, y_new, widths):
    get_config_var = sysconfig.get_config_var
    # It asks for a name that Python no longer knows.
    sysconfig.get_config_var = lambda name: ".so" if name == "SO" else get_config_var(name)
    try:
        import liquidSVM
    except (ImportError, AttributeError):
        return None
    finally:
        sysconfig.get_config_var = get_config_var
    signs, new = (np.where(labels == 1, 1.0, -1.0) for labels in (y, y_new))
    # Its kernel is exp(-|x - x'|^2 / gamma^2).
    gammas, costs = [float(width**-0.5) for width in sorted(widths, reverse=True)], sorted(1.0 / LAMBDAS)
    start = time.perf_counter()
    model = liquidSVM.mcSVM(X, signs, folds=FOLDS, threads=2, scale=False, gammas=gammas, c_values=costs)
    seconds = time.perf_counter() - start
    y_pred, _ = model.test(X_new, new)
    decisions = np.asarray(y_pred)[:, 0]
    return seconds, float(np.mean((decisions > 0) != (new > 0))), hinge(y_new, decisions)


def searched(X, y, widths):
    """Estimate the time of GridSearchCV from every third cost in one fold."""
    fold = assign_folds(y.astype(np.int64), FOLDS, np.random.default_rng(0), None)
    train, test = fold != 0, fold == 0
    costs = sorted(1.0 / LAMBDAS)[::3]
    start = time.perf_counter()
    for width in widths:
        for cost in costs:
            SVC(C=cost, gamma=width, cache_size=1000).fit(X[train], y[train]).predict(X[test])
    return (time.perf_counter() - start) * FOLDS * LAMBDAS.size / len(costs)


def speeds():
    """Return bytes that one core reads in a second, sums of products in double precision, and exponentials."""
    big, square = np.ones(2**25), np.ones((1500, 1500))
    with limit_to_one_thread():
        times = [_seconds(lambda: big.sum()), _seconds(lambda: square @ square)]
    gaussian, power = load_compiled("gaussian_of_distances"), np.empty(20_000)
    values, buffer = -np.ones((200, 20_000)), (power, power.view(np.int64))
    rows, columns, out = np.arange(200), np.arange(20_000), np.empty((200, 20_000))
    times.append(_seconds(lambda: gaussian(values, rows, columns, -1e-9, out, *buffer)))
    return big.nbytes / times[0], square.shape[0] ** 3 / times[1], values.size / times[2]


def _seconds(work):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def where(n, speed):
    """Print what the family of n rows does, and the least time that would take."""
    counts = {"smo": 0, "entries": 0.0, "steps": 0, "factor": 0.0, "changes": 0, "products": 0.0, "kernel": 0.0}
    solve, run = active_set.ActiveSet.solve, one_vs_one.solve_path

    def counted_solve(self, *arguments):
        solved = solve(self, *arguments)
        counts["steps"] += self.steps
        counts["factor"] += self.steps * self.n_free**2
        counts["changes"] += self.changes
        counts["products"] += self.changes * self.n_free**2
        return solved

    def counted_path(kernel, *arguments, **params):
        path, before = None, counts["steps"]
        path = run(kernel, *arguments, **params)
        smo = max(0, int(path.n_iter.sum()) - (counts["steps"] - before))
        counts["smo"] += smo
        counts["entries"] += 2.0 * smo * len(kernel)
        counts["kernel"] += float(len(kernel)) ** 2
        return path

    active_set.ActiveSet.solve, one_vs_one.solve_path = counted_solve, counted_path
    try:
        with limit_cores(1):  # threads would count at the same time
            seconds = ours(*made(n), jobs=1)[0]
    finally:
        active_set.ActiveSet.solve, one_vs_one.solve_path = solve, run
    read = 4.0 * counts["entries"] + 2 * 8.0 * counts["factor"] / 2.0
    least = (read / speed[0] + counts["products"] / speed[1] + counts["kernel"] / speed[2]) / 2.0
    cells = [f"{n}", f"{counts['smo']:,}", f"{counts['steps']:,}", f"{counts['changes']:,}", f"{read / 1e9:.0f} GB"]
    cells += [f"{counts['products'] / 1e9:.1f}", f"{counts['kernel'] / 1e6:.0f}", f"{least:.2f} s", f"{seconds:.2f} s"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2500, 5000, 10_000])
    parser.add_argument("--svc", type=int, default=2500, help="estimate GridSearchCV up to so many rows")
    parser.add_argument("--where", action="store_true", help="show where our time goes, and stop")
    options = parser.parse_args()
    ours(*made(300))  # compiled, loaded
    if options.where:
        speed = speeds()
        print(f"One core reads {speed[0] / 1e9:.1f} GB, adds {speed[1] / 1e9:.1f} billion products and takes")
        print(f"{speed[2] / 1e6:.0f} million exponentials a second.\n")
        heads = ["rows", "SMO iterations", "active-set steps", "changes of sets", "read", "billion products"]
        heads += ["million kernel values", "least, two cores", "measured, one core"]
        print(f"| {' | '.join(heads)} |")
        print("|---|---|---|---|---|---|---|---|---|")
        for n in options.rows:
            where(n, speed)
        return
    print(f"{len(WIDTH_FACTORS)} widths x {LAMBDAS.size} costs x ({FOLDS} folds + all rows); two cores\n")
    print("| rows | ours | error, hinge, KKT | liquidSVM / ours | its error, hinge | GridSearchCV / ours |")
    print("|---|---|---|---|---|---|")
    for n in options.rows:
        X, y, X_new, y_new = made(n)
        seconds, widths, error, risk, worst = ours(X, y, X_new, y_new)
        peer = liquid(X, y, X_new, y_new, widths)
        first = "not installed" if peer is None else f"{peer[0] / seconds:.2f}"
        second = "" if peer is None else f"{100 * peer[1]:.2f} %, {peer[2]:.3f}"
        third = f"{searched(X, y, widths) / seconds:.0f}" if n <= options.svc else "not measured"
        print(
            f"| {n} | {seconds:.2f} s | {100 * error:.2f} %, {risk:.3f}, {worst:.1e} | {first} | {second} | {third} |"
        )


if __name__ == "__main__":
    main()
