"""What else an estimator is asked: errors by class, a target with abstention, members that are good enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import AVERAGED, KEYED, OCCAM, POSTERIOR, VOTINGS, shares_of_delta, sizes_of
from pacbayes.certificates.posterior_choice import weights_of
from pacbayes.certificates.questions.below import CertifiedMember, members_below
from pacbayes.certificates.questions.by_class import PartErrors, count_parts, main_level, part_limits
from pacbayes.certificates.questions.selective import (
    ThresholdCounts,
    Thresholds,
    counted_at,
    loosest_passed,
)
from pacbayes.certificates.rules.claim import TRAINING, Claim
from pacbayes.certificates.rules.hedge import hedged_level
from pacbayes.certificates.rules.occam import best_single, occam_levels
from pacbayes.certificates.rules.rule import PROPOSAL
from pacbayes.certificates.rules.tandem_vote import TANDEM
from pacbayes.data.unusable import naming_remedy
from pacbayes.estimators.fitted.attributes import FittedAttributes
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.confidence import confidence
from pacbayes.estimators.prediction.saying import said_by
from pacbayes.estimators.prediction.voters import Voters
from pacbayes.estimators.questions.asked import Asked, CrossScores
from pacbayes.numeric.arrays import Codes, FloatArray
from pacbayes.numeric.checks import check_choice

_NO_LIMITS = (
    "There are no limits by class: the rule that predicts is a posterior that the validation rows chose, of which none "
    "are proved."
)
_BY_CLASS = (
    "The limits by class, and in slices, hold at once with the bound: they have {share:g} of the rule's level, and are "
    "about new examples of that class or slice. The slice of a row was fixed without a look at other rows or labels."
)
_TARGET = (
    "It answers an example if a score of confidence, fixed on the training rows, is large enough; thresholds were "
    "tested one after the other in an order fixed on the training rows, each at the whole of delta."
)


class Questions(FittedAttributes, ABC):
    """The parts of an estimator that answer further questions."""

    prior_: FloatArray
    hedge_: float
    _asked: Asked
    _key: bytes

    # -- what subclasses provide -------------------------------------------------------------------------------------

    @abstractmethod
    def _validated(self, X: Any) -> AskedRows:
        """Return new rows as they are, and in the form the classifiers are asked with, or raise."""

    @abstractmethod
    def _voters(self) -> Voters:
        """Return the classifiers as what is asked for votes."""

    @abstractmethod
    def _remedy(self) -> str:
        """Say where missing values are to be filled in."""

    @property
    def _main_level(self) -> float:
        """What the bounds have of delta; the limits by class have the rest."""
        return main_level(self._level, self._asked.class_share)

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _occam_index(self, prior: FloatArray | None) -> int:
        level = hedged_level(self._main_level, self.hedge_, 1)
        sizes = sizes_of(self.classifiers_, self.classifiers_.m)
        return best_single(self.classifiers_.counted, sizes, level, prior).index

    def _parts_counter(
        self, voters: Voters, rows: AskedRows, codes: Codes, slices: Codes
    ) -> Callable[[NDArray[np.bool_]], PartErrors] | None:
        """Return what counts errors by class and in slices of the validation rows; None where nobody asked.

        Also count those of the other single classifier that may predict; its limits have the share of its prior weight.
        """
        if self._asked.class_share == 0.0:
            return None

        def count(wrong: NDArray[np.bool_]) -> PartErrors:
            return count_parts(wrong, codes, self.classes_.size, slices, len(self._asked.slices))

        if self.hedge_ > 0.0:
            index = self._occam_index(None if self._uniform else self.prior_)
            said = voters.predict_assigned(rows.taken, np.full(codes.size, index, dtype=np.intp))
            self._asked = replace(self._asked, occam=(index, count(said != codes)))
        return count

    def _count_thresholds(
        self, voters: Voters, rows: AskedRows, codes: Codes, cross: CrossScores, train: Codes
    ) -> Asked:
        """Return thresholds from cross-validated scores, and what the validation rows count at each.

        `train` are the class numbers of the training rows.  The scores are those of the proposed vote, whatever the
        way of predicting: any score is valid that the training rows fixed.
        """
        scores = cross(weights_of(self._rule("majority", PROPOSAL).parts))
        said = scores.argmax(axis=1)
        thresholds = Thresholds.from_scores(confidence(scores, said), said != train)
        own = self._class_scores(voters, rows)
        tested = {}
        for voting in VOTINGS:
            answers = self._say(voting, voters, rows, PROPOSAL)
            tested[voting] = ThresholdCounts(*counted_at(thresholds.values, confidence(own, answers), answers != codes))
        return replace(self._asked, thresholds=thresholds, tested=tested)

    def _class_scores(self, voters: Voters, rows: AskedRows) -> FloatArray:
        weights = weights_of(self._rule("majority", PROPOSAL).parts)
        chosen = np.flatnonzero(weights)
        return voters.scores(rows.taken, chosen, weights[chosen])

    def _say(self, voting: str, voters: Voters, rows: AskedRows, rule: str | None = None) -> Codes:
        """Return the numbers of the labels that the rule of a certificate, or another, gives rows."""
        parts = self._parts(voting) if rule is None else self._rule(voting, rule).parts
        return said_by(voting, parts, voters, rows, self._key)

    # -- certificates ------------------------------------------------------------------------------------------------

    def _as_asked(self, voting: str, found: Certificate) -> Certificate:
        """Return a certificate with what was asked for beside the bound, or about the examples that are answered."""
        if self._asked.max_error is not None:
            return self._with_target(voting, found)
        share = self._asked.class_share
        if share == 0.0:
            return found
        assumptions = (*found.assumptions, _BY_CLASS.format(share=share))
        counted, level = self._parts_of(voting, found)
        if counted is None:
            return replace(found, delta=self._level, assumptions=(*found.assumptions, _NO_LIMITS))
        whole = level / (1.0 - share) * (1.0 - 1e-12)
        limits = part_limits(counted, self.classes_, self._asked.slices, whole, share, self._asked.slice_column)
        by_class = tuple(replace(one, unit=found.unit) for one in limits)
        return replace(found, delta=self._level, assumptions=assumptions, by_class=by_class)

    def _parts_of(self, voting: str, found: Certificate) -> tuple[PartErrors | None, float]:
        """Return the errors by class of the rule that predicts, None for a posterior, and the level of its bound."""
        assert found.level is not None
        if found.rule in (POSTERIOR, TANDEM):
            return None, found.level
        if found.rule != OCCAM:
            return self._rule(voting, found.rule).in_parts, found.level
        assert self._asked.occam is not None
        index, counted = self._asked.occam
        prior = None if self._uniform else self.prior_
        return counted, float(occam_levels(len(self.classifiers_), found.level, prior)[index])

    def _with_target(self, voting: str, found: Certificate) -> Certificate:
        """Return the certificate of the proposal where it answers, at the whole of delta."""
        asked, m = self._asked, self.classifiers_.m
        assert asked.max_error is not None
        assert asked.thresholds is not None
        answered = loosest_passed(asked.thresholds, asked.tested[voting], m, asked.max_error, self._level)
        own = Claim(
            found.rule, found.source, found.level or self._level, found.bound, found.empirical_risk, found.kl,
            found.distance, found.theorem, found.lower,
        )  # fmt: skip
        held = {"stochastic": "the stochastic classifier with its key"}.get(voting, found.holds_for)
        # What was said of delta and of draws is about the rule with the smallest bound, which may be another.
        shares = shares_of_delta(self.hedge_, False)
        assumed = (KEYED if one == AVERAGED else one for one in found.assumptions if one not in shares)
        return replace(
            found,
            bound=asked.max_error if answered.passed else 1.0,
            lower=None,
            distance="binomial",
            empirical_risk=answered.errors / answered.rows if answered.passed else 0.0,
            kl=0.0,
            holds_for=held,
            theorem="Exact binomial tests of a target, in a fixed order, of a rule fixed on the training rows.",
            assumptions=(*assumed, _TARGET),
            rule=PROPOSAL,
            level=self._level,
            source=TRAINING,
            alternatives=(own, *found.alternatives),
            answered=replace(answered, unit=found.unit),
        )

    # -- predicting --------------------------------------------------------------------------------------------------

    def answers(self, X: Any) -> NDArray[np.bool_]:
        """Return for which rows the label of `predict` is one that it stands by: with `max_error`, where it is sure.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of bool, shape (n,)
            All true without `max_error`.  With it, the certificate is about the rows where it is true; `predict` gives
            the others a label too, of which nothing is guaranteed.
        """
        check_is_fitted(self)
        voting = check_choice("voting", self.voting, VOTINGS)
        with naming_remedy(X, self._remedy()):
            rows, voters = self._validated(X), self._voters()
            answered = self.certificates_[voting].answered
            if answered is None or answered.threshold is None:
                return np.full(len(rows), answered is None)
            return np.asarray(self._confidence(voting, voters, rows) >= answered.threshold)

    def _confidence(self, voting: str, voters: Voters, rows: AskedRows) -> FloatArray:
        return confidence(self._class_scores(voters, rows), self._say(voting, voters, rows))

    def certified_below(
        self, target: float, cost: ArrayLike | Callable[[Any], float] | None = None
    ) -> list[CertifiedMember]:
        """Return the single classifiers whose risk is certified to be below a target: all of them at once.

        Whichever of them is taken afterwards, for whatever reason (speed, size, being readable), its limit holds: each
        has the exact limit (for groups, Chernoff's) at delta times its prior weight.  That is a guarantee beside
        `certificate_`, at the same delta, and not at once with it.

        Parameters
        ----------
        target : float
            Limits at most this, between 0 and 1.
        cost : array_like of shape (H,) or callable, optional
            What each classifier of `classifiers_` costs, or a function of a fitted one: the cheapest comes first.

        Returns
        -------
        list of CertifiedMember
            The cheapest first, or without `cost` the one with the smallest limit.
        """
        check_is_fitted(self)
        prior = None if self._uniform else self.prior_
        return members_below(self.classifiers_, target, cost, self._level, prior)
