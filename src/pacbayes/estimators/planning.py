"""From training rows to a plan: prior, proposals and thresholds, before any validation row is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.progress import progress
from pacbayes._utils.seeds import Purpose, draw_key, generator
from pacbayes._utils.threads import one_thread
from pacbayes.bounds.bets import USUAL_BET
from pacbayes.certificates.decisions import Threshold, positive_class
from pacbayes.certificates.grids import Cuts, Thresholds, confidence
from pacbayes.certificates.levels import main_level, plain, proposal_level
from pacbayes.certificates.plan import Plan, without_reserve
from pacbayes.certificates.proposals import (
    CROSS_VALIDATION,
    MOST_ANSWERS,
    errors_of_votes,
    prior_kind,
    propose,
    propose_soft,
    resolve_prior,
)
from pacbayes.certificates.refit import Refit
from pacbayes.certificates.risks import Rehearsal, asked_for, fix_questions
from pacbayes.certificates.rules import FixedRule, SoftVote
from pacbayes.certificates.voting import weights_of
from pacbayes.data.division import GROUP, Division
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows
from pacbayes.data.tables import TableReading
from pacbayes.ensemble.calibration import calibrate
from pacbayes.ensemble.classifier_set import Trained
from pacbayes.ensemble.cross_validation import CrossValidation, counted_by_fold, dealt
from pacbayes.ensemble.members import Answers, Calibrated, kept_as
from pacbayes.estimators.recipe import Recipe


def make_plan(choices: Recipe, trained: Trained, data: Labelled, reading: TableReading | None) -> Plan:
    """Return what is planned with classifiers that were trained; of the rows it looks at training rows only.

    What is kept of all rows, their hashes and how their columns were read,
    is for knowing them again.
    """
    division, number, hedge = trained.division, len(trained.members), float(choices.hedge)
    # With independent splits no part trains all classifiers; that of the first is as good as another.
    train = division(0)[0]
    tried = _cross_validate(choices, trained, hedge)
    found = None if tried is None else tried.counted
    rules: tuple[FixedRule, ...] = ()
    if hedge < 1.0:
        assert tried is not None
        rules = _proposed(tried, number, train.size)
        rules = rules if hedge > 0.0 else without_reserve(rules)
    seen = _rehearsal(tried, data, division, rules) if tried is not None and tried.probabilities else None
    codes, counts = np.unique(data.codes[train], return_counts=True)
    return planned(
        choices,
        data,
        reading,
        division=division,
        hedge=hedge,
        prior=_prior(choices, trained, data, found),
        planned=rules,
        seen=seen,
        cross_validation=found,
        no_skill=data.classes[codes[np.argmax(counts)]],
        thresholds=None if tried is None else _thresholds(choices, tried, data, train, rules),
    )


def make_refit(choices: Recipe, trained: Trained) -> Refit:
    """Return classifiers that all rows trained, with the soft vote that these rows propose."""
    tried = _cross_validate(choices, trained, 0.0)
    assert tried is not None
    assert tried.calibrated is not None
    number = len(trained.members)
    return Refit(trained.members, propose_soft(tried.counted, number, trained.division.n_rows, tried.calibrated))


def _proposed(tried: Tried, number: int, n: int) -> tuple[FixedRule, ...]:
    """Return the rules that cross-validation recommends, for every way of predicting."""
    found = tried.counted
    assert tried.calibrated is not None
    hard = propose(found.candidates, found.totals, number, found.errors_of_votes)
    return propose_soft(found, number, n, tried.calibrated), *hard


def planned(
    choices: Recipe, data: Labelled, reading: TableReading | None, seen: Rehearsal | None = None, **fixed: Any
) -> Plan:
    """Return a plan with what was fixed, and what parameters and all rows say of themselves.

    `seen` is what the proposed rule said of training rows: bets are chosen for it.
    """
    given = choices.distance
    division = fixed["division"]
    questions = asked_for(choices.limits, choices.pos_label)
    share, delta, m = float(choices.limits_share), float(choices.delta), division.m
    # About what the proposed rule will have; a bet is valid at any level.
    level = proposal_level(delta, fixed["hedge"])
    if division.unit == GROUP:
        main = main_level(level, share if questions else 0.0)
        bet = USUAL_BET if seen is None else seen.bet(main)
        fixed["planned"] = tuple(replace(rule, bet=bet) for rule in fixed["planned"])
    return Plan(
        delta=delta,
        limits=fix_questions(questions, seen, data.classes, m, level, share),
        limits_share=share,
        prior_kind=prior_kind(choices.prior, division.kind == "shared"),
        distance=tuple(given) if isinstance(given, list | tuple) else (given,),
        constant=choices.constant,
        positive=plain(choices.pos_label),
        target=choices.target,
        refit=choices.refit_voting,
        slices=() if data.slices is None else data.slices.names,
        slice_column="" if data.slices is None else data.slices.column,
        known_rows=data.known_again(draw_key(division.seed)),
        reading=reading,
        **fixed,
    )


@dataclass(frozen=True, eq=False)
class Tried:
    """What cross-validation within the training rows found."""

    counted: CrossValidation
    #: The maps of all that took part; None where nothing is proposed.
    calibrated: Calibrated | None
    #: Calibrated out-of-fold probabilities of the best classifier of each family, where a target or bets need them.
    probabilities: dict[int, FloatArray]


def _cross_validate(choices: Recipe, trained: Trained, hedge: float) -> Tried | None:
    """Return what cross-validation within the training rows found; None where nobody asked, or none are shared."""
    members, division = trained.folds, trained.division
    if members is None or choices.cv is None:
        return None
    proposes = hedge < 1.0
    # A path costs little more with all lambdas; a baseline alone needs no more than some of them.
    which = members.tried(proposes or (isinstance(choices.prior, str) and choices.prior == CROSS_VALIDATION))
    units, codes = division.units_of(division(0)[0]), members.codes
    fold = dealt(codes, choices.cv, generator(division.seed, Purpose.FOLDS), units)
    learnt, dense = np.unique(codes, return_inverse=True)
    losses, maps = np.zeros(which.size), {}
    probabilities: dict[int, FloatArray] = {}
    best: dict[int, int] = {}
    needed = choices.target is not None or len(choices.limits) > 0 or division.unit == GROUP
    answers = np.empty((which.size, codes.size), dtype=kept_as(members.n_classes))
    # The bits of a fitted map depend on how many threads share a product.
    with one_thread(), progress("cross-validation", which.size) as advance:
        for place, (i, heard) in enumerate(zip(which.tolist(), members.out_of_fold(which, fold), strict=True)):
            answers[place] = heard.answers
            if proposes:
                maps[i], losses[place] = calibrate(heard.kind, heard.scores, dense.astype(np.int64), learnt.size)
                family = int(members.families[i])
                # Of each family the soft vote has the classifier with the least log-loss, the first of several.
                if needed and (family not in best or losses[place] < losses[best[family]]):
                    probabilities.pop(int(which[best[family]]) if family in best else -1, None)
                    # Exact: multiples of 2^-20.
                    probabilities[i], best[family] = maps[i](heard.scores).astype(np.float32), place
            advance(1)
    errors, sizes = counted_by_fold(answers, codes, fold)
    tried = proposes and answers.size <= MOST_ANSWERS and sizes.any()
    votes = errors_of_votes(_among(learnt, answers), dense.astype(np.int64), fold, sizes) if tried else None
    return Tried(
        CrossValidation(
            which,
            errors,
            sizes,
            votes,
            losses if proposes else None,
            members.families[which] if proposes else None,
        ),
        Calibrated(learnt.astype(np.int64), maps) if proposes else None,
        probabilities,
    )


def _among(learnt: Rows, answers: Answers) -> Answers:
    """Return answers in places among the classes that the training rows have; any other is one place more.

    Whether another label is a class may be known from validation rows alone, and must not count here.
    """
    places = np.full(int(max(answers.max(), learnt[-1])) + 1, learnt.size, dtype=kept_as(learnt.size))
    places[learnt] = np.arange(learnt.size)
    return places[answers]


def _prior(
    choices: Recipe,
    trained: Trained,
    data: Labelled,
    found: CrossValidation | None,
) -> FloatArray | None:
    """Return the prior's weights, None for the uniform one."""
    shared = trained.division.shared
    rows = None if shared is None else lambda: (pick_rows(data.rows, shared[0]), data.labels[shared[0]])
    params = trained.members.params
    if shared is None:
        # Their kernel widths come from rows that validate other machines.
        params = [{"lambda": one["lambda"]} for one in params]
    return resolve_prior(choices.prior, params, rows, found, trained.division)


