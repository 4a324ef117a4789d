"""The trained classifiers themselves: one interface to ask them, whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows
from pacbayes._utils.checks import need, read_only
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import one_core, one_thread
from pacbayes.data.dataset import check_same_kind, one_label_each
from pacbayes.data.rows import copy_rows, csr_rows, number_of_rows, pick_rows
from pacbayes.ensemble.calibration import ANSWERS, DECISIONS, PROBABILITIES, Calibration, scores_of


@dataclass(frozen=True, eq=False)
class Calibrated:
    """How scores of some classifiers of a set become probabilities."""

    #: The numbers of the classes that the training rows have, ascending: of no other is anything known.
    classes: Rows
    #: By the number of the classifier.
    maps: dict[int, Calibration]

    def __post_init__(self) -> None:
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
Predictions = NDArray[np.unsignedinteger]


class Coding:
    """Numbers of labels: the classes, then whatever else classifiers answered so far.

    A classifier may answer with a label that is none of the classes, such as `outlier_label` of scikit-learn's
    `RadiusNeighborsClassifier`.  That is its answer, and has a number like any other.

    Examples
    --------
    >>> coding = Coding(np.array([0, 1]))
    >>> coding.codes(np.array([1, -1, 0])), coding.labels, smallest_code_dtype(coding.labels.size)
    (array([1, 2, 0]), array([ 0,  1, -1]), dtype('uint8'))
    """

    def __init__(self, classes: Labels) -> None:
        self.classes = classes
        # In the order in which they were met, NaN as None: number and label.
        self._others: dict[Any, tuple[int, Any]] = {}
        self._labels = classes

    @property
    def labels(self) -> Labels:
        """What the numbers stand for: the classes, then the others in the order in which they were met."""
        if self._labels.size < self.classes.size + len(self._others):
            self._labels = np.append(self.classes, [label for _, label in self._others.values()])
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
        return self._others.setdefault(name, (int(self.classes.size) + len(self._others), label))[0]


def smallest_code_dtype(n_labels: int) -> Any:
    """Return the smallest type of numbers for answers: of so many labels, and one number for no answer.

    Examples
    --------
    >>> smallest_code_dtype(2), smallest_code_dtype(255), smallest_code_dtype(256)
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

    def predict(self, X: Any, which: Rows, coding: Coding) -> Predictions:
        """Return the numbers of the labels that some classifiers give prepared rows, shape (which, n)."""

    def predict_assigned(self, X: Any, which: Codes, coding: Coding) -> Codes:
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

    def __len__(self) -> int:
        return len(self.estimators)

    def __getitem__(self, i: int) -> Any:
        return self.estimators[i]

    def prepared(self, X: Any) -> Any:
        """Return rows as the classifiers take them: as they are."""
        return csr_rows(X)

    def predict(self, X: Any, which: Rows, coding: Coding) -> Predictions:
        """Return the numbers of the labels that some classifiers give the rows, shape (which, n)."""
        found = list(self.ask(which.tolist(), lambda i: X, coding))
        return np.stack([one.astype(smallest_code_dtype(coding.labels.size), copy=False) for one in found])

    def ask(
        self,
        which: Sequence[int],
        rows: Callable[[int], Any],
        coding: Coding,
        n_jobs: int | None = None,
        *,
        validating: bool = False,
    ) -> Iterator[Predictions]:
        """Yield the answers of some classifiers in turn, each about the rows that are given for it."""

        def say(i: int) -> Labels:
            with one_core():
                predict = self._validated if validating else self._predict
                return predict(i, rows(i), coding.classes)

        with one_thread(), progress("predictions", len(which)) as advance:
            for said in _in_turn(say, which, n_jobs):
                yield coding.codes(said).astype(smallest_code_dtype(coding.labels.size))
                advance(1)

    def predict_assigned(self, X: Any, which: Codes, coding: Coding) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives row j."""
        codes = np.empty(which.size, dtype=np.intp)
        with one_thread(), progress("predictions", which.size) as advance:
            for i in np.unique(which).tolist():
                rows = np.flatnonzero(which == i)
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
        with nullcontext() if self.elsewhere else naming(i, self.params[i]):
            return self._predict(i, X, classes)

    def _name(self, i: int) -> str:
        return f"estimators[{i}]" if self.elsewhere else f"classifier {i}"


@contextmanager
def naming(i: int, params: dict[str, Any]) -> Iterator[None]:
    """Name the classifier, which was fitted here, in an error of its predictions."""
    try:
        yield
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like
        why = f"{type(error).__name__}: {error}"
        raise ValueError(f"classifier {i} with {params} was fitted but could not predict: {why}") from error


def _in_turn(say: Callable[[int], Labels], which: Sequence[int], n_jobs: int | None) -> Iterable[Labels]:
    """Return what classifiers say one after the other, asked by so many workers."""
    if n_jobs is None or effective_n_jobs(n_jobs) == 1:
        return map(say, which)
    # In threads: sending all classifiers to other processes would take longer than to ask them.
    workers = Parallel(n_jobs=min(effective_n_jobs(n_jobs), cpu_count()), require="sharedmem", return_as="generator")
    found: Iterable[Labels] = workers(delayed(say)(i) for i in which)
    return found


class Prepared:
    """Rows as each of several parts of a set takes them."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return number_of_rows(self.parts[0])


