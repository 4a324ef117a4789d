"""Memory limits."""

import os
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from pacbayes._utils.memory import NarrowSpace, check_fits


def test_half_of_the_free_memory(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2 * 10**9))
    check_fits(10**9, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match=r"a table needs 1 GB, more than half of the free memory, 1 GB\. Give less\."):
        check_fits(10**9 + 1, None, "a table", "Give less.")
    check_fits(10**9 + 1, 3 * 10**9, "a table", "Give less.")


@pytest.mark.parametrize("error", [FileNotFoundError("/proc/meminfo"), psutil.AccessDenied()])
def test_no_limit_if_free_memory_is_unknown(error, monkeypatch):
    def silent():
        raise error

    monkeypatch.setattr(psutil, "virtual_memory", silent)
    check_fits(10**18, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match="max_bytes = 1 kB"):
        check_fits(10**18, 1000, "a table", "Give less.")


def test_quarter_of_a_limited_address_space(monkeypatch):
    left = NarrowSpace(10**9, 4 * 10**8)
    monkeypatch.setattr("pacbayes._utils.memory.narrow_space", lambda room: left if left.left < room else None)
    check_fits(10**8, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match="a table needs 100 MB, more than a quarter of what ulimit -v leaves, 100 MB"):
        check_fits(10**8 + 1, None, "a table", "Give less.")
    check_fits(10**8 + 1, 10**9, "a table", "Give less.")


LIMITED = """
import resource
import sys
import numpy as np
import psutil
import sklearn.svm
from scipy.linalg import cholesky
from pacbayes._utils.threads import one_thread

def leave(megabytes):
    size = psutil.Process().memory_info().vms + megabytes * 10**6
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))

matrix = np.eye(300)
leave(int(sys.argv[1]))
with one_thread():
    leave(20)
    cholesky(matrix @ matrix)
print("done")
"""


def in_limited_space(megabytes):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LIMITED, str(megabytes)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space hold on Linux alone")
def test_blas_buffers_in_a_limited_address_space():
    done = in_limited_space(300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    done = in_limited_space(50)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "MemoryError: linear algebra takes up to 105 MB"
