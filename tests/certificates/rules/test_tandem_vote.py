"""The tandem vote among the rules of a hedge: its level, its bound, its weights, and when there is none."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from pacbayes import ClassifierSet, StochasticClassifier, StochasticSVC, load, save, vote_bound
from pacbayes.certificates.posterior_choice import integer_weights, weights_of
from pacbayes.certificates.rules.hedge import hedged_level
from pacbayes.certificates.rules.tandem_vote import TANDEM, tandem_claim, tandem_parts

X, Y = load_breast_cancer(return_X_y=True)
TREES = [DecisionTreeClassifier(max_features=3, random_state=i) for i in range(25)]


@pytest.fixture(scope="module")
def clf():
    return StochasticClassifier(None, TREES, random_state=0, voting="majority").fit(X, Y)


def alternatives(certificate):
    return {claim.rule: claim for claim in certificate.alternatives}


def test_it_is_one_of_the_votes_that_share_the_hedge(clf):
    found = clf.certificates_["majority"]
    others = alternatives(found)
    claim = others[TANDEM]
    levels = [one.level for one in others.values()]
    assert len(set(levels)) == 1
    assert found.level + sum(levels) <= 0.05
    assert claim.level == hedged_level(0.05, 0.1, len(levels))
    kept = clf.classifiers_
    weights = weights_of(clf._tandem.parts)
    assert claim.bound == min(vote_bound(weights, kept.error_rows, kept.m, delta=claim.level), 1.0)
    said = kept.predict(X[kept.splits(0)[1]])
    vote = weights @ (said == 1) > 0.5
    assert clf._tandem.errors == np.count_nonzero(vote != Y[kept.splits(0)[1]])


def test_the_weights_are_about_the_best(clf):
    kept = clf.classifiers_
    claim = alternatives(clf.certificates_["majority"])[TANDEM]
    assert claim.bound <= vote_bound(np.full(25, 0.04), kept.error_rows, kept.m, delta=claim.level) + 1e-4


@pytest.mark.parametrize("hedge", [0, 1])
def test_nothing_to_pay_it_with(hedge):
    found = StochasticClassifier(None, TREES[:5], random_state=0, hedge=hedge).fit(X, Y)
    assert found._tandem is None
    assert found.classifiers_.error_rows is None
    assert TANDEM not in alternatives(found.certificates_["majority"])


def test_groups_and_independent_splits_have_none():
    groups = np.arange(len(Y)) // 2
    assert StochasticSVC([0.1, 1.0], random_state=0).fit(X, Y, groups=groups)._tandem is None
    assert StochasticSVC([0.1, 1.0], random_state=0, split="independent").fit(X, Y)._tandem is None


def test_where_it_wins_it_predicts(clf, monkeypatch):
    # The module, not the function of the same name.
    module = sys.modules["pacbayes.certificates.certify"]
    monkeypatch.setattr(module, "tandem_claim", lucky := lucky_claim(1e-6))
    clf._conclude()
    assert clf.certificate_.rule == TANDEM
    assert lucky.asked
    np.testing.assert_array_equal(clf.weights_, weights_of(clf._tandem.parts))
    assert clf.vote_errors_ == clf._tandem.errors
    said = clf.classifiers_.predict(X)
    np.testing.assert_array_equal(clf.predict(X), (clf.weights_ @ (said == 1) > 0.5).astype(int))
    monkeypatch.undo()
    clf._conclude()
    assert clf.certificate_.rule != TANDEM


def lucky_claim(bound):
    def claim(*arguments):
        claim.asked = True
        return replace(tandem_claim(*arguments), bound=bound)

    claim.asked = False
    return claim


def test_a_file_that_says_other_errors_is_refused(clf, tmp_path):
    save(clf, tmp_path / "good")
    assert load(tmp_path / "good").certificates_ == clf.certificates_
    kept = clf.classifiers_.kept_errors
    i = int(np.flatnonzero(kept.packed[0])[0])
    before = kept.packed[0, i]
    try:
        kept.packed[0, i] = 0
        save(clf, tmp_path / "bad")
    finally:
        kept.packed[0, i] = before
    with pytest.raises(ValueError, match=r"PackedErrors\.packed must be the errors of the set"):
        load(tmp_path / "bad")


def test_sets_that_do_not_know_their_rows():
    plain = ClassifierSet.from_predictions([[0, 1], [1, 1]], [0, 1])
    assert tandem_parts(plain, 0.05, None, "exact") is None
    with pytest.raises(ValueError, match="keep_error_rows=True"):
        tandem_claim(plain, integer_weights(np.array([0.5, 0.5])), 0.05, None, "exact")
    kept = ClassifierSet.from_predictions([[0, 1], [1, 1]], [0, 1], keep_error_rows=True)
    assert tandem_parts(kept, 0.0, None, "exact") is None
    assert tandem_parts(kept, 0.05, None, "exact").sum() == 2**52
