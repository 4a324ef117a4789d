"""The plan of a fit: everything that is fixed before validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, cached_property
from pacbayes._utils.checks import make_read_only
from pacbayes._utils.seeds import draw_key
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.decisions import NEEDS_SOFT, Decision, PredictionSet
from pacbayes.certificates.levels import hedged_level, main_level, primary_level
from pacbayes.certificates.metric_bounds import AUC
from pacbayes.certificates.metrics import MetricSpec
from pacbayes.certificates.primary import resolve_distances
from pacbayes.certificates.rules import BestSingle, FixedRule, PosteriorDraws, PosteriorVote, Rule, SoftVote
from pacbayes.certificates.thresholds import ConfidenceGrid, ThresholdGrid
from pacbayes.certificates.voting import PRIMARY, SOFT, VOTINGS
from pacbayes.data.schema import Schema
from pacbayes.data.split import Split
from pacbayes.ensemble.cross_validation import CrossValidation


@dataclass(frozen=True, eq=False)
class Plan:
    """Settings, rules and levels of a fit, which do not depend on the validation labels.

    Examples
    --------
    Prefit classifiers with 100 validation rows, and no primary rule:

    >>> from pacbayes.data.split import make_validation_split
    >>> for rule, level in Plan(make_validation_split(100)).levels.items():
    ...     print(rule.voting, rule.name, level)
    stochastic posterior 0.05
    majority posterior 0.05
    best Occam 0.05
    """

    #: Training and validation rows.
    split: Split
    #: All guarantees of a certificate together fail with at most this probability.
    delta: float = 0.05
    #: Share of delta for choices made on the validation rows; the primary rule uses the rest.
    hedge: float = 1.0
    #: The requested metrics, and their share of the level of each rule.
    metrics: tuple[MetricSpec, ...] = ()
    metrics_share: float = 0.2
    #: The prior, None for the uniform one, and its origin: a key of `sentences.PRIORS`.
    prior: FloatArray | None = None
    prior_kind: str = "uniform"
    #: The requested distances, and the kind of their constants.
    distance: tuple[str | Distance, ...] = ("kl",)
    constant: str = "exact"
    #: Rules with weights fixed before validation.
    fixed_rules: tuple[FixedRule, ...] = ()
    #: Errors in cross-validation within the training rows.
    cross_validation: CrossValidation | None = None
    #: The most frequent training label; None if unknown.
    majority_class: Any = None
    #: The positive class, whose misses are reported; None by default.
    positive: Any = None
    #: The decision, and its candidate thresholds on the confidence or on the probability of a class.
    decision: Decision | None = None
    thresholds: ConfidenceGrid | ThresholdGrid | None = None
    #: Voting of the refitted model; None without a refit.
    refit: str | None = None
    #: Sorted values of the slice column, and its name.
    slices: tuple[Any, ...] = ()
    slice_column: str = ""
    #: Sorted hashes of all rows, to detect them among new rows; None if rows cannot be hashed or are too many.
    row_fingerprints: NDArray[np.int64] | None = None
    #: Column types and file format of a table.
    schema: Schema | None = None

    def __post_init__(self) -> None:
        make_read_only(self.prior, self.row_fingerprints)

    @property
    def needs_soft(self) -> bool:
        """Whether the decision requires the probabilities of the soft vote."""
        return isinstance(self.decision, NEEDS_SOFT)

    @property
    def needs_probabilities(self) -> bool:
        """Whether probabilities of all classes are required on the validation rows: for prediction sets or the AUC."""
        return isinstance(self.decision, PredictionSet) or any(spec.name == AUC for spec in self.metrics)

    @property
    def main_level(self) -> float:
        """The share of delta for main bounds; the rest is for metrics."""
        return main_level(self.delta, self.share)

    @property
    def share(self) -> float:
        """The share of the level of each rule used by metrics; 0 without metrics."""
        return self.metrics_share if self.metrics else 0.0

    @property
    def hedged_level(self) -> float:
        """The share of delta for choices made on the validation rows."""
        return hedged_level(self.main_level, self.hedge, 1)

    @cached_property
    def distances(self) -> tuple[Distance, ...]:
        """The distances as objects, with Catoni's parameter from cross-validation if it is not set."""
        return resolve_distances(self.distance, self.cross_validation, self.split.m, self.hedged_level or self.delta)

    @cached_property
    def levels(self) -> dict[Rule, float]:
        """Share of delta of each rule: 1 - hedge for the primary rule, equal shares of the hedge for alternatives.

        A primary rule without alternatives uses all of delta.  Fixed rules come first, then those optimised on the
        validation rows.
        """
        return self.levels_for_delta(self.main_level)

    def levels_for_delta(self, delta: float) -> dict[Rule, float]:
        """Levels of all rules that share `delta` instead of `main_level`.

        Examples
        --------
        >>> from pacbayes.data.split import make_validation_split
        >>> list(Plan(make_validation_split(100)).levels_for_delta(0.01).values())
        [0.01, 0.01, 0.01]
        """
        levels: dict[Rule, float] = {}
        for voting in self.votings:
            primary = self.primary_rules.get(voting)
            alternatives = [rule for rule in self._alternatives if rule.voting == voting]
            if primary is not None:
                levels[primary] = primary_level(delta, self.hedge_for_voting(voting))
            levels |= dict.fromkeys(alternatives, hedged_level(delta, self.hedge, max(len(alternatives), 1)))
        return levels

    @cached_property
    def primary_rules(self) -> dict[str, FixedRule]:
        """The primary rules by voting."""
        return {rule.voting: rule for rule in self.fixed_rules if rule.name == PRIMARY}

    @cached_property
    def _alternatives(self) -> tuple[Rule, ...]:
        """Rules that share the hedge: alternatives to the primary rules, and rules optimised on the validation rows."""
        if self.hedge == 0.0:
            return ()
        settings = (self.distances, self.constant, self.prior)
        fixed = [rule for rule in self.fixed_rules if rule.name != PRIMARY]
        return (*fixed, PosteriorDraws(*settings), PosteriorVote(*settings), BestSingle(self.prior, self.hedge))

    @property
    def soft(self) -> SoftVote:
        """The primary soft vote."""
        rule = self.primary_rules[SOFT]
        assert isinstance(rule, SoftVote)
        return rule

    @property
    def votings(self) -> tuple[str, ...]:
        """Available votings; "soft" only if there is a primary soft vote."""
        return VOTINGS if SOFT in self.primary_rules else VOTINGS[1:]

    @property
    def default_voting(self) -> str:
        """The default voting."""
        if self.refit is not None:
            return self.refit
        if SOFT in self.votings:
            return SOFT
        return "best" if self.split.prefit else "stochastic"

    def hedge_for_voting(self, voting: str) -> float:
        """Hedge of a voting; 0 for the soft vote, which has no alternatives."""
        return 0.0 if voting == SOFT else self.hedge

    @property
    def holdout(self) -> int | None:
        """Index of the classifier chosen by cross-validation or by `primary`; None if there is none."""
        if self.cross_validation is not None:
            return self.cross_validation.first_best if self.hedge == 1.0 else self.cross_validation.middle_best
        return self.primary_rules["best"].index if "best" in self.primary_rules else None

    @property
    def bet(self) -> float | None:
        """The bet on the losses of groups, equal for all fixed rules; None without groups."""
        return self.fixed_rules[0].bet if self.fixed_rules else None

    @cached_property
    def key(self) -> bytes:
        """The key of draws and row hashes."""
        return draw_key(self.split.seed)


def select_primary_rules(rules: tuple[FixedRule, ...]) -> tuple[FixedRule, ...]:
    """Select the primary rules; alternatives are not used if the hedge is 0."""
    return tuple(rule for rule in rules if rule.name == PRIMARY)
