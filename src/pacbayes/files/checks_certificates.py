"""Checks of what a file says of a plan, its rules, and what the validation rows showed: what cannot be is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import (
    check_choice,
    check_distribution,
    check_level,
    need,
    need_array,
    need_choice,
)
from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.decisions import check_target
from pacbayes.certificates.grids import MOST_CUTS, MOST_THRESHOLDS, Cuts, Thresholds
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.limits import BALANCED, COST, Cost
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.proposals import (
    CROSS_VALIDATION,
    STRENGTHS,
    given_rules,
    propose,
    resolve_prior,
    soft_weights,
)
from pacbayes.certificates.refit import Refit
from pacbayes.certificates.risks import RISKS, Question, check_limits_share
from pacbayes.certificates.rules import Draws, FixedRule, Single, SoftVote, Vote
from pacbayes.certificates.sentences import PRIORS
from pacbayes.certificates.voting import BITS, PROPOSAL, SOFT, Counts, weights_of
from pacbayes.data.division import GROUP, Division
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrated
from pacbayes.estimators.fitted import Fitted

# By how much weights may differ from those that are computed here: another machine may round otherwise.
_TOLERANCE = 1e-9
_PLAIN = (str, int, float, bool)


def check_parts(parts: Any, name: str) -> None:
    """Raise unless weights are whole multiples of 2^-52 with the sum one."""
    need_array(parts, name, "i", (None,))
    inside = parts.size > 0 and bool((parts >= 0).all() and (parts <= 2**BITS).all())
    need(inside and sum(parts.tolist()) == 2**BITS, name, "must be whole multiples of 2^-52 with the sum one")


def check_rule(rule: FixedRule) -> None:
    """Raise for weights, bets and probabilities that no rule has."""
    need(type(rule.name) is str, "Rule.name", "must be text")
    check_parts(rule.weights, "Rule.weights")
    alone = not isinstance(rule, Single) or np.count_nonzero(rule.weights) == 1
    need(alone, "Rule.weights", "must be one classifier")
    bet = rule.bet is None or (type(rule.bet) is float and 1e-6 <= rule.bet < 1.0)
    need(bet, "Rule.bet", "must lie between 0 and 1")
    if isinstance(rule, SoftVote):
        need(isinstance(rule.soft, Calibrated), "Rule.soft", "must be there for a soft vote")
        each = sorted(rule.soft.maps) == np.flatnonzero(rule.weights).tolist()
        need(each, "Rule.soft", "must be for each classifier with a weight")


def check_question(question: Question) -> None:
    """Raise for a risk that is none, and for costs and bets that it does not have."""
    need(question.name in RISKS, "Question.name", f"must be one of {', '.join(RISKS)}")
    costs = question.name == COST
    need(costs == isinstance(question.cost, Cost), "Question.cost", "must be there for costs")
    bets = type(question.bets) is tuple and all(type(b) is float and 1e-6 <= b < 1.0 for b in question.bets)
    need(bets, "Question.bets", "must be between 0 and 1")
    need((len(question.bets) == 1) == costs, "Question.bets", "must be one for costs, and only for them")
    need(costs or question.name == BALANCED or not question.bets, "Question.bets", "must be empty where nothing is bet")


def check_thresholds(grid: Thresholds) -> None:
    """Raise unless values fall to minus infinity, and counts grow with them."""
    need_array(grid.values, "Thresholds.values", "f", (None,), finite=False)
    _check_grid(grid.values, -np.inf, MOST_THRESHOLDS, "Thresholds", grid.answered, grid.wrong)
    need(bool((grid.wrong <= grid.answered).all()), "Thresholds.wrong", "must be among answered ones")


def check_cuts(grid: Cuts) -> None:
    """Raise unless values fall to 0, and counts grow with them."""
    plain = isinstance(grid.positive, str | int | float | bool | np.generic)
    need(plain, "Cuts.positive", "must be a number or text")
    need_array(grid.values, "Cuts.values", "f", (None,))
    _check_grid(grid.values, 0.0, MOST_CUTS, "Cuts", grid.answered, grid.hits)
    _check_grows("Cuts", grid.answered - grid.hits)


def _check_grid(values: Any, last: float, most: int, name: str, *counts: Any) -> None:
    need(values.size <= most, f"{name}.values", f"must be at most {most}")
    falls = values.size > 0 and bool((values[1:] < values[:-1]).all()) and values[-1] == last
    need(falls, f"{name}.values", f"must fall to {last:g}")
    for one in counts:
        need_array(one, name, "i", values.shape)
        _check_grows(name, one)


def _check_grows(name: str, counts: NDArray[np.int64]) -> None:
    grows = bool((counts >= 0).all() and (np.diff(counts) >= 0).all())
    need(grows, name, "must be counts that do not fall as thresholds do")


def check_refit_value(refit: Refit) -> None:
    """Raise unless a refit is a soft vote of its own classifiers."""
    need(isinstance(refit.rule, SoftVote), "Refit.rule", "must be a soft vote")
    need(refit.rule.weights.size == len(refit.members), "Refit.rule", "must have a weight for each classifier")
    known = int(refit.rule.soft.classes[-1]) < refit.members.classes.size
    need(known, "Calibrated.classes", "must be classes")
    refit.members.check_maps(refit.rule.soft)


# -- plans -------------------------------------------------------------------------------------------------------------


def check_plan(plan: Plan) -> None:
    """Raise for what is not proved, or does not follow from what else is planned."""
    need(isinstance(plan.division, Division) and plan.division.m > 0, "Plan.division", "must be a Division")
    need(isinstance(plan.delta, float) and check_level(plan.delta) > 0.0, "Plan.delta", "must be a number")
    need(type(plan.hedge) is float and 0.0 <= plan.hedge <= 1.0, "Plan.hedge", "must be from 0 to 1")
    asked = type(plan.limits) is tuple and all(isinstance(one, Question) for one in plan.limits)
    need(asked, "Plan.limits", "must be a tuple of questions")
    check_limits_share(plan.limits_share)
    check_target(plan.target)
    _check_compatible(plan)
    check_choice("constant", plan.constant, CONSTANTS)
    _check_cross_validation(plan)
    _check_prior(plan)
    _check_planned(plan)
    several = type(plan.distance) is tuple and len(plan.distance) > 0
    need(several and len(plan.distances) > 0, "Plan.distance", "must be a tuple of distances that are known")
    _check_labels(plan)
    grouped = plan.division.unit == GROUP
    bet = any(rule.bet is not None for rule in plan.planned)
    need(grouped or not bet, "Rule.bet", "must be None where errors are counted row by row")
    _check_decision(plan)
    if plan.known_rows is not None:
        need_array(plan.known_rows, "Plan.known_rows", "i", (plan.division.n_rows,))
        need(bool((plan.known_rows[1:] >= plan.known_rows[:-1]).all()), "Plan.known_rows", "must be sorted")


def _check_compatible(plan: Plan) -> None:
    Choices(
        voting=AUTO if plan.refit is None else plan.refit,
        hedge=plan.hedge,
        split=plan.division.kind,
        limits=plan.limits,
        target=plan.target,
        refit=plan.refit is not None,
        groups=plan.division.unit == GROUP,
        prefit=plan.division.trained_elsewhere,
        proposal=True,
    ).check()


def _check_labels(plan: Plan) -> None:
    cuts = {plan.thresholds.positive} if isinstance(plan.thresholds, Cuts) else set()
    of = {question.of for question in plan.limits} | cuts
    need(plan.positive is None or of <= {None, plan.positive}, "Plan.positive", "must be the class of all questions")
    for name, label in (("no_skill", plan.no_skill), ("positive", plan.positive)):
        known = label is None or isinstance(label, (*_PLAIN, np.generic))
        need(known, f"Plan.{name}", "must be a number or text")
    named = type(plan.slices) is tuple and all(type(name) in _PLAIN for name in plan.slices)
    need(named and type(plan.slice_column) is str, "Plan.slices", "must be numbers or text")
    need(all(one < other for one, other in pairwise(plan.slices)), "Plan.slices", "must be sorted and different")
    by_slice = any(question.name == "error" for question in plan.limits)
    need(by_slice or not plan.slices, "Plan.slices", "must be empty without limits of errors")


def _check_decision(plan: Plan) -> None:
    both = (plan.target is None) == (plan.thresholds is None)
    need(both, "Plan.thresholds", "must be there for a target, and only then")
    if plan.thresholds is None:
        return
    kind = Cuts if plan.has_cuts else Thresholds
    need(isinstance(plan.thresholds, kind), "Plan.thresholds", f"must be {kind.__name__}")
    need(not plan.has_cuts or plan.hedge == 0.0, "Plan.hedge", "must be 0 where a threshold is asked for")
    counted = int(plan.thresholds.answered[-1]) == plan.division(0)[0].size
    need(counted, f"{kind.__name__}.answered", "must be all training rows in the end")


def _check_cross_validation(plan: Plan) -> None:
    found = plan.cross_validation
    if found is None:
        return
    need(isinstance(found, CrossValidation), "Plan.cross_validation", "must be a CrossValidation")
    shared = plan.division.kind == "shared" and not plan.division.trained_elsewhere
    need(shared, "Plan.cross_validation", "must be None without shared training rows")
    within = int(found.sizes.sum()) <= plan.division(0)[0].size
    need(within, "CrossValidation.sizes", "must be training rows")
    votes = found.errors_of_votes
    need(votes is None or len(votes) == len(STRENGTHS), "CrossValidation.errors_of_votes", "must be of each vote")


def _check_prior(plan: Plan) -> None:
    need_choice(plan.prior_kind, "Plan.prior_kind", PRIORS)
    need((plan.prior_kind == "uniform") == (plan.prior is None), "Plan.prior", "must be of the kind that is said")
    if plan.prior is None:
        return
    need_array(plan.prior, "Plan.prior", "f", (None,))
    check_distribution("Plan.prior", plan.prior, plan.prior.size)
    if plan.prior_kind == CROSS_VALIDATION:
        found = plan.cross_validation
        need(found is not None, "Plan.prior", "must not be from a cross-validation that is not there")
        params: list[dict[str, Any]] = [{}] * plan.prior.size
        expected = resolve_prior(CROSS_VALIDATION, params, None, found, plan.division)
        same = expected is not None and np.allclose(plan.prior, expected, rtol=_TOLERANCE, atol=0.0)
        need(same, "Plan.prior", "must follow from cross-validation")


def _check_planned(plan: Plan) -> None:
    """Raise unless the rules are those that cross-validation, or a given proposal, stands for."""
    rules, found = plan.planned, plan.cross_validation
    need(type(rules) is tuple and all(isinstance(rule, FixedRule) for rule in rules), "Plan.planned", "must be rules")
    need((plan.hedge == 1.0) == (not rules), "Plan.planned", "must be empty where nothing is proposed, and only then")
    if not rules:
        return
    known = found is not None or plan.division.trained_elsewhere
    need(known, "Plan.cross_validation", "must be there for a proposal")
    number = rules[0].weights.size
    if found is None:
        expected = _weights_by_name(given_rules(weights_of(rules[0].weights), number))
    else:
        need(int(found.candidates[-1]) < number, "CrossValidation.candidates", "must be classifiers")
        need(found.log_losses is not None, "CrossValidation.log_losses", "must be there for a proposal")
        hard = propose(found.candidates, found.totals, number, found.errors_of_votes)
        soft = soft_weights(found, number, plan.division(0)[0].size)
        expected = {(SOFT, PROPOSAL): soft} | _weights_by_name(hard)
    source = "the proposal" if found is None else "the stored cross-validation"
    stored = _weights_by_name(rules)
    if plan.hedge == 0.0:
        expected = {name: weights for name, weights in expected.items() if name[1] == PROPOSAL}
    same = len(stored) == len(rules) and _same_weights(stored, expected)
    need(same, "Rule.weights", f"must follow from {source}")


_Named = dict[tuple[str, str], Counts]


def _weights_by_name(rules: tuple[FixedRule, ...]) -> _Named:
    return {(rule.voting, rule.name): rule.weights for rule in rules}


def _same_weights(stored: _Named, expected: _Named) -> bool:
    """Return whether rules have the same weights but for rounding.

    That decides, too, whether a vote is the same as the proposed one, and therefore left out.
    """
    proposed = {name for name in expected if name[1] == PROPOSAL}
    if {name for name in stored if name[1] == PROPOSAL} != proposed:
        return False
    for voting, name in stored.keys() | expected.keys():
        proposal = expected[voting, PROPOSAL]
        one, other = stored.get((voting, name), proposal), expected.get((voting, name), proposal)
        if one.shape != other.shape or np.abs(one - other).max() > _TOLERANCE * 2**BITS:
            return False
    return True


# -- the whole of a fit ------------------------------------------------------------------------------------------------


def check_fitted(fitted: Fitted) -> None:
    """Raise unless the values of a fit are about the same classifiers, rows and rules."""
    plan, evidence, found, number = fitted.plan, fitted.evidence, fitted.found, len(fitted.members)
    need(len(evidence) == number, "Evidence.answers", f"must be those of {number} classifiers")
    classes = fitted.members.classes
    # Of a wider type where an answer that is no class is longer, or no whole number.
    same = np.can_cast(classes.dtype, evidence.labels.dtype) and np.array_equal(classes, evidence.classes)
    need(same, "Evidence.labels", "must begin with the classes of the classifiers")
    _check_answered(fitted)
    sizes = [rule.weights.size for rule in plan.planned]
    sizes += [plan.prior.size] if plan.prior is not None else []
    sizes += [found.posterior.weights.size] if found.posterior is not None else []
    need(all(size == number for size in sizes), "weights", f"must be those of {number} classifiers")
    said = 0 if evidence.said is None else len(evidence.said)
    need(said == len(plan.planned), "Evidence.said", "must be what every planned rule said")
    for rule in plan.planned:
        if isinstance(rule, SoftVote):
            need(int(rule.soft.classes[-1]) < classes.size, "Calibrated.classes", "must be classes")
            fitted.members.check_maps(rule.soft)
    need((evidence.scores is None) == (plan.target is None), "Evidence.scores", "must be there for a target")
    if isinstance(plan.thresholds, Cuts):
        two = classes.size == 2 and plan.thresholds.positive in classes.tolist()
        need(two, "Cuts.positive", "must be one of two classes")
    for question in plan.limits:
        question.check(classes)
    known = evidence.slices is None or int(evidence.slices.max()) < len(plan.slices)
    need(known and (evidence.slices is None) == (not plan.slices), "Evidence.slices", "must be those planned")
    need((found.posterior is None) == (plan.hedge == 0.0), "Found.posterior", "must be there if there is a reserve")
    need((fitted.refit is None) == (plan.refit is None), "Fitted.refit", "must be there if it was planned")
    if fitted.refit is not None:
        same = np.array_equal(fitted.refit.members.classes, classes)
        need(same, "Refit.members", "must tell the same classes apart")
    candidates = plan.cross_validation is None or int(plan.cross_validation.candidates[-1]) < number
    need(candidates, "CrossValidation.candidates", "must be classifiers")
    constant = plan.division.trained_elsewhere if plan.no_skill is None else plan.no_skill in classes.tolist()
    need(constant, "Plan.no_skill", "must be a class")
    # Of draws it is known that one of their classifiers said it, but not which: more takes the rows.
    lines = zip(plan.planned, () if evidence.said is None else evidence.said, strict=True)
    follows = all(rule.follows(codes, evidence.answers, evidence.labels) for rule, codes in lines)
    need(follows, "Evidence.said", "must follow from the answers and the weights of each rule")


def _check_answered(fitted: Fitted) -> None:
    """Raise unless each classifier has an answer to the rows that validate it, and to no others."""
    division, answers, absent = fitted.plan.division, fitted.evidence.answers, fitted.evidence.absent
    need(answers.shape[1] == division.n_validating, "Evidence.answers", "must be about the rows that validate")
    if division.shared is not None:
        own = all(absent not in line for line in answers)
    else:
        own = all(np.array_equal(np.flatnonzero(line != absent), division(i)[1]) for i, line in enumerate(answers))
    need(own, "Evidence.answers", "must be of the rows that validate each")


#: What is checked of each value when a file has named its parts.
CHECKS: dict[type, Callable[[Any], None]] = {
    Cuts: check_cuts,
    Draws: check_rule,
    Plan: check_plan,
    Question: check_question,
    Refit: check_refit_value,
    Single: check_rule,
    SoftVote: check_rule,
    Thresholds: check_thresholds,
    Vote: check_rule,
}
