"""Rows that only validate a machine, replaced by anything: huge and tiny numbers, other classes.

The machine must not notice, to the last bit, in any part of it: dual coefficients, scaling, kernel width, the choice of
the holdout baseline, the prior.  Machine by machine, for every way of dividing, scaling and preparing.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, StochasticSVC, SVMs, svm_set

LAMBDAS = np.array([0.03, 0.5, 4.0])
# Sums of larger numbers overflow in scikit-learn's checks; with products of 1e20 and more the solver takes too long.
HUGE = {"rbf": [1e-300, 1e-10, 100.0, 1e10, 1e150, 1e300], "linear": [1e-300, 1e-10, 1.0, 30.0]}
HUGE["nystroem"] = HUGE["rbf"]


PREPARE = {
    "none": None,
    "standardised": StandardScaler(),
    "components": PCA(2),
    "ranks": QuantileTransformer(n_quantiles=20),
}


def sample(seed, kernel, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2] + (rng.choice([0.0, 1e6]) if kernel != "linear" else 0.0)
    y = np.array(["bb", "dd", "ff"])[rng.integers(0, rng.integers(2, 4), n)]
    return X, y


def replaced(X, y, rows, kernel, rng):
    """The sample with other numbers and other classes in some rows, some of them classes never seen elsewhere."""
    X, y = X.copy(), y.astype("<U3")
    sizes = rng.choice(HUGE[kernel], size=(rows.size, X.shape[1]))
    X[rows] = sizes * rng.uniform(-1.0, 1.0, sizes.shape)
    y[rows] = rng.choice(["bb", "ff", "aaa", "c", "ee", "z"], rows.size)
    return X, y


def fitted_parts(one):
    """Everything in a machine that training decides, as bytes."""
    machine = one[-1] if hasattr(one, "steps") else one
    numbers = machine._machine
    parts = (numbers.coefs, numbers.intercepts, numbers.kernel_sizes, machine.support_vectors_)
    parts += (machine._scaling.shift, machine._scaling.width, np.array(machine.gamma_, dtype=float))
    return [np.ascontiguousarray(part).tobytes() for part in parts], machine.classes_.tolist()


def quiet(function, *arguments, **choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*arguments, **choices)


@pytest.mark.parametrize(
    ("split", "preprocessor"),
    [("independent", "none"), *(("shared", name) for name in PREPARE)],
    ids=lambda value: value,
)
@pytest.mark.parametrize("scale", [True, False, "kernlab"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "nystroem"])
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.sampled_from(["sigest", 0.7]))
def test_a_machine_does_not_notice_what_its_validation_rows_hold(split, preprocessor, scale, kernel, seed, gamma):
    X, y = sample(seed, kernel)
    choices = {"split": split, "preprocessor": PREPARE[preprocessor], "scale": scale, "kernel": kernel, "gamma": gamma}
    choices |= {"n_components": 9, "random_state": seed, "n_jobs": 1}
    before = quiet(svm_set, X, y, LAMBDAS, **choices)
    rng = np.random.default_rng(seed)
    for i in range(LAMBDAS.size):
        train, validation = before.splits(i)
        new_X, new_y = replaced(X, y, validation, kernel, rng)
        after = quiet(svm_set, new_X, new_y, LAMBDAS, **choices)
        np.testing.assert_array_equal(after.splits(i)[0], train)
        assert fitted_parts(after[i]) == fitted_parts(before[i])
        wrong = after[i].predict(new_X[validation]) != new_y[validation]
        assert after.errors[i] == np.count_nonzero(wrong)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "nystroem"])
@pytest.mark.parametrize("preprocessor", PREPARE)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_hold_out_choice_and_prior_do_not_notice_validation_rows(scale, kernel, preprocessor, seed):
    def prior(params, X_train, y_train):
        weights = 1.0 + np.abs(np.sin(X_train.sum() + np.arange(len(params)))) + np.mean(y_train == "bb")
        return weights / weights.sum()

    X, y = sample(seed, kernel)
    choices = {
        "kernel": kernel,
        "n_components": 9,
        "scale": scale,
        "preprocessor": PREPARE[preprocessor],
        "prior": prior,
    }
    clf = StochasticSVC(LAMBDAS, hedge=0.1, cv=3, random_state=seed, n_jobs=1, **choices)
    before = quiet(clf.fit, X, y)
    note, weights = before.certificate_.baselines["holdout"].note, before.prior_.tobytes()
    fixed_rules = planned_parts(before)
    validation = before.classifiers_.splits(0)[1]
    after = quiet(clf.fit, *replaced(X, y, validation, kernel, np.random.default_rng(seed)))
    assert after.certificate_.baselines["holdout"].note == note
    assert after.prior_.tobytes() == weights
    assert planned_parts(after) == fixed_rules


def planned_parts(clf):
    """All that is planned, as bytes: weights, losses and maps; classes by their names, as others may stand between."""
    plan = clf._fitted.plan
    found = [(rule.voting, rule.name, rule.weights.tobytes()) for rule in plan.fixed_rules]
    soft, losses = plan.fixed_rules[0].soft, plan.cross_validation.log_losses.tobytes()
    maps = [(i, one.kind, one.n, one.slope, one.pair_slope, one.shift.tobytes(), one.bias.tobytes())
            for i, one in soft.maps.items()]  # fmt: skip
    return found, losses, maps, clf.classes_[soft.classes].tolist()


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1))
def test_nor_do_widths_scaling_and_maps(kernel, seed):
    """Whether to scale is decided by cross-validation: of columns with about the same range."""
    X, y = sample(seed, kernel)
    X = X / X.std(axis=0)
    machines = SVMs(LAMBDAS, kernel=kernel, n_components=9)
    clf = CertifiedClassifier([machines, DecisionTreeClassifier(max_depth=2)], cv=3, random_state=seed, n_jobs=1)
    before = quiet(clf.fit, X, y)
    parts, fixed_rules = [fitted_parts(before.classifiers_[i]) for i in range(15)], planned_parts(before)
    validation = before.classifiers_.splits(0)[1]
    after = quiet(clf.fit, *replaced(X, y, validation, "linear", np.random.default_rng(seed)))
    assert [fitted_parts(after.classifiers_[i]) for i in range(15)] == parts
    assert planned_parts(after) == fixed_rules


@pytest.mark.parametrize("value", [100.0, 1e10, 1e300])
def test_one_number_of_one_validation_row(value):
    """The case in which this was found: independent splits, no scaling; a value of 100 moved duals by 0.0026."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    choices = {"split": "independent", "scale": False, "random_state": 0}
    before = svm_set(X, y, LAMBDAS, **choices)
    for i in range(LAMBDAS.size):
        spoiled = X.copy()
        spoiled[before.splits(i)[1][0], 0] = value
        assert fitted_parts(svm_set(spoiled, y, LAMBDAS, **choices)[i]) == fitted_parts(before[i])
