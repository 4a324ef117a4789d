"""What a fitted estimator says of itself: levels, choices, and what somebody who knows GridSearchCV looks for."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from pacbayes.bounds.distance import Distance
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import OCCAM, POSTERIOR, VOTINGS
from pacbayes.certificates.limits import risk_of_one
from pacbayes.certificates.posterior_choice import Counts, integer_weights, weights_of
from pacbayes.certificates.rules.rule import PROPOSAL, Rule, parts_of_one
from pacbayes.certificates.rules.tandem_vote import TANDEM
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.data.rows import Overlap, hashed_rows, overlap
from pacbayes.estimators.fitted.cv_results import cv_results
from pacbayes.numeric.arrays import FloatArray
from pacbayes.posteriors.posterior import Posterior


class FittedAttributes:
    """Properties of an estimator that follow from what its `fit` stored."""

    classes_: Any
    classifiers_: ClassifierSet
    certificates_: dict[str, Certificate]
    posterior_: Posterior
    best_index_: int
    voting: str
    _rules: tuple[Rule, ...]
    _tandem: Rule | None
    _vote_errors: int | GroupErrors | None
    _cross_validated: CrossValidation | None
    _constant: tuple[int, int | GroupErrors] | None
    _level: float
    #: What was asked for, and what that is: Catoni's parameter may come from cross-validation.
    _distance: Any
    _distances: tuple[Distance, ...]
    _uniform: bool
    _key: bytes

    def _parts(self, voting: str) -> Counts:
        """Return the weights of the rule that predicts, in whole multiples of 2^-52."""
        rule = self.certificates_[voting].rule
        if rule == POSTERIOR:
            return integer_weights(self.posterior_.weights)
        if rule == TANDEM:
            assert self._tandem is not None
            return self._tandem.parts
        if rule == OCCAM:
            return parts_of_one(self.best_index_, len(self.classifiers_))
        return self._rule(voting, rule).parts

    def _rule(self, voting: str, name: str) -> Rule:
        return next(rule for rule in self._rules if (rule.voting, rule.name) == (voting, name))

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the chosen way of predicting."""
        check_is_fitted(self)
        if self.voting not in VOTINGS:
            # No other error: who lists the attributes of an estimator takes this one for an absent attribute.
            raise AttributeError(f"there is no certificate_ for voting={self.voting!r}; known are {', '.join(VOTINGS)}")
        return self.certificates_[self.voting]

    def _overlap_with(self, X: Any) -> Overlap | None:
        """Return how many rows equal rows that the model was fitted with, validation rows among them.

        Parameters
        ----------
        X : array_like of shape (n, d)
            As for `predict`.

        Returns
        -------
        Overlap or None
            None where it is not known: for rows without a value to be compared by.
        """
        check_is_fitted(self)
        known = self.__dict__.get("_fitted_rows")
        new = None if known is None else hashed_rows(X, self._key)
        return None if known is None or new is None else overlap(known, new)

    @property
    def delta_(self) -> float:
        """The level of the certificates: `delta` as it was when fitted."""
        check_is_fitted(self)
        return float(self._level)

    @property
    def distances_(self) -> tuple[str, ...]:
        """The distances among which the posterior was chosen, at an equal share of ``hedge_ * delta_`` each."""
        check_is_fitted(self)
        return tuple(one.name for one in self._distances)

    @property
    def has_uniform_prior_(self) -> bool:
        """Whether all classifiers had the same prior weight because nothing else was asked for."""
        check_is_fitted(self)
        return bool(self._uniform)

    @property
    def constant_label_(self) -> Any:
        """The class most frequent among the training rows, which every certificate is compared with.

        None in a model of an early version, which did not store it.
        """
        check_is_fitted(self)
        return None if self._constant is None else self.classes_[self._constant[0]]

    @property
    def proposal_(self) -> dict[str, FloatArray]:
        """The weights that the training rows proposed, by voting; empty where ``hedge_`` is 1."""
        check_is_fitted(self)
        return {rule.voting: weights_of(rule.parts) for rule in self._rules if rule.name == PROPOSAL}

    @property
    def weights_(self) -> FloatArray:
        """The weights with which `voting` predicts: those of the rule that its certificate is for."""
        check_is_fitted(self)
        if self.voting not in VOTINGS:
            raise AttributeError(f"there are no weights_ for voting={self.voting!r}; known are {', '.join(VOTINGS)}")
        return weights_of(self._parts(self.voting))

    @property
    def draw_or_vote_weights_(self) -> FloatArray:
        """The weights behind `vote_share`: of the draws for ``voting="stochastic"``, else of the vote."""
        check_is_fitted(self)
        return weights_of(self._shared_parts())

    def _shared_parts(self) -> Counts:
        return self._parts("stochastic" if self.voting == "stochastic" else "majority")

    @property
    def vote_errors_(self) -> int | GroupErrors | None:
        """The majority vote's own errors on the validation rows; None where no row validates all classifiers."""
        check_is_fitted(self)
        rule = self.certificates_["majority"].rule
        if rule == TANDEM:
            assert self._tandem is not None
            return self._tandem.errors
        return self._vote_errors if rule == POSTERIOR else self._rule("majority", rule).errors

    @property
    def vote_risk_(self) -> float | None:
        """The majority vote's own share of validation errors, rounded up; None where they were not counted."""
        errors = self.vote_errors_
        return None if errors is None else risk_of_one(errors, self.classifiers_.m)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the classifier used by ``voting="best"``, number `best_index_`."""
        check_is_fitted(self)
        return self.classifiers_.params[self.best_index_]

    @property
    def best_estimator_(self) -> Any:
        """The fitted classifier used by ``voting="best"``, which ``certificates_["best"]`` is for."""
        check_is_fitted(self)
        return self.classifiers_[self.best_index_]

    @property
    def cv_results_(self) -> dict[str, Any]:
        """What the cross-validation within the training rows found, as `GridSearchCV` shows it.

        Scores are NaN for classifiers that had no part in it: it has at most 50, but for machines behind a proposal,
        where it has all.  Of those of rank 1 the middle one of the longest run is the proposal for ``voting="best"``,
        and the classifier of the hold-out baseline; with ``hedge_`` 1 the first of them.
        """
        check_is_fitted(self)
        if self._cross_validated is None:
            why = self.certificates_["best"].baselines["hold-out"].note
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'cv_results_': {why}; fit it with "
                "split='shared' and a number of folds as cv"
            )
        return cv_results(self.classifiers_.params, self._cross_validated)
