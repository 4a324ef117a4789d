"""Checkpoints: a directory that stores the finished units of a long run, so that a killed run can be resumed.

::

    manifest.json      description of the run (fingerprints of data and parameters, versions), SHA-256 of every chunk
    chunk-0000.npz     results of the first unit, and so on; .pickle for estimators
    lock               held by the process that uses the directory until it exits

Every file is written atomically, and a chunk is valid only if the manifest lists it, so a killed process leaves no
partial results.  Runs with a different description (`describe_run`) cannot use the directory.

`joblib.Memory` is not used: it has no lock, does not sync, and unpickles damaged files unchecked, which can crash the
process.
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
from pacbayes._utils.seeds import resolve_seed
from pacbayes._utils.values import Decoder, Encoder, KnownTypes, fingerprint

FORMAT = 3
MANIFEST = "manifest.json"
# Classifiers per chunk, for any number of workers.
CHUNK_SIZE = 50
_DIRECTORY_ADVICE = "Use another directory, or delete this one"


@dataclass(frozen=True)
class Codec:
    """Serialisation of the results of a unit."""

    suffix: str
    encode: Callable[[list[Any]], bytes]
    decode: Callable[[bytes], Any]
    #: Validates a loaded result; `results_name` is the plural noun for results in error messages.
    is_valid: Callable[[Any], bool]
    results_name: str
    #: Results per file.
    chunk_size: int = CHUNK_SIZE


def pickle_codec(is_valid: Callable[[Any], bool], results_name: str, chunk_size: int = CHUNK_SIZE) -> Codec:
    """Create a codec that pickles estimators of any library; loading them may execute code.

    Examples
    --------
    >>> codec = pickle_codec(lambda result: isinstance(result, int), "whole numbers")
    >>> codec.decode(codec.encode([1, 2]))
    [1, 2]
    """
    return Codec(".pickle", pickle.dumps, pickle.loads, is_valid, results_name, chunk_size)


def npz_codec(
    known: KnownTypes, is_valid: Callable[[Any], bool], results_name: str, chunk_size: int = CHUNK_SIZE
) -> Codec:
    """Create a codec for arrays and `known` dataclasses; loading them executes no code.

    Files are NumPy archives, whose last array is JSON that refers to the other arrays.

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

    return Codec(".npz", encode, decode, is_valid, results_name, chunk_size)


@dataclass
class Checkpoint:
    """Open checkpoint directory, locked by this process."""

    path: Path
    codec: Codec
    manifest: dict[str, Any] = field(default_factory=dict)

    def begin(self, run: dict[str, Any]) -> None:
        """Start or resume a run; raise if the directory contains a different run."""
        # Convert through JSON to compare with the stored description.
        run = json.loads(json.dumps(run))
        if not self.manifest:
            self.manifest = {"format": FORMAT, "run": run, "chunks": {}}
            self._write_manifest()
        stored = self.manifest["run"]
        differences = [
            f"{name} ({_format_setting(stored.get(name))} there, {_format_setting(run.get(name))} here)"
            for name in run | stored
            if stored.get(name) != run.get(name)
        ]
        if differences:
            raise ValueError(
                f"checkpoint {str(self.path)!r} holds another run; it differs in: {'; '.join(differences)}. "
                f"{_DIRECTORY_ADVICE}"
            )

    def load(self, unit: int, n_results: int) -> list[Any] | None:
        """Load the results of a unit; None if the unit is not finished or its file is damaged."""
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
        # Decode only after the hash is verified, since decoding may unpickle; unpickling may raise any exception.
        with self.name_file_in_errors(unit, Exception):
            results = self.codec.decode(data)
            if type(results) is not list or len(results) != n_results or not all(map(self.codec.is_valid, results)):
                raise ValueError(f"it must hold {n_results} {self.codec.results_name}")
            return results

    @contextmanager
    def name_file_in_errors(self, unit: int, error_type: type[Exception] = ValueError) -> Iterator[None]:
        """Context manager that adds the file of a unit to error messages."""
        try:
            yield
        except error_type as error:
            raise ValueError(f"{self._chunk(unit)} cannot be used: {error}. {_DIRECTORY_ADVICE}") from error

    def save(self, unit: int, results: list[Any]) -> None:
        """Write the results of a unit, then update the manifest."""
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
    """Context manager that creates or opens a checkpoint directory and locks it; yields None if `directory` is None.

    If the run is interrupted, a note about the stored results is added to the `KeyboardInterrupt`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> codec = npz_codec({}, lambda result: isinstance(result, int), "whole numbers")
    >>> with TemporaryDirectory() as directory:
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         checkpoint.begin({"X": "ab12", "random_state": 7})
    ...         checkpoint.save(0, [1, 2, 3])
    ...     with open_checkpoint(directory, codec) as checkpoint:
    ...         print(resolve_run_seed(None, directory), checkpoint.load(0, 3), checkpoint.load(1, 3))
    7 [1, 2, 3] None
    """
    if directory is None:
        yield None
        return
    # Absolute: an estimator may change the working directory.
    path = _to_path(directory).absolute()
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
                interrupt.add_note(describe_stored_results(path, ", the same call continues from there"))
            raise


