r"""Rules: each knows how it predicts, and which bound its errors on the validation rows give it.

Fixed before any validation row is looked at, a rule is one deterministic classifier, and its errors on `m` validation
rows are binomial.  Of several rules with levels that sum to :math:`\delta` all limits hold at once with probability
:math:`1-\delta`, hence so does the smallest: equation (rules) of docs/mathematics.md.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, cached_property, round_down, usual_float_errors
from pacbayes._utils.checks import need, read_only
from pacbayes.bounds.bets import bet_upper
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.certificates.certificate import PRESPECIFIED, TRAINING, VALIDATION, Claim
from pacbayes.certificates.levels import SingleBest, best_single, divide_delta, occam_levels
from pacbayes.certificates.sentences import FIXED, doubled
from pacbayes.certificates.voting import (
    OCCAM,
    POSTERIOR,
    PRIMARY,
    SOFT,
    Counts,
    draw_classifiers,
    integer_weights,
    majority,
    parts_of_one,
    weighted_vote,
    weights_of,
)
from pacbayes.data.rows import number_of_rows
from pacbayes.data.split import Split
from pacbayes.ensemble.calibration import mean_margins
from pacbayes.ensemble.members import Calibrated, Coding, Members, Predictions
from pacbayes.ensemble.validation import Counted, ValidationPredictions, unit_losses
from pacbayes.posteriors.posterior import Posterior, Problem

#: Keyed hashes of rows, computed when a rule draws by them.
Hashes = Callable[[], NDArray[np.uint64]]


@dataclass(frozen=True, eq=False)
class Case:
    """What the validation rows showed, and what each rule has of delta: all that a bound is computed from."""

    split: Split
    predictions: ValidationPredictions
    posterior: Posterior | None
    #: The rules that `evidence.said` has a line for.
    fixed: tuple[FixedRule, ...]
    levels: Mapping[Rule, float]

    @cached_property
    def counted(self) -> Counted:
        """The errors of all classifiers."""
        return self.predictions.count(self.split)

    @cached_property
    def tested(self) -> Counted:
        """The errors of the fixed rules."""
        assert self.predictions.rule_predictions is not None
        return self.predictions.count_errors(self.predictions.rule_predictions, self.split)


class Rule(ABC):
    """One way to predict with the classifiers of a set, and the bound that it has."""

    #: How it predicts: a key of `certificates_`.
    voting: ClassVar[str]
    #: "primary", or the name of another that is tested beside it.
    name: str

    @abstractmethod
    def bound(self, case: Case) -> Claim:
        """Return what it guarantees at its level."""

    @abstractmethod
    def resolved(self, case: Case) -> FixedRule:
        """Return the rule with the weights with which it predicts, which the validation rows may have found."""

    @abstractmethod
    def tested(self, case: Case, level: float) -> tuple[Codes, float] | None:
        """Return its predictions for the validation rows, and its own level where it was handed `level`.

        That is the same, but for Occam's choice, whose classifier has a part of it by its prior weight.  None for
        weights that the validation rows found: their own errors on these rows are no test.
        """


@dataclass(frozen=True, eq=False)
class FixedRule(Rule):
    """A rule whose weights were fixed before any validation row was looked at."""

    name: str
    #: The weights, in whole multiples of 2^-52, shape (H,).
    weights: Counts
    #: Where rows come in groups: the bet on their losses, fixed on training rows; None for Chernoff's limit.
    bet: float | None = None

    def __post_init__(self) -> None:
        read_only(self.weights)

    @abstractmethod
    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict the numbers of the labels of prepared rows; `hashes` are those of the rows as they were given."""

    @abstractmethod
    def combine(self, y_pred: Predictions, labels: Labels, hashes: Hashes, shares: FloatArray | None = None) -> Codes:
        """Predict from the answers of all classifiers, shape (H, n), or mean probabilities; as `predict` does."""

    def follows(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether the rule can have predicted these labels where the classifiers answered so."""
        return np.array_equal(codes, self.combine(y_pred, labels, _no_hashes))

    @property
    def index(self) -> int:
        """The classifier with the largest weight: the only one, where the rule is one classifier."""
        return int(np.argmax(self.weights))

    def bound(self, case: Case) -> Claim:
        """Return the limit of its own errors: exact, for groups by its bet or Chernoff's."""
        place, level = case.fixed.index(self), case.levels[self]
        own = case.tested[place]
        bound, distance, limit = float(own.upper(level)[0]), "binomial", "The exact binomial limit"
        if self.bet is not None:
            wrong = (self.tested(case, level)[0] != case.predictions.y_true).astype(np.float64)
            bound = bet_upper(unit_losses(wrong, case.split), self.bet, level)
            distance, limit = "bet", "The limit by a bet, fixed beforehand, on each group's share"
        elif not own.exact:
            distance, limit = "chernoff", "Chernoff's limit (the kl inverse)"
        source = PRESPECIFIED if case.split.prefit else TRAINING
        return Claim(
            rule=self.name,
            source=source if self.name == PRIMARY else VALIDATION,
            level=level,
            bound=bound,
            empirical_risk=float(own.risks[0]),
            kl=0.0,
            distance=distance,
            theorem=f"{limit} of the rule's own errors, at its share of delta; {FIXED[self.voting]}.",
        )

    def resolved(self, case: Case) -> FixedRule:
        """Return itself."""
        return self

    def tested(self, case: Case, level: float) -> tuple[Codes, float]:
        """Return its predictions for the validation rows, and its level."""
        assert case.predictions.rule_predictions is not None
        return case.predictions.rule_predictions[case.fixed.index(self)], level


class Draws(FixedRule):
    """One classifier for every row, drawn by the row's keyed hash."""

    voting = "stochastic"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Ask the classifier that is drawn for each row."""
        return members.predict_assigned(X, draw_classifiers(hashes(), self.weights), coding)

    def combine(self, y_pred: Predictions, labels: Labels, hashes: Hashes, shares: FloatArray | None = None) -> Codes:
        """Pick the answer of the classifier that is drawn for each row."""
        chosen = draw_classifiers(hashes(), self.weights)
        return np.asarray(y_pred[chosen, np.arange(y_pred.shape[1])], dtype=np.intp)

    def follows(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether one of its classifiers answered so: which of them was drawn takes the rows to be known."""
        return bool((y_pred[self.weights > 0] == codes).any(axis=0).all())


class Vote(FixedRule):
    """The label with the largest weight behind it."""

    voting = "majority"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Ask the classifiers that may still change the vote."""
        return majority(members, X, self.weights, coding)

    def combine(self, y_pred: Predictions, labels: Labels, hashes: Hashes, shares: FloatArray | None = None) -> Codes:
        """Count the votes."""
        return weighted_vote(self.weights, y_pred, labels)


class Single(FixedRule):
    """One classifier."""

    voting = "best"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Ask the classifier."""
        return members.predict_assigned(X, np.full(number_of_rows(X), self.index, dtype=np.intp), coding)

    def combine(self, y_pred: Predictions, labels: Labels, hashes: Hashes, shares: FloatArray | None = None) -> Codes:
        """Pick its answers."""
        return np.asarray(y_pred[self.index], dtype=np.intp)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftVote(FixedRule):
    """The class with the largest mean of calibrated probabilities."""

    voting = SOFT

    #: How scores become probabilities, for each classifier with a weight.
    soft: Calibrated

    def shares(self, members: Members, X: Any) -> FloatArray:
        """Return mean probabilities for prepared rows, shape (n, learnt classes)."""
        return self.soft.shares(members.mean_probabilities(X, weights_of(self.weights), self.soft))

    def winners(self, shares: FloatArray) -> Codes:
        """Return the most probable class of each row.

        Classes are in their own order: of several with the largest probability the first wins.
        """
        return np.asarray(self.soft.classes[shares.argmax(axis=1)], dtype=np.intp)

    def confidences(self, shares: FloatArray, n_classes: int) -> FloatArray:
        """Return by how much each class is ahead of the others, shape (n, classes); NaN if it was not learnt."""
        margins = np.full((len(shares), n_classes), np.nan)
        margins[:, self.soft.classes] = mean_margins(shares)
        return margins

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Ask the classifiers how probable each class is."""
        return self.winners(self.shares(members, X))

    def combine(self, y_pred: Predictions, labels: Labels, hashes: Hashes, shares: FloatArray | None = None) -> Codes:
        """Take the most probable class."""
        assert shares is not None
        return self.winners(shares)

    def follows(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether these are classes that were learnt: more takes the rows to be known."""
        return bool(np.isin(codes, self.soft.classes).all())


def _no_hashes() -> NDArray[np.uint64]:
    raise TypeError("draws need the rows")


@dataclass(frozen=True, eq=False)
class PosteriorDraws(Rule):
    """Draws by the posterior that the validation rows found, whose PAC-Bayes bound holds for all posteriors at once."""

    distances: tuple[Distance, ...]
    constant: str
    prior: FloatArray | None

    voting = "stochastic"
    name = POSTERIOR
    kind: ClassVar[type[FixedRule]] = Draws

    def bound(self, case: Case) -> Claim:
        """Return the PAC-Bayesian bound, and the lower root where the theorem has two sides."""
        number = len(self.distances)
        posterior = self._posterior(case, divide_delta(case.levels[self], number))
        theorem = f"PAC-Bayes bound with the distance {posterior.distance} and the {posterior.constant} constant."
        if number > 1:
            theorem += f" It is the smallest of {number}; each was computed at delta / {number}."
        return Claim(
            rule=self.name,
            source=VALIDATION,
            level=posterior.delta,
            bound=min(posterior.bound, 1.0),
            empirical_risk=posterior.empirical_risk,
            kl=posterior.kl,
            distance=posterior.distance,
            theorem=theorem,
            lower=_lower(posterior),
        )

    def _posterior(self, case: Case, level: float) -> Posterior:
        """Return the weights that predict with their bound at a level, from what was planned and observed alone.

        Whatever else is said of them: they may come from a file, or from another set.
        """
        found, among, m = case.posterior, {one.name: one for one in self.distances}, case.split.m
        assert found is not None
        need(found.distance in among, "Posteriors.posterior", "must be one for a distance that was planned")
        distance = among[found.distance]
        with usual_float_errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
            problem = Problem.checked(case.counted.risks, m, distance, level, self.prior, self.constant)
            bound, risk, kl = problem.evaluate(weights_of(integer_weights(found.weights)))
        found = replace(found, bound=bound, empirical_risk=risk, kl=kl, delta=level)
        return replace(found, m=m, used_distance=distance, constant=self.constant)

    def resolved(self, case: Case) -> FixedRule:
        """Return draws, or the vote, with the posterior's weights."""
        assert case.posterior is not None
        return self.kind(self.name, integer_weights(case.posterior.weights))

    def tested(self, case: Case, level: float) -> None:
        """Return None: the validation rows found the weights."""


class PosteriorVote(PosteriorDraws):
    """The vote with the posterior's weights.

    Where a weighted vote errs, ties included, classifiers of at least half the weight err: at most twice as often as
    draws by these weights.
    """

    voting = "majority"
    kind = Vote

    def bound(self, case: Case) -> Claim:
        """Return twice the bound of the draws."""
        drawn = super().bound(case)
        # Doubling is exact.
        return replace(drawn, bound=min(2.0 * drawn.bound, 1.0), lower=None, theorem=doubled(drawn.theorem))


@dataclass(frozen=True, eq=False)
class BestSingle(Rule):
    """The classifier with the smallest of Occam's bounds, which all hold at once."""

    prior: FloatArray | None
    #: The share of delta that it has, for its words.
    hedge: float

    voting = "best"
    name = OCCAM

    def _best(self, case: Case) -> SingleBest:
        return best_single(case.counted, case.levels[self], self.prior)

    def bound(self, case: Case) -> Claim:
        """Return the limit of the classifier's errors at the level times its prior weight."""
        best, exact = self._best(case), case.counted.exact
        limit = "the exact binomial limit" if exact else "Chernoff's limit (the kl inverse)"
        level = "delta" if self.hedge == 1.0 else f"{self.hedge:g} delta"
        return Claim(
            rule=self.name,
            source=VALIDATION,
            level=case.levels[self],
            bound=best.bound,
            empirical_risk=best.empirical_risk,
            kl=best.kl,
            distance="binomial" if exact else "chernoff",
            theorem=f"Occam's bound: {limit} at {level} times the prior weight of classifier {best.index}.",
        )

    def resolved(self, case: Case) -> FixedRule:
        """Return the classifier alone."""
        return Single(self.name, parts_of_one(self._best(case).index, len(case.predictions)))

    def tested(self, case: Case, level: float) -> tuple[Codes, float]:
        """Return the classifier's answers, and the level times its prior weight."""
        index, y_pred = self._best(case).index, case.predictions.y_pred
        return y_pred[index], float(occam_levels(len(y_pred), level, self.prior)[index])


def _lower(posterior: Posterior) -> float | None:
    """Return the lower root, which holds at once with the upper: both follow from one bound on the distance."""
    distance = get_distance(posterior.used_distance or posterior.distance)
    if not distance.two_sided:
        return None
    function = distance.bound_function(posterior.m, posterior.delta, posterior.constant)
    # The empirical risk was rounded up, by at most about 45 units in the last place.
    risk = max(round_down(posterior.empirical_risk, 128.0), 0.0)
    return max(distance.lower(risk, function.threshold(posterior.kl)), 0.0)
