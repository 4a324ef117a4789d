"""Work on many classifiers in units, by any backend of joblib, in any order, with results in the order asked for."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from pacbayes._utils.checkpoint import UNIT, Checkpoint
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import one_core, one_thread

Common = TypeVar("Common")
Result = TypeVar("Result")


def run_units(
    task: Callable[[Common, int], Result],
    common: Common,
    number: int,
    description: str,
    n_jobs: int | None,
    prefer: str | None = None,
    check: Callable[[int, Result], None] = lambda i, result: None,
    checkpoint: Checkpoint | None = None,
    again: Callable[[Common, int, Result], Result] | None = None,
    order: Sequence[int] | None = None,
) -> list[Result]:
    """Return ``[task(common, i) for i in range(number)]``, by the workers the user chose.

    What `check` raises about a result ends the work at once.  Units that `checkpoint` holds are not done again; others
    are stored there as soon as they are complete.  What is taken from there, `again` may replace, or refuse with a
    `ValueError`.  They are begun in the order given.

    Examples
    --------
    >>> run_units(pow, 2, 5, "powers of two", n_jobs=1)
    [1, 2, 4, 8, 16]
    """
    together = UNIT if checkpoint is None else checkpoint.codec.number
    units = [range(start, min(start + together, number)) for start in range(0, number, together)]
    results: dict[int, Result] = {}
    for k, unit in enumerate(units):
        stored = None if checkpoint is None else checkpoint.load(k, len(unit))
        results.update(zip(unit, stored or (), strict=stored is not None))
    if again is not None and checkpoint is not None and results:
        with progress(f"{description}, stored ones", len(results)) as advance:
            for i, result in results.items():
                with checkpoint.naming(i // together):
                    results[i] = again(common, i, result)
                advance(1)
    for i, result in results.items():
        check(i, result)
    missing = [i for i in order or range(number) if i not in results]
    if not missing:
        return [results[i] for i in range(number)]
    left = {k: sum(i not in results for i in unit) for k, unit in enumerate(units)}
    # With a checkpoint one by one, so that no more is under way, and lost if killed, than one per worker.
    options = {"n_jobs": n_jobs, "prefer": prefer, "batch_size": "auto" if checkpoint is None else 1}
    # Once around all: a process that does the work itself need not look for its libraries every time.
    with one_thread(), progress(description, number) as advance, _run(task, common, missing, options) as arriving:
        advance(len(results))
        for i, result in arriving:
            check(i, result)
            results[i] = result
            advance(1)
            k = i // together
            left[k] -= 1
            if checkpoint is not None and left[k] == 0:
                checkpoint.save(k, [results[j] for j in units[k]])
    return [results[i] for i in range(number)]


def shares_memory(prefer: str | None = None) -> bool:
    """Return whether units are done in this process, whose memory they share, unless the user chose otherwise.

    Examples
    --------
    >>> shares_memory("threads")
    True
    """
    return bool(getattr(get_active_backend(prefer=prefer)[0], "supports_sharedmem", False))


def jobs_of(n_jobs: int | None) -> int:
    """Return the number of workers: what the user, or joblib's context, says; all cores where nobody does."""
    said = int(effective_n_jobs(n_jobs))
    return int(cpu_count()) if n_jobs is None and said == 1 else said


@contextmanager
def _run(
    task: Callable[[Common, int], Result], common: Common, numbers: list[int], options: dict[str, Any]
) -> Iterator[Iterator[tuple[int, Result]]]:
    """Start the work on some numbers and yield their results as they arrive; what has not begun on leaving never is."""
    backend, _ = get_active_backend(prefer=options["prefer"])
    with _sent_once(common, backend) as more_options:
        options |= more_options

        def work(some: list[int], return_as: str) -> Any:
            if shares_memory(options["prefer"]):
                # In threads scikit-learn's `delayed` would exchange the warnings' filters, which all of them share.
                config = get_config()
                jobs = (joblib.delayed(_configured)(config, task, common, i) for i in some)
                return joblib.Parallel(**options, return_as=return_as)(jobs)
            return Parallel(**options, return_as=return_as)(delayed(_numbered)(task, common, i) for i in some)

        if effective_n_jobs(options["n_jobs"]) == 1 and not hasattr(backend, "data_futures"):
            # This thread does the work, with its own configuration and filters of warnings: scikit-learn's `delayed`
            # would set both anew for each classifier, a tenth of a fit of three milliseconds.
            arriving = (_numbered(task, common, i) for i in numbers)
        elif getattr(backend, "supports_return_generator", False):
            arriving = work(numbers, "generator_unordered")
        else:  # multiprocessing, for one
            units = [numbers[start : start + UNIT] for start in range(0, len(numbers), UNIT)]
            arriving = (result for unit in units for result in work(unit, "list"))
        try:
            yield arriving
        finally:
            with warnings.catch_warnings():
                # After an error joblib advises to limit the work that was given up.
                warnings.simplefilter("ignore")
                arriving.close()


@contextmanager
def _sent_once(common: Any, backend: Any) -> Iterator[dict[str, Any]]:
    """Send `common` to a Dask cluster, where that is the backend, once for all tasks.

    joblib itself sends an argument with every task, or (large ones) once to one worker, and the work fails if that one
    dies.  As the result of a task it is fetched by the workers from each other, and made again if it was lost.  Dask
    keeps it where tasks wait for it, so all of them are handed over at once: yield the option that says so.
    """
    if not hasattr(backend, "data_futures"):
        yield {}
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # large and once is what is wanted here
        sent = backend.client.submit(_same, common, pure=False)
    backend.data_futures[id(common)] = sent
    try:
        yield {"pre_dispatch": "all"}
    finally:
        del backend.data_futures[id(common)]


def _same(value: Any) -> Any:
    return value


def _numbered(task: Callable[[Common, int], Result], common: Common, i: int) -> tuple[int, Result]:
    with one_core():
        return i, task(common, i)


def _configured(
    config: dict[str, Any], task: Callable[[Common, int], Result], common: Common, i: int
) -> tuple[int, Result]:
    """Work in another thread under scikit-learn's settings of this one."""
    with config_context(**config):
        return _numbered(task, common, i)
