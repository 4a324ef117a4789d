"""Parallel computation for many classifiers with any joblib backend, with checkpoints and results in order."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from pacbayes._utils.checkpoint import CHUNK_SIZE, Checkpoint
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import limit_to_one_core, limit_to_one_thread

Common = TypeVar("Common")
Result = TypeVar("Result")


def run_units(
    task: Callable[[Common, int], Result],
    shared_input: Common,
    n_units: int,
    description: str,
    n_jobs: int | None,
    prefer: str | None = None,
    validate: Callable[[int, Result], None] = lambda i, result: None,
    checkpoint: Checkpoint | None = None,
    restore: Callable[[Common, int, Result], Result] | None = None,
    order: Sequence[int] | None = None,
) -> list[Result]:
    """Compute ``[task(common, i) for i in range(number)]`` in parallel.

    `validate` is called for every result and may raise.  Chunks in `checkpoint` are loaded; others are stored there
    when they are complete.  `restore` may replace a loaded result, or raise `ValueError`.  Tasks start in `order`.

    Examples
    --------
    >>> run_units(pow, 2, 5, "powers of two", n_jobs=1)
    [1, 2, 4, 8, 16]
    """
    size = CHUNK_SIZE if checkpoint is None else checkpoint.codec.chunk_size
    units = [range(start, min(start + size, n_units)) for start in range(0, n_units, size)]
    results: dict[int, Result] = {}
    for k, unit in enumerate(units):
        stored = None if checkpoint is None else checkpoint.load(k, len(unit))
        results.update(zip(unit, stored or (), strict=stored is not None))
    if restore is not None and checkpoint is not None and results:
        with progress(f"{description}, stored ones", len(results)) as advance:
            for i, result in results.items():
                with checkpoint.name_file_in_errors(i // size):
                    results[i] = restore(shared_input, i, result)
                advance(1)
    for i, result in results.items():
        validate(i, result)
    missing = [i for i in order or range(n_units) if i not in results]
    if not missing:
        return [results[i] for i in range(n_units)]
    left = {k: sum(i not in results for i in unit) for k, unit in enumerate(units)}
    # With a checkpoint, run one task per worker at a time, so that a killed process loses no more than that.
    options = {"n_jobs": n_jobs, "prefer": prefer, "batch_size": "auto" if checkpoint is None else 1}
    # Enter `limit_to_one_thread` once for all tasks: it searches for libraries.
    with (
        limit_to_one_thread(),
        progress(description, n_units) as advance,
        _run(task, shared_input, missing, options) as arriving,
    ):
        advance(len(results))
        for i, result in arriving:
            validate(i, result)
            results[i] = result
            advance(1)
            k = i // size
            left[k] -= 1
            if checkpoint is not None and left[k] == 0:
                checkpoint.save(k, [results[j] for j in units[k]])
    return [results[i] for i in range(n_units)]


def shares_memory(prefer: str | None = None) -> bool:
    """Whether the active joblib backend (`prefer` by default) runs tasks in this process.

    Examples
    --------
    >>> shares_memory("threads")
    True
    """
    return bool(getattr(get_active_backend(prefer=prefer)[0], "supports_sharedmem", False))


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Resolve `n_jobs` to a number of workers; None means that of joblib's active context, or all cores."""
    n_workers = int(effective_n_jobs(n_jobs))
    return int(cpu_count()) if n_jobs is None and n_workers == 1 else n_workers


@contextmanager
def _run(
    task: Callable[[Common, int], Result], common: Common, numbers: list[int], options: dict[str, Any]
) -> Iterator[Iterator[tuple[int, Result]]]:
    """Start tasks and yield an iterator over their results in order of completion; cancel pending tasks on exit."""
    backend, _ = get_active_backend(prefer=options["prefer"])
    with _scatter_to_dask(common, backend) as more_options:
        options |= more_options

        def work(batch: list[int], return_as: str) -> Any:
            if shares_memory(options["prefer"]):
                # In threads, scikit-learn's `delayed` would set the warning filters, which all threads share.
                config = get_config()
                jobs = (joblib.delayed(_run_with_config)(config, task, common, i) for i in batch)
                return joblib.Parallel(**options, return_as=return_as)(jobs)
            return Parallel(**options, return_as=return_as)(delayed(_run_indexed)(task, common, i) for i in batch)

        if effective_n_jobs(options["n_jobs"]) == 1 and not hasattr(backend, "data_futures"):
            # Run in this thread, without scikit-learn's `delayed`: setting its configuration and warning filters for
            # each classifier takes a tenth of a fit of three milliseconds.
            arriving = (_run_indexed(task, common, i) for i in numbers)
        elif getattr(backend, "supports_return_generator", False):
            arriving = work(numbers, "generator_unordered")
        else:  # for example multiprocessing
            units = [numbers[start : start + CHUNK_SIZE] for start in range(0, len(numbers), CHUNK_SIZE)]
            arriving = (result for unit in units for result in work(unit, "list"))
        try:
            yield arriving
        finally:
            with warnings.catch_warnings():
                # After an error, joblib warns about cancelled tasks.
                warnings.simplefilter("ignore")
                arriving.close()


@contextmanager
def _scatter_to_dask(common: Any, backend: Any) -> Iterator[dict[str, Any]]:
    """Send `common` to a Dask cluster once for all tasks, if Dask is the backend; yield options for joblib.

    joblib sends arguments with every task, or large ones once to one worker, and the work fails if that worker dies.
    Workers fetch the result of a Dask task from each other, and it is recomputed if lost.  Dask keeps it while tasks
    wait for it, so all tasks are dispatched immediately.
    """
    if not hasattr(backend, "data_futures"):
        yield {}
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # which is the intention
        sent = backend.client.submit(_identity, common, pure=False)
    backend.data_futures[id(common)] = sent
    try:
        yield {"pre_dispatch": "all"}
    finally:
        del backend.data_futures[id(common)]


def _identity(value: Any) -> Any:
    return value


def _run_indexed(task: Callable[[Common, int], Result], common: Common, i: int) -> tuple[int, Result]:
    with limit_to_one_core():
        return i, task(common, i)


def _run_with_config(
    config: dict[str, Any], task: Callable[[Common, int], Result], common: Common, i: int
) -> tuple[int, Result]:
    """Run a task in another thread with the scikit-learn configuration of this thread."""
    with config_context(**config):
        return _run_indexed(task, common, i)
