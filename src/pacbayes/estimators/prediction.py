"""Prediction methods of fitted models."""

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
from pacbayes._utils.checks import check_choice, warn_caller
from pacbayes._utils.values import fingerprint
from pacbayes.certificates.batch import Batch
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.decisions import PredictionSet, SelectiveResult
from pacbayes.certificates.difference import warn_of_overlap
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.monitor import Monitor, count_wrong
from pacbayes.certificates.voting import BITS, POSTERIOR, SOFT, VOTINGS, vote_sums
from pacbayes.data.dataset import check_same_order
from pacbayes.data.duplicates import Overlap, check_new_rows
from pacbayes.data.preprocessing import add_remedy_to_errors
from pacbayes.data.rows import count_rows
from pacbayes.data.schema import UnseenCategoryWarning, format_unseen_categories
from pacbayes.data.split import DISTINCT
from pacbayes.ensemble.calibration import DECISIONS, PROBABILITIES, compute_scores
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.members import Coding
from pacbayes.estimators.fitted import CountedBatch, Fitted
from pacbayes.estimators.rows import Advice, validate_new_rows

# Reason why some decisions require voting="soft".
SOFT_VOTE_ONLY = "the decision applies to the probabilities of the soft vote"


def _raise_if_unavailable(reason: str | None) -> bool:
    """Raise AttributeError if there is a reason why a method is not available; otherwise return True."""
    if reason is not None:
        raise AttributeError(reason)
    return True


