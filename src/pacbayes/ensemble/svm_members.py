"""Support vector machines that share scaling, kernel and training rows: one kernel block serves all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows
from pacbayes._utils.checks import need, read_only
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import one_thread
from pacbayes.data.preprocessing import apply_preprocessor
from pacbayes.ensemble.calibration import PAIRS
from pacbayes.ensemble.members import Calibrated, Coding, Predictions, smallest_code_dtype
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOnePaths, blocks
from pacbayes.svm.svm_classifier import SVMSettings


@dataclass(frozen=True, eq=False)
class KernelSVMs:
    """SVMs that share scaling and the rows they sum over: the training rows, or landmarks among them.

    For each kernel there is a machine for every lambda; those of the first kernel come first.
    """

    settings: SVMSettings
    classes: Labels
    scaling: Scaling
    #: One for each width.
    kernels: tuple[Kernel, ...]
    #: Scaled.
    rows: FloatArray
    #: One for each kernel.
    svms: tuple[OneVsOnePaths, ...]
    #: What turns rows into numbers, fitted on the training rows; None for rows of numbers.
    preprocessor: Any = None

    def __post_init__(self) -> None:
        read_only(self.classes)

    def __len__(self) -> int:
        return len(self.kernels) * int(self.settings.lambdas.size)

    def __getitem__(self, i: int) -> Any:
        """Return the i-th machine, behind what prepares its rows where there is such a thing."""
        width, place = divmod(i, self.settings.lambdas.size)
        machine, kernel = self.svms[width].one(place), self.kernels[width]
        rows = self.rows[machine.support]
        one = self.settings.classifier(place, self.classes, self.scaling, kernel, machine, rows)
        return one if self.preprocessor is None else make_pipeline(self.preprocessor, one)

    @property
    def learnt(self) -> Rows:
        """The numbers of the classes that they tell apart."""
        return self.svms[0].codes

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each: lambda, and the width of its kernel."""
        return [one for kernel in self.kernels for one in self.settings.params(kernel.gamma)]

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """SVMs that could not be trained: none."""
        return []

    @property
    def kkt_violation(self) -> FloatArray:
        """How far each is from optimal, the worst over pairs of classes."""
        return np.concatenate([one.kkt_violation for one in self.svms])

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each is near enough, for all pairs of classes."""
        return np.concatenate([one.converged for one in self.svms])

    def prepared(self, X: Any) -> FloatArray:
        """Return new rows as the machines take them: numbers."""
        new: FloatArray = (
            check_array(X, dtype=np.float64) if self.preprocessor is None else apply_preprocessor(self.preprocessor, X)
        )
        width = self.rows.shape[1]
        if new.shape[1] != width:
            what = "X must have" if self.preprocessor is None else "preprocessor must give every sample"
            raise ValueError(f"{what} {width} columns, got {new.shape[1]}")
        return new

    def predict(self, X: FloatArray, which: Rows, coding: Coding) -> Predictions:
        """Return the numbers of the classes that some machines give the rows, shape (which, n)."""
        found = np.empty((which.size, len(X)), dtype=smallest_code_dtype(coding.labels.size))
        with one_thread(), progress("predictions", which.size * len(X)) as advance:
            for kernel, mine, svms, rows in self._some(which):

                def kernel_block(block: slice, kernel: Kernel = kernel, rows: FloatArray = rows) -> FloatArray:
                    return kernel.between(rows, self.scaling(X[block]))

                for block, codes in svms.predict(kernel_block, len(X), len(rows)):
                    found[mine, block] = codes
                    advance(codes.size)
        return found

    def predict_assigned(self, X: FloatArray, which: Codes, coding: Coding) -> Codes:
        """Return the class number that machine ``which[j]`` gives row j."""
        codes = np.empty(which.size, dtype=np.intp)
        with one_thread(), progress("predictions", which.size) as advance:
            for i in np.unique(which).tolist():
                width, place = divmod(i, self.settings.lambdas.size)
                machine, mine = self.svms[width].one(place), np.flatnonzero(which == i)
                support = self.rows[machine.support]
                for block in blocks(mine.size, len(support) + X.shape[1] + 2 * len(machine.pairs)):
                    K = self.kernels[width].between(support, self.scaling(X[mine[block]]))
                    codes[mine[block]] = machine.predict(machine.decisions(K))
                advance(mine.size)
        return codes

    def mean_probabilities(self, X: FloatArray, weights: FloatArray, soft: Calibrated) -> FloatArray:
        """Return the weighted sum of calibrated probabilities, shape (n, learnt classes).

        A row's is a function of that row to the last bit: decisions are, and the sum is in the order of the machines.
        """
        chosen = np.flatnonzero(weights)
        total = np.zeros((len(X), soft.classes.size))
        with one_thread(), progress("probabilities", chosen.size * len(X)) as advance:
            for kernel, mine, svms, rows in self._some(chosen):
                for block in blocks(len(X), len(rows) + X.shape[1] + 2 * len(svms.pairs)):
                    K = kernel.between(rows, self.scaling(X[block]))
                    for place, i in enumerate(chosen[mine].tolist()):
                        total[block] += weights[i] * soft.maps[i](svms.decisions_of(place, K))
                        advance(K.shape[1])
        return total

    def check_maps(self, soft: Calibrated) -> None:
        """Raise unless all maps take the decisions of the pairs that there are."""
        taken = all(one.kind == PAIRS for one in soft.maps.values())
        need(taken, "Calibration.kind", f"must be {PAIRS} for support vector machines")
        need(np.array_equal(soft.classes, self.learnt), "Calibrated.classes", "must be those of the machines")

    def _some(self, which: Rows) -> Iterator[tuple[Kernel, Rows, OneVsOnePaths, FloatArray]]:
        """Yield for each kernel that some machines need: their places among these, they, and the rows they need."""
        width, place = np.divmod(which, self.settings.lambdas.size)
        for number in np.unique(width).tolist():
            mine = np.flatnonzero(width == number)
            svms, kept = self.svms[number].some(place[mine])
            yield self.kernels[number], mine, svms, self.rows[: kept.size][kept]
