"""What a skops file would make, read from its schema before any of it is made.

A skops file is an archive of ``schema.json``, a tree of nodes, and of the arrays the nodes name.  A node says with
``__loader__`` how it is made, with ``__module__`` and ``__class__`` of what type, and with ``__id__`` which object it
is: a node whose number occurred before is that object again, whatever else it says.
"""

import hashlib
import io
import json
import math
import zipfile
from collections import Counter
from typing import Any

import numpy as np
from numpy.lib import format as npy

from pacbayes.estimators.persistence.archive import check_room

SCHEMA = "schema.json"
# Levels of braces and brackets in a schema; a pipeline in a pipeline in a grid has about 50.
_DEEPEST = 200
# skops makes objects of this many bytes, at most, from one byte of a schema.
_OBJECT_BYTES = 60
# Copies of an array that exist at once while it is loaded: packed, as a stream, as an array.
_COPIES = 3
# What differs between two nodes of one object: their numbers, and what is said of the file as a whole.
_UNTOLD = ("__id__", "file", "protocol", "_skops_version")


class Schema:
    """The schema of a skops file, checked: shallow, each array as long as it says, each number one object.

    Parameters
    ----------
    contents : bytes
        The skops file.
    max_bytes : int, optional
        What loading may need; None for half of the free memory.

    Attributes
    ----------
    nodes : list of dict
    bytes : int
        To how much the file unpacks.
    """

    def __init__(self, contents: bytes, max_bytes: int | None = None) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(contents))
        infos = self._archive.infolist()
        self._sizes = {info.filename: info.file_size for info in infos}
        if len(self._sizes) < len(infos):
            raise ValueError("its model has two parts of the same name")
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ValueError("its model is packed twice")
        if sum(self._sizes.values()) > len(contents):
            raise ValueError("parts of its model overlap")
        check_room(_COPIES * len(contents) + _OBJECT_BYTES * self._size(SCHEMA), max_bytes)
        tree = json.loads(self._read(SCHEMA))
        self.nodes: list[dict[str, Any]] = []
        self._parts: dict[str, bytes] = {}
        self._objects: dict[int, bytes] = {}
        self._look(tree, 0)
        # A part that is named several times is made as often.
        named = Counter(node["file"] for node in self.nodes if "file" in node)
        self.bytes = len(contents) + sum(times * self._unpacked(name) for name, times in named.items())
        check_room(_COPIES * self.bytes + _OBJECT_BYTES * self._size(SCHEMA), max_bytes)

    def value(self, node: dict[str, Any]) -> Any:
        """Return what a node of plain values stands for: numbers, text, tuples, dicts, arrays."""
        loader, content = node["__loader__"], node.get("content")
        if loader == "JsonNode":
            return json.loads(str(content))
        if loader == "TupleNode" and isinstance(content, list):
            return tuple(self.value(part) for part in content)
        if loader == "DictNode" and isinstance(content, dict):
            return {name: self.value(part) for name, part in content.items()}
        if loader == "NdArrayNode" and node.get("type") == "numpy":
            return np.load(io.BytesIO(self._read(node["file"])), allow_pickle=False)
        raise ValueError(f"its model has a {loader} where plain values are expected")

    def _size(self, name: str) -> int:
        if name not in self._sizes:
            raise ValueError(f"its model has no part {name!r}")
        return self._sizes[name]

    def _read(self, name: str) -> bytes:
        self._size(name)
        return self._archive.read(name)

    def _unpacked(self, name: str) -> int:
        """Return what loading a part allocates beyond the file itself."""
        size = self._size(name)
        if name.endswith(".npz"):
            return _check_npz(self._read(name))
        if not name.endswith(".npy"):
            return size
        _check_npy(io.BytesIO(self._read(name)), size)
        return size

    def _look(self, value: Any, depth: int) -> Any:
        """Collect the nodes below a value, and return what tells it from others: for a node, a digest of all it makes.

        Nodes with one number must have one digest.  A check of one of them would be no check of the other; and as each
        is written in full, no file can be short that makes something long of parts within parts.
        """
        if depth > _DEEPEST:
            raise ValueError("its model is nested too deeply")
        if isinstance(value, list):
            return [self._look(inner, depth + 1) for inner in value]
        if not isinstance(value, dict):
            return value
        below = {name: self._look(inner, depth + 1) for name, inner in value.items() if name not in _UNTOLD}
        if "__loader__" not in value:
            return below
        self.nodes.append(value)
        if "file" in value:
            below["file"] = self._part(value["file"])
        digest = hashlib.blake2b(repr(below).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        number = value.get("__id__")
        if number is not None:
            if isinstance(number, bool) or not isinstance(number, int):
                raise ValueError(f"its model has a part with the number {number!r}")
            if self._objects.setdefault(number, digest) != digest:
                raise ValueError("its model has two different parts with one number")
        return digest

    def _part(self, name: Any) -> bytes:
        """Return the digest of a part of the archive."""
        if not isinstance(name, str):
            raise ValueError(f"its model names a part {name!r}")
        if name not in self._parts:
            self._parts[name] = hashlib.blake2b(self._read(name), digest_size=16).digest()
        return self._parts[name]


def _check_npz(data: bytes) -> int:
    """Return to how many bytes the arrays of a sparse matrix unpack; each must say as much as it holds."""
    total = 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("an array of its model is packed by a method that pacbayes does not use")
            with archive.open(info) as stream:
                _check_npy(stream, info.file_size)
            total += info.file_size
    return total


def _check_npy(stream: Any, size: int) -> None:
    """Raise unless an array has the shape it says, in as many bytes as there are."""
    version = npy.read_magic(stream)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    count = math.prod(shape)
    if min(shape, default=0) < 0 or dtype.hasobject or count * dtype.itemsize != size - stream.tell():
        raise ValueError(f"an array of its model says {shape} of {dtype} and has {size} bytes")
    if dtype.itemsize == 0 and count > 0:
        raise ValueError(f"an array of its model says {shape} of {dtype}")
