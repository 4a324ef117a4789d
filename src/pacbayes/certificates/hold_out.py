"""The hold-out baseline: one classifier chosen by cross-validation within the training rows, then validated once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.limits import upper_limits
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.params import format_params
from pacbayes.classifiers.svm.machines import train_machines
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.progress import progress

# Classifiers the cross-validation chooses from, evenly spread over the set: a baseline must not cost the most.
CANDIDATES = 50
# Why there is none.
NOT_SHARED = "every row validates some classifier"
NOT_ASKED = "cv=None: not asked for"


@dataclass(frozen=True, eq=False)
class Choice:
    """What the cross-validation counted."""

    #: Which classifiers it chose from, shape (c,).
    candidates: Rows
    #: The errors of each in each fold, shape (c, folds).
    errors: Rows
    #: The rows of each fold, 0 where nothing could be trained for it.
    sizes: Rows

    @property
    def index(self) -> int:
        """The classifier with the fewest errors, the first of several."""
        return int(self.candidates[np.argmin(self.errors.sum(axis=1))])


def candidates_of(number: int) -> Rows:
    """Return which of so many classifiers the cross-validation chooses from.

    Examples
    --------
    >>> candidates_of(3), candidates_of(1990)[[0, 1, -1]]
    (array([0, 1, 2]), array([   0,   41, 1989]))
    """
    return np.unique(np.linspace(0, number - 1, min(number, CANDIDATES)).round().astype(np.int64))


def folds_of(codes: Rows, number: int, rng: np.random.Generator, units: Rows | None = None) -> Rows:
    """Return a fold number for every training row, every class spread evenly over the folds.

    Rows of one unit (a group, or copies) are in one fold; units are dealt out at random, without a look at classes.

    Examples
    --------
    >>> folds = folds_of(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> [sorted(folds[:3].tolist()), sorted(folds[3:].tolist())]
    [[0, 1, 2], [0, 1, 2]]
    """
    if units is not None:
        numbers, places = np.unique(units, return_inverse=True)
        return (rng.permutation(numbers.size) % number)[places]
    order = np.lexsort((rng.random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % number
    return folds


def select_by_cv(
    errors_in_fold: Callable[[Rows, Rows, Rows], Rows],
    codes: Rows,
    number: int,
    folds: int,
    rng: np.random.Generator,
    units: Rows | None = None,
) -> Choice:
    """Count the errors in cross-validation over the training rows; the classifier with the fewest is chosen.

    ``errors_in_fold(candidates, train, test)`` trains the candidates on some training rows and counts their errors on
    others; `codes` are the class numbers of the training rows, `units` the numbers of what they belong to.
    """
    candidates = candidates_of(number)
    fold = folds_of(codes, min(folds, codes.size if units is None else np.unique(units).size), rng, units)
    sizes = np.zeros(int(fold.max()) + 1, dtype=np.int64)
    errors = np.zeros((candidates.size, sizes.size), dtype=np.int64)
    for k in range(sizes.size):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        # With a single class there is nothing to train, and nothing to tell the candidates apart.
        if np.unique(codes[train]).size > 1:
            with progress(f"cross-validation, fold {k + 1} of {sizes.size}", candidates.size):
                errors[:, k], sizes[k] = errors_in_fold(candidates, train, test), test.size
    return Choice(candidates, errors, sizes)


def svm_errors_in_fold(members: SharedMembers, codes: Rows) -> Callable[[Rows, Rows, Rows], Rows]:
    """Return the errors of support vector machines in a fold; scaling and width are those of all training rows."""

    def errors(candidates: Rows, train: Rows, test: Rows) -> Rows:
        rows, new = members.rows[train], members.rows[test]
        lambdas = members.task.lambdas[candidates]
        machines = train_machines(lambda part: members.kernel.gram(rows[part]), codes[train], lambdas)

        def kernel_block(block: slice) -> FloatArray:
            return members.kernel.between(rows, new[block])

        counts = np.zeros(candidates.size, dtype=np.int64)
        with progress("counting errors", len(new)) as advance:
            for block, predicted in machines.predict(kernel_block, len(new), len(rows)):
                counts += np.count_nonzero(predicted != codes[test][block], axis=1)
                advance(predicted.shape[1])
        return counts

    return errors


def hold_out(classifiers: ClassifierSet, choice: Choice | None, delta: float) -> Baseline:
    """Return the baseline for the classifier chosen within the training rows; None where none was."""
    assert classifiers.splits is not None
    if choice is None:
        return Baseline(None, None, NOT_ASKED if classifiers.splits.kind == "shared" else NOT_SHARED)
    chosen = choice.index
    bound = float(upper_limits(classifiers.counted[chosen : chosen + 1], classifiers.m, delta)[0])
    number = candidates_of(len(classifiers)).size
    among = f"all {number}" if number == len(classifiers) else f"{number} of {len(classifiers)}"
    note = (
        f"classifier {chosen} ({format_params(classifiers.params[chosen])}), chosen among {among} by "
        f"{choice.sizes.size}-fold cross-validation within the training rows"
    )
    return Baseline(bound, float(classifiers.risks[chosen]), note)
