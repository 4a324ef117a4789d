r"""Prediction rules, with bounds from their errors on the validation rows.

A rule that is fixed before validation is one deterministic classifier, so that its errors on `m` validation rows are
binomial.  The bounds of several rules, at levels that sum to :math:`\delta`, hold simultaneously with probability
:math:`1-\delta`; hence so does the smallest: equation (rules) of docs/mathematics.md.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, cached_property, default_errstate, round_down
from pacbayes._utils.checks import make_read_only, require
from pacbayes.bounds.bets import bet_upper
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.certificates.certificate import PRESPECIFIED, TRAINING, VALIDATION, Claim
from pacbayes.certificates.levels import SingleBest, best_single, divide_delta, occam_levels
from pacbayes.certificates.sentences import doubled_bound_theorem
from pacbayes.certificates.sets import NEVER_SEEN
from pacbayes.certificates.thresholds import round_to_grid
from pacbayes.certificates.voting import (
    OCCAM,
    POSTERIOR,
    PRIMARY,
    SOFT,
    IntegerWeights,
    draw_classifiers,
    float_weights,
    integer_weights,
    majority,
    single_weight,
    weighted_vote,
)
from pacbayes.data.rows import count_rows
from pacbayes.data.split import Split
from pacbayes.ensemble.calibration import compute_margins
from pacbayes.ensemble.members import Calibrations, Coding, Members, Predictions
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions, average_by_unit
from pacbayes.posteriors.posterior import Posterior, Problem

#: Minimum margin of the largest mean probability for using the prediction of a refitted vote.
MARGIN = 0.2
#: Computes keyed hashes of rows, for rules that draw classifiers.
Hashes = Callable[[], NDArray[np.uint64]]


@dataclass(frozen=True, eq=False)
class BoundInputs:
    """Inputs of all bounds: validation predictions, posterior, fixed rules, and the level of each rule."""

    split: Split
    predictions: ValidationPredictions
    posterior: Posterior | None
    #: The rules in the order of `predictions.rule_predictions`.
    fixed_rules: tuple[FixedRule, ...]
    levels: Mapping[Rule, float]

    @cached_property
    def error_counts(self) -> ErrorCounts:
        """Validation errors of all classifiers."""
        return self.predictions.count_errors(self.split)

    @cached_property
    def rule_error_counts(self) -> ErrorCounts:
        """Validation errors of the fixed rules."""
        assert self.predictions.rule_predictions is not None
        return self.predictions.count_rule_errors(self.predictions.rule_predictions, self.split)


class Rule(ABC):
    """Rule to predict with a set of classifiers."""

    #: The voting: a key of `certificates_`.
    voting: ClassVar[str]
    #: "primary", or the name of an alternative.
    name: str

    @abstractmethod
    def bound(self, inputs: BoundInputs) -> Claim:
        """Bound the rule's error rate at its level."""

    @abstractmethod
    def resolve(self, inputs: BoundInputs) -> FixedRule:
        """Convert to a rule with fixed weights, which may have been optimised on the validation rows."""

    @abstractmethod
    def validation_predictions(self, inputs: BoundInputs, level: float) -> tuple[Codes, float] | None:
        """Predictions for the validation rows, and the level of a test of their errors if the rule has `level`.

        The two levels differ only for an Occam bound, whose level is multiplied by the prior weight.  None for weights
        that were optimised on the validation rows, where a test on the same rows is not valid.
        """


