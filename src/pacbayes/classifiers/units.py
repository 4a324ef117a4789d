"""Work on many classifiers in units, by any backend of joblib, in any order, with results in the order asked for."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sklearn.utils.parallel import Parallel, delayed

from pacbayes.classifiers.progress import progress

# Classifiers that are stored together: the same for any number of workers.
UNIT = 50

Shared = TypeVar("Shared")
Result = TypeVar("Result")


def run_units(
    task: Callable[[Shared, int], Result],
    shared: Shared,
    number: int,
    description: str,
    n_jobs: int | None,
    prefer: str | None = None,
    check: Callable[[int, Result], None] = lambda i, result: None,
) -> list[Result]:
    """Return ``[task(shared, i) for i in range(number)]``, by the workers the user chose.

    What `check` raises about a result ends the work at once.

    Examples
    --------
    >>> run_units(pow, 2, 5, "powers of two", n_jobs=1)
    [1, 2, 4, 8, 16]
    """
    results: dict[int, Result] = {}
    with progress(description, number) as advance, _run(task, shared, range(number), n_jobs, prefer) as arriving:
        for i, result in arriving:
            check(i, result)
            results[i] = result
            advance(1)
    return [results[i] for i in range(number)]


@contextmanager
def _run(
    task: Callable[[Shared, int], Result],
    shared: Shared,
    numbers: Iterable[int],
    n_jobs: int | None,
    prefer: str | None,
) -> Iterator[Iterator[tuple[int, Result]]]:
    """Start the work on some numbers and yield their results as they arrive; what still runs on leaving is given up."""
    # One call for all: joblib sends `shared` once per call.
    parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered")
    arriving = parallel(delayed(_numbered)(task, shared, i) for i in numbers)
    try:
        yield arriving
    finally:
        with warnings.catch_warnings():
            # After an error joblib advises to limit the work that was given up.
            warnings.simplefilter("ignore")
            arriving.close()


def _numbered(task: Callable[[Shared, int], Result], shared: Shared, i: int) -> tuple[int, Result]:
    return i, task(shared, i)
