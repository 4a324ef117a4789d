"""Folds of cross-validation against machines trained on their rows alone, side by side or one after the other."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.svm import SVC
from tests.classifiers.told import ToldFolds

from pacbayes import svm_path
from pacbayes.classifiers.cross_validation import cross_validate, folds_of
from pacbayes.classifiers.svm import folds as module
from pacbayes.classifiers.svm.folds import KernelFolds, pick
from pacbayes.classifiers.svm.kernel import Kernel
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.classifiers.svm.svm_set import SvmFamily
from pacbayes.data.division import DivisionChoices
from pacbayes.data.labelled import Labelled
from pacbayes.runtime import threads

LAMBDAS = np.geomspace(0.05, 20.0, 9)
FEW_LAMBDAS = np.array([0.03, 0.3, 1.0, 30.0])


def folds_of_set(X, y, lambdas, random_state=0):
    """The training rows of a set, and what trains its machines anew."""
    family = SvmFamily.checked(lambdas, "rbf", "sigest", 300, True, None, "shared", None)
    choices = DivisionChoices("shared", 0.5, None, "keep")
    return family.train(Labelled.checked(X, y), choices, n_jobs=None, random_state=random_state).folds


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine])
def test_errors_in_a_fold_are_those_of_svc(loader):
    members = folds_of_set(*loader(return_X_y=True), FEW_LAMBDAS, random_state=3)
    codes, gamma = members.codes, members.kernel.gamma
    fold = folds_of(codes, 4, np.random.default_rng(0))
    train, test = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
    found = members.refit(np.arange(4), train).answers(test)
    machines = [SVC(C=1 / lam, gamma=gamma).fit(members.rows[train], codes[train]) for lam in FEW_LAMBDAS]
    expected = [machine.predict(members.rows[test]).tolist() for machine in machines]
    assert found.tolist() == expected
    assert len(set(map(tuple, expected))) > 1


def trained(n=500, classes=2):
    X, y = make_classification(n, n_features=6, n_informative=4, flip_y=0.1, n_classes=classes, random_state=0)
    return folds_of_set(X, y, LAMBDAS)


def test_errors_are_those_of_machines_trained_on_the_fold():
    members = trained()
    codes = members.codes
    found = cross_validate(members, np.arange(9), 4, np.random.default_rng(1))
    fold = folds_of(codes, 4, np.random.default_rng(1))
    for k in range(4):
        rows, new = members.rows[fold != k], members.rows[fold == k]
        path = svm_path(members.kernel.gram(rows), np.where(codes[fold != k] == 1, 1.0, -1.0), LAMBDAS)
        positive = path.decision_function(members.kernel.between(new, rows)) >= 0.0
        np.testing.assert_array_equal(found.errors[:, k], (positive != (codes[fold == k] == 1)).sum(axis=1))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_counts_side_by_side_and_without_the_shared_matrix(classes, monkeypatch):
    members = trained(classes=classes)

    def count(at_once):
        monkeypatch.setattr(KernelFolds, "at_once", lambda self, folds: at_once)
        # As it was before anything was computed for it.
        return cross_validate(replace(members), np.arange(9), 5, np.random.default_rng(2))

    expected = count(1)
    for at_once in (2, 3, 7):
        np.testing.assert_array_equal(count(at_once).errors, expected.errors)
        np.testing.assert_array_equal(count(at_once).sizes, expected.sizes)
    # No memory for one matrix of all rows: each fold computes its own.
    monkeypatch.setattr(module, "memory_limit", lambda _: (8 * len(members.codes) ** 2, "test"))
    monkeypatch.setattr(module, "pick", None)
    np.testing.assert_array_equal(count(1).errors, expected.errors)


def test_as_many_at_once_as_keep_all_cores_busy_and_memory_allows(monkeypatch):
    monkeypatch.setattr(threads, "_cores_of_process", lambda: 4)
    monkeypatch.setattr(module, "memory_limit", lambda _: (None, "unknown"))

    def folds_at_once(n, folds):
        settings, codes = MachineSettings(LAMBDAS, "rbf", 1.0, True, 300, 0), np.arange(n) % 2
        return KernelFolds(settings, Kernel("rbf", 1.0), np.zeros((n, 1)), codes, 2, jobs=1).at_once(folds)

    assert folds_at_once(100, 5) == 1
    # (folds, cores) -> side by side: 5 on 4 take turns, 10 on 4 are 5 and 5, 5 on 2 are 3 and 2, 5 on 1 follow.
    for folds, cores, expected in ((5, 4, 5), (10, 4, 5), (4, 4, 4), (3, 4, 3), (5, 2, 3), (4, 2, 2), (5, 1, 1)):
        with threads.at_most_cores(cores):
            assert folds_at_once(2000, folds) == expected
    for matrices, expected in ((0, 1), (1, 1), (3, 2), (100, 5)):
        monkeypatch.setattr(module, "memory_limit", lambda _, k=matrices: (k * 8 * 2000**2, "test"))
        assert folds_at_once(2000, 5) == expected


def test_folds_side_by_side_share_the_cores(monkeypatch):
    monkeypatch.setattr(threads, "_cores_of_process", lambda: 6)
    codes, seen = np.tile([0, 1], 50), []

    def answers(candidates, train, test):
        seen.append(threads.cores())
        return np.zeros((candidates.size, test.size), dtype=np.uint8)

    for at_once, expected in ((1, [6] * 5), (2, [3, 3, 3, 3, 6]), (3, [2, 2, 2, 3, 3]), (5, [1] * 5)):
        seen.clear()
        cross_validate(ToldFolds(codes, answers, at_once), np.arange(2), 5, np.random.default_rng(0))
        assert seen == expected


def test_pick_is_numpy_s_indexing():
    matrix = np.random.default_rng(0).normal(size=(300, 300))
    down, across = np.arange(3, 290), np.array([0, 299, 7])
    np.testing.assert_array_equal(pick(matrix, down, across), matrix[np.ix_(down, across)])


def test_an_interrupt_does_not_wait_for_folds_side_by_side():
    released, codes = threading.Event(), np.tile([0, 1], 50)

    def endless(candidates, train, test):
        released.wait(60.0)
        raise ValueError("nobody waits for this")

    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        cross_validate(ToldFolds(codes, endless, at_once=2), np.arange(2), 4, np.random.default_rng(0))
    assert time.perf_counter() - start < 20.0
    released.set()
