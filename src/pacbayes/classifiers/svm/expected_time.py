"""How long training on a large kernel matrix will take, said before it starts, and what is faster."""

import sys
import time

import numpy as np

from pacbayes.classifiers.svm.kernels.kernel import Kernel
from pacbayes.classifiers.svm.linear.nystroem import N_COMPONENTS
from pacbayes.classifiers.svm.machines import train_machines
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.progress import progress
from pacbayes.runtime.quiet import is_quiet

# Fewer training rows take less than a minute or so, on machines of today.
FEWEST = 10_000
# As many rows are trained on first, to see how fast this machine is and how hard the problem.
TRIAL = 2_500
# Between 5000 and 20 000 rows, twice as many took 4.5 to 6 times as long (benchmarks/bench_rows.py).
_GROWTH = 2.5
# Nothing is said of less.
SECONDS = 180.0
# Of a machine with two cores, for each row and landmark (benchmarks/bench_nystroem.py).
_NYSTROEM_SECONDS = 4e-6


def say_how_long(kernel: Kernel, rows: FloatArray, codes: Rows, lambdas: FloatArray, jobs: int) -> None:
    """Say on stderr how long training will take if that is more than some minutes, unless there is to be quiet."""
    if len(rows) < FEWEST or is_quiet():
        return
    seconds = _trial_seconds(kernel, rows, codes, lambdas, jobs) * (len(rows) / TRIAL) ** _GROWTH
    if seconds >= SECONDS:
        sys.stderr.write(f"pacbayes: {advice(len(rows), lambdas.size, seconds, kernel.name)}\n")
        sys.stderr.flush()


def advice(n: int, number: int, seconds: float, kernel: str) -> str:
    """Return what to expect of so many rows, and what would take less.

    Examples
    --------
    >>> print(advice(20_000, 201, 1000.0, "rbf"))
    training 201 support vector machines on 20000 rows will take about 17 minutes, cross-validation (cv) up to half as \
long again. kernel="nystroem" takes about 1 minute for both; a larger validation_size trains on fewer rows.
    """
    text = (
        f"training {number} support vector machines on {n} rows will take about {minutes(seconds)}, cross-validation "
        "(cv) up to half as long again. "
    )
    if kernel == "rbf":
        text += f'kernel="nystroem" takes about {minutes(_NYSTROEM_SECONDS * N_COMPONENTS * n)} for both; a'
    else:
        text += "A"
    return f"{text} larger validation_size trains on fewer rows."


def minutes(seconds: float) -> str:
    """Return a time in minutes or hours.

    Examples
    --------
    >>> minutes(20.0), minutes(1000.0), minutes(20_000.0)
    ('1 minute', '17 minutes', '5.6 hours')
    """
    if seconds >= 7200.0:
        return f"{seconds / 3600.0:.1f} hours"
    number = max(1, round(seconds / 60.0))
    return f"{number} minute{'s' if number > 1 else ''}"


def _trial_seconds(kernel: Kernel, rows: FloatArray, codes: Rows, lambdas: FloatArray, jobs: int) -> float:
    """Return how long training on some of the rows takes, evenly spread over them; 0 where they are of one class."""
    some = np.linspace(0, len(rows) - 1, TRIAL).round().astype(np.int64)
    if np.unique(codes[some]).size < 2:
        return 0.0
    few = rows[some]
    started = time.perf_counter()
    with progress("how long it will take", None):
        train_machines(lambda part: kernel.gram(few[part]), codes[some], lambdas, jobs)
    return time.perf_counter() - started
