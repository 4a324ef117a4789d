"""What both estimators share: a fit from rows to certificates, and the attributes of a fitted model."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import at_most_cores
from pacbayes._utils.units import jobs_of
from pacbayes.certificates.compatibility import Words, python_words
from pacbayes.certificates.find import find, gather
from pacbayes.certificates.voting import weights_of
from pacbayes.data.preprocessing import naming_column, naming_remedy
from pacbayes.estimators.fitted import Fitted, cv_results
from pacbayes.estimators.planning import make_plan, make_refit
from pacbayes.estimators.prediction import Predicts
from pacbayes.estimators.recipe import Recipe
from pacbayes.estimators.rows import FitInput, fit_input, labelled_rows, reading_of
from pacbayes.posteriors.posterior import Posterior

# Characters of a text about an estimator, more or less: its parameters may be lists of a thousand numbers.
_LONGEST = 300


class CertifiedModel(Predicts):
    """A set of classifiers as one, with a certificate for each way of predicting.

    All that a fit leaves is the value `_fitted`, and the certificates that follow from it.
    """

    #: How refusals name a parameter.
    _words: Words = staticmethod(python_words)

    @abstractmethod
    def _recipe(self) -> Recipe:
        """Translate the parameters."""

    # -- fitting -----------------------------------------------------------------------------------------------------

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
        before = self.__dict__.get("_fitted")
        try:
            self._validate_params()
            own = validation is not None or X_val is not None
            together = self._recipe().choices(groups=groups is not None, slices=slices is not None, validation=own)
            recipe = self._recipe().check(together, self._words)
            recipe.check_candidates()
            rows = fit_input(X, y, groups, slices, validation, (X_val, y_val, groups_val, slices_val))
            self._forget()
            return self._take(self._fit(recipe, rows))
        except BaseException:
            # Wrong parameters are refused before an earlier fit is forgotten; it then stays as it was.
            if before is None or self.__dict__.get("_fitted") is not before:
                self._forget()
            raise

    @progress("fitting", None)
    def _fit(self, recipe: Recipe, rows: FitInput) -> Fitted:
        data = labelled_rows(self, rows, recipe.numeric, self._advice)
        recipe.check_classes(data)
        advice, cores = self._advice, at_most_cores(jobs_of(recipe.n_jobs))
        with naming_remedy(data.rows, advice.fill), naming_column(data.rows, advice.encode), cores:
            # Training rows only.
            trained = recipe.train(data, rows)
            # The last line before any classifier predicts a validation row.
            plan = make_plan(recipe, trained, data, reading_of(rows.X, data.rows))
            # The only line that predicts them.
            evidence = gather(trained.members, plan, data, recipe.n_jobs)
            # What follows may see all rows.
            refit = make_refit(recipe, recipe.train_all(data, plan.division)) if recipe.refit else None
        return Fitted(trained.members, plan, evidence, find(plan, evidence), refit)

    def _take(self, fitted: Fitted) -> Self:
        """Become fitted: `fit`, `from_fitted` and `load` end here."""
        self._fitted, self.certificates_ = fitted, fitted.certificates
        # Others are computed when they are asked for; with a voting that this fit does not have there is none to show.
        getattr(self, "certificate_", None)
        return self

    def _forget(self) -> None:
        """Drop all that a fit left: names that end as fitted ones do, and what certificates rest on."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fitted"]:
            del self.__dict__[name]

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
