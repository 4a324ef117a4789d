"""What a user gets from the same rows: pacbayes, a hold-out by hand, and GridSearchCV, on the paper's nine data sets.

A fifth of the rows is put aside for test errors.  From the others:

* pacbayes: ``StochasticSVC(voting="majority", hedge=0.1, random_state=seed).fit(X, y)``, 201 values of lambda; its
  bound at delta = 0.05.
* hold-out: half of the rows for ``GridSearchCV(make_pipeline(StandardScaler(), SVC()), cv=5)``, the other half for the
  exact binomial limit of its errors at the same delta.
* GridSearchCV: the same search on all of these rows, refitted on them; it guarantees nothing.

Both searches have 21 of the 201 values, every tenth: all of them would take ten times as long.  Means over divisions,
20 of data sets with up to 1500 rows and 2 of the others; times are processor seconds of one fit on one core,
relative to pacbayes.

Run: python benchmarks/bench_against.py [--quick] [--out results/against.md]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pacbayes import StochasticSVC, load_dataset
from pacbayes.certificates import binomial_upper
from pacbayes.estimators.svc import DEFAULT_LAMBDAS
from pacbayes.runtime.files import write_file

DELTA = 0.05
DATA = ("wdbc", "ionosphere", "mammographic", "haberman", "bupa", "banknote", "waveform", "spambase", "mushroom")
QUICK = ("wdbc", "haberman")
LARGE, MANY, FEW = 1500, 20, 2
CS = [1.0 / value for value in DEFAULT_LAMBDAS[::10]]
HEADER = (
    "| data set | rows | bound: pacbayes | hold-out | test error: pacbayes | hold-out | GridSearchCV "
    "| time: hold-out | GridSearchCV |\n|---|---|---|---|---|---|---|---|---|"
)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a piece of work, and its result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def search() -> GridSearchCV:
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": CS}, cv=5, n_jobs=1)


def held_out(X: Any, y: Any, seed: int) -> tuple[GridSearchCV, float]:
    """Return what a careful user does by hand: a classifier from one half, its exact limit from the other."""
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, random_state=seed)
    found = search().fit(X_train, y_train)
    wrong = int(np.count_nonzero(found.predict(X_val) != y_val))
    return found, float(binomial_upper(wrong, len(y_val), DELTA))


def compared(X: Any, y: Any, seed: int) -> list[float]:
    """Return bounds, test errors and relative times of one division, in the order of the table."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    model = StochasticSVC(voting="majority", hedge=0.1, delta=DELTA, n_jobs=1, random_state=seed)
    ours, clf = timed(lambda: model.fit(X, y))
    by_hand, (held, limit) = timed(lambda: held_out(X, y, seed))
    searching, found = timed(lambda: search().fit(X, y))
    errors = [float(np.mean(model.predict(X_test) != y_test)) for model in (clf, held, found)]
    return [clf.certificate_.bound, limit, *errors, by_hand / ours, searching / ours]


def row_of(name: str) -> tuple[str, np.ndarray]:
    """Return a row of the table, and its numbers."""
    data = load_dataset(name)
    X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    numbers = np.mean([compared(X, y, seed) for seed in range(FEW if len(y) > LARGE else MANY)], axis=0)
    return f"| {name} | {len(y)} {format_numbers(numbers)}", numbers


def format_numbers(numbers: np.ndarray) -> str:
    shares = " ".join(f"| {100 * share:.1f} %" for share in numbers[:5])
    return f"{shares} | {numbers[5]:.1f} × | {numbers[6]:.1f} × |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="two small data sets")
    parser.add_argument("--out", type=Path, help="write the table there as well")
    chosen = parser.parse_args()
    print(HEADER, flush=True)
    lines, all_numbers = [], []
    with threadpool_limits(1):
        for name in QUICK if chosen.quick else DATA:
            line, numbers = row_of(name)
            print(line, flush=True)
            lines.append(line)
            all_numbers.append(numbers)
    lines.append(f"| mean | {format_numbers(np.mean(all_numbers, axis=0))}")
    print(lines[-1])
    if chosen.out is not None:
        said = __doc__.partition("\n\n")[2].rpartition("\n\n")[0] if __doc__ else ""
        command = f"`python benchmarks/bench_against.py --out {chosen.out}`"
        text = f"# pacbayes, hold-out and GridSearchCV\n\n{command}\n\n{said}\n\n"
        write_file(chosen.out, (text + "\n".join([HEADER, *lines]) + "\n").encode())


if __name__ == "__main__":
    main()
