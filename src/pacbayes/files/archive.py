"""The archive a model is kept in: written the same whatever the clock says, and unpacked only as far as it may be.

::

    manifest.json    format, version and SHA-256
    values.json      our own values: what was planned, observed and found, and machines
    arrays/0.npy     the arrays that these name, and so on
    objects.skops    other people's estimators, itself an archive: a schema and the arrays it names, not compressed
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
from pacbayes._utils.memory import memory_limit, readable

MANIFEST, VALUES, OBJECTS, SCHEMA = "manifest.json", "values.json", "objects.skops", "schema.json"
ARRAY = "arrays/{}.npy"
_LARGEST_MANIFEST = 10_000
# Archives know no date before 1980, and clocks may stand at 1970; the same date in all makes equal models equal files.
_DATE = (1980, 1, 1, 0, 0, 0)
# Levels of braces and brackets in a schema; a pipeline in a pipeline in a grid has about 50.
_DEEPEST = 200
# Objects of this many bytes, at most, are made from one byte of a schema, or of values.
_OBJECT_BYTES = 60
# Copies of an array that exist at once while it is loaded: packed, as a stream, as an array.
_COPIES = 3
# NumPy's own limit, which it looks at only after it has read a header; and what stands before it.
_LARGEST_HEADER = 10_000 + 12


def packed(parts: Mapping[str, bytes], method: int) -> bytes:
    """Return an archive of some parts by name, without a date."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in parts.items():
            member = zipfile.ZipInfo(name, date_time=_DATE)
            member.compress_type, member.external_attr = method, 0o644 << 16
            archive.writestr(member, data)
    return buffer.getvalue()


def write_archive(path: str | os.PathLike[str], manifest: dict[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write manifest and parts; no reader ever sees half of them."""
    everything = {MANIFEST: json.dumps(manifest).encode(), **parts}
    write_file(Path(path), packed(everything, zipfile.ZIP_DEFLATED))


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the manifest, or raise `ValueError`."""
    manifest = json.loads(_member(archive, MANIFEST, _LARGEST_MANIFEST))
    if not isinstance(manifest, dict):
        raise ValueError(f"its manifest is {type(manifest).__name__}")
    return manifest


def read_parts(archive: zipfile.ZipFile, max_bytes: int | None) -> dict[str, bytes]:
    """Return all parts but the manifest by name, or raise; what would unpack to too much is refused before it is."""
    infos = [info for info in archive.infolist() if info.filename != MANIFEST]
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise ValueError("it has two parts of the same name")
    arrays = [ARRAY.format(number) for number in range(len(set(names) - {VALUES, OBJECTS}))]
    if set(names) - {OBJECTS} != {VALUES, *arrays}:
        raise ValueError(f"it has the parts {sorted(names)[:5]}")
    total = sum(info.file_size for info in infos)
    objects = _OBJECT_BYTES * archive.getinfo(VALUES).file_size
    _check_room(_COPIES * total + objects, max_bytes)
    parts = {name: _member(archive, name, archive.getinfo(name).file_size) for name in names}
    for name, data in parts.items():
        if name in arrays:
            _check_npy(io.BytesIO(data), len(data))
    return parts


def npy_bytes(array: NDArray[Any]) -> bytes:
    """Write an array."""
    file = io.BytesIO()
    npy.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def read_npy(data: bytes) -> NDArray[Any]:
    """Read an array, which holds no pickles."""
    array: NDArray[Any] = npy.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def check_parts(contents: bytes, max_bytes: int | None) -> None:
    """Raise `ValueError` unless making what a skops file describes takes no more memory than it may, and ends.

    A skops file is an archive of a schema, a tree of nodes, and of the arrays that nodes name.
    """
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        infos = archive.infolist()
        sizes = {info.filename: info.file_size for info in infos}
        if len(sizes) < len(infos):
            raise ValueError("its model has two parts of the same name")
        if any(info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in infos):
            raise ValueError("its model is packed twice")
        if sum(sizes.values()) > len(contents):
            raise ValueError("parts of its model overlap")
        objects = _OBJECT_BYTES * archive.getinfo(SCHEMA).file_size
        _check_room(_COPIES * len(contents) + objects, max_bytes)
        made: set[tuple[int | None, int, str]] = set()
        _find_parts(json.loads(archive.read(SCHEMA)), made)
        files = Counter(file for _, _, file in made)
        total = sum(times * _unpacked(archive.read(name)) for name, times in files.items())
        _check_room(_COPIES * (len(contents) + total) + objects, max_bytes)


def _find_parts(value: Any, made: set[tuple[int | None, int, str]], depth: int = 0) -> None:
    """Find the parts that a schema names, each as often as skops makes it: once for each number.

    A node with others inside has no number: by such, a short schema could stand for any number of objects.
    """
    if depth > _DEEPEST:
        raise ValueError("its model is nested too deeply")
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for one in inner:
        _find_parts(one, made, depth + 1)
    if isinstance(value, dict) and isinstance(value.get("__loader__"), str):
        number, file = value.get("__id__"), value.get("file")
        if number is not None and (type(number) is not int or any(isinstance(one, dict | list) for one in inner)):
            raise ValueError(f"its model has a part with the number {number!r}")
        if isinstance(file, str):
            made.add((number, len(made) if number is None else 0, file))


def _check_room(needed: int, max_bytes: int | None) -> None:
    """Raise if loading would need more than `max_bytes`, or than half of the free memory for None."""
    limit, name = memory_limit(max_bytes)
    if limit is not None and needed > limit:
        raise ValueError(
            f"loading it needs {readable(needed)}, more than {name} {readable(limit)}; if you know where it comes "
            "from, give a larger max_bytes"
        )


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a member of at most so many bytes, whatever it unpacks to."""
    info = archive.getinfo(name)
    _check_method(info, name)
    if info.file_size > most:
        raise ValueError(f"its {name} is too long")
    with archive.open(info) as stream:
        # With a number of bytes the stream is unpacked no further, even where the size in the archive is a lie.
        return stream.read(info.file_size)


def _check_method(info: zipfile.ZipInfo, name: str) -> None:
    # Others cannot be unpacked a bit at a time: a few bytes could become gigabytes before anybody counts them.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its {name} is packed by a method that pacbayes does not use")


def _unpacked(data: bytes) -> int:
    """Return to how many bytes a part unpacks; arrays must hold as much as they say.

    What it is shows in its first bytes, by which NumPy goes, too.
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
    """Raise unless an array has a short header, and the shape it says in as many bytes as there are."""
    # Of a longer header NumPy says that it is cut off.
    start = io.BytesIO(stream.read(_LARGEST_HEADER))
    read_header = npy.read_array_header_1_0 if npy.read_magic(start) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(start)
    count, held = math.prod(shape), size - start.tell()
    whole = min(shape, default=0) >= 0 and not dtype.hasobject and count * dtype.itemsize == held
    if not whole or (dtype.itemsize == 0 and count > 0):
        raise ValueError(f"an array of its model says {shape} of {dtype} and has {size} bytes")
