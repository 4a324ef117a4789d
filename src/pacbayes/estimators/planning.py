"""The plan of a fit: prior, primary rules and thresholds, fixed on the training set before validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.progress import progress
from pacbayes._utils.seeds import Purpose, draw_key, make_rng
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.bounds.bets import DEFAULT_BET
from pacbayes.certificates.decisions import PredictionSet, Threshold, positive_class_index
from pacbayes.certificates.levels import main_level, primary_level, to_python_scalar
from pacbayes.certificates.metrics import OutOfFoldPredictions, choose_bets, parse_metrics
from pacbayes.certificates.plan import Plan, select_primary_rules
from pacbayes.certificates.primary import (
    CROSS_VALIDATION,
    MAX_PREDICTIONS,
    errors_of_votes,
    primary_soft_vote,
    primary_weights,
    prior_kind,
    resolve_prior,
)
from pacbayes.certificates.rules import FixedRule, Refit, SoftVote
from pacbayes.certificates.thresholds import ConfidenceGrid, ThresholdGrid, confidence
from pacbayes.certificates.voting import float_weights
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import pick_rows
from pacbayes.data.schema import Schema
from pacbayes.data.split import GROUP, Split
from pacbayes.ensemble.calibration import calibrate
from pacbayes.ensemble.classifier_set import TrainedMembers
from pacbayes.ensemble.cross_validation import CrossValidation, assign_cv, count_fold_errors
from pacbayes.ensemble.members import Calibrations, Predictions, smallest_code_dtype
from pacbayes.estimators.recipe import Recipe


def make_plan(choices: Recipe, trained: TrainedMembers, data: Dataset, schema: Schema | None) -> Plan:
    """Plan of trained classifiers, determined on the training set.

    From the validation rows, the plan contains only hashes and column formats, to compare new rows with.
    """
    split, n_classifiers, hedge = trained.split, len(trained.members), float(choices.hedge)
    # Independent splits share no training set; any of them will do here.
    train = split(0)[0]
    cv = _cross_validate(choices, trained, hedge)
    counts = None if cv is None else cv.counts
    rules: tuple[FixedRule, ...] = ()
    if hedge < 1.0:
        assert cv is not None
        rules = _primary_rules(cv, n_classifiers)
        rules = rules if hedge > 0.0 else select_primary_rules(rules)
    out_of_fold = _soft_vote_on_training_rows(cv, data, split, rules) if cv is not None and cv.probabilities else None
    codes, class_counts = np.unique(data.codes[train], return_counts=True)
    return build_plan(
        choices,
        data,
        schema,
        split=split,
        rules=rules,
        out_of_fold=out_of_fold,
        hedge=hedge,
        prior=_prior(choices, trained, data, counts),
        cross_validation=counts,
        majority_class=data.classes[codes[np.argmax(class_counts)]],
        thresholds=None if cv is None else _thresholds(choices, cv, data, train, rules),
    )


def train_refit(choices: Recipe, trained: TrainedMembers) -> Refit:
    """Classifiers trained on all rows, with the soft vote that cross-validation on all rows determines."""
    cv = _cross_validate(choices, trained, 0.0)
    assert cv is not None
    assert cv.calibrated is not None
    return Refit(trained.members, primary_soft_vote(cv.counts, len(trained.members), cv.scored.size, cv.calibrated))


def _primary_rules(cv: CVResult, n_classifiers: int) -> tuple[FixedRule, ...]:
    """Primary rule of each voting, from the cross-validation within the training set."""
    assert cv.calibrated is not None
    hard = primary_weights(cv.counts.candidates, cv.counts.totals, n_classifiers, cv.counts.errors_of_votes)
    return primary_soft_vote(cv.counts, n_classifiers, cv.scored.size, cv.calibrated), *hard


def build_plan(
    choices: Recipe,
    data: Dataset,
    schema: Schema | None,
    *,
    split: Split,
    rules: tuple[FixedRule, ...],
    hedge: float,
    out_of_fold: OutOfFoldPredictions | None = None,
    **fields: Any,
) -> Plan:
    """Plan with the given primary `rules` and further `fields`.

    Bets are optimised for `out_of_fold`, the predictions of the soft vote for the training rows.
    """
    questions = parse_metrics(choices.metrics, choices.pos_label)
    share, delta, m = float(choices.metrics_share), float(choices.delta), split.m
    # Approximate level of the primary rule; bets are valid at any level.
    level = primary_level(delta, hedge)
    if split.unit == GROUP:
        main = main_level(level, share if questions else 0.0)
        bet = DEFAULT_BET if out_of_fold is None else out_of_fold.bet(main)
        rules = tuple(replace(rule, bet=bet) for rule in rules)
    return Plan(
        delta=delta,
        split=split,
        fixed_rules=rules,
        hedge=hedge,
        metrics=choose_bets(questions, out_of_fold, data.classes, m, level, share),
        metrics_share=share,
        prior_kind=prior_kind(choices.prior, split.kind == "shared"),
        distance=tuple(choices.distance) if isinstance(choices.distance, list | tuple) else (choices.distance,),
        constant=choices.constant,
        positive=to_python_scalar(choices.pos_label),
        decision=choices.decision,
        refit=choices.refit_voting,
        slices=() if data.slices is None else data.slices.names,
        slice_column="" if data.slices is None else data.slices.column,
        row_fingerprints=data.row_fingerprints(draw_key(split.seed)),
        schema=schema,
        **fields,
    )


@dataclass(frozen=True, eq=False)
class CVResult:
    """Result of the cross-validation within the training set."""

    counts: CrossValidation
    #: Indices of the training rows with out-of-fold predictions.
    scored: Rows
    #: Calibration maps of the cross-validated classifiers; None if there is no primary rule.
    calibrated: Calibrations | None
    #: Calibrated out-of-fold probabilities of the best classifier of each family, if a decision or bets need them.
    probabilities: dict[int, FloatArray]


def _cross_validate(choices: Recipe, trained: TrainedMembers, hedge: float) -> CVResult | None:
    """Cross-validate within the training set; None if disabled or if the classifiers share no training set."""
    members, split = trained.folds, trained.split
    if members is None or choices.cv is None:
        return None
    needs_rules = hedge < 1.0
    # For a path of SVMs, more lambdas cost little; for the holdout baseline alone, some of them suffice.
    which = members.candidates(needs_rules or (isinstance(choices.prior, str) and choices.prior == CROSS_VALIDATION))
    units, codes = split.select_units(split(0)[0]), members.codes
    folds = assign_cv(choices.cv, codes, make_rng(split.seed, Purpose.FOLDS), units)
    scored, train_classes = np.flatnonzero(folds >= 0), np.unique(codes)
    train_codes = np.searchsorted(train_classes, codes[scored]).astype(np.int64)
    losses, maps = np.zeros(which.size), {}
    probabilities: dict[int, FloatArray] = {}
    best: dict[int, int] = {}
    needs_probabilities = choices.decision is not None or len(choices.metrics) > 0 or split.unit == GROUP
    y_pred = np.empty((which.size, scored.size), dtype=smallest_code_dtype(members.n_classes))
    # The last bits of a fitted calibration map depend on the number of BLAS threads.
    with limit_to_one_thread(), progress("cross-validation", which.size) as advance:
        for k, (i, member) in enumerate(zip(which.tolist(), members.out_of_fold(which, folds), strict=True)):
            y_pred[k] = member.y_pred
            if needs_rules:
                maps[i], losses[k] = calibrate(member.kind, member.scores, train_codes, train_classes.size)
                family = int(members.families[i])
                # The soft vote uses the classifier of each family with the smallest log-loss (the first of several).
                if needs_probabilities and (family not in best or losses[k] < losses[best[family]]):
                    probabilities.pop(int(which[best[family]]) if family in best else -1, None)
                    # float32 is exact for multiples of 2^-20.
                    probabilities[i], best[family] = maps[i](member.scores).astype(np.float32), k
            advance(1)
    errors, sizes = count_fold_errors(y_pred, codes, folds)
    # The weights of the vote in a fold are determined on the other folds.
    all_scored = scored.size == codes.size
    count_votes = needs_rules and y_pred.size <= MAX_PREDICTIONS and all_scored and sizes.any()
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
        scored,
        Calibrations(train_classes.astype(np.int64), maps) if needs_rules else None,
        probabilities,
    )


def _to_train_codes(train_classes: Rows, y_pred: Predictions) -> Predictions:
    """Recode predictions to indices of `train_classes`; all other labels get the next index.

    Whether such a label is a class may depend on the validation set, which must not affect the plan.
    """
    indices = np.full(
        int(max(y_pred.max(), train_classes[-1])) + 1, train_classes.size, dtype=smallest_code_dtype(train_classes.size)
    )
    indices[train_classes] = np.arange(train_classes.size)
    return indices[y_pred]


def _prior(
    choices: Recipe, trained: TrainedMembers, data: Dataset, counts: CrossValidation | None
) -> FloatArray | None:
    """Prior weights; None if uniform."""
    shared = trained.split.shared
    rows = None if shared is None else lambda: (pick_rows(data.rows, shared[0]), data.labels[shared[0]])
    params = trained.members.params
    if shared is None:
        # The kernel width of an SVM depends on rows that are validation rows of other SVMs.
        params = [{"lambda": setting["lambda"]} for setting in params]
    return resolve_prior(choices.prior, params, rows, counts, trained.split)


def _soft_vote(cv: CVResult, rules: tuple[FixedRule, ...]) -> tuple[SoftVote, FloatArray]:
    """Primary soft vote and its out-of-fold mean probabilities of the training rows."""
    (rule,) = (rule for rule in rules if isinstance(rule, SoftVote))
    weights = float_weights(rule.weights)
    total = sum(weights[i] * cv.probabilities[i].astype(np.float64) for i in rule.soft.maps)
    return rule, rule.soft.normalize(np.asarray(total))


def _soft_vote_on_training_rows(
    cv: CVResult, data: Dataset, split: Split, rules: tuple[FixedRule, ...]
) -> OutOfFoldPredictions:
    """Out-of-fold predictions of the primary soft vote for the training rows."""
    soft, shares = _soft_vote(cv, rules)
    train = split(0)[0][cv.scored]
    groups = split.select_units(train) if split.unit == GROUP else None
    y_pred, y_true = soft.winners(shares), data.codes[train]
    return OutOfFoldPredictions(y_pred, y_true, data.classes, int(data.classes.size), groups, split.m)


def _thresholds(
    choices: Recipe, cv: CVResult, data: Dataset, train: Rows, rules: tuple[FixedRule, ...]
) -> ConfidenceGrid | ThresholdGrid | None:
    """Candidate thresholds of a decision, from out-of-fold probabilities of the training rows; None without one."""
    decision, codes = choices.decision, data.codes[train[cv.scored]]
    if decision is None or isinstance(decision, PredictionSet):
        return None
    soft, shares = _soft_vote(cv, rules)
    if isinstance(decision, Threshold):
        code = positive_class_index(choices.pos_label, data.classes)
        probabilities = soft.soft.expand(shares, int(data.classes.size))
        return ThresholdGrid.from_scores(probabilities[:, code], codes == code, to_python_scalar(data.classes[code]))
    y_pred, scores = soft.winners(shares), soft.margins(shares, int(codes.max()) + 1)
    return ConfidenceGrid.from_scores(confidence(scores, y_pred), y_pred != codes)
