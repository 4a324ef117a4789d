"""Control of BLAS threads, and `parallel_for`."""

import os
import subprocess
import sys
import threading
import time

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  (loads OpenMP)
from threadpoolctl import ThreadpoolController, threadpool_limits

from pacbayes._utils import threads as module
from pacbayes._utils.threads import available_cores, limit_to_one_core, limit_to_one_thread, parallel_for


def in_use():
    """Numbers of threads of BLAS and OpenMP libraries that have threads."""
    libraries = [one for one in ThreadpoolController().info() if one.get("threading_layer") != "disabled"]
    kinds = ("blas", "openmp")
    return tuple({one["num_threads"] for one in libraries if one["user_api"] == kind} for kind in kinds)


def test_limit_holds_until_the_last_context_exits():
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with limit_to_one_thread():
            inside.set()
            leave.wait(30)
            seen.append(in_use())

    with threadpool_limits(2):
        thread = threading.Thread(target=other)
        with limit_to_one_thread():
            assert in_use() == ({1}, {1})
            thread.start()
            assert inside.wait(30)
        # The first context exited: BLAS is still limited, OpenMP of this thread no longer.
        assert in_use() == ({1}, {2})
        leave.set()
        thread.join()
        assert seen == [({1}, {1})]
        assert in_use() == ({2}, {2})


@pytest.fixture(params=[1, 2, 3])
def number(request, monkeypatch):
    monkeypatch.setattr(module, "_cores_of_process", lambda: request.param)
    return request.param


def test_every_part_runs_once(number):
    done, threads = [], set()

    def work(part):
        threads.add(threading.get_ident())
        done.append(part)
        time.sleep(0.001)

    parallel_for(work, range(50))
    parallel_for(work, [])
    assert sorted(done) == list(range(50))
    assert len(threads) <= number


def test_parts_use_one_core(number):
    inner = []
    parallel_for(lambda part: parallel_for(lambda one: inner.append((available_cores(), one)), range(2)), range(6))
    assert sorted(one for _, one in inner) == [0] * 6 + [1] * 6
    # Parts that run in the calling thread may use all cores.
    assert {allowed for allowed, _ in inner} <= {1, number}
    with limit_to_one_core():
        assert available_cores() == 1
    assert available_cores() == number


def test_error_cancels_pending_parts(number):
    done = []

    def work(part):
        done.append(part)
        time.sleep(0.001)
        if part >= 3:
            raise ZeroDivisionError("after three")

    with pytest.raises(ZeroDivisionError, match="after three"):
        parallel_for(work, range(1000))
    assert 4 <= len(done) < 100


# A first fit imports and compiles everything: forking during an import is not tested.
FORKING = """
import multiprocessing, os, threading
from pacbayes import StochasticSVC, load_dataset

data = load_dataset("wdbc")
X, y = data.data[:200], data.target[:200]


def fit(seed):
    return StochasticSVC(lambdas=[0.1, 1, 10], random_state=seed).fit(X, y).certificate_.bound


def fit_forever():
    while True:
        fit(0)


alone = [fit(seed) for seed in range(2)]
for _ in range(3):
    threading.Thread(target=fit_forever, daemon=True).start()
for _ in range(6):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(fit, range(2)).get(60) == alone
print("done", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_workers_do_not_wait_for_threads_of_their_parent():
    # Python 3.12 and later warn about such forks.
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert found.stdout == "done\n", found.stderr
