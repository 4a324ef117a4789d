"""A plan: its levels sum to at most delta, and what does not follow from the rest, or is not proved, is refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbayes import Abstain, Threshold
from pacbayes.certificates import VOTINGS, Plan, primary_weights
from pacbayes.certificates.levels import hedged_level
from pacbayes.certificates.metric_bounds import Cost
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.certificates.plan import without_hedge
from pacbayes.certificates.primary import (
    CROSS_VALIDATION,
    STRENGTHS,
    cross_validation_prior,
    prefit_rules,
    primary_soft_vote,
)
from pacbayes.certificates.rules import Draws, PosteriorVote, Single, SoftVote, Vote
from pacbayes.certificates.thresholds import ConfidenceGrid
from pacbayes.certificates.voting import PRIMARY, integer_weights, single_weight
from pacbayes.data.split import GROUP, plan_split, validation_split
from pacbayes.ensemble.calibration import DECISIONS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations
from pacbayes.files.checks import check

SHARED = plan_split(200, kind="shared", validation_size=0.5, seed=0)
INDEPENDENT = plan_split(200, kind="independent", validation_size=0.5, seed=0)
GROUPED = validation_split(200, GROUP, np.arange(200) // 2)
THRESHOLDS = ConfidenceGrid(np.array([0.5, -np.inf]), np.array([50, 100]), np.array([1, 9]))


def counted(totals=(9, 7, 7, 12), votes=(8, 7, 7, 7, 8, 9, 7), families=None):
    """Cross-validation with these errors, all in its first fold, and twice as much log-loss."""
    number = len(totals)
    errors = np.zeros((number, 2), dtype=np.int64)
    errors[:, 0] = totals
    families = np.arange(number) if families is None else np.array(families)
    return CrossValidation(np.arange(number), errors, np.array([50, 50]), votes, 2.0 * errors[:, 0], families)


def maps(chosen, slope=1.0):
    """How two classes become probable by the scores of some classifiers."""
    own = {i: Calibration(DECISIONS, 100, slope, np.zeros(2), np.zeros(2)) for i in chosen}
    return Calibrations(np.array([0, 1]), own)


def proposed(found):
    """The rules that cross-validation proposes."""
    number = found.candidates.size
    hard = primary_weights(found.candidates, found.totals, number, found.errors_of_votes)
    return primary_soft_vote(found, number, 100, maps(range(number))), *hard


def a_plan(found=None, hedge=0.1, **choices):
    """A plan for what cross-validation proposes."""
    found = counted() if found is None else found
    rules = proposed(found) if hedge > 0.0 else without_hedge(proposed(found))
    given = {"split": SHARED, "hedge": hedge, "fixed_rules": rules, "cross_validation": found}
    return checked(**given | choices)


def checked(*args, **choices):
    """A plan as a file may hold it."""
    plan = Plan(*args, **choices)
    check(plan)
    return plan


def levels(plan):
    """The exact sum of the levels of all rules by way of predicting."""
    shares = plan.levels.items()
    return {voting: sum(Fraction(level) for one, level in shares if one.voting == voting) for voting in plan.votings}


# -- levels ----------------------------------------------------------------------------------------------------------


@given(
    st.floats(1e-300, 1.0, exclude_max=True),
    st.floats(0.0, 1.0, exclude_max=True),
    st.floats(0.0, 1.0, exclude_max=True),
    st.lists(st.integers(0, 50), min_size=1, max_size=60),
)
def test_levels_of_all_rules_of_a_way_sum_to_at_most_delta(delta, hedge, share, totals):
    plan = a_plan(
        counted(totals),
        hedge,
        delta=delta,
        metrics=parse_metrics(("error",)) if share else (),
        metrics_share=share or 0.2,
    )
    assert plan.votings == VOTINGS
    # What is left of delta is for the limits by class.
    most = Fraction(delta) * (1 - Fraction(share))
    for voting, total in levels(plan).items():
        assert total <= most
        assert total >= most * (1 - Fraction(1, 10**12)) - Fraction(1, 10**300), voting


def test_of_several_rules_each_has_its_place_and_level():
    plan = a_plan(delta=0.05)
    votes = [rule for rule in plan.levels if rule.voting == "majority"]
    names = ["primary", *(f"vote s={s:g}" for s in STRENGTHS[:-1]), "single", "posterior"]
    assert [rule.name for rule in votes] == names
    assert [type(rule) for rule in votes] == [Vote] * 8 + [PosteriorVote]
    assert plan.levels[votes[0]] == pytest.approx(0.045)
    # A tenth of delta, in equal parts for the eight others.
    assert {plan.levels[rule] for rule in votes[1:]} == {hedged_level(0.05, 0.1, 8)}
    # Nothing stands beside a soft vote, and nothing is kept for it.
    assert [level for rule, level in plan.levels.items() if rule.voting == "soft"] == [0.05]
    assert [(rule.voting, rule.name) for rule in plan.levels if rule.voting != "majority"] == [
        ("soft", "primary"),
        ("stochastic", "primary"),
        ("stochastic", "posterior"),
        ("best", "primary"),
        ("best", "Occam"),
    ]


@pytest.mark.parametrize("kind", [SHARED, INDEPENDENT, GROUPED, validation_split(50)])
def test_without_a_proposal_delta_is_for_what_is_found(kind):
    plan = Plan(kind, delta=0.1)
    # There are no probabilities, and no soft vote.
    assert levels(plan) == dict.fromkeys(("stochastic", "majority", "best"), Fraction(0.1))
    assert [rule.name for rule in plan.levels if rule.voting == "majority"] == ["posterior"]


def test_without_a_reserve_it_is_for_proposals():
    plan = a_plan(hedge=0.0, delta=0.1)
    assert [(rule.voting, rule.name, level) for rule, level in plan.levels.items()] == [
        (voting, "primary", 0.1) for voting in VOTINGS
    ]


# -- what does not follow --------------------------------------------------------------------------------------------


def forged_rules(rules):
    """Yield what somebody may have made of the rules, each with a word for it."""
    vote = next(i for i, rule in enumerate(rules) if (rule.voting, rule.name) == ("majority", PRIMARY))
    moved = rules[vote].weights + np.array([2**30, -(2**30), 0, 0])
    yield "other weights", replace_at(rules, vote, replace(rules[vote], weights=moved))
    yield "another classifier", (*rules[:-1], replace(rules[-1], weights=single_weight(3, 4)))
    yield "one rule fewer", tuple(rule for rule in rules if rule.name != "vote s=4")
    yield "one rule more", (*rules, Vote("mine", integer_weights(np.array([1.0, 0, 0, 0]))))
    yield "the same twice", (*rules, rules[0])
    yield "no proposed draws", tuple(rule for rule in rules if not isinstance(rule, Draws))
    yield "no soft vote", tuple(rule for rule in rules if not isinstance(rule, SoftVote))
    soft = rules[0].weights + np.array([2**30, -(2**30), 0, 0])
    yield "other weights of the soft vote", (replace(rules[0], weights=soft), *rules[1:])
    alone = single_weight(1, 4)
    yield "a soft vote of one", (replace(rules[0], weights=alone, soft=maps([1])), *rules[1:])
    yield "other names", replace_at(rules, vote + 1, replace(rules[vote + 1], name="vote s=9"))
    yield "fewer classifiers", proposed(counted((9, 7, 7)))


def replace_at(rules, place, rule):
    return (*rules[:place], rule, *rules[place + 1 :])


FORGED = dict(forged_rules(a_plan().fixed_rules))


@pytest.mark.parametrize("name", FORGED)
def test_forged_rules_are_refused(name):
    assert a_plan(fixed_rules=a_plan().fixed_rules).levels
    with pytest.raises(ValueError, match=r"Rule\.weights must follow from the stored cross-validation|must be class"):
        a_plan(fixed_rules=FORGED[name])


@pytest.mark.parametrize(
    "changed",
    [
        {"log_losses": np.array([18.0, 18.0, 14.0, 24.0])},
        # Of each family one takes part: here of the first two the first.
        {"families": np.array([0, 0, 2, 3]), "log_losses": np.array([14.0, 18.0, 14.0, 24.0])},
        {"families": np.array([0, 0, 0, 0])},
    ],
)
def test_forged_losses_and_families_are_refused(changed):
    with pytest.raises(ValueError, match=r"Rule\.weights must follow from the stored cross-validation"):
        a_plan(cross_validation=replace(counted(), **changed))


def test_a_soft_vote_needs_log_losses():
    with pytest.raises(ValueError, match=r"CrossValidation\.log_losses must be there for a proposal"):
        a_plan(cross_validation=replace(counted(), log_losses=None, families=None))


def test_of_each_family_one_has_a_part_in_the_soft_vote():
    plan = a_plan(counted((9, 7, 7, 12), families=(0, 0, 1, 1)))
    assert np.flatnonzero(plan.fixed_rules[0].weights).tolist() == [1, 2]
    assert sorted(plan.fixed_rules[0].soft.maps) == [1, 2]


def test_weights_that_another_machine_rounded_are_not():
    rules = a_plan().fixed_rules
    vote = next(i for i, rule in enumerate(rules) if (rule.voting, rule.name) == ("majority", PRIMARY))
    rounded = replace(rules[vote], weights=rules[vote].weights + np.array([9, -9, 0, 0]))
    assert a_plan(fixed_rules=replace_at(rules, vote, rounded)).fixed_rules[vote] is rounded


def test_forged_rules_of_a_given_proposal_are_refused():
    rules, rows = prefit_rules(np.array([0.5, 0.25, 0.25]), 3), validation_split(100)
    assert checked(rows, hedge=0.1, fixed_rules=rules).levels
    # Draws by the weights of one proposal, and a vote by those of another.
    others = prefit_rules(2, 3)
    with pytest.raises(ValueError, match=r"Rule\.weights must follow from the proposal"):
        checked(rows, hedge=0.1, fixed_rules=(rules[0], *others[1:]))


def test_votes_that_were_not_all_tried_are_refused():
    with pytest.raises(ValueError, match=r"CrossValidation\.errors_of_votes is not"):
        check(replace(counted(), errors_of_votes=(1, 2)))


def test_a_forged_prior_is_refused():
    found = counted()
    prior = cross_validation_prior(found, 4, 1.0)
    assert a_plan(prior=prior, prior_kind=CROSS_VALIDATION).prior is prior
    with pytest.raises(ValueError, match=r"Plan\.prior must follow from cross-validation"):
        a_plan(prior=prior[::-1].copy(), prior_kind=CROSS_VALIDATION)
    with pytest.raises(ValueError, match=r"Plan\.prior must follow from cross-validation"):
        checked(SHARED, prior=prior, prior_kind=CROSS_VALIDATION)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"prior": np.array([0.5, 0.6]), "prior_kind": "given"}, "must sum to 1"),
        ({"prior": np.array([1.5, -0.5]), "prior_kind": "given"}, "non-negative"),
        ({"prior": np.array([0.5, 0.5])}, "must be of the kind that is stored"),
        ({"prior_kind": "given"}, "must be of the kind that is stored"),
        ({"prior_kind": "a good one"}, "must be of the kind that is stored"),
        ({"delta": 0.0}, r"Plan\.delta is not"),
        ({"hedge": 1.5}, r"Plan\.hedge is not"),
        ({"hedge": 1}, r"Plan\.hedge is not"),
        ({"hedge": 0.5}, r"Plan\.fixed_rules must be empty without a proposal, and only then"),
        ({"constant": "largest"}, "constant"),
        ({"row_fingerprints": np.arange(3)}, r"Plan\.row_fingerprints is not"),
        # Limits by class and targets are proved of rules that were fixed, and of rows.
        ({"metrics": parse_metrics(("error",))}, "metrics need what is proposed beforehand, but hedge=1.0"),
        ({"decision": Abstain(0.1), "thresholds": THRESHOLDS}, "needs what the training rows propose, but hedge=1.0"),
    ],
)
def test_what_cannot_be_or_is_not_proved_is_refused(choices, message):
    with pytest.raises(ValueError, match=message):
        checked(SHARED, **choices)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"metrics": parse_metrics(("error",)), "metrics_share": 1.0}, r"Plan\.metrics_share is not"),
        ({"decision": Abstain(0.1)}, r"Plan\.thresholds must be those of the decision"),
        ({"thresholds": THRESHOLDS}, r"Plan\.thresholds must be those of the decision"),
        (
            {"decision": Abstain(0.1), "thresholds": THRESHOLDS, "metrics": parse_metrics(("error",))},
            r"metrics are not for decision=Abstain\(max_error=0\.1\)",
        ),
        ({"metrics": ("error",)}, r"Plan\.metrics is not of its type"),
        (
            {"decision": Threshold(recall=0.9), "thresholds": THRESHOLDS},
            r"Plan\.thresholds must be those of the decision",
        ),
        ({"metrics": parse_metrics(("error",)), "slices": (("a",),)}, r"Plan\.slices is not"),
        ({"cross_validation": None}, r"Plan\.cross_validation must be there for a proposal"),
        ({"hedge": 1.0}, r"Plan\.fixed_rules must be empty without a proposal"),
    ],
)
def test_nor_beside_a_proposal(choices, message):
    with pytest.raises(ValueError, match=message):
        checked(
            **{"split": SHARED, "hedge": 0.1, "fixed_rules": a_plan().fixed_rules, "cross_validation": counted()}
            | choices
        )


def test_a_proposal_needs_rows_that_validate_nobody():
    with pytest.raises(ValueError, match="with split='independent' every row validates some classifier"):
        a_plan(split=INDEPENDENT)
    with pytest.raises(ValueError, match=r"CrossValidation\.sizes must be training rows"):
        checked(INDEPENDENT, cross_validation=counted())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics": parse_metrics((Cost([[0, 1], [1, 0]], [0, 1]), "f1"))}, "metrics are not for groups"),
        ({"decision": Abstain(0.1), "thresholds": THRESHOLDS}, "trained on rows that are not here"),
    ],
)
def test_groups_are_asked_of_costs_alone(asked, message):
    with pytest.raises(ValueError, match=message):
        checked(GROUPED, hedge=0.1, fixed_rules=prefit_rules(0, 2), **asked)
    checked(
        GROUPED, hedge=0.1, fixed_rules=prefit_rules(0, 2), metrics=parse_metrics((Cost([[0, 1], [1, 0]], [0, 1]),))
    )


# -- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Vote, {"name": None}, "name is not of its type"),
        (Vote, {"weights": np.array([2**52, 1])}, "weights is not"),
        (Vote, {"weights": np.array([0.5, 0.5])}, "weights is not of its type"),
        (Single, {}, "weights is not"),
        (Vote, {"bet": 1.0}, "bet is not"),
        (SoftVote, {"soft": "probabilities"}, "soft is not of its type"),
        (SoftVote, {"soft": maps([0])}, "soft is not"),
        (SoftVote, {"soft": maps([0, 1, 2])}, "soft is not"),
    ],
)
def test_rules_that_cannot_be(kind, fields, message):
    given = {"name": "mine", "weights": np.array([2**51, 2**51])}
    check(Vote(**given))
    with pytest.raises(ValueError, match=message):
        check(kind(**given | fields))
