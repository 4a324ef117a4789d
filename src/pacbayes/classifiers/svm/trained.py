"""One support vector machine trained on a sample of its own, and how a unit of them is stored: arrays only."""

import io
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.svm.kernel import Kernel, Scaling
from pacbayes.classifiers.svm.machines import OneMachine
from pacbayes.runtime.checkpoint import Codec


@dataclass(frozen=True)
class Trained:
    """One classifier; `support` are rows of the whole sample.  What it errs on is counted here and never stored."""

    machine: OneMachine
    support: NDArray[np.int64]
    scaling: Scaling
    kernel: Kernel
    kkt_violation: float
    converged: bool
    #: Errors by kind of row; empty as long as they are not counted.
    errors: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Which validation rows it gets wrong, packed; none where that is not to be kept.
    wrong: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))


def _encode(unit: list[Trained]) -> bytes:
    arrays: dict[str, Any] = {
        "kernel": np.array([one.kernel.name for one in unit]),
        # The linear kernel has no width.
        "gamma": np.array([np.nan if one.kernel.gamma is None else one.kernel.gamma for one in unit]),
        "converged": np.array([one.converged for one in unit]),
        "kkt_violation": np.array([one.kkt_violation for one in unit]),
    }
    for i, one in enumerate(unit):
        arrays |= {f"{i}.{part.name}": getattr(one.machine, part.name) for part in fields(OneMachine)}
        arrays |= {f"{i}.rows": one.support, f"{i}.shift": one.scaling.shift, f"{i}.width": one.scaling.width}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _decode(data: bytes) -> list[Trained]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file.items())
    unit = []
    for i, converged in enumerate(arrays["converged"].tolist()):
        gamma = float(arrays["gamma"][i])
        unit.append(
            Trained(
                OneMachine(*(arrays[f"{i}.{part.name}"] for part in fields(OneMachine))),
                arrays[f"{i}.rows"],
                Scaling(arrays[f"{i}.shift"], arrays[f"{i}.width"]),
                Kernel(str(arrays["kernel"][i]), None if np.isnan(gamma) else gamma),
                float(arrays["kkt_violation"][i]),
                converged,
            )
        )
    return unit


SVM_CHUNKS = Codec(".npz", _encode, _decode)
