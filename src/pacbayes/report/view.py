"""What a report is about: a fitted model, its numbers gathered once, and the rows that are shown with it."""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import FloatArray, Rows, cached_property
from pacbayes._utils.words import format_share
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import DISTANCES, get_distance
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.find import choose_posterior
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
    #: Errors by way of predicting.
    errors: dict[str, int]
    #: Errors among the rows that are answered, and how many these are, by way of predicting.
    among_answered: dict[str, tuple[int, int]]
    #: Errors of always answering the most frequent class of the training rows, None where nobody knows it.
    constant: int | None
    #: After a refit, the errors among answers that are covered; else None.
    covered: int | None = None

    @classmethod
    def count(cls, model: CertifiedModel, X: Any, labels: NDArray[Any]) -> "ObservedErrors":
        """Count the errors of all ways of predicting; the model keeps its own."""
        errors, among, covered = {}, {}, None
        for name, certificate in model.certificates_.items():
            # A copy with the same parts: the user's estimator is not touched, not even for a moment.
            one = copy(model)
            one.voting = name
            # After a refit, or with a threshold, only one way predicts; of the others it is what was certified.
            alone = model._fitted.refit is not None and not certificate.refit
            alone = alone or (model._fitted.plan.has_cuts and name != SOFT)
            said = model._fitted.certified(name, model._validated(X)) if alone else one.predict(X)
            check_same_kind("model.predict(X_test)", said, labels)
            errors[name] = int(np.count_nonzero(said != labels))
            among[name] = (errors[name], int(labels.size))
            if certificate.refit:
                covered = int(np.count_nonzero((said != labels) & one.covered(X)))
            if certificate.answered is not None:
                answered = np.flatnonzero(one.answers(X))
                wrong = said[answered] != labels[answered]
                among[name] = (int(np.count_nonzero(wrong)), int(answered.size))
        constant = model.constant_label_
        errs = None if constant is None else int(np.count_nonzero(constant != labels))
        return cls(model, X, labels, errors, among, errs, covered)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.labels.size)

    @cached_property
    def errors_of_each(self) -> Rows:
        """The errors of each classifier, shape (H,); counted when first asked for."""
        classifiers = self.model.classifiers_
        errors = np.zeros(len(classifiers), dtype=np.int64)
        step = max(1, _LABELS // errors.size)
        for start in range(0, self.rows, step):
            part = np.arange(start, min(start + step, self.rows))
            predicted = classifiers.predict(pick_rows(self.X, part))
            errors += np.count_nonzero(predicted != self.labels[part], axis=1)
        return errors

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier."""
        return risks_of_errors(self.errors_of_each, self.rows)


@dataclass(frozen=True, eq=False)
class ReportView:
    """A fitted model with the numbers that several parts of a report need.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> new = [[a + 0.1, b] for a, b in X]
    >>> view = ReportView.of(StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), test=(new, y))
    >>> view.delta, view.places, view.observed.errors, view.observed.constant
    (0.05, array([0.1, 1. ]), {'stochastic': 0, 'majority': 0, 'best': 0}, 24)
    """

    model: CertifiedModel
    #: Errors on rows the model was not fitted with.
    observed: ObservedErrors | None
    #: The rows and labels the model was fitted with, for their fingerprint.
    data: tuple[Any, NDArray[Any]] | None
    classifiers: ClassifierSet
    #: The posterior, the prior (None for the uniform one) and the level.  A model that kept nothing for a posterior is
    #: compared with the one that would have been best at the whole level.
    posterior: Posterior
    prior: FloatArray | None
    delta: float
    #: The distances among which the model chose, at a share of delta each.
    chosen_among: tuple[str, ...]
    #: Whether all classifiers have the same training and validation rows.
    is_shared: bool
    #: Whether the classifiers differ in a regularisation parameter lambda, and in nothing else that was chosen.
    is_path: bool
    #: Where each classifier stands on the axis: at its lambda, or at its rank by risk, from 1.
    places: FloatArray
    #: The distances themselves, by name: they need not be known by it elsewhere.
    own_distances: dict[str, Distance] = field(default_factory=dict, repr=False)
    _found: dict[str, Posterior] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: Any, test: Any = None, data: Any = None) -> "ReportView":
        """Check everything, naming what is wrong, and gather the numbers."""
        if not isinstance(model, CertifiedModel):
            raise TypeError(f"model must be a StochasticSVC or CertifiedClassifier, got {type(model).__name__}")
        check_is_fitted(model)
        classifiers = model.classifiers_
        assert classifiers.splits is not None
        fitted_with = None if data is None else _check_data(model, data)
        tested = None if test is None else _pair("test", test)
        if tested is not None:
            check_new_rows(model, tested[0], "test", "the model")
        is_path = differ_in_lambda(classifiers.params)
        return cls(
            model=model,
            observed=None if tested is None else ObservedErrors.count(model, *tested),
            data=fitted_with,
            classifiers=classifiers,
            posterior=_posterior(model),
            prior=None if model.has_uniform_prior_ else model.prior_,
            delta=model.delta_,
            chosen_among=model.distances_,
            is_shared=classifiers.splits.kind == "shared",
            is_path=is_path,
            places=np.array([one["lambda"] for one in classifiers.params]) if is_path else _ranks(classifiers.risks),
            own_distances={one.name: one for one in model._fitted.plan.distances},
        )

    @cached_property
    def voting(self) -> str:
        """The way of predicting."""
        return self.model._voting()

    @cached_property
    def weights(self) -> FloatArray:
        """The weights that predict: of the soft vote, of the draws for voting="stochastic", else of the vote."""
        return weights_of(self.model._fitted.weights(self.model._shared_voting()))

    @cached_property
    def by_probabilities(self) -> bool:
        """Whether mean probabilities decide."""
        return self.voting == SOFT

    @cached_property
    def only_classifier(self) -> int | None:
        """The number of the classifier that decides alone, by its answers or probabilities; None where several may."""
        weights = self.model.weights_
        return int(np.argmax(weights)) if np.count_nonzero(weights) == 1 else None

    @cached_property
    def weight_name(self) -> str:
        """What they are called."""
        weighted = self.model.certificates_["majority" if self.voting == "best" else self.voting]
        return "posterior weight" if weighted.rule == POSTERIOR else "weight"

    @property
    def bound_name(self) -> str:
        """What the bound of the certificate is called in a drawing."""
        who = self.certificate.holds_for.removesuffix(" with its key")
        return f"bound of {who}" + ("" if self.certificate.answered is None else ", among its answers")

    @cached_property
    def paths(self) -> list[Rows]:
        """The classifiers by path: those that differ in lambda alone, by lambda; any other stands for itself."""
        numbers = path_numbers(self.classifiers.params)
        found = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
        params = self.classifiers.params
        return [
            path if path.size == 1 else path[np.argsort([params[i]["lambda"] for i in path], kind="stable")]
            for path in found
        ]

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of that way of predicting."""
        return self.model.certificates_[self.voting]

    def validation_risk(self, voting: str) -> float | None:
        """Return the share of validation errors of a way of predicting, among its answers where it has a target.

        None where they were not counted, or nothing is answered.  Where the vote's bound follows from the stochastic
        classifier's, its own errors are only shown.
        """
        found = self.model.certificates_[voting]
        if found.answered is not None:
            return found.empirical_risk if found.answered.passed else None
        return self.model.vote_risk_ if voting == "majority" else found.empirical_risk

    @property
    def proposed(self) -> str:
        """Say who proposed what was tested with most of delta, as the end of a clause."""
        return "was proposed beforehand" if self.classifiers.trained_elsewhere else "the training rows proposed"

    @property
    def divided(self) -> str:
        """Say how delta was divided, as a clause: nothing stands beside a soft vote, which has all of it."""
        share = f"{format_share(1.0 - self.model.hedge_)} was for what {self.proposed}"
        whole = SOFT in self.model.certificates_ and self.model.hedge_ > 0.0
        return share + (", and all of it for the soft vote" if whole else "")

    @property
    def distances(self) -> tuple[str, ...]:
        """The five distances, and others the model uses."""
        return (*DISTANCES, *(name for name in self.chosen_among if name not in DISTANCES))

    def distance(self, name: str) -> Distance:
        """Return a distance of this page by its name."""
        return self.own_distances.get(name) or get_distance(name)

    def best_posterior(self, distance: str) -> Posterior:
        """Return the posterior of the smallest bound for another distance, computed as the model does."""
        if distance not in self._found:
            self._found[distance] = choose_posterior(
                self.classifiers.risks,
                self.classifiers.m,
                distance=self.distance(distance),
                delta=self.delta,
                prior=self.prior,
                constant=self.posterior.constant,
            )
        return self._found[distance]


