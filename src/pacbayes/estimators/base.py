"""What all estimators share: a fit from rows to certificates, predictions, and what a fitted model says of itself."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.batch import Batch
from pacbayes.certificates.below import CertifiedMember, members_below
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.choices import check_prior_kind, check_training_choices
from pacbayes.certificates.find import find, gather
from pacbayes.certificates.levels import AUTO, hedged_level, resolve_hedge
from pacbayes.certificates.plan import Plan, check_questions
from pacbayes.certificates.refit import Refit, check_refit
from pacbayes.certificates.risks import asked_for, check_classes, check_groups
from pacbayes.certificates.threshold import Target, Threshold, positive_class
from pacbayes.certificates.voting import BITS, PROPOSAL, SOFT, VOTINGS, vote_sums, weights_of
from pacbayes.certificates.watching import Monitor
from pacbayes.classifiers.calibration import PROBABILITIES
from pacbayes.classifiers.classifier_set import ClassifierSet, Trained
from pacbayes.classifiers.members import Coding, number_of_rows, scores_of
from pacbayes.data.division import EXAMPLE, GROUP, SPLITS, check_duplicates
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import Overlap
from pacbayes.data.tables import TableReading
from pacbayes.data.unusable import naming_remedy
from pacbayes.estimators.fitted import CountedBatch, Fitted, cv_results
from pacbayes.estimators.methods import available, forget_fit, whole_or_not_at_all
from pacbayes.estimators.planning import make_plan
from pacbayes.estimators.watching import Watched, check_watched
from pacbayes.numeric.arrays import FloatArray, Labels
from pacbayes.numeric.checks import check_choice, check_level, warn_of_level
from pacbayes.posteriors.posterior import Posterior
from pacbayes.runtime.checkpoint import seed_of_run
from pacbayes.runtime.progress import progress

# Of the distances: the only one but for the paper's own estimator.
EXACT_CONSTANT = "exact"
# Why only one way predicts with a threshold.
_BY_SOFT = "a threshold is one of the soft vote's probability"
# Characters of a text about an estimator, more or less: its parameters may be lists of a thousand numbers.
_LONGEST = 300


class CertifiedModel(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # no types in scikit-learn
    """A set of classifiers as one, with a certificate for each way of predicting; subclasses train the set.

    All that a fit leaves is the value `_fitted`, and the certificates that follow from it.
    """

    #: How rows may be divided.
    _splits: tuple[str, ...] = SPLITS
    _fitted: Fitted
    certificates_: dict[str, Certificate]

    # -- what subclasses provide -------------------------------------------------------------------------------------

    @abstractmethod
    def _labelled(self, X: Any, y: Any, groups: Any, slices: Any) -> Labelled:
        """Return rows with their labels, or raise."""

    @abstractmethod
    def _train(self, data: Labelled, groups: Any, seed: int) -> Trained:
        """Divide the rows and train the classifiers on training rows alone."""

    @abstractmethod
    def _validated(self, X: Any) -> Any:
        """Return new rows, or raise."""

    @abstractmethod
    def _remedy(self) -> str:
        """Say where missing values are to be filled in."""

    @abstractmethod
    def _working(self, data: Labelled) -> AbstractContextManager[Any]:
        """Return what is to be around all work on rows."""

    def _refit_voting(self) -> str | None:
        """Return how it predicts after a refit on all rows; None where nobody asked for one."""
        return None

    def _again(self, data: Labelled, plan: Plan) -> Refit | None:
        """Train once more, on all rows, where that was planned."""
        return None

    def _workers(self) -> int | None:
        """Return how many workers ask classifiers about their validation rows."""
        return self.n_jobs  # type: ignore[no-any-return]

    def _prior_params(self, trained: Trained) -> list[dict[str, Any]]:
        """Return what a callable prior may see of the classifiers."""
        return trained.members.params

    # -- fitting -----------------------------------------------------------------------------------------------------

    @whole_or_not_at_all
    @progress("fitting", None)
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, slices: ArrayLike | None = None) -> Self:
        """Train the classifiers, find the posterior and the certificates.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or list of N rows
        y : array_like of shape (N,)
            Labels of two or more classes.
        groups : array_like of shape (N,), optional
            The group of every row: a patient, a site.  Rows of a group stay on one side of the division and in one
            fold, `validation_size` is a share or number of groups, and one loss is counted for each: its share of
            errors.  The certificate is then about the mean over new groups of their error rates, not about rows.

        slices : array_like of shape (N,), optional
            With "error" among `limits`: a value for every row (a site, a device), and the certificate has a limit for
            the rows of each beside those by class; a pandas Series gives them its name.

        Returns
        -------
        self
        """
        self._check_choices()
        self._check_asked(groups, slices)
        forget_fit(self)
        data = self._labelled(X, y, groups, slices)
        check_classes(self.limits, self.pos_label, data.classes)
        if isinstance(self._target(), Threshold):
            positive_class(self.pos_label, data.classes)
        with naming_remedy(data.rows, self._remedy()), self._working(data):
            # Training rows only.
            trained = self._train(data, groups, self._seed())
            # The last line before any classifier is asked about a validation row.
            plan = make_plan(self, trained, data, self._hedge(), self._prior_params(trained))
            # The only line that asks about them.
            evidence = gather(trained.members, plan, data, self._workers())
            # What follows may see all rows.
            again = self._again(data, plan)
        return self._take(Fitted(trained.members, plan, evidence, find(plan, evidence), again))

    def _take(self, fitted: Fitted) -> Self:
        """Become fitted: `fit`, `from_fitted` and `load` end here."""
        self._fitted, self.certificates_ = fitted, dict(fitted.certificates)
        return self

    def _check_choices(self) -> None:
        """Raise for wrong parameters before any work."""
        check_choice("split", self.split, self._splits)
        if self.cv is not None and (isinstance(self.cv, bool) or not isinstance(self.cv, int | np.integer)):
            raise TypeError(f"cv must be a number of folds or None, got {self.cv!r}")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or None, got {self.cv}")
        self._check_certified(self._no_proposal(), self._no_proposal())

    def _check_certified(self, no_proposal: str | None, no_training: str | None) -> None:
        """Raise for wrong parameters of what follows training; say why nothing is proposed, or comes from training."""
        check_choice("voting", self.voting, (AUTO, *VOTINGS))
        check_choice("constant", self._constant(), CONSTANTS)
        level, hedge = check_level(self.delta), self._resolved_hedge(no_proposal)
        if isinstance(self._target(), Threshold) and self.voting not in (AUTO, SOFT):
            raise ValueError(
                f"voting must be 'auto' or 'soft' with {self._target()!r}, got {self.voting!r}: {_BY_SOFT}"
            )
        if self.voting == SOFT and (hedge == 1.0 or no_training is not None):
            why = no_training or "hedge=1 keeps all of delta for what the validation rows show"
            raise ValueError(f"voting='soft' needs scores of the training rows by cross-validation, but {why}")
        warn_of_level(level)
        if hedge > 0.0 and hedged_level(level, hedge, 1) == 0.0:
            raise ValueError(f"hedge * delta must not be less than the smallest number, got {hedge!r} * {level!r}")
        check_prior_kind(self.prior, self.split)
        check_questions(asked_for(self.limits, self.pos_label), self.limits_share, self._target(), hedge)
        check_training_choices(self.prior, self.distance, no_training)
        again = self._refit_voting()
        if again is not None:
            why_not = no_proposal or ("hedge=1 keeps all of delta for others" if hedge == 1.0 else None)
            check_refit(again, asked_for(self.limits, self.pos_label), self._target(), why_not)

    def _check_asked(self, groups: Any, slices: Any) -> None:
        """Raise for what is not proved of groups and slices."""
        check_duplicates(self.duplicates, groups)
        target = self._target()
        if groups is not None and target is not None:
            raise ValueError(
                f"{target!r} is not for groups: their rows are not independent, and no such limit is proved"
            )
        check_groups(asked_for(self.limits), EXAMPLE if groups is None else GROUP)
        if slices is not None and "error" not in self.limits:
            raise ValueError("slices are for limits of errors: set limits=('error',)")

    def _no_proposal(self) -> str | None:
        """Say why the training rows propose nothing, None where they do."""
        if self.split != "shared":
            return f"with split={self.split!r} every row validates some classifier"
        return "cv=None leaves out the cross-validation behind it" if self.cv is None else None

    @abstractmethod
    def _target(self) -> Target | None:
        """Return what is to be certified instead of a bound of all errors, None for nothing; raise if it is none."""

    def _constant(self) -> str:
        """Return which constants of the distances are used."""
        return EXACT_CONSTANT

    def _hedge(self) -> float:
        return self._resolved_hedge(self._no_proposal())

    def _resolved_hedge(self, no_proposal: str | None) -> float:
        """Return the share of delta in reserve: none with a threshold, as nothing stands beside its soft vote."""
        found = resolve_hedge(self.hedge, no_proposal)
        return 0.0 if isinstance(self._target(), Threshold) and found < 1.0 else found

    def _seed(self) -> int:
        """Return the seed of a fit: that of the run which a checkpoint holds where `random_state` is None."""
        return seed_of_run(self.random_state, self.checkpoint)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificates_")

    def _read_as(self, reading: TableReading | None) -> None:
        """Note how the columns of the file were read that the rows of the fit came from."""
        self._fitted = replace(self._fitted, plan=replace(self._fitted.plan, reading=reading))

    # -- predicting --------------------------------------------------------------------------------------------------

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
        with naming_remedy(X, self._remedy()):
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
        with naming_remedy(X, self._remedy()):
            taken = members.prepared(self._validated(X))
            votes = vote_sums(members, taken, chosen, parts[chosen], Coding(members.classes))
        return np.ldexp(votes[:, : self.classes_.size], -BITS)

    @available(lambda self: self._no_probabilities())
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
        with naming_remedy(X, self._remedy()):
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
        with naming_remedy(X, self._remedy()):
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
        with naming_remedy(X, self._remedy()):
            return self._fitted.covered(voting, self._validated(X))

    def certified_below(
        self,
        target: float,
        cost: ArrayLike | Callable[[Any], float] | None = None,
        *,
        risk: str = "error",
        pos_label: Any = None,
    ) -> list[CertifiedMember]:
        """Return the single classifiers whose risk is certified to be below a target: all of them at once.

        Whichever of them is taken afterwards, for whatever reason (speed, size, being readable), its limit holds: each
        has the exact limit (for groups, Chernoff's) at delta times its prior weight.  That is a guarantee beside
        `certificate_`, at the same delta, and not at once with it.

        Parameters
        ----------
        target : float
            Limits at most this, between 0 and 1; of recall at least this.
        cost : array_like of shape (H,) or callable, optional
            What each classifier of `classifiers_` costs, or a function of a fitted one: the cheapest comes first.
        risk : {"error", "recall"}
            What the limits are about: errors, or the recall of the class `pos_label`.
        pos_label : label, optional
            The class, for ``risk="recall"``.

        Returns
        -------
        list of CertifiedMember
            The cheapest first, or without `cost` the one with the smallest limit.
        """
        check_is_fitted(self)
        plan = self._fitted.plan
        return members_below(self.classifiers_, target, cost, plan.delta, plan.prior, risk, pos_label)

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
            Where nothing is proved: for weights that the validation rows found (a posterior, a tandem vote), with
            groups, ``duplicates="together"``, targets, and splits other than "shared"; and if more rows than chance
            explains equal rows that the model was fitted with.
        """
        check_is_fitted(self)
        counted = self._counted_batch()
        with naming_remedy(X, self._remedy()):
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
        return self.certificates_[voting].monitor(alpha, wrong=Watched(self, self._fitted, voting))

    # -- what a fitted model says of itself --------------------------------------------------------------------------

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
            raise ValueError(f"voting must be 'soft' or 'auto' for this fit, got {voting!r}: {_BY_SOFT}")
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

    @property
    def hedge_(self) -> float:
        """The share of `delta_` that was kept for what the validation rows may show."""
        check_is_fitted(self)
        return self._fitted.plan.hedge

    @property
    def posterior_(self) -> Posterior:
        """The best posterior at level ``hedge_ * delta_``; there is none where `hedge_` is 0."""
        check_is_fitted(self)
        if self._fitted.found.posterior is None:
            raise AttributeError("there is no posterior_: hedge_ is 0, so that nothing was kept for one")
        return self._fitted.found.posterior

    @property
    def prior_(self) -> FloatArray:
        """The prior weights of the classifiers."""
        check_is_fitted(self)
        return self._fitted.prior

    @property
    def delta_(self) -> float:
        """The level of the certificates: `delta` as it was when fitted."""
        check_is_fitted(self)
        return self._fitted.plan.delta

    @property
    def distances_(self) -> tuple[str, ...]:
        """The distances among which the posterior was chosen, at an equal share of ``hedge_ * delta_`` each."""
        check_is_fitted(self)
        return tuple(one.name for one in self._fitted.plan.distances)

    @property
    def has_uniform_prior_(self) -> bool:
        """Whether all classifiers had the same prior weight because nothing else was asked for."""
        check_is_fitted(self)
        return self._fitted.plan.prior is None

    @property
    def constant_label_(self) -> Any:
        """The class most frequent among the training rows, which every certificate is compared with.

        None where the training rows are not here and nobody said it.
        """
        check_is_fitted(self)
        label = self._fitted.plan.no_skill
        return None if label is None else self.classes_[self._fitted.evidence.code_of(label)]

    @property
    def proposal_(self) -> dict[str, FloatArray]:
        """The weights that the training rows proposed, by voting; empty where ``hedge_`` is 1."""
        check_is_fitted(self)
        rules = [rule for rule in self._fitted.plan.planned if rule.name == PROPOSAL]
        return {rule.voting: weights_of(rule.weights) for rule in rules if rule.weights is not None}

    @property
    def weights_(self) -> FloatArray:
        """The weights with which `voting` predicts: those of the rule that its certificate is for."""
        check_is_fitted(self)
        return weights_of(self._fitted.weights(self.voting_))

    @property
    def draw_or_vote_weights_(self) -> FloatArray:
        """The weights behind `vote_share`: of the draws for ``voting="stochastic"``, else of the vote."""
        check_is_fitted(self)
        return weights_of(self._fitted.weights(self._shared_voting()))

    def _shared_voting(self) -> str:
        return "majority" if self.voting_ == "best" else self.voting_

    @property
    def vote_errors_(self) -> int | None:
        """The validation rows that the majority vote gets wrong; None where no row validates all classifiers."""
        check_is_fitted(self)
        return None if self._fitted.vote is None else int(self._fitted.vote.total[0])

    @property
    def vote_risk_(self) -> float | None:
        """The majority vote's own share of validation errors, rounded up; None where they were not counted."""
        check_is_fitted(self)
        return None if self._fitted.vote is None else float(self._fitted.vote.risks[0])

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

    @property
    def cv_results_(self) -> dict[str, Any]:
        """What the cross-validation within the training rows found, as `GridSearchCV` shows it.

        Scores are NaN for classifiers that had no part in it: it has at most 50 of a family, but for machines behind a
        proposal, where it has all.  Of those of rank 1 the middle one of the longest run is the proposal for
        ``voting="best"``, and the classifier of the hold-out baseline; with ``hedge_`` 1 the first of them.
        `mean_log_loss`, where something is proposed, is that of calibrated probabilities.
        """
        check_is_fitted(self)
        found = self._fitted.plan.cross_validation
        if found is None:
            why = self.certificates_["best"].baselines["hold-out"].note
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'cv_results_': {why}; fit it with "
                "split='shared' and a number of folds as cv"
            )
        return cv_results(self.classifiers_.params, found, self._fitted.plan.division(0)[0].size)

    def _overlap_with(self, X: Any) -> Overlap | None:
        """Return how many rows equal rows that the model was fitted with, validation rows among them.

        None where it is not known: for rows without a value to be compared by.
        """
        check_is_fitted(self)
        return self._fitted.overlap(X)

    # -- how it shows itself -----------------------------------------------------------------------------------------

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        test: Any = None,
        data: Any = None,
        notes: Sequence[str] = (),
    ) -> Path:
        """Write a report on this model as one HTML file, with the parameters of `pacbayes.write_report`.

        Parameters
        ----------
        path : str or path
            Replaced in one step if it exists.  It must be given.
        title, test, data, notes
            As for `write_report`.

        Returns
        -------
        Path
            Where it was written.
        """
        if path is None:
            raise TypeError("report() needs the path of the page to write, as in report('report.html')")
        # The report looks at estimators and is below them; only the root knows both.
        from pacbayes import write_report

        return write_report(self, path, title=title, test=test, data=data, notes=notes)

    def model_card(self, format: str = "markdown") -> str:
        """Return a model card of this model as `pacbayes.model_card` writes it, with blanks for what its owner knows.

        Parameters
        ----------
        format : {"markdown", "json"}, default="markdown"

        Returns
        -------
        str
        """
        from pacbayes import model_card

        return model_card(self, format)

    def __repr__(self, N_CHAR_MAX: int = _LONGEST) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        return text

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: the certificate, if there is one, above scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return self._shown_certificate() + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._shown_certificate() + bundle["text/html"]
        return bundle

    def _shown_certificate(self) -> str:
        # A wrong voting is said when predicting, not when looking.
        found = getattr(self, "certificate_", None) if self.__sklearn_is_fitted__() else None
        return "" if found is None else found._repr_html_()
