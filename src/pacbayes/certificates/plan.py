"""All that is fixed before a validation row is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, cached_property
from pacbayes._utils.checks import (
    read_only,
)
from pacbayes._utils.seeds import draw_key
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.decisions import Decision, Threshold
from pacbayes.certificates.levels import hedged_level, main_level, primary_level
from pacbayes.certificates.metrics import MetricSpec
from pacbayes.certificates.primary import (
    resolve_distances,
)
from pacbayes.certificates.rules import BestSingle, FixedRule, PosteriorDraws, PosteriorVote, Rule, SoftVote
from pacbayes.certificates.thresholds import ConfidenceGrid, ThresholdGrid
from pacbayes.certificates.voting import PRIMARY, SOFT, VOTINGS
from pacbayes.data.split import Split
from pacbayes.data.tables import TableReading
from pacbayes.ensemble.cross_validation import CrossValidation


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit decides on the training rows alone, or a user beforehand.

    Examples
    --------
    The posterior alone, of classifiers that were trained elsewhere and are validated by 100 rows:

    >>> from pacbayes.data.split import validation_split
    >>> for rule, level in Plan(validation_split(100)).levels.items():
    ...     print(rule.voting, rule.name, level)
    stochastic posterior 0.05
    majority posterior 0.05
    best Occam 0.05
    """

    #: Which rows train and which validate.
    split: Split
    #: All that is said together fails with at most this probability.
    delta: float = 0.05
    #: The share of it kept in reserve for what the validation rows may show; the rest is the proposal's.
    hedge: float = 1.0
    #: Limits that are asked for, and the share of every rule's level that they have.
    metrics: tuple[MetricSpec, ...] = ()
    metrics_share: float = 0.2
    #: The prior, None for the uniform one, and where it comes from: a key of `PRIORS`.
    prior: FloatArray | None = None
    prior_kind: str = "uniform"
    #: The distances as they were asked for, and which of their constants.
    distance: tuple[str | Distance, ...] = ("kl",)
    constant: str = "exact"
    #: Rules whose weights are fixed.
    fixed_rules: tuple[FixedRule, ...] = ()
    #: What cross-validation within the training rows counted.
    cross_validation: CrossValidation | None = None
    #: The most frequent training label; None where it is not known.
    majority_class: Any = None
    #: The class that matters, of which is said how many were missed; None where nobody says so.
    positive: Any = None
    #: A target, and what is tested for it: thresholds of a confidence, or of one class's probability.
    decision: Decision | None = None
    thresholds: ConfidenceGrid | ThresholdGrid | None = None
    #: How it predicts where it was refitted on all rows, and the certificate is about covered answers; None elsewhere.
    refit: str | None = None
    #: The values of the column of slices, in order, and what it is called.
    slices: tuple[Any, ...] = ()
    slice_column: str = ""
    #: Sorted hashes of all rows, by which they are known again; None where rows have no values, or too many.
    row_fingerprints: NDArray[np.int64] | None = None
    #: How the columns of a table were read.
    reading: TableReading | None = None

    def __post_init__(self) -> None:
        read_only(self.prior, self.row_fingerprints)

    @property
    def has_threshold(self) -> bool:
        """Whether the target is a threshold of one class's probability, which the soft vote alone has."""
        return isinstance(self.decision, Threshold)

    @property
    def main_level(self) -> float:
        """What the bounds have of delta; the limits have the rest."""
        return main_level(self.delta, self.share)

    @property
    def share(self) -> float:
        """The share of every rule's level that its limits have: none where none are asked for."""
        return self.metrics_share if self.metrics else 0.0

    @property
    def reserve(self) -> float:
        """What is kept for what the validation rows may show."""
        return hedged_level(self.main_level, self.hedge, 1)

    @cached_property
    def distances(self) -> tuple[Distance, ...]:
        """The distances themselves: Catoni's parameter may come from cross-validation."""
        return resolve_distances(self.distance, self.cross_validation, self.split.m, self.reserve or self.delta)

    @cached_property
    def levels(self) -> dict[Rule, float]:
        """Each rule's share of delta: (1 - hedge) for a proposal, equal shares of the rest for the others.

        A proposal beside which nothing stands has the whole.  The planned ones first, then those whose weights the
        validation rows find.
        """
        return self.levels_of(self.main_level)

    def levels_of(self, delta: float) -> dict[Rule, float]:
        """Return the levels of all rules where they share `delta` and not `main_level`: without limits beside them.

        Examples
        --------
        >>> from pacbayes.data.split import validation_split
        >>> list(Plan(validation_split(100)).levels_of(0.01).values())
        [0.01, 0.01, 0.01]
        """
        found: dict[Rule, float] = {}
        for voting in self.votings:
            primary = self.primary_rules.get(voting)
            others = [rule for rule in self._others if rule.voting == voting]
            if primary is not None:
                found[primary] = primary_level(delta, self.hedge_of(voting))
            found |= dict.fromkeys(others, hedged_level(delta, self.hedge, max(len(others), 1)))
        return found

    @cached_property
    def primary_rules(self) -> dict[str, FixedRule]:
        """The rules that hold most of delta, by way of predicting."""
        return {rule.voting: rule for rule in self.fixed_rules if rule.name == PRIMARY}

    @cached_property
    def _others(self) -> tuple[Rule, ...]:
        """The rules that share the reserve: those that are tested beside the proposals, and those to be found."""
        if self.hedge == 0.0:
            return ()
        of = (self.distances, self.constant, self.prior)
        tested = [rule for rule in self.fixed_rules if rule.name != PRIMARY]
        return (*tested, PosteriorDraws(*of), PosteriorVote(*of), BestSingle(self.prior, self.hedge))

    @property
    def soft(self) -> SoftVote:
        """The soft vote, where one was planned."""
        rule = self.primary_rules[SOFT]
        assert isinstance(rule, SoftVote)
        return rule

    @property
    def votings(self) -> tuple[str, ...]:
        """The ways of predicting that there are: a soft vote only where it was planned."""
        return VOTINGS if SOFT in self.primary_rules else VOTINGS[1:]

    @property
    def default_voting(self) -> str:
        """The way of predicting where nobody says one."""
        if self.refit is not None:
            return self.refit
        if SOFT in self.votings:
            return SOFT
        return "best" if self.split.prefit else "stochastic"

    def hedge_of(self, voting: str) -> float:
        """Return the share of delta kept in reserve for a way of predicting: none for a soft vote."""
        return 0.0 if voting == SOFT else self.hedge

    @property
    def holdout(self) -> int | None:
        """The classifier that the training rows, or the user, would choose; None where nobody did."""
        found = self.cross_validation
        if found is not None:
            return found.first if self.hedge == 1.0 else found.middle
        return self.primary_rules["best"].index if "best" in self.primary_rules else None

    @property
    def bet(self) -> float | None:
        """The bet on the losses of groups, the same for all rules that are planned; None where there is none."""
        return self.fixed_rules[0].bet if self.fixed_rules else None

    @cached_property
    def key(self) -> bytes:
        """The key of the draws, and of the hashes by which rows are known again."""
        return draw_key(self.split.seed)


def without_hedge(rules: tuple[FixedRule, ...]) -> tuple[FixedRule, ...]:
    """Return the proposals alone, where nothing is kept for others."""
    return tuple(rule for rule in rules if rule.name == PRIMARY)
