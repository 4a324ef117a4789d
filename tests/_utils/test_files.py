"""Atomic writing and locks; test_killed.py has the tests that kill processes."""

import os
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pacbayes._utils.files import hold_lock, write_file


def test_replace_keeps_permissions_and_follows_links(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    write_file(link, b"first")
    # Permissions of the umask.
    umask = os.umask(0o027)
    write_file(tmp_path / "new", b"")
    os.umask(umask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").unlink()
    path.chmod(0o600)
    write_file(link, b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (os, "chmod"), (Path, "replace")])
def test_failed_write_leaves_nothing(owner, step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("before")

    def fail(*args):
        raise OSError(step)

    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(OSError, match=step):
        write_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]


def test_device_is_not_replaced(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"x" * 100_000)
    reader.join(timeout=10)
    assert read == [b"x" * 100_000]
    with pytest.raises(OSError, match="No space left"):
        write_file("/dev/full", b"text")
    assert not os.path.isfile("/dev/full")


def try_lock(path):
    """Message of `hold_lock` if the lock is taken, "in" otherwise."""
    try:
        with hold_lock(path, "the directory"):
            return "in"
    except BlockingIOError as error:
        return str(error)


def test_second_process_gets_an_error_and_does_not_disturb_the_first(tmp_path):
    path, heard = tmp_path / "lock", []
    with hold_lock(path, "the directory"):
        for _ in range(2):
            thread = threading.Thread(target=lambda: heard.append(try_lock(path)))
            thread.start()
            thread.join()
            heard.append(try_lock(path))
    assert len(set(heard)) == 1
    assert heard[0] == "the directory is in use by another process; one run at a time can work there"
    assert try_lock(path) == "in"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_worker_does_not_release_the_lock(tmp_path):
    path = tmp_path / "lock"
    with ExitStack() as stack:
        stack.enter_context(hold_lock(path, "the directory"))
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert try_lock(path) != "in"
    assert try_lock(path) == "in"
