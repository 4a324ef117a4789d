"""Rules and what they claim: their own limits, at their own levels."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

from pacbayes import optimal_posterior
from pacbayes.bounds.binomial import chernoff_upper
from pacbayes.certificates import Baseline, Claim, certify, choose_posterior
from pacbayes.certificates.posterior_choice import integer_weights
from pacbayes.certificates.rules.proposals import propose
from pacbayes.certificates.rules.rule import PROPOSAL, Rule, claims_of, parts_of_one
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.group_errors import GroupErrors

ABSENT = Baseline(None, None, "not asked for")
ERRORS, M, DELTA = np.array([9, 8, 30]), 100, 0.05


def rules(draws=9, votes=(7, 9), best=9):
    """Proposals for all ways of predicting, and one more vote."""
    half = integer_weights(np.array([0.5, 0.5, 0.0]))
    return [
        Rule("stochastic", PROPOSAL, half, draws),
        Rule("majority", PROPOSAL, half, votes[0]),
        Rule("majority", "another", integer_weights(np.full(3, 1 / 3)), votes[1]),
        Rule("best", PROPOSAL, parts_of_one(0, 3), best),
    ]


def certified(hedge, tested, prior=None):
    risks = ERRORS / M
    posterior = None
    if hedge > 0:
        posterior = choose_posterior(risks, M, distance="kl", delta=hedge * DELTA, prior=prior, constant="exact")
    classifiers = ClassifierSet.from_errors([{}, {}, {}], ERRORS, M)
    return certify(
        posterior, classifiers, delta=DELTA, prior=prior, hold_out=ABSENT, constant=ABSENT, rules=tested, hedge=hedge
    )


@pytest.mark.parametrize("errors", [0, 3, 50, 99, 100])
def test_a_claim_is_the_exact_limit_of_the_rules_own_errors(errors):
    claim = Rule("majority", PROPOSAL, parts_of_one(0, 2), errors).claim(100, 0.045)
    exact = beta.ppf(1 - 0.045, errors + 1, 100 - errors) if errors < 100 else 1.0
    assert claim.bound == pytest.approx(exact, rel=1e-9)
    assert claim.empirical_risk == pytest.approx(errors / 100)
    assert (claim.level, claim.kl, claim.distance, claim.lower) == (0.045, 0.0, "binomial", None)


def test_a_claim_of_groups_is_chernoffs():
    errors = GroupErrors(np.array([1, 2]), np.array([[1, 3]]))
    claim = Rule("best", PROPOSAL, parts_of_one(0, 2), errors).claim(20, 0.045)
    assert claim.bound == chernoff_upper(errors.risks(20), 20, 0.045)[0]
    assert claim.distance == "chernoff"


def test_errors_must_be_counted():
    with pytest.raises(ValueError, match=r"errors of the rule 'proposal' \(best\) are not counted"):
        Rule("best", PROPOSAL, parts_of_one(0, 2)).claim(20, 0.05)


@pytest.mark.parametrize("hedge", [0.1, 0.5, 1 / 3])
def test_levels_of_all_claims_sum_to_at_most_delta(hedge):
    for certificate in certified(hedge, rules()).values():
        claims = [certificate.level, *(claim.level for claim in certificate.alternatives)]
        assert sum(map(Fraction, claims)) <= Fraction(DELTA)
        assert sum(claims) == pytest.approx(DELTA)


def test_the_smallest_bound_wins_and_the_first_of_several():
    found = certified(0.1, rules())
    assert [one.rule for one in found.values()] == ["proposal", "proposal", "proposal"]
    assert all(one.bound <= min(claim.bound for claim in one.alternatives) for one in found.values())
    assert [claim.rule for claim in found["majority"].alternatives] == ["another", "posterior"]
    # Proposals that fail: the posterior, the other vote and Occam are there.
    found = certified(0.1, rules(draws=60, votes=(60, 2), best=60))
    assert [one.rule for one in found.values()] == ["posterior", "another", "Occam"]
    assert {one.source for one in found.values()} == {"validation rows"}
    equal = [Rule("best", PROPOSAL, parts_of_one(0, 2), 9), Rule("best", "other", parts_of_one(1, 2), 9)]
    first, second = claims_of(equal, [], M, DELTA, 0.5)
    assert first.bound == second.bound
    assert min([first, second], key=lambda claim: claim.bound) is first


def test_what_a_posterior_claims_at_a_smaller_share_is_its_bound_there():
    found = certified(0.1, rules())
    (posterior,) = found["stochastic"].alternatives
    doubled = found["majority"].alternatives[-1]
    best = optimal_posterior(ERRORS / M, M, delta=0.1 * DELTA)
    assert posterior.bound == pytest.approx(best.bound, abs=1e-7)
    from pacbayes import bound

    assert doubled.level == pytest.approx(0.05 * DELTA)
    assert doubled.bound == pytest.approx(2 * bound(best.weights, ERRORS / M, M, delta=0.05 * DELTA), abs=1e-6)
    assert doubled.bound > 2 * posterior.bound


def test_occam_divides_the_hedge_by_the_prior():
    prior = np.array([0.2, 0.5, 0.3])
    (occam,) = certified(0.1, rules(), prior)["best"].alternatives
    assert occam.bound == pytest.approx(beta.ppf(1 - 0.1 * DELTA * 0.5, 9, 92), rel=1e-9)


def test_without_a_hedge_there_are_proposals_alone():
    tested = [rule for rule in rules() if rule.name == PROPOSAL]
    for certificate in certified(0.0, tested).values():
        assert (certificate.rule, certificate.level, certificate.alternatives) == ("proposal", DELTA, ())
        assert certificate.lower is None


def test_the_words_say_for_which_key():
    found = certified(0.1, rules())
    assert "the stochastic classifier with its key errs on at most" in str(found["stochastic"])
    assert any("for the draws of this key" in one for one in found["stochastic"].assumptions)
    assert "certified for this key" in found["stochastic"].explain()
    drawn = certified(0.1, rules(draws=90))["stochastic"]
    assert "the stochastic classifier errs on at most" in str(drawn)
    assert any("average over the draws" in one for one in drawn.assumptions)
    assert drawn.lower is not None
    assert "Beside it proposal: at most" in drawn.explain()
    assert "proposal: at most" in drawn._repr_html_()
    assert [one["rule"] for one in drawn.to_dict()["alternatives"]] == ["proposal"]


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="rules must hold one proposal where hedge is below 1, got 0"):
        certified(0.1, rules()[1:])
    with pytest.raises(ValueError, match="rules must hold one proposal where hedge is below 1, got 2"):
        certified(0.1, [*rules(), rules()[0]])
    with pytest.raises(ValueError, match="posterior must not be None where hedge is above 0"):
        certify(None, ClassifierSet.from_errors([{}], np.array([1]), 9), delta=0.05, prior=None, hold_out=ABSENT,
                constant=ABSENT, hedge=0.5)  # fmt: skip
    with pytest.raises(TypeError, match="bare errors do not tell m"):
        certify(None, ERRORS, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT, hedge=0.0)
    # A posterior at the whole of delta has no place beside a proposal that holds most of it.
    posterior = choose_posterior(ERRORS / M, M, distance="kl", delta=DELTA, prior=None, constant="exact")
    with pytest.raises(ValueError, match=r"posterior must have been computed at delta = 0\.005 or less"):
        certify(posterior, ERRORS, delta=DELTA, prior=None, hold_out=ABSENT, constant=ABSENT, rules=rules(), hedge=0.1)


def test_proposals_are_whole_weights_that_follow_the_errors():
    k = np.array([12, 10, 10, 10, 14, 30])
    found = propose(np.array([0, 2, 3, 4, 6, 7]), k, 9)
    assert all(sum(rule.parts.tolist()) == 2**52 and rule.parts.min() >= 0 for rule in found)
    assert all(rule.parts[[1, 5, 8]].tolist() == [0, 0, 0] for rule in found)
    by_name = {(rule.voting, rule.name): rule for rule in found}
    assert by_name["best", PROPOSAL].index == by_name["majority", "single"].index == 3
    draws = by_name["stochastic", PROPOSAL].parts[[0, 2, 3, 4, 6, 7]] / 2**52
    assert draws == pytest.approx(np.exp(20 - 2 * k) / np.exp(20 - 2 * k).sum(), abs=1e-15)
    for s in (0, 0.5, 1, 2, 4):
        weights = np.exp(-s * (k - 10) / np.sqrt(11))
        assert by_name["majority", f"vote s={s:g}"].parts[[0, 2, 3, 4, 6, 7]] / 2**52 == pytest.approx(
            weights / weights.sum(), abs=1e-15
        )
    weights = np.exp(-0.25 * (k - 10) / np.sqrt(11))
    assert by_name["majority", PROPOSAL].parts[0] / 2**52 == pytest.approx(weights[0] / weights.sum(), abs=1e-15)


@pytest.mark.parametrize("k", [[5], [7, 7, 7]])
def test_votes_that_would_be_the_same_are_tested_once(k):
    votes = [rule.name for rule in propose(np.arange(len(k)), k, len(k)) if rule.voting == "majority"]
    assert votes == (["proposal"] if len(k) == 1 else ["proposal", "single"])


def test_claims_are_compared_by_value():
    one = Claim("proposal", "training rows", 0.045, 0.1, 0.05, 0.0, "binomial", "why")
    assert one == Claim("proposal", "training rows", 0.045, 0.1, 0.05, 0.0, "binomial", "why")
