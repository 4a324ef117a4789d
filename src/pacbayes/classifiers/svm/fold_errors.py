"""Support vector machines in a fold of cross-validation: one path for all lambdas, its errors, its mean decisions."""

import numpy as np

from pacbayes.classifiers.cross_validation import ErrorsInFold, ScoresInFold
from pacbayes.classifiers.svm.machines import blocks, train_machines
from pacbayes.classifiers.svm.mean_scores import mean_scores
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.progress import progress


def svm_errors_in_fold(members: SharedMembers, codes: Rows) -> ErrorsInFold:
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


def svm_scores_in_fold(members: SharedMembers, codes: Rows, weights: FloatArray) -> ScoresInFold:
    """Return the weighted mean decisions of support vector machines, trained anew, on the rows of a fold."""
    chosen, n_classes = np.flatnonzero(weights), members.task.classes.size

    def scores(train: Rows, test: Rows) -> FloatArray:
        rows, new = members.rows[train], members.rows[test]
        lambdas = members.task.lambdas[chosen]
        machines = train_machines(lambda part: members.kernel.gram(rows[part]), codes[train], lambdas)
        found = np.empty((test.size, n_classes))
        for block in blocks(test.size, len(rows)):
            K = members.kernel.between(rows, new[block])
            found[block] = mean_scores(machines, weights[chosen], K, n_classes)
        return found

    return scores
