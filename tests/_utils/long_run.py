"""Runs with checkpoints of a second or two, for tests that kill them; `python -m` runs one in a process."""

import os
import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, grid_set, svm_set
from pacbayes._utils.values import fingerprint

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :6]
Y = Y[:200]
NUMBER = 230


class SlowTree(DecisionTreeClassifier):
    """Tree that sleeps for `PACBAYES_SLEEP` seconds in fit and appends to the file `PACBAYES_FITS`."""

    def fit(self, X, y):
        time.sleep(float(os.environ.get("PACBAYES_SLEEP", "0.003")))
        super().fit(X, y)
        if path := os.environ.get("PACBAYES_FITS"):
            with open(path, "ab", buffering=0) as file:
                file.write(b".")
        return self


def grid(checkpoint, n_jobs=None, number=NUMBER, split="independent"):
    settings = [{"min_samples_leaf": [i % 7 + 1], "max_features": [i % 5 + 1]} for i in range(number)]
    choices = {"split": split, "n_jobs": n_jobs, "random_state": 4, "checkpoint": checkpoint}
    return grid_set(SlowTree(), settings, X, Y, **choices)


def svm(checkpoint, n_jobs=1, number=NUMBER):
    choices = {"split": "independent", "n_jobs": n_jobs, "random_state": 4, "checkpoint": checkpoint}
    return svm_set(X, Y, np.geomspace(0.01, 100.0, number), **choices)


def family(checkpoint, n_jobs=None, seed=4, cv=3):
    """Fit SVMs of five widths and two trees, with cross-validation."""
    candidates = ["svm", Grid(SlowTree(), {"min_samples_leaf": [2, 5]})]
    return CertifiedClassifier(candidates, cv=cv, n_jobs=n_jobs, checkpoint=checkpoint, random_state=seed).fit(X, Y)


SETS = {"grid": grid, "svm": svm}
RUNS = SETS | {"family": family}


def bits(found):
    """Fingerprint of a set of classifiers or a fitted model."""
    if isinstance(found, CertifiedClassifier):
        folds = {name: values for name, values in found.cv_results_.items() if name != "params"}
        return fingerprint([bits(found.classifiers_), folds, str(found.certificates_), found.predict_proba(X)])
    arrays = [found.predictions.y_pred, found.errors, found.risks, found.kkt_violation]
    return fingerprint([arrays, found.params, [vars(found[i]) for i in range(len(found))], found.m])


if __name__ == "__main__":
    # Imported by name, so that other processes can unpickle its classes.
    from tests._utils import long_run

    print("begin", flush=True)
    long_run.RUNS[sys.argv[1]](sys.argv[2], n_jobs=int(sys.argv[3]))
