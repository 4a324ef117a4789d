"""Compute certificates from plan, validation predictions and posteriors, each when it is requested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import Codes, FloatArray, cached_property
from pacbayes.bounds.bets import DEFAULT_BET, bet_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.certificate import MAJORITY_CLASS, TRAINING, Baseline, Certificate, Claim, Missed
from pacbayes.certificates.decisions import Abstain, PredictionSet, Threshold, ThresholdResult
from pacbayes.certificates.levels import best_single, to_python_scalar
from pacbayes.certificates.metrics import bound_metrics
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors
from pacbayes.certificates.rules import BoundInputs, Draws, Rule
from pacbayes.certificates.sets import SetResult, calibrate_sets
from pacbayes.certificates.thresholds import (
    ConfidenceGrid,
    ConfusionCounts,
    ThresholdGrid,
    certify_abstention,
    certify_threshold,
    count_at_thresholds,
)
from pacbayes.certificates.voting import PRIMARY, SOFT
from pacbayes.ensemble.cross_validation import select_evenly_spaced
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions, average_by_unit

# Reasons why there is no holdout baseline.
NOT_SHARED = "every row is a validation row of some classifier"
NO_CV = "cv=None"
NO_PRIMARY = "no primary classifier"


def certify(
    plan: Plan,
    predictions: ValidationPredictions,
    posteriors: Posteriors,
    params: Sequence[dict[str, Any]] | None = None,
) -> Certificates:
    r"""Compute a certificate for each voting rule; each holds on its own at level ``plan.delta``.

    For each voting, rules share delta (`Plan.levels`), and the one with the smallest bound is certified:

    * soft: the primary vote by mean probabilities, with all of delta.
    * stochastic: the primary draws, and the posterior with its PAC-Bayes bound `B` (and the lower bound, if the theorem
      has two sides).
    * majority: the primary votes, and that of the posterior with `2 B`.  Where a weighted vote is wrong, ties included,
      classifiers of at least half the weight are wrong: its error rate is at most twice that of the stochastic
      classifier.
    * best: the primary classifier, and the Occam bound: the exact bound of each classifier (Chernoff's for groups) at
      its level times :math:`p_i`; all hold jointly, hence the smallest does.

    `params` are the parameters of the classifiers, which are used in sentences only.

    Examples
    --------
    >>> from pacbayes import ClassifierSet
    >>> from pacbayes.certificates import Plan, fit_posteriors
    >>> wrong = np.arange(100) < np.array([[8], [9], [30]])
    >>> classifiers = ClassifierSet.from_predictions(wrong.astype(int), np.zeros(100, dtype=int))
    >>> plan, predictions = Plan(classifiers.splits), classifiers.predictions
    >>> for certificate in certify(plan, predictions, fit_posteriors(plan, predictions)).values():
    ...     print(certificate.holds_for, f"{certificate.bound:.4f}")
    the stochastic classifier 0.2112
    the majority vote 0.4224
    the best single classifier 0.1581
    """
    return Certificates(plan, predictions, posteriors, params)


class Certificates(Mapping[str, Certificate]):
    """Certificates by voting rule, each computed on first access.

    Examples
    --------
    >>> from pacbayes import ClassifierSet
    >>> from pacbayes.certificates import Plan, fit_posteriors
    >>> classifiers = ClassifierSet.from_predictions(np.zeros((2, 50), dtype=int), np.zeros(50, dtype=int))
    >>> plan, predictions = Plan(classifiers.splits), classifiers.predictions
    >>> certificates = Certificates(plan, predictions, fit_posteriors(plan, predictions))
    >>> list(certificates), round(certificates["best"].bound, 3)
    (['stochastic', 'majority', 'best'], 0.071)
    """

    def __init__(
        self,
        plan: Plan,
        predictions: ValidationPredictions,
        posteriors: Posteriors,
        params: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self.plan, self.inputs = (
            plan,
            BoundInputs(plan.split, predictions, posteriors.posterior, plan.fixed_rules, plan.levels),
        )
        self._params = [{}] * len(predictions) if params is None else params
        self._claims: dict[str, dict[Rule, Claim]] = {}
        self._computed: dict[str, Certificate] = {}

    def __getitem__(self, voting: str) -> Certificate:
        if voting not in self.plan.votings:
            raise KeyError(voting)
        if voting not in self._computed:
            self._computed[voting] = self._certify(voting)
        return self._computed[voting]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plan.votings)

    def __len__(self) -> int:
        return len(self.plan.votings)

    def __repr__(self) -> str:
        return repr(dict(self))

    def claims(self, voting: str) -> dict[Rule, Claim]:
        """Claims of all rules of a voting."""
        if voting not in self._claims:
            self._claims[voting] = {rule: rule.bound(self.inputs) for rule in self.plan.levels if rule.voting == voting}
        return self._claims[voting]

    def rule(self, voting: str) -> Rule:
        """Return the rule that predicts: the one with the smallest bound or, with a decision, the primary one."""
        if self.plan.decision is not None:
            return self.plan.primary_rules[voting]
        claims = self.claims(voting)
        return min(claims, key=lambda rule: claims[rule].bound)

    # -- certificates ------------------------------------------------------------------------------------------------

    def _certify(self, voting: str) -> Certificate:
        plan, certificate = self.plan, self._certify_error_rate(voting)
        if isinstance(plan.decision, Abstain):
            certificate = self._add_abstention(voting, certificate)
        elif plan.needs_soft:
            certificate = self._add_soft_decision(certificate) if voting == SOFT else certificate
        elif plan.metrics:
            certificate = self._add_metrics(voting, certificate)
        if plan.refit == voting:
            metrics = tuple(replace(metric, covered=True) for metric in certificate.metrics)
            assumptions = (*certificate.assumptions, sentences.REFIT)
            certificate = replace(certificate, refit=True, assumptions=assumptions, metrics=metrics)
        return certificate

    def _certify_error_rate(self, voting: str) -> Certificate:
        """Certificate from the claim with the smallest bound (the first in case of ties)."""
        plan, split, claims = self.plan, self.plan.split, self.claims(voting)
        rule = min(claims, key=lambda rule: claims[rule].bound)
        smallest, keyed = claims[rule], isinstance(rule, Draws)
        shares = sentences.describe_delta_shares(plan.hedge_for_voting(voting), split.prefit)
        assumptions = (*sentences.split_assumptions(split), sentences.PRIORS[plan.prior_kind], *shares)
        assumptions = (*assumptions, sentences.ROW_WISE_PREDICTION, sentences.ALONE)
        if voting == "stochastic":
            assumptions = (*assumptions, sentences.KEYED if keyed else sentences.AVERAGED_OVER_DRAWS)
        return Certificate(
            **vars(smallest),
            delta=plan.delta,
            m=split.m,
            holds_for=sentences.holds_for(voting, keyed, len(self.inputs.predictions) == 1),
            assumptions=assumptions,
            baselines={name: other for name, other in self._baselines.items() if (voting, name) != ("best", "Occam")},
            unit=split.unit,
            copies=split.copies,
            alternatives=tuple(claim for claim in claims.values() if claim is not smallest),
            missed=() if plan.decision is not None else self._count_missed(rule, smallest),
            positive=plan.positive,
        )

    def _count_missed(self, rule: Rule, claim: Claim) -> tuple[Missed, ...]:
        """Count the misclassified rows of each class; empty for a posterior, which draws at random."""
        predictions, tested = self.inputs.predictions, rule.validation_predictions(self.inputs, claim.level)
        if tested is None or predictions.evaluated_mask() is not None:
            return ()
        number = predictions.n_classes
        rows = predictions.count_codes(predictions.y_true, number)
        missed = predictions.count_codes(predictions.y_true, number, tested[0] != predictions.y_true)
        counts = zip(predictions.classes, rows.tolist(), missed.tolist(), strict=True)
        return tuple(Missed(to_python_scalar(label), n, k) for label, n, k in counts if n > 0)

    def _add_metrics(self, voting: str, certificate: Certificate) -> Certificate:
        """Add the bounds of metrics, which are not available for a posterior."""
        assert certificate.level is not None
        tested = self.rule(voting).validation_predictions(self.inputs, certificate.level)
        if tested is None:
            return replace(certificate, assumptions=(*certificate.assumptions, sentences.NO_METRICS))
        y_pred, level = tested
        whole = level / (1.0 - self.plan.share) * (1.0 - 1e-12)
        assumption = sentences.METRICS_ASSUMPTION.format(share=self.plan.share)
        predictions = self.inputs.predictions
        if voting != SOFT and SOFT in self.plan.votings:
            # Only the soft vote has probabilities.
            predictions = replace(predictions, probabilities=None)
        metrics = bound_metrics(y_pred, self.plan, predictions, whole)
        return replace(certificate, assumptions=(*certificate.assumptions, assumption), metrics=metrics)

    def _add_abstention(self, voting: str, certificate: Certificate) -> Certificate:
        """Replace the bound by that of the primary rule on accepted rows, at level delta."""
        plan = self.plan
        assert isinstance(plan.decision, Abstain)
        assert isinstance(plan.thresholds, ConfidenceGrid)
        counts, max_error = abstention_counts(plan, self.inputs.predictions, voting), plan.decision.max_error
        result = certify_abstention(plan.thresholds, counts, plan.split.m, max_error, plan.delta)
        overall = min(self.claims(voting).values(), key=lambda claim: claim.bound)
        # Omit sentences on delta and draws: the rule with the smallest bound may be another one.
        shares = sentences.describe_delta_shares(plan.hedge_for_voting(voting), False)
        keyed = {sentences.AVERAGED_OVER_DRAWS: sentences.KEYED}
        assumptions = (keyed.get(sentence, sentence) for sentence in certificate.assumptions if sentence not in shares)
        return replace(
            certificate,
            bound=max_error if result.passed else 1.0,
            lower=None,
            distance="binomial",
            empirical_risk=result.errors / result.accepted if result.passed else 0.0,
            kl=0.0,
            holds_for=sentences.holds_for(voting, voting == Draws.voting, False),
            theorem="Exact binomial tests of the error rate on accepted rows, in a fixed order, of a rule fixed on the "
            "training rows.",
            assumptions=(*assumptions, sentences.ABSTENTION_ASSUMPTION),
            rule=PRIMARY,
            level=plan.delta,
            source=TRAINING,
            alternatives=(overall, *certificate.alternatives),
            decision=replace(result, unit=certificate.unit),
        )

    def _add_soft_decision(self, certificate: Certificate) -> Certificate:
        """Replace the bound of the soft vote by the guarantee of its threshold or of its prediction sets."""
        plan, predictions, risk = self.plan, self.inputs.predictions, certificate.empirical_risk
        result: ThresholdResult | SetResult
        if isinstance(plan.decision, PredictionSet):
            assert predictions.probabilities is not None
            assert predictions.rule_predictions is not None
            y_pred = predictions.rule_predictions[plan.fixed_rules.index(plan.soft)]
            inputs = (predictions.probabilities, predictions.y_true, predictions.classes)
            result = calibrate_sets(plan.decision, *inputs, plan.delta, y_pred)
            theorem, assumption = sentences.SETS_THEOREM, sentences.SETS_ASSUMPTION
        else:
            assert isinstance(plan.decision, Threshold)
            assert isinstance(plan.thresholds, ThresholdGrid)
            result = certify_threshold(plan.thresholds, threshold_counts(plan, predictions), plan.decision, plan.delta)
            risk = result.errors / result.m if result.passed else risk
            theorem, assumption = sentences.THRESHOLD_THEOREM, sentences.THRESHOLD_ASSUMPTION
            if plan.decision.cost is not None:
                theorem, assumption = sentences.COST_THEOREM, sentences.COST_THRESHOLD_ASSUMPTION
        return replace(
            certificate,
            bound=1.0,
            lower=None,
            distance="binomial",
            empirical_risk=risk,
            theorem=theorem,
            assumptions=(*certificate.assumptions, assumption),
            baselines={},
            level=plan.delta,
            decision=replace(result, unit=certificate.unit),
        )

    # -- baselines ---------------------------------------------------------------------------------------------------

    @cached_property
    def _baselines(self) -> dict[str, Baseline]:
        """Baselines by name; each bound holds on its own at level delta."""
        plan, counted = self.plan, self.inputs.error_counts
        best = best_single(counted, plan.main_level, plan.prior)
        baselines = {
            "Occam": Baseline(best.bound, best.empirical_risk, "the best single classifier, chosen on the same rows"),
            "holdout": self._holdout_baseline(),
            MAJORITY_CLASS: majority_class_baseline(plan, self.inputs.predictions),
        }
        return {name: replace(baseline, unit=plan.split.unit) for name, baseline in baselines.items()}

    def _holdout_baseline(self) -> Baseline:
        """Holdout baseline: a single classifier that was chosen without the validation rows."""
        plan, counted, chosen = self.plan, self.inputs.error_counts, self.plan.holdout
        if chosen is None:
            shared = NO_PRIMARY if plan.split.prefit else NO_CV
            return Baseline(None, None, shared if plan.split.kind == "shared" else NOT_SHARED)
        validated, errors = plan.cross_validation, counted[chosen]
        note = sentences.format_classifier(chosen, self._params[chosen])
        if validated is None:
            note += ", fixed before validation"
        else:
            tried = max(validated.candidates.size, select_evenly_spaced(len(counted)).size)
            note = sentences.describe_cv_choice(note, tried, len(counted), validated.sizes.size)
        baseline = Baseline(float(errors.upper(plan.delta)[0]), float(errors.risks[0]), note)
        if plan.bet is None:
            return baseline
        wrong = self.inputs.predictions.y_pred[chosen] != self.inputs.predictions.y_true
        return replace(baseline, bound=bet_upper(_group_losses(wrong, plan), plan.bet, plan.delta))


def _group_losses(wrong: NDArray[np.bool_], plan: Plan) -> FloatArray:
    """Error rate of each group."""
    return average_by_unit(wrong.astype(np.float64), plan.split)


def most_frequent(train: ArrayLike, validation: ArrayLike) -> tuple[Any, int]:
    """Most frequent training label (the first in case of ties), and the number of validation labels that differ.

    Examples
    --------
    >>> most_frequent(["no", "yes", "no"], ["no", "no", "yes", "no"])
    ('no', 1)
    """
    labels, counts = np.unique(np.asarray(train), return_counts=True)
    label = labels[np.argmax(counts)]
    errors = int(np.count_nonzero(np.asarray(validation) != label))
    return to_python_scalar(label), errors


def fixed_label_baseline(label: Any, counted: ErrorCounts, delta: float) -> Baseline:
    """Baseline that always predicts `label`, which was chosen without the validation rows, as by `most_frequent`.

    It is a single classifier: its bound (exact; Chernoff's for groups) holds at the whole level `delta`.

    Examples
    --------
    >>> print(fixed_label_baseline("no", ErrorCounts(np.array([[6]]), None, 1000), 0.05))
    at most 1.2 % (0.60 % errors on the validation rows): majority-class baseline ('no')
    """
    note = f"majority-class baseline ({sentences.format_label(label)})"
    return Baseline(float(counted.upper(delta)[0]), float(counted.risks[0]), note)


def majority_class_baseline(plan: Plan, predictions: ValidationPredictions) -> Baseline:
    """Baseline that always predicts the majority class, on the first classifier's validation rows."""
    if plan.majority_class is None:
        return Baseline(None, None, "the training rows are unknown")
    code = predictions.encode_class(plan.majority_class)
    counted = predictions.count_constant_errors(code, plan.split)
    baseline = fixed_label_baseline(plan.majority_class, counted, plan.delta)
    if plan.bet is None:
        return baseline
    # Use the smaller of two bounds, each at half of delta, so that the baseline is not handicapped: Chernoff's bound is
    # smaller if many groups have errors, a betting bound if few have.
    half = 0.5 * plan.delta
    betting = bet_upper(_group_losses(predictions.y_true != code, plan), DEFAULT_BET, half)
    return replace(baseline, bound=min(betting or 1.0, float(counted.upper(half)[0])))


def abstention_counts(plan: Plan, predictions: ValidationPredictions, voting: str) -> tuple[Codes, Codes]:
    """Count the validation rows that the primary rule accepts at each threshold, and its errors among them."""
    assert isinstance(plan.thresholds, ConfidenceGrid)
    assert predictions.rule_predictions is not None
    assert predictions.scores is not None
    place = plan.fixed_rules.index(plan.primary_rules[voting])
    wrong = predictions.rule_predictions[place] != predictions.y_true
    return count_at_thresholds(plan.thresholds.values, predictions.scores[place], wrong)


def threshold_counts(plan: Plan, predictions: ValidationPredictions) -> ConfusionCounts:
    """Count the validation rows at each threshold on the probability of the positive class."""
    assert isinstance(plan.thresholds, ThresholdGrid)
    assert predictions.scores is not None
    positive = predictions.y_true == predictions.encode_class(plan.thresholds.positive)
    return ConfusionCounts.from_scores(
        plan.thresholds.values, predictions.scores[plan.fixed_rules.index(plan.soft)], positive
    )
