"""A run, what every table is computed from: all classifiers of one grid on one data set, trained once and kept."""

import hashlib
import io
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.files import write_file
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes.data import load_dataset
from pacbayes.ensemble import svm_set
from pacbayes.ensemble.validation import errors_to_risks
from pacbayes.paper.protocol import Protocol
from pacbayes.svm import sigest

# Part of every key: raise it when what is computed changes.
_VERSION = 2

Arrays = dict[str, NDArray[Any]]


class Cache:
    """A folder of .npz files, each named after its label and a hash of everything it depends on.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.get("a", {"seed": 0}, lambda: {"x": np.arange(3)})["x"]
    array([0, 1, 2])
    >>> cache.get("a", {"seed": 0}, lambda: {"x": np.zeros(1)})["x"]
    array([0, 1, 2])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, label: str, key: Mapping[str, Any]) -> Path:
        """File that holds the result for a key."""
        text = json.dumps(dict(key) | {"version": _VERSION}, sort_keys=True)
        return self.folder / f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"

    def get(self, label: str, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Load the result for a key, or compute and store it."""
        path = self._path(label, key)
        if path.exists():
            with np.load(path, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        arrays = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # the stub takes **kwargs for a flag
        write_file(path, file.getvalue())
        return arrays


def digest(*arrays: NDArray[Any]) -> str:
    """Short hash of the contents of arrays, for a key."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.shape}{array.dtype}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Run:
    """The classifiers of one grid: their lambdas, and their errors on m validation and m_test test examples."""

    dataset: str
    lambdas: FloatArray
    errors: NDArray[np.int64]
    m: int
    test_errors: NDArray[np.int64]
    m_test: int
    #: Wall time of the training when it was computed, on as many cores as were allowed.
    seconds: float
    #: Support vector machines whose solver did not reach its tolerance.
    unconverged: int

    @property
    def risks(self) -> FloatArray:
        """Validation risks, never below the exact quotients."""
        return errors_to_risks(self.errors, self.m)

    @property
    def test_risks(self) -> FloatArray:
        """Test risks."""
        return self.test_errors / self.m_test

    def first(self, H: int) -> "Run":
        """Run of the first H lambdas: what a run of them alone would be."""
        return Run(
            self.dataset, self.lambdas[:H], self.errors[:H], self.m, self.test_errors[:H], self.m_test, self.seconds,
            self.unconverged,
        )  # fmt: skip


def train(dataset: str, lambdas: FloatArray, protocol: Protocol, seed: int, cache: Cache, jobs: int | None) -> Run:
    """Run, trained or from the cache.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> run = train("haberman", np.array([0.1, 1.0, 10.0]), Protocol(split="shared"), 0, cache, 1)
    >>> run.m, run.m_test, run.errors.shape
    (122, 62, (3,))
    """
    data = load_dataset(dataset)
    shared = protocol.split != "independent"
    # Both kinds of validation sample are counted on the same machines, so one file holds both.
    key = protocol.with_split("shared" if shared else "independent").to_dict() | {
        "dataset": dataset, "data": digest(data.data, data.target), "seed": seed, "lambdas": digest(lambdas)
    }  # fmt: skip
    label = f"{dataset}-{key['split']}-{lambdas.size}-seed{seed}"
    kept = cache.get(label, key, lambda: _compute(data, lambdas, protocol, seed, jobs))
    m, m_test = (int(size) for size in kept["sizes"])
    return Run(
        dataset, lambdas, kept["overlapping" if protocol.split == "overlapping" else "errors"], m, kept["test_errors"],
        m_test, float(kept["seconds"]), int(kept["unconverged"]),
    )  # fmt: skip


def _compute(data: Any, lambdas: FloatArray, protocol: Protocol, seed: int, jobs: int | None) -> Arrays:
    """Train the classifiers and count their errors."""
    sizes, shared = data.split_sizes, protocol.split != "independent"
    rows, scale = protocol.prepare(data.data)
    gamma: float | str = "sigest"
    if protocol.sigma == "once":
        gamma = sigest(protocol.width_rows(data.data), random_state=make_rng(seed, Purpose.WIDTH_ONCE))
    # The test rows are put aside first; the others are divided for every classifier, or once for all.
    order = make_rng(seed, Purpose.TEST).permutation(len(rows))
    test, rest = np.sort(order[: sizes.test]), np.sort(order[sizes.test :])
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Counted in `unconverged`, which the tables report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifiers = svm_set(
            rows[rest], data.target[rest], protocol.lambdas(lambdas, sizes.training), gamma=gamma, scale=scale,
            split="shared" if shared else "independent", validation_size=sizes.validation, n_jobs=jobs,
            random_state=seed,
        )  # fmt: skip
    arrays = {
        "errors": np.asarray(classifiers.errors),
        "test_errors": np.count_nonzero(classifiers.predict(rows[test]) != data.target[test], axis=1),
        "sizes": np.array([classifiers.m, test.size]),
        "unconverged": np.array(np.count_nonzero(~np.asarray(classifiers.converged))),
    }
    if shared:
        sample = make_rng(seed, Purpose.OVERLAPPING).choice(rest, classifiers.m, replace=False)
        arrays["overlapping"] = np.count_nonzero(classifiers.predict(rows[sample]) != data.target[sample], axis=1)
    return arrays | {"seconds": np.array(time.perf_counter() - start)}
