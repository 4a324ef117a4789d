"""What all estimators share: a fit from rows to certificates, and what a fitted model says of itself."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checkpoint import seed_of_run
from pacbayes._utils.checks import check_choice, check_level, warn_of_level
from pacbayes._utils.progress import progress
from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.decisions import Target, Threshold, positive_class
from pacbayes.certificates.find import find, gather
from pacbayes.certificates.levels import AUTO, hedged_level, resolve_hedge
from pacbayes.certificates.plan import Plan, check_questions
from pacbayes.certificates.proposals import check_prior_kind, check_training_choices
from pacbayes.certificates.refit import Refit, check_refit
from pacbayes.certificates.risks import asked_for, check_classes, check_groups
from pacbayes.certificates.voting import SOFT, VOTINGS, weights_of
from pacbayes.data.division import (
    EXAMPLE,
    GROUP,
    SHARED,
    SPLITS,
    DivisionChoices,
    check_duplicates,
    check_own,
    find_units,
    usual_share,
)
from pacbayes.data.labelled import Labelled
from pacbayes.data.preprocessing import naming_remedy
from pacbayes.data.tables import TableReading
from pacbayes.ensemble.classifier_set import Trained
from pacbayes.estimators.fitted import Fitted, cv_results
from pacbayes.estimators.given import Given, given_rows
from pacbayes.estimators.methods import forget_fit, whole_or_not_at_all
from pacbayes.estimators.planning import make_plan
from pacbayes.estimators.prediction import BY_SOFT, Predicts
from pacbayes.posteriors.posterior import Posterior

# Of the distances: the only one but for the paper's own estimator.
EXACT_CONSTANT = "exact"
# Characters of a text about an estimator, more or less: its parameters may be lists of a thousand numbers.
_LONGEST = 300


class CertifiedModel(Predicts):
    """A set of classifiers as one, with a certificate for each way of predicting; subclasses train the set.

    All that a fit leaves is the value `_fitted`, and the certificates that follow from it.
    """

    # -- what subclasses provide -------------------------------------------------------------------------------------

    @abstractmethod
    def _labelled(self, X: Any, y: Any, groups: Any, slices: Any) -> Labelled:
        """Return rows with their labels, or raise."""

    @abstractmethod
    def _train(self, data: Labelled, given: Given, seed: int) -> Trained:
        """Divide the rows and train the classifiers on training rows alone."""

    @abstractmethod
    def _working(self, data: Labelled) -> AbstractContextManager[Any]:
        """Return what is to be around all work on rows."""

    def _split(self) -> str:
        """Return how rows are divided among the classifiers."""
        return SHARED

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
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        slices: ArrayLike | None = None,
        validation: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        slices_val: ArrayLike | None = None,
    ) -> Self:
        """Train the classifiers, find the posterior and the certificates.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or list of N rows
        y : array_like of shape (N,)
            Labels of two or more classes.  More than ten different numbers that are also more than a quarter of the
            rows are refused as a probable regression target; as strings they are classes.
        groups : array_like of shape (N,), optional
            The group of every row: a patient, a site.  Rows of a group stay on one side of the division and in one
            fold, `validation_size` is a share or number of groups, and one loss is counted for each: its share of
            errors.  The certificate is then about the mean over new groups of their error rates, not about rows.

        slices : array_like of shape (N,), optional
            With "error" among `limits`: a value for every row (a site, a device), and the certificate has a limit for
            the rows of each beside those by class; a pandas Series gives them its name.
        validation : array_like of bool, shape (N,), optional
            A division of your own: true for rows that count errors, false for rows that train.  Of rows in the order of
            time the last are the common choice.  It must not depend on the labels.  By default chance divides, and
            `validation_size` says how.
        X_val, y_val : array_like of shape (M, d) and (M,), optional
            Instead of `validation`: rows of their own that count errors; all of X trains.
        groups_val, slices_val : array_like of shape (M,), optional
            Groups and slices of these.

        Returns
        -------
        self
        """
        self._check_choices()
        self._check_asked(groups, slices)
        own = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val, "slices_val": slices_val}
        given = given_rows(X, y, groups, slices, validation=validation, **own)
        check_own(given.validation, self._split())
        forget_fit(self)
        data = self._labelled(given.X, given.y, given.groups, given.slices)
        check_classes(self.limits, self.pos_label, data.classes)
        if isinstance(self._target(), Threshold):
            positive_class(self.pos_label, data.classes)
        with naming_remedy(data.rows, self._remedy()), self._working(data):
            # Training rows only.
            trained = self._train(data, given, self._seed())
            # The last line before any classifier is asked about a validation row.
            plan = make_plan(self, trained, data, self._hedge(), self._prior_params(trained))
            # The only line that asks about them.
            evidence = gather(trained.members, plan, data, self._workers())
            # What follows may see all rows.
            again = self._again(data, plan)
        return self._take(Fitted(trained.members, plan, evidence, find(plan, evidence), again))

    def _take(self, fitted: Fitted) -> Self:
        """Become fitted: `fit`, `from_fitted` and `load` end here."""
        self._fitted, self.certificates_ = fitted, fitted.certificates
        # Others are computed when they are asked for; with a voting that this fit does not have there is none to show.
        getattr(self, "certificate_", None)
        return self

    def _check_choices(self) -> None:
        """Raise for wrong parameters before any work."""
        check_choice("split", self._split(), SPLITS)
        if self.cv is not None and (isinstance(self.cv, bool) or not isinstance(self.cv, int | np.integer)):
            raise TypeError(f"cv must be a number of folds or None, got {self.cv!r}")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or None, got {self.cv}")
        if isinstance(self.validation_size, str) and self.validation_size != AUTO:
            raise ValueError(
                f"validation_size must be 'auto', a share or a number of rows, got {self.validation_size!r}"
            )
        self._check_certified(self._no_proposal(), self._no_proposal())

    def _check_certified(self, no_proposal: str | None, no_training: str | None) -> None:
        """Raise for wrong parameters of what follows training; say why nothing is proposed, or comes from training."""
        check_choice("voting", self.voting, (AUTO, *VOTINGS))
        check_choice("constant", self._constant(), CONSTANTS)
        level, hedge = check_level(self.delta), self._resolved_hedge(no_proposal)
        if isinstance(self._target(), Threshold) and self.voting not in (AUTO, SOFT):
            raise ValueError(f"voting must be 'auto' or 'soft' with {self._target()!r}, got {self.voting!r}: {BY_SOFT}")
        if self.voting == SOFT and (hedge == 1.0 or no_training is not None):
            why = no_training or "hedge=1 keeps all of delta for what the validation rows show"
            raise ValueError(f"voting='soft' needs scores of the training rows by cross-validation, but {why}")
        warn_of_level(level)
        if hedge > 0.0 and hedged_level(level, hedge, 1) == 0.0:
            raise ValueError(f"hedge * delta must not be less than the smallest number, got {hedge!r} * {level!r}")
        check_prior_kind(self.prior, self._split())
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
        if self._split() != SHARED:
            return f"with split={self._split()!r} every row validates some classifier"
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

    def _division(self, data: Labelled, given: Given) -> DivisionChoices:
        """Return how the rows are to be divided: "auto" sizes depend on how many rows or groups there are."""
        size, units = self.validation_size, find_units(data, self.duplicates)[1]
        number = data.number if units is None else int(units.max()) + 1
        share = usual_share(number) if isinstance(size, str) else size
        return DivisionChoices(self._split(), share, given.groups, self.duplicates, given.validation)

    def _seed(self) -> int:
        """Return the seed of a fit: that of the run which a checkpoint holds where `random_state` is None."""
        return seed_of_run(self.random_state, self.checkpoint)

    def _read_as(self, reading: TableReading | None) -> None:
        """Note how the columns of the file were read that the rows of the fit came from."""
        self._fitted = replace(self._fitted, plan=replace(self._fitted.plan, reading=reading))

    # -- what a fitted model says of itself --------------------------------------------------------------------------

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
        return {voting: weights_of(rule.weights) for voting, rule in self._fitted.plan.proposals.items()}

    @property
    def weights_(self) -> FloatArray:
        """The weights with which `voting` predicts: those of the rule that its certificate is for."""
        check_is_fitted(self)
        return weights_of(self._fitted.weights(self.voting_))

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
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'cv_results_': {why}")
        return cv_results(self.classifiers_.params, found, self._fitted.plan.division(0)[0].size)

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