def _voted(tried: Tried, rules: tuple[FixedRule, ...]) -> tuple[SoftVote, FloatArray]:
    """Return the proposed soft vote, and its out-of-fold mean probabilities of the training rows.

    They serve every way of predicting.
    """
    (rule,) = (rule for rule in rules if isinstance(rule, SoftVote))
    weights = weights_of(rule.weights)
    total = sum(weights[i] * tried.probabilities[i].astype(np.float64) for i in rule.soft.maps)
    return rule, rule.soft.shares(np.asarray(total))


def _rehearsal(tried: Tried, data: Labelled, division: Division, rules: tuple[FixedRule, ...]) -> Rehearsal:
    """Return what the proposed soft vote said of the training rows, its classifiers trained without their fold."""
    soft, shares = _voted(tried, rules)
    train = division(0)[0]
    groups = division.units_of(train) if division.unit == GROUP else None
    said, truth = soft.winners(shares), data.codes[train]
    return Rehearsal(said, truth, data.classes, int(data.classes.size), groups, division.m)


def _thresholds(
    choices: Recipe, tried: Tried, data: Labelled, train: Rows, rules: tuple[FixedRule, ...]
) -> Thresholds | Cuts | None:
    """Return what is tested for a target, from out-of-fold probabilities of the training rows; None without one."""
    target, codes = choices.target, data.codes[train]
    if target is None:
        return None
    soft, shares = _voted(tried, rules)
    if isinstance(target, Threshold):
        code = positive_class(choices.pos_label, data.classes)
        probabilities = soft.soft.spread(shares, int(data.classes.size))
        return Cuts.from_scores(probabilities[:, code], codes == code, plain(data.classes[code]))
    said, scores = soft.winners(shares), soft.confidences(shares, int(codes.max()) + 1)
    return Thresholds.from_scores(confidence(scores, said), said != codes)
