"""Files whole or not at all; locks: one process at a time (those that end one by force stand in test_killed.py)."""

import errno
import os
import stat
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import filelock
import pytest

from pacbayes._utils.files import check_can_write, hold_lock, write_file


def test_replaces_and_keeps_permissions(tmp_path):
    path = tmp_path / "file"
    write_file(path, b"first")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_follows_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (os, "chmod"), (Path, "replace")])
def test_nothing_is_left_of_what_failed(owner, step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fail(*args):
        raise OSError(step)

    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(OSError, match=step):
        write_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]


def test_a_system_that_opens_no_folders(tmp_path, monkeypatch):
    usual = os.open

    def as_windows(path, *args, **kwargs):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return usual(path, *args, **kwargs)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", as_windows)
    write_file(tmp_path / "file", b"text")
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize(("number", "goes_on"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_folders_that_cannot_be_synced(number, goes_on, tmp_path, monkeypatch):
    usual, synced = os.fsync, []

    def fail_for_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            synced.append(descriptor)
            raise OSError(number, os.strerror(number))
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    if goes_on:
        write_file(tmp_path / "file", b"text")
    else:
        with pytest.raises(OSError, match=os.strerror(number)):
            write_file(tmp_path / "file", b"text")
    assert len(synced) == 1
    assert (tmp_path / "file").read_bytes() == b"text"


def test_a_device_is_written_to_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"x" * 100_000)
    reader.join(timeout=10)
    assert read == [b"x" * 100_000]
    with pytest.raises(OSError, match="No space left"):
        write_file("/dev/full", b"text")
    assert not os.path.isfile("/dev/full")


def test_said_before_the_work(tmp_path):
    check_can_write("--out", tmp_path / "file")
    check_can_write("--out", os.devnull)
    assert os.listdir(tmp_path) == []
    with pytest.raises(IsADirectoryError, match=r"--out: cannot write .*: it is a folder"):
        check_can_write("--out", tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_can_write("--out", tmp_path / "none" / "file")
    with pytest.raises(PermissionError, match="--out: cannot write '/proc/file'"):
        check_can_write("--out", "/proc/file")


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
