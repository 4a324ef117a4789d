"""Checkpoints: a directory with the finished units of a long run, from which a killed run continues.

::

    manifest.json      description of the run (fingerprints of data and parameters, versions), SHA-256 of every chunk
    chunk-0000.npz     first unit of classifiers, and so on; .pickle for estimators
    lock               held by the process that works here until it ends

Every file is written atomically, and a chunk is valid when the manifest lists it.  So a process that is killed leaves
no partial file.  A run with another description (`describe_run`) cannot use the directory.

`joblib.Memory` has no lock, does not sync, and unpickles damaged files without a check, which can crash the process.
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
# Classifiers per chunk, for any number of workers.
UNIT = 50
_ADVICE = "Use another directory, or delete this one"


@dataclass(frozen=True)
class Codec:
    """File format of the results of a unit."""

    suffix: str
    encode: Callable[[list[Any]], bytes]
    decode: Callable[[bytes], Any]
    #: Check of a result that was read, and the name of results in messages.
    is_result: Callable[[Any], bool]
    what: str
    #: Results per file.
    number: int = UNIT


def pickled(is_result: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Codec for estimators of any library, by pickle: reading them may run code.

    Examples
    --------
    >>> codec = pickled(lambda result: isinstance(result, int), "whole numbers")
    >>> codec.decode(codec.encode([1, 2]))
    [1, 2]
    """
    return Codec(".pickle", pickle.dumps, pickle.loads, is_result, what, number)


def npz_codec(known: Known, is_result: Callable[[Any], bool], what: str, number: int = UNIT) -> Codec:
    """Codec for arrays and `known` dataclasses; reading them runs no code.

    Files are archives of NumPy, whose last array is JSON that refers to the others.

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
            *stored, values = (file[f"arr_{i}"] for i in range(len(file.files)))
        return Decoder(known, stored).decode(json.loads(values.tobytes()))

    return Codec(".npz", encode, decode, is_result, what, number)


@dataclass
class Checkpoint:
    """An open directory, locked by this process."""

    path: Path
    codec: Codec
    manifest: dict[str, Any] = field(default_factory=dict)

    def begin(self, run: dict[str, Any]) -> None:
        """Start or continue a run; raise if the directory holds another one."""
        # As JSON, like the stored description.
        run = json.loads(json.dumps(run))
        if not self.manifest:
            self.manifest = {"format": FORMAT, "run": run, "chunks": {}}
            self._write_manifest()
        stored = self.manifest["run"]
        differences = [
            f"{name} ({_shown(stored.get(name))} there, {_shown(run.get(name))} here)"
            for name in run | stored
            if stored.get(name) != run.get(name)
        ]
        if differences:
            raise ValueError(
                f"checkpoint {str(self.path)!r} holds another run; it differs in: {'; '.join(differences)}. {_ADVICE}"
            )

    def load(self, unit: int, number: int) -> list[Any] | None:
        """Load the `number` results of a unit; None if it is not finished or its file is damaged."""
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
            warn_caller(f"{path} is damaged ({damage}); its classifiers are trained again")
            return None
        # Decode after the check: decoding may unpickle.  Unpickling may raise any exception.
        with self.naming(unit, Exception):
            results = self.codec.decode(data)
            if type(results) is not list or len(results) != number or not all(map(self.codec.is_result, results)):
                raise ValueError(f"it must hold {number} {self.codec.what}")
            return results

    @contextmanager
    def naming(self, unit: int, kind: type[Exception] = ValueError) -> Iterator[None]:
        """Make errors about the results of a unit name their file."""
        try:
            yield
        except kind as error:
            raise ValueError(f"{self._chunk(unit)} cannot be used: {error}. {_ADVICE}") from error

    def save(self, unit: int, results: list[Any]) -> None:
        """Save the results of a unit: its chunk, then the manifest."""
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
    """Create or open a directory for a run, and lock it; yield None for None.

    The `KeyboardInterrupt` of an interrupted run has a note about the stored results.

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
            for part in path.glob("*.part"):  # left by a killed process
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
    """Describe a run in JSON: fingerprints of data, parameters, and versions that may change results or files.

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
    """Seed of a run; for `random_state` None, that of the run in the directory, if any."""
    manifests = _manifests(directory) if random_state is None and directory is not None else []
    return int(manifests[0]["run"]["random_state"]) if manifests else seed_of(random_state)


def part_of(directory: Any, name: str) -> Path | None:
    """Subdirectory for a part of a run; None for None.

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
    """Manifests of a run and its parts."""
    path = _path_of(directory)
    files = (path / MANIFEST, *sorted(path.glob(f"*/**/{MANIFEST}")))
    return [manifest for file in files if (manifest := _read_manifest(file))]


def kept_in(directory: Any, advice: str) -> str:
    """Sentence about the number of classifiers in the checkpoint of a run and its parts; empty without a run."""
    manifests, total, stored = _manifests(directory), 0, 0
    for manifest in manifests:
        run = manifest["run"]
        number, unit = int(run.get("number of classifiers", 0)), int(run.get("classifiers per chunk", 0))
        total += number
        stored += sum(max(0, min(unit, number - int(chunk) * unit)) for chunk in manifest["chunks"])
    return f"{stored} of {total} classifiers are stored in {str(Path(directory))!r}{advice}" if manifests else ""


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; empty without a file. Raise if the file is no valid manifest."""
    try:
        manifest = json.loads(path.read_bytes())
        run, seed, chunks = manifest["run"], manifest["run"]["random_state"], manifest["chunks"].items()
        valid = manifest["format"] == FORMAT and type(seed) is int and seed >= 0
        valid = valid and all(isinstance(value, str | int) for value in run.values())
        if valid and all(number.isdecimal() and isinstance(chunk["sha256"], str) for number, chunk in chunks):
            return dict(manifest)
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ValueError(f"{path} must be a manifest of format {FORMAT}, as this version of pacbayes writes it. {_ADVICE}")


def _shown(value: Any) -> str:
    """Format a value for comparison; fingerprints are shortened."""
    text = "absent" if value is None else str(value)
    return f"{text[:12]}..." if len(text) == 64 else text
