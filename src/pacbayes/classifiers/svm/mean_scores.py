"""The weighted mean of many machines' decisions: itself one machine, so that it costs no more than one."""

import numpy as np

from pacbayes.classifiers.svm.machines import Machines
from pacbayes.classifiers.svm.path_scores import decisions_of_one
from pacbayes.numeric.arrays import FloatArray


def mean_scores(machines: Machines, weights: FloatArray, K: FloatArray, n_classes: int) -> FloatArray:
    """Return how far every row is on the side of each class, shape (n, n_classes), by the machines' mean decisions.

    For a class it is the least, over the other classes, of the mean decision for it against that one: positive for one
    class at most, minus infinity for a class that no machine knows.  `K` holds training rows by new rows.
    """
    scores = np.full((K.shape[1], n_classes), -np.inf)
    scores[:, machines.codes] = np.inf
    for pair in machines.pairs:
        part = K if pair.rows.size == len(K) else K[pair.rows]
        coef = np.ascontiguousarray(weights @ pair.path.dual_coef)
        decisions = decisions_of_one(coef, float(weights @ pair.path.intercept), part, 0, K.shape[1])
        scores[:, pair.second] = np.minimum(scores[:, pair.second], decisions)
        scores[:, pair.first] = np.minimum(scores[:, pair.first], -decisions)
    return scores