@dataclass(frozen=True, eq=False)
class FixedRule(Rule):
    """Rule with weights that were fixed before validation."""

    name: str
    #: Integer weights in multiples of 2^-52, shape (H,).
    weights: IntegerWeights
    #: The bet on the losses of groups, fixed on training rows; None without groups, or for the Chernoff bound.
    bet: float | None = None

    def __post_init__(self) -> None:
        make_read_only(self.weights)

    @abstractmethod
    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict the label codes of prepared rows; `hashes` are those of the original rows."""

    @abstractmethod
    def combine(
        self, y_pred: Predictions, labels: Labels, hashes: Hashes, probabilities: FloatArray | None = None
    ) -> Codes:
        """Predict from the predictions of all classifiers, shape (H, n), or from mean probabilities."""

    def is_consistent(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether the predictions of the rule are consistent with those of the classifiers."""
        return np.array_equal(codes, self.combine(y_pred, labels, _raise_hashes_required))

    @property
    def index(self) -> int:
        """Index of the classifier with the largest weight."""
        return int(np.argmax(self.weights))

    def bound(self, inputs: BoundInputs) -> Claim:
        """Bound the error rate by the errors: Clopper-Pearson, or, for groups, a betting or Chernoff bound."""
        place, level = inputs.fixed_rules.index(self), inputs.levels[self]
        errors = inputs.rule_error_counts[place]
        bound, distance, method = float(errors.upper(level)[0]), "binomial", "Clopper-Pearson bound"
        if self.bet is not None:
            wrong = (self.validation_predictions(inputs, level)[0] != inputs.predictions.y_true).astype(np.float64)
            bound = bet_upper(average_by_unit(wrong, inputs.split), self.bet, level)
            distance = "bet"
            method = "Betting confidence bound on each group's share, with a bet fixed before validation,"
        elif not errors.exact:
            distance, method = "chernoff", "Chernoff bound (kl inverse)"
        source = PRESPECIFIED if inputs.split.prefit else TRAINING
        return Claim(
            rule=self.name,
            source=source if self.name == PRIMARY else VALIDATION,
            level=level,
            bound=bound,
            empirical_risk=float(errors.risks[0]),
            kl=0.0,
            distance=distance,
            theorem=f"{method} of the rule's own errors, at its share of delta.",
        )

    def resolve(self, inputs: BoundInputs) -> FixedRule:
        """Return the rule itself."""
        return self

    def validation_predictions(self, inputs: BoundInputs, level: float) -> tuple[Codes, float]:
        """Predictions for the validation rows, and the unchanged level."""
        assert inputs.predictions.rule_predictions is not None
        return inputs.predictions.rule_predictions[inputs.fixed_rules.index(self)], level


class Draws(FixedRule):
    """Stochastic classifier: draws a classifier for every row by a keyed hash of the row."""

    voting = "stochastic"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict each row with the classifier drawn for it."""
        return members.predict_assigned(X, draw_classifiers(hashes(), self.weights), coding)

    def combine(
        self, y_pred: Predictions, labels: Labels, hashes: Hashes, probabilities: FloatArray | None = None
    ) -> Codes:
        """Select the prediction of the classifier drawn for each row."""
        chosen = draw_classifiers(hashes(), self.weights)
        return np.asarray(y_pred[chosen, np.arange(y_pred.shape[1])], dtype=np.intp)

    def is_consistent(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether each prediction is that of a classifier with positive weight; the draws depend on the rows."""
        return bool((y_pred[self.weights > 0] == codes).any(axis=0).all())


