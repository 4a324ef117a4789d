"""Several sets of classifiers as one: support vector machines beside any others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows
from pacbayes._utils.checks import need
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.cross_validation import Folds, OutOfFold
from pacbayes.ensemble.members import Answers, Calibrated, Coding, Estimators, kept_as, number_of_rows
from pacbayes.ensemble.svm_members import SharedMachines


class Prepared:
    """Rows as each of several parts of a set takes them."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return number_of_rows(self.parts[0])


def pick_prepared(X: Any, rows: Rows) -> Any:
    """Return some prepared rows."""
    return Prepared(tuple(pick_rows(part, rows) for part in X.parts)) if isinstance(X, Prepared) else pick_rows(X, rows)


@dataclass(frozen=True, eq=False)
class Joined:
    """Several sets as one; those of the first come first."""

    parts: tuple[Any, ...]
    #: What the classifiers of each part are called; empty where their own parameters say it.
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise unless all parts tell the same classes apart."""
        sets = type(self.parts) is tuple and all(isinstance(one, SharedMachines | Estimators) for one in self.parts)
        need(sets and len(self.parts) > 1, "Joined.parts", "must be several sets")
        named = type(self.names) is tuple and all(type(name) is str for name in self.names)
        need(named and len(self.names) == len(self.parts), "Joined.names", "must be a name for each")
        same = all(np.array_equal(part.classes, self.parts[0].classes) for part in self.parts)
        need(same, "Joined.parts", "must have the same classes")

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, i: int) -> Any:
        part, first = next((one, first) for one, first in self._placed() if i < first + len(one))
        return part[i - first]

    def _placed(self) -> Iterator[tuple[Any, int]]:
        """Yield each part with the number of its first classifier."""
        first = 0
        for part in self.parts:
            yield part, first
            first += len(part)

    def _own(self, which: NDArray[Any]) -> Iterator[tuple[int, Any, Rows, NDArray[Any]]]:
        """Yield for each part that is asked: its place, it, where its own stand in `which`, and their numbers."""
        for place, (part, first) in enumerate(self._placed()):
            mine = np.flatnonzero((which >= first) & (which < first + len(part)))
            if mine.size:
                yield place, part, mine, which[mine] - first

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each, and what it is called."""
        return [
            {"candidate": name} | one if name else one
            for part, name in zip(self.parts, self.names, strict=True)
            for one in part.params
        ]

    @property
    def classes(self) -> Labels:
        """The labels that they were trained to tell apart."""
        classes: Labels = self.parts[0].classes
        return classes

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained and were left out."""
        return [one for part in self.parts for one in part.dropped]

    @property
    def kkt_violation(self) -> FloatArray | None:
        """How far each is from optimal; NaN for what is no support vector machine."""
        return self._of_each("kkt_violation", np.nan)

    @property
    def converged(self) -> NDArray[np.bool_] | None:
        """Whether each support vector machine is near enough to optimal, and anything else."""
        return self._of_each("converged", True)

    def _of_each(self, name: str, other: Any) -> NDArray[Any] | None:
        found = [getattr(part, name) for part in self.parts]
        if all(one is None for one in found):
            return None
        pairs = zip(found, self.parts, strict=True)
        return np.concatenate([np.full(len(part), other) if one is None else one for one, part in pairs])

    def prepared(self, X: Any) -> Prepared:
        """Return rows as each part takes them."""
        return Prepared(tuple(part.prepared(X) for part in self.parts))

    def answers(self, X: Prepared, which: Rows, coding: Coding) -> Answers:
        """Return the numbers of the labels that some classifiers give prepared rows, shape (which, n)."""
        found = [(mine, part.answers(X.parts[place], own, coding)) for place, part, mine, own in self._own(which)]
        answers = np.empty((which.size, len(X)), dtype=kept_as(coding.labels.size))
        for mine, some in found:
            answers[mine] = some
        return answers

    def answers_each(self, X: Prepared, which: Codes, coding: Coding) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives prepared row j, shape (n,)."""
        codes = np.empty(which.size, dtype=np.intp)
        for place, part, rows, own in self._own(which):
            codes[rows] = part.answers_each(pick_rows(X.parts[place], rows), own, coding)
        return codes

    def mean_probabilities(self, X: Prepared, weights: FloatArray, soft: Calibrated) -> FloatArray:
        """Return the sum of weights times calibrated probabilities: that of each part, in their order."""
        total = np.zeros((len(X), soft.classes.size))
        for place, (part, first) in enumerate(self._placed()):
            own = weights[first : first + len(part)]
            if own.any():
                total += part.mean_probabilities(X.parts[place], own, soft.among(first, len(part)))
        return total

    def check_maps(self, soft: Calibrated) -> None:
        """Raise unless each classifier has the scores that its map takes."""
        for part, first in self._placed():
            if any(first <= i < first + len(part) for i in soft.maps):
                part.check_maps(soft.among(first, len(part)))


@dataclass(frozen=True, eq=False)
class JoinedFolds:
    """The parts of a joined set with their training rows.  Of a part of machines one has a part in the soft vote."""

    parts: tuple[Folds, ...]
    #: How many classifiers each part has.
    sizes: tuple[int, ...]
    families: Rows

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""
        return self.parts[0].codes

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.parts[0].n_classes

    def tried(self, proposes: bool) -> Rows:
        """Return which classifiers are cross-validated: those that each part tries."""
        firsts = np.cumsum([0, *self.sizes[:-1]])
        return np.concatenate([part.tried(proposes) + first for part, first in zip(self.parts, firsts, strict=True)])

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some classifiers say of every training row when trained on the other folds."""
        first = 0
        for part, size in zip(self.parts, self.sizes, strict=True):
            mine = which[(which >= first) & (which < first + size)] - first
            yield from part.out_of_fold(mine, fold)
            first += size