def pick_prepared(X: Any, rows: Rows) -> Any:
    """Return some prepared rows."""
    return Prepared(tuple(pick_rows(part, rows) for part in X.parts)) if isinstance(X, Prepared) else pick_rows(X, rows)


@dataclass(frozen=True, eq=False)
class CompositeMembers:
    """Several sets as one; those of the first come first."""

    parts: tuple[Any, ...]
    #: What the classifiers of each part are called; empty where their own parameters say it.
    names: tuple[str, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, i: int) -> Any:
        part, first = next((one, first) for one, first in self._placed() if i < first + len(one))
        return part[i - first]

    def _placed(self) -> Iterator[tuple[Any, int]]:
        """Yield each part with the number of its first classifier."""
        first = 0
        for part in self.parts:
            yield part, first
            first += len(part)

    def _own(self, which: NDArray[Any]) -> Iterator[tuple[int, Any, Rows, NDArray[Any]]]:
        """Yield for each part that is asked: its place, it, where its own stand in `which`, and their numbers."""
        for place, (part, first) in enumerate(self._placed()):
            mine = np.flatnonzero((which >= first) & (which < first + len(part)))
            if mine.size:
                yield place, part, mine, which[mine] - first

    @property
    def params(self) -> list[dict[str, Any]]:
        """What distinguishes each, and what it is called."""
        return [
            {"candidate": name} | one if name else one
            for part, name in zip(self.parts, self.names, strict=True)
            for one in part.params
        ]

    @property
    def classes(self) -> Labels:
        """The labels that they were trained to tell apart."""
        classes: Labels = self.parts[0].classes
        return classes

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained and were left out."""
        return [one for part in self.parts for one in part.dropped]

    @property
    def kkt_violation(self) -> FloatArray | None:
        """How far each is from optimal; NaN for what is no support vector machine."""
        return self._of_each("kkt_violation", np.nan)

    @property
    def converged(self) -> NDArray[np.bool_] | None:
        """Whether each support vector machine is near enough to optimal, and anything else."""
        return self._of_each("converged", True)

    def _of_each(self, name: str, other: Any) -> NDArray[Any] | None:
        found = [getattr(part, name) for part in self.parts]
        if all(one is None for one in found):
            return None
        pairs = zip(found, self.parts, strict=True)
        return np.concatenate([np.full(len(part), other) if one is None else one for one, part in pairs])

    def prepared(self, X: Any) -> Prepared:
        """Return rows as each part takes them."""
        return Prepared(tuple(part.prepared(X) for part in self.parts))

    def predict(self, X: Prepared, which: Rows, coding: Coding) -> Predictions:
        """Return the numbers of the labels that some classifiers give prepared rows, shape (which, n)."""
        found = [(mine, part.predict(X.parts[place], own, coding)) for place, part, mine, own in self._own(which)]
        y_pred = np.empty((which.size, len(X)), dtype=smallest_code_dtype(coding.labels.size))
        for mine, some in found:
            y_pred[mine] = some
        return y_pred

    def predict_assigned(self, X: Prepared, which: Codes, coding: Coding) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives prepared row j, shape (n,)."""
        codes = np.empty(which.size, dtype=np.intp)
        for place, part, rows, own in self._own(which):
            codes[rows] = part.predict_assigned(pick_rows(X.parts[place], rows), own, coding)
        return codes

    def mean_probabilities(self, X: Prepared, weights: FloatArray, soft: Calibrated) -> FloatArray:
        """Return the sum of weights times calibrated probabilities: that of each part, in their order."""
        total = np.zeros((len(X), soft.classes.size))
        for place, (part, first) in enumerate(self._placed()):
            own = weights[first : first + len(part)]
            if own.any():
                total += part.mean_probabilities(X.parts[place], own, soft.among(first, len(part)))
        return total

    def check_maps(self, soft: Calibrated) -> None:
        """Raise unless each classifier has the scores that its map takes."""
        for part, first in self._placed():
            if any(first <= i < first + len(part) for i in soft.maps):
                part.check_maps(soft.among(first, len(part)))
