"""What a report is about: a fitted model, and its errors on other rows, each number computed when it is first shown."""

import math
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import BoolArray, FloatArray, Rows, cached_property
from pacbayes.bounds.distances import DISTANCES, get_distance
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.find import choose_posterior
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.voting import POSTERIOR, SOFT, weights_of
from pacbayes.data.duplicates import check_new_rows
from pacbayes.data.labelled import check_complete, check_same_kind, check_same_order
from pacbayes.data.rows import number_of_rows, pick_rows
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.evidence import risks_of_errors
from pacbayes.estimators.base import CertifiedModel
from pacbayes.posteriors.posterior import Posterior

# Labels held at once while test errors are counted.
_LABELS = 10_000_000


@dataclass(frozen=True, eq=False)
class ObservedErrors:
    """Errors on rows that had no part in the certificates."""

    model: CertifiedModel
    X: Any
    labels: NDArray[Any]
    _wrong: dict[str, BoolArray] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.labels.size)

    def _voting(self, voting: str) -> CertifiedModel:
        # A copy with the same parts: the user's estimator is not touched, not even for a moment.
        one = copy(self.model)
        one.voting = voting
        return one

    def wrong(self, voting: str) -> BoolArray:
        """Predict the rows in one way, once, and mark the errors."""
        if voting not in self._wrong:
            fitted = self.model._fitted
            # After a refit, or with a threshold, only one way predicts; of the others it is what was certified.
            alone = fitted.refit is not None and not fitted.certificates[voting].refit
            if alone or (fitted.plan.has_cuts and voting != SOFT):
                labels = fitted.certified(voting, self.model._validated(self.X))
            else:
                labels = self._voting(voting).predict(self.X)
            check_same_kind("model.predict(X_test)", labels, self.labels)
            self._wrong[voting] = np.asarray(labels != self.labels)
        return self._wrong[voting]

    @property
    def errors(self) -> dict[str, int]:
        """The errors by way of predicting."""
        return {name: int(np.count_nonzero(self.wrong(name))) for name in self.model.certificates_}

    def among_answered(self, voting: str) -> tuple[int, int]:
        """Count the errors among the rows that are answered, and these rows."""
        wrong = self.wrong(voting)
        if self.model.certificates_[voting].answered is not None:
            wrong = wrong[self._voting(voting).answers(self.X)]
        return int(np.count_nonzero(wrong)), int(wrong.size)

    @cached_property
    def covered(self) -> int | None:
        """The errors among answers that are covered, after a refit; else None."""
        voting = self.model._fitted.plan.refit
        return None if voting is None else int(np.count_nonzero(self.wrong(voting) & self.model.covered(self.X)))

    @property
    def constant(self) -> int | None:
        """The errors of always giving the most frequent class of the training rows; None where nobody knows it."""
        label = self.model.constant_label_
        return None if label is None else int(np.count_nonzero(label != self.labels))

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier, shape (H,)."""
        classifiers = self.model.classifiers_
        errors = np.zeros(len(classifiers), dtype=np.int64)
        step = max(1, _LABELS // errors.size)
        for start in range(0, self.rows, step):
            part = np.arange(start, min(start + step, self.rows))
            predicted = classifiers.predict(pick_rows(self.X, part))
            errors += np.count_nonzero(predicted != self.labels[part], axis=1)
        return risks_of_errors(errors, self.rows)


@dataclass(frozen=True, eq=False)
class ReportView:
    """A fitted model with the numbers that several parts of a report need.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> new = [[a + 0.1, b] for a, b in X]
    >>> view = ReportView.of(StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), test=(new, y))
    >>> view.places, view.observed.errors, view.observed.constant
    (array([0.1, 1. ]), {'stochastic': 0, 'majority': 0, 'best': 0}, 24)
    """

    model: CertifiedModel
    #: Errors on rows the model was not fitted with.
    observed: ObservedErrors | None = None
    #: The rows and labels the model was fitted with, for their fingerprint.
    data: tuple[Any, NDArray[Any]] | None = None

    @classmethod
    def of(cls, model: Any, test: Any = None, data: Any = None, name: str = "model") -> "ReportView":
        """Check everything, naming what is wrong."""
        if not isinstance(model, CertifiedModel):
            raise TypeError(f"{name} must be a StochasticSVC or CertifiedClassifier, got {type(model).__name__}")
        check_is_fitted(model)
        fitted_with = None if data is None else _check_data(model, data)
        observed = None if test is None else ObservedErrors(model, *_pair("test", test))
        if observed is not None:
            check_new_rows(model, observed.X, "test", "the model")
            # Rows that cannot be predicted, and labels of another kind, are refused before anything is written.
            observed.wrong(model._voting())
        return cls(model, observed, fitted_with)

    @property
    def plan(self) -> Plan:
        """What was fixed before a validation row was looked at."""
        return self.model._fitted.plan

    @property
    def classifiers(self) -> ClassifierSet:
        """The classifiers with their validation errors."""
        return self.model.classifiers_

    @cached_property
    def voting(self) -> str:
        """The way of predicting."""
        return self.model._voting()

    @property
    def certificate(self) -> Certificate:
        """The certificate of that way of predicting."""
        return self.model.certificates_[self.voting]

    @cached_property
    def weights(self) -> FloatArray:
        """The weights that predict: of the soft vote, of the draws for voting="stochastic", else of the vote."""
        return weights_of(self.model._fitted.weights("majority" if self.voting == "best" else self.voting))

    @property
    def weight_name(self) -> str:
        """What they are called."""
        weighted = self.model.certificates_["majority" if self.voting == "best" else self.voting]
        return "posterior weight" if weighted.rule == POSTERIOR else "weight"

    @property
    def by_probabilities(self) -> bool:
        """Whether mean probabilities decide."""
        return self.voting == SOFT

    @cached_property
    def only_classifier(self) -> int | None:
        """The number of the classifier that decides alone, by its answers or probabilities; None where several may."""
        weights = self.model.weights_
        return int(np.argmax(weights)) if np.count_nonzero(weights) == 1 else None

    @property
    def bound_name(self) -> str:
        """What the bound of the certificate is called in a drawing."""
        who = self.certificate.holds_for.removesuffix(" with its key")
        return f"bound of {who}" + ("" if self.certificate.answered is None else ", among its answers")

    def validation_risk(self, voting: str) -> float | None:
        """Return the share of validation errors of a way of predicting, among its answers where it has a target.

        None where they were not counted, or nothing is answered.  Where the vote's bound follows from the stochastic
        classifier's, its own errors are only shown.
        """
        certificate = self.model.certificates_[voting]
        if certificate.answered is not None:
            return certificate.empirical_risk if certificate.answered.passed else None
        return self.model.vote_risk_ if voting == "majority" else certificate.empirical_risk

    @cached_property
    def is_path(self) -> bool:
        """Whether the classifiers differ in a regularisation parameter lambda, and in nothing else that was chosen."""
        params = self.classifiers.params
        if not all(_is_lambda(one.get("lambda")) and "candidate" not in one for one in params):
            return False
        one_width = len({repr(one.get("gamma")) for one in params}) == 1
        # With a sample for each machine every one has a width of its own.
        return one_width or len({one["lambda"] for one in params}) == len(params)

    @cached_property
    def places(self) -> FloatArray:
        """Where each classifier stands on the axis: at its lambda, or at its rank by risk, from 1."""
        if self.is_path:
            return np.array([one["lambda"] for one in self.classifiers.params])
        order = np.argsort(self.classifiers.risks, kind="stable")
        return np.argsort(order).astype(np.float64) + 1.0

    @property
    def paths(self) -> list[Rows]:
        """The classifiers by path: those that differ in lambda alone, by lambda; any other stands for itself."""
        params, paths = self.classifiers.params, dict[str, list[int]]()
        for i, one in enumerate(params):
            common = [(name, value) for name, value in one.items() if name != "lambda"]
            path = repr(common) if _is_lambda(one.get("lambda")) else str(i)
            paths.setdefault("" if self.is_path else path, []).append(i)
        return [np.array(sorted(path, key=lambda i: params[i].get("lambda", 0.0))) for path in paths.values()]

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior; of a model without one the best at the whole level."""
        posterior = self.model._fitted.found.posterior
        return self._best(self.plan.distances) if posterior is None else posterior

    @cached_property
    def posteriors(self) -> list[Posterior]:
        """The posterior with the smallest bound, each alone, for the five distances, and for others the model uses."""
        # The model's need not be known by their names elsewhere.
        used = {one.name: one for one in self.plan.distances}
        return [self._best(used.get(name) or get_distance(name)) for name in dict.fromkeys((*DISTANCES, *used))]

    def _best(self, distance: Any) -> Posterior:
        risks, m, plan = self.classifiers.risks, self.classifiers.m, self.plan
        return choose_posterior(risks, m, distance=distance, delta=plan.delta, prior=plan.prior, constant=plan.constant)


def _is_lambda(value: Any) -> bool:
    return isinstance(value, float) and 0.0 < value < math.inf


def _pair(name: str, pair: Any) -> tuple[Any, NDArray[Any]]:
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (X, y), got {type(pair).__name__}") from None
    check_same_order(**{f"{name}[0]": X, f"{name}[1]": y})
    labels = np.asarray(check_complete(y, f"{name} y"))
    if labels.ndim != 1 or labels.size != number_of_rows(X) or labels.size == 0:
        raise ValueError(
            f"{name} must be rows and one label for each, got {number_of_rows(X)} rows and labels of shape "
            f"{labels.shape}"
        )
    return X, labels


def _check_data(model: CertifiedModel, data: Any) -> tuple[Any, NDArray[Any]]:
    """Return the pair, or raise if the model cannot have been fitted with it."""
    X, labels = _pair("data", data)
    expected = model._fitted.plan.division.n_rows
    if labels.size != expected:
        raise ValueError(f"data must be the {expected} rows the model was fitted with, got {labels.size}")
    if not np.array_equal(np.unique(labels), model.classes_):
        raise ValueError("data must be the rows the model was fitted with; its labels have other classes")
    return X, labels