def _posterior(model: CertifiedModel) -> Posterior:
    if model.hedge_ > 0.0:
        return model.posterior_
    return choose_posterior(
        model.classifiers_.risks,
        model.classifiers_.m,
        distance=model._fitted.plan.distances,
        delta=model.delta_,
        prior=None if model.has_uniform_prior_ else model.prior_,
        constant=model._fitted.plan.constant,
    )


def differ_in_lambda(params: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether classifiers are machines of one family, for many lambdas and one width each.

    Examples
    --------
    >>> differ_in_lambda([{"lambda": 0.1, "gamma": 2.0}, {"lambda": 1.0, "gamma": 2.0}])
    True
    >>> differ_in_lambda([{"lambda": 0.1, "gamma": 2.0}, {"lambda": 0.1, "gamma": 8.0}])
    False
    """
    if not all(_is_lambda(one.get("lambda")) and "candidate" not in one for one in params):
        return False
    one_width = len({repr(one.get("gamma")) for one in params}) == 1
    # With a sample for each machine every one has a width of its own.
    return one_width or len({one["lambda"] for one in params}) == len(params)


def path_numbers(params: Sequence[Mapping[str, Any]]) -> Rows:
    """Return for each classifier the number of its path: those that differ in lambda alone have the same.

    Examples
    --------
    >>> path_numbers([{"lambda": 0.1, "gamma": 2.0}, {"lambda": 1.0, "gamma": 2.0}, {"lambda": 1.0, "gamma": 8.0}, {}])
    array([0, 0, 1, 2])
    """
    if differ_in_lambda(params):
        return np.zeros(len(params), dtype=np.int64)
    numbers: dict[str, int] = {}
    for i, one in enumerate(params):
        numbers.setdefault(_path_of(i, one), len(numbers))
    return np.array([numbers[_path_of(i, one)] for i, one in enumerate(params)])


def _path_of(i: int, params: Mapping[str, Any]) -> str:
    """Return what the classifiers of a path have in common."""
    if not _is_lambda(params.get("lambda")):
        return str(i)
    return repr([(name, value) for name, value in params.items() if name != "lambda"])


def _is_lambda(value: Any) -> bool:
    return isinstance(value, float) and 0.0 < value < math.inf


def _ranks(risks: FloatArray) -> FloatArray:
    order = np.argsort(risks, kind="stable")
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1, order.size + 1)
    return ranks


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
    splits = model.classifiers_.splits
    assert splits is not None
    expected = splits.n_rows
    if labels.size != expected:
        raise ValueError(f"data must be the {expected} rows the model was fitted with, got {labels.size}")
    if not np.array_equal(np.unique(labels), model.classes_):
        raise ValueError("data must be the rows the model was fitted with; its labels have other classes")
    return X, labels
