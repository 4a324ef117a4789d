"""All that is fixed before a validation row is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.cached import cached_property
from pacbayes._utils.checks import (
    check_choice,
    check_distribution,
    check_level,
    need,
    need_array,
    need_choice,
    read_only,
)
from pacbayes._utils.seeds import draw_key
from pacbayes.bounds.distance import CONSTANTS, Distance
from pacbayes.certificates.choices import CROSS_VALIDATION, PRIORS, resolve_distances, resolve_prior
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.levels import AUTO, hedged_level, main_level, proposal_level
from pacbayes.certificates.proposals import STRENGTHS, given_rules, propose, soft_weights
from pacbayes.certificates.risks import Question, check_limits_share
from pacbayes.certificates.target import Thresholds
from pacbayes.certificates.threshold import Cuts, Target, Threshold, check_target
from pacbayes.certificates.voting import (
    BITS,
    KL,
    OCCAM,
    POSTERIOR,
    PROPOSAL,
    SINGLES,
    SOFT,
    TWICE_KL,
    VOTINGS,
    Counts,
    Rule,
    weights_of,
)
from pacbayes.data.division import GROUP, Division
from pacbayes.data.tables import TableReading
from pacbayes.ensemble.cross_validation import CrossValidation

# By how much weights may differ from those that are computed here: another machine may round otherwise.
_TOLERANCE = 1e-9
_PLAIN = (str, int, float, bool)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit decides on the training rows alone, or a user beforehand.

    Examples
    --------
    The posterior alone, of classifiers that were trained elsewhere and are validated by 100 rows:

    >>> from pacbayes.data.division import validating_division
    >>> for rule in Plan(validating_division(100)).rules:
    ...     print(rule.voting, rule.name, rule.bound, rule.level)
    stochastic posterior kl 0.05
    majority posterior twice kl 0.05
    best Occam Occam 0.05
    """

    #: Which rows train and which validate.
    division: Division
    #: All that is said together fails with at most this probability.
    delta: float = 0.05
    #: The share of it kept in reserve for what the validation rows may show; the rest is the proposal's.
    hedge: float = 1.0
    #: Limits that are asked for, and the share of every rule's level that they have.
    limits: tuple[Question, ...] = ()
    limits_share: float = 0.2
    #: The prior, None for the uniform one, and where it comes from: a key of `PRIORS`.
    prior: FloatArray | None = None
    prior_kind: str = "uniform"
    #: The distances as they were asked for, and which of their constants.
    distance: tuple[str | Distance, ...] = ("kl",)
    constant: str = "exact"
    #: Rules whose weights are fixed.
    planned: tuple[Rule, ...] = ()
    #: What cross-validation within the training rows counted.
    cross_validation: CrossValidation | None = None
    #: The most frequent training label; None where it is not known.
    no_skill: Any = None
    #: The class that matters, of which is said how many were missed; None where nobody says so.
    positive: Any = None
    #: A target, and what is tested for it: thresholds of a confidence, or of one class's probability.
    target: Target | None = None
    thresholds: Thresholds | Cuts | None = None
    #: How it predicts where it was refitted on all rows, and the certificate is about covered answers; None elsewhere.
    refit: str | None = None
    #: The values of the column of slices, in order, and what it is called.
    slices: tuple[Any, ...] = ()
    slice_column: str = ""
    #: Sorted hashes of all rows, by which they are known again; None where rows have no values, or too many.
    known_rows: NDArray[np.int64] | None = None
    #: How the columns of a table were read.
    reading: TableReading | None = None

    def __post_init__(self) -> None:
        """Raise for what is not proved, or does not follow from what else is planned."""
        need(isinstance(self.division, Division) and self.division.m > 0, "Plan.division", "must be a Division")
        need(isinstance(self.delta, float) and check_level(self.delta) > 0.0, "Plan.delta", "must be a number")
        need(type(self.hedge) is float and 0.0 <= self.hedge <= 1.0, "Plan.hedge", "must be from 0 to 1")
        asked = type(self.limits) is tuple and all(isinstance(one, Question) for one in self.limits)
        need(asked, "Plan.limits", "must be a tuple of questions")
        check_limits_share(self.limits_share)
        check_target(self.target)
        self._choices.check()
        check_choice("constant", self.constant, CONSTANTS)
        self._check_cross_validation()
        self._check_prior()
        self._check_planned()
        several = type(self.distance) is tuple and len(self.distance) > 0
        need(several and len(self.distances) > 0, "Plan.distance", "must be a tuple of distances that are known")
        cuts = {self.thresholds.positive} if isinstance(self.thresholds, Cuts) else set()
        of = {question.of for question in self.limits} | cuts
        need(
            self.positive is None or of <= {None, self.positive}, "Plan.positive", "must be the class of all questions"
        )
        for name in ("no_skill", "positive"):
            label = getattr(self, name)
            known = label is None or isinstance(label, (*_PLAIN, np.generic))
            need(known, f"Plan.{name}", "must be a number or text")
        grouped = self.division.unit == GROUP
        bet = any(rule.bet is not None for rule in self.planned)
        need(grouped or not bet, "Rule.bet", "must be None where errors are counted row by row")
        both = (self.target is None) == (self.thresholds is None)
        need(both, "Plan.thresholds", "must be there for a target, and only then")
        if self.thresholds is not None:
            kind = Cuts if self.has_cuts else Thresholds
            need(isinstance(self.thresholds, kind), "Plan.thresholds", f"must be {kind.__name__}")
            need(not self.has_cuts or self.hedge == 0.0, "Plan.hedge", "must be 0 where a threshold is asked for")
            counted = int(self.thresholds.answered[-1]) == self.division(0)[0].size
            need(counted, f"{kind.__name__}.answered", "must be all training rows in the end")
        named = type(self.slices) is tuple and all(type(name) in _PLAIN for name in self.slices)
        need(named and type(self.slice_column) is str, "Plan.slices", "must be numbers or text")
        need(all(one < other for one, other in pairwise(self.slices)), "Plan.slices", "must be sorted and different")
        by_slice = any(question.name == "error" for question in self.limits)
        need(by_slice or not self.slices, "Plan.slices", "must be empty without limits of errors")
        if self.known_rows is not None:
            need_array(self.known_rows, "Plan.known_rows", "i", (self.division.n_rows,))
            need(bool((self.known_rows[1:] >= self.known_rows[:-1]).all()), "Plan.known_rows", "must be sorted")
        read_only(self.prior, self.known_rows)

    def _check_cross_validation(self) -> None:
        found = self.cross_validation
        if found is None:
            return
        need(isinstance(found, CrossValidation), "Plan.cross_validation", "must be a CrossValidation")
        shared = self.division.kind == "shared" and not self.division.trained_elsewhere
        need(shared, "Plan.cross_validation", "must be None without shared training rows")
        within = int(found.sizes.sum()) <= self.division(0)[0].size
        need(within, "CrossValidation.sizes", "must be training rows")
        votes = found.errors_of_votes
        need(votes is None or len(votes) == len(STRENGTHS), "CrossValidation.errors_of_votes", "must be of each vote")

    def _check_prior(self) -> None:
        need_choice(self.prior_kind, "Plan.prior_kind", PRIORS)
        need((self.prior_kind == "uniform") == (self.prior is None), "Plan.prior", "must be of the kind that is said")
        if self.prior is None:
            return
        need_array(self.prior, "Plan.prior", "f", (None,))
        check_distribution("Plan.prior", self.prior, self.prior.size)
        if self.prior_kind == CROSS_VALIDATION:
            found = self.cross_validation
            need(found is not None, "Plan.prior", "must not be from a cross-validation that is not there")
            params: list[dict[str, Any]] = [{}] * self.prior.size
            expected = resolve_prior(CROSS_VALIDATION, params, None, found, self.division)
            same = expected is not None and np.allclose(self.prior, expected, rtol=_TOLERANCE, atol=0.0)
            need(same, "Plan.prior", "must follow from cross-validation")

    def _check_planned(self) -> None:
        """Raise unless the rules are those that cross-validation, or a given proposal, stands for."""
        rules, found = self.planned, self.cross_validation
        need(type(rules) is tuple and all(isinstance(rule, Rule) for rule in rules), "Plan.planned", "must be rules")
        need(
            (self.hedge == 1.0) == (not rules), "Plan.planned", "must be empty where nothing is proposed, and only then"
        )
        if not rules:
            return
        known = found is not None or self.division.trained_elsewhere
        need(known, "Plan.cross_validation", "must be there for a proposal")
        assert rules[0].weights is not None
        number = rules[0].weights.size
        if found is None:
            expected = _weights_by_name(given_rules(weights_of(rules[0].weights), number))
        else:
            need(int(found.candidates[-1]) < number, "CrossValidation.candidates", "must be classifiers")
            need(found.log_losses is not None, "CrossValidation.log_losses", "must be there for a proposal")
            rows = self.division(0)[0].size
            hard = propose(found.candidates, found.totals, number, found.errors_of_votes)
            expected = {(SOFT, PROPOSAL): soft_weights(found, number, rows)} | _weights_by_name(hard)
        source = "the proposal" if found is None else "the stored cross-validation"
        stored = _weights_by_name(rules)
        if self.hedge == 0.0:
            expected = {name: weights for name, weights in expected.items() if name[1] == PROPOSAL}
        same = len(stored) == len(rules) and _same_weights(stored, expected)
        need(same, "Rule.weights", f"must follow from {source}")

    @property
    def has_cuts(self) -> bool:
        """Whether the target is a threshold of one class's probability, which the soft vote alone has."""
        return isinstance(self.target, Threshold)

    @property
    def main_level(self) -> float:
        """What the bounds have of delta; the limits have the rest."""
        return main_level(self.delta, self.share)

    @property
    def share(self) -> float:
        """The share of every rule's level that its limits have: none where none are asked for."""
        return self.limits_share if self.limits else 0.0

    @property
    def reserve(self) -> float:
        """What is kept for what the validation rows may show."""
        return hedged_level(self.main_level, self.hedge, 1)

    @cached_property
    def distances(self) -> tuple[Distance, ...]:
        """The distances themselves: Catoni's parameter may come from cross-validation."""
        return resolve_distances(self.distance, self.cross_validation, self.division.m, self.reserve or self.delta)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, each with its share of delta: (1 - hedge) for a proposal, equal shares of the rest for the others.

        A proposal beside which nothing stands has the whole.  The planned ones first, then those whose weights the
        validation rows find.
        """
        return self.rules_at(self.main_level)

    def rules_at(self, delta: float) -> tuple[Rule, ...]:
        """Return all rules where they share `delta` and not `main_level`: of a statement that has no limits beside it.

        Examples
        --------
        >>> from pacbayes.data.division import validating_division
        >>> [rule.level for rule in Plan(validating_division(100)).rules_at(0.01)]
        [0.01, 0.01, 0.01]
        """
        return tuple(rule for voting in self.votings for rule in self._rules(voting, delta))

    @property
    def votings(self) -> tuple[str, ...]:
        """The ways of predicting that there are: a soft vote only where it was planned."""
        soft = any(rule.voting == SOFT for rule in self.planned)
        return VOTINGS if soft else tuple(voting for voting in VOTINGS if voting != SOFT)

    @property
    def usual_voting(self) -> str:
        """The way of predicting where nobody says one."""
        if self.refit is not None:
            return self.refit
        if SOFT in self.votings:
            return SOFT
        return "best" if self.division.trained_elsewhere else "stochastic"

    def _rules(self, voting: str, delta: float) -> list[Rule]:
        planned = [rule for rule in self.planned if rule.voting == voting]
        tested = [rule for rule in planned if rule.name != PROPOSAL]
        others = [] if self.hedge == 0.0 else [*tested, *self._found_rules(voting)]
        level = hedged_level(delta, self.hedge, max(len(others), 1))
        proposals = [rule for rule in planned if rule.name == PROPOSAL]
        first = [replace(rule, level=proposal_level(delta, self.hedge_of(voting))) for rule in proposals]
        return first + [replace(rule, level=level) for rule in others]

    def hedge_of(self, voting: str) -> float:
        """Return the share of delta kept in reserve for a way of predicting: none for a soft vote."""
        return 0.0 if voting == SOFT else self.hedge

    def _found_rules(self, voting: str) -> list[Rule]:
        """Return the rules whose weights the validation rows find."""
        if voting == "stochastic":
            return [Rule(voting, POSTERIOR, None, KL)]
        if voting == SOFT:
            return []
        if voting == "best":
            return [Rule(voting, OCCAM, None, SINGLES)]
        return [Rule(voting, POSTERIOR, None, TWICE_KL)]

    @property
    def hold_out(self) -> int | None:
        """The classifier that the training rows, or the user, would choose; None where nobody did."""
        found = self.cross_validation
        if found is not None:
            return found.first if self.hedge == 1.0 else found.middle
        return next((rule.index for rule in self.planned if rule.voting == "best"), None)

    @property
    def _choices(self) -> Choices:
        """What was chosen that depends on each other."""
        return Choices(
            voting=AUTO if self.refit is None else self.refit,
            hedge=self.hedge,
            split=self.division.kind,
            limits=self.limits,
            target=self.target,
            refit=self.refit is not None,
            groups=self.division.unit == GROUP,
            prefit=self.division.trained_elsewhere,
            proposal=True,
        )

    @property
    def bet(self) -> float | None:
        """The bet on the losses of groups, the same for all rules that are planned; None where there is none."""
        return self.planned[0].bet if self.planned else None

    @cached_property
    def key(self) -> bytes:
        """The key of the draws, and of the hashes by which rows are known again."""
        return draw_key(self.division.seed)

    def place(self, voting: str, name: str) -> int:
        """Return the place of a rule among the planned ones."""
        return next(i for i, rule in enumerate(self.planned) if (rule.voting, rule.name) == (voting, name))


def without_reserve(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the proposals alone, where nothing is kept for others."""
    return tuple(rule for rule in rules if rule.name == PROPOSAL)


_Named = dict[tuple[str, str], Counts]


def _weights_by_name(rules: tuple[Rule, ...]) -> _Named:
    return {(rule.voting, rule.name): rule.weights for rule in rules if rule.weights is not None}


def _same_weights(stored: _Named, expected: _Named) -> bool:
    """Return whether rules have the same weights but for rounding.

    That decides, too, whether a vote is the same as the proposed one, and therefore left out.
    """
    proposed = {name for name in expected if name[1] == PROPOSAL}
    if {name for name in stored if name[1] == PROPOSAL} != proposed:
        return False
    for voting, name in stored.keys() | expected.keys():
        proposal = expected[voting, PROPOSAL]
        one, other = stored.get((voting, name), proposal), expected.get((voting, name), proposal)
        if one.shape != other.shape or np.abs(one - other).max() > _TOLERANCE * 2**BITS:
            return False
    return True
