"""One classifier of a grid: trained, or failed; and how a unit of them is stored: as a pickle."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pacbayes.classifiers.candidates import Candidates, fit_arguments
from pacbayes.data.division import Division
from pacbayes.data.labelled import Labelled
from pacbayes.runtime.checkpoint import Codec
from pacbayes.runtime.threads import one_thread


@dataclass(frozen=True, eq=False)
class Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Candidates
    #: The training rows where all share them, else all rows.
    data: Labelled
    division: Division

    def training(self, i: int) -> Labelled:
        """Return the i-th classifier's training sample, apart from all others: it may write into its rows."""
        if self.division.shared is None:
            return self.data.pick(self.division(i)[0])
        return self.data.pick(np.arange(self.data.number))


@dataclass(frozen=True)
class Fitted:
    """One trained classifier."""

    estimator: Any


@dataclass(frozen=True)
class Failed:
    """Why a classifier could not be trained."""

    error: str
    trace: str

    def stop(self, i: int, params: dict[str, Any]) -> NoReturn:
        """Raise an error that names the classifier's parameters."""
        error = ValueError(f"classifier {i} with {params} could not be fitted: {self.error}")
        error.add_note(self.trace)
        raise error


def fit_one(task: Task, i: int) -> Fitted | Failed:
    """Train the i-th classifier; what goes wrong is returned, not raised."""
    try:
        with one_thread():
            training, one = task.training(i), task.candidates[i]
            one.fit(training.rows, training.labels, **fit_arguments(one, training.weights))
            return Fitted(one)
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like; the caller stops or drops them
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())


def _unpickled(data: bytes) -> list[Fitted | Failed]:
    unit = pickle.loads(data)
    if type(unit) is not list or not all(isinstance(one, Fitted | Failed) for one in unit):
        raise ValueError("it must hold classifiers of a grid")
    return unit


# Estimators of any library have no other common form; the SHA-256 in the manifest is checked before one is read.
GRID_CHUNKS = Codec(".pickle", pickle.dumps, _unpickled)
