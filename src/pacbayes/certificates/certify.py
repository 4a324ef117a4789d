"""From what was planned, observed and found to certificates: a pure function, and the only one."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import cached_property, round_down, usual_float_errors
from pacbayes._utils.checks import need
from pacbayes.bounds.bets import bet_upper
from pacbayes.bounds.distances import get_distance
from pacbayes.certificates.assumptions import (
    ALONE,
    AVERAGED,
    BY_ROW,
    KEYED,
    LIMITS,
    NO_LIMITS,
    TARGET,
    THRESHOLD,
    roles,
    shares_of_delta,
)
from pacbayes.certificates.baselines import hold_out, no_skill
from pacbayes.certificates.certificate import (
    BEFOREHAND,
    CONSTANT,
    TRAINING,
    VALIDATION,
    Baseline,
    Certificate,
    Claim,
    Missed,
)
from pacbayes.certificates.choices import PRIORS
from pacbayes.certificates.find import Found
from pacbayes.certificates.levels import best_single, divide_delta, occam_levels
from pacbayes.certificates.limits import Limit, plain
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.refit import REFIT
from pacbayes.certificates.risks import limits_of
from pacbayes.certificates.target import Thresholds, counted_at, loosest_passed
from pacbayes.certificates.threshold import Abstain, CountedRows, Cuts, Threshold, reach_in_order
from pacbayes.certificates.voting import (
    EXACT,
    KL,
    PROPOSAL,
    SINGLES,
    SOFT,
    TWICE_KL,
    Rule,
    integer_weights,
    weights_of,
)
from pacbayes.ensemble.evidence import Counted, Evidence, unit_losses
from pacbayes.posteriors.posterior import Posterior, Problem

_FIXED = {
    SOFT: "its classifiers, their probabilities and weights were fixed before any validation row was looked at",
    "best": "the classifier was fixed before any validation row was looked at",
    "majority": "the weights of the vote were fixed before any validation row was looked at",
    "stochastic": "weights and key of the draws were fixed before any validation row was looked at, and it is "
    "certified for this key",
}
_NAMES = {SOFT: "the soft vote", "majority": "the majority vote", "best": "the best single classifier"}
_DRAWN, _DRAWN_BY_KEY = "the stochastic classifier", "the stochastic classifier with its key"


def certify(
    plan: Plan, evidence: Evidence, found: Found, params: Sequence[dict[str, Any]] | None = None
) -> dict[str, Certificate]:
    r"""Return the certificates of a set by way of predicting; each holds alone at level ``plan.delta``.

    For each way, rules share delta (`Plan.rules`), and the one with the smallest bound is certified:

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
    >>> from pacbayes.certificates import Plan, find
    >>> wrong = np.arange(100) < np.array([[8], [9], [30]])
    >>> classifiers = ClassifierSet.from_predictions(wrong.astype(int), np.zeros(100, dtype=int))
    >>> plan, evidence = Plan(classifiers.splits), classifiers.evidence
    >>> for certificate in certify(plan, evidence, find(plan, evidence)).values():
    ...     print(certificate.holds_for, f"{certificate.bound:.4f}")
    the stochastic classifier 0.2112
    the majority vote 0.4224
    the best single classifier 0.1581
    """
    case = _Case(plan, evidence, found)
    named = [{}] * len(evidence) if params is None else params
    best = best_single(case.counted, plan.main_level, plan.prior)
    occam = Baseline(best.bound, best.empirical_risk, "the best single classifier, chosen on the same rows")
    beside = {"hold-out": hold_out(plan, evidence, case.counted, named), CONSTANT: no_skill(plan, evidence)}
    certificates = {}
    for voting in plan.votings:
        claims = [case.claim(rule) for rule in plan.rules if rule.voting == voting]
        baselines = beside if voting == "best" else {"Occam": occam, **beside}
        certificate = case.certificate(voting, claims, baselines)
        if isinstance(plan.target, Threshold):
            certificate = case.with_threshold(certificate) if voting == SOFT else certificate
        elif plan.target is not None:
            certificate = case.with_target(voting, certificate)
        elif plan.limits:
            certificate = case.with_limits(voting, certificate)
        if plan.refit == voting:
            limits = tuple(replace(one, covered=True) for one in certificate.limits)
            assumptions = (*certificate.assumptions, REFIT)
            certificate = replace(certificate, refit=True, assumptions=assumptions, limits=limits)
        certificates[voting] = certificate
    return certificates


@dataclass(frozen=True, eq=False)
class _Case:
    """A plan with what was observed and found."""

    plan: Plan
    evidence: Evidence
    found: Found

    @cached_property
    def counted(self) -> Counted:
        """The errors of all classifiers."""
        return self.evidence.count(self.plan.division)

    @cached_property
    def tested(self) -> Counted:
        """The errors of the planned rules."""
        assert self.evidence.said is not None
        return self.evidence.count_answers(self.evidence.said, self.plan.division)

    # -- claims ------------------------------------------------------------------------------------------------------

    def claim(self, rule: Rule) -> Claim:
        """Return what one rule guarantees at its level."""
        bounds = {
            EXACT: self._exact,
            KL: self._drawn,
            TWICE_KL: self._doubled,
            SINGLES: self._occam,
        }
        claim = bounds[rule.bound](rule)
        if self.plan.division.trained_elsewhere and claim.source == TRAINING:
            return replace(claim, source=BEFOREHAND)
        return claim

    def _exact(self, rule: Rule) -> Claim:
        """Return the limit of a rule's own errors."""
        place = self.plan.place(rule.voting, rule.name)
        own = self.tested[place]
        bound, distance, limit = float(own.upper(rule.level)[0]), "binomial", "The exact binomial limit"
        if rule.bet is not None:
            assert self.evidence.said is not None
            wrong = (self.evidence.said[place] != self.evidence.truth).astype(np.float64)
            bound = bet_upper(unit_losses(wrong, self.plan.division), rule.bet, rule.level)
            distance, limit = "bet", "The limit by a bet, fixed beforehand, on each group's share"
        elif not own.exact:
            distance, limit = "chernoff", "Chernoff's limit (the kl inverse)"
        return Claim(
            rule=rule.name,
            source=TRAINING if rule.name == PROPOSAL else VALIDATION,
            level=rule.level,
            bound=bound,
            empirical_risk=float(own.risks[0]),
            kl=0.0,
            distance=distance,
            theorem=f"{limit} of the rule's own errors, at its share of delta; {_FIXED[rule.voting]}.",
        )

    def _drawn(self, rule: Rule) -> Claim:
        """Return the PAC-Bayesian bound of the posterior, which holds for all posteriors at once."""
        found, number = self.found.posterior, len(self.plan.distances)
        assert found is not None
        posterior = self._at_level(found, divide_delta(rule.level, number))
        theorem = f"PAC-Bayes bound with the distance {posterior.distance} and the {posterior.constant} constant."
        if number > 1:
            theorem += f" It is the smallest of {number}; each was computed at delta / {number}."
        return Claim(
            rule=rule.name,
            source=VALIDATION,
            level=posterior.delta,
            bound=min(posterior.bound, 1.0),
            empirical_risk=posterior.empirical_risk,
            kl=posterior.kl,
            distance=posterior.distance,
            theorem=theorem,
            lower=_lower(posterior),
        )

    def _at_level(self, posterior: Posterior, level: float) -> Posterior:
        """Return the weights that predict with their bound at a level, from what was planned and observed alone.

        Whatever else is said of them: they may come from a file, or from another set.
        """
        plan, among = self.plan, {one.name: one for one in self.plan.distances}
        need(posterior.distance in among, "Found.posterior", "must be one for a distance that was planned")
        m, distance, constant = plan.division.m, among[posterior.distance], plan.constant
        with usual_float_errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
            problem = Problem.checked(self.counted.risks, m, distance, level, plan.prior, constant)
            bound, risk, kl = problem.evaluate(weights_of(integer_weights(posterior.weights)))
        found = replace(posterior, bound=bound, empirical_risk=risk, kl=kl, delta=level)
        return replace(found, m=m, used_distance=distance, constant=constant)

    def _doubled(self, rule: Rule) -> Claim:
        """Return what the stochastic classifier's claim says of the vote with the same weights."""
        drawn = self._drawn(rule)
        price = (
            "Twice the stochastic classifier's bound: the price of a guarantee for the vote, which usually errs less "
            "than the stochastic classifier. " + drawn.theorem
        )
        # Doubling is exact.
        return replace(drawn, bound=min(2.0 * drawn.bound, 1.0), lower=None, theorem=price)

    def _occam(self, rule: Rule) -> Claim:
        best, hedge = best_single(self.counted, rule.level, self.plan.prior), self.plan.hedge
        limit = "the exact binomial limit" if self.counted.exact else "Chernoff's limit (the kl inverse)"
        level = "delta" if hedge == 1.0 else f"{hedge:g} delta"
        return Claim(
            rule=rule.name,
            source=VALIDATION,
            level=rule.level,
            bound=best.bound,
            empirical_risk=best.empirical_risk,
            kl=best.kl,
            distance="binomial" if self.counted.exact else "chernoff",
            theorem=f"Occam's bound: {limit} at {level} times the prior weight of classifier {best.index}.",
        )

    # -- certificates ------------------------------------------------------------------------------------------------

    def certificate(self, voting: str, claims: list[Claim], baselines: dict[str, Baseline]) -> Certificate:
        """Return the certificate of the claim with the smallest bound, the first of several."""
        plan, division = self.plan, self.plan.division
        won = min(claims, key=lambda claim: claim.bound)
        keyed = voting == "stochastic" and won.rule == PROPOSAL
        elsewhere = division.trained_elsewhere
        shares = shares_of_delta(plan.hedge_of(voting), elsewhere)
        assumptions = (*roles(division), PRIORS[plan.prior_kind], *shares, BY_ROW, ALONE)
        if voting == "stochastic":
            assumptions = (*assumptions, KEYED if keyed else AVERAGED)
        return Certificate(
            bound=won.bound,
            lower=won.lower,
            delta=plan.delta,
            m=division.m,
            distance=won.distance,
            empirical_risk=won.empirical_risk,
            kl=won.kl,
            holds_for="the classifier"
            if len(self.evidence) == 1
            else _NAMES.get(voting, _DRAWN_BY_KEY if keyed else _DRAWN),
            theorem=won.theorem,
            assumptions=assumptions,
            baselines={name: replace(one, unit=division.unit) for name, one in baselines.items()},
            unit=division.unit,
            copies=division.copies,
            rule=won.rule,
            level=won.level,
            source=won.source,
            alternatives=tuple(claim for claim in claims if claim is not won),
            missed=() if plan.target is not None else self._missed(voting, won),
            positive=plan.positive,
        )

    def _missed(self, voting: str, won: Claim) -> tuple[Missed, ...]:
        """Return what the rule that predicts missed of each class; nothing of a posterior, whose draws vary."""
        plan, evidence = self.plan, self.evidence
        fixed = fixed_answers(plan, evidence, self.counted, voting, won.rule, won.level)
        if fixed is None or evidence.validates() is not None:
            return ()
        number = evidence.n_classes
        rows = np.bincount(evidence.truth, minlength=number)
        missed = np.bincount(evidence.truth[fixed[0] != evidence.truth], minlength=number)
        return tuple(
            Missed(plain(label), int(n), int(k))
            for label, n, k in zip(evidence.labels[:number], rows, missed, strict=True)
            if n > 0
        )

    def with_limits(self, voting: str, found: Certificate) -> Certificate:
        """Return a certificate with limits of other risks, where there are any."""
        limits = self._limits(voting, found)
        if limits is None:
            return replace(found, assumptions=(*found.assumptions, NO_LIMITS))
        assumed = LIMITS.format(share=self.plan.share)
        return replace(found, assumptions=(*found.assumptions, assumed), limits=limits)

    def _limits(self, voting: str, found: Certificate) -> tuple[Limit, ...] | None:
        """Return the limits of the rule that predicts; None for a posterior, of which none are proved."""
        plan, evidence = self.plan, self.evidence
        assert found.level is not None
        fixed = fixed_answers(plan, evidence, self.counted, voting, found.rule, found.level)
        if fixed is None:
            return None
        said, level = fixed
        whole = level / (1.0 - plan.share) * (1.0 - 1e-12)
        return limits_of(said, plan, evidence, whole)

    def with_target(self, voting: str, found: Certificate) -> Certificate:
        """Return the certificate of the proposal where it answers, at the whole of delta."""
        plan = self.plan
        assert isinstance(plan.target, Abstain)
        assert isinstance(plan.thresholds, Thresholds)
        counted, most = threshold_counts(plan, self.evidence, voting), plan.target.max_error
        answered = loosest_passed(plan.thresholds, counted, plan.division.m, most, plan.delta)
        own = Claim(
            found.rule, found.source, found.level or plan.delta, found.bound, found.empirical_risk, found.kl,
            found.distance, found.theorem, found.lower,
        )  # fmt: skip
        # What was said of delta and of draws is about the rule with the smallest bound, which may be another.
        shares = shares_of_delta(plan.hedge_of(voting), False)
        assumed = (KEYED if one == AVERAGED else one for one in found.assumptions if one not in shares)
        return replace(
            found,
            bound=most if answered.passed else 1.0,
            lower=None,
            distance="binomial",
            empirical_risk=answered.errors / answered.rows if answered.passed else 0.0,
            kl=0.0,
            holds_for=_NAMES.get(voting, _DRAWN_BY_KEY),
            theorem="Exact binomial tests of a target, in a fixed order, of a rule fixed on the training rows.",
            assumptions=(*assumed, TARGET),
            rule=PROPOSAL,
            level=plan.delta,
            source=TRAINING,
            alternatives=(own, *found.alternatives),
            answered=replace(answered, unit=found.unit),
        )

    def with_threshold(self, found: Certificate) -> Certificate:
        """Return the certificate of the soft vote with a threshold: its targets, and no limit of anything else."""
        plan = self.plan
        assert isinstance(plan.target, Threshold)
        assert isinstance(plan.thresholds, Cuts)
        counted = cut_counts(plan, self.evidence)
        reached = reach_in_order(plan.thresholds, counted, plan.target, plan.delta)
        return replace(
            found,
            bound=1.0,
            lower=None,
            distance="binomial",
            empirical_risk=reached.errors / reached.m if reached.passed else found.empirical_risk,
            theorem="Exact binomial tests of targets, in a fixed order, of a rule fixed on the training rows.",
            assumptions=(*found.assumptions, THRESHOLD),
            baselines={},
            level=plan.delta,
            reached=replace(reached, unit=found.unit),
        )


