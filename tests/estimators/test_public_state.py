"""Fitted attributes: read-only, unaffected by later changes, and cleared if a fit fails."""

from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, two_classes

from pacbayes import Grid, StochasticSVC
from pacbayes.estimators import base, fitted
from pacbayes.estimators.recipe import Recipe


def test_attributes_are_those_of_the_fit():
    prior = [0.2, 0.8]
    clf = StochasticSVC([0.1, 1.0], distance=["kl", "linear"], delta=0.1, prior=prior, cv=None, random_state=0)
    clf.fit(*two_classes()).set_params(distance="squared", delta=0.5, prior="uniform")
    assert (clf.delta_, clf.distances_, clf.has_uniform_prior_) == (0.1, ("kl", "linear"), False)
    assert clf.vote_risk_ == pytest.approx(clf.vote_errors_ / clf.classifiers_.m)
    np.testing.assert_array_equal(clf.prior_, prior)
    for name in ("delta_", "distances_", "has_uniform_prior_", "vote_risk_"):
        with pytest.raises(AttributeError):
            setattr(clf, name, None)


@pytest.mark.parametrize("listed", [True, False])
def test_estimators_of_the_user_are_copied(listed):
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2)]
    pipeline, grid = (None, trees) if listed else (Pipeline([("tree", trees[0])]), {"tree": trees})
    clf = by_draws(Grid(pipeline, grid)).fit(*two_classes())
    params = str(clf.classifiers_.params)
    for tree in trees:
        tree.set_params(max_depth=7)
    assert str(clf.classifiers_.params) == params


FITTED = (
    *("certificates_", "prior_", "best_index_", "hedge_"),
    *("posterior_", "classifiers_", "classes_", "n_features_in_"),
)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (Recipe, "train"),
        *((base, name) for name in ("make_plan", "predict_validation", "fit_posteriors")),
        (fitted, "certify"),
    ],
)
def test_failed_fit_clears_the_state(where, name, monkeypatch):
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    assert all(hasattr(clf, name) for name in FITTED)
    monkeypatch.setattr(where, name, Mock(side_effect=RuntimeError("broken")))
    with pytest.raises(RuntimeError, match="broken"):
        clf.fit(X[:200], y[:200])
    assert [name for name in FITTED if hasattr(clf, name)] == []
    assert set(vars(clf)) == set(clf.get_params())


def test_invalid_parameters_keep_the_state():
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    certificates = clf.certificates_
    with pytest.raises(ValueError, match="The 'split' parameter"):
        clf.set_params(split="none").fit(X, y)
    assert clf.certificates_ is certificates
