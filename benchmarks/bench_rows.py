"""The default grid on many rows: `svm_set` against a loop of scikit-learn's SVC fits and predictions.

Simulated data (make_classification, 20 features, a tenth of the labels flipped), scaled, kernel width by sigest.
`svm_set` trains on n rows for each of the 201 default lambdas, from 0.01 to 100, and counts the errors of all SVMs on n
other rows.  SVC gets the same scaled rows and the same width and predicts the same rows; it is timed on one core, the
most that it can use, on 11 lambdas evenly spread over the grid (including the ends) and scaled up to 201.

  ratio        time of the loop over time of svm_set, wall clock
  cores        processor time of svm_set over its time: average number of busy cores
  growth       time over the time for half the rows
  SMO          share of SMO (svm/smo.py) in the processor time of svm_set; the rest is the active-set method, kernel
               values and counting
  cv=5         time of 5-fold cross-validation of all lambdas within the training rows over the time of svm_set

`--paths` omits SVC and cross-validation.

Run: python benchmarks/bench_rows.py [--rows 1000 2500 5000 10000] [--paths]
"""

import argparse
import sys
import time
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pacbayes import svm_set
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import SplitOptions, split_rows
from pacbayes.ensemble.classifier_set import TrainingJob
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.estimators.svc import DEFAULT_LAMBDAS
from pacbayes.svm.landmarks import N_COMPONENTS
from pacbayes.svm.path import load_solver

LAMBDAS = np.array(DEFAULT_LAMBDAS)
PROBES = np.linspace(0, LAMBDAS.size - 1, 11).astype(int)


def clocks():
    return np.array([time.perf_counter(), time.process_time()])


@contextmanager
def time_in_pairs():
    """Yield a list to which every call of the compiled solver adds its processor time."""
    solver, times = load_solver(np.dtype(np.float64)), []
    run_stages = solver.run_stages

    def timed(*arguments):
        start = time.thread_time()
        done = run_stages(*arguments)
        times.append(time.thread_time() - start)
        return done

    solver.run_stages = timed
    try:
        yield times
    finally:
        solver.run_stages = run_stages


def train(X, y):
    start = clocks()
    classifiers = svm_set(X, y, LAMBDAS, validation_size=0.5, random_state=0)
    return classifiers, clocks() - start


def svc_loop(classifiers, X, y):
    """Return the time of the loop, scaled up, and by how many errors it differs at most."""
    training, validation = classifiers.splits(0)
    scaling, gamma = classifiers.members.scaling, classifiers.params[0]["gamma"]
    rows, new = scaling(X[training]), scaling(X[validation])
    seconds, errors = 0.0, []
    for h in PROBES:
        start = time.perf_counter()
        predicted = SVC(C=1.0 / LAMBDAS[h], gamma=gamma).fit(rows, y[training]).predict(new)
        seconds += time.perf_counter() - start
        errors.append(np.count_nonzero(predicted != y[validation]))
    return seconds * LAMBDAS.size / PROBES.size, np.abs(errors - classifiers.errors[PROBES]).max()


def cross_validation_seconds(X, y):
    """Return the time of 5-fold cross-validation of all lambdas within the training rows, as `fit` does it."""
    family = SvmFamily.from_settings("svm", LAMBDAS, "rbf", "sigest", N_COMPONENTS, True)
    data, choices = Dataset.from_arrays(X, y), SplitOptions("shared", 0.5, None, "keep")
    folds = family.train(TrainingJob(data, split_rows(data, choices, family.n_svms, 0), None, None, {})).folds
    start = time.perf_counter()
    with limit_to_one_thread():
        fold = assign_folds(folds.codes, 5, np.random.default_rng(0), None)
        for _ in folds.out_of_fold(np.arange(LAMBDAS.size), fold):
            pass
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2500, 5000, 10000], help="training rows")
    parser.add_argument("--paths", action="store_true", help="svm_set alone")
    arguments = parser.parse_args()
    # Compile, or load what was compiled.
    train(*make_classification(5200, n_features=20, flip_y=0.1, random_state=1))
    times = {}
    for n in arguments.rows:
        X, y = make_classification(2 * n, n_features=20, flip_y=0.1, random_state=0)
        with time_in_pairs() as in_pairs:
            classifiers, (seconds, processor) = train(X, y)
        times[n] = seconds
        line = f"n_train = {n:6d}  svm_set {seconds:7.2f} s, cores {processor / seconds:4.2f}"
        line += f", growth {seconds / times[n / 2]:4.2f}" if n / 2 in times else ""
        line += f", in pairs {sum(in_pairs) / processor:4.0%}"
        line += f", largest KKT violation {classifiers.kkt_violation.max():.1e}"
        if not arguments.paths:
            line += f", cv=5 {cross_validation_seconds(X, y) / seconds:4.2f}"
            with threadpool_limits(1):
                loop, differ = svc_loop(classifiers, X, y)
            line += (
                f"  loop of SVC {loop:7.1f} s, ratio {loop / seconds:5.1f}, errors differ by at most {differ} of {n}"
            )
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