class Vote(FixedRule):
    """Weighted majority vote."""

    voting = "majority"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict by weighted majority vote, using a classifier only as long as it could change the vote."""
        return majority(members, X, self.weights, coding)

    def combine(
        self, y_pred: Predictions, labels: Labels, hashes: Hashes, probabilities: FloatArray | None = None
    ) -> Codes:
        """Add up the weights of the votes."""
        return weighted_vote(self.weights, y_pred, labels)


class Single(FixedRule):
    """A single classifier."""

    voting = "best"

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict with the classifier."""
        return members.predict_assigned(X, np.full(count_rows(X), self.index, dtype=np.intp), coding)

    def combine(
        self, y_pred: Predictions, labels: Labels, hashes: Hashes, probabilities: FloatArray | None = None
    ) -> Codes:
        """Select the predictions of the classifier."""
        return np.asarray(y_pred[self.index], dtype=np.intp)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftVote(FixedRule):
    """Soft vote: the class with the largest mean of calibrated probabilities."""

    voting = SOFT

    #: Calibrations of the classifiers with positive weight.
    soft: Calibrations

    def mean_probabilities(self, members: Members, X: Any) -> FloatArray:
        """Mean probabilities for prepared rows, shape (n, training classes)."""
        return self.soft.normalize(members.mean_probabilities(X, float_weights(self.weights), self.soft))

    def winners(self, probabilities: FloatArray) -> Codes:
        """Most probable class of each row; ties go to the first class."""
        return np.asarray(self.soft.classes[probabilities.argmax(axis=1)], dtype=np.intp)

    def margins(self, probabilities: FloatArray, n_classes: int) -> FloatArray:
        """Margin of each class over the others, shape (n, classes); NaN for classes without training rows."""
        margins = np.full((len(probabilities), n_classes), np.nan)
        margins[:, self.soft.classes] = compute_margins(probabilities)
        return margins

    def grid_probabilities(self, probabilities: FloatArray, n_classes: int) -> FloatArray:
        """Probabilities for prediction sets and the AUC, rounded to the grid; -1 for classes without training rows."""
        return round_to_grid(self.soft.expand(probabilities, n_classes, NEVER_SEEN))

    def predict(self, members: Members, X: Any, hashes: Hashes, coding: Coding) -> Codes:
        """Predict the most probable class."""
        return self.winners(self.mean_probabilities(members, X))

    def combine(
        self, y_pred: Predictions, labels: Labels, hashes: Hashes, probabilities: FloatArray | None = None
    ) -> Codes:
        """Select the most probable class."""
        assert probabilities is not None
        return self.winners(probabilities)

    def is_consistent(self, codes: Codes, y_pred: Predictions, labels: Labels) -> bool:
        """Whether all predicted classes have training rows; probabilities are not available here."""
        return bool(np.isin(codes, self.soft.classes).all())


@dataclass(frozen=True, eq=False)
class Refit:
    r"""Classifiers trained on all rows with the same recipe, and their soft vote.

    The certified rule `h` has :math:`R(h) \le B` with probability :math:`1-\delta`.  Then with the same probability,
    for every `g` simultaneously, however it was trained,

    .. math:: P(g \text{ wrong and } g = h) \le B,

    because `h` is wrong wherever `g` is wrong and agrees with `h`.  A prediction of `g` is *covered* if `h` agrees,
    which can be checked without the label: equation (covered) of docs/mathematics.md.
    """

    members: Members
    rule: SoftVote

    def predict(self, X: Any) -> tuple[NDArray[np.bool_], Labels, FloatArray]:
        """Mask of rows with a large enough margin, labels, and probabilities of all classes."""
        means = self.rule.mean_probabilities(self.members, self.members.preprocess(X))
        classes = self.members.classes
        labels = np.asarray(classes[self.rule.winners(means)])
        probabilities = self.rule.soft.expand(means, classes.size)
        if means.shape[1] == 1:
            return np.ones(len(means), dtype=np.bool_), labels, probabilities
        first_two = np.partition(means, means.shape[1] - 2, axis=1)[:, -2:]
        return first_two[:, 1] - first_two[:, 0] > MARGIN, labels, probabilities


def _raise_hashes_required() -> NDArray[np.uint64]:
    raise TypeError("draws depend on the rows")


