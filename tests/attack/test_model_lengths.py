"""Forged model files with false lengths, decompression bombs and deep nesting are rejected before they are unpacked.

Tests measure the peak memory of the rejection.
"""

import io
import json
import struct
import tracemalloc
import zipfile

import pytest
from tests.attack.small_models import COLUMNS, model, with_parts
from tests.files.model_files import Forged, write

from pacbayes import load
from pacbayes._utils import memory
from pacbayes.files import model_file
from pacbayes.files.archive import MANIFEST, OBJECTS, VALUES

LONG = 64 * 2**20


def peak_of(path, match, **options):
    """Peak memory of the rejection of a file."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            load(path, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


FIRST = "arrays/0.npy"


def write_parts(path, parts, manifest=None, method=zipfile.ZIP_DEFLATED):
    """Write an archive of any parts, with any compression."""
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(MANIFEST, json.dumps({"format": model_file.FORMAT} | (manifest or {})))
        for name, contents in parts.items():
            archive.writestr(name, contents)


@pytest.mark.parametrize(("name", "needs"), [(FIRST, "201 MB"), (OBJECTS, "201 MB"), (VALUES, "4.23 GB")])
def test_a_bomb_is_rejected_before_it_is_unpacked(name, needs, tmp_path):
    path = tmp_path / "model"
    write_parts(path, {VALUES: b"{}"} | {name: bytes(LONG)})
    assert path.stat().st_size < LONG / 500
    assert peak_of(path, rf"needs {needs}, more than max_bytes = 50 MB", max_bytes=50_000_000) < 10 * 2**20


def test_max_bytes_is_half_of_the_free_memory_by_default(tmp_path, monkeypatch):
    write_parts(tmp_path / "model", {VALUES: bytes(10**6)})
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    with pytest.raises(ValueError, match="more than half of the free memory, 500 kB"):
        load(tmp_path / "model")


@pytest.mark.parametrize("name", [FIRST, OBJECTS, VALUES])
def test_a_false_length_in_the_archive_is_rejected(name, tmp_path):
    path = tmp_path / "model"
    write_parts(path, {VALUES: b"{}"} | {name: bytes(LONG)})
    data = path.read_bytes()
    true, false = struct.pack("<L", LONG), struct.pack("<L", 5000)
    assert data.count(true) == 2
    path.write_bytes(data.replace(true, false))
    assert peak_of(path, "damaged") < 10 * 2**20


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_rejected(method, tmp_path):
    """They unpack a whole member, even if few bytes are read."""
    path = tmp_path / "model"
    write_parts(path, {VALUES: b"{}", FIRST: bytes(LONG // 2)}, method=method)
    assert peak_of(path, "uses an unsupported compression method") < 10 * 2**20


@pytest.mark.parametrize(
    "names",
    [
        [],
        [FIRST],
        [VALUES, "arrays/1.npy"],
        [VALUES, FIRST, "arrays/2.npy"],
        [VALUES, "arrays/00.npy"],
        [VALUES, "arrays/-1.npy"],
        [VALUES, "../outside"],
        [VALUES, VALUES],
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_unexpected_parts_are_rejected(names, tmp_path):
    path, manifest = tmp_path / "model", {"version": "0"}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, json.dumps({"format": model_file.FORMAT} | manifest))
        for name in names:
            archive.writestr(name, b"{}")
    with pytest.raises(ValueError, match=r"it has unexpected parts|duplicate parts"):
        load(path)


def test_objects_compressed_twice_are_rejected(tmp_path):
    forged = Forged.of(model("grid"))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(forged.objects)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    forged.objects = out.getvalue()
    with pytest.raises(ValueError, match="is compressed"):
        load(forged.write(tmp_path / "model"))


def npy(shape, dtype="<f8", data=b""):
    """An array file whose header need not match its data."""
    head = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize(
    "part",
    [
        npy((2**40,)),
        npy((2**31, 2**31)),
        npy((-1,)),
        npy((10**12,), "|V0"),
        npy((2,), "|O", b"x" * 16),
        npy((3,)),
        b"x",
    ],
    ids=["long", "overflow", "negative", "nothing", "objects", "short", "no array"],
)
@pytest.mark.parametrize("where", ["values", "objects"])
def test_an_array_with_a_false_header_is_rejected(where, part, tmp_path):
    forged = Forged.of(model("grid"))
    if where == "values":
        forged.parts[FIRST] = part
    else:
        with zipfile.ZipFile(io.BytesIO(forged.objects)) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".npy"))
        forged.objects = with_parts(forged.objects, {name: part})
    path = forged.write(tmp_path / "model")
    assert peak_of(path, "not a model saved by pacbayes") < 20 * 2**20


def test_repeated_references_to_an_array_are_rejected(tmp_path):
    """A hundred thousand copies of eight megabytes."""
    forged = Forged.of(model("two"))
    name = forged.part(npy((10**6,), data=bytes(8 * 10**6)))
    forged["params.lambdas"] = [name] * 100_000
    path = forged.write(tmp_path / "model")
    assert peak_of(path, r"names array \d+ twice") < 150 * 2**20


def test_a_split_of_more_rows_than_predictions_is_rejected_before_it_is_drawn(tmp_path):
    """Independent splits follow from the number of rows and the seed, without arrays."""
    forged, rows = Forged.of(model("independent")), 2**31
    forged["plan.split.n_rows"], forged["plan.row_fingerprints"] = rows, None
    forged["plan.split.n_train"] = rows - forged["plan.split.m"]
    path = forged.write(tmp_path / "model")
    assert peak_of(path, r"must have a column for each validation row") < 20 * 2**20


def schema_with(content, parts=()):
    """A skops file with any text as schema."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts:
            archive.writestr(name, data)
        archive.writestr("schema.json", content)
    return out.getvalue()


