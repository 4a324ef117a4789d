"""Forged model files with correct digests."""

import io
import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pacbayes import save
from pacbayes.files import model_file
from pacbayes.files.archive import ARRAY, MANIFEST, OBJECTS, VALUES, pack_archive

KIND = "@"


class Forged:
    """The parts of a model's file, to be changed and written back.

    Values are written as they stand in ``values``, or where that is None as they stand among the parts.
    ``forged["predictions.y_pred"]`` is an array, ``forged["plan.split.m"]`` a plain value, anything else what JSON
    holds of it; assigned may be any of these.  Names are those of fields, numbers those of entries.
    """

    def __init__(self, contents):
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            self.manifest = json.loads(archive.read(MANIFEST))
            self.parts = {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}
        self.values = json.loads(self.parts[VALUES])

    @classmethod
    def of(cls, model):
        """Unpack the file of a model."""
        return cls(saved(model))

    def __getitem__(self, place):
        value = self.json(place)
        if isinstance(value, dict) and value.get(KIND) == "array":
            return np.load(io.BytesIO(self.parts[ARRAY.format(value["number"])]))
        return value

    def __setitem__(self, place, value):
        *outer, name = place.split(".")
        holder, key = _entry(self.json(".".join(outer)), name)
        holder[key] = self.encoded(value)

    def __delitem__(self, place):
        *outer, name = place.split(".")
        within = self.json(".".join(outer))
        holder, key = _entry(within, name)
        if isinstance(within, dict) and within.get(KIND) == "dict":
            within["pairs"].remove(holder)
        else:
            del holder[key]

    def json(self, place):
        """Encoded JSON at a place."""
        value = self.values
        for name in filter(None, place.split(".")):
            holder, key = _entry(value, name)
            value = holder[key]
        return value

    def encoded(self, value):
        """Encode a value; an array becomes a new part."""
        if isinstance(value, np.ndarray):
            return self.part(npy(value))
        if isinstance(value, tuple):
            return {KIND: "tuple", "values": [self.encoded(one) for one in value]}
        return value.item() if isinstance(value, np.generic) else value

    def part(self, data):
        """Add any bytes as the part of an array."""
        number = sum(name.startswith("arrays/") for name in self.parts)
        self.parts[ARRAY.format(number)] = data
        return {KIND: "array", "number": number}

    def write(self, path):
        """Write the file with the correct digest, and return the path."""
        parts = self.parts if self.values is None else self.parts | {VALUES: json.dumps(self.values).encode()}
        write(path, parts, self.manifest)
        return path

    @property
    def objects(self):
        """The skops file."""
        return self.parts[OBJECTS]

    @objects.setter
    def objects(self, contents):
        self.parts[OBJECTS] = contents


def saved(model):
    """Bytes of the file of a model."""
    with TemporaryDirectory() as folder:
        save(model, folder + "/model")
        return Path(folder, "model").read_bytes()


def write(path, parts, manifest=None):
    """Write parts with the correct digest."""
    start = {"format": model_file.FORMAT, "version": "0"} | (manifest or {})
    whole = start | {"sha256": model_file._compute_digest(start, parts)}
    path.write_bytes(pack_archive({MANIFEST: json.dumps(whole).encode(), **parts}, zipfile.ZIP_STORED))


def npy(array):
    """Serialise an array in its memory order."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def _entry(value, name):
    """Container and key of an entry of encoded JSON."""
    if isinstance(value, list):
        return value, int(name)
    if value.get(KIND) == "tuple":
        return value["values"], int(name)
    if value.get(KIND) == "dict":
        return next(pair for pair in value["pairs"] if str(pair[0]) == name), 1
    return value, name
