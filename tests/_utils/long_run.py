"""Runs that take a second or two, with checkpoints, for tests that kill them; `python -m` runs one in a process."""

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
    """A tree that takes a little longer, and notes every fit as one byte in the file that `PACBAYES_FITS` names."""

    def fit(self, X, y):
        time.sleep(0.003)
        super().fit(X, y)
        if path := os.environ.get("PACBAYES_FITS"):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(descriptor, b".")
            os.close(descriptor)
        return self


def grid(checkpoint, n_jobs=None, number=NUMBER, split="independent"):
    settings = [{"min_samples_leaf": i % 7 + 1, "max_features": i % 5 + 1} for i in range(number)]
    listed = [{name: [value] for name, value in setting.items()} for setting in settings]
    arguments = {"split": split, "n_jobs": n_jobs, "random_state": 4}
    return grid_set(SlowTree(), listed, X, Y, checkpoint=checkpoint, **arguments)


def svm(checkpoint, n_jobs=1, number=NUMBER):
    lambdas = np.geomspace(0.01, 100.0, number)
    arguments = {"split": "independent", "n_jobs": n_jobs, "random_state": 4}
    return svm_set(X, Y, lambdas, checkpoint=checkpoint, **arguments)


def family(checkpoint, n_jobs=None, seed=4, cv=3):
    """A whole fit: five widths of machines and two trees, with their folds."""
    candidates = ["svm", Grid(SlowTree(), {"min_samples_leaf": [2, 5]})]
    return CertifiedClassifier(candidates, cv=cv, n_jobs=n_jobs, checkpoint=checkpoint, random_state=seed).fit(X, Y)


SETS = {"grid": grid, "svm": svm}
RUNS = SETS | {"family": family}


def bits(classifiers):
    """A fingerprint of everything a set of classifiers, or a fitted model, holds."""
    if isinstance(classifiers, CertifiedClassifier):
        folds, certificates = classifiers.cv_results_, classifiers.certificates_
        return fingerprint(
            [
                bits(classifiers.classifiers_),
                {name: folds[name] for name in folds if name != "params"},
                {voting: str(one) for voting, one in certificates.items()},
                classifiers.predict_proba(X),
            ]
        )
    arrays = [classifiers.evidence.answers, classifiers.errors, classifiers.risks, classifiers.kkt_violation]
    members = [vars(classifiers[i]) for i in range(len(classifiers))]
    return fingerprint([arrays, classifiers.params, members, classifiers.m])


if __name__ == "__main__":
    # The module by its name: what it pickles must be found by others.
    from tests._utils import long_run

    print("begin", flush=True)
    long_run.RUNS[sys.argv[1]](sys.argv[2], n_jobs=int(sys.argv[3]))
