"""The strength of the proposed vote: chosen by errors that votes make in cross-validation, never by other rows."""

import math

import numpy as np
import pytest

from pacbayes import StochasticClassifier, StochasticSVC
from pacbayes.certificates.rules import vote_choice
from pacbayes.certificates.rules.proposals import STRENGTHS, vote_parts
from pacbayes.certificates.rules.vote_choice import VoteTrials, cross_validate_votes
from pacbayes.classifiers.cross_validation import cross_validate, folds_of


def drawn(seed, classes=2, n=120, candidates=15):
    """Class numbers, and answers of candidates of very different quality; some answer what is no class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    rates = rng.uniform(0.02, 0.6, candidates) * rng.beta(0.4, 0.8, n)[:, None] * 2
    other = (codes + rng.integers(1, classes + 1, (candidates, n))) % (classes + 1)
    return codes, np.where(rng.random((candidates, n)) < rates.T, other, codes)


def by_hand(codes, answers, fold, classes, nested=True):
    """Return errors and tandem risk of the votes of all strengths, row by row."""
    wrong = answers != codes
    results = []
    for strength in STRENGTHS:
        errors, tandem = 0, 0.0
        counted = [wrong[:, fold != k].sum(axis=1) if nested else wrong.sum(axis=1) for k in range(fold.max() + 1)]
        weights = [[int(part) for part in vote_parts(k, strength)] for k in counted]
        for row in range(codes.size):
            parts = weights[fold[row]]
            behind = [
                sum(p for p, said in zip(parts, answers[:, row], strict=True) if said == c) for c in range(classes)
            ]
            errors += behind.index(max(behind)) != codes[row]
            tandem += (1 - behind[codes[row]] / 2**52) ** 2
        results.append((errors, tandem))
    return results


def chosen(codes, answers, folds=4, seed=0, **more):
    rng = np.random.default_rng(seed)
    found = cross_validate_votes(
        lambda candidates, train, test: answers[np.ix_(candidates, test)], np.arange(len(answers)), codes, folds, rng,
        **more,
    )  # fmt: skip
    return found, folds_of(codes, folds, np.random.default_rng(seed))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_fewest_errors_then_the_smallest_tandem_risk(classes):
    strengths, ties, matters = set(), 0, 0
    for seed in range(25):
        codes, answers = drawn(seed, classes)
        found, fold = chosen(codes, answers)
        expected = by_hand(codes, answers, fold, classes)
        best = min(expected)
        # Tandem risks that are equal but for rounding may be decided either way.
        assert expected[STRENGTHS.index(found.strength)][0] == best[0]
        assert expected[STRENGTHS.index(found.strength)][1] == pytest.approx(best[1], rel=1e-12)
        ties += sum(errors == best[0] for errors, _ in expected) > 1
        inside = by_hand(codes, answers, fold, classes, nested=False)
        matters += inside.index(min(inside)) != expected.index(best)
        strengths.add(found.strength)
    # The cases are such that ties are broken, and that weights from all folds would choose otherwise.
    assert len(strengths) > 2
    assert ties > 2
    assert matters > 2


def test_the_same_choice_in_threads_and_in_small_blocks(monkeypatch):
    for seed in range(5):
        codes, answers = drawn(seed, n=600)
        expected = chosen(codes, answers)[0]
        assert chosen(codes, answers, at_once=3)[0].strength == expected.strength
        monkeypatch.setattr(vote_choice, "_BLOCK", 70)
        assert chosen(codes, answers)[0].strength == expected.strength
        monkeypatch.undo()


def test_errors_are_those_of_cross_validation():
    codes, answers = drawn(3)
    plain = cross_validate(
        lambda candidates, train, test: answers[:, test], np.arange(15), codes, 4, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(chosen(codes, answers)[0].errors, plain.errors)


def test_one_that_never_errs_votes_alone_only_if_others_err():
    codes = np.tile([0, 1], 40)
    flawless = np.tile(codes, (5, 1))
    bad = np.tile(1 - codes, (6, 1))
    assert chosen(codes, np.concatenate([flawless[:1], bad]))[0].strength > 0.0
    # All are right everywhere: nothing tells the strengths apart, and the first, all alike, is as good as any.
    assert chosen(codes, flawless)[0].strength == 0.0


def test_too_many_answers_are_not_kept(monkeypatch):
    codes, answers = drawn(0)
    monkeypatch.setattr(vote_choice, "MOST_ANSWERS", answers.size - 1)
    assert chosen(codes, answers)[0].strength is None
    monkeypatch.setattr(vote_choice, "MOST_ANSWERS", answers.size)
    assert chosen(codes, answers)[0].strength is not None


def test_no_fold_that_can_be_trained_is_no_choice():
    assert VoteTrials(np.array([0, 1]), 3).strength(None) is None


def test_estimators_propose_the_vote_that_was_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=300) > 0).astype(int)
    from sklearn.neighbors import KNeighborsClassifier

    for clf in (
        StochasticSVC(np.geomspace(1e-3, 1e3, 15), random_state=0),
        StochasticClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 3, 7, 15, 31]}, random_state=0),
    ):
        found = clf.fit(X, y)._cross_validated
        assert found.strength in STRENGTHS
        parts = np.ldexp(vote_parts(found.totals, found.strength).astype(float), -52)
        np.testing.assert_array_equal(clf.proposal_["majority"][found.candidates], parts)
        names = {claim.rule for claim in clf.certificates_["majority"].alternatives}
        own = "single" if found.strength == math.inf else f"vote s={found.strength:g}"
        assert own not in names
        assert clf.set_params(hedge=1).fit(X, y)._cross_validated.strength is None
