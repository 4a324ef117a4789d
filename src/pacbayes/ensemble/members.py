"""The trained classifiers themselves: one interface to ask them, whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows
from pacbayes._utils.checks import MOST, need, need_array, need_rows, read_only
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import one_core, one_thread
from pacbayes.data.labels import check_same_kind, one_label_each
from pacbayes.data.rows import copy_rows, csr_rows, pick_rows
from pacbayes.ensemble.calibration import ANSWERS, DECISIONS, PROBABILITIES, Calibration


def kind_of(classifier: Any, n_classes: int, few: Any) -> str:
    """Return which scores a fitted classifier has: probabilities, decisions for so many classes, or answers alone.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> kind_of(DummyClassifier().fit(X, y), 2, X), kind_of(LinearSVC().fit(X, y), 2, X)
    ('probabilities', 'decisions')
    """
    if not hasattr(classifier, "classes_"):
        return ANSWERS
    if hasattr(classifier, "predict_proba"):
        return PROBABILITIES
    if not hasattr(classifier, "decision_function"):
        return ANSWERS
    found, known = np.asarray(classifier.decision_function(copy_rows(few))), np.asarray(classifier.classes_)
    if known.size != n_classes or found.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        return ANSWERS
    # Decisions of one-vs-one machines are not compared with each other; of three classes there are as many pairs.
    compared = n_classes == 2 or np.mean(known[found.argmax(axis=1)] == classifier.predict(copy_rows(few))) > 0.5
    return DECISIONS if compared else ANSWERS


def scores_of(classifier: Any, X: Any, kind: str, classes: Labels, said: Labels | None = None) -> FloatArray:
    """Return what a fitted classifier says of rows in numbers that `Calibration` takes, for some classes.

    It may know fewer of the classes: the others have probability zero, and lose by one in decisions.  `said` is what it
    answers, where that is known already.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier(strategy="prior").fit([[0]] * 4, [0, 0, 0, 1])
    >>> scores_of(dummy, [[0]], "probabilities", np.array([0, 1, 2]))
    array([[0.75, 0.25, 0.  ]])
    """
    n, k = number_of_rows(X), classes.size
    if kind == ANSWERS:
        labels = one_label_each("predict", classifier.predict(copy_rows(X)), n) if said is None else said
        codes = np.minimum(np.searchsorted(classes, labels), k - 1)
        return np.where(classes[codes] == labels, codes, k).astype(np.float64)[:, None]
    method = "predict_proba" if kind == PROBABILITIES else "decision_function"
    found = np.asarray(getattr(classifier, method)(copy_rows(X)), dtype=np.float64)
    own = np.asarray(classifier.classes_)
    flat = kind == DECISIONS and own.size == 2 and found.ndim == 1
    if not flat and found.shape != (n, own.size):
        raise ValueError(
            f"{method} of {type(classifier).__name__} must give a number for each of {n} rows and "
            f"{own.size} classes, got shape {found.shape}"
        )
    if flat:
        if k == 2 and own.size == 2:
            return found[:, None]
        found = np.stack([-found, found], axis=1)
    if own.shape == classes.shape and bool((own == classes).all()):
        return found
    known = np.isin(own, classes)
    lowest = found.min(axis=1, keepdims=True) - 1.0 if kind == DECISIONS else np.zeros((n, 1))
    spread = np.repeat(lowest, k, axis=1)
    spread[:, np.searchsorted(classes, own[known])] = found[:, known]
    return spread


def mean_margins(probabilities: FloatArray) -> FloatArray:
    """Return by how much each class is ahead of the best other one, shape (n, classes).

    Examples
    --------
    >>> mean_margins(np.array([[0.75, 0.25, 0.0]]))
    array([[ 0.5 , -0.5 , -0.75]])
    """
    ordered = np.sort(probabilities, axis=1)
    first, second = ordered[:, -1:], ordered[:, -2:-1]
    # The best other class is the second best for the best one, and the best for all others.
    return np.where(probabilities == first, first - second, probabilities - first)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """How scores of some classifiers of a set become probabilities."""

    #: The numbers of the classes that the training rows have, ascending: of no other is anything known.
    classes: Rows
    #: By the number of the classifier.
    maps: dict[int, Calibration]

    def __post_init__(self) -> None:
        """Raise unless every map is one for these classes."""
        need_rows(self.classes, "Calibrated.classes", MOST)
        whole = type(self.maps) is dict and all(type(i) is int and i >= 0 for i in self.maps)
        need(whole and len(self.maps) > 0, "Calibrated.maps", "must be by number of a classifier")
        for one in self.maps.values():
            fits = isinstance(one, Calibration) and one.n_classes == self.classes.size
            need(fits, "Calibrated.maps", "must be for these classes")
        read_only(self.classes)

    def among(self, first: int, number: int) -> Calibrated:
        """Return the maps of so many classifiers from the first on, numbered from there."""
        return Calibrated(self.classes, {i - first: one for i, one in self.maps.items() if 0 <= i - first < number})

    def shares(self, total: FloatArray) -> FloatArray:
        """Return sums of probabilities as shares of their whole: probabilities are rounded, and sum to one nearly."""
        whole = np.zeros(len(total))
        for column in total.T:
            whole += column
        return np.asarray(total / np.where(whole > 0.0, whole, 1.0)[:, None])

    def spread(self, shares: FloatArray, n_classes: int) -> FloatArray:
        """Return probabilities of all classes, shape (n, n_classes): zero for those that were not learnt."""
        found = np.zeros((len(shares), n_classes))
        found[:, self.classes] = shares
        return found


#: Answers as numbers of labels, as small as they can be kept.
Answers = NDArray[np.unsignedinteger]


class Coding:
    """Numbers of labels: the classes, then whatever else classifiers answered so far.

    A classifier may answer with a label that is none of the classes, such as `outlier_label` of scikit-learn's
    `RadiusNeighborsClassifier`.  That is its answer, and has a number like any other.

    Examples
    --------
    >>> coding = Coding(np.array([0, 1]))
    >>> coding.codes(np.array([1, -1, 0])), coding.labels, kept_as(coding.labels.size)
    (array([1, 2, 0]), array([ 0,  1, -1]), dtype('uint8'))
    """

    def __init__(self, classes: Labels) -> None:
        self.classes = classes
        # By themselves, NaN as None; and the order in which they were met.
        self._others: dict[Any, Any] = {}
        self._places: dict[Any, int] = {}
        self._labels = classes

    @property
    def labels(self) -> Labels:
        """What the numbers stand for: the classes, then the others in the order in which they were met."""
        if self._labels.size < self.classes.size + len(self._others):
            self._labels = np.append(self.classes, list(self._others.values()))
        return self._labels

    def codes(self, said: Labels) -> Codes:
        """Return the number of every label."""
        codes = np.minimum(np.searchsorted(self.classes, said), self.classes.size - 1)
        others = self.classes[codes] != said
        if others.any():
            found, places = np.unique(said[others], return_inverse=True)
            codes[others] = np.array([self._code_of_other(label) for label in found])[places]
        return codes

    def _code_of_other(self, label: Any) -> int:
        """Return the number of a label that is no class, a new one where it was not met before."""
        # NaN, which differs from itself, is one label.
        name = label if label == label else None
        self._others.setdefault(name, label)
        place = self._places.setdefault(name, len(self._places))
        return int(self.classes.size) + place


def kept_as(n_labels: int) -> Any:
    """Return the smallest type of numbers for answers: of so many labels, and one number for no answer.

    Examples
    --------
    >>> kept_as(2), kept_as(255), kept_as(256)
    (dtype('uint8'), dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_labels)


