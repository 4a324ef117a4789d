"""The hold-out baseline: chosen within the training rows as scikit-learn would, validated once."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.svm import SVC

from pacbayes import svm_set
from pacbayes.certificates.hold_out import (
    CANDIDATES,
    Choice,
    candidates_of,
    folds_of,
    hold_out,
    select_by_cv,
    svm_errors_in_fold,
)

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


def test_the_fewest_errors_win_and_the_first_of_several():
    table = {0: [3, 1, 1], 1: [0, 1, 1]}
    calls = iter(table.values())
    codes = np.array([0, 1] * 10)
    choice = select_by_cv(lambda candidates, train, test: np.array(next(calls)), codes, 3, 2, np.random.default_rng(0))
    assert choice.index == 1
    assert choice.errors.tolist() == [[3, 0], [1, 1], [1, 1]]
    assert choice.sizes.tolist() == [10, 10]


def test_folds_divide_the_training_rows():
    codes = np.repeat([0, 1, 2], [50, 7, 1])
    folds = folds_of(codes, 5, np.random.default_rng(0))
    counts = np.array([np.bincount(codes[folds == k], minlength=3) for k in range(5)])
    assert counts.sum() == 58
    assert (np.ptp(counts, axis=0) <= 1).all()


def test_at_most_fifty_candidates():
    assert candidates_of(1990).size == CANDIDATES
    assert candidates_of(7).tolist() == list(range(7))


def test_the_bound_is_the_binomial_limit_of_the_chosen_one():
    X, y = load_breast_cancer(return_X_y=True)
    classifiers = svm_set(X, y, LAMBDAS, stratify=False, random_state=3)
    baseline = hold_out(classifiers, Choice(np.array([2]), np.zeros((1, 5), int), np.full(5, 9)), 0.05)
    assert binom.cdf(classifiers.errors[2], classifiers.m, baseline.bound) == pytest.approx(0.05, rel=1e-6)
    assert "lambda = 1" in baseline.note
