"""Tables that are small on disk and large in memory are rejected before they fill it; tests measure the peak."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import in_process

from pacbayes import load_dataset
from pacbayes._utils import memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")

MB = 10**6
LONG = 150 * MB
# The reported free memory, of which half may be used.
FREE = 100 * MB
CHILD = """
import sys
from pathlib import Path
from pacbayes.data.io import open_table
from pacbayes._utils import memory

def peak():
    # On Linux, ru_maxrss begins at the memory of the parent process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def read(path):
    for block in open_table(path).blocks() if sys.argv[1] == "blocks" else [open_table(path).read()]:
        pass

read(Path(sys.argv[2]))
memory.available_memory = lambda: int(sys.argv[4])
before = peak()
try:
    read(Path(sys.argv[3]))
    result = "read"
except (ValueError, MemoryError) as error:
    result = str(error)
print(peak() - before, result)
"""


def read_in_child(how, small, bomb):
    """Increase of the peak memory of a process that reads a file, in bytes, and its result."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how, str(small), str(bomb), str(FREE)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
    )
    increase, result = done.stdout.split(" ", 1)
    return int(increase) * 1024, result.strip()


def write_zip(path, pieces):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("own.csv", "w") as file:
        file.writelines(pieces)


def writer(opener):
    def write(path, pieces):
        with opener(path, "wb") as file:
            file.writelines(pieces)

    return write


def write_bz2(path, pieces):
    """Compress every distinct piece once, for speed."""
    packed = {piece: bz2.compress(piece) for piece in set(pieces)}
    path.write_bytes(b"".join(packed[piece] for piece in pieces))


WRITERS = {".csv.gz": writer(gzip.open), ".csv.bz2": write_bz2, ".csv.xz": writer(lzma.open)}
WRITERS |= {".csv.zip": write_zip, ".csv": writer(open)}
PIECE = b"1,0.25,yes\n" * 10**5
SHAPES = {
    "rows": [b"a,b,class\n", *[PIECE] * (LONG // len(PIECE))],
    "one cell": [b"a,b,class\n1,2,", *[b"x" * 10**6] * 150, b"\n"],
    "one name": [b"a,b,", *[b"x" * 10**6] * 150, b"\n1,2,3\n"],
    "short cells": [b"a,b\n", *[b"1,1\n" * 10**5] * 150],
}


@pytest.mark.parametrize(
    ("shape", "ending"),
    [("rows", ending) for ending in WRITERS]
    + [(shape, ending) for shape in list(SHAPES)[1:] for ending in (".csv.gz", ".csv")],
)
def test_text_bombs_are_rejected(shape, ending, tmp_path):
    small, bomb = tmp_path / f"small{ending}", tmp_path / f"bomb{ending}"
    WRITERS[ending](small, [b"a,b,class\n1,2,yes\n"])
    WRITERS[ending](bomb, SHAPES[shape])
    increase, result = read_in_child("whole", small, bomb)
    assert result.startswith(f"reading {str(bomb)!r} needs more than half of the free memory, 50 MB"), result
    assert increase < 2 * FREE


@pytest.mark.parametrize("shape", ["one cell", "one name"])
def test_long_blocks_of_text_are_rejected(shape, tmp_path):
    small, bomb = tmp_path / "small.csv.gz", tmp_path / "bomb.csv.gz"
    WRITERS[".csv.gz"](small, [b"a,b,class\n1,2,yes\n"])
    WRITERS[".csv.gz"](bomb, SHAPES[shape])
    increase, result = read_in_child("blocks", small, bomb)
    assert result.startswith(f"reading {str(bomb)!r} needs more than half of the free memory, 50 MB"), result
    assert increase < 2 * FREE


def test_a_long_file_of_short_blocks_is_read(tmp_path):
    bomb = tmp_path / "bomb.csv.gz"
    WRITERS[".csv.gz"](bomb, SHAPES["rows"][:100])
    assert read_in_child("blocks", bomb, bomb)[1] == "read"


def write_zeros(path):
    """Write many zeros in a few bytes."""
    zeros = pa.table({"a": pa.array(np.zeros(10**6)), "class": pa.array(np.zeros(10**6, dtype=np.int64))})
    with pq.ParquetWriter(path, zeros.schema) as writer:
        for _ in range(20):
            writer.write_table(zeros)


def write_strings(path):
    """Write a long string, repeated by a dictionary."""
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000, dtype=np.int32)), pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"a": long.dictionary_decode(), "class": pa.array([0] * 30_000)}), path)


