"""StochasticSVC with the paper's settings, and its average error rate."""

import numpy as np
import pytest
from sklearn.base import clone

from pacbayes import StochasticSVC, load_dataset, optimal_posterior
from pacbayes.paper.protocol import DELTA, LAMBDAS


@pytest.fixture(scope="module")
def haberman():
    data = load_dataset("haberman")
    return data.data, data.target


def test_paper_settings(haberman):
    X, y = haberman
    clf = StochasticSVC.paper_settings(random_state=0, lambdas=LAMBDAS[::100]).fit(X[:244], y[:244])
    posterior, risks = clf.posterior_, clf.classifiers_.risks
    assert (clf.delta_, posterior.constant, posterior.distance, posterior.m) == (DELTA, "paper", "kl", 122)
    assert clf.primary_ == {}
    best = optimal_posterior(risks, 122, delta=DELTA, constant="paper")
    assert clf.certificate_.bound >= best.bound
    assert clf.certificate_.bound == pytest.approx(best.bound, abs=1e-9)
    validated = clf.classifiers_.validated_rows
    assert len(np.unique(validated, axis=0)) == 20
    assert (validated.sum(axis=1) == 122).all()


def test_the_grid_is_the_papers():
    clf = StochasticSVC.paper_settings()
    assert np.array_equal(clf.lambdas, LAMBDAS)
    assert (len(clf.lambdas), clf.lambdas[0], clf.lambdas[1], clf.lambdas[-1]) == (1990, 0.1, 0.11, 19.99)
    other = StochasticSVC.paper_settings(split="shared", distance="ch")
    assert (other.split, other.distance, other.delta) == ("shared", "ch", DELTA)
    assert clone(other).get_params() == other.get_params()
    with pytest.raises(TypeError, match="unexpected keyword argument 'lambda_'"):
        StochasticSVC.paper_settings(lambda_=1)


@pytest.mark.parametrize("voting", ["stochastic", "majority"])
@pytest.mark.parametrize("split", ["shared", "independent"])
def test_expected_error_is_the_average_over_the_posterior(haberman, split, voting):
    X, y = haberman
    clf = StochasticSVC.paper_settings(split=split, lambdas=LAMBDAS[::100], voting=voting, random_state=1)
    clf.fit(X[:244], y[:244])
    errors = np.array([np.mean(svm.predict(X[244:]) != y[244:]) for svm in clf.classifiers_])
    assert len(set(errors)) > 1
    assert clf.expected_error(X[244:], y[244:]) == pytest.approx(clf.posterior_.weights @ errors, abs=1e-14)


def test_draws_scatter_around_the_expected_error(haberman):
    X, y = haberman
    made = np.repeat(X, 40, axis=0) + np.random.default_rng(0).normal(0, 1e-6, (40 * len(X), X.shape[1]))
    clf = StochasticSVC.paper_settings(lambdas=LAMBDAS[::100], random_state=1).fit(X, y)
    assert 1 - clf.score(made, np.repeat(y, 40)) == pytest.approx(clf.expected_error(X, y), abs=0.02)


def test_expected_error_of_several_classes_and_of_unknown_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    X = y[:, None] + rng.normal(0, 0.6, (240, 2))
    names = np.array(["a", "b", "c"])[y]
    clf = StochasticSVC(lambdas=[0.1, 1, 10, 100], random_state=0).fit(X[:200], names[:200])
    errors = np.array([np.mean(svm.predict(X[200:]) != names[200:]) for svm in clf.classifiers_])
    assert clf.expected_error(X[200:], names[200:]) == pytest.approx(clf.posterior_.weights @ errors, abs=1e-14)
    assert clf.expected_error(X[200:], np.full(40, "d")) == 1.0


def test_expected_error_rejects_wrong_labels(haberman):
    X, y = haberman
    clf = StochasticSVC(lambdas=[1, 10], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.expected_error(X, y[:-1])
    with pytest.raises(ValueError, match="missing"):
        clf.expected_error(X, np.where(np.arange(len(y)) == 0, np.nan, y))
