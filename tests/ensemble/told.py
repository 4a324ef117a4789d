"""Classifiers that say what a table says, and count what they are asked."""

import numpy as np

from pacbayes.ensemble.members import Estimators


class Told:
    """Says of a row, known by its first column, what a list says, and notes that it was asked."""

    def __init__(self, labels):
        self.labels, self.asked = np.asarray(labels), []

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        self.asked += rows.tolist()
        return self.labels[rows]


def told(seed=0, classifiers=9, n=300):
    """Return a table of labels, members that say b, c, or what is no class, a or d, and rows to ask them about."""
    table = np.random.default_rng(seed).choice(list("bcad"), p=[0.4, 0.4, 0.15, 0.05], size=(classifiers, n))
    members = Estimators([Told(one) for one in table], [{}] * classifiers, np.array(["b", "c"]))
    return table, members, np.arange(n)[:, None].astype(float)
