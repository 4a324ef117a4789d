"""From what was planned, observed and found to certificates, each computed when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import Codes, FloatArray, cached_property
from pacbayes.bounds.bets import DEFAULT_BET, bet_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.certificate import (
    CONSTANT,
    TRAINING,
    Baseline,
    Certificate,
    Claim,
    Missed,
)
from pacbayes.certificates.decisions import Abstain, Threshold
from pacbayes.certificates.levels import best_single, plain
from pacbayes.certificates.metrics import bound_metrics
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors
from pacbayes.certificates.rules import Case, Draws, Rule
from pacbayes.certificates.thresholds import (
    ConfidenceGrid,
    ConfusionCounts,
    ThresholdGrid,
    certify_abstention,
    certify_threshold,
    counted_at,
)
from pacbayes.certificates.voting import PRIMARY, SOFT
from pacbayes.ensemble.cross_validation import evenly_spaced
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions, unit_losses

# Why there is no holdout.
NOT_SHARED = "every row validates some classifier"
NOT_ASKED = "cv=None: not asked for"
NO_PRIMARY = "no classifier was proposed beforehand"


def certify(
    plan: Plan, predictions: ValidationPredictions, found: Posteriors, params: Sequence[dict[str, Any]] | None = None
) -> Certificates:
    r"""Return the certificates of a set by way of predicting; each holds alone at level ``plan.delta``.

    For each way, rules share delta (`Plan.levels`), and the one with the smallest bound is certified:

    * soft: the vote by mean probabilities that was planned, alone.
    * stochastic: draws that were planned, and the posterior with its PAC-Bayesian bound `B` (and the lower root where
      the theorem has two sides).
    * majority: votes that were planned, and that of the posterior with `2 B`.  Where a weighted vote errs, ties
      included, classifiers of at least half the weight err, so that it errs at most twice as often as the stochastic
      classifier.
    * best: the classifier that was planned, and Occam's bound: for each classifier the exact binomial limit (for
      groups, Chernoff's) at its level times :math:`p_i`; all hold at once, hence the smallest does, whichever it is.

    `params`, what distinguishes the classifiers, stand in words only.

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
    return Certificates(plan, predictions, found, params)


