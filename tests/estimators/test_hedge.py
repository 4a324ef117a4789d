"""The parameter `hedge`: its resolution, the rules it allows, and the rule with the smallest bound."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import three_classes, two_classes

from pacbayes import CertifiedClassifier, Grid, StochasticSVC
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.levels import best_single
from pacbayes.certificates.posteriors import choose_posterior
from pacbayes.estimators import planning


def svc(**options):
    return StochasticSVC(**({"lambdas": np.geomspace(0.01, 30.0, 20), "hedge": "auto", "random_state": 0} | options))


def trees(**options):
    grid = {"max_depth": [1, 2, 3, 5], "min_samples_leaf": [1, 4]}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), grid), **{"cv": 3, "random_state": 0} | options)


@pytest.mark.parametrize("make", [svc, trees])
@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, 0.02), ({"hedge": 0.3}, 0.3), ({"hedge": 1}, 1.0), ({"hedge": 0}, 0.0), ({"cv": None}, 1.0)],
)  # fmt: skip
def test_resolved_hedge(make, options, expected):
    clf = make(**options).fit(*two_classes())
    assert clf.hedge_ == expected
    assert (clf.primary_ == {}) == (expected == 1.0)
    assert hasattr(clf, "posterior_") == (expected > 0.0)
    assert clone(clf).hedge == options.get("hedge", "auto")


@pytest.mark.parametrize("make", [svc, trees])
def test_hedge_1_has_posterior_and_occam_bounds_only(make):
    X, y = two_classes()
    clf = make(hedge=1).fit(X, y)
    classifiers = clf.classifiers_
    expected = choose_posterior(
        classifiers.risks, classifiers.m, distance="kl", delta=0.05, prior=None, constant="exact"
    )
    assert np.array_equal(clf.posterior_.weights, expected.weights)
    assert clf.certificates_["stochastic"].bound == expected.bound
    assert clf.certificates_["majority"].bound == 2 * expected.bound
    best = best_single(classifiers.error_counts, 0.05, None)
    assert (clf.certificates_["best"].bound, clf.best_index_) == (best.bound, best.index)
    assert [certificate.level for certificate in clf.certificates_.values()] == [0.05] * 3
    # Cross-validation changes nothing else.
    assert make(cv=None).fit(X, y).certificates_["stochastic"].bound == expected.bound


@pytest.mark.parametrize("make", [svc, trees])
def test_hedge_0_is_holdout(make):
    clf = make(hedge=0, voting="best").fit(*three_classes())
    best = int(np.argmax(clf.primary_["best"]))
    expected = binomial_upper(clf.classifiers_.errors[best], clf.classifiers_.m, 0.05)
    assert clf.certificate_.bound == expected == clf.certificate_.baselines["holdout"].bound
    assert clf.best_index_ == best
    assert clf.certificate_.level == clf.delta_


@pytest.mark.parametrize("make", [svc, trees])
def test_other_rules_predict_if_the_primary_rule_fails(make, monkeypatch):
    """With primary rules that prefer the classifier with the most errors."""
    X, y = two_classes()
    if make is svc:
        clf = svc(lambdas=np.geomspace(0.01, 1e4, 20)).fit(X, y)
    else:
        constant = [DummyClassifier(strategy="constant", constant=label) for label in (0, 1)]
        clf = CertifiedClassifier(Grid(None, [DecisionTreeClassifier(max_depth=3), *constant]), random_state=0, cv=3)
        clf.fit(X, y)
    errors = clf.classifiers_.errors
    cross_validate = planning._cross_validate

    def worst(*args):
        result = cross_validate(*args)
        reversed_errors = (errors.max() - errors)[result.counts.candidates]
        sizes, losses = result.counts.sizes.sum(keepdims=True), reversed_errors.astype(float)
        return replace(
            result, counts=replace(result.counts, errors=reversed_errors[:, None], sizes=sizes, log_losses=losses)
        )

    monkeypatch.setattr(planning, "_cross_validate", worst)
    assert clf.certificates_["best"].rule == "primary"
    certificates = clf.fit(X, y).certificates_
    assert (certificates["stochastic"].rule, certificates["best"].rule) == ("posterior", "Occam")
    assert certificates["majority"].rule != "primary"
    hard = [certificate for voting, certificate in certificates.items() if voting != "soft"]
    assert {certificate.source for certificate in hard} == {"validation rows"}
    # A soft vote has no alternatives.
    assert certificates["soft"].rule == "primary"
    assert certificates["stochastic"].lower is not None
    assert clf.best_params_ == clf.classifiers_.params[int(np.argmin(clf.classifiers_.errors))]
    assert np.array_equal(clf.set_params(voting="best").predict(X), clf.best_estimator_.predict(X))
    # A single classifier has its own probabilities, if any.
    assert hasattr(clf, "predict_proba") == (make is trees)
    if make is trees:
        assert np.array_equal(clf.predict_proba(X), clf.best_estimator_.predict_proba(X))
    assert np.array_equal(clf.set_params(voting="stochastic").weights_, clf.posterior_.weights)
    predictions = clf.classifiers_.predict(X)
    shares = np.stack([clf.posterior_.weights @ (predictions == label) for label in clf.classes_], axis=1)
    assert np.array_equal(clf.vote_share(X), shares)
    vote = clf.set_params(voting="majority")
    validation = clf.classifiers_.splits(0)[1]
    assert clf.vote_errors_ == np.count_nonzero(vote.predict(X[validation]) != y[validation])
