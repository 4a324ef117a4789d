"""What does not fit is refused, by what the system says is free."""

from types import SimpleNamespace

import psutil
import pytest

from pacbayes._utils.memory import check_fits, free_bytes


@pytest.fixture
def machine(monkeypatch):
    """A machine with 2 GB free, whatever the system of the test is."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2 * 10**9))


@pytest.mark.usefixtures("machine")
def test_half_of_what_any_system_has_free():
    assert free_bytes() == 2 * 10**9
    check_fits(10**9, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match=r"a table needs 1 GB, more than half of the free memory, 1 GB\. Give less\."):
        check_fits(10**9 + 1, None, "a table", "Give less.")
    check_fits(10**9 + 1, 3 * 10**9, "a table", "Give less.")


@pytest.mark.parametrize("error", [FileNotFoundError("/proc/meminfo"), psutil.AccessDenied()])
def test_nothing_is_refused_where_the_system_does_not_tell(error, monkeypatch):
    def silent():
        raise error

    monkeypatch.setattr(psutil, "virtual_memory", silent)
    assert free_bytes() is None
    check_fits(10**18, None, "a table", "Give less.")
    with pytest.raises(MemoryError, match="max_bytes = 1 kB"):
        check_fits(10**18, 1000, "a table", "Give less.")
