"""Files whole or not at all."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from pacbayes.runtime.file_write import check_can_write, write_file


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
