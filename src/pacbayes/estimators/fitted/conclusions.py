"""From what a fit counted, or a file stores, to certificates: all that follows is computed here, and nowhere stored."""

import warnings
from typing import Any

import numpy as np

from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.certificate import Baseline, Certificate
from pacbayes.certificates.certify import OCCAM, certify
from pacbayes.certificates.constant import constant_baseline
from pacbayes.certificates.hold_out import hold_out
from pacbayes.certificates.limits import risk_of_one
from pacbayes.certificates.posterior_choice import divide_delta, restored_posterior, weights_of
from pacbayes.certificates.rules.hedge import hedged_level
from pacbayes.data.division import GROUP
from pacbayes.estimators.fitted.roles import roles
from pacbayes.estimators.questions.answering import Questions
from pacbayes.estimators.training.prior import PRIORS
from pacbayes.estimators.training.training_choices import resolve_distances
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice


class Conclusions(Questions):
    """The part of an estimator that turns errors, weights and sizes into certificates."""

    _prior_kind: str

    def _conclude(self) -> None:
        """Set what follows from errors, prior, posterior and rules."""
        certificates, prior = self._certificates(), None if self._uniform else self.prior_
        found = certificates["best"]
        if self._asked.occam is not None and self._asked.occam[0] != self._occam_index(prior):
            raise ValueError("the errors by class must be those of the classifier with the smallest Occam bound")
        self.best_index_ = self._occam_index(prior) if found.rule == OCCAM else self._rule("best", found.rule).index
        # Last: with it the estimator counts as fitted.
        self.certificates_ = certificates

    def _restore(self, posterior: dict[str, Any] | None) -> None:
        """Compute anew all that follows from what a file stores; none of it is read from there."""
        self.classifiers_ = self.classifiers_.recounted()
        number = len(self.classifiers_)
        if self._uniform:
            self.prior_ = np.full(number, 1.0 / number)
        share = hedged_level(self._main_level, self.hedge_, 1)
        self._distances = resolve_distances(
            self._distance, self._cross_validated, self.classifiers_.m, share or self._level
        )
        if posterior is not None:
            self._restore_posterior(**posterior)
        self._conclude()

    def _restore_posterior(self, weights: FloatArray, distance: str, constant: str) -> None:
        among = {one.name: one for one in self._distances}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
            self.posterior_ = restored_posterior(
                weights,
                self.classifiers_.risks,
                self.classifiers_.m,
                distance=among[check_choice("distance", distance, among)],
                delta=divide_delta(hedged_level(self._main_level, self.hedge_, 1), len(self._distances)),
                prior=None if self._uniform else self.prior_,
                constant=check_choice("constant", constant, CONSTANTS),
            )

    def _certificates(self) -> dict[str, Certificate]:
        """Return the certificates that follow from what is stored."""
        splits, posterior = self.classifiers_.splits, self.__dict__.get("posterior_")
        if splits is None or not splits.m == self.classifiers_.m == (splits if posterior is None else posterior).m:
            raise ValueError("the classifiers and the posterior must have the validation size of the division")
        if (self.classifiers_.group_errors is None) is (splits.unit == GROUP):
            raise ValueError(f"the errors must be counted as the rows were divided: by {splits.unit}")
        self._check_votes()
        found = self._cross_validated
        if found is None:
            chosen = next((rule.index for rule in self._rules if rule.voting == "best"), None)
        else:
            chosen = found.first if self.hedge_ == 1.0 else found.middle
        found_by = certify(
            posterior,
            self.classifiers_,
            delta=self._main_level,
            prior=None if self._uniform else self.prior_,
            n_distances=len(self._distances),
            hold_out=hold_out(self.classifiers_, found, chosen, self._level),
            constant=self._constant_baseline(),
            assumptions=(*roles(self.classifiers_), PRIORS[self._prior_kind]),
            rules=self._rules,
            hedge=self.hedge_,
            tandem=None if self._tandem is None else self._tandem.parts,
        )
        return {voting: self._as_asked(voting, one) for voting, one in found_by.items()}

    def _check_votes(self) -> None:
        """Raise if a vote erred more often than its classifiers' errors allow."""
        votes = [(weights_of(rule.parts), rule.errors) for rule in self._rules if rule.voting == "majority"]
        if self._vote_errors is not None:
            votes.append((self.posterior_.weights, self._vote_errors))
        if self._tandem is not None and self._tandem.errors is not None:
            votes.append((weights_of(self._tandem.parts), self._tandem.errors))
        for weights, errors in votes:
            assert errors is not None
            # Where a vote errs, classifiers of at least half the weight err; risks were rounded up, as sums may be.
            most, m = 2.0 * float(weights @ self.classifiers_.risks), self.classifiers_.m
            if not 0.0 <= risk_of_one(errors, m) <= most * (1.0 + 1e-12):
                raise ValueError(
                    f"a vote can have erred at most {most * m:g} times, got {errors}: the classifiers do not answer as "
                    "they did when their errors were counted"
                )

    def _constant_baseline(self) -> Baseline:
        """Return what always answering the most frequent class errs on, from its stored errors."""
        splits = self.classifiers_.splits
        assert splits is not None
        if self._constant is None:
            return Baseline(None, None, "the training rows are not here")
        code, errors = self._constant
        whose = "the training rows" if splits.kind == "shared" else "the training rows of the first classifier"
        size = splits.m if splits.sizes_each is None else int(splits.sizes_each[0])
        return constant_baseline(self.classes_[code], errors, size, self._level, whose)
