"""Threads: one of linear algebra for all who ask, until the last has left; work on cores, every part once.

Libraries that come later are limited too; on cores errors and interrupts are heard, and there are no more threads than
allowed.
"""

import os
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  (loads OpenMP)
from threadpoolctl import ThreadpoolController, threadpool_limits

from pacbayes._utils import threads as module
from pacbayes._utils.threads import cores, on_cores, one_core, one_thread


def numbers_of_threads(kind):
    """Return the numbers of threads in use; libraries built without threads, such as Ipopt's, have always one."""
    libraries = ThreadpoolController().select(user_api=kind).info()
    return {one["num_threads"] for one in libraries if one.get("threading_layer") != "disabled"}


def test_limits_hold_until_the_last_has_left():
    with threadpool_limits(2):
        inside, leave, seen = threading.Event(), threading.Event(), []

        def other():
            with one_thread():
                inside.set()
                leave.wait(30)
                seen.append((numbers_of_threads("blas"), numbers_of_threads("openmp")))

        thread = threading.Thread(target=other)
        with one_thread():
            assert numbers_of_threads("blas") == numbers_of_threads("openmp") == {1}
            thread.start()
            assert inside.wait(30)
        # The first has left, the other has not: BLAS is still limited, OpenMP here no more.
        assert (numbers_of_threads("blas"), numbers_of_threads("openmp")) == ({1}, {2})
        leave.set()
        thread.join()
        assert seen == [({1}, {1})]
        assert (numbers_of_threads("blas"), numbers_of_threads("openmp")) == ({2}, {2})


def test_inside_itself_and_after_an_import(monkeypatch):
    with threadpool_limits(2), one_thread():
        with one_thread():
            assert numbers_of_threads("blas") == numbers_of_threads("openmp") == {1}
        monkeypatch.setitem(sys.modules, "a_new_module", types.ModuleType("a_new_module"))
        with one_thread():
            assert numbers_of_threads("blas") == numbers_of_threads("openmp") == {1}
        assert numbers_of_threads("blas") == numbers_of_threads("openmp") == {1}
    assert len(numbers_of_threads("blas")) == 1


@pytest.fixture(params=[1, 2, 3])
def number(request, monkeypatch):
    monkeypatch.setattr(module, "_cores_of_process", lambda: request.param)
    module._pool.cache_clear()
    yield request.param
    module._pool(os.getpid()).shutdown()
    module._pool.cache_clear()


def test_every_part_is_done_once(number):
    done, threads = [], set()

    def work(part):
        threads.add(threading.get_ident())
        done.append(part)
        time.sleep(0.001)

    on_cores(work, range(50))
    assert sorted(done) == list(range(50))
    assert len(threads) <= number
    assert threading.get_ident() in threads
    on_cores(work, [])
    assert len(done) == 50


def test_parts_divide_no_further(number):
    inner = []
    on_cores(lambda part: on_cores(lambda one: inner.append((cores(), one)), range(2)), range(6))
    assert sorted(one for _, one in inner) == [0] * 6 + [1] * 6
    # Only who divided the work may divide its own parts again.
    assert {allowed for allowed, _ in inner} <= {1, number}
    with one_core():
        assert cores() == 1
    assert cores() == number


def test_an_error_ends_the_work_and_arrives(number):
    done = []

    def work(part):
        done.append(part)
        time.sleep(0.001)
        if part == 3:
            raise ZeroDivisionError("the fourth")

    with pytest.raises(ZeroDivisionError, match="the fourth"):
        on_cores(work, range(1000))
    assert 4 <= len(done) < 100


def test_float_errors_are_those_of_the_caller(number):
    with np.errstate(over="ignore"):
        on_cores(lambda part: np.float64(1e308) * (10.0 + part), range(20))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        on_cores(lambda part: np.float64(1e308) * (10.0 + part), range(20))


@pytest.mark.parametrize("where", ["caller", "helper"])
def test_an_error_in_any_thread_arrives(where, monkeypatch):
    monkeypatch.setattr(module, "_cores_of_process", lambda: 2)
    module._pool.cache_clear()
    caller = threading.get_ident()

    def work(part):
        time.sleep(0.01)
        if (threading.get_ident() == caller) == (where == "caller"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        on_cores(work, range(100))
    module._pool(os.getpid()).shutdown()
    module._pool.cache_clear()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"OMP_NUM_THREADS": "1"}, 1), ({"OPENBLAS_NUM_THREADS": "1"}, 1), ({"OMP_NUM_THREADS": "many"}, None)],
)
def test_limits_of_the_environment(environment, expected):
    program = "from joblib import cpu_count; from pacbayes._utils.threads import cores; print(cores(), cpu_count())"
    clean = {name: value for name, value in os.environ.items() if name not in module._LIMITS}
    run = subprocess.run(
        [sys.executable, "-c", program], env={**clean, **environment}, capture_output=True, text=True, check=True
    )
    allowed, there_are = map(int, run.stdout.split())
    assert allowed == (there_are if expected is None else expected)
