"""What a fitted estimator says about its fit: public, read-only, and of the fit whatever is set later."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.estimators.models import two_classes

from pacbayes import StochasticSVC


def test_what_was_fitted_counts_not_what_is_set_later():
    prior = [0.2, 0.8]
    clf = StochasticSVC([0.1, 1.0], distance=["kl", "linear"], delta=0.1, prior=prior, cv=None, random_state=0)
    clf.fit(*two_classes()).set_params(distance="squared", delta=0.5, prior="uniform")
    assert (clf.delta_, clf.distances_, clf.has_uniform_prior_) == (0.1, ("kl", "linear"), False)
    assert clf.vote_risk_ == pytest.approx(clf.vote_errors_ / clf.classifiers_.m)
    np.testing.assert_array_equal(clf.prior_, prior)
    for name in ("delta_", "distances_", "has_uniform_prior_", "vote_risk_"):
        with pytest.raises(AttributeError):
            setattr(clf, name, None)


@pytest.mark.parametrize("name", ["delta_", "distances_", "has_uniform_prior_"])
def test_nothing_is_said_before_the_fit(name):
    with pytest.raises(NotFittedError):
        getattr(StochasticSVC(), name)
    assert not hasattr(StochasticSVC(), "vote_risk_")
