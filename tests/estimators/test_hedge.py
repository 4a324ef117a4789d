"""The parameter hedge: what it may be, what it resolves to, and that everything follows the rule that won."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import CertifiedClassifier, Grid, StochasticSVC
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.levels import best_single
from pacbayes.certificates.posteriors import choose_posterior
from pacbayes.estimators import planning

VOTINGS = ("soft", "stochastic", "majority", "best")


def svc(**choices):
    return StochasticSVC(**({"lambdas": np.geomspace(0.01, 30.0, 20), "hedge": "auto", "random_state": 0} | choices))


def trees(**choices):
    grid = {"max_depth": [1, 2, 3, 5], "min_samples_leaf": [1, 4]}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), grid), **{"cv": 3, "random_state": 0} | choices)


@pytest.mark.parametrize("make", [svc, trees])
@pytest.mark.parametrize(
    ("choices", "expected"),
    [({}, 0.02), ({"hedge": 0.3}, 0.3), ({"hedge": 1}, 1.0), ({"hedge": 0}, 0.0), ({"cv": None}, 1.0)],
)  # fmt: skip
def test_what_it_resolves_to(make, choices, expected):
    clf = make(**choices).fit(*two_classes())
    assert clf.hedge_ == expected
    assert (clf.primary_ == {}) == (expected == 1.0)
    assert hasattr(clf, "posterior_") == (expected > 0.0)
    assert clone(clf).hedge == choices.get("hedge", "auto")


def test_independent_splits_propose_nothing():
    for hedge in ("auto", 1):
        assert svc(split="independent", hedge=hedge).fit(*two_classes()).hedge_ == 1.0


@pytest.mark.parametrize("make", [svc, trees])
def test_hedge_1_is_the_posterior_and_occam_alone(make):
    X, y = two_classes()
    clf = make(hedge=1).fit(X, y)
    classifiers = clf.classifiers_
    alone = choose_posterior(classifiers.risks, classifiers.m, distance="kl", delta=0.05, prior=None, constant="exact")
    assert np.array_equal(clf.posterior_.weights, alone.weights)
    assert clf.certificates_["stochastic"].bound == alone.bound
    assert clf.certificates_["majority"].bound == 2 * alone.bound
    best = best_single(classifiers.error_counts, 0.05, None)
    assert (clf.certificates_["best"].bound, clf.best_index_) == (best.bound, best.index)
    assert [one.level for one in clf.certificates_.values()] == [0.05] * 3
    # Without cross-validation nothing else changes.
    assert make(cv=None).fit(X, y).certificates_["stochastic"].bound == alone.bound


@pytest.mark.parametrize("make", [svc, trees])
def test_hedge_0_is_hold_out(make):
    clf = make(hedge=0, voting="best").fit(*three_classes())
    chosen = int(np.argmax(clf.primary_["best"]))
    expected = binomial_upper(clf.classifiers_.errors[chosen], clf.classifiers_.m, 0.05)
    assert clf.certificate_.bound == expected == clf.certificate_.baselines["holdout"].bound
    assert clf.best_index_ == chosen
    assert clf.certificate_.level == clf.delta_


@pytest.mark.parametrize("hedge", [0.1, 0.5])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_a_proposal_loses_to_hold_out_its_share_of_delta_and_no_more(data, hedge):
    clf = svc(hedge=hedge).fit(*data())
    best, m = clf.certificates_["best"], clf.classifiers_.m
    errors = clf.classifiers_.errors[int(np.argmax(clf.primary_["best"]))]
    assert best.bound <= binomial_upper(errors, m, (1 - hedge) * 0.05 * (1 - 1e-12))


def rules_of(clf, voting):
    """The names of all rules that share delta in a way of predicting."""
    found = clf.certificates_[voting]
    return {found.rule, *(claim.rule for claim in found.alternatives)}


def test_what_is_proposed_does_not_depend_on_validation_rows():
    X, y = two_classes()
    clf = svc().fit(X, y)
    other = y.copy()
    validation = clf.classifiers_.splits(0)[1]
    other[validation] = 1 - other[validation]
    X = X.copy()
    X[validation] = np.random.default_rng(0).normal(size=X[validation].shape)
    again = svc().fit(X, other)
    for voting in VOTINGS:
        assert np.array_equal(again.primary_[voting], clf.primary_[voting])
        assert rules_of(again, voting) == rules_of(clf, voting)
    assert again.certificates_["best"].bound > clf.certificates_["best"].bound


@pytest.mark.parametrize("make", [svc, trees])
def test_where_a_proposal_fails_the_others_predict(make, monkeypatch):
    """Proposals that always name the classifier with the most errors: everything follows what wins instead."""
    X, y = two_classes()
    if make is svc:
        clf = svc(lambdas=np.geomspace(0.01, 1e4, 20)).fit(X, y)
    else:
        bad = [DummyClassifier(strategy="constant", constant=label) for label in (0, 1)]
        clf = CertifiedClassifier(Grid(None, [DecisionTreeClassifier(max_depth=3), *bad]), random_state=0, cv=3)
        clf.fit(X, y)
    errors = clf.classifiers_.errors
    cross_validate = planning._cross_validate

    def worst(*args):
        found = cross_validate(*args)
        turned = (errors.max() - errors)[found.counts.candidates]
        sizes = found.counts.sizes.sum(keepdims=True)
        counts = replace(found.counts, errors=turned[:, None], sizes=sizes, log_losses=turned.astype(float))
        return replace(found, counts=counts)

    monkeypatch.setattr(planning, "_cross_validate", worst)
    assert clf.certificates_["best"].rule == "primary"
    found = clf.fit(X, y).certificates_
    assert (found["stochastic"].rule, found["best"].rule) == ("posterior", "Occam")
    assert found["majority"].rule != "primary"
    assert {one.source for voting, one in found.items() if voting != "soft"} == {"validation rows"}
    # Nothing stands beside a soft vote: its bound is that of its own errors, however many.
    assert found["soft"].rule == "primary"
    assert found["stochastic"].lower is not None
    assert clf.best_params_ == clf.classifiers_.params[int(np.argmin(clf.classifiers_.errors))]
    assert np.array_equal(clf.set_params(voting="best").predict(X), clf.best_estimator_.predict(X))
    # Of one classifier that predicts alone its own probabilities, where it has some.
    assert hasattr(clf, "predict_proba") == (make is trees)
    if make is trees:
        assert np.array_equal(clf.predict_proba(X), clf.best_estimator_.predict_proba(X))
    assert np.array_equal(clf.set_params(voting="stochastic").weights_, clf.posterior_.weights)
    everyone = clf.classifiers_.predict(X)
    shares = np.stack([clf.posterior_.weights @ (everyone == label) for label in clf.classes_], axis=1)
    assert np.array_equal(clf.vote_share(X), shares)
    vote = clf.set_params(voting="majority")
    validation = clf.classifiers_.splits(0)[1]
    assert clf.vote_errors_ == np.count_nonzero(vote.predict(X[validation]) != y[validation])


def test_one_classifier_has_one_vote():
    clf = CertifiedClassifier(DecisionTreeClassifier(max_depth=2), random_state=0, cv=3).fit(*two_classes())
    hard = {certificate.bound for voting, certificate in clf.certificates_.items() if voting != "soft"}
    assert len(hard) == 1
    # The same errors, and nothing kept in reserve.
    assert clf.certificate_.bound < hard.pop()
    assert [claim.rule for claim in clf.certificates_["majority"].alternatives] == ["posterior"]


def test_weights_and_proposals_are_those_of_the_fit():
    clf = fitted("svc", two_classes)
    assert clf.weights_.sum() == 1.0
    assert set(clf.primary_) == set(VOTINGS)
    assert all(weights.sum() == 1.0 for weights in clf.primary_.values())
    assert clf.primary_["best"].max() == 1.0
