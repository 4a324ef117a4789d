"""Runs killed with SIGKILL at random moments and at every step of writing a file, and continued."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests._utils.long_run import NUMBER, RUNS, bits

from pacbayes._utils.checkpoint import CHUNK_SIZE
from pacbayes._utils.files import hold_lock, write_file

ROOT = Path(__file__).parents[2]
FAST = [("grid", 1, 1), ("svm", 1, 2)]
SLOW = [(kind, n_jobs, 10 * n_jobs + seed) for kind in RUNS for n_jobs in (1, 2) for seed in range(5)]


@pytest.fixture(scope="module")
def expected_bits():
    return {kind: bits(run(None)) for kind, run in RUNS.items()}


@contextmanager
def started(*arguments, **environment):
    """Start a process in its own process group, and yield it after its imports."""
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    options = {"env": os.environ | environment, "stdout": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT, **options) as process:
        assert process.stdout.readline() == b"begin\n"
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def check_killed(kind, n_jobs, seed, directory, expected):
    """Kill a run at a random moment, continue it, and compare with an uninterrupted run."""
    run, fits, rng = directory / "run", directory / "fits", np.random.default_rng([seed, len(kind)])
    with started("-m", "tests._utils.long_run", kind, str(run), str(n_jobs), PACBAYES_FITS=str(fits)) as process:
        # After a number of chunks, since the time of imports varies.
        chunks = rng.integers(0, NUMBER // CHUNK_SIZE)
        while process.poll() is None and len(list(run.glob("chunk-*"))) < chunks:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.3)))
        working = process.poll() is None
    killed_fits = fits.stat().st_size if fits.exists() else 0
    stored = len(list(run.glob("chunk-*")))
    assert bits(RUNS[kind](run, n_jobs=n_jobs)) == expected
    if kind == "grid":
        # At most one unit per worker is lost.
        assert killed_fits <= CHUNK_SIZE * stored + CHUNK_SIZE * n_jobs
    return working, stored


@pytest.mark.parametrize(("kind", "n_jobs", "seed"), FAST)
def test_killed_at_a_random_moment(kind, n_jobs, seed, tmp_path, expected_bits):
    check_killed(kind, n_jobs, seed, tmp_path, expected_bits[kind])


@pytest.mark.slow
def test_killed_at_thirty_random_moments(tmp_path, expected_bits):
    seen = []
    for place, (kind, n_jobs, seed) in enumerate(SLOW):
        (tmp_path / str(place)).mkdir()
        seen.append(check_killed(kind, n_jobs, seed, tmp_path / str(place), expected_bits[kind]))
    # Some runs must not have finished before the kill.
    assert sum(working for working, _ in seen) >= 15, seen
    assert len({stored for working, stored in seen if working}) >= 3, seen


# Forks one child per step of writing and kills it there: before a file is synced, before it is renamed, before the
# rename is synced, for every file of the run.
AT_EVERY_STEP = """
import os, signal, sys
from pathlib import Path
from tests._utils import long_run
print("begin", flush=True)
steps = 0
def deadly(function, last):
    def step(*arguments):
        global steps
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return function(*arguments)
    return step
for last in range(1000):
    child = os.fork()
    if child == 0:
        os.fsync, os.replace = deadly(os.fsync, last), deadly(os.replace, last)
        long_run.grid(Path(sys.argv[1], str(last)), n_jobs=1, number=2, split="shared")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert os.waitstatus_to_exitcode(status) == 0
        break
print(last, flush=True)
"""


def test_killed_at_every_step_of_writing(tmp_path):
    with started("-c", AT_EVERY_STEP, str(tmp_path)) as process:
        number = int(process.communicate(timeout=120)[0])
    assert number == 15  # manifest, chunk, manifest, chunk, manifest; three steps each
    expected = bits(RUNS["grid"](None, number=2, split="shared"))
    for last in range(number):
        directory = tmp_path / str(last)
        before = {path.name for path in directory.iterdir()}
        assert bits(RUNS["grid"](directory, number=2, split="shared")) == expected
        after = {path.name for path in directory.iterdir()}
        assert after == {"lock", "manifest.json", "chunk-0000.pickle", "chunk-0001.pickle"}
        assert all(re.fullmatch(r"(manifest\.json|chunk-000[01]\.pickle)\.\S+\.part", name) for name in before - after)


def test_lock_ends_with_its_process(tmp_path, expected_bits):
    with started("-m", "tests._utils.long_run", "grid", str(tmp_path), "2") as process:
        while not (tmp_path / "manifest.json").exists():
            time.sleep(0.01)
        with pytest.raises(BlockingIOError, match="is in use by another process; one run at a time"):
            RUNS["grid"](tmp_path)
        # Only the parent: workers may outlive it and must not keep the lock.
        process.kill()
        process.wait()
        assert bits(RUNS["grid"](tmp_path)) == expected_bits["grid"]


FORKED = """
import os, sys, time
from pathlib import Path
from pacbayes._utils.files import hold_lock
with hold_lock(Path(sys.argv[1]), "the directory"):
    if os.fork() == 0:
        print("begin", flush=True)
    time.sleep(60)
"""


def test_forked_worker_does_not_keep_the_lock(tmp_path):
    with started("-c", FORKED, str(tmp_path / "lock")) as process:
        used = pytest.raises(BlockingIOError, match="the directory is in use")
        with used, hold_lock(tmp_path / "lock", "the directory"):
            pass
        process.kill()
        process.wait()
        with hold_lock(tmp_path / "lock", "the directory"):
            os.killpg(process.pid, 0)  # the worker lives


def test_concurrent_writers(tmp_path):
    path = tmp_path / "model"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: write_file(path, b"%d" % number), range(200)))
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


WRITING = """
import signal, sys
from pacbayes._utils.files import open_atomic
with open_atomic(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    print("begin", flush=True)
    signal.sigwait([signal.SIGUSR1])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_next_write_removes_files_of_killed_processes(tmp_path):
    path = tmp_path / "model"
    with started("-c", WRITING, str(path)) as killed, started("-c", WRITING, str(path)) as living:
        killed.kill()
        killed.wait()
        assert len(list(tmp_path.iterdir())) == 2
        write_file(path, b"whole")
        # The temporary file of a running process stays, and replaces the target.
        (part,) = [file for file in tmp_path.iterdir() if file != path]
        assert (path.read_bytes(), part.read_bytes()) == (b"whole", b"half")
        living.send_signal(signal.SIGUSR1)
        assert living.wait(timeout=60) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert path.read_bytes() == b"half"
