"""Machines on landmarks in a fold of cross-validation: features of all training rows once, a path in each fold."""

from functools import cache

import numpy as np

from pacbayes.classifiers.cross_validation import AnswersInFold, ScoresInFold, kept_as
from pacbayes.classifiers.svm.linear.landmark_machines import train_on_features
from pacbayes.classifiers.svm.linear.nystroem import nystroem_map
from pacbayes.classifiers.svm.machines import blocks
from pacbayes.classifiers.svm.mean_scores import mean_scores
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.numeric.arrays import Codes, FloatArray, Rows
from pacbayes.runtime.progress import progress


def landmark_answers_in_fold(members: SharedMembers, codes: Rows) -> AnswersInFold:
    """Return what machines on landmarks say in a fold.

    Scaling, width and landmarks are those of all training rows; none of the three has seen a label.
    """
    rows = members.scaling(members.task.X[members.task.splits(0)[0]])
    found = nystroem_map(members.rows, members.kernel)

    @cache
    def features() -> FloatArray:
        return found.features(rows)

    def answers(candidates: Rows, train: Rows, test: Rows) -> Codes:
        lambdas = members.task.lambdas[candidates]
        machines = train_on_features(found, features()[train], codes[train], lambdas)

        def kernel_block(block: slice) -> FloatArray:
            return members.kernel.between(found.landmarks, rows[test[block]])

        said = np.empty((candidates.size, test.size), dtype=kept_as(members.task.classes.size))
        with progress("counting errors", test.size) as advance:
            for block, predicted in machines.predict(kernel_block, test.size, len(found.landmarks)):
                said[:, block] = predicted
                advance(predicted.shape[1])
        return said

    return answers


def landmark_scores_in_fold(members: SharedMembers, codes: Rows, weights: FloatArray) -> ScoresInFold:
    """Return the weighted mean decisions of machines on landmarks, trained anew, on the rows of a fold."""
    rows = members.scaling(members.task.X[members.task.splits(0)[0]])
    found = nystroem_map(members.rows, members.kernel)
    chosen, features, n_classes = np.flatnonzero(weights), found.features(rows), members.task.classes.size

    def scores(train: Rows, test: Rows) -> FloatArray:
        machines = train_on_features(found, features[train], codes[train], members.task.lambdas[chosen])
        scored = np.empty((test.size, n_classes))
        for block in blocks(test.size, len(found.landmarks)):
            K = members.kernel.between(found.landmarks, rows[test[block]])
            scored[block] = mean_scores(machines, weights[chosen], K, n_classes)
        return scored

    return scores
