"""Plans: levels sum to at most delta; forged and unproved plans are rejected."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbayes import Abstain
from pacbayes.certificates import VOTINGS, Plan, primary_weights
from pacbayes.certificates.levels import hedged_level
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.certificates.plan import select_primary_rules
from pacbayes.certificates.primary import (
    CROSS_VALIDATION,
    STRENGTHS,
    cross_validation_prior,
    prefit_rules,
    primary_soft_vote,
)
from pacbayes.certificates.rules import Draws, PosteriorVote, SoftVote, Vote
from pacbayes.certificates.thresholds import ConfidenceGrid
from pacbayes.certificates.voting import PRIMARY, integer_weights, single_weight
from pacbayes.data.split import GROUP, make_validation_split, plan_split
from pacbayes.ensemble.calibration import DECISIONS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations
from pacbayes.files.checks import validate_value

SHARED = plan_split(200, kind="shared", validation_size=0.5, seed=0)
INDEPENDENT = plan_split(200, kind="independent", validation_size=0.5, seed=0)
GROUPED = make_validation_split(200, GROUP, np.arange(200) // 2)
THRESHOLDS = ConfidenceGrid(np.array([0.5, -np.inf]), np.array([50, 100]), np.array([1, 9]))


def cross_validated(totals=(9, 7, 7, 12), votes=(8, 7, 7, 7, 8, 9, 7), families=None):
    """Cross-validation with these errors, all in its first fold, and twice as much log-loss."""
    number = len(totals)
    errors = np.zeros((number, 2), dtype=np.int64)
    errors[:, 0] = totals
    families = np.arange(number) if families is None else np.array(families)
    return CrossValidation(np.arange(number), errors, np.array([50, 50]), votes, 2.0 * errors[:, 0], families)


def maps(indices, slope=1.0):
    """Calibrations of some classifiers for two classes."""
    calibrations = {i: Calibration(DECISIONS, 100, slope, np.zeros(2), np.zeros(2)) for i in indices}
    return Calibrations(np.array([0, 1]), calibrations)


def primary_rules(found):
    """Rules that follow from cross-validation."""
    number = found.candidates.size
    hard = primary_weights(found.candidates, found.totals, number, found.errors_of_votes)
    return primary_soft_vote(found, number, 100, maps(range(number))), *hard


def a_plan(found=None, hedge=0.1, **choices):
    """A plan with the rules that follow from cross-validation."""
    found = cross_validated() if found is None else found
    rules = primary_rules(found) if hedge > 0.0 else select_primary_rules(primary_rules(found))
    given = {"split": SHARED, "hedge": hedge, "fixed_rules": rules, "cross_validation": found}
    return checked(**given | choices)


def checked(*args, **choices):
    """A plan that is checked as if from a file."""
    plan = Plan(*args, **choices)
    validate_value(plan)
    return plan


def levels(plan):
    """The exact sum of the levels of the rules of each voting."""
    shares = plan.levels.items()
    return {voting: sum(Fraction(level) for one, level in shares if one.voting == voting) for voting in plan.votings}


# -- levels ----------------------------------------------------------------------------------------------------------


@given(
    st.floats(1e-300, 1.0, exclude_max=True),
    st.floats(0.0, 1.0, exclude_max=True),
    st.floats(0.0, 1.0, exclude_max=True),
    st.lists(st.integers(0, 50), min_size=1, max_size=60),
)
def test_levels_of_a_voting_sum_to_at_most_delta(delta, hedge, share, totals):
    plan = a_plan(
        cross_validated(totals),
        hedge,
        delta=delta,
        metrics=parse_metrics(("error",)) if share else (),
        metrics_share=share or 0.2,
    )
    assert plan.votings == VOTINGS
    # The rest of delta is for metrics.
    most = Fraction(delta) * (1 - Fraction(share))
    for voting, total in levels(plan).items():
        assert total <= most
        assert total >= most * (1 - Fraction(1, 10**12)) - Fraction(1, 10**300), voting


def test_order_and_levels_of_the_rules():
    plan = a_plan(delta=0.05)
    votes = [rule for rule in plan.levels if rule.voting == "majority"]
    names = ["primary", *(f"vote s={s:g}" for s in STRENGTHS[:-1]), "single", "posterior"]
    assert [rule.name for rule in votes] == names
    assert [type(rule) for rule in votes] == [Vote] * 8 + [PosteriorVote]
    assert plan.levels[votes[0]] == pytest.approx(0.045)
    # The eight others share a tenth of delta equally.
    assert {plan.levels[rule] for rule in votes[1:]} == {hedged_level(0.05, 0.1, 8)}
    # A soft vote has no alternatives, and all of delta.
    assert [level for rule, level in plan.levels.items() if rule.voting == "soft"] == [0.05]
    assert [(rule.voting, rule.name) for rule in plan.levels if rule.voting != "majority"] == [
        ("soft", "primary"),
        ("stochastic", "primary"),
        ("stochastic", "posterior"),
        ("best", "primary"),
        ("best", "Occam"),
    ]


@pytest.mark.parametrize("kind", [SHARED, INDEPENDENT, GROUPED, make_validation_split(50)])
def test_without_a_primary_rule_posteriors_have_all_of_delta(kind):
    plan = Plan(kind, delta=0.1)
    # There are no probabilities, and no soft vote.
    assert levels(plan) == dict.fromkeys(("stochastic", "majority", "best"), Fraction(0.1))
    assert [rule.name for rule in plan.levels if rule.voting == "majority"] == ["posterior"]


def test_with_a_hedge_of_0_primary_rules_have_all_of_delta():
    plan = a_plan(hedge=0.0, delta=0.1)
    assert [(rule.voting, rule.name, level) for rule, level in plan.levels.items()] == [
        (voting, "primary", 0.1) for voting in VOTINGS
    ]


# -- forged plans ----------------------------------------------------------------------------------------------------


def forged_rules(rules):
    """Yield forged rules, each with a name."""
    vote = next(i for i, rule in enumerate(rules) if (rule.voting, rule.name) == ("majority", PRIMARY))
    moved = rules[vote].weights + np.array([2**30, -(2**30), 0, 0])
    yield "other weights", replace_at(rules, vote, replace(rules[vote], weights=moved))
    yield "another classifier", (*rules[:-1], replace(rules[-1], weights=single_weight(3, 4)))
    yield "one rule fewer", tuple(rule for rule in rules if rule.name != "vote s=4")
    yield "one rule more", (*rules, Vote("mine", integer_weights(np.array([1.0, 0, 0, 0]))))
    yield "the same twice", (*rules, rules[0])
    yield "no primary draws", tuple(rule for rule in rules if not isinstance(rule, Draws))
    yield "no soft vote", tuple(rule for rule in rules if not isinstance(rule, SoftVote))
    soft = rules[0].weights + np.array([2**30, -(2**30), 0, 0])
    yield "other weights of the soft vote", (replace(rules[0], weights=soft), *rules[1:])
    alone = single_weight(1, 4)
    yield "a soft vote of one", (replace(rules[0], weights=alone, soft=maps([1])), *rules[1:])
    yield "other names", replace_at(rules, vote + 1, replace(rules[vote + 1], name="vote s=9"))
    yield "fewer classifiers", primary_rules(cross_validated((9, 7, 7)))


def replace_at(rules, place, rule):
    return (*rules[:place], rule, *rules[place + 1 :])


FORGED = dict(forged_rules(a_plan().fixed_rules))


@pytest.mark.parametrize("name", FORGED)
def test_forged_rules_are_rejected(name):
    assert a_plan(fixed_rules=a_plan().fixed_rules).levels
    with pytest.raises(ValueError, match=r"Rule\.weights must follow from the stored cross-validation|must be class"):
        a_plan(fixed_rules=FORGED[name])


def test_one_classifier_of_each_family_is_in_the_soft_vote():
    plan = a_plan(cross_validated((9, 7, 7, 12), families=(0, 0, 1, 1)))
    assert np.flatnonzero(plan.fixed_rules[0].weights).tolist() == [1, 2]
    assert sorted(plan.fixed_rules[0].soft.maps) == [1, 2]


def test_forged_rules_of_prefit_classifiers_are_rejected():
    rules, rows = prefit_rules(np.array([0.5, 0.25, 0.25]), 3), make_validation_split(100)
    assert checked(rows, hedge=0.1, fixed_rules=rules).levels
    # Draws and vote follow from different primary weights.
    others = prefit_rules(2, 3)
    with pytest.raises(ValueError, match=r"Rule\.weights must follow from the primary rule"):
        checked(rows, hedge=0.1, fixed_rules=(rules[0], *others[1:]))


def test_a_forged_prior_is_rejected():
    found = cross_validated()
    prior = cross_validation_prior(found, 4, 1.0)
    assert a_plan(prior=prior, prior_kind=CROSS_VALIDATION).prior is prior
    with pytest.raises(ValueError, match=r"Plan\.prior must follow from cross-validation"):
        a_plan(prior=prior[::-1].copy(), prior_kind=CROSS_VALIDATION)
    with pytest.raises(ValueError, match=r"Plan\.prior must follow from cross-validation"):
        checked(SHARED, prior=prior, prior_kind=CROSS_VALIDATION)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prior": np.array([0.5, 0.6]), "prior_kind": "given"}, "must sum to 1"),
        ({"prior": np.array([0.5, 0.5])}, "must match the stored kind"),
        ({"delta": 0.0}, r"Plan\.delta is not"),
        ({"hedge": 1.5}, r"Plan\.hedge is not"),
        ({"hedge": 0.5}, r"Plan\.fixed_rules must be empty if hedge is 1, and only then"),
        ({"row_fingerprints": np.arange(3)}, r"Plan\.row_fingerprints is not"),
        # Metrics and decisions are proved for primary rules only.
        ({"metrics": parse_metrics(("error",))}, "metrics require a primary rule, but hedge=1.0"),
        ({"decision": Abstain(0.1), "thresholds": THRESHOLDS}, "requires a primary rule, but hedge=1.0"),
    ],
)
def test_invalid_plans_without_primary_rules(fields, message):
    with pytest.raises(ValueError, match=message):
        checked(SHARED, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"metrics": parse_metrics(("error",)), "metrics_share": 1.0}, r"Plan\.metrics_share is not"),
        ({"decision": Abstain(0.1)}, r"Plan\.thresholds must be those of the decision"),
        ({"metrics": ("error",)}, r"Plan\.metrics is not of its type"),
        ({"metrics": parse_metrics(("error",)), "slices": (["a"],)}, r"Plan\.slices is not"),
        ({"cross_validation": None}, r"Plan\.cross_validation is required for a primary rule"),
    ],
)
def test_invalid_plans_with_primary_rules(fields, message):
    with pytest.raises(ValueError, match=message):
        checked(
            **{
                "split": SHARED,
                "hedge": 0.1,
                "fixed_rules": a_plan().fixed_rules,
                "cross_validation": cross_validated(),
            }
            | fields
        )


def test_primary_rules_need_a_shared_split():
    with pytest.raises(ValueError, match="with split='independent' every row is a validation row of some classifier"):
        a_plan(split=INDEPENDENT)
    with pytest.raises(ValueError, match=r"CrossValidation\.sizes must be training rows"):
        checked(INDEPENDENT, cross_validation=cross_validated())


# -- rules -----------------------------------------------------------------------------------------------------------
