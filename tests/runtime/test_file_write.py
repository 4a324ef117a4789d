"""Files whole or not at all."""

import os
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
