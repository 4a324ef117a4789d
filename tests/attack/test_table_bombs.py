"""Tables that are short on disk and long in memory are refused before they fill it: the peak is measured."""

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

MB = 10**6
LONG = 150 * MB
# Half of what is said to be free may be taken.
FREE = 100 * MB
CHILD = """
import resource, sys
from pathlib import Path
from pacbayes.data.blocks import FileBlocks
from pacbayes.data.reading import read_frame
from pacbayes._utils import memory

def look(path):
    for block in FileBlocks(path) if sys.argv[1] == "blocks" else [read_frame(path)]:
        pass

look(Path(sys.argv[2]))
memory.free_bytes = lambda: int(sys.argv[4])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    look(Path(sys.argv[3]))
    said = "read"
except (ValueError, MemoryError) as error:
    said = str(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, said)
"""


def read_in_child(how, small, bomb):
    """Return by how many bytes the peak of a process rose when it read a file, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how, str(small), str(bomb), str(FREE)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
    )
    rose, said = done.stdout.split(" ", 1)
    return int(rose) * 1024, said.strip()


def zipped(path, pieces):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("own.csv", "w") as file:
        file.writelines(pieces)


def written(opened):
    def write(path, pieces):
        with opened(path, "wb") as file:
            file.writelines(pieces)

    return write


def in_streams(path, pieces):
    """Pack every different piece once: packing all of them takes long."""
    packed = {piece: bz2.compress(piece) for piece in set(pieces)}
    path.write_bytes(b"".join(packed[piece] for piece in pieces))


WRITERS = {".csv.gz": written(gzip.open), ".csv.bz2": in_streams, ".csv.xz": written(lzma.open)}
WRITERS |= {".csv.zip": zipped, ".csv": written(open)}
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
def test_text_that_unpacks_to_more_than_the_limit_is_refused(shape, ending, tmp_path):
    small, bomb = tmp_path / f"small{ending}", tmp_path / f"bomb{ending}"
    WRITERS[ending](small, [b"a,b,class\n1,2,yes\n"])
    WRITERS[ending](bomb, SHAPES[shape])
    rose, said = read_in_child("whole", small, bomb)
    assert said.startswith(f"reading {str(bomb)!r} needs more than half of the free memory, 50 MB"), said
    assert rose < 2 * FREE


@pytest.mark.parametrize("shape", ["one cell", "one name"])
def test_a_block_of_text_that_is_longer_than_the_limit_is_refused(shape, tmp_path):
    small, bomb = tmp_path / "small.csv.gz", tmp_path / "bomb.csv.gz"
    WRITERS[".csv.gz"](small, [b"a,b,class\n1,2,yes\n"])
    WRITERS[".csv.gz"](bomb, SHAPES[shape])
    rose, said = read_in_child("blocks", small, bomb)
    assert said.startswith(f"reading {str(bomb)!r} needs more than half of the free memory, 50 MB"), said
    assert rose < 2 * FREE


def test_a_long_file_of_short_blocks_is_read(tmp_path):
    bomb = tmp_path / "bomb.csv.gz"
    WRITERS[".csv.gz"](bomb, SHAPES["rows"][:100])
    assert read_in_child("blocks", bomb, bomb)[1] == "read"


def numbers(path):
    """Write as many zeros as fill the room, in a few bytes."""
    zeros = pa.table({"a": pa.array(np.zeros(10**6)), "class": pa.array(np.zeros(10**6, dtype=np.int64))})
    with pq.ParquetWriter(path, zeros.schema) as writer:
        for _ in range(20):
            writer.write_table(zeros)


def texts(path):
    """Write one long text and how often it stands there."""
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000, dtype=np.int32)), pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"a": long.dictionary_decode(), "class": pa.array([0] * 30_000)}), path)


@pytest.mark.parametrize(("how", "write"), [("whole", numbers), ("whole", texts), ("blocks", texts)])
def test_parquet_that_unpacks_to_more_than_the_limit_is_refused(how, write, tmp_path):
    small, bomb = tmp_path / "small.parquet", tmp_path / "bomb.parquet"
    pd.DataFrame({"a": ["x", "y"], "class": [1, 2]}).to_parquet(small)
    write(bomb)
    assert bomb.stat().st_size < MB
    rose, said = read_in_child(how, small, bomb)
    assert said.startswith(f"reading {str(bomb)!r} needs "), said
    assert "half of the free memory, 50 MB" in said
    assert rose < FREE


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_the_command_line_says_so_in_one_line(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "free_bytes", lambda: MB)
    path = tmp_path / f"own{ending}"
    frame = pd.DataFrame({"a": np.zeros(200_000), "class": [0, 1] * 100_000})
    frame.to_csv(path, index=False) if ending == ".csv.gz" else frame.to_parquet(path)
    done = in_process(["certify", path], capsys)
    assert done.code == 2
    assert done.error.startswith(
        f"pacbayes: reading {str(path)!r} needs more than half of the free memory, 500 kB: use"
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_archives_that_unpack_as_a_whole_are_refused(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "own.csv.zip", "w", method) as archive:
        archive.writestr("own.csv", "a,class\n1,2\n")
    with pytest.raises(ValueError, match=r"own\.csv\.zip' as CSV: its archive must be packed by the method deflate"):
        load_dataset(tmp_path / "own.csv.zip")
