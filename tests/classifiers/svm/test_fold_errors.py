"""Errors of support vector machines in a fold are those of scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.svm import SVC

from pacbayes import svm_set
from pacbayes.classifiers.cross_validation import folds_of
from pacbayes.classifiers.svm.fold_errors import svm_errors_in_fold

LAMBDAS = np.array([0.03, 0.3, 1.0, 30.0])


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine])
def test_errors_in_a_fold_are_those_of_svc(loader):
    X, y = loader(return_X_y=True)
    classifiers = svm_set(X, y, LAMBDAS, stratify=False, random_state=3)
    members = classifiers.members
    codes = y[classifiers.splits(0)[0]]
    fold = folds_of(codes, 4, np.random.default_rng(0))
    train, test = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
    found = svm_errors_in_fold(members, codes)(np.arange(4), train, test)
    gamma = classifiers.params[0]["gamma"]
    machines = [SVC(C=1 / lam, gamma=gamma).fit(members.rows[train], codes[train]) for lam in LAMBDAS]
    expected = [np.count_nonzero(machine.predict(members.rows[test]) != codes[test]) for machine in machines]
    assert found.tolist() == expected
    assert len(set(expected)) > 1