def write_contents(path, contents):
    write(path, {VALUES: b"{}", OBJECTS: contents})


def list_node(parts):
    inner = ", ".join(parts)
    return (
        '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "protocol": 2, '
        f'"content": [{inner}]}}'
    )


def test_repeated_references_to_an_array_in_skops_are_counted(tmp_path):
    node = (
        '{"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", '
        '"file": "long.npy"}'
    )
    long = npy((10**6,), data=bytes(8 * 10**6))
    path = tmp_path / "model"
    write_contents(path, schema_with(list_node([node] * 1000), [("long.npy", long)]))
    assert peak_of(path, r"needs 24 GB, more than max_bytes = 10 GB", max_bytes=10**10) < 60 * 2**20


def test_a_bomb_in_a_sparse_matrix_is_rejected(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("data", "indices", "indptr"):
            archive.writestr(f"{name}.npy", npy((LONG // 8,), data=bytes(LONG)))
    node = (
        '{"__class__": "csr_matrix", "__module__": "scipy.sparse._csr", "__loader__": "SparseMatrixNode", '
        '"type": "scipy", "file": "long.npz"}'
    )
    path = tmp_path / "model"
    write_contents(path, schema_with(list_node([node]), [("long.npz", inner.getvalue())]))
    assert peak_of(path, r"needs 60\d MB, more than max_bytes = 500 MB", max_bytes=5 * 10**8) < 30 * 2**20


@pytest.mark.parametrize("name", ["long.npz", "long.bin"])
def test_a_long_header_is_not_read(name, tmp_path):
    """NumPy reads a header before it checks the length; 400 MB of spaces are 400 kB in an archive."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as file:
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<L", 400 * 2**20))
        for _ in range(400):
            file.write(b" " * 2**20)
    node = (
        '{"__class__": "csr_matrix", "__module__": "scipy.sparse._csr", "__loader__": "SparseMatrixNode", '
        f'"type": "scipy", "file": "{name}"}}'
    )
    path = tmp_path / "model"
    write_contents(path, schema_with(list_node([node]), [(name, inner.getvalue())]))
    assert peak_of(path, r"header, expected 419430400 bytes") < 30 * 2**20


def test_overlapping_parts_are_rejected(tmp_path):
    contents = schema_with("{}", [(f"{i}.npy", b"x" * 1000) for i in range(50)])
    # All entries of the central directory point to the first part.
    start = contents.index(b"PK\x01\x02")
    head, tail = contents[:start], bytearray(contents[start:])
    place = 0
    while tail[place : place + 4] == b"PK\x01\x02":
        struct.pack_into("<LL", tail, place + 20, 40_000, 40_000)
        struct.pack_into("<L", tail, place + 42, 0)
        place += 46 + struct.unpack_from("<H", tail, place + 28)[0]
    path = tmp_path / "model"
    write_contents(path, head + bytes(tail))
    with pytest.raises(ValueError, match="overlap"):
        load(path)


@pytest.mark.parametrize("depth", [250, 5000, 200_000])
def test_deep_nesting_is_rejected(depth, child, tmp_path):
    path = tmp_path / "model"
    for start, end in (("[", "]"), ('{"@": "tuple", "values": [', "]}"), ('{"@": "dict", "pairs": [["a", ', "]]}")):
        write(path, {VALUES: (start * depth + "1" + end * depth).encode()})
        assert child.load(path, COLUMNS).startswith("refused")
    write_contents(path, schema_with("[" * depth + "]" * depth))
    assert child.load(path, COLUMNS).startswith("refused")
    levels = min(depth, 20_000)
    start = '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    write_contents(path, schema_with(start * levels + "]}" * levels))
    assert child.load(path, COLUMNS).startswith("refused")


def test_exponential_references_are_rejected(child, tmp_path):
    """Forty lists, each with two references to the previous one: 2^40 values."""
    leaf = '{"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "1", "__id__": 1}'
    text = leaf
    for number in range(2, 40):
        reference = (
            f'{{"__class__": "list", "__module__": "builtins", "__loader__": "CachedNode", "__id__": {number - 1}}}'
        )
        text = (
            '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "protocol": 2, '
            f'"__id__": {number}, "content": [{text}, {reference}]}}'
        )
    path = tmp_path / "model"
    write_contents(path, schema_with(text))
    assert "has an invalid node number 2" in child.load(path, COLUMNS)
