"""The tandem vote among the rules of a hedge: its level, its bound, its weights, and when there is none."""

from copy import copy
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, load, save, vote_bound
from pacbayes.certificates import Found, certify
from pacbayes.certificates.levels import hedged_level
from pacbayes.certificates.voting import TANDEM, integer_weights, weights_of

X, Y = load_breast_cancer(return_X_y=True)
TREES = [DecisionTreeClassifier(max_features=3, random_state=i) for i in range(25)]


@pytest.fixture(scope="module")
def clf():
    choices = {"voting": "majority", "hedge": 0.1, "cv": 3, "validation_size": 0.5}
    return CertifiedClassifier(Grid(None, TREES), random_state=0, **choices).fit(X, Y)


def alternatives(certificate):
    return {claim.rule: claim for claim in certificate.alternatives}


def voted(weights, said):
    """The labels of a vote of two classes, 0 and 1; ties go to 0."""
    return (weights @ (said == 1) > 0.5).astype(int)


def test_it_is_one_of_the_votes_that_share_the_hedge(clf):
    found = clf.certificates_["majority"]
    others = alternatives(found)
    claim = others[TANDEM]
    levels = [one.level for one in others.values()]
    assert len(set(levels)) == 1
    assert found.level + sum(levels) <= 0.05
    assert claim.level == hedged_level(0.05, 0.1, len(levels))
    kept = clf.classifiers_
    weights = weights_of(clf._fitted.found.tandem)
    assert claim.bound == min(vote_bound(weights, kept.error_rows, kept.m, delta=claim.level), 1.0)


def test_the_weights_are_about_the_best(clf):
    kept = clf.classifiers_
    claim = alternatives(clf.certificates_["majority"])[TANDEM]
    assert claim.bound <= vote_bound(np.full(25, 0.04), kept.error_rows, kept.m, delta=claim.level) + 1e-4


def test_any_weights_have_their_own_bound(clf):
    """Weights that somebody chose by other means are certified with what is true of them."""
    fitted, kept = clf._fitted, clf.classifiers_
    weights = np.random.default_rng(0).dirichlet(np.ones(25))
    found = Found(fitted.found.posterior, integer_weights(weights))
    claim = alternatives(certify(fitted.plan, fitted.evidence, found)["majority"])[TANDEM]
    assert claim.bound == pytest.approx(vote_bound(weights, kept.error_rows, kept.m, delta=claim.level), rel=1e-9)


@pytest.mark.parametrize("hedge", [0, 1])
def test_nothing_to_pay_it_with(hedge):
    found = CertifiedClassifier(Grid(None, TREES[:5]), random_state=0, hedge=hedge, cv=3).fit(X, Y)
    assert found._fitted.found.tandem is None
    assert TANDEM not in alternatives(found.certificates_["majority"])


def test_groups_and_independent_splits_have_none():
    groups = np.arange(len(Y)) // 2
    grouped = StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0).fit(X, Y, groups=groups)
    independent = StochasticSVC([0.1, 1.0], random_state=0, split="independent").fit(X, Y)
    for found in (grouped, independent):
        assert found._fitted.found.tandem is None
        assert TANDEM not in alternatives(found.certificates_["majority"])


def test_where_it_wins_it_predicts(clf, monkeypatch):
    # The module, not the function of the same name.
    case = import_module("pacbayes.certificates.certify")._Case
    honest = case._tandem
    monkeypatch.setattr(case, "_tandem", lambda self, rule: replace(honest(self, rule), bound=1e-6))
    lucky = copy(clf)._take(replace(clf._fitted))
    assert lucky.certificate_.rule == TANDEM
    weights = weights_of(clf._fitted.found.tandem)
    np.testing.assert_array_equal(lucky.weights_, weights)
    kept = clf.classifiers_
    validation = kept.splits(0)[1]
    wrong = voted(weights, kept.predict(X[validation])) != Y[validation]
    assert lucky.vote_errors_ == np.count_nonzero(wrong)
    np.testing.assert_array_equal(lucky.predict(X), voted(weights, kept.predict(X)))
    monkeypatch.undo()
    assert clf.certificate_.rule != TANDEM


def test_a_loaded_model_has_it_too(clf, tmp_path):
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again._fitted.found.tandem, clf._fitted.found.tandem)
    assert again.certificates_ == clf.certificates_
