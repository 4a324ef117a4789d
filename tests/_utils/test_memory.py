"""Memory limits."""

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
