"""Out-of-fold decisions against machines trained on their rows alone, side by side or one after the other."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.svm import SVC

from pacbayes._utils.seeds import Purpose, generator
from pacbayes.ensemble import svm_folds as module
from pacbayes.ensemble.calibration import PAIRS, calibrate
from pacbayes.ensemble.cross_validation import folds_of
from pacbayes.ensemble.svm_folds import KernelFolds, SharedValues, SVMFolds, chosen_scale, train_shared
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.svm_classifier import SVMSettings

LAMBDAS = np.geomspace(0.05, 20.0, 9)
FEW_LAMBDAS = np.array([0.03, 0.3, 1.0, 30.0])


def trained(X, y, lambdas, kernel="rbf", gamma="sigest", seed=0, n_components=40):
    """SVMs on all of these rows, and what trains them anew on parts of them."""
    classes, codes = np.unique(y, return_inverse=True)
    settings = SVMSettings(np.asarray(lambdas), kernel, gamma, True, n_components, seed)
    return train_shared(settings, np.asarray(X, dtype=float), codes.astype(np.int64), classes, None, 1)


def folds_of_set(X, y, lambdas, **choices):
    return trained(X, y, lambdas, **choices)[1]


def sample(classes=2, n=250):
    return make_classification(n, n_features=6, n_informative=4, flip_y=0.1, n_classes=classes, random_state=0)


def heard(members, fold, which=None):
    """Answers and scores of some machines, stacked."""
    which = np.arange(members.families.size) if which is None else which
    said = list(members.out_of_fold(which, fold))
    assert [one.kind for one in said] == [PAIRS] * which.size
    return np.stack([one.y_pred for one in said]), np.stack([one.scores for one in said])


def assert_same(one, two):
    for found, expected in zip(one, two, strict=True):
        np.testing.assert_array_equal(found, expected)


# -- against machines that others train ------------------------------------------------------------------------------


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine])
def test_answers_in_a_fold_are_those_of_svc(loader):
    members = folds_of_set(*loader(return_X_y=True), FEW_LAMBDAS, seed=3)
    codes, width = members.codes, members.widths[0]
    fold = folds_of(codes, 4, np.random.default_rng(0))
    train, test = np.flatnonzero(fold != 1), np.flatnonzero(fold == 1)
    answers, scores = heard(members, fold)
    choices = {"gamma": width.kernel.gamma, "decision_function_shape": "ovo"}
    machines = [SVC(C=1 / lam, **choices).fit(width.shared.rows[train], codes[train]) for lam in FEW_LAMBDAS]
    expected = [machine.predict(width.shared.rows[test]).tolist() for machine in machines]
    assert answers[:, test].tolist() == expected
    assert len(set(map(tuple, expected))) > 1
    for own, machine in zip(scores[:, test], machines, strict=True):
        decisions = machine.decision_function(width.shared.rows[test]).reshape(test.size, -1)
        # Of two classes SVC says the second by a positive number, of pairs of several the first.
        signed = decisions if decisions.shape[1] == 1 else -decisions
        # Both stop at a violation of 0.001.
        np.testing.assert_allclose(own, signed, rtol=0, atol=0.02)


# -- several widths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@pytest.mark.parametrize("classes", [2, 3])
def test_several_widths_are_those_of_each_alone_to_the_last_bit(kernel, classes):
    X, y = sample(classes)
    members, folds = trained(X, y, FEW_LAMBDAS, kernel, "widths")
    fold = folds_of(folds.codes, 4, np.random.default_rng(0))
    answers, scores = heard(folds, fold)
    for place, one in enumerate(members.kernels):
        alone, own = trained(X, y, FEW_LAMBDAS, kernel, one.gamma)
        assert len(alone.kernels) == 1
        mine = slice(4 * place, 4 * place + 4)
        if kernel == "rbf":
            # As one of several it is trained in single precision.
            width = replace(own.widths[0], shared=folds.widths[0].shared, coarse=True)
            own = replace(own, widths=(width,))
            alone = replace(alone, svms=(width.train(FEW_LAMBDAS, None),))
        assert_same((answers[mine], scores[mine]), heard(own, fold))
        for pair, other in zip(members.svms[place].pairs, alone.svms[0].pairs, strict=True):
            assert pair.path.dual_coef.tobytes() == other.path.dual_coef.tobytes()
            assert pair.path.intercept.tobytes() == other.path.intercept.tobytes()


def test_a_path_in_parts_says_the_same(monkeypatch):
    """With many pairs of classes not all decisions are held at once."""
    folds = folds_of_set(*sample(4), LAMBDAS)
    fold = folds_of(folds.codes, 4, np.random.default_rng(0))
    expected = heard(folds, fold)
    monkeypatch.setattr(module, "_DECISIONS", 3 * 250 * 6)
    found = heard(folds, fold)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=0.02)
    assert np.count_nonzero(found[0] != expected[0]) <= 0.01 * found[0].size


# -- classes that a fold lacks ---------------------------------------------------------------------------------------


def test_a_class_that_the_other_folds_lack_loses_by_one():
    X, y = sample(4)
    fold = np.arange(len(y)) % 3
    # All rows of the third class are in the first fold.
    fold[y == 2] = 0
    members = folds_of_set(X, y, FEW_LAMBDAS)
    answers, scores = heard(members, fold)
    assert np.isfinite(scores).all()
    columns = {pair: place for place, pair in enumerate(combinations(range(4), 2))}
    absent = scores[:, fold == 0]
    for (first, second), place in columns.items():
        if first == 2:
            assert (absent[:, :, place] == 1.0).all()
        elif second == 2:
            assert (absent[:, :, place] == -1.0).all()
        else:
            assert len(np.unique(absent[:, :, place])) > 100
    assert not (answers[:, fold == 0] == 2).any()
    # The others are machines of three classes, trained on the rest.
    keep = y != 2
    width = members.widths[0]
    shared = SharedValues(width.shared.rows[keep], "rbf", False, None)
    fewer = SVMFolds((KernelFolds(width.kernel, shared, y[keep]),), FEW_LAMBDAS, y[keep], 4, 1)
    known = [place for pair, place in columns.items() if 2 not in pair]
    expected = heard(fewer, fold[keep])[1][:, fold[keep] == 0]
    np.testing.assert_array_equal(absent[:, keep[fold == 0]][:, :, known], expected)


@pytest.mark.parametrize("other", [0, 1])
def test_where_one_class_is_left_all_say_it(other):
    X, y = sample()
    fold = np.where(y == other, 0, 1 + np.arange(len(y)) % 2)
    answers, scores = heard(folds_of_set(X, y, FEW_LAMBDAS, gamma="widths"), fold)
    alone = fold == 0
    assert (answers[:, alone] == 1 - other).all()
    assert (scores[:, alone] == 1.0 - 2.0 * other).all()
    assert len(np.unique(scores[:, ~alone])) > 100


@pytest.mark.parametrize("far", [1e39, 1e90, -1e90])
def test_a_row_that_is_far_from_all_others_is_heard_in_its_fold(far):
    """Decisions about it are beyond single precision, in which those of all folds are kept: that was a warning."""
    X, y = sample()
    X[7] = far
    folds = SVMFolds(
        (KernelFolds(Kernel("linear", None), SharedValues(X, "linear", False, None), y),), FEW_LAMBDAS, y, 2, 1
    )
    with np.errstate(all="raise"):
        answers, scores = heard(folds, np.where(np.arange(len(y)) == 7, 0, 1))
    assert np.isfinite(scores).all()
    assert (np.abs(scores[:, 7]) > 1e38).all()
    np.testing.assert_array_equal(answers[:, 7], (scores[:, 7, 0] > 0).astype(int))
    assert np.isfinite(calibrate(PAIRS, scores[0], y, 2)[1])


# -- threads and memory ----------------------------------------------------------------------------------------------


def renewed(members, jobs):
    """Return the same machines as they were before anything was computed for them, with so many workers."""
    shared = pickle.loads(pickle.dumps(members.widths[0].shared))
    shared._here = True
    return replace(members, jobs=jobs, widths=tuple(replace(one, shared=shared) for one in members.widths))


@pytest.mark.parametrize(("classes", "gamma"), [(2, "sigest"), (3, "sigest"), (2, "widths"), (3, "widths")])
def test_the_same_side_by_side_without_the_shared_matrix_and_elsewhere(classes, gamma, monkeypatch):
    members = folds_of_set(*sample(classes), LAMBDAS, gamma=gamma)
    fold = folds_of(members.codes, 5, np.random.default_rng(2))
    expected = heard(renewed(members, 1), fold)
    trained = [one.path.dual_coef for width in renewed(members, 1).train() for one in width.pairs]

    def same(some):
        assert_same(heard(some, fold), expected)
        for one, other in zip((one for width in some.train() for one in width.pairs), trained, strict=True):
            np.testing.assert_array_equal(one.path.dual_coef, other)

    for jobs in (2, 3, 7):
        same(renewed(members, jobs))
    # As in a process of another machine.
    same(replace(members, widths=pickle.loads(pickle.dumps(members.widths))))
    # Nor is there memory for one matrix of all rows beside those of the folds.
    monkeypatch.setattr(module, "memory_limit", lambda _: (8 * len(members.codes) ** 2, "test"))
    monkeypatch.setattr(module, "shared_matrix", None)
    same(renewed(members, 2))


def test_as_many_at_once_as_memory_allows(monkeypatch):
    rows = np.zeros((200, 1))

    def at_once(single, entries):
        monkeypatch.setattr(module, "memory_limit", lambda _: (entries and entries * 200**2, "test"))
        return KernelFolds(Kernel("rbf", 1.0), SharedValues(rows, "rbf", single, None), np.arange(200) % 2).at_once(4)

    assert [at_once(False, entries) for entries in (None, 7, 16, 24, 400)] == [4, 1, 2, 3, 4]
    assert [at_once(True, entries) for entries in (None, 7, 12, 16, 400)] == [4, 1, 3, 4, 4]


def test_no_more_decisions_at_once_than_allowed(monkeypatch):
    folds = folds_of_set(*sample(3), FEW_LAMBDAS, gamma="widths")
    fold = folds_of(folds.codes, 3, np.random.default_rng(0))
    expected, sizes = heard(folds, fold), []
    run = module.run_units
    monkeypatch.setattr(module, "run_units", lambda *given, **more: sizes.append(given[2]) or run(*given, **more))
    for machines in (4, 9, 100):
        sizes.clear()
        monkeypatch.setattr(module, "_DECISIONS", machines * folds.codes.size * 3)
        assert_same(heard(folds, fold), expected)
        assert max(sizes) <= max(1, machines // len(FEW_LAMBDAS)) * 3


# -- whether to standardise ------------------------------------------------------------------------------------------


def scale_of(X, y, units=None):
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return chosen_scale(np.asarray(X, dtype=float), codes, units, 0, 1, None)


def test_pixels_are_left_alone_and_units_of_their_own_are_scaled():
    X, y = load_digits(return_X_y=True)
    # Between light and dark all pixels have the same range, and most hardly ever vary.
    assert scale_of(X[:400], y[:400]) is False
    X, y = load_breast_cancer(return_X_y=True)
    assert scale_of(X, y) is True


def test_nothing_is_tried_where_ranges_differ(monkeypatch):
    X, y = sample()
    monkeypatch.setattr(module, "SVMFolds", None)
    assert scale_of(X * np.geomspace(1.0, 1e4, 6), y) is True
    assert scale_of(X[:, :1], y) is True
    assert scale_of(np.zeros((20, 3)), np.arange(20) % 2) is True
    # Of one class there is nothing to try.
    assert scale_of(X, np.zeros(len(y))) is True


def alike(classes, rare):
    """Columns from 0 to 1 of which one for each class tells something; others mean nothing, or have outliers."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=200)
    useful = np.clip(np.eye(classes)[y] + 0.3 * rng.normal(size=(200, classes)), 0.0, 1.0)
    if rare:
        # Standardised, noise that most rows have nothing of would be as loud as the rest.
        return np.hstack([useful, (rng.random((200, 40)) < 0.01).astype(float)]), y
    # A single outlier gives columns their range: as they are they would hardly count.
    useful = 0.01 * useful
    useful[0] = 1.0
    return np.hstack([useful, rng.random((200, 20))]), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rare", [True, False])
def test_it_is_chosen_by_the_least_log_loss_of_five_costs(classes, rare):
    X, y = alike(classes, rare)
    losses = []
    for scale in (True, False):
        settings = SVMSettings(np.logspace(-2, 2, 5), "rbf", "sigest", scale, 300, 0)
        folds = train_shared(settings, X, y, np.arange(classes), None, 1)[1]
        scores = heard(folds, folds_of(y, 5, generator(0, Purpose.FOLDS)))[1]
        losses.append(min(calibrate(PAIRS, one, y, classes)[1] for one in scores))
    assert (losses[0] < losses[1]) is not rare
    assert scale_of(X, y) is not rare
