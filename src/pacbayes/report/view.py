"""What a report is about: a fitted model, and the rows that are shown with it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from pacbayes.bounds.distances.registry import DISTANCES
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import VOTINGS
from pacbayes.certificates.posterior_choice import choose_posterior
from pacbayes.classifiers.classifier_set import ClassifierSet, Errors, errors_of
from pacbayes.classifiers.risks import risks_of_errors
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.estimators.prediction.voters import number_of_rows
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice
from pacbayes.posteriors.posterior import Posterior

# Labels held at once while test errors are counted.
_LABELS = 10_000_000


@dataclass(frozen=True, eq=False)
class Tested:
    """Errors on rows the model was not fitted with."""

    rows: int
    #: Of the model, predicting as it does now.
    of_model: int
    #: Of each classifier, shape (H,).
    errors: Errors

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier."""
        return risks_of_errors(self.errors, self.rows)


@dataclass(frozen=True, eq=False)
class ReportView:
    """A fitted model with the numbers that several parts of a report need."""

    model: CertifiedClassifier
    tested: Tested | None
    #: The rows and labels the model was fitted with, for their fingerprint.
    data: tuple[Any, NDArray[Any]] | None

    @classmethod
    def checked(cls, model: Any, test: Any, data: Any) -> "ReportView":
        """Check everything, naming what is wrong, and count the test errors."""
        if not isinstance(model, CertifiedClassifier):
            raise TypeError(f"model must be a StochasticSVC or StochasticClassifier, got {type(model).__name__}")
        check_is_fitted(model)
        fitted_with = None if data is None else _check_data(model, data)
        return cls(model, None if test is None else _tested(model, *_pair("test", test)), fitted_with)

    @property
    def classifiers(self) -> ClassifierSet:
        """The set of classifiers."""
        return self.model.classifiers_

    @property
    def certificate(self) -> Certificate:
        """The certificate of the way of predicting chosen now."""
        return self.model.certificate_

    @property
    def voting(self) -> str:
        """The way of predicting."""
        return check_choice("voting", self.model.voting, VOTINGS)

    @property
    def is_shared(self) -> bool:
        """Whether all classifiers have the same training and validation rows."""
        assert self.classifiers.splits is not None
        return self.classifiers.splits.kind == "shared"

    @property
    def posterior(self) -> Posterior:
        """The posterior the certificates are for."""
        found: Posterior = self.model.posterior_
        return found

    @property
    def level(self) -> float:
        """The level delta of the certificates."""
        return float(self.model._level)

    @property
    def fixed_distances(self) -> tuple[str, ...]:
        """The distances among which the model chose, at a share of delta each."""
        return tuple(self.model._distances)

    @property
    def distances(self) -> tuple[str, ...]:
        """The five distances, and others the model uses."""
        return (*DISTANCES, *(name for name in self.fixed_distances if name not in DISTANCES))

    def best_posterior(self, distance: str, delta: float) -> Posterior:
        """Return the posterior of the smallest bound for another distance and level, computed as the model does."""
        return choose_posterior(
            self.classifiers.risks,
            self.classifiers.m,
            distance=distance,
            delta=delta,
            prior=self.prior,
            constant=self.posterior.constant,
        )

    @property
    def vote_risk(self) -> float | None:
        """The majority vote's own share of validation errors, which its bound is not computed from."""
        return self.model._vote_risk

    @property
    def prior(self) -> FloatArray | None:
        """The prior; None for the uniform one."""
        return None if self.model._uniform else self.model.prior_

    @cached_property
    def is_path(self) -> bool:
        """Whether the classifiers differ in a regularisation parameter lambda."""
        values = [setting.get("lambda") for setting in self.classifiers.params]
        return all(isinstance(value, float) and 0.0 < value < math.inf for value in values)

    @cached_property
    def places(self) -> FloatArray:
        """Where each classifier stands on the axis: at its lambda, or at its rank by risk, from 1."""
        if self.is_path:
            return np.array([setting["lambda"] for setting in self.classifiers.params])
        order = np.argsort(self.classifiers.risks, kind="stable")
        ranks = np.empty(order.size)
        ranks[order] = np.arange(1, order.size + 1)
        return ranks


def _pair(name: str, pair: Any) -> tuple[Any, NDArray[Any]]:
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (X, y), got {type(pair).__name__}") from None
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size != number_of_rows(X) or labels.size == 0:
        raise ValueError(
            f"{name} must be rows and one label for each, got {number_of_rows(X)} rows and labels of shape "
            f"{labels.shape}"
        )
    return X, labels


def _check_data(model: CertifiedClassifier, data: Any) -> tuple[Any, NDArray[Any]]:
    """Return the pair, or raise if the model cannot have been fitted with it."""
    X, labels = _pair("data", data)
    splits = model.classifiers_.splits
    assert splits is not None
    expected = splits.n_rows
    if labels.size != expected:
        raise ValueError(f"data must be the {expected} rows the model was fitted with, got {labels.size}")
    if not np.array_equal(np.unique(labels), model.classes_):
        raise ValueError("data must be the rows the model was fitted with; its labels have other classes")
    return X, labels


def _tested(model: CertifiedClassifier, X: Any, labels: NDArray[Any]) -> Tested:
    of_model = errors_of(model, X, labels, "model.predict(X_test)")
    errors = np.zeros(len(model.classifiers_), dtype=np.int64)
    step = max(1, _LABELS // errors.size)
    for start in range(0, labels.size, step):
        part = np.arange(start, min(start + step, labels.size))
        predicted = model.classifiers_.predict(_safe_indexing(X, part))
        errors += np.count_nonzero(predicted != labels[part], axis=1)
    return Tested(labels.size, of_model, errors)