class Members(Protocol):
    """The classifiers of a set: handed out one by one, or asked all at once."""

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each."""

    @property
    def classes(self) -> Labels:
        """The labels that they were trained to tell apart, or are compared with."""

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained and were left out: "params" and "error" of each."""

    @property
    def kkt_violation(self) -> FloatArray | None:
        """For support vector machines: how far each is from optimal."""

    @property
    def converged(self) -> NDArray[np.bool_] | None:
        """For support vector machines: whether each is near enough."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Any: ...

    def prepared(self, X: Any) -> Any:
        """Return rows as the classifiers take them."""

    def answers(self, X: Any, which: Rows, coding: Coding) -> Answers:
        """Return the numbers of the labels that some classifiers give prepared rows, shape (which, n)."""

    def answers_each(self, X: Any, which: Codes, coding: Coding) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives prepared row j, shape (n,)."""

    def mean_probabilities(self, X: Any, weights: FloatArray, soft: Calibrated) -> FloatArray:
        """Return the sum of weights times calibrated probabilities for prepared rows, shape (n, learnt classes)."""

    def check_maps(self, soft: Calibrated) -> None:
        """Raise unless each classifier has the scores that its map takes: for values of a file."""


@dataclass(frozen=True, eq=False)
class Estimators:
    """Any fitted classifiers, asked one by one."""

    estimators: list[Any]
    params: list[dict[str, Any]]
    classes: Labels
    dropped: list[dict[str, Any]] = field(default_factory=list)
    kkt_violation: FloatArray | None = None
    converged: NDArray[np.bool_] | None = None
    #: Whether somebody else trained them, on rows that are not here.
    elsewhere: bool = False

    def __post_init__(self) -> None:
        read_only(self.classes)
        need(type(self.estimators) is list and len(self.estimators) > 0, "Estimators", "must be a list of classifiers")
        number = len(self.estimators)
        predict = all(callable(getattr(one, "predict", None)) for one in self.estimators)
        need(predict, "Estimators", "must have a method predict")
        for name, facts in (("params", self.params), ("dropped", self.dropped)):
            dicts = type(facts) is list and all(type(one) is dict for one in facts)
            need(dicts and (name == "dropped" or len(facts) == number), f"Estimators.{name}", "must be a dict for each")
        if self.kkt_violation is not None:
            need_array(self.kkt_violation, "Estimators.kkt_violation", "f", (number,), finite=False)
        if self.converged is not None:
            need_array(self.converged, "Estimators.converged", "b", (number,))
        need(type(self.elsewhere) is bool, "Estimators.elsewhere", "must be True or False")

    def __len__(self) -> int:
        return len(self.estimators)

    def __getitem__(self, i: int) -> Any:
        return self.estimators[i]

    def prepared(self, X: Any) -> Any:
        """Return rows as the classifiers take them: as they are."""
        return csr_rows(X)

    def answers(self, X: Any, which: Rows, coding: Coding) -> Answers:
        """Return the numbers of the labels that some classifiers give the rows, shape (which, n)."""
        found = list(self.ask(which.tolist(), lambda i: X, coding))
        return np.stack([one.astype(kept_as(coding.labels.size), copy=False) for one in found])

    def ask(
        self,
        which: Sequence[int],
        rows: Callable[[int], Any],
        coding: Coding,
        n_jobs: int | None = None,
        *,
        validating: bool = False,
    ) -> Iterator[Answers]:
        """Yield the answers of some classifiers in turn, each about the rows that are given for it."""

        def say(i: int) -> Labels:
            with one_core():
                predict = self._validated if validating else self._predict
                return predict(i, rows(i), coding.classes)

        with one_thread(), progress("predictions", len(which)) as advance:
            for said in _in_turn(say, which, n_jobs):
                yield coding.codes(said).astype(kept_as(coding.labels.size))
                advance(1)

    def answers_each(self, X: Any, which: Codes, coding: Coding) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives row j."""
        codes = np.empty(which.size, dtype=np.intp)
        order = np.argsort(which, kind="stable")
        with one_thread(), progress("predictions", which.size) as advance:
            for run in runs_of(which[order]):
                rows = order[run]
                i = int(which[rows[0]])
                codes[rows] = coding.codes(self._predict(i, pick_rows(X, rows), coding.classes))
                advance(rows.size)
        return codes

    def mean_probabilities(self, X: Any, weights: FloatArray, soft: Calibrated) -> FloatArray:
        """Return the sum of weights times calibrated probabilities, in the order of the classifiers."""
        chosen, known = np.flatnonzero(weights), self.classes[soft.classes]
        total = np.zeros((number_of_rows(X), known.size))
        with one_thread(), progress("probabilities", chosen.size) as advance:
            for i in chosen.tolist():
                total += weights[i] * soft.maps[i](scores_of(self.estimators[i], X, soft.maps[i].kind, known))
                advance(1)
        return total

    def check_maps(self, soft: Calibrated) -> None:
        """Raise unless each classifier has the scores that its map takes."""
        methods = {PROBABILITIES: "predict_proba", DECISIONS: "decision_function", ANSWERS: "predict"}
        for i, one in soft.maps.items():
            scored = one.kind in methods and hasattr(self.estimators[i], methods[one.kind])
            need(scored, "Calibration.kind", f"must be of scores that classifier {i} has")

    def _predict(self, i: int, X: Any, classes: Labels) -> Labels:
        """Return what the i-th classifier says; it may write into its rows (StandardScaler(copy=False))."""
        name = self._name(i)
        try:
            said = self.estimators[i].predict(copy_rows(X))
        except NotFittedError as error:
            raise ValueError(f"{name} must be fitted, on rows other than these: {error}") from error
        labels = one_label_each(f"{name}.predict", said, number_of_rows(X))
        check_same_kind(f"{name}.predict", labels, classes, "y_val" if self.elsewhere else "y")
        return labels

    def _validated(self, i: int, X: Any, classes: Labels) -> Labels:
        """Return what the i-th classifier says of validation rows; an error of one trained here names its settings."""
        try:
            return self._predict(i, X, classes)
        except MemoryError:  # says something about this machine, not about this classifier
            raise
        except Exception as error:  # other people's classifiers raise what they like
            if self.elsewhere:
                raise
            why = f"{type(error).__name__}: {error}"
            raise ValueError(f"classifier {i} with {self.params[i]} was fitted but could not predict: {why}") from error

    def _name(self, i: int) -> str:
        return f"estimators[{i}]" if self.elsewhere else f"classifier {i}"


def _in_turn(say: Callable[[int], Labels], which: Sequence[int], n_jobs: int | None) -> Iterable[Labels]:
    """Return what classifiers say one after the other, asked by so many workers."""
    if n_jobs is None or effective_n_jobs(n_jobs) == 1:
        return map(say, which)
    # In threads: sending all classifiers to other processes would take longer than to ask them.
    workers = Parallel(n_jobs=min(effective_n_jobs(n_jobs), cpu_count()), require="sharedmem", return_as="generator")
    found: Iterable[Labels] = workers(delayed(say)(i) for i in which)
    return found


def runs_of(values: NDArray[Any]) -> list[slice]:
    """Return the runs of equal neighbours.

    Examples
    --------
    >>> runs_of(np.array([3, 3, 5]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    if values.size == 0:
        return []
    ends = [*(np.flatnonzero(np.diff(values)) + 1).tolist(), values.size]
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def number_of_rows(X: Any) -> int:
    """Return the number of rows of an array, a frame, a sparse matrix or a list."""
    return int(_num_samples(X))