def describe_run(
    function: str,
    n_classifiers: int,
    seed: int,
    data: dict[str, Any],
    params: dict[str, Any],
    modules: tuple[str, ...] = (),
    chunk_size: int = CHUNK_SIZE,
) -> dict[str, Any]:
    """Describe a run as a JSON dict: fingerprints of the data, parameters, and versions that affect the results.

    Examples
    --------
    >>> run = describe_run("svm_set", 3, 7, {"X": np.eye(2)}, {"scale": True, "test": None})
    >>> run["scale"], run["test"], run["random_state"], len(run["X"])
    ('True', 'None', 7, 64)
    """
    roots = ["pacbayes", "numpy", "scipy", "sklearn", *(name.partition(".")[0] for name in modules)]
    versions = {f"version of {root}": getattr(sys.modules[root], "__version__", None) for root in roots}
    return (
        {"function": function, "number of classifiers": n_classifiers, "classifiers per chunk": chunk_size}
        | {name: fingerprint(value) for name, value in data.items()}
        | {name: _format_value(value) for name, value in params.items()}
        | {"random_state": seed}
        | {name: str(version) for name, version in versions.items() if version is not None}
        | {"version of Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}
    )


def _format_value(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, bool | int | float | str | None) else fingerprint(value)


def resolve_run_seed(random_state: Any, directory: Any) -> int:
    """Seed of a run; if `random_state` is None, the seed of the run stored in the directory, if any."""
    manifests = _manifests(directory) if random_state is None and directory is not None else []
    return int(manifests[0]["run"]["random_state"]) if manifests else resolve_seed(random_state)


def checkpoint_subdirectory(directory: Any, name: str) -> Path | None:
    """Subdirectory for a part of a run; None if `directory` is None.

    Examples
    --------
    >>> checkpoint_subdirectory("run", "folds") == Path("run") / "folds", checkpoint_subdirectory(None, "folds")
    (True, None)
    """
    return None if directory is None else _to_path(directory) / name


def _to_path(directory: Any) -> Path:
    try:
        return Path(directory)
    except TypeError:
        raise TypeError(f"checkpoint must be the path of a directory or None, got {directory!r}") from None


def _manifests(directory: Any) -> list[dict[str, Any]]:
    """Read the manifests of a run and of its parts."""
    path = _to_path(directory)
    files = (path / MANIFEST, *sorted(path.glob(f"*/**/{MANIFEST}")))
    return [manifest for file in files if (manifest := _read_manifest(file))]


def describe_stored_results(directory: Any, advice: str) -> str:
    """Describe how many classifiers of a run are stored; an empty string if there is no run."""
    manifests, total, stored = _manifests(directory), 0, 0
    for manifest in manifests:
        run = manifest["run"]
        number, unit = int(run.get("number of classifiers", 0)), int(run.get("classifiers per chunk", 0))
        total += number
        stored += sum(max(0, min(unit, number - int(chunk) * unit)) for chunk in manifest["chunks"])
    return f"{stored} of {total} classifiers are stored in {str(Path(directory))!r}{advice}" if manifests else ""


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; an empty dict if the file does not exist.  Raise if it is invalid."""
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
    raise ValueError(
        f"{path} must be a manifest of format {FORMAT}, as this version of pacbayes writes it. {_DIRECTORY_ADVICE}"
    )


def _format_setting(value: Any) -> str:
    """Format a value for comparison; fingerprints are shortened."""
    text = "absent" if value is None else str(value)
    return f"{text[:12]}..." if len(text) == 64 else text