class Certificates(Mapping[str, Certificate]):
    """Certificates by way of predicting, each computed when it is first asked for.

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
        found: Posteriors,
        params: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self.plan, self.case = plan, Case(plan.split, predictions, found.posterior, plan.fixed_rules, plan.levels)
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
        """Return what each rule of a way of predicting guarantees."""
        if voting not in self._claims:
            self._claims[voting] = {rule: rule.bound(self.case) for rule in self.plan.levels if rule.voting == voting}
        return self._claims[voting]

    def rule(self, voting: str) -> Rule:
        """Return the rule that predicts: the one with the smallest bound, the first of several.

        With a target that is the proposal, whose answers were tested.
        """
        if self.plan.decision is not None:
            return self.plan.primary_rules[voting]
        claims = self.claims(voting)
        return min(claims, key=lambda rule: claims[rule].bound)

    # -- certificates ------------------------------------------------------------------------------------------------

    def _certify(self, voting: str) -> Certificate:
        plan, certificate = self.plan, self._bounded(voting)
        if isinstance(plan.decision, Abstain):
            certificate = self._with_abstention(voting, certificate)
        elif plan.decision is not None:
            certificate = self._with_threshold(certificate) if voting == SOFT else certificate
        elif plan.metrics:
            certificate = self._with_metrics(voting, certificate)
        if plan.refit == voting:
            metrics = tuple(replace(one, covered=True) for one in certificate.metrics)
            assumptions = (*certificate.assumptions, sentences.REFIT)
            certificate = replace(certificate, refit=True, assumptions=assumptions, metrics=metrics)
        return certificate

    def _bounded(self, voting: str) -> Certificate:
        """Return the certificate of the claim with the smallest bound, the first of several."""
        plan, split, claims = self.plan, self.plan.split, self.claims(voting)
        rule = min(claims, key=lambda rule: claims[rule].bound)
        won, keyed = claims[rule], isinstance(rule, Draws)
        shares = sentences.shares_of_delta(plan.hedge_of(voting), split.prefit)
        assumptions = (*sentences.roles(split), sentences.PRIORS[plan.prior_kind], *shares)
        assumptions = (*assumptions, sentences.BY_ROW, sentences.ALONE)
        if voting == "stochastic":
            assumptions = (*assumptions, sentences.KEYED if keyed else sentences.AVERAGED)
        return Certificate(
            **vars(won),
            delta=plan.delta,
            m=split.m,
            holds_for=sentences.holds_for(voting, keyed, len(self.case.predictions) == 1),
            assumptions=assumptions,
            baselines={name: one for name, one in self._baselines.items() if (voting, name) != ("best", "Occam")},
            unit=split.unit,
            copies=split.copies,
            alternatives=tuple(claim for claim in claims.values() if claim is not won),
            missed=() if plan.decision is not None else self._missed(rule, won),
            positive=plan.positive,
        )

    def _missed(self, rule: Rule, won: Claim) -> tuple[Missed, ...]:
        """Return what the rule that predicts missed of each class; nothing of a posterior, whose draws vary."""
        predictions, tested = self.case.predictions, rule.validation_predictions(self.case, won.level)
        if tested is None or predictions.evaluated_mask() is not None:
            return ()
        number = predictions.n_classes
        rows = predictions.tally(predictions.y_true, number)
        missed = predictions.tally(predictions.y_true, number, tested[0] != predictions.y_true)
        counts = zip(predictions.classes, rows.tolist(), missed.tolist(), strict=True)
        return tuple(Missed(plain(label), n, k) for label, n, k in counts if n > 0)

    def _with_metrics(self, voting: str, found: Certificate) -> Certificate:
        """Return a certificate with limits of other risks; without for a posterior, of which none are proved."""
        assert found.level is not None
        tested = self.rule(voting).validation_predictions(self.case, found.level)
        if tested is None:
            return replace(found, assumptions=(*found.assumptions, sentences.NO_METRICS))
        said, level = tested
        whole = level / (1.0 - self.plan.share) * (1.0 - 1e-12)
        assumed = sentences.METRICS_ASSUMPTION.format(share=self.plan.share)
        metrics = bound_metrics(said, self.plan, self.case.predictions, whole)
        return replace(found, assumptions=(*found.assumptions, assumed), metrics=metrics)

    def _with_abstention(self, voting: str, found: Certificate) -> Certificate:
        """Return the certificate of the proposal where it answers, at the whole of delta."""
        plan = self.plan
        assert isinstance(plan.decision, Abstain)
        assert isinstance(plan.thresholds, ConfidenceGrid)
        counted, most = threshold_counts(plan, self.case.predictions, voting), plan.decision.max_error
        answered = certify_abstention(plan.thresholds, counted, plan.split.m, most, plan.delta)
        own = min(self.claims(voting).values(), key=lambda claim: claim.bound)
        # What was said of delta and of draws is about the rule with the smallest bound, which may be another.
        shares = sentences.shares_of_delta(plan.hedge_of(voting), False)
        keyed = {sentences.AVERAGED: sentences.KEYED}
        assumed = (keyed.get(one, one) for one in found.assumptions if one not in shares)
        return replace(
            found,
            bound=most if answered.passed else 1.0,
            lower=None,
            distance="binomial",
            empirical_risk=answered.errors / answered.rows if answered.passed else 0.0,
            kl=0.0,
            holds_for=sentences.holds_for(voting, voting == Draws.voting, False),
            theorem="Exact binomial tests of a target, in a fixed order, of a rule fixed on the training rows.",
            assumptions=(*assumed, sentences.TARGET),
            rule=PRIMARY,
            level=plan.delta,
            source=TRAINING,
            alternatives=(own, *found.alternatives),
            decision=replace(answered, unit=found.unit),
        )

    def _with_threshold(self, found: Certificate) -> Certificate:
        """Return the certificate of the soft vote with a threshold: its targets, and no limit of anything else."""
        plan = self.plan
        assert isinstance(plan.decision, Threshold)
        assert isinstance(plan.thresholds, ThresholdGrid)
        reached = certify_threshold(
            plan.thresholds, threshold_grid_counts(plan, self.case.predictions), plan.decision, plan.delta
        )
        return replace(
            found,
            bound=1.0,
            lower=None,
            distance="binomial",
            empirical_risk=reached.errors / reached.m if reached.passed else found.empirical_risk,
            theorem="Exact binomial tests of targets, in a fixed order, of a rule fixed on the training rows.",
            assumptions=(*found.assumptions, sentences.THRESHOLD),
            baselines={},
            level=plan.delta,
            decision=replace(reached, unit=found.unit),
        )

    # -- baselines ---------------------------------------------------------------------------------------------------

    @cached_property
    def _baselines(self) -> dict[str, Baseline]:
        """What a certificate is compared with; all hold at the whole level, each alone."""
        plan, counted = self.plan, self.case.counted
        best = best_single(counted, plan.main_level, plan.prior)
        found = {
            "Occam": Baseline(best.bound, best.empirical_risk, "the best single classifier, chosen on the same rows"),
            "holdout": self._holdout(),
            CONSTANT: majority_class(plan, self.case.predictions),
        }
        return {name: replace(one, unit=plan.split.unit) for name, one in found.items()}

    def _holdout(self) -> Baseline:
        """Return the baseline for the classifier chosen within the training rows."""
        plan, counted, chosen = self.plan, self.case.counted, self.plan.holdout
        if chosen is None:
            shared = NO_PRIMARY if plan.split.prefit else NOT_ASKED
            return Baseline(None, None, shared if plan.split.kind == "shared" else NOT_SHARED)
        found, own = plan.cross_validation, counted[chosen]
        note = sentences.classifier(chosen, self._params[chosen])
        if found is None:
            note += ", proposed beforehand"
        else:
            tried = max(found.candidates.size, evenly_spaced(len(counted)).size)
            note = sentences.chosen_within(note, tried, len(counted), found.sizes.size)
        baseline = Baseline(float(own.upper(plan.delta)[0]), float(own.risks[0]), note)
        if plan.bet is None:
            return baseline
        wrong = self.case.predictions.y_pred[chosen] != self.case.predictions.y_true
        return replace(baseline, bound=bet_upper(_losses(wrong, plan), plan.bet, plan.delta))


def _losses(wrong: NDArray[np.bool_], plan: Plan) -> FloatArray:
    """Return the losses of groups by the rows that are wrong."""
    return unit_losses(wrong.astype(np.float64), plan.split)


def most_frequent(train: ArrayLike, validation: ArrayLike) -> tuple[Any, int]:
    """Return the label most frequent in training, the first of several, and the validation labels that are another.

    Examples
    --------
    >>> most_frequent(["no", "yes", "no"], ["no", "no", "yes", "no"])
    ('no', 1)
    """
    labels, counts = np.unique(np.asarray(train), return_counts=True)
    label = labels[np.argmax(counts)]
    errors = int(np.count_nonzero(np.asarray(validation) != label))
    return (label.item() if isinstance(label, np.generic) else label), errors


def fixed_label_baseline(label: Any, counted: ErrorCounts, delta: float) -> Baseline:
    """Return what always answering `label` errs on: the share of errors on validation rows, and its upper limit.

    The label must be chosen before any of these rows is seen, as `most_frequent` does.  Then it is one classifier, and
    its limit (exact, of groups Chernoff's) holds at the whole level `delta`.

    Examples
    --------
    >>> print(fixed_label_baseline("no", ErrorCounts(np.array([[6]]), None, 1000), 0.05))
    at most 1.2 % (0.60 % of the validation rows): majority class of the training rows ('no')
    """
    note = f"majority class of the training rows ({sentences.format_label(label)})"
    return Baseline(float(counted.upper(delta)[0]), float(counted.risks[0]), note)


def majority_class(plan: Plan, predictions: ValidationPredictions) -> Baseline:
    """Return what always answering the most frequent training label errs on, on the first classifier's rows."""
    if plan.majority_class is None:
        return Baseline(None, None, "the training rows are not here")
    code = predictions.code_of(plan.majority_class)
    counted = predictions.count_constant_errors(code, plan.split)
    baseline = fixed_label_baseline(plan.majority_class, counted, plan.delta)
    if plan.bet is None:
        return baseline
    # Compared with limits by bets it must not look worse than it is: Chernoff's limit is smaller where many groups err,
    # that of a bet where few do.  Each has half of delta.
    half = 0.5 * plan.delta
    by_bet = bet_upper(_losses(predictions.y_true != code, plan), DEFAULT_BET, half)
    return replace(baseline, bound=min(by_bet or 1.0, float(counted.upper(half)[0])))


def threshold_counts(plan: Plan, predictions: ValidationPredictions, voting: str) -> tuple[Codes, Codes]:
    """Return for each threshold the validation rows that a way's proposal answers, and its errors among them."""
    assert isinstance(plan.thresholds, ConfidenceGrid)
    assert predictions.rule_predictions is not None
    assert predictions.scores is not None
    place = plan.fixed_rules.index(plan.primary_rules[voting])
    return counted_at(
        plan.thresholds.values, predictions.scores[place], predictions.rule_predictions[place] != predictions.y_true
    )


def threshold_grid_counts(plan: Plan, predictions: ValidationPredictions) -> ConfusionCounts:
    """Return what is counted of the validation rows at each threshold of the positive class's probability."""
    assert isinstance(plan.thresholds, ThresholdGrid)
    assert predictions.scores is not None
    positive = predictions.y_true == predictions.code_of(plan.thresholds.positive)
    return ConfusionCounts.at(plan.thresholds.values, predictions.scores[plan.fixed_rules.index(plan.soft)], positive)
