"""Memory limits."""

from types import SimpleNamespace

import psutil
import pytest

from pacbayes._utils.memory import check_memory


def test_half_of_the_free_memory(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2 * 10**9))
    check_memory(10**9, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match=r"a table needs 1 GB, more than half of the free memory, 1 GB\. Give less\."):
        check_memory(10**9 + 1, None, "a table", "Give less.")
    check_memory(10**9 + 1, 3 * 10**9, "a table", "Give less.")


@pytest.mark.parametrize("error", [FileNotFoundError("/proc/meminfo"), psutil.AccessDenied()])
def test_no_limit_if_free_memory_is_unknown(error, monkeypatch):
    def silent():
        raise error

    monkeypatch.setattr(psutil, "virtual_memory", silent)
    check_memory(10**18, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match="max_bytes = 1 kB"):
        check_memory(10**18, 1000, "a table", "Give less.")
