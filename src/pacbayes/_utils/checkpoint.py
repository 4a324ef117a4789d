"""A directory in which a long run keeps its finished units, so that a killed run goes on where it was.

::

    manifest.json      what the run is (fingerprints of data and parameters, versions) and the SHA-256 of every chunk
    chunk-0000.npz     the first unit of classifiers, and so on; .pickle of those that have no form of their own
    lock               held by the process that works here, and free again when it ends, however it ends

Every file is written beside its place, synced, and put there by one atomic rename; a chunk counts when the manifest
lists it.  So a process that is killed at any time leaves a directory without half a file in it.  Where anything of what
the run is differs (`describe_run`), results of one are not results of the other.

`joblib.Memory` does not serve here: it has no lock, does not sync, and loads a damaged pickle without a check, which
can crash the process.
"""

import hashlib
import io
import json
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pacbayes._utils.checks import warn_caller
from pacbayes._utils.files import hold_lock, write_file
from pacbayes._utils.seeds import seed_of
from pacbayes._utils.values import Decoder, Encoder, Known, fingerprint

FORMAT = 3
MANIFEST = "manifest.json"
# Classifiers that are stored together: the same for any number of workers.
UNIT = 50
_ADVICE = "Give another directory, or delete this one"


@dataclass(frozen=True)
class Codec:
    """How the results of some units of work become the bytes of a file, and back."""

    suffix: str
    encode: Callable[[list[Any]], bytes]
    decode: Callable[[bytes], Any]
    #: Whether a value that was read is a result, and what results are called.
    is_result: Callable[[Any], bool]
    what: str
    #: How many results a file holds.
    number: int = UNIT


