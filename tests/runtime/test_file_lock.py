"""One process at a time; those that end one by force stand in test_killed.py."""

import os
import threading
from contextlib import ExitStack, suppress

import filelock
import pytest

from pacbayes.runtime.file_lock import hold_lock


def test_whoever_comes_second_is_told_who_has_it_and_disturbs_nothing(tmp_path):
    path = tmp_path / "lock"
    with hold_lock(path, "the directory"):
        written = path.read_bytes()
        for _ in range(2):
            message = rf"^the directory is in use by process {os.getpid()} on \S+; one run at a time can work there$"
            with pytest.raises(BlockingIOError, match=message), hold_lock(path, "the directory"):
                pass
        assert path.read_bytes() == written
    with hold_lock(path, "the directory"):
        assert path.read_bytes() == written
    assert path.exists()


def test_another_thread_has_to_wait_its_turn_as_well(tmp_path):
    found = []

    def come_second():
        try:
            with hold_lock(tmp_path / "lock", "the directory"):
                found.append("in")
        except BlockingIOError:
            found.append("refused")

    with hold_lock(tmp_path / "lock", "the directory"):
        thread = threading.Thread(target=come_second)
        thread.start()
        thread.join()
    come_second()
    assert found == ["refused", "in"]


def test_a_holder_that_has_not_signed_is_another_process(tmp_path):
    path = tmp_path / "lock"
    refused = pytest.raises(BlockingIOError, match="in use by another process;")
    with filelock.FileLock(path), refused, hold_lock(path, "the directory"):
        pass


def test_a_system_without_locks_is_not_given_one_that_outlives_a_killed_process(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")

    def no_flock(*args):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", no_flock)
    with pytest.raises(OSError, match="Function not implemented"), hold_lock(tmp_path / "lock", "the directory"):
        pass
    with pytest.raises(OSError, match="Function not implemented"), hold_lock(tmp_path / "lock", "the directory"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_worker_that_leaves_the_block_does_not_open_the_lock(tmp_path):
    path = tmp_path / "lock"
    with ExitStack() as stack:
        stack.enter_context(hold_lock(path, "the directory"))
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(BlockingIOError), hold_lock(path, "the directory"):
            pass
    with hold_lock(path, "the directory"):
        pass
