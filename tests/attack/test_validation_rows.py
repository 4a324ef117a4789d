"""SVMs do not depend on their validation rows: these are replaced by huge and tiny numbers, and other classes.

Dual coefficients, scaling, kernel width, holdout baseline and prior must keep their bits, for every SVM and every kind
of split, scaling and preprocessor.
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


PREPROCESSORS = {
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


def replace_rows(X, y, rows, kernel, rng):
    """Replace some rows by other numbers and classes, some of which are new."""
    X, y = X.copy(), y.astype("<U3")
    sizes = rng.choice(HUGE[kernel], size=(rows.size, X.shape[1]))
    X[rows] = sizes * rng.uniform(-1.0, 1.0, sizes.shape)
    y[rows] = rng.choice(["bb", "ff", "aaa", "c", "ee", "z"], rows.size)
    return X, y


def fitted_arrays(classifier):
    """All fitted arrays of an SVM, as bytes."""
    svm = classifier[-1] if hasattr(classifier, "steps") else classifier
    numbers = svm._svm
    arrays = (numbers.coefs, numbers.intercepts, numbers.kernel_sizes, svm.support_vectors_)
    arrays += (svm._scaling.shift, svm._scaling.width, np.array(svm.gamma_, dtype=float))
    return [np.ascontiguousarray(array).tobytes() for array in arrays], svm.classes_.tolist()


def without_convergence_warnings(function, *arguments, **choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*arguments, **choices)


@pytest.mark.parametrize(
    ("split", "preprocessor"),
    [("independent", "none"), *(("shared", name) for name in PREPROCESSORS)],
    ids=lambda value: value,
)
@pytest.mark.parametrize("scale", [True, False, "kernlab"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "nystroem"])
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.sampled_from(["sigest", 0.7]))
def test_an_svm_does_not_depend_on_its_validation_rows(split, preprocessor, scale, kernel, seed, gamma):
    X, y = sample(seed, kernel)
    choices = {
        "split": split,
        "preprocessor": PREPROCESSORS[preprocessor],
        "scale": scale,
        "kernel": kernel,
        "gamma": gamma,
    }
    choices |= {"n_components": 9, "random_state": seed, "n_jobs": 1}
    before = without_convergence_warnings(svm_set, X, y, LAMBDAS, **choices)
    rng = np.random.default_rng(seed)
    for i in range(LAMBDAS.size):
        train, validation = before.splits(i)
        new_X, new_y = replace_rows(X, y, validation, kernel, rng)
        after = without_convergence_warnings(svm_set, new_X, new_y, LAMBDAS, **choices)
        np.testing.assert_array_equal(after.splits(i)[0], train)
        assert fitted_arrays(after[i]) == fitted_arrays(before[i])
        wrong = after[i].predict(new_X[validation]) != new_y[validation]
        assert after.errors[i] == np.count_nonzero(wrong)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "nystroem"])
@pytest.mark.parametrize("preprocessor", PREPROCESSORS)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_holdout_and_prior_do_not_depend_on_validation_rows(scale, kernel, preprocessor, seed):
    def prior(params, X_train, y_train):
        weights = 1.0 + np.abs(np.sin(X_train.sum() + np.arange(len(params)))) + np.mean(y_train == "bb")
        return weights / weights.sum()

    X, y = sample(seed, kernel)
    choices = {
        "kernel": kernel,
        "n_components": 9,
        "scale": scale,
        "preprocessor": PREPROCESSORS[preprocessor],
        "prior": prior,
    }
    clf = StochasticSVC(LAMBDAS, hedge=0.1, cv=3, random_state=seed, n_jobs=1, **choices)
    before = without_convergence_warnings(clf.fit, X, y)
    note, weights = before.certificate_.baselines["holdout"].note, before.prior_.tobytes()
    fixed_rules = plan_of(before)
    validation = before.classifiers_.splits(0)[1]
    after = without_convergence_warnings(clf.fit, *replace_rows(X, y, validation, kernel, np.random.default_rng(seed)))
    assert after.certificate_.baselines["holdout"].note == note
    assert after.prior_.tobytes() == weights
    assert plan_of(after) == fixed_rules


def plan_of(clf):
    """Weights, losses and calibrations of a plan, as bytes, and the class names."""
    plan = clf._fitted.plan
    rules = [(rule.voting, rule.name, rule.weights.tobytes()) for rule in plan.fixed_rules]
    soft, losses = plan.fixed_rules[0].soft, plan.cross_validation.log_losses.tobytes()
    maps = [
        (i, known.kind, known.n, known.slope, known.pair_slope, known.shift.tobytes(), known.bias.tobytes())
        for i, known in soft.maps.items()
    ]
    return rules, losses, maps, clf.classes_[soft.classes].tolist()


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1))
def test_widths_scaling_and_calibrations_do_not_depend_on_validation_rows(kernel, seed):
    """Cross-validation decides whether to scale, for columns with about equal ranges."""
    X, y = sample(seed, kernel)
    X = X / X.std(axis=0)
    svms = SVMs(LAMBDAS, kernel=kernel, n_components=9)
    clf = CertifiedClassifier([svms, DecisionTreeClassifier(max_depth=2)], cv=3, random_state=seed, n_jobs=1)
    before = without_convergence_warnings(clf.fit, X, y)
    arrays, fixed_rules = [fitted_arrays(before.classifiers_[i]) for i in range(15)], plan_of(before)
    validation = before.classifiers_.splits(0)[1]
    after = without_convergence_warnings(
        clf.fit, *replace_rows(X, y, validation, "linear", np.random.default_rng(seed))
    )
    assert [fitted_arrays(after.classifiers_[i]) for i in range(15)] == arrays
    assert plan_of(after) == fixed_rules


@pytest.mark.parametrize("value", [100.0, 1e10, 1e300])
def test_a_single_number_of_a_validation_row(value):
    """Regression: with independent splits and no scaling, a value of 100 changed dual coefficients by 0.0026."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    choices = {"split": "independent", "scale": False, "random_state": 0}
    before = svm_set(X, y, LAMBDAS, **choices)
    for i in range(LAMBDAS.size):
        changed = X.copy()
        changed[before.splits(i)[1][0], 0] = value
        assert fitted_arrays(svm_set(changed, y, LAMBDAS, **choices)[i]) == fitted_arrays(before[i])
