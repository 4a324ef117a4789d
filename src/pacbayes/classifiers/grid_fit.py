"""One classifier of a grid: trained, counted, or failed; and how a unit of them is stored: as a pickle."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

from pacbayes.classifiers.candidates import Candidates
from pacbayes.classifiers.checkpoint import Codec
from pacbayes.classifiers.classifier_set import errors_of
from pacbayes.classifiers.fit_weights import fit_arguments
from pacbayes.classifiers.one_thread import one_thread
from pacbayes.classifiers.samples import Samples, own


@dataclass(frozen=True)
class Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Candidates
    samples: Samples


@dataclass(frozen=True)
class Fitted:
    """One trained classifier with its errors."""

    estimator: Any
    errors: int
    test_errors: int


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
            test = task.samples.test
            return Fitted(
                one,
                errors_of(one, *validation, f"classifier {i}.predict"),
                0 if test is None else errors_of(one, own(test[0]), test[1], f"classifier {i}.predict"),
            )
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like; the caller stops or drops them
        return Failed(f"{type(error).__name__}: {error}", fitted, traceback.format_exc())


# Estimators of any library have no other common form; the SHA-256 in the manifest is checked before one is read.
GRID_CHUNKS = Codec(".pickle", pickle.dumps, pickle.loads)
