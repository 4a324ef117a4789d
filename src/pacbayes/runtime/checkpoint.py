"""A directory in which a long run keeps its finished units, so that a killed run goes on where it was.

::

    manifest.json      what the run is (fingerprints of data and parameters, versions) and the SHA-256 of every chunk
    chunk-0000.npz     the first unit of classifiers, and so on; .pickle of those that have no form of their own
    lock               held by the process that works here, and free again when it ends, however it ends

Every file is written beside its place, synced, and put there by one atomic rename; a chunk counts when the manifest
lists it.  So a process that is killed at any time leaves a directory without half a file in it.  Where anything of what
the run is differs (`describe_run`), results of one are not results of the other.
"""

import hashlib
import io
import json
import pickle
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pacbayes.numeric.caller import warn_caller
from pacbayes.runtime.files import hold_lock, write_file
from pacbayes.runtime.fingerprint import fingerprint
from pacbayes.runtime.seeds import seed_of
from pacbayes.runtime.values import Decoder, Encoder

FORMAT = 3
MANIFEST = "manifest.json"
# Classifiers that are stored together: the same for any number of workers.
UNIT = 50


@dataclass(frozen=True)
class Codec:
    """How the results of some units of work become the bytes of a file, and back."""

    suffix: str
    encode: Callable[[list[Any]], bytes]
    decode: Callable[[bytes], list[Any]]
    #: How many results a file holds.
    number: int = UNIT


