"""Archive of a model: written reproducibly, read within a memory limit.

::

    manifest.json    format, version and SHA-256
    values.json      values of this package: plan, validation predictions, posterior weights, SVMs
    arrays/0.npy     arrays that values.json refers to, and so on
    objects.skops    estimators of other libraries: an uncompressed archive of a schema and its arrays
"""

import io
import json
import math
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from pacbayes._utils.files import write_file
from pacbayes._utils.memory import format_bytes, memory_limit

MANIFEST, VALUES, OBJECTS, SCHEMA = "manifest.json", "values.json", "objects.skops", "schema.json"
ARRAY = "arrays/{}.npy"
_MAX_MANIFEST_BYTES = 10_000
# A constant date, the earliest in a zip file, so that equal models make equal files.
_DATE = (1980, 1, 1, 0, 0, 0)
# Maximum nesting of a schema; a pipeline in a pipeline in a grid has about 50 levels.
_MAX_DEPTH = 200
# Maximum ratio of the size of loaded objects to the size of their schema or values.json.
_OBJECT_BYTES = 60
# Simultaneous copies of an array during loading: compressed, as a stream, as an array.
_COPIES = 3
# Maximum header size of NumPy, which NumPy checks only after reading, plus the bytes before the header.
_MAX_HEADER_BYTES = 10_000 + 12


def pack_archive(parts: Mapping[str, bytes], method: int) -> bytes:
    """Pack parts, by name, into an archive with a constant date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in parts.items():
            member = zipfile.ZipInfo(name, date_time=_DATE)
            member.compress_type, member.external_attr = method, 0o644 << 16
            archive.writestr(member, data)
    return buffer.getvalue()


def write_archive(path: str | os.PathLike[str], manifest: dict[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write the manifest and the parts atomically."""
    members = {MANIFEST: json.dumps(manifest).encode(), **parts}
    write_file(Path(path), pack_archive(members, zipfile.ZIP_DEFLATED))


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Read the manifest; raise `ValueError` if it is invalid."""
    manifest = json.loads(_read_member(archive, MANIFEST, _MAX_MANIFEST_BYTES))
    if not isinstance(manifest, dict):
        raise ValueError(f"its manifest is of type {type(manifest).__name__}")
    return manifest


def read_parts(archive: zipfile.ZipFile, max_bytes: int | None) -> dict[str, bytes]:
    """Read all parts except the manifest; raise before unpacking more than `max_bytes`."""
    infos = [info for info in archive.infolist() if info.filename != MANIFEST]
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise ValueError("it has duplicate parts")
    arrays = [ARRAY.format(number) for number in range(len(set(names) - {VALUES, OBJECTS}))]
    if set(names) - {OBJECTS} != {VALUES, *arrays}:
        raise ValueError(f"it has unexpected parts: {sorted(names)[:5]}")
    total = sum(info.file_size for info in infos)
    objects = _OBJECT_BYTES * archive.getinfo(VALUES).file_size
    _check_memory(_COPIES * total + objects, max_bytes)
    parts = {name: _read_member(archive, name, archive.getinfo(name).file_size) for name in names}
    for name, data in parts.items():
        if name in arrays:
            _check_npy(io.BytesIO(data), len(data))
    return parts


def encode_npy(array: NDArray[Any]) -> bytes:
    """Serialise an array."""
    file = io.BytesIO()
    npy.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def read_npy(data: bytes) -> NDArray[Any]:
    """Read an array; pickles are rejected."""
    array: NDArray[Any] = npy.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def check_parts(contents: bytes, max_bytes: int | None) -> None:
    """Raise `ValueError` if loading a skops file would take more than `max_bytes`, or not terminate.

    A skops file is an archive of a schema, which is a tree of nodes, and of arrays that the nodes refer to.
    """
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        infos = archive.infolist()
        sizes = {info.filename: info.file_size for info in infos}
        if len(sizes) < len(infos):
            raise ValueError("its skops file has duplicate parts")
        if any(info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in infos):
            raise ValueError("its skops file is compressed")
        if sum(sizes.values()) > len(contents):
            raise ValueError("parts of its skops file overlap")
        objects = _OBJECT_BYTES * archive.getinfo(SCHEMA).file_size
        _check_memory(_COPIES * len(contents) + objects, max_bytes)
        loaded_parts: set[tuple[int | None, int, str]] = set()
        _collect_parts(json.loads(archive.read(SCHEMA)), loaded_parts)
        files = Counter(file for _, _, file in loaded_parts)
        total = sum(times * _compute_unpacked_size(archive.read(name)) for name, times in files.items())
        _check_memory(_COPIES * (len(contents) + total) + objects, max_bytes)


def _collect_parts(value: Any, loaded_parts: set[tuple[int | None, int, str]], depth: int = 0) -> None:
    """Collect the parts that a schema refers to, as often as skops loads them: once for each node number.

    A node with child nodes has no number: otherwise a short schema could expand to any number of objects.
    """
    if depth > _MAX_DEPTH:
        raise ValueError("its skops file is nested too deeply")
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for child in inner:
        _collect_parts(child, loaded_parts, depth + 1)
    if isinstance(value, dict) and isinstance(value.get("__loader__"), str):
        number, file = value.get("__id__"), value.get("file")
        if number is not None and (type(number) is not int or any(isinstance(child, dict | list) for child in inner)):
            raise ValueError(f"its skops file has an invalid node number {number!r}")
        if isinstance(file, str):
            loaded_parts.add((number, len(loaded_parts) if number is None else 0, file))


def _check_memory(needed: int, max_bytes: int | None) -> None:
    """Raise if loading requires more than `max_bytes`; for None, more than half of the free memory."""
    limit, name = memory_limit(max_bytes)
    if limit is not None and needed > limit:
        raise ValueError(
            f"loading it needs {format_bytes(needed)}, more than {name} {format_bytes(limit)}; if you trust its "
            "origin, pass a larger max_bytes"
        )


def _read_member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Read a member of at most `max_bytes`, whatever size its header states."""
    info = archive.getinfo(name)
    _check_method(info, name)
    if info.file_size > max_bytes:
        raise ValueError(f"its {name} is too long")
    with archive.open(info) as stream:
        # Reading a number of bytes unpacks no more, even if the size in the archive is wrong.
        return stream.read(info.file_size)


def _check_method(info: zipfile.ZipInfo, name: str) -> None:
    # Other methods do not unpack incrementally: a few bytes could become gigabytes before they are counted.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {name} uses an unsupported compression method")


def _compute_unpacked_size(data: bytes) -> int:
    """Compute the unpacked size of a part, whose arrays must have the sizes in their headers.

    The kind of a part is detected from its first bytes, as in NumPy.
    """
    if data.startswith(npy.MAGIC_PREFIX):
        _check_npy(io.BytesIO(data), len(data))
    if not data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return len(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            _check_method(info, "sparse matrix")
            with archive.open(info) as stream:
                _check_npy(stream, info.file_size)
        return sum(info.file_size for info in archive.infolist())


def _check_npy(stream: Any, size: int) -> None:
    """Raise unless an array has a short header, and the size that its header states."""
    # NumPy reports a longer header as truncated.
    start = io.BytesIO(stream.read(_MAX_HEADER_BYTES))
    read_header = npy.read_array_header_1_0 if npy.read_magic(start) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(start)
    count, n_bytes = math.prod(shape), size - start.tell()
    matches = min(shape, default=0) >= 0 and not dtype.hasobject and count * dtype.itemsize == n_bytes
    if not matches or (dtype.itemsize == 0 and count > 0):
        raise ValueError(f"an array with header {shape} of {dtype} has {size} bytes")
