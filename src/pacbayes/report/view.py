"""A fitted model with its test errors and the numbers that reports need, computed on first access."""

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
from pacbayes.certificates.decisions import SelectiveResult
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import choose_posterior
from pacbayes.certificates.voting import POSTERIOR, SOFT, float_weights
from pacbayes.data.dataset import check_label_types, check_no_missing_labels, check_same_order
from pacbayes.data.duplicates import check_new_rows
from pacbayes.data.rows import count_rows, pick_rows
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.validation import errors_to_risks
from pacbayes.estimators.base import CertifiedModel
from pacbayes.posteriors.posterior import Posterior

# Maximum number of predicted labels in memory while test errors are counted.
_MAX_LABELS = 10_000_000


@dataclass(frozen=True, eq=False)
class ObservedErrors:
    """Errors on a test set."""

    model: CertifiedModel
    X: Any
    labels: NDArray[Any]
    _wrong: dict[str, BoolArray] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.labels.size)

    def _voting(self, voting: str) -> CertifiedModel:
        # Use a shallow copy, because the estimator of the user must not be modified.
        model = copy(self.model)
        model.voting = voting
        return model

    def wrong(self, voting: str) -> BoolArray:
        """Mask of the errors of a voting; cached."""
        if voting not in self._wrong:
            fitted = self.model._fitted
            # With a refit or a threshold, only one voting is available; use the certified rules for the others.
            not_refitted = fitted.refit is not None and not fitted.certificates[voting].refit
            if not_refitted or (fitted.plan.needs_soft and voting != SOFT):
                labels = fitted.predict_certified(voting, self.model._validate_input(self.X))
            else:
                labels = self._voting(voting).predict(self.X)
            check_label_types("model.predict(X_test)", labels, self.labels)
            self._wrong[voting] = np.asarray(labels != self.labels)
        return self._wrong[voting]

    @property
    def errors(self) -> dict[str, int]:
        """The number of errors by voting."""
        return {name: int(np.count_nonzero(self.wrong(name))) for name in self.model.certificates_}

    def errors_among_accepted(self, voting: str) -> tuple[int, int]:
        """Numbers of errors among accepted rows, and of accepted rows."""
        wrong = self.wrong(voting)
        if self.model.certificates_[voting].abstains:
            wrong = wrong[self._voting(voting).accepts(self.X)]
        return int(np.count_nonzero(wrong)), int(wrong.size)

    @cached_property
    def covered(self) -> int | None:
        """The number of errors among covered predictions; None without a refit."""
        voting = self.model._fitted.plan.refit
        return None if voting is None else int(np.count_nonzero(self.wrong(voting) & self.model.covered(self.X)))

    @property
    def baseline_errors(self) -> int | None:
        """The number of errors of the majority-class baseline; None if the majority class is unknown."""
        label = self.model.majority_class_
        return None if label is None else int(np.count_nonzero(label != self.labels))

    @cached_property
    def risks(self) -> FloatArray:
        """The error rate of each classifier, shape (H,)."""
        classifiers = self.model.classifiers_
        errors = np.zeros(len(classifiers), dtype=np.int64)
        step = max(1, _MAX_LABELS // errors.size)
        for start in range(0, self.rows, step):
            block = np.arange(start, min(start + step, self.rows))
            y_pred = classifiers.predict(pick_rows(self.X, block))
            errors += np.count_nonzero(y_pred != self.labels[block], axis=1)
        return errors_to_risks(errors, self.rows)


@dataclass(frozen=True, eq=False)
class ReportView:
    """A fitted model with the numbers that reports need.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> new = [[a + 0.1, b] for a, b in X]
    >>> view = ReportView.from_model(StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), test=(new, y))
    >>> view.positions, view.observed.errors, view.observed.baseline_errors
    (array([0.1, 1. ]), {'stochastic': 0, 'majority': 0, 'best': 0}, 24)
    """

    model: CertifiedModel
    #: Errors on a test set.
    observed: ObservedErrors | None = None
    #: Rows and labels of the fit, for their fingerprints.
    data: tuple[Any, NDArray[Any]] | None = None
    #: Person or team responsible for the model.
    owner: str | None = None

    @classmethod
    def from_model(
        cls, model: Any, test: Any = None, data: Any = None, *, name: str = "model", owner: str | None = None
    ) -> "ReportView":
        """Validate the arguments of a report."""
        if owner is not None and not isinstance(owner, str):
            raise TypeError(f"owner must be a string or None, got {owner!r}")
        if not isinstance(model, CertifiedModel):
            raise TypeError(f"{name} must be a StochasticSVC or CertifiedClassifier, got {type(model).__name__}")
        check_is_fitted(model)
        fit_data = None if data is None else _check_data(model, data)
        observed = None if test is None else ObservedErrors(model, *_validate_pair("test", test))
        if observed is not None:
            check_new_rows(model, observed.X, "test", "the model")
            # Predict now, so that an invalid test set raises an error before anything is written.
            observed.wrong(model._voting())
        return cls(model, observed, fit_data, owner)

    @property
    def plan(self) -> Plan:
        """The plan, which was fixed before validation."""
        return self.model._fitted.plan

    @property
    def classifiers(self) -> ClassifierSet:
        """The classifiers with their validation errors."""
        return self.model.classifiers_

    @cached_property
    def voting(self) -> str:
        """The voting that predicts."""
        return self.model._voting()

    @property
    def certificate(self) -> Certificate:
        """The certificate of this voting."""
        return self.model.certificates_[self.voting]

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the soft vote, of the draws for voting="stochastic", and of the majority vote otherwise."""
        return float_weights(self.model._fitted.weights("majority" if self.voting == "best" else self.voting))

    @property
    def weight_name(self) -> str:
        """Label of these weights."""
        certificate = self.model.certificates_["majority" if self.voting == "best" else self.voting]
        return "posterior weight" if certificate.rule == POSTERIOR else "weight"

    @property
    def predicts_by_probabilities(self) -> bool:
        """Whether the model predicts by mean probabilities."""
        return self.voting == SOFT

    @cached_property
    def only_classifier(self) -> int | None:
        """The index of the only classifier with weight; None if there are several."""
        weights = self.model.weights_
        return int(np.argmax(weights)) if np.count_nonzero(weights) == 1 else None

    @property
    def bound_name(self) -> str:
        """Label of the certificate's bound in plots."""
        classifier = self.certificate.holds_for.removesuffix(" with its key")
        return f"bound of {classifier}" + ("" if not self.certificate.abstains else " on accepted rows")

    def validation_risk(self, voting: str) -> float | None:
        """Error rate of a voting on the validation set, among accepted rows if it abstains; None if not available.

        The error rate of the majority vote is for display if its bound follows from that of the stochastic classifier.
        """
        certificate = self.model.certificates_[voting]
        if isinstance(certificate.decision, SelectiveResult):
            return certificate.empirical_risk if certificate.decision.passed else None
        return self.model.vote_risk_ if voting == "majority" else certificate.empirical_risk

    @cached_property
    def is_path(self) -> bool:
        """Whether the classifiers form one regularisation path: they differ in lambda only."""
        params = self.classifiers.params
        if not all(_is_lambda(setting.get("lambda")) and "candidate" not in setting for setting in params):
            return False
        same_width = len({repr(setting.get("gamma")) for setting in params}) == 1
        # With independent splits every SVM has its own kernel width.
        return same_width or len({setting["lambda"] for setting in params}) == len(params)

    @cached_property
    def positions(self) -> FloatArray:
        """Position of each classifier on the x-axis: its lambda, or its rank by risk, starting at 1."""
        if self.is_path:
            return np.array([setting["lambda"] for setting in self.classifiers.params])
        order = np.argsort(self.classifiers.risks, kind="stable")
        return np.argsort(order).astype(np.float64) + 1.0

    @property
    def paths(self) -> list[Rows]:
        """Indices of the classifiers of each regularisation path, ordered by lambda; others are paths of length 1."""
        params, paths = self.classifiers.params, dict[str, list[int]]()
        for i, setting in enumerate(params):
            common = [(name, value) for name, value in setting.items() if name != "lambda"]
            path = repr(common) if _is_lambda(setting.get("lambda")) else str(i)
            paths.setdefault("" if self.is_path else path, []).append(i)
        return [np.array(sorted(path, key=lambda i: params[i].get("lambda", 0.0))) for path in paths.values()]

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of the model, or the optimal one at level delta if it has none."""
        posterior = self.model._fitted.posteriors.posterior
        return self._optimal_posterior(self.plan.distances) if posterior is None else posterior

    @cached_property
    def posteriors(self) -> list[Posterior]:
        """The optimal posterior of each of the five distances and of those of the model, each at level delta."""
        # Distances of the model may be user-defined.
        used = {distance.name: distance for distance in self.plan.distances}
        return [
            self._optimal_posterior(used.get(name) or get_distance(name)) for name in dict.fromkeys((*DISTANCES, *used))
        ]

    def _optimal_posterior(self, distance: Any) -> Posterior:
        risks, m, plan = self.classifiers.risks, self.classifiers.m, self.plan
        return choose_posterior(risks, m, distance=distance, delta=plan.delta, prior=plan.prior, constant=plan.constant)


def _is_lambda(value: Any) -> bool:
    return isinstance(value, float) and 0.0 < value < math.inf


def _validate_pair(name: str, pair: Any) -> tuple[Any, NDArray[Any]]:
    try:
        X, y = pair
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (X, y), got {type(pair).__name__}") from None
    check_same_order(**{f"{name}[0]": X, f"{name}[1]": y})
    labels = np.asarray(check_no_missing_labels(y, f"{name} y"))
    if labels.ndim != 1 or labels.size != count_rows(X) or labels.size == 0:
        raise ValueError(
            f"{name} must be rows with one label per row, got {count_rows(X)} rows and labels of shape {labels.shape}"
        )
    return X, labels


def _check_data(model: CertifiedModel, data: Any) -> tuple[Any, NDArray[Any]]:
    """Validate the data of the fit: number of rows and classes must match the model."""
    X, labels = _validate_pair("data", data)
    expected = model._fitted.plan.split.n_rows
    if labels.size != expected:
        raise ValueError(f"data must be the {expected} rows the model was fitted with, got {labels.size}")
    if not np.array_equal(np.unique(labels), model.classes_):
        raise ValueError("data must be the rows the model was fitted with; its labels have other classes")
    return X, labels