def pickled(is_result: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Store results that have no form of their own, such as estimators of any library; reading them may run code.

    Examples
    --------
    >>> codec = pickled(lambda result: isinstance(result, int), "whole numbers")
    >>> codec.decode(codec.encode([1, 2]))
    [1, 2]
    """
    return Codec(".pickle", pickle.dumps, pickle.loads, is_result, what, number)


def npz_codec(known: Known, is_result: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Store results made of arrays and of `known` dataclasses, so that no code runs when they are read.

    The bytes are NumPy's archive of the arrays; the last one is the JSON that names them.

    Examples
    --------
    >>> codec = npz_codec({}, lambda result: isinstance(result, np.ndarray), "arrays")
    >>> codec.decode(codec.encode([np.arange(3)]))
    [array([0, 1, 2])]
    """

    def encode(unit: list[Any]) -> bytes:
        encoder, file = Encoder(known), io.BytesIO()
        values = json.dumps(encoder.encode(unit)).encode()
        np.savez(file, *encoder.arrays, np.frombuffer(values, dtype=np.uint8))
        return file.getvalue()

    def decode(data: bytes) -> Any:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            *stored, values = (file[f"arr_{place}"] for place in range(len(file.files)))
        return Decoder(known, stored).decode(json.loads(values.tobytes()))

    return Codec(".npz", encode, decode, is_result, what, number)


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
        there = self.manifest["run"]
        different = [
            f"{name} ({_shown(there.get(name))} there, {_shown(run.get(name))} here)"
            for name in run | there
            if there.get(name) != run.get(name)
        ]
        if different:
            raise ValueError(
                f"checkpoint {str(self.path)!r} holds another run; different are: {'; '.join(different)}. {_ADVICE}"
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
            results = self.codec.decode(data)
            if type(results) is not list or len(results) != number or not all(map(self.codec.is_result, results)):
                raise ValueError(f"it must hold {number} {self.codec.what}")
            return results

    @contextmanager
    def naming(self, unit: int, kind: type[Exception] = ValueError) -> Iterator[None]:
        """Turn what is wrong with the results of a unit into an error that names their file."""
        try:
            yield
        except kind as error:
            raise ValueError(f"{self._chunk(unit)} cannot be used: {error}. {_ADVICE}") from error

    def save(self, unit: int, results: list[Any]) -> None:
        """Store the results of a unit, first its chunk, then the manifest that lists it."""
        data = self.codec.encode(results)
        write_file(self._chunk(unit), data)
        self.manifest["chunks"][str(unit)] = {"sha256": hashlib.sha256(data).hexdigest()}
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
    >>> codec = npz_codec({}, lambda result: isinstance(result, int), "whole numbers")
    >>> with TemporaryDirectory() as directory:
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         checkpoint.begin({"X": "ab12", "random_state": 7})
    ...         checkpoint.save(0, [1, 2, 3])
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         print(seed_of_run(None, directory), checkpoint.load(0, 3), checkpoint.load(1, 3))
    7 [1, 2, 3] None
    """
    if directory is None:
        yield None
        return
    # Absolute: an estimator may change the working directory.
    path = _path_of(directory).absolute()
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
                interrupt.add_note(kept_in(path, ", the same call continues from there"))
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
    """Describe a run as JSON can hold it: data by fingerprint, choices as they are where they are short.

    Versions are those that may change a bit of the result or how it is stored.

    Examples
    --------
    >>> run = describe_run("svm_set", 3, 7, {"X": np.eye(2)}, {"scale": True, "test": None})
    >>> run["scale"], run["test"], run["random_state"], len(run["X"])
    ('True', 'None', 7, 64)
    """
    roots = ["pacbayes", "numpy", "scipy", "sklearn", *(name.partition(".")[0] for name in modules)]
    versions = {f"version of {root}": getattr(sys.modules[root], "__version__", None) for root in roots}
    return (
        {"function": function, "number of classifiers": number, "classifiers per chunk": per_chunk}
        | {name: fingerprint(value) for name, value in data.items()}
        | {name: _short(value) for name, value in choices.items()}
        | {"random_state": seed}
        | {name: str(version) for name, version in versions.items() if version is not None}
        | {"version of Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}
    )


def _short(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, bool | int | float | str | None) else fingerprint(value)


def seed_of_run(random_state: Any, directory: Any) -> int:
    """Return the seed of a run: the one it was begun with where `random_state` is None and a directory holds it."""
    begun = _manifests(directory) if random_state is None and directory is not None else []
    return int(begun[0]["run"]["random_state"]) if begun else seed_of(random_state)


def part_of(directory: Any, name: str) -> Path | None:
    """Return the directory of one part of a run, inside that of the whole; None for None.

    Examples
    --------
    >>> part_of("run", "folds") == Path("run") / "folds", part_of(None, "folds")
    (True, None)
    """
    return None if directory is None else _path_of(directory) / name


def _path_of(directory: Any) -> Path:
    try:
        return Path(directory)
    except TypeError:
        raise TypeError(f"checkpoint must be the path of a directory or None, got {directory!r}") from None


def _manifests(directory: Any) -> list[dict[str, Any]]:
    """Return the manifests of a run and its parts."""
    path = _path_of(directory)
    return [one for file in (path / MANIFEST, *sorted(path.glob(f"*/**/{MANIFEST}"))) if (one := _read_manifest(file))]


def kept_in(directory: Any, advice: str) -> str:
    """Say how many classifiers of a run, and of its parts, a directory holds; nothing where none was begun."""
    manifests, total, kept = _manifests(directory), 0, 0
    for manifest in manifests:
        run = manifest["run"]
        number, unit = int(run.get("number of classifiers", 0)), int(run.get("classifiers per chunk", 0))
        total += number
        kept += sum(max(0, min(unit, number - int(chunk) * unit)) for chunk in manifest["chunks"])
    return f"{kept} of {total} classifiers are kept in {str(Path(directory))!r}{advice}" if manifests else ""


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest, or nothing where there is none; raise if it is of something else."""
    try:
        manifest = json.loads(path.read_bytes())
        run, seed, chunks = manifest["run"], manifest["run"]["random_state"], manifest["chunks"].items()
        right = manifest["format"] == FORMAT and type(seed) is int and seed >= 0
        right = right and all(isinstance(value, str | int) for value in run.values())
        if right and all(number.isdecimal() and isinstance(chunk["sha256"], str) for number, chunk in chunks):
            return dict(manifest)
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ValueError(f"{path} must be a manifest of format {FORMAT}, as this version of pacbayes writes it. {_ADVICE}")


def _shown(value: Any) -> str:
    """Return a value as a person compares it: the first digits of a fingerprint will do."""
    text = "absent" if value is None else str(value)
    return f"{text[:12]}..." if len(text) == 64 else text
