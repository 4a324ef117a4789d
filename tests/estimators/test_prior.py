"""Priors: uniform, given and callable ones, and the arguments of callables."""

import numpy as np
import pytest
from tests.estimators.models import two_classes

from pacbayes import StochasticSVC, bound

LAMBDAS = [0.1, 1.0, 10.0]
UNEVEN = np.array([0.7, 0.3, 0.0])


def by_lambda(params):
    weights = np.array([setting["lambda"] for setting in params])
    return weights / weights.sum()


def fit(prior, **options):
    return StochasticSVC(LAMBDAS, prior=prior, cv=None, random_state=0, **options).fit(*two_classes())


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("prior", [UNEVEN, UNEVEN.tolist(), by_lambda, "uniform"])
def test_the_bound_uses_the_prior(prior, split):
    clf = fit(prior, split=split)
    expected = {"uniform": np.full(3, 1 / 3)}.get(prior if isinstance(prior, str) else "", UNEVEN)
    expected = np.array(LAMBDAS) / 11.1 if callable(prior) else expected
    np.testing.assert_allclose(clf.prior_, expected, rtol=1e-12)
    recomputed = bound(clf.posterior_.weights, clf.classifiers_.risks, clf.classifiers_.m, prior=expected)
    assert clf.certificate_.bound == pytest.approx(recomputed, rel=1e-12)
    assert (clf.posterior_.weights[expected == 0.0] == 0.0).all()
    assert expected[clf.best_index_] > 0.0


def test_callable_gets_copies_of_training_rows_only():
    X, y = two_classes()
    seen = {}

    def prior(params, X_train, y_train):
        seen.update(params=params, X=X_train.copy(), y=y_train.copy())
        X_train[:] = 0.0
        y_train[:] = 0
        params[0]["lambda"] = 99.0
        return [0.2, 0.3, 0.5]

    clf = StochasticSVC(LAMBDAS, prior=prior, cv=None, random_state=0).fit(X, y)
    train, validation = clf.classifiers_.splits(0)
    assert np.array_equal(seen["X"], X[train])
    assert np.array_equal(seen["y"], y[train])
    assert len(train) + len(validation) == len(X)
    assert clf.classifiers_.params[0]["lambda"] == 0.1
    listed = StochasticSVC(LAMBDAS, prior=[0.2, 0.3, 0.5], cv=None, random_state=0).fit(X, y)
    assert np.array_equal(listed.predict(X), clf.predict(X))
    assert listed.certificate_.bound == clf.certificate_.bound
    assert any("training rows alone" in assumption for assumption in clf.certificate_.assumptions)


def test_data_dependent_priors_require_a_shared_split():
    with pytest.raises(ValueError, match="every row validates some classifier"):
        fit(lambda params, X_train, y_train: UNEVEN, split="independent")


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ([0.5, 0.5], ValueError, "prior must have one entry per risk"),
        ([0.5, 0.5, 0.5], ValueError, "prior must sum to 1, got 1.5"),
        (lambda params: [0.5, 0.6, 0.2], ValueError, "prior must sum to 1, got 1.3"),
        ([-0.5, 0.5, 1.0], ValueError, "prior must be finite and non-negative"),
        ([np.nan, 0.5, 0.5], ValueError, "prior must be finite"),
        (lambda: UNEVEN, TypeError, "a callable prior must accept"),
        (lambda params, X_train: UNEVEN, TypeError, "a callable prior must accept"),
    ],
)
def test_wrong_priors(prior, error, message):
    with pytest.raises(error, match=message):
        fit(prior)
