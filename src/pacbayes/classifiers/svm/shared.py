"""Support vector machines that share scaling, kernel and training rows: one kernel block serves all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from pacbayes.classifiers.members import Answers, Coding, kept_as, runs_of
from pacbayes.classifiers.svm.kernel import NYSTROEM, Kernel, Scaling
from pacbayes.classifiers.svm.machines import Machines, Pair, blocks, mean_scores
from pacbayes.classifiers.svm.path_scores import decisions_of_one, sizes_of, tie_widths
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.data.preparing import apply_prepare
from pacbayes.numeric.arrays import Codes, FloatArray, Labels, Rows
from pacbayes.numeric.checks import need, need_array, read_only
from pacbayes.runtime.progress import progress
from pacbayes.runtime.threads import one_thread


@dataclass(frozen=True, eq=False)
class SharedMachines:
    """Machines that share scaling, kernel and the rows they sum over: the training rows, or landmarks among them."""

    settings: MachineSettings
    classes: Labels
    scaling: Scaling
    kernel: Kernel
    #: Scaled.
    rows: FloatArray
    machines: Machines
    #: What turns rows into numbers, fitted on the training rows; None for rows of numbers.
    prepare: Any = None

    def __post_init__(self) -> None:
        """Raise unless machines, kernel and scaling are for the rows that they sum over."""
        kinds = {"settings": MachineSettings, "scaling": Scaling, "kernel": Kernel, "machines": Machines}
        for name, kind in kinds.items():
            need(type(getattr(self, name)) is kind, f"SharedMachines.{name}", f"must be {kind.__name__}")
        read_only(self.classes)
        need_array(self.rows, "SharedMachines.rows", "f", (None, None))
        number, width = self.rows.shape
        need(width > 0, "SharedMachines.rows", "must have columns")
        need(self.scaling.shift.size == width, "SharedMachines.scaling", f"must be for {width} columns")
        asked = self.settings.kernel
        need((asked == "linear") == (self.kernel.name == "linear"), "Kernel.name", f"must be for {asked!r}")
        least = asked != NYSTROEM or number <= self.settings.n_components
        need(least, "SharedMachines.rows", "must be as many landmarks as were asked for")
        need(int(self.machines.codes[-1]) < self.classes.size, "Machines.codes", "must be classes")
        same = np.array_equal(self.machines.paths[0].lambdas, self.settings.lambdas)
        need(same, "SVMPath.lambdas", "must be those that were asked for")
        self.machines.check_rows(number)
        prepares = self.prepare is None or callable(getattr(self.prepare, "transform", None))
        need(prepares, "SharedMachines.prepare", "must be a transformer or None")

    def __len__(self) -> int:
        return int(self.settings.lambdas.size)

    def __getitem__(self, i: int) -> Any:
        """Return the i-th machine, behind what prepares its rows where there is such a thing."""
        machine = self.machines.one(i)
        rows = self.rows[machine.support]
        one = self.settings.classifier(i, self.classes, self.scaling, self.kernel, machine, rows)
        return one if self.prepare is None else make_pipeline(self.prepare, one)

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each: lambda, and the width of the kernel that all share."""
        return self.settings.params([self.kernel.gamma] * len(self))

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Machines that could not be trained: none."""
        return []

    @property
    def kkt_violation(self) -> FloatArray:
        """How far each is from optimal, the worst over pairs of classes."""
        return np.asarray(np.max([path.kkt_violation for path in self.machines.paths], axis=0))

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each is near enough, for all pairs of classes."""
        return np.asarray(np.all([path.converged for path in self.machines.paths], axis=0))

    def prepared(self, X: Any) -> FloatArray:
        """Return new rows as the machines take them: numbers."""
        new: FloatArray = check_array(X, dtype=np.float64) if self.prepare is None else apply_prepare(self.prepare, X)
        width = self.rows.shape[1]
        if new.shape[1] != width:
            what = "X must have" if self.prepare is None else "prepare must give every sample"
            raise ValueError(f"{what} {width} columns, got {new.shape[1]}")
        return new

    def answers(self, X: FloatArray, which: Rows, coding: Coding) -> Answers:
        """Return the numbers of the classes that some machines give the rows, shape (which, n)."""
        machines, rows = self._some(which)
        found = np.empty((which.size, len(X)), dtype=kept_as(coding.labels.size))

        def kernel_block(block: slice) -> FloatArray:
            return self.kernel.between(rows, self.scaling(X[block]))

        with one_thread(), progress("predictions", len(X)) as advance:
            for block, codes in machines.predict(kernel_block, len(X), len(rows)):
                found[:, block] = codes
                advance(codes.shape[1])
        return found

    def answers_each(self, X: FloatArray, which: Codes, coding: Coding) -> Codes:
        """Return the class number that machine ``which[j]`` gives row j.

        The rows are taken in the order of their machines: then each machine's are a slice of the kernel block.
        """
        used, places = np.unique(which, return_inverse=True)
        machines, rows = self._some(used)
        ties = [_ties(pair) for pair in machines.pairs]
        order = np.argsort(places, kind="stable")
        codes = np.empty(which.size, dtype=np.intp)
        with one_thread(), progress("predictions", which.size) as advance:
            for block in blocks(which.size, len(rows) + X.shape[1] + 2 * len(machines.pairs)):
                mine = order[block]
                K = self.kernel.between(rows, self.scaling(X[mine]))
                codes[mine] = _decide(machines, ties, K, places[mine])
                advance(mine.size)
        return codes

    def scores(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Return how far every row is on the side of each class, by the weighted mean of the machines' decisions."""
        chosen = np.flatnonzero(weights)
        machines, rows = self._some(chosen)
        scores = np.empty((len(X), self.classes.size))
        with one_thread(), progress("confidence", len(X)) as advance:
            for block in blocks(len(X), len(rows) + X.shape[1]):
                K = self.kernel.between(rows, self.scaling(X[block]))
                scores[block] = mean_scores(machines, weights[chosen], K, self.classes.size)
                advance(K.shape[1])
        return scores

    def _some(self, which: Rows) -> tuple[Machines, FloatArray]:
        """Return some machines, and the scaled rows that support any of them."""
        machines, kept = self.machines.some(which)
        return machines, self.rows[: kept.size][kept]


def _ties(pair: Pair) -> FloatArray:
    """Return how close to zero each machine's decisions are still ties."""
    return tie_widths(pair.path.intercept, sizes_of(pair.path.dual_coef), pair.kernel_size)


def _decide(machines: Machines, ties: list[FloatArray], K: FloatArray, places: Codes) -> Codes:
    """Return class numbers for kernel values of training rows by new rows; rows of one machine are neighbours."""
    runs = runs_of(places)
    # One place for each class that occurs, not for each there is.
    votes = np.zeros((len(places), machines.codes.size), dtype=np.int16)
    numbers = {code: number for number, code in enumerate(machines.codes.tolist())}
    everyone = np.arange(len(places))
    for pair, tie in zip(machines.pairs, ties, strict=True):
        part = K if pair.rows.size == len(K) else K[pair.rows]
        decisions = np.empty(len(places))
        for run in runs:
            h = places[run.start]
            coef, intercept = pair.path.dual_coef[h], float(pair.path.intercept[h])
            decisions[run] = decisions_of_one(coef, intercept, part, run.start, run.stop)
        # Ties go to the second class, as in scikit-learn's SVC.
        votes[everyone, np.where(decisions >= -tie[places], numbers[pair.second], numbers[pair.first])] += 1
    winners: Codes = machines.codes[votes.argmax(axis=1)]
    return winners
