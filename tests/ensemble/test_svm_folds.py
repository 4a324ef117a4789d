"""Out-of-fold decision values of SVMs, with any number of workers and any memory; the choice of scaling."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.svm import SVC

from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes.ensemble import svm_folds as module
from pacbayes.ensemble.calibration import PAIRS, calibrate
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.ensemble.svm_folds import KernelFolds, SharedKernelValues, SVMFolds, choose_scale, train_shared
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.svm_classifier import SVMSettings

LAMBDAS = np.geomspace(0.05, 20.0, 9)
SVM_FAMILY_LAMBDAS = np.array([0.03, 0.3, 1.0, 30.0])


def train(X, y, lambdas, kernel="rbf", gamma="sigest", seed=0, n_components=40):
    """SVMs on all of these rows, and their folds."""
    classes, codes = np.unique(y, return_inverse=True)
    settings = SVMSettings(np.asarray(lambdas), kernel, gamma, True, n_components, seed)
    return train_shared(settings, np.asarray(X, dtype=float), codes.astype(np.int64), classes, None, 1)


def sample(classes=2, n=250):
    return make_classification(n, n_features=6, n_informative=4, flip_y=0.1, n_classes=classes, random_state=0)


def random_fold(folds, n_folds=4, seed=0):
    return assign_folds(folds.codes, n_folds, np.random.default_rng(seed))


def out_of_fold(folds, fold):
    """Out-of-fold predictions and scores of all SVMs, stacked."""
    members = list(folds.out_of_fold(folds.families, fold))
    assert {member.kind for member in members} == {PAIRS}
    return np.stack([member.y_pred for member in members]), np.stack([member.scores for member in members])


def assert_same(results, expected):
    for array, expected_array in zip(results, expected, strict=True):
        np.testing.assert_array_equal(array, expected_array)


# -- decision values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine])
def test_predictions_of_a_fold_are_those_of_svc(loader):
    folds = train(*loader(return_X_y=True), SVM_FAMILY_LAMBDAS, seed=3)[1]
    codes, (width,) = folds.codes, folds.widths
    rows, fold = width.shared.rows, random_fold(folds)
    train_rows, test = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
    y_pred, scores = out_of_fold(folds, fold)
    params = {"gamma": width.kernel.gamma, "decision_function_shape": "ovo"}
    svcs = [SVC(C=1 / lam, **params).fit(rows[train_rows], codes[train_rows]) for lam in SVM_FAMILY_LAMBDAS]
    expected = [svc.predict(rows[test]).tolist() for svc in svcs]
    assert y_pred[:, test].tolist() == expected
    assert len(set(map(tuple, expected))) > 1
    for decisions, svc in zip(scores[:, test], svcs, strict=True):
        svc_decisions = svc.decision_function(rows[test]).reshape(test.size, -1)
        # SVC's decision values are positive for the second of two classes, but for the first class of a pair.
        signed = svc_decisions if svc_decisions.shape[1] == 1 else -svc_decisions
        # Both stop at a violation of 0.001.
        np.testing.assert_allclose(decisions, signed, rtol=0, atol=0.02)


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@pytest.mark.parametrize("classes", [2, 3])
def test_several_widths_have_the_bits_of_each_alone(kernel, classes):
    X, y = sample(classes)
    members, folds = train(X, y, SVM_FAMILY_LAMBDAS, kernel, "widths")
    fold = random_fold(folds)
    y_pred, scores = out_of_fold(folds, fold)
    for k, width_kernel in enumerate(members.kernels):
        single, single_folds = train(X, y, SVM_FAMILY_LAMBDAS, kernel, width_kernel.gamma)
        assert len(single.kernels) == 1
        if kernel == "rbf":
            # Several widths are trained in single precision.
            width = replace(single_folds.widths[0], shared=folds.widths[0].shared, coarse=True)
            single_folds = replace(single_folds, widths=(width,))
            single = replace(single, svms=(width.train(SVM_FAMILY_LAMBDAS, None),))
        part = slice(4 * k, 4 * k + 4)
        assert_same((y_pred[part], scores[part]), out_of_fold(single_folds, fold))
        for pair, single_pair in zip(members.svms[k].pairs, single.svms[0].pairs, strict=True):
            assert pair.path.dual_coef.tobytes() == single_pair.path.dual_coef.tobytes()
            assert pair.path.intercept.tobytes() == single_pair.path.intercept.tobytes()


def test_class_that_is_missing_without_a_fold_loses_by_one():
    X, y = sample(4)
    fold = np.arange(len(y)) % 3
    fold[y == 2] = 0
    folds = train(X, y, SVM_FAMILY_LAMBDAS)[1]
    y_pred, scores = out_of_fold(folds, fold)
    assert np.isfinite(scores).all()
    assert not (y_pred[:, fold == 0] == 2).any()
    fold_scores, columns = scores[:, fold == 0], list(combinations(range(4), 2))
    for column, (first, second) in enumerate(columns):
        if 2 in (first, second):
            assert (fold_scores[:, :, column] == (1.0 if first == 2 else -1.0)).all()
    # The others are scores of SVMs for three classes.
    others = y != 2
    (width,) = folds.widths
    shared = SharedKernelValues(width.shared.rows[others], "rbf", False, None)
    three = SVMFolds((KernelFolds(width.kernel, shared, y[others]),), SVM_FAMILY_LAMBDAS, y[others], 4, 1)
    expected = out_of_fold(three, fold[others])[1][:, fold[others] == 0]
    present = [column for column, pair in enumerate(columns) if 2 not in pair]
    np.testing.assert_array_equal(fold_scores[:, others[fold == 0]][:, :, present], expected)


@pytest.mark.parametrize("removed", [0, 1])
def test_single_class_without_a_fold_is_predicted(removed):
    X, y = sample()
    fold = np.where(y == removed, 0, 1 + np.arange(len(y)) % 2)
    y_pred, scores = out_of_fold(train(X, y, SVM_FAMILY_LAMBDAS, gamma="widths")[1], fold)
    assert (y_pred[:, fold == 0] == 1 - removed).all()
    assert (scores[:, fold == 0] == 1.0 - 2.0 * removed).all()
    assert len(np.unique(scores[:, fold > 0])) > 100


@pytest.mark.parametrize("outlier", [1e39, 1e90, -1e90])
def test_scores_of_outliers_are_clipped_to_single_precision(outlier):
    X, y = sample()
    X[7] = outlier
    width = KernelFolds(Kernel("linear", None), SharedKernelValues(X, "linear", False, None), y)
    with np.errstate(all="raise"):
        folds = SVMFolds((width,), SVM_FAMILY_LAMBDAS, y, 2, 1)
        y_pred, scores = out_of_fold(folds, np.where(np.arange(len(y)) == 7, 0, 1))
    assert np.isfinite(scores).all()
    assert (np.abs(scores[:, 7]) > 1e38).all()
    np.testing.assert_array_equal(y_pred[:, 7], (scores[:, 7, 0] > 0).astype(int))
    assert np.isfinite(calibrate(PAIRS, scores[0], y, 2)[1])


# -- workers and memory ----------------------------------------------------------------------------------------------


def fresh(folds, jobs):
    """The same SVMs before anything was computed for them, with another number of workers."""
    shared = pickle.loads(pickle.dumps(folds.widths[0].shared))
    shared._in_process = True
    return replace(folds, jobs=jobs, widths=tuple(replace(width, shared=shared) for width in folds.widths))


@pytest.mark.parametrize(("classes", "gamma"), [(2, "sigest"), (3, "sigest"), (2, "widths"), (3, "widths")])
def test_same_bits_in_threads_in_other_processes_and_without_memory(classes, gamma, monkeypatch):
    folds = train(*sample(classes), LAMBDAS, gamma=gamma)[1]
    fold = random_fold(folds, 5, seed=2)

    def duals(folds):
        return [pair.path.dual_coef for width in folds.train() for pair in width.pairs]

    expected, expected_duals = out_of_fold(fresh(folds, 1), fold), duals(fresh(folds, 1))

    def check(other):
        assert_same(out_of_fold(other, fold), expected)
        assert_same(duals(other), expected_duals)

    for jobs in (2, 3, 7):
        check(fresh(folds, jobs))
    # Pickled, as in another process.
    check(replace(folds, widths=pickle.loads(pickle.dumps(folds.widths))))
    # Without memory for the shared matrix beside those of the folds.
    monkeypatch.setattr(module, "memory_limit", lambda _: (8 * len(folds.codes) ** 2, "test"))
    monkeypatch.setattr(module, "shared_matrix", None)
    check(fresh(folds, 2))


# -- scaling ---------------------------------------------------------------------------------------------------------


def scale_of(X, y):
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return choose_scale(np.asarray(X, dtype=float), codes, None, 0, 1, None)


def test_pixels_are_not_standardised():
    X, y = load_digits(return_X_y=True)
    assert scale_of(X[:400], y[:400]) is False
    assert scale_of(*load_breast_cancer(return_X_y=True)) is True


def test_columns_of_different_ranges_are_standardised_without_cross_validation(monkeypatch):
    X, y = sample()
    monkeypatch.setattr(module, "SVMFolds", None)
    assert scale_of(X * np.geomspace(1.0, 1e4, 6), y) is True
    assert scale_of(X[:, :1], y) is True
    assert scale_of(np.zeros((20, 3)), np.arange(20) % 2) is True
    # There is nothing to train for a single class.
    assert scale_of(X, np.zeros(len(y))) is True


def similar_ranges(classes, rare):
    """Columns from 0 to 1: an informative one per class, and noise that standardising inflates or deflates."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=200)
    informative = np.clip(np.eye(classes)[y] + 0.3 * rng.normal(size=(200, classes)), 0.0, 1.0)
    if rare:
        # Noise in few rows, which standardising would inflate.
        return np.hstack([informative, (rng.random((200, 40)) < 0.01).astype(float)]), y
    # A single outlier determines the range of the informative columns.
    informative = 0.01 * informative
    informative[0] = 1.0
    return np.hstack([informative, rng.random((200, 20))]), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rare", [True, False])
def test_scaling_minimises_the_log_loss_over_five_costs(classes, rare):
    X, y = similar_ranges(classes, rare)
    losses = []
    for scale in (True, False):
        settings = SVMSettings(np.logspace(-2, 2, 5), "rbf", "sigest", scale, 300, 0)
        folds = train_shared(settings, X, y, np.arange(classes), None, 1)[1]
        scores = out_of_fold(folds, assign_folds(y, 5, make_rng(0, Purpose.FOLDS)))[1]
        losses.append(min(calibrate(PAIRS, svm_scores, y, classes)[1] for svm_scores in scores))
    assert (losses[0] < losses[1]) is not rare
    assert scale_of(X, y) is not rare