def pickled(is_one: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Return how results become bytes that have no form of their own, such as estimators of any library.

    The SHA-256 in the manifest is checked before a file is read.

    Examples
    --------
    >>> codec = pickled(lambda one: isinstance(one, int), "whole numbers")
    >>> codec.decode(codec.encode([1, 2]))
    [1, 2]
    >>> codec.decode(codec.encode(["a"]))
    Traceback (most recent call last):
    ValueError: it must hold whole numbers
    """
    return Codec(".pickle", pickle.dumps, lambda data: _checked(pickle.loads(data), is_one, what), number)


def npz_codec(kinds: Iterable[type], is_one: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Store results made of arrays and of dataclasses of some kinds, so that no code runs when they are read.

    The bytes are NumPy's archive of the arrays; the last one is the JSON that names them.

    Examples
    --------
    >>> codec = npz_codec([], lambda one: isinstance(one, np.ndarray), "arrays")
    >>> codec.decode(codec.encode([np.arange(3)]))
    [array([0, 1, 2])]
    """
    known = {kind.__name__: kind for kind in kinds}

    def encode(unit: list[Any]) -> bytes:
        encoder, file = Encoder(known), io.BytesIO()
        values = json.dumps(encoder.encode(unit)).encode()
        np.savez(file, *encoder.arrays, np.frombuffer(values, dtype=np.uint8))
        return file.getvalue()

    def decode(data: bytes) -> list[Any]:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            *stored, values = (file[f"arr_{place}"] for place in range(len(file.files)))
        return _checked(Decoder(known, stored).decode(json.loads(values.tobytes())), is_one, what)

    return Codec(".npz", encode, decode, number)


def _checked(unit: Any, is_one: Callable[[Any], bool], what: str) -> list[Any]:
    if type(unit) is not list or not all(map(is_one, unit)):
        raise ValueError(f"it must hold {what}")
    return unit


@dataclass
class Checkpoint:
    """An open directory, locked by this process."""

    path: Path
    codec: Codec
    manifest: dict[str, Any] = field(default_factory=dict)

    def begin(self, run: dict[str, Any]) -> None:
        """Say which run this is; raise if the directory holds another one."""
        # Through JSON and back, as what it is compared with.
        run = json.loads(json.dumps(run))
        if not self.manifest:
            self.manifest = {"format": FORMAT, "run": run, "chunks": {}}
            self._write_manifest()
            return
        there = self.manifest["run"]
        different = [
            f"{name} ({_shown(there.get(name))} there, {_shown(run.get(name))} here)"
            for name in [*run, *(name for name in there if name not in run)]
            if there.get(name) != run.get(name)
        ]
        if different:
            raise ValueError(
                f"checkpoint {str(self.path)!r} holds another run; different are: {'; '.join(different)}. Give another "
                "directory, or delete this one"
            )

    def load(self, unit: int, number: int) -> list[Any] | None:
        """Return so many results of a unit; None where it was not finished, or its file was damaged since."""
        entry = self.manifest["chunks"].get(str(unit))
        if entry is None:
            return None
        path = self._chunk(unit)
        try:
            data = path.read_bytes()
            damage = "" if hashlib.sha256(data).hexdigest() == entry["sha256"] else "its SHA-256 is not the manifest's"
        except OSError as error:
            damage = str(error)
        if damage:
            warn_caller(f"{path} was damaged ({damage}); its classifiers are trained again")
            return None
        # Only now: decoding may unpickle, and what this run wrote can be trusted more than what somebody altered.
        # A pickle calls code of other libraries, which may raise anything.
        with self.naming(unit, Exception):
            found = self.codec.decode(data)
            if len(found) != number:
                raise ValueError(f"it must hold {number} classifiers, got {len(found)}")
            return found

    @contextmanager
    def naming(self, unit: int, kind: type[Exception] = ValueError) -> Iterator[None]:
        """Turn what is wrong with the results of a unit into an error that names their file."""
        try:
            yield
        except kind as error:
            raise ValueError(
                f"{self._chunk(unit)} cannot be used: {error}. Give another directory, or delete this one"
            ) from error

    def save(self, unit: int, results: list[Any]) -> None:
        """Store the results of a unit, first its chunk, then the manifest that lists it."""
        data = self.codec.encode(results)
        write_file(self._chunk(unit), data)
        self.manifest["chunks"][str(unit)] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        self._write_manifest()

    def _chunk(self, unit: int) -> Path:
        return self.path / f"chunk-{unit:04d}{self.codec.suffix}"

    def _write_manifest(self) -> None:
        write_file(self.path / MANIFEST, json.dumps(self.manifest, indent=1).encode())


@contextmanager
def open_checkpoint(directory: Any, codec: Codec) -> Iterator[Checkpoint | None]:
    """Open a directory for one run, made if need be, and lock it; yield None for None.

    An interrupt inside says in a note how much is kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> codec = Codec(".json", lambda results: json.dumps(results).encode(), json.loads)
    >>> with TemporaryDirectory() as directory:
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         checkpoint.begin({"X": "ab12", "random_state": 7})
    ...         checkpoint.save(0, [1, 2, 3])
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         print(begun_seed(directory), checkpoint.load(0, 3), checkpoint.load(1, 3))
    7 [1, 2, 3] None
    """
    if directory is None:
        yield None
        return
    try:
        # Absolute: an estimator may change the working directory.
        path = Path(directory).absolute()
    except TypeError:
        raise TypeError(f"checkpoint must be the path of a directory or None, got {directory!r}") from None
    with ExitStack() as stack:
        try:
            path.mkdir(parents=True, exist_ok=True)
            stack.enter_context(hold_lock(path / "lock", f"checkpoint {str(path)!r}"))
            for part in path.glob("*.part"):  # a killed process was writing these
                part.unlink()
            manifest = _read_manifest(path / MANIFEST)
        except BlockingIOError:
            raise
        except OSError as error:
            raise type(error)(f"checkpoint must be a directory that can be written: {error}") from error
        checkpoint = Checkpoint(path, codec, manifest)
        try:
            yield checkpoint
        except KeyboardInterrupt as interrupt:
            if checkpoint.manifest:
                interrupt.add_note(f"{_kept(path, checkpoint.manifest)}, the same call continues from there")
            raise


def describe_run(
    function: str,
    number: int,
    seed: int,
    data: dict[str, Any],
    choices: dict[str, Any],
    modules: tuple[str, ...] = (),
    per_chunk: int = UNIT,
) -> dict[str, Any]:
    """Return the run as JSON can hold it: data by fingerprint, choices as they are where they are short.

    Examples
    --------
    >>> run = describe_run("svm_set", 3, 7, {"X": np.eye(2)}, {"scale": True, "test": None})
    >>> run["scale"], run["test"], run["random_state"], len(run["X"])
    ('True', 'None', 7, 64)
    """
    return (
        {"function": function, "number of classifiers": number, "classifiers per chunk": per_chunk}
        | {name: fingerprint(value) for name, value in data.items()}
        | {name: _short(value) for name, value in choices.items()}
        | {"random_state": seed}
        | _versions(modules)
    )


def _short(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, bool | int | float | str | None) else fingerprint(value)


def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that may change a bit of the result or how it is stored."""
    roots = ["pacbayes", "numpy", "scipy", "sklearn", *(name.partition(".")[0] for name in modules)]
    versions = {f"version of {root}": getattr(sys.modules[root], "__version__", None) for root in roots}
    known = {name: str(version) for name, version in versions.items() if version is not None}
    return known | {"version of Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}


def seed_of_run(random_state: Any, directory: Any) -> int:
    """Return the seed of a run: the one it was begun with where `random_state` is None and a directory holds it."""
    begun = begun_seed(directory) if random_state is None else None
    return seed_of(random_state) if begun is None else begun


def part_of(directory: Any, name: str) -> Path | None:
    """Return the directory of one part of a run, inside that of the whole; None for None.

    Examples
    --------
    >>> part_of("run", "folds") == Path("run") / "folds", part_of(None, "folds")
    (True, None)
    """
    if directory is None:
        return None
    try:
        return Path(directory) / name
    except TypeError:
        raise TypeError(f"checkpoint must be the path of a directory or None, got {directory!r}") from None


def _manifests(directory: Any) -> list[dict[str, Any]]:
    """Return the manifests of a run and its parts."""
    path = Path(directory)
    found = [_read_manifest(one) for one in [path / MANIFEST, *sorted(path.glob(f"*/**/{MANIFEST}"))]]
    return [one for one in found if one]


def begun_seed(directory: Any) -> int | None:
    """Return the seed of the run that a directory holds; None for None, or where no run was begun."""
    manifests = [] if directory is None else _manifests(directory)
    return int(manifests[0]["run"]["random_state"]) if manifests else None


def kept_in(directory: Any, advice: str) -> str:
    """Say how many classifiers a directory holds, for who interrupted a run; nothing where none was begun."""
    manifests = _manifests(directory)
    return _kept(Path(directory), *manifests) + advice if manifests else ""


def _kept(path: Path, *manifests: dict[str, Any]) -> str:
    """Say how many classifiers of a run, and of its parts, are stored.

    Examples
    --------
    >>> run = {"number of classifiers": 120, "classifiers per chunk": 50}
    >>> _kept(Path("run"), {"run": run, "chunks": {"0": {}, "2": {}}})
    "70 of 120 classifiers are kept in 'run'"
    """
    total = kept = 0
    for manifest in manifests:
        names = ("number of classifiers", "classifiers per chunk")
        number, unit = (int(manifest["run"].get(name, 0)) for name in names)
        total += number
        kept += sum(max(0, min(unit, number - int(chunk) * unit)) for chunk in manifest["chunks"])
    return f"{kept} of {total} classifiers are kept in {str(path)!r}"


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest, or nothing where there is none; raise if it is of something else."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        manifest = json.loads(text)
        if manifest["format"] == FORMAT and _is_run(manifest["run"]) and _are_chunks(manifest["chunks"]):
            return dict(manifest)
        found = "other contents" if manifest["format"] == FORMAT else f"format {manifest['format']}"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        found = "no format that pacbayes writes"
    raise ValueError(
        f"{path} must be a manifest of format {FORMAT}, got {found}. Give another directory, or delete this one"
    )


def _is_run(run: Any) -> bool:
    """Return whether this is what `describe_run` gives."""
    seed = run["random_state"]
    return type(seed) is int and seed >= 0 and all(isinstance(value, str | int) for value in run.values())


def _are_chunks(chunks: Any) -> bool:
    return all(number.isdecimal() and isinstance(chunk["sha256"], str) for number, chunk in chunks.items())


def _shown(value: Any) -> str:
    """Return a value as a person compares it: the first digits of a fingerprint will do."""
    text = "absent" if value is None else str(value)
    return f"{text[:12]}..." if len(text) == 64 else text
