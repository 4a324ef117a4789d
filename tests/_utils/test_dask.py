"""Dask cluster of two processes: same bits, data sent once, killed workers."""

import contextlib
import os
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from dask.distributed import Client
from joblib import parallel_config
from sklearn.dummy import DummyClassifier
from tests._utils.long_run import RUNS
from tests._utils.long_run import bits as bits_of_run
from tests.ensemble.grids import GRIDS, bits

from pacbayes import grid_set, optimal_posterior

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        # Dask warns if creating a folder takes more than a second, on a busy disk.
        warnings.filterwarnings("ignore", "Creating scratch directories is taking")
        started = Client(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1")
    with started as client:
        yield client


@pytest.fixture
def cluster(client):
    client.wait_for_workers(2, timeout=60)
    with parallel_config(backend="dask"):
        yield client


def executed(client):
    """Count the tasks that the workers have finished."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


@pytest.mark.parametrize("name", ["logistic", "text"])
def test_same_results_as_one_process(name, cluster):
    estimator, grid, rows, labels = GRIDS[name]
    many = grid_set(estimator, grid, rows, labels, split="independent", random_state=5)
    with parallel_config(backend="sequential"):
        one = grid_set(estimator, grid, rows, labels, split="independent", random_state=5)
    np.testing.assert_array_equal(one.errors, many.errors)
    assert bits(list(one)) == bits(list(many))


class CountedRows(list):
    """Rows that record in a file every process that unpickles them."""

    def __init__(self, rows, file):
        super().__init__(rows)
        self.file = file

    def __reduce__(self):
        return _read, (list(self), self.file)


def _read(rows, file):
    with open(file, "ab", buffering=0) as notes:
        notes.write(f"{os.getpid()}\n".encode())
    return CountedRows(rows, file)


def test_data_are_sent_once(cluster, tmp_path):
    file = str(tmp_path / "readers")
    rows = CountedRows(np.random.default_rng(0).normal(size=(200, 3)).tolist(), file)
    classifiers = grid_set(DummyClassifier(), {"constant": list(range(80))}, rows, [0, 1] * 100, split="independent")
    assert len(classifiers) == 80
    readers = Path(file).read_text().split()
    workers = {str(pid) for pid in cluster.run(os.getpid).values()}
    # 80 tasks, and every worker read the data once; so did this process, which holds the scheduler too.
    assert workers & set(readers)
    assert len(readers) == len(set(readers))
    assert set(readers) <= workers | {str(os.getpid())}


@contextlib.contextmanager
def killing(pid, directory, stored):
    """Kill a worker when so many units of a run are stored; yield an event that is set then."""
    killed, over = threading.Event(), threading.Event()

    def kill():
        while not over.is_set() and len(list(directory.rglob("chunk-*"))) < stored:
            time.sleep(0.005)
        if not over.is_set():
            os.kill(pid, signal.SIGKILL)
            killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(("kind", "worker", "stored"), [("family", 0, 4), ("svm", 1, 2)])
def test_killed_worker(cluster, tmp_path, kind, worker, stored):
    with parallel_config(backend="sequential"):
        expected = bits_of_run(RUNS[kind](None))
    before = list(cluster.run(os.getpid).values())
    with killing(before[worker], tmp_path, stored) as killed:
        assert bits_of_run(RUNS[kind](tmp_path)) == expected
    cluster.wait_for_workers(2, timeout=60)
    after = list(cluster.run(os.getpid).values())
    assert killed.is_set()
    assert before[worker] not in after  # the cluster started another in its place
    assert before[1 - worker] in after


@pytest.fixture
def ten_lines():
    text = (ROOT / "docs" / "cluster.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith(("from", "import"))]) <= 10
    return code


def check_ten_lines(code, printed, directory):
    names = {"__name__": "imported"}
    exec(compile(code, "ten_lines.py", "exec"), names)
    forests = grid_set(names["forest"], names["grid"], names["X"], names["y"], random_state=0)
    assert f"errs on at most {optimal_posterior(forests.risks, forests.m).bound}\n" in printed
    assert (directory / "forests" / "manifest.json").exists()


def test_example_of_the_documentation(client, ten_lines, tmp_path, monkeypatch, capsys):
    """Run on the existing cluster."""
    client.wait_for_workers(2, timeout=60)
    before = executed(client)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dask.distributed.Client", lambda **_: contextlib.nullcontext(client))
    exec(compile(ten_lines, "ten_lines.py", "exec"), {"__name__": "__main__"})
    assert executed(client) > before
    check_ten_lines(ten_lines, capsys.readouterr().out, tmp_path)
