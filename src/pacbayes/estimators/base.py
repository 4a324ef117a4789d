"""Base class of both estimators: `fit` and the fitted attributes."""

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
from pacbayes._utils.threads import limit_cores
from pacbayes._utils.units import resolve_n_jobs
from pacbayes.certificates.compatibility import Words, python_words
from pacbayes.certificates.posteriors import fit_posteriors, predict_validation
from pacbayes.certificates.voting import float_weights
from pacbayes.data.preprocessing import add_column_to_errors, add_remedy_to_errors
from pacbayes.estimators.fitted import Fitted, cv_results
from pacbayes.estimators.planning import make_plan, train_refit
from pacbayes.estimators.prediction import PredictionMixin
from pacbayes.estimators.recipe import Recipe
from pacbayes.estimators.rows import FitInput, fit_input, infer_schema, make_dataset
from pacbayes.posteriors.posterior import Posterior

# Approximate maximum length of a repr: lists of a thousand numbers are abbreviated.
_MAX_REPR_LENGTH = 300


class CertifiedModel(PredictionMixin):
    """Base class of classifiers that combine a set of classifiers and carry one certificate per voting.

    The state of a fitted model is `_fitted`; its certificates are computed from it.
    """

    #: Formats parameter names in error messages.
    _format_parameter: Words = staticmethod(python_words)

    @abstractmethod
    def _recipe(self) -> Recipe:
        """Parameters of this estimator as a recipe."""

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
        """Train the classifiers, optimise the posterior and compute the certificates.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or list of N rows
        y : array_like of shape (N,)
            Labels of two or more classes.  Numeric labels with more than ten distinct values that are also more than a
            quarter of the rows are rejected as a probable regression target; pass such classes as strings.
        groups : array_like of shape (N,), optional
            Group of each row, such as a patient or a site.  Rows of a group stay on one side of the split and in one
            fold.  `validation_size` is then a fraction or number of groups, and the loss of a group is its error rate.
            The certificate bounds the mean error rate of new groups instead of the error rate on new rows.
        slices : array_like of shape (N,), optional
            Slice of each row, such as a site or a device.  With "error" among `metrics`, the certificate bounds the
            error rate of each slice as well as of each class.  The name of a pandas Series is kept.
        validation : array_like of bool, shape (N,), optional
            User-defined split: true for validation rows, false for training rows.  For time-ordered data, the most
            recent rows are the usual validation set.  The split must not depend on the labels.  By default the split is
            random, with a validation set of `validation_size`.
        X_val, y_val : array_like of shape (M, d) and (M,), optional
            Separate validation set, instead of `validation`; all rows of X are then training rows.
        groups_val, slices_val : array_like of shape (M,), optional
            Groups and slices of the validation set.

        Returns
        -------
        self
        """
        before = self.__dict__.get("_fitted")
        try:
            self._validate_params()
            make_user_split = validation is not None or X_val is not None
            choices = self._recipe().choices(
                groups=groups is not None, slices=slices is not None, validation=make_user_split
            )
            recipe = self._recipe().validate(choices, self._format_parameter)
            recipe.check_candidates()
            rows = fit_input(X, y, groups, slices, validation, (X_val, y_val, groups_val, slices_val))
            self._clear()
            return self._set_fitted(self._fit(recipe, rows))
        except BaseException:
            # Validate parameters before clearing the state, so that invalid ones do not delete an earlier fit.
            if before is None or self.__dict__.get("_fitted") is not before:
                self._clear()
            raise

    @progress("fitting", None)
    def _fit(self, recipe: Recipe, rows: FitInput) -> Fitted:
        data = make_dataset(self, rows, recipe.numeric, self._advice)
        recipe.check_classes(data)
        advice, cores = self._advice, limit_cores(resolve_n_jobs(recipe.n_jobs))
        with add_remedy_to_errors(data.rows, advice.fill), add_column_to_errors(data.rows, advice.encode), cores:
            # Uses training rows only.
            trained = recipe.train(data, rows)
            # Everything that must be fixed before validation is fixed here.
            plan = make_plan(recipe, trained, data, infer_schema(rows.X, data.rows, trained.split(0)[0]))
            # The only line where classifiers predict the validation set.
            predictions = predict_validation(trained.members, plan, data, recipe.n_jobs)
            # From here on, all rows may be used.
            refit = train_refit(recipe, recipe.train_all(data, plan.split)) if recipe.refit else None
        return Fitted(trained.members, plan, predictions, fit_posteriors(plan, predictions), refit)

    def _set_fitted(self, fitted: Fitted) -> Self:
        """Store the fitted state; called last by `fit`, `from_fitted` and `load`."""
        self._fitted, self.certificates_ = fitted, fitted.certificates
        # Compute the certificate of `voting` now and the others on access.  An unavailable voting has no certificate.
        getattr(self, "certificate_", None)
        return self

    def _clear(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_fitted"]:
            del self.__dict__[name]

    # -- fitted attributes -------------------------------------------------------------------------------------------

    @property
    def hedge_(self) -> float:
        """The share of `delta_` reserved for choices made on the validation set."""
        check_is_fitted(self)
        return self._fitted.plan.hedge

    @property
    def posterior_(self) -> Posterior:
        """The optimal posterior at level ``hedge_ * delta_``; absent if `hedge_` is 0."""
        check_is_fitted(self)
        if self._fitted.posteriors.posterior is None:
            raise AttributeError("there is no posterior_ because hedge_ is 0")
        return self._fitted.posteriors.posterior

    @property
    def prior_(self) -> FloatArray:
        """The prior weights of the classifiers."""
        check_is_fitted(self)
        return self._fitted.prior

    @property
    def delta_(self) -> float:
        """One minus the confidence of the certificates: the value of `delta` in `fit`."""
        check_is_fitted(self)
        return self._fitted.plan.delta

    @property
    def distances_(self) -> tuple[str, ...]:
        """The distances compared for the posterior, each at an equal share of ``hedge_ * delta_``."""
        check_is_fitted(self)
        return tuple(distance.name for distance in self._fitted.plan.distances)

    @property
    def has_uniform_prior_(self) -> bool:
        """Whether the prior is the uniform default."""
        check_is_fitted(self)
        return self._fitted.plan.prior is None

    @property
    def majority_class_(self) -> Any:
        """The majority class of the training rows, the baseline of every certificate.

        None for prefit classifiers without `most_frequent`.
        """
        check_is_fitted(self)
        label = self._fitted.plan.majority_class
        return None if label is None else self.classes_[self._fitted.predictions.encode_class(label)]

    @property
    def primary_(self) -> dict[str, FloatArray]:
        """Weights of the primary rules, which the training rows determine, by voting; empty if ``hedge_`` is 1."""
        check_is_fitted(self)
        return {voting: float_weights(rule.weights) for voting, rule in self._fitted.plan.primary_rules.items()}

    @property
    def weights_(self) -> FloatArray:
        """Weights of the rule that `voting` predicts with, for which its certificate holds."""
        check_is_fitted(self)
        return float_weights(self._fitted.weights(self.voting_))

    @property
    def vote_errors_(self) -> int | None:
        """Number of validation errors of the majority vote; None if the classifiers share no validation set."""
        check_is_fitted(self)
        return None if self._fitted.vote_error_counts is None else int(self._fitted.vote_error_counts.total[0])

    @property
    def vote_risk_(self) -> float | None:
        """Validation error rate of the majority vote, rounded up; None if the classifiers share no validation set."""
        check_is_fitted(self)
        return None if self._fitted.vote_error_counts is None else float(self._fitted.vote_error_counts.risks[0])

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Results of the cross-validation within the training set, in the format of `GridSearchCV`.

        Scores are NaN for classifiers that were not cross-validated: at most 50 classifiers of a family are, or all
        SVMs if there is a primary rule.  Among the classifiers of rank 1, the middle of the longest run is the primary
        rule for ``voting="best"`` and the classifier of the holdout baseline; if ``hedge_`` is 1, the first one is.
        `mean_log_loss` is that of calibrated probabilities, and is present if there is a primary rule.
        """
        check_is_fitted(self)
        cross_validation = self._fitted.plan.cross_validation
        if cross_validation is None:
            why = self.certificates_["best"].baselines["holdout"].note
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'cv_results_': {why}")
        return cv_results(self.classifiers_.params, cross_validation, self._fitted.plan.split(0)[0].size)

    # -- reports and reprs -------------------------------------------------------------------------------------------

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        test: Any = None,
        data: Any = None,
        notes: Sequence[str] = (),
        owner: str | None = None,
    ) -> Path:
        """Write an HTML report on this model; see `pacbayes.write_report`.

        Parameters
        ----------
        path : str or path
            Required.  An existing file is replaced atomically.
        title, test, data, notes, owner
            As for `write_report`.

        Returns
        -------
        Path
            Path of the report.
        """
        if path is None:
            raise TypeError("report() requires a path, such as report('report.html')")
        # `pacbayes.report` must not be imported from this layer; the package root may import both.
        from pacbayes import write_report

        return write_report(self, path, title=title, test=test, data=data, notes=notes, owner=owner)

    def model_card(self, format: str = "markdown", *, owner: str | None = None) -> str:
        """Model card of this model, with blanks for its owner to fill in; see `pacbayes.model_card`.

        Parameters
        ----------
        format : {"markdown", "json"}, default="markdown"
        owner : str, optional
            Person or team responsible for the model.

        Returns
        -------
        str
        """
        from pacbayes import model_card

        return model_card(self, format, owner=owner)

    def __repr__(self, N_CHAR_MAX: int = _MAX_REPR_LENGTH) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        return text

    def _repr_html_inner(self) -> str:
        """Notebook representation: the certificate, if any, above scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return self._certificate_html() + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._certificate_html() + bundle["text/html"]
        return bundle

    def _certificate_html(self) -> str:
        # An invalid voting raises in `predict`, not here.
        certificate = getattr(self, "certificate_", None) if self.__sklearn_is_fitted__() else None
        return "" if certificate is None else certificate._repr_html_()