def fixed_answers(
    plan: Plan, evidence: Evidence, counted: Counted, voting: str, name: str, level: float
) -> tuple[NDArray[Any], float] | None:
    """Return what the rule that predicts said of the validation rows, and its own level where it was given `level`.

    That is the same, but for Occam's choice, whose classifier has a part of it by its prior weight.  None for weights
    that the validation rows found: their own errors on these rows are no test.
    """
    rule = next(one for one in plan.rules if (one.voting, one.name) == (voting, name))
    if rule.bound == EXACT:
        assert evidence.said is not None
        return evidence.said[plan.place(voting, name)], level
    if rule.bound == SINGLES:
        index = best_single(counted, rule.level, plan.prior).index
        return evidence.answers[index], float(occam_levels(len(evidence), level, plan.prior)[index])
    return None


def threshold_counts(plan: Plan, evidence: Evidence, voting: str) -> tuple[Any, Any]:
    """Return for each threshold the validation rows that a way's proposal answers, and its errors among them."""
    assert isinstance(plan.thresholds, Thresholds)
    assert evidence.said is not None
    assert evidence.scores is not None
    place = plan.place(voting, PROPOSAL)
    return counted_at(plan.thresholds.values, evidence.scores[place], evidence.said[place] != evidence.truth)


def cut_counts(plan: Plan, evidence: Evidence) -> CountedRows:
    """Return what is counted of the validation rows at each threshold of the positive class's probability."""
    assert isinstance(plan.thresholds, Cuts)
    assert evidence.scores is not None
    positive = evidence.truth == evidence.code_of(plan.thresholds.positive)
    return CountedRows.at(plan.thresholds.values, evidence.scores[plan.place(SOFT, PROPOSAL)], positive)


def _lower(posterior: Posterior) -> float | None:
    """Return the lower root, which holds at once with the upper: both follow from one bound on the distance."""
    distance = get_distance(posterior.used_distance or posterior.distance)
    if not distance.two_sided:
        return None
    function = distance.bound_function(posterior.m, posterior.delta, posterior.constant)
    # The empirical risk was rounded up, by at most about 45 units in the last place.
    risk = max(round_down(posterior.empirical_risk, 128.0), 0.0)
    return max(distance.lower(risk, function.threshold(posterior.kl)), 0.0)
