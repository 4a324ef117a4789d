"""What a fitted estimator says about its fit: public, read-only, and of the fit whatever is set later."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, two_classes

from pacbayes import Grid, StochasticSVC, load, save
from pacbayes.estimators import base, fitted
from pacbayes.estimators.recipe import Recipe


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


def test_a_list_of_distances_that_is_changed_later_does_not_spoil_the_file(tmp_path):
    names = ["kl", "linear"]
    clf = StochasticSVC([0.1, 1.0], distance=names, random_state=0).fit(*two_classes())
    names.remove("linear")
    save(clf, tmp_path / "model.pacbayes")
    assert load(tmp_path / "model.pacbayes").certificates_ == clf.certificates_


@pytest.mark.parametrize("listed", [True, False])
def test_estimators_of_the_user_that_are_changed_later_are_not_those_of_the_model(listed):
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2)]
    pipeline, grid = (None, trees) if listed else (Pipeline([("tree", trees[0])]), {"tree": trees})
    clf = by_draws(Grid(pipeline, grid)).fit(*two_classes())
    said = str(clf.classifiers_.params)
    for tree in trees:
        tree.set_params(max_depth=7)
    assert str(clf.classifiers_.params) == said


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
def test_a_failed_fit_leaves_nothing_of_an_earlier_one(where, name, monkeypatch):
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    assert all(hasattr(clf, name) for name in FITTED)
    monkeypatch.setattr(where, name, Mock(side_effect=RuntimeError("broken")))
    with pytest.raises(RuntimeError, match="broken"):
        clf.fit(X[:200], y[:200])
    assert [name for name in FITTED if hasattr(clf, name)] == []
    assert set(vars(clf)) == set(clf.get_params())


def test_what_a_fit_concludes_is_there_only_if_all_of_it_is(monkeypatch):
    """A fit whose shown certificate cannot be computed leaves nothing."""
    clf = StochasticSVC([0.1, 1.0], hedge=0.1, metrics=("error",), random_state=0)
    predict_validation = base.predict_validation
    without_rules = lambda *args: replace(predict_validation(*args), rule_predictions=None)  # noqa: E731
    monkeypatch.setattr(base, "predict_validation", without_rules)
    with pytest.raises(AssertionError):
        clf.fit(*two_classes())
    assert not hasattr(clf, "certificates_")


def test_wrong_parameters_are_refused_before_anything_is_forgotten():
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    before = clf.certificates_
    with pytest.raises(ValueError, match="The 'split' parameter"):
        clf.set_params(split="none").fit(X, y)
    assert clf.certificates_ is before