def write_string(path):
    """Write one long string."""
    pq.write_table(pa.table({"a": ["x" * LONG], "class": [0]}), path, compression="zstd")


@pytest.mark.parametrize(
    ("how", "write"),
    [
        *(("whole", write_zeros), ("whole", write_strings), ("blocks", write_strings)),
        *(("whole", write_string), ("blocks", write_string)),
    ],
)
def test_parquet_bombs_are_rejected(how, write, tmp_path):
    small, bomb = tmp_path / "small.parquet", tmp_path / "bomb.parquet"
    pd.DataFrame({"a": ["x", "y"], "class": [1, 2]}).to_parquet(small)
    write(bomb)
    assert bomb.stat().st_size < MB
    increase, result = read_in_child(how, small, bomb)
    assert result.startswith(f"reading {str(bomb)!r} needs "), result
    assert "half of the free memory, 50 MB" in result
    assert increase < FREE


OTHERS = {
    "fixed-size binary": (b"x" * 10_000, pa.binary(10_000)),
    "lists of text": (["x" * 10_000], None),
    "structs of text": ({"t": "x" * 10_000}, None),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("how", ["whole", "blocks"])
def test_parquet_columns_of_unknown_size_are_not_read(how, kind, tmp_path):
    small, bomb = tmp_path / "small.parquet", tmp_path / "bomb.parquet"
    pd.DataFrame({"a": ["x", "y"], "class": [1, 2]}).to_parquet(small)
    value, dtype = OTHERS[kind]
    pq.write_table(pa.table({"a": pa.array([value] * 12_000, dtype), "class": [0] * 12_000}), bomb)
    increase, result = read_in_child(how, small, bomb)
    assert result == "read"
    assert increase < FREE // 2


@pytest.mark.parametrize("line_end", [b"\r", b"\n"])
def test_empty_lines_are_counted(line_end, tmp_path):
    small, bomb = tmp_path / "small.csv.gz", tmp_path / "bomb.csv.gz"
    WRITERS[".csv.gz"](small, [b"a,b,class\n1,2,yes\n"])
    WRITERS[".csv.gz"](bomb, [b"a,b" + line_end, *[line_end * 10**6] * 150])
    for how in ("whole", "blocks"):
        increase, result = read_in_child(how, small, bomb)
        assert result.startswith(f"reading {str(bomb)!r} needs more than half of the free memory"), result
        assert increase < FREE


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_the_command_line_reports_it_in_one_line(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "available_memory", lambda: MB)
    path = tmp_path / f"own{ending}"
    frame = pd.DataFrame({"a": np.zeros(200_000), "class": [0, 1] * 100_000})
    frame.to_csv(path, index=False) if ending == ".csv.gz" else frame.to_parquet(path)
    done = in_process(["certify", path], capsys)
    assert done.code == 2
    assert done.error.startswith(
        f"pacbayes: reading {str(path)!r} needs more than half of the free memory, 500 kB: use"
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compression_methods_are_rejected(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "own.csv.zip", "w", method) as archive:
        archive.writestr("own.csv", "a,class\n1,2\n")
    with pytest.raises(ValueError, match=r"own\.csv\.zip' as CSV: its archive must be packed by the method deflate"):
        load_dataset(tmp_path / "own.csv.zip")