@dataclass(frozen=True, eq=False)
class PosteriorDraws(Rule):
    """Draws by the posterior, with a PAC-Bayes bound that holds for all posteriors simultaneously."""

    distances: tuple[Distance, ...]
    constant: str
    prior: FloatArray | None

    voting = "stochastic"
    name = POSTERIOR
    rule_type: ClassVar[type[FixedRule]] = Draws

    def bound(self, inputs: BoundInputs) -> Claim:
        """PAC-Bayes bound, with a lower bound where the distance has two sides."""
        number = len(self.distances)
        posterior = self._posterior(inputs, divide_delta(inputs.levels[self], number))
        theorem = f"PAC-Bayes bound with the distance {posterior.distance} and the {posterior.constant} constant."
        if number > 1:
            theorem += f" It is the smallest of {number}, each at delta / {number}."
        return Claim(
            rule=self.name,
            source=VALIDATION,
            level=posterior.delta,
            bound=min(posterior.bound, 1.0),
            empirical_risk=posterior.empirical_risk,
            kl=posterior.kl,
            distance=posterior.distance,
            theorem=theorem,
            lower=_lower_root(posterior),
        )

    def _posterior(self, inputs: BoundInputs, level: float) -> Posterior:
        """Recompute the bound of the posterior from its weights, the plan and the validation errors.

        Stored bounds are not trusted, because the posterior may come from a file or another set of classifiers.
        """
        posterior, distances, m = inputs.posterior, {one.name: one for one in self.distances}, inputs.split.m
        assert posterior is not None
        require(posterior.distance in distances, "Posteriors.posterior", "must be for a distance of the plan")
        distance = distances[posterior.distance]
        with default_errstate(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the warning about an invalid constant was already shown in `fit`
            problem = Problem.from_arguments(inputs.error_counts.risks, m, distance, level, self.prior, self.constant)
            bound, risk, kl = problem.evaluate(float_weights(integer_weights(posterior.weights)))
        posterior = replace(posterior, bound=bound, empirical_risk=risk, kl=kl, delta=level)
        return replace(posterior, m=m, used_distance=distance, constant=self.constant)

    def resolve(self, inputs: BoundInputs) -> FixedRule:
        """Draws, or a majority vote, with the weights of the posterior."""
        assert inputs.posterior is not None
        return self.rule_type(self.name, integer_weights(inputs.posterior.weights))

    def validation_predictions(self, inputs: BoundInputs, level: float) -> None:
        """None: the weights are optimised on the validation rows."""


class PosteriorVote(PosteriorDraws):
    """Majority vote with the weights of the posterior.

    Where a weighted vote is wrong, ties included, classifiers of at least half the weight are wrong: its error rate is
    at most twice that of draws by these weights.
    """

    voting = "majority"
    rule_type = Vote

    def bound(self, inputs: BoundInputs) -> Claim:
        """Twice the bound of the draws."""
        draws = super().bound(inputs)
        # Doubling is exact.
        return replace(
            draws, bound=min(2.0 * draws.bound, 1.0), lower=None, theorem=doubled_bound_theorem(draws.theorem)
        )


@dataclass(frozen=True, eq=False)
class BestSingle(Rule):
    """The classifier with the smallest Occam bound; the Occam bounds of all classifiers hold simultaneously."""

    prior: FloatArray | None
    #: Share of delta, for sentences.
    hedge: float

    voting = "best"
    name = OCCAM

    def _best_single(self, inputs: BoundInputs) -> SingleBest:
        return best_single(inputs.error_counts, inputs.levels[self], self.prior)

    def bound(self, inputs: BoundInputs) -> Claim:
        """Bound on the error rate of the classifier, at the level times its prior weight."""
        best, exact = self._best_single(inputs), inputs.error_counts.exact
        method = "Clopper-Pearson bound" if exact else "Chernoff bound (kl inverse)"
        level = "delta" if self.hedge == 1.0 else f"{self.hedge:g} delta"
        return Claim(
            rule=self.name,
            source=VALIDATION,
            level=inputs.levels[self],
            bound=best.bound,
            empirical_risk=best.empirical_risk,
            kl=best.kl,
            distance="binomial" if exact else "chernoff",
            theorem=f"Occam bound: {method} at {level} times the prior weight of classifier {best.index}.",
        )

    def resolve(self, inputs: BoundInputs) -> FixedRule:
        """Rule that predicts with this classifier."""
        return Single(self.name, single_weight(self._best_single(inputs).index, len(inputs.predictions)))

    def validation_predictions(self, inputs: BoundInputs, level: float) -> tuple[Codes, float]:
        """Predictions of the classifier, and the level times its prior weight."""
        index, y_pred = self._best_single(inputs).index, inputs.predictions.y_pred
        return y_pred[index], float(occam_levels(len(y_pred), level, self.prior)[index])


def _lower_root(posterior: Posterior) -> float | None:
    """Lower root; it holds jointly with the upper one, because both follow from one bound on the distance."""
    distance = get_distance(posterior.used_distance or posterior.distance)
    if not distance.two_sided:
        return None
    function = distance.bound_function(posterior.m, posterior.delta, posterior.constant)
    # Correct for the empirical risk, which was rounded up by at most about 45 units in the last place.
    risk = max(round_down(posterior.empirical_risk, 128.0), 0.0)
    return max(distance.lower(risk, function.threshold(posterior.kl)), 0.0)
