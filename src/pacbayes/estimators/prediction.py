"""What a fitted model does with new rows: predictions, and which of them the certificate is about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import FloatArray, Labels
from pacbayes._utils.checks import check_choice
from pacbayes._utils.values import fingerprint
from pacbayes.certificates.batch import Batch
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.difference import warn_of_known
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.voting import BITS, POSTERIOR, SOFT, VOTINGS, vote_sums
from pacbayes.certificates.watching import Monitor, wrong_answers
from pacbayes.data.division import DISTINCT
from pacbayes.data.duplicates import Overlap, check_new_rows
from pacbayes.data.labelled import check_same_order
from pacbayes.data.preprocessing import naming_remedy
from pacbayes.data.rows import number_of_rows
from pacbayes.ensemble.calibration import DECISIONS, PROBABILITIES, scores_of
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.members import Coding
from pacbayes.estimators.fitted import CountedBatch, Fitted
from pacbayes.estimators.rows import Advice, new_rows

# Why only one way predicts with a threshold.
BY_SOFT = "a threshold is one of the soft vote's probability"


def _available(why_not: str | None) -> bool:
    """Raise the reason why a method is not there."""
    if why_not is not None:
        raise AttributeError(why_not)
    return True


class Predicts(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # no types in scikit-learn
    """A fitted set of classifiers as one: the value `_fitted`, and the certificates that follow from it."""

    _fitted: Fitted
    certificates_: Mapping[str, Certificate]

    @property
    @abstractmethod
    def _advice(self) -> Advice:
        """What to do about missing values and text."""

    @property
    def _takes_numbers(self) -> bool:
        """Whether rows to predict must be numbers."""
        return False

    def _validated(self, X: Any) -> Any:
        return new_rows(self, X, self._takes_numbers, self._advice)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificates_")

    # -- new rows ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels, shape (n,), in the way `voting` says now.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            As the classifiers say.  A label that is not in `classes_` (of a classifier that marks outliers, for one) is
            passed on: it counted as an error on the validation rows, and has votes like any other.
        """
        check_is_fitted(self)
        voting = self._voting()
        with naming_remedy(X, self._advice.fill):
            return self._fitted.predict(voting, self._validated(X))

    def vote_share(self, X: Any) -> FloatArray:
        """Return for every row and class the weight of the classifiers that vote for it.

        The weights are those of the rule that predicts: of the draws for ``voting="stochastic"``, where it is also the
        probability with which the stochastic classifier, its key not yet drawn, says that class; else of the vote.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
            Columns in the order of `classes_`.  Rows sum to one, less the weight of classifiers that answer with a
            label which is none of them.
        """
        check_is_fitted(self)
        parts, members = self._fitted.weights(self._shared_voting()), self._fitted.members
        chosen = np.flatnonzero(parts)
        with naming_remedy(X, self._advice.fill):
            taken = members.prepared(self._validated(X))
            votes = vote_sums(members, taken, chosen, parts[chosen], Coding(members.classes))
        return np.ldexp(votes[:, : self.classes_.size], -BITS)

    @available_if(lambda self: _available(self._no_probabilities()))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the rule that predicts, whose largest is what `predict` says.

        Of a soft vote the mean of calibrated probabilities; of a majority vote the shares of its votes (a label that is
        not in `classes_` may have more still); of a single classifier its own, where it has some.  Draws have none.
        With a `Threshold` they are the same as without, and `predict` compares one of them with the threshold.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        voting = self._voting()
        with naming_remedy(X, self._advice.fill):
            rows = self._validated(X)
            if voting == SOFT:
                return self._fitted.probabilities(rows)
            if voting == "majority":
                return self._fitted.with_refit(rows, self.vote_share(X))
            own = scores_of(self.best_estimator_, rows, PROBABILITIES, self.classes_)
            return self._fitted.with_refit(rows, own)

    def _no_probabilities(self) -> str | None:
        """Say why there are no probabilities of what predicts, None where there are."""
        if not self.__sklearn_is_fitted__():
            return None
        try:
            voting = self._voting()
        except (TypeError, ValueError) as error:
            return str(error)
        if voting == "stochastic":
            return (
                "voting='stochastic' does not predict what has the largest share; use vote_share(X), or "
                'set_params(voting="majority")'
            )
        if voting in (SOFT, "majority"):
            return None
        one = self.best_estimator_
        known = hasattr(one, "predict_proba") and hasattr(one, "classes_")
        return None if known else f"{type(one).__name__}, the classifier that predicts, has no probabilities of its own"

    @available_if(lambda self: _available(self._no_decisions()))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the single classifier that predicts, as it gives them; votes have none.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, classes)
            Columns in the order of `classes_`; of two classes, positive values are for the second.
        """
        with naming_remedy(X, self._advice.fill):
            found = scores_of(self.best_estimator_, self._validated(X), DECISIONS, self.classes_)
        return found[:, 0] if found.shape[1] == 1 else found

    def _no_decisions(self) -> str | None:
        """Say why there are no decision values of what predicts, None where there are."""
        if not self.__sklearn_is_fitted__() or self.voting_ != "best":
            return "only a fitted model whose voting_ is 'best' has decision values"
        if self._fitted.refit is not None:
            return "the refit answers where it is clear, and its decision values are others"
        one = self.best_estimator_
        known = hasattr(one, "decision_function") and hasattr(one, "classes_")
        return None if known else f"{type(one).__name__}, the classifier that predicts, has no decision values"

    def answers(self, X: Any) -> NDArray[np.bool_]:
        """Return for which rows the label of `predict` is one that it stands by: with `Abstain`, where it is sure.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of bool, shape (n,)
            All true without a target `Abstain` (or `max_error`).  With it, the certificate is about the rows where it
            is true; `predict` gives the others a label too, of which nothing is guaranteed.
        """
        check_is_fitted(self)
        voting = self._voting()
        with naming_remedy(X, self._advice.fill):
            rows, answered = self._validated(X), self.certificates_[voting].answered
            if answered is None or answered.threshold is None:
                return np.full(number_of_rows(rows), answered is None)
            return np.asarray(self._fitted.confidence(voting, rows) >= answered.threshold)

    def covered(self, X: Any) -> NDArray[np.bool_]:
        """Return which answers of `predict` the certificate covers: those that the certified classifier gives too.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of bool, shape (n,)
            All true without a refit.
        """
        check_is_fitted(self)
        voting = self._voting()
        with naming_remedy(X, self._advice.fill):
            return self._fitted.covered(voting, self._validated(X))

    def of_these(self, X: Any) -> Batch:
        """Return how many of the answers to a batch of new rows are wrong at most.

        Exact for the rows at hand, where `certificate_` is about all that may come: the validation rows and those of
        the batch could change places.  It is one statement about one batch, at the level delta, beside `certificate_`
        and not at once with it.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New rows, as `predict` takes them: independent draws that the model was not fitted with.

        Returns
        -------
        Batch

        Raises
        ------
        ValueError
            Where nothing is proved: for weights that the validation rows found (a posterior), with
            groups, ``duplicates="together"``, targets, and splits other than "shared"; and if more rows than chance
            explains equal rows that the model was fitted with.
        """
        check_is_fitted(self)
        counted = self._counted_batch()
        with naming_remedy(X, self._advice.fill):
            counted.add(self._validated(X))
        return counted.batch()

    def _counted_batch(self) -> CountedBatch:
        """Return what counts a batch that is given block by block; raise where nothing is proved of one."""
        return self._fitted.batch(self._voting())

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Return what watches whether the certificate holds for rows that arrive with their labels.

        Its ``update(X, y_true)`` takes them in batches of any size, in the order in which they arrived.

        Parameters
        ----------
        alpha : float, default=0.01
            If the certificate is true and nothing changes, an alarm is ever seen with at most this probability.

        Returns
        -------
        Monitor
            Of the certificate of `voting` as it is now.  With `Abstain` rows that are not answered do not count;
            after a refit answers that are not covered are no errors; a model that was fitted with groups needs
            ``groups=`` and counts complete groups.  Refused for draws by a posterior and ``duplicates="together"``.
        """
        check_is_fitted(self)
        voting = self._voting()
        check_watched(self.certificates_[voting], voting)
        monitor = self.certificates_[voting].monitor(alpha, wrong=Watched(self, self._fitted, voting))
        # Two models with as many errors may have equal certificates.
        monitor.fingerprint = fingerprint(
            [monitor.fingerprint, self._fitted.plan.known_rows, self._fitted.evidence.answers]
        )
        return monitor

    # -- what predicts -----------------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the chosen way of predicting."""
        check_is_fitted(self)
        return self.certificates_[self.voting_]

    @property
    def voting_(self) -> str:
        """How it predicts: `voting`, or what "auto" stands for in this fit."""
        check_is_fitted(self)
        try:
            return self._voting()
        except (TypeError, ValueError) as error:
            # No other error: who lists the attributes of an estimator takes this one for an absent attribute.
            raise AttributeError(f"there is no certificate_ for voting={self.voting!r}: {error}") from None

    def _voting(self) -> str:
        """Return how a fitted model predicts now, or raise for a way it was not fitted for."""
        voting = check_choice("voting", self.voting, (AUTO, *VOTINGS))
        plan = self._fitted.plan
        if voting == AUTO:
            return plan.usual_voting
        if plan.refit not in (None, voting):
            raise ValueError(f"voting must be {plan.refit!r} or 'auto': the model was refitted for it, got {voting!r}")
        if plan.has_cuts and voting != SOFT:
            raise ValueError(f"voting must be 'soft' or 'auto' for this fit, got {voting!r}: {BY_SOFT}")
        if voting not in plan.votings:
            raise ValueError(
                f"voting must be one of {', '.join(plan.votings)} for this fit, got {voting!r}: nothing was proposed "
                "that has probabilities"
            )
        return voting

    @property
    def classes_(self) -> Labels:
        """The classes, sorted."""
        check_is_fitted(self)
        return self._fitted.members.classes

    @property
    def classifiers_(self) -> ClassifierSet:
        """The classifiers with their answers to the validation rows."""
        check_is_fitted(self)
        return self._fitted.classifiers

    def _shared_voting(self) -> str:
        return "majority" if self.voting_ == "best" else self.voting_

    @property
    def best_index_(self) -> int:
        """The number of the classifier used by ``voting="best"``."""
        check_is_fitted(self)
        return self._fitted.best_index

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the classifier used by ``voting="best"``, number `best_index_`."""
        return self.classifiers_.params[self.best_index_]

    @property
    def best_estimator_(self) -> Any:
        """The fitted classifier used by ``voting="best"``, which ``certificates_["best"]`` is for."""
        return self.classifiers_[self.best_index_]

    def _overlap_with(self, X: Any) -> Overlap | None:
        """Return how many rows equal rows that the model was fitted with, validation rows among them.

        None where it is not known: for rows without a value to be compared by.
        """
        check_is_fitted(self)
        return self._fitted.overlap(X)


def check_watched(certificate: Certificate, voting: str, copies_left_out: bool = False) -> None:
    """Raise where rows that arrive do not have losses of mean at most the bound, one after the other."""
    if voting == "stochastic" and certificate.rule == POSTERIOR:
        raise ValueError(
            "draws by a posterior cannot be watched: the bound is on their average, and equal rows get equal draws. "
            "Use another voting"
        )
    if certificate.unit == DISTINCT and not copies_left_out:
        raise ValueError(
            "with duplicates='together' every distinct row counts once, and a monitor does not know which came before: "
            "give the errors of distinct rows to certificate_.monitor(); pacbayes watch leaves copies out"
        )


@dataclass(frozen=True, eq=False)
class Watched:
    """The model and its way of predicting when the monitor was made: the limit is theirs, and no others'."""

    model: Any
    fitted: Fitted
    voting: str

    def __call__(self, X: Any, y_true: ArrayLike) -> ArrayLike:
        """Return for every row that the model answers whether it is wrong, and covered where it was refitted."""
        if self.model._fitted is not self.fitted or self.model._voting() != self.voting:
            raise ValueError(
                "the model was fitted again, or predicts in another way, since its monitor was made: make another"
            )
        check_same_order(X=X, y_true=y_true)
        warn_of_known(check_new_rows(self.model, X, "X", "the model"), "X", "the model")
        wrong = wrong_answers(y_true, self.model.predict(X))
        if self.fitted.refit is not None:
            wrong = wrong & self.model.covered(X)
        return wrong if self.fitted.certificates[self.voting].answered is None else wrong[self.model.answers(X)]
