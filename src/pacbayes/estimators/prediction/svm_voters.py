"""Support vector machines that share scaling, kernel and training rows: one kernel block serves all of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.posterior_choice import Counts
from pacbayes.classifiers.svm.machines import Machines, Pair, blocks, mean_scores
from pacbayes.classifiers.svm.path import SVMPath
from pacbayes.classifiers.svm.path_scores import decisions_of_one, sizes_of, tie_widths
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.estimators.prediction.voters import runs_of
from pacbayes.numeric.arrays import Codes, FloatArray
from pacbayes.runtime.progress import progress
from pacbayes.runtime.threads import one_thread


@dataclass(frozen=True)
class SharedVoters:
    """The machines of a shared split."""

    members: SharedMembers
    n_classes: int

    @property
    def labels(self) -> NDArray[Any]:
        """The classes: a machine knows no other labels."""
        return self.members.task.classes

    def predict_assigned(self, X: FloatArray, which: Codes) -> Codes:
        """Return the class number that classifier ``which[j]`` gives row j.

        The rows are taken in the order of their classifiers: then each classifier's are a slice of the kernel block.
        """
        used, places = np.unique(which, return_inverse=True)
        machines, rows = _restricted(self.members, used)
        sums = [_sizes(pair) for pair in machines.pairs]
        order = np.argsort(places, kind="stable")
        codes = np.empty(which.size, dtype=np.intp)
        with one_thread(), progress("predictions", which.size) as advance:
            for block in blocks(which.size, len(rows) + X.shape[1] + 2 * len(machines.pairs)):
                mine = order[block]
                K = self.members.kernel.between(rows, self.members.scaling(X[mine]))
                codes[mine] = _decide(machines, sums, K, places[mine])
                advance(mine.size)
        return codes

    def votes(self, X: FloatArray, chosen: Codes, parts: Counts) -> FloatArray:
        """Return for every row and class the sum of `parts` over the chosen classifiers that vote for it, exactly."""
        machines, rows = _restricted(self.members, chosen)
        votes = np.zeros((len(X), self.n_classes))
        weights = parts.astype(np.float64)

        def kernel_block(block: slice) -> FloatArray:
            return self.members.kernel.between(rows, self.members.scaling(X[block]))

        with one_thread(), progress("predictions", len(X)) as advance:
            for block, codes in machines.predict(kernel_block, len(X), len(rows)):
                for code in machines.codes.tolist():
                    # Whole numbers below 2^53: the product is exact whatever the order of its terms.
                    votes[block, code] = weights @ (codes == code)
                advance(codes.shape[1])
        return votes

    def answers(self, X: FloatArray, chosen: Codes) -> Codes:
        """Return the numbers of the classes that the chosen machines give the rows, shape (chosen, n)."""
        machines, rows = _restricted(self.members, chosen)
        codes = np.empty((chosen.size, len(X)), dtype=np.intp)

        def kernel_block(block: slice) -> FloatArray:
            return self.members.kernel.between(rows, self.members.scaling(X[block]))

        with one_thread(), progress("predictions", len(X)) as advance:
            for block, found in machines.predict(kernel_block, len(X), len(rows)):
                codes[:, block] = found
                advance(found.shape[1])
        return codes

    def scores(self, X: FloatArray, chosen: Codes, weights: FloatArray) -> FloatArray:
        """Return how far every row is on the side of each class, by the weighted mean of the machines' decisions."""
        machines, rows = _restricted(self.members, chosen)
        scores = np.empty((len(X), self.n_classes))
        with one_thread(), progress("confidence", len(X)) as advance:
            for block in blocks(len(X), len(rows) + X.shape[1]):
                K = self.members.kernel.between(rows, self.members.scaling(X[block]))
                scores[block] = mean_scores(machines, weights, K, self.n_classes)
                advance(K.shape[1])
        return scores


def _restricted(members: SharedMembers, chosen: Codes) -> tuple[Machines, FloatArray]:
    """Return the chosen machines, and the scaled training rows that support any of them."""
    kept = np.zeros(len(members.rows), dtype=bool)
    duals = [pair.path.dual_coef[chosen] for pair in members.machines.pairs]
    for pair, dual in zip(members.machines.pairs, duals, strict=True):
        kept[pair.rows[dual.any(axis=0)]] = True
    numbers = np.cumsum(kept) - 1
    pairs = []
    for pair, dual in zip(members.machines.pairs, duals, strict=True):
        inside = kept[pair.rows]
        path = pair.path
        part = SVMPath(
            path.lambdas[chosen],
            np.ascontiguousarray(dual[:, inside]),
            path.intercept[chosen],
            path.n_iter[chosen],
            path.kkt_violation[chosen],
            path.converged[chosen],
        )
        pairs.append(replace(pair, rows=numbers[pair.rows[inside]], path=part))
    return replace(members.machines, pairs=tuple(pairs)), members.rows[kept]


def _sizes(pair: Pair) -> FloatArray:
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
