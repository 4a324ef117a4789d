"""Classifiers with fixed predictions that record the rows they predict."""

import numpy as np

from pacbayes.ensemble.members import Estimators


class RecordingClassifier:
    """Predict the label of a row, whose first column is its index, and record the index."""

    def __init__(self, labels):
        self.labels, self.predicted = np.asarray(labels), []

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        self.predicted += rows.tolist()
        return self.labels[rows]


def recording_members(seed=0, n_classifiers=9, n=300):
    """Table of predictions, members of classes b and c that may also predict a or d, and their rows."""
    table = np.random.default_rng(seed).choice(list("bcad"), p=[0.4, 0.4, 0.15, 0.05], size=(n_classifiers, n))
    members = Estimators([RecordingClassifier(row) for row in table], [{}] * n_classifiers, np.array(["b", "c"]))
    return table, members, np.arange(n)[:, None].astype(float)
