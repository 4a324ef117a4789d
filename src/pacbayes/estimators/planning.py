"""The plan of a fit: prior, primary rules and thresholds, fixed on the training set before validation."""

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
    """Plan of trained classifiers, determined on the training set.

    Of the validation rows the plan holds hashes and the format of the columns, to compare later tables with.
    """
    division, n_classifiers, hedge = trained.division, len(trained.members), float(choices.hedge)
    # Independent splits share no training set; any of them will do here.
    train = division(0)[0]
    cv = _cross_validate(choices, trained, hedge)
    counts = None if cv is None else cv.counts
    rules: tuple[FixedRule, ...] = ()
    if hedge < 1.0:
        assert cv is not None
        rules = _primary_rules(cv, n_classifiers, train.size)
        rules = rules if hedge > 0.0 else without_reserve(rules)
    out_of_fold = (
        _soft_vote_on_training_rows(cv, data, division, rules) if cv is not None and cv.probabilities else None
    )
    codes, class_counts = np.unique(data.codes[train], return_counts=True)
    return build_plan(
        choices,
        data,
        reading,
        division=division,
        rules=rules,
        out_of_fold=out_of_fold,
        hedge=hedge,
        prior=_prior(choices, trained, data, counts),
        cross_validation=counts,
        no_skill=data.classes[codes[np.argmax(class_counts)]],
        thresholds=None if cv is None else _thresholds(choices, cv, data, train, rules),
    )


def make_refit(choices: Recipe, trained: Trained) -> Refit:
    """Classifiers trained on all rows, with the soft vote that cross-validation on all rows determines."""
    cv = _cross_validate(choices, trained, 0.0)
    assert cv is not None
    assert cv.calibrated is not None
    return Refit(trained.members, propose_soft(cv.counts, len(trained.members), trained.division.n_rows, cv.calibrated))


def _primary_rules(cv: CVResult, n_classifiers: int, n: int) -> tuple[FixedRule, ...]:
    """Primary rule of each voting, from the cross-validation within the training set."""
    assert cv.calibrated is not None
    hard = propose(cv.counts.candidates, cv.counts.totals, n_classifiers, cv.counts.errors_of_votes)
    return propose_soft(cv.counts, n_classifiers, n, cv.calibrated), *hard


def build_plan(
    choices: Recipe,
    data: Labelled,
    reading: TableReading | None,
    *,
    division: Division,
    rules: tuple[FixedRule, ...],
    hedge: float,
    out_of_fold: Rehearsal | None = None,
    **fields: Any,
) -> Plan:
    """Plan with the given primary `rules` and further `fields`.

    Bets are optimised for `out_of_fold`, the predictions of the soft vote for the training rows.
    """
    questions = asked_for(choices.limits, choices.pos_label)
    share, delta, m = float(choices.limits_share), float(choices.delta), division.m
    # Approximately the level of the primary rule; a bet is valid at any level.
    level = proposal_level(delta, hedge)
    if division.unit == GROUP:
        main = main_level(level, share if questions else 0.0)
        bet = USUAL_BET if out_of_fold is None else out_of_fold.bet(main)
        rules = tuple(replace(rule, bet=bet) for rule in rules)
    return Plan(
        delta=delta,
        division=division,
        planned=rules,
        hedge=hedge,
        limits=fix_questions(questions, out_of_fold, data.classes, m, level, share),
        limits_share=share,
        prior_kind=prior_kind(choices.prior, division.kind == "shared"),
        distance=tuple(choices.distance) if isinstance(choices.distance, list | tuple) else (choices.distance,),
        constant=choices.constant,
        positive=plain(choices.pos_label),
        target=choices.target,
        refit=choices.refit_voting,
        slices=() if data.slices is None else data.slices.names,
        slice_column="" if data.slices is None else data.slices.column,
        known_rows=data.known_again(draw_key(division.seed)),
        reading=reading,
        **fields,
    )


@dataclass(frozen=True, eq=False)
class CVResult:
    """Result of the cross-validation within the training set."""

    counts: CrossValidation
    #: Calibration maps of the cross-validated classifiers; None if there is no primary rule.
    calibrated: Calibrated | None
    #: Calibrated out-of-fold probabilities of the best classifier of each family, if a decision or bets need them.
    probabilities: dict[int, FloatArray]


