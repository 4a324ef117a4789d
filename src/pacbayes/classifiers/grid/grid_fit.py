"""One classifier of a grid: trained, counted, or failed; and how a unit of them is stored: as a pickle."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.grid.candidates import Candidates
from pacbayes.classifiers.grid.fit_weights import fit_arguments
from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.wrong_rows import wrong_rows
from pacbayes.data.samples import Samples
from pacbayes.numeric.arrays import Labels
from pacbayes.numeric.caller import warn_caller
from pacbayes.runtime.checkpoint import Codec
from pacbayes.runtime.threads import one_thread


@dataclass(frozen=True)
class Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Candidates
    samples: Samples
    keep_error_rows: bool = False


@dataclass(frozen=True)
class Fitted:
    """One trained classifier with its errors by kind of row."""

    estimator: Any
    errors: NDArray[np.int64]
    #: Which validation rows it gets wrong, packed; None where that is not to be kept.
    wrong: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Failed:
    """Why a classifier could not be trained, or (`fitted`) not be used."""

    error: str
    fitted: bool
    trace: str

    def stop(self, i: int, params: dict[str, Any]) -> NoReturn:
        """Raise an error that names the classifier's parameters."""
        failure = "was fitted but could not predict" if self.fitted else "could not be fitted"
        error = ValueError(f"classifier {i} with {params} {failure}: {self.error}")
        error.add_note(self.trace)
        raise error


def fit_one(task: Task, i: int) -> Fitted | Failed:
    """Train the i-th classifier and count its errors; what goes wrong is returned, not raised."""
    fitted = False
    try:
        with one_thread():
            training, validation = task.samples(i)
            one = task.candidates[i]
            one.fit(training.X, training.y, **fit_arguments(one, training.weights))
            fitted = True
            return _counted(task, i, one, validation)
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like; the caller stops or drops them
        return Failed(f"{type(error).__name__}: {error}", fitted, traceback.format_exc())


class Recount:
    """Counts errors of classifiers from a checkpoint anew: their code may have changed since they were stored."""

    def __init__(self) -> None:
        self._changed: list[int] = []

    def __call__(self, task: Task, i: int, stored: Fitted | Failed) -> Fitted | Failed:
        """Return the i-th classifier with the errors that it makes now."""
        if isinstance(stored, Failed):
            return stored
        try:
            with one_thread():
                found = _counted(task, i, stored.estimator, task.samples(i)[1])
        except MemoryError:  # of this machine, as when it was trained
            raise
        except Exception as error:  # other people's classifiers raise what they like, also where they did not before
            return Failed(f"{type(error).__name__}: {error}", True, traceback.format_exc())
        if not np.array_equal(found.errors, stored.errors):
            self._changed.append(i)
        return found

    def warn(self, checkpoint: str) -> None:
        """Say if classifiers err otherwise than when they were stored."""
        if self._changed:
            warn_caller(
                f"{len(self._changed)} classifiers in the checkpoint {checkpoint!r}, such as number "
                f"{self._changed[0]}, do not err as they did when they were stored: their code has changed, or they "
                "answer at random. What they answer now is counted"
            )


def _counted(task: Task, i: int, one: Any, validation: tuple[Any, Labels]) -> Fitted:
    wrong = wrong_rows(one, *validation, f"classifier {i}.predict")
    errors = count_errors_by_kind(wrong, *task.samples.kinds(i))
    return Fitted(one, errors, np.packbits(wrong) if task.keep_error_rows else None)


def _unpickled(data: bytes) -> list[Fitted | Failed]:
    unit = pickle.loads(data)
    if type(unit) is not list or not all(isinstance(one, Fitted | Failed) for one in unit):
        raise ValueError("it must hold classifiers of a grid")
    return unit


# Estimators of any library have no other common form; the SHA-256 in the manifest is checked before one is read.
GRID_CHUNKS = Codec(".pickle", pickle.dumps, _unpickled)
