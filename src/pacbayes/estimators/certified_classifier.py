"""What all estimators share: from a trained set to posterior and certificates, and from these to predictions."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pacbayes.bounds.distances.base import CONSTANTS
from pacbayes.certificates.certificate import Baseline, Certificate
from pacbayes.certificates.certify import VOTINGS, best_single, certify
from pacbayes.certificates.constant import constant_baseline, most_frequent
from pacbayes.certificates.hold_out import hold_out
from pacbayes.certificates.limits import risks_of
from pacbayes.certificates.posterior_choice import (
    BITS,
    Counts,
    check_distances,
    choose_posterior,
    divide_delta,
    integer_weights,
    restored_posterior,
)
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors, count_errors_by_kind
from pacbayes.data.splits import GROUP, SPLITS
from pacbayes.estimators.available import available
from pacbayes.estimators.cv_results import cv_results
from pacbayes.estimators.missing_values import naming_remedy
from pacbayes.estimators.prediction.draws import KEY, draw_classifiers
from pacbayes.estimators.prediction.voters import Voters, majority, number_of_rows
from pacbayes.estimators.prior import PRIORS, check_prior_kind, prior_kind, resolve_prior
from pacbayes.estimators.roles import roles
from pacbayes.estimators.training_choices import check_training_choices, resolve_distances
from pacbayes.numeric.arrays import Codes, FloatArray
from pacbayes.numeric.checks import check_choice, check_level
from pacbayes.numeric.rounding import round_up
from pacbayes.runtime.checkpoint import begun_seed
from pacbayes.runtime.seeds import seed_of

# The purpose of the random numbers for the folds of the baseline, see `seeds.generator`; that of the key is next to it.
FOLDS = KEY + 1
# Characters of a text about an estimator, more or less: its parameters may be lists of a thousand numbers.
_LONGEST = 300


class CertifiedClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A posterior over a set of classifiers as one classifier; subclasses train the set and validate rows."""

    classes_: NDArray[Any]
    classifiers_: ClassifierSet
    certificates_: dict[str, Certificate]
    vote_errors_: int | GroupErrors | None
    _constant: tuple[int, int | GroupErrors] | None

    # -- what subclasses provide -------------------------------------------------------------------------------------

    @abstractmethod
    def _validated(self, X: Any) -> Any:
        """Return new rows in the form the classifiers are asked with, or raise."""

    @abstractmethod
    def _voters(self) -> Voters:
        """Return the classifiers as what is asked for votes."""

    @abstractmethod
    def _remedy(self) -> str:
        """Say where missing values are to be filled in."""

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _check_choices(self) -> None:
        """Raise for wrong parameters before any work."""
        check_choice("split", self.split, SPLITS)
        check_choice("voting", self.voting, VOTINGS)
        check_choice("constant", self.constant, CONSTANTS)
        check_level(self.delta)
        check_prior_kind(self.prior, self.split)
        if self.cv is not None and (isinstance(self.cv, bool) or not isinstance(self.cv, int | np.integer)):
            raise TypeError(f"cv must be a number of folds or None, got {self.cv!r}")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or None, got {self.cv}")
        check_training_choices(self.prior, self.distance, self.split, self.cv)

    def _forget(self) -> None:
        """Drop what an earlier fit left: if this one fails, no old certificate must stand beside new labels."""
        for name in ("certificates_", "classifiers_", "posterior_", "classes_", "_cross_validated"):
            self.__dict__.pop(name, None)
        self._cross_validated: CrossValidation | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificates_")

    def _seed(self) -> int:
        """Return the seed of a fit: that of the run which a checkpoint holds where `random_state` is None."""
        begun = begun_seed(self.checkpoint) if self.random_state is None else None
        return seed_of(self.random_state) if begun is None else begun

    def _certify_trained_set(
        self,
        classifiers: ClassifierSet,
        params: list[dict[str, Any]],
        training_rows: Callable[[], tuple[Any, Any]] | None,
        validation_rows: Callable[[], tuple[Any, Codes]] | None,
        key: bytes,
        codes: NDArray[np.int64],
    ) -> Self:
        """Turn a trained set into posterior and certificates.

        `params` are what a callable prior may see, `training_rows` a function that gives it the training rows, None
        where there are none to give.  `validation_rows` gives the rows that validated every classifier, as
        `_validated` would, and their class numbers; None where there are no such rows.  `codes` are the class numbers
        of all rows.

        Attributes whose names begin with an underscore are what was so when the model was fitted, whatever its
        parameters are set to later.  They, the errors and the weights are what a file stores; see `_restore`.
        """
        self.classifiers_ = classifiers
        prior = resolve_prior(self.prior, params, training_rows, self._cross_validated, classifiers.splits)
        self.prior_ = np.full(len(classifiers), 1.0 / len(classifiers)) if prior is None else prior
        self._uniform, self._key = prior is None, key
        self._prior_kind = prior_kind(self.prior, self.split == "shared")
        assert classifiers.splits is not None
        # With independent splits no part trains all classifiers; that of the first is as good as another.
        train, validation = classifiers.splits(0)
        constant, _ = most_frequent(codes[train], codes[validation])
        self._constant = constant, self._counted(codes[validation] != constant)
        self._level = check_level(self.delta)
        self._distances = resolve_distances(self.distance, self._cross_validated, classifiers.m, self._level)
        self.posterior_ = choose_posterior(
            classifiers.risks,
            classifiers.m,
            distance=self._distances,
            delta=self._level,
            prior=prior,
            constant=self.constant,
        )
        self.vote_errors_ = None if validation_rows is None else self._count_vote_errors(*validation_rows())
        self._conclude()
        if self.verbose:
            print(self.certificate_)
        return self

    def _conclude(self) -> None:
        """Set what follows from errors, prior and posterior."""
        prior = None if self._uniform else self.prior_
        self.best_index_ = best_single(self.classifiers_.counted, self.classifiers_.m, self._level, prior).index
        self.certificates_ = self._certificates()

    def _restore(self, weights: FloatArray, distance: str, constant: str) -> None:
        """Compute anew all that follows from what a file stores; none of it is read from there."""
        self.classifiers_ = self.classifiers_.recounted()
        number = len(self.classifiers_)
        if self._uniform:
            self.prior_ = np.full(number, 1.0 / number)
        self._distances = check_distances(self._distances)
        among = {one.name: one for one in self._distances}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
            self.posterior_ = restored_posterior(
                weights,
                self.classifiers_.risks,
                self.classifiers_.m,
                distance=among[check_choice("distance", distance, among)],
                delta=divide_delta(self._level, len(self._distances)),
                prior=None if self._uniform else self.prior_,
                constant=check_choice("constant", constant, CONSTANTS),
            )
        self._conclude()

    def _count_vote_errors(self, rows: Any, codes: Codes) -> int | GroupErrors:
        """Return the errors of the majority vote: only to be shown, for the posterior was chosen on the same rows."""
        return self._counted(majority(self._voters(), rows, self._parts(), self.classes_.size) != codes)

    def _counted(self, wrong: NDArray[np.bool_]) -> int | GroupErrors:
        """Return the errors of one classifier on the validation rows of the first, counted as the rows were divided."""
        splits = self.classifiers_.splits
        if splits is None or splits.unit != GROUP:
            return int(np.count_nonzero(wrong))
        kinds = splits.kinds(splits(0)[1])
        return GroupErrors(splits.sizes, count_errors_by_kind(wrong[None, :], kinds, splits.sizes.size))

    def _certificates(self) -> dict[str, Certificate]:
        """Return the certificates that follow from what is stored."""
        splits = self.classifiers_.splits
        if splits is None or not splits.m == self.classifiers_.m == self.posterior_.m:
            raise ValueError("the classifiers and the posterior must have the validation size of the division")
        if (self.classifiers_.group_errors is None) is (splits.unit == GROUP):
            raise ValueError(f"the errors must be counted as the rows were divided: by {splits.unit}")
        # Where the vote errs, classifiers of at least half the weight err; the risk was rounded up.
        most, risk = 2.0 * self.posterior_.empirical_risk, self.vote_risk_
        if risk is not None and not 0.0 <= risk <= round_up(most):
            raise ValueError(
                f"the vote can have erred at most {most * splits.m:g} times, got {self.vote_errors_}: the classifiers "
                "do not answer as they did when their errors were counted"
            )
        prior = None if self._uniform else self.prior_
        return certify(
            self.posterior_,
            self.classifiers_,
            delta=self._level,
            prior=prior,
            n_distances=len(self._distances),
            hold_out=hold_out(self.classifiers_, self._cross_validated, self._level),
            constant=self._constant_baseline(),
            assumptions=(*roles(self.classifiers_), PRIORS[self._prior_kind]),
        )

    @property
    def vote_risk_(self) -> float | None:
        """The majority vote's own share of validation errors, rounded up; None where they were not counted."""
        errors, m = self.vote_errors_, self.classifiers_.m
        if errors is None:
            return None
        return float(risks_of(errors if isinstance(errors, GroupErrors) else np.array([errors]), m)[0])

    def _constant_baseline(self) -> Baseline:
        """Return what always answering the most frequent class errs on, from its stored errors."""
        if self._constant is None:
            return Baseline(None, None, "the model was saved by a version that did not count it")
        code, errors = self._constant
        splits = self.classifiers_.splits
        assert splits is not None
        whose = "the training rows" if splits.kind == "shared" else "the training rows of the first classifier"
        return constant_baseline(self.classes_[code], errors, splits.m, self._level, whose)

    # -- predicting --------------------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the chosen way of predicting."""
        check_is_fitted(self)
        if self.voting not in VOTINGS:
            # No other error: who lists the attributes of an estimator takes this one for an absent attribute.
            raise AttributeError(f"there is no certificate_ for voting={self.voting!r}; known are {', '.join(VOTINGS)}")
        return self.certificates_[self.voting]

    @property
    def delta_(self) -> float:
        """The level of the certificates: `delta` as it was when fitted."""
        check_is_fitted(self)
        return float(self._level)

    @property
    def distances_(self) -> tuple[str, ...]:
        """The distances among which the posterior was chosen, at an equal share of `delta_` each."""
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
        voting = check_choice("voting", self.voting, VOTINGS)
        with naming_remedy(X, self._remedy()):
            rows, voters = self._validated(X), self._voters()
            if voting == "majority":
                codes = majority(voters, rows, self._parts(), self.classes_.size)
            elif voting == "stochastic":
                codes = voters.predict_assigned(rows, draw_classifiers(rows, self._parts(), self._key))
            else:
                codes = voters.predict_assigned(rows, np.full(number_of_rows(rows), self.best_index_, dtype=np.intp))
        return voters.labels[codes]

    def vote_share(self, X: Any) -> FloatArray:
        """Return for every row and class the posterior weight of the classifiers that vote for it.

        It is also the probability with which the stochastic classifier, its key not yet drawn, says that class.

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
        parts = self._parts()
        chosen = np.flatnonzero(parts)
        with naming_remedy(X, self._remedy()):
            votes = self._voters().votes(self._validated(X), chosen, parts[chosen])
        return np.ldexp(votes[:, : self.classes_.size], -BITS)

    @available(
        lambda self: (
            None
            if self.voting == "majority"
            else f"voting={self.voting!r} does not predict what has the largest share; use vote_share(X), or "
            'set_params(voting="majority")'
        )
    )
    def predict_proba(self, X: Any) -> FloatArray:
        """Return `vote_share`, for ``voting="majority"`` only: there the largest share decides what `predict` says.

        But for rows where a label that is not in `classes_` has more votes still.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return self.vote_share(X)

    def _parts(self) -> Counts:
        return integer_weights(self.posterior_.weights)

    # -- what was found ----------------------------------------------------------------------------------------------

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
        """What the cross-validation behind the hold-out baseline found, as `GridSearchCV` shows it.

        Scores are NaN for classifiers that had no part in it: it has at most 50.  The first of rank 1 is the
        classifier of the baseline, seldom that of `best_index_`, which was chosen on the validation rows.
        """
        check_is_fitted(self)
        if self._cross_validated is None:
            why = self.certificates_["best"].baselines["hold-out"].note
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'cv_results_': {why}; fit it with "
                "split='shared' and a number of folds as cv"
            )
        return cv_results(self.classifiers_.params, self._cross_validated)

    def report(
        self,
        path: str | os.PathLike[str],
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
            Replaced in one step if it exists.
        title, test, data, notes
            As for `write_report`.

        Returns
        -------
        Path
            Where it was written.
        """
        # The report looks at estimators and is below them; only the root knows both.
        from pacbayes import write_report

        return write_report(self, path, title=title, test=test, data=data, notes=notes)

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
        found = self.__dict__.get("certificates_", {}).get(self.voting)
        return "" if found is None else found._repr_html_()