class PredictionMixin(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # no types in scikit-learn
    """Mixin with the methods of a fitted model for new rows."""

    _fitted: Fitted
    certificates_: Mapping[str, Certificate]

    @property
    @abstractmethod
    def _advice(self) -> Advice:
        """Advice on missing values and strings for error messages."""

    @property
    def _requires_numeric_input(self) -> bool:
        """Whether X must be numeric."""
        return False

    def _validate_input(self, X: Any) -> Any:
        return validate_new_rows(self, X, self._requires_numeric_input, self._advice)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificates_")

    # -- predictions -------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels by the current `voting`.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            A label that is not in `classes_`, for example the outlier label of some classifiers, is possible: it counts
            as an error on the validation set and as a vote.
        """
        check_is_fitted(self)
        voting = self._voting()
        with add_remedy_to_errors(X, self._advice.fill):
            rows = self._validate_input(X)
            self._warn_unseen(rows)
            return self._fitted.predict(voting, rows)

    def vote_share(self, X: Any) -> FloatArray:
        """Weight of the classifiers that vote for each class.

        The weights are those of the rule that predicts.  With ``voting="stochastic"``, the share of a class is the
        probability that the stochastic classifier predicts it, over draws of its key.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
            Columns in the order of `classes_`.  Rows sum to one minus the weight of classifiers that predict a label
            which is not in `classes_`.
        """
        check_is_fitted(self)
        weights, members = self._fitted.weights(self._shared_voting()), self._fitted.members
        voters = np.flatnonzero(weights)
        with add_remedy_to_errors(X, self._advice.fill):
            preprocessed = members.preprocess(self._validate_input(X))
            votes = vote_sums(members, preprocessed, voters, weights[voters], Coding(members.classes))
        return np.ldexp(votes[:, : self.classes_.size], -BITS)

    @available_if(lambda self: _raise_if_unavailable(self._why_no_probabilities()))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability estimates of the rule that predicts.

        A soft vote has mean calibrated probabilities, a majority vote the shares of the votes (those of labels that are
        not in `classes_` are left out), and a single classifier its own `predict_proba`.  Not available for
        ``voting="stochastic"``.  `predict` returns the class with the highest probability, or, with a `Threshold`,
        compares the probability of the positive class with the threshold.

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
        with add_remedy_to_errors(X, self._advice.fill):
            rows = self._validate_input(X)
            if voting == SOFT:
                return self._fitted.probabilities(rows)
            if voting == "majority":
                return self._fitted.replace_by_refit_probabilities(rows, self.vote_share(X))
            probabilities = compute_scores(self.best_estimator_, rows, PROBABILITIES, self.classes_)
            return self._fitted.replace_by_refit_probabilities(rows, probabilities)

    def _why_no_probabilities(self) -> str | None:
        """Reason why `predict_proba` is not available; None if it is."""
        if not self.__sklearn_is_fitted__():
            return None
        try:
            voting = self._voting()
        except (TypeError, ValueError) as error:
            return str(error)
        if voting == "stochastic":
            return (
                "voting='stochastic' does not predict the class with the largest share; use vote_share(X) or "
                'set_params(voting="majority")'
            )
        if voting in (SOFT, "majority"):
            return None
        estimator = self.best_estimator_
        available = hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_")
        return None if available else f"{type(estimator).__name__}, the classifier that predicts, has no predict_proba"

    @available_if(lambda self: _raise_if_unavailable(self._why_no_decision_function()))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Decision function of the single classifier that predicts; votes have none.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, classes)
            Columns in the order of `classes_`; for two classes, positive values mean the second class.
        """
        with add_remedy_to_errors(X, self._advice.fill):
            scores = compute_scores(self.best_estimator_, self._validate_input(X), DECISIONS, self.classes_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _why_no_decision_function(self) -> str | None:
        """Reason why `decision_function` is not available; None if it is."""
        if not self.__sklearn_is_fitted__() or self.voting_ != "best":
            return "decision_function requires a fitted model whose voting_ is 'best'"
        if self._fitted.refit is not None:
            return "decision_function is not available after a refit, which is used where its prediction is clear"
        estimator = self.best_estimator_
        available = hasattr(estimator, "decision_function") and hasattr(estimator, "classes_")
        return (
            None if available else f"{type(estimator).__name__}, the classifier that predicts, has no decision_function"
        )

    def accepts(self, X: Any) -> NDArray[np.bool_]:
        """Mask of the rows for which the classifier does not abstain.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of bool, shape (n,)
            All true without `Abstain` (or `max_error`).  With it, the certificate holds for the rows where the mask is
            true; `predict` returns a label for the others too, without any guarantee.
        """
        check_is_fitted(self)
        voting = self._voting()
        with add_remedy_to_errors(X, self._advice.fill):
            rows, result = self._validate_input(X), self.certificates_[voting].decision
            if not isinstance(result, SelectiveResult) or result.threshold is None:
                return np.full(count_rows(rows), not isinstance(result, SelectiveResult))
            return np.asarray(self._fitted.confidence(voting, rows) >= result.threshold)

    @available_if(lambda self: _raise_if_unavailable(self._why_no_prediction_sets()))  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Prediction sets, for a model fitted with `PredictionSet`.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of bool, shape (n, classes)
            Whether the set of a row contains a class.  Columns in the order of `classes_`.  Every set contains the
            class that `predict` returns.
        """
        self._voting()
        with add_remedy_to_errors(X, self._advice.fill):
            rows = self._validate_input(X)
            self._warn_unseen(rows)
            return self._fitted.predict_set(rows)

    def _why_no_prediction_sets(self) -> str | None:
        """Reason why `predict_set` is not available; None if it is."""
        if self.__sklearn_is_fitted__() and isinstance(self._fitted.plan.decision, PredictionSet):
            return None
        return "predict_set requires a model fitted with decision=PredictionSet(...)"

    def covered(self, X: Any) -> NDArray[np.bool_]:
        """Mask of the rows for which the certified classifier predicts the same label as `predict`.

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
        with add_remedy_to_errors(X, self._advice.fill):
            return self._fitted.covered(voting, self._validate_input(X))

    def certify_batch(self, X: Any) -> Batch:
        """Bound the number of errors among the predictions for a batch of new rows.

        The bound is for these rows, while `certificate_` is for all new examples.  It relies on exchangeability of the
        validation rows and the rows of the batch.  It holds with confidence ``1 - delta`` for one batch, not jointly
        with `certificate_`.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New rows, as for `predict`: independent draws that were not used in `fit`.

        Returns
        -------
        Batch

        Raises
        ------
        ValueError
            If the batch cannot be certified: for weights chosen on the validation set (a posterior), with groups,
            ``duplicates="together"``, a decision, or a split other than "shared"; and if more rows than chance explains
            equal rows that were used in `fit`.
        """
        check_is_fitted(self)
        batch = self._counted_batch()
        with add_remedy_to_errors(X, self._advice.fill):
            rows = self._validate_input(X)
            self._warn_unseen(rows)
            batch.add(rows)
        return batch.batch()

    def _warn_unseen(self, rows: Any) -> None:
        """Warn of categories that do not occur in the training rows."""
        schema = self._fitted.plan.schema
        for message in format_unseen_categories({} if schema is None else schema.find_unseen(rows), count_rows(rows)):
            warn_caller(message, UnseenCategoryWarning)

    def _counted_batch(self) -> CountedBatch:
        """Accumulator of a batch that arrives in blocks; raise if batches cannot be certified."""
        return self._fitted.batch(self._voting())

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Monitor whether the certificate still holds for new labelled rows.

        Pass new rows to its ``update(X, y_true)``, in batches of any size, in order of arrival.

        Parameters
        ----------
        alpha : float, default=0.01
            Upper bound on the probability of ever raising a false alarm.

        Returns
        -------
        Monitor
            Monitor of the certificate of the current `voting`.  With `Abstain`, only accepted rows count; after a
            refit, predictions that are not covered do not count as errors; a model fitted with groups requires
            ``groups=`` and counts complete groups.  Not available for a stochastic posterior and for
            ``duplicates="together"``.
        """
        check_is_fitted(self)
        voting = self._voting()
        check_monitorable(self.certificates_[voting], voting)
        monitor = self.certificates_[voting].monitor(alpha, wrong=MonitoredErrors(self, self._fitted, voting))
        # Include the validation predictions, because different models may have equal certificates.
        monitor.fingerprint = fingerprint(
            [monitor.fingerprint, self._fitted.plan.row_fingerprints, self._fitted.predictions.y_pred]
        )
        return monitor

    # -- fitted attributes -------------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """The certificate of `voting_`."""
        check_is_fitted(self)
        return self.certificates_[self.voting_]

    @property
    def voting_(self) -> str:
        """The voting that predicts: `voting`, with "auto" resolved."""
        check_is_fitted(self)
        try:
            return self._voting()
        except (TypeError, ValueError) as error:
            # Raise AttributeError, because scikit-learn checks attributes with hasattr.
            raise AttributeError(f"there is no certificate_ for voting={self.voting!r}: {error}") from None

    def _voting(self) -> str:
        """Resolve `voting`; raise if the fit does not support it."""
        voting = check_choice("voting", self.voting, (AUTO, *VOTINGS))
        plan = self._fitted.plan
        if voting == AUTO:
            return plan.default_voting
        if plan.refit not in (None, voting):
            raise ValueError(f"voting must be {plan.refit!r} or 'auto': the model was refitted for it, got {voting!r}")
        if plan.needs_soft and voting != SOFT:
            raise ValueError(f"voting must be 'soft' or 'auto' for this fit, got {voting!r}: {SOFT_VOTE_ONLY}")
        if voting not in plan.votings:
            raise ValueError(
                f"voting must be one of {', '.join(plan.votings)} for this fit, got {voting!r}: no calibrated "
                "probabilities are available"
            )
        return voting

    @property
    def classes_(self) -> Labels:
        """The classes, sorted."""
        check_is_fitted(self)
        return self._fitted.members.classes

    @property
    def classifiers_(self) -> ClassifierSet:
        """The classifiers with their validation predictions."""
        check_is_fitted(self)
        return self._fitted.classifiers

    def _shared_voting(self) -> str:
        return "majority" if self.voting_ == "best" else self.voting_

    @property
    def best_index_(self) -> int:
        """The index of the classifier used by ``voting="best"``."""
        check_is_fitted(self)
        return self._fitted.best_index

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the classifier used by ``voting="best"``."""
        return self.classifiers_.params[self.best_index_]

    @property
    def best_estimator_(self) -> Any:
        """The fitted classifier used by ``voting="best"``, certified by ``certificates_["best"]``."""
        return self.classifiers_[self.best_index_]

    def _overlap_with(self, X: Any) -> Overlap | None:
        """Overlap of X with the training and validation rows; None if rows cannot be compared."""
        check_is_fitted(self)
        return self._fitted.overlap(X)


def check_monitorable(certificate: Certificate, voting: str, drops_duplicates: bool = False) -> None:
    """Raise if the losses of arriving rows are not conditionally bounded in mean, as a monitor requires."""
    if voting == "stochastic" and certificate.rule == POSTERIOR:
        raise ValueError(
            "a stochastic posterior cannot be monitored: the bound is on the average over draws, and equal rows get "
            "equal draws. Use another voting"
        )
    if certificate.unit == DISTINCT and not drops_duplicates:
        raise ValueError(
            "with duplicates='together' every distinct row counts once, and a monitor does not recognise earlier rows: "
            "pass the errors of distinct rows to certificate_.monitor(), or use pacbayes watch, which drops duplicates"
        )


@dataclass(frozen=True, eq=False)
class MonitoredErrors:
    """Errors of a monitored model; raises if the model was refitted or its voting was changed."""

    model: Any
    fitted: Fitted
    voting: str

    def __call__(self, X: Any, y_true: ArrayLike) -> ArrayLike:
        """Mask of errors among accepted predictions; after a refit, only covered predictions count as errors."""
        if self.model._fitted is not self.fitted or self.model._voting() != self.voting:
            raise ValueError("the model was fitted again or its voting changed; create a new monitor")
        check_same_order(X=X, y_true=y_true)
        warn_of_overlap(check_new_rows(self.model, X, "X", "the model"), "X", "the model")
        wrong = count_wrong(y_true, self.model.predict(X))
        if self.fitted.refit is not None:
            wrong = wrong & self.model.covered(X)
        return wrong if not self.fitted.certificates[self.voting].abstains else wrong[self.model.accepts(X)]