def _cross_validate(choices: Recipe, trained: Trained, hedge: float) -> CVResult | None:
    """Cross-validate within the training set; None if disabled or if the classifiers share no training set."""
    members, division = trained.folds, trained.division
    if members is None or choices.cv is None:
        return None
    needs_rules = hedge < 1.0
    # A path of SVMs costs little more with all lambdas, but the holdout baseline alone needs only some of them.
    which = members.tried(needs_rules or (isinstance(choices.prior, str) and choices.prior == CROSS_VALIDATION))
    units, codes = division.units_of(division(0)[0]), members.codes
    folds = dealt(codes, choices.cv, generator(division.seed, Purpose.FOLDS), units)
    train_classes, train_codes = np.unique(codes, return_inverse=True)
    train_codes = train_codes.astype(np.int64)
    losses, maps = np.zeros(which.size), {}
    probabilities: dict[int, FloatArray] = {}
    best: dict[int, int] = {}
    needs_probabilities = choices.target is not None or len(choices.limits) > 0 or division.unit == GROUP
    y_pred = np.empty((which.size, codes.size), dtype=kept_as(members.n_classes))
    # The bits of a fitted map depend on the number of BLAS threads.
    with one_thread(), progress("cross-validation", which.size) as advance:
        for k, (i, member) in enumerate(zip(which.tolist(), members.out_of_fold(which, folds), strict=True)):
            y_pred[k] = member.answers
            if needs_rules:
                maps[i], losses[k] = calibrate(member.kind, member.scores, train_codes, train_classes.size)
                family = int(members.families[i])
                # The soft vote has the classifier of each family with the smallest log-loss, the first in case of ties.
                if needs_probabilities and (family not in best or losses[k] < losses[best[family]]):
                    probabilities.pop(int(which[best[family]]) if family in best else -1, None)
                    # float32 is exact for multiples of 2^-20.
                    probabilities[i], best[family] = maps[i](member.scores).astype(np.float32), k
            advance(1)
    errors, sizes = counted_by_fold(y_pred, codes, folds)
    count_votes = needs_rules and y_pred.size <= MOST_ANSWERS and sizes.any()
    votes = errors_of_votes(_to_train_codes(train_classes, y_pred), train_codes, folds, sizes) if count_votes else None
    return CVResult(
        CrossValidation(
            which,
            errors,
            sizes,
            votes,
            losses if needs_rules else None,
            members.families[which] if needs_rules else None,
        ),
        Calibrated(train_classes.astype(np.int64), maps) if needs_rules else None,
        probabilities,
    )


def _to_train_codes(train_classes: Rows, y_pred: Answers) -> Answers:
    """Recode predictions to indices of `train_classes`; all other labels get the next index.

    Whether such a label is a class may be known from the validation set only, and must not matter here.
    """
    indices = np.full(
        int(max(y_pred.max(), train_classes[-1])) + 1, train_classes.size, dtype=kept_as(train_classes.size)
    )
    indices[train_classes] = np.arange(train_classes.size)
    return indices[y_pred]


def _prior(choices: Recipe, trained: Trained, data: Labelled, counts: CrossValidation | None) -> FloatArray | None:
    """Prior weights; None if uniform."""
    shared = trained.division.shared
    rows = None if shared is None else lambda: (pick_rows(data.rows, shared[0]), data.labels[shared[0]])
    params = trained.members.params
    if shared is None:
        # The kernel width of an SVM comes from rows that are validation rows of other SVMs.
        params = [{"lambda": setting["lambda"]} for setting in params]
    return resolve_prior(choices.prior, params, rows, counts, trained.division)


def _soft_vote(cv: CVResult, rules: tuple[FixedRule, ...]) -> tuple[SoftVote, FloatArray]:
    """Primary soft vote and its out-of-fold mean probabilities of the training rows."""
    (rule,) = (rule for rule in rules if isinstance(rule, SoftVote))
    weights = weights_of(rule.weights)
    total = sum(weights[i] * cv.probabilities[i].astype(np.float64) for i in rule.soft.maps)
    return rule, rule.soft.shares(np.asarray(total))


def _soft_vote_on_training_rows(
    cv: CVResult, data: Labelled, division: Division, rules: tuple[FixedRule, ...]
) -> Rehearsal:
    """Out-of-fold predictions of the primary soft vote for the training rows."""
    soft, shares = _soft_vote(cv, rules)
    train = division(0)[0]
    groups = division.units_of(train) if division.unit == GROUP else None
    y_pred, y_true = soft.winners(shares), data.codes[train]
    return Rehearsal(y_pred, y_true, data.classes, int(data.classes.size), groups, division.m)


def _thresholds(
    choices: Recipe, cv: CVResult, data: Labelled, train: Rows, rules: tuple[FixedRule, ...]
) -> Thresholds | Cuts | None:
    """Candidate thresholds of a decision, from out-of-fold probabilities of the training rows; None without one."""
    target, codes = choices.target, data.codes[train]
    if target is None:
        return None
    soft, shares = _soft_vote(cv, rules)
    if isinstance(target, Threshold):
        code = positive_class(choices.pos_label, data.classes)
        probabilities = soft.soft.spread(shares, int(data.classes.size))
        return Cuts.from_scores(probabilities[:, code], codes == code, plain(data.classes[code]))
    y_pred, scores = soft.winners(shares), soft.confidences(shares, int(codes.max()) + 1)
    return Thresholds.from_scores(confidence(scores, y_pred), y_pred != codes)
