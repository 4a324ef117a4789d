"""Common interface of trained classifiers: predictions and calibrated probabilities of many members."""

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
from pacbayes._utils.checks import make_read_only, require
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import limit_to_one_core, limit_to_one_thread
from pacbayes.data.dataset import check_label_types, flatten_predictions
from pacbayes.data.rows import copy_rows, count_rows, pick_rows, to_csr
from pacbayes.ensemble.calibration import DECISIONS, LABELS, PROBABILITIES, Calibration, compute_scores
from pacbayes.ensemble.quick import make_fast_classifier, to_numeric_table


@dataclass(frozen=True, eq=False)
class Calibrations:
    """Calibration maps of some members, and the classes they were fitted on."""

    #: Sorted codes of the classes that occur among the training rows.  Other classes have probability zero.
    classes: Rows
    #: Calibration by index of the member.
    maps: dict[int, Calibration]

    def __post_init__(self) -> None:
        make_read_only(self.classes)

    def subset(self, start: int, n_members: int) -> Calibrations:
        """Select the maps of `n_members` consecutive members, indexed from `start`."""
        maps = {i - start: calibration for i, calibration in self.maps.items() if 0 <= i - start < n_members}
        return Calibrations(self.classes, maps)

    def normalize(self, totals: FloatArray) -> FloatArray:
        """Normalise rows of probabilities, whose sums may differ from one by rounding errors."""
        row_sums = np.zeros(len(totals))
        for column in totals.T:
            row_sums += column
        return np.asarray(totals / np.where(row_sums > 0.0, row_sums, 1.0)[:, None])

    def expand(self, probabilities: FloatArray, n_classes: int, missing: float = 0.0) -> FloatArray:
        """Insert `missing` for the classes that are not among the training rows, shape (n, n_classes)."""
        expanded = np.full((len(probabilities), n_classes), missing)
        expanded[:, self.classes] = probabilities
        return expanded


#: Predictions as label codes, of the smallest unsigned type.
Predictions = NDArray[np.unsignedinteger]


class Coding:
    """Codes of labels: the classes, followed by other labels in the order in which they were predicted.

    A classifier may predict a label that is not a class, such as `outlier_label` of scikit-learn's
    `RadiusNeighborsClassifier`; this label gets a code like any other.

    Examples
    --------
    >>> coding = Coding(np.array([0, 1]))
    >>> coding.encode(np.array([1, -1, 0])), coding.labels, smallest_code_dtype(coding.labels.size)
    (array([1, 2, 0]), array([ 0,  1, -1]), dtype('uint8'))
    """

    def __init__(self, classes: Labels) -> None:
        self.classes = classes
        # Code and label, with None as the key of NaN.
        self._others: dict[Any, tuple[int, Any]] = {}
        self._labels = classes

    @property
    def labels(self) -> Labels:
        """Labels by code."""
        if self._labels.size < self.classes.size + len(self._others):
            self._labels = np.append(self.classes, [label for _, label in self._others.values()])
        return self._labels

    def encode(self, y_pred: Labels) -> Codes:
        """Encode predicted labels."""
        codes = np.minimum(np.searchsorted(self.classes, y_pred), self.classes.size - 1)
        unknown = self.classes[codes] != y_pred
        if unknown.any():
            labels, inverse = np.unique(y_pred[unknown], return_inverse=True)
            codes[unknown] = np.array([self._encode_other(label) for label in labels])[inverse]
        return codes

    def _encode_other(self, label: Any) -> int:
        """Return the code of a label that is not a class; create one if needed."""
        # NaN does not equal itself, but is one label.
        key = label if label == label else None
        return self._others.setdefault(key, (int(self.classes.size) + len(self._others), label))[0]


def smallest_code_dtype(n_labels: int) -> Any:
    """Return the smallest unsigned type for label codes and an additional code for rows that were not evaluated.

    Examples
    --------
    >>> smallest_code_dtype(2), smallest_code_dtype(255), smallest_code_dtype(256)
    (dtype('uint8'), dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_labels)


class Members(Protocol):
    """Trained classifiers that can be indexed one by one, or predict together."""

    @property
    def params(self) -> list[dict[str, Any]]:
        """Parameters that distinguish the members."""

    @property
    def classes(self) -> Labels:
        """Classes of the training or validation labels, sorted."""

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained: "params" and "error" of each."""

    @property
    def kkt_violation(self) -> FloatArray | None:
        """KKT violation of each SVM."""

    @property
    def converged(self) -> NDArray[np.bool_] | None:
        """Whether each SVM converged."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Any: ...

    def preprocess(self, X: Any) -> Any:
        """Validate and preprocess new rows for the methods below."""

    def predict(self, X: Any, indices: Rows, coding: Coding) -> Predictions:
        """Predict preprocessed rows with some members; label codes of shape (indices, n)."""

    def predict_assigned(self, X: Any, assigned: Codes, coding: Coding) -> Codes:
        """Predict preprocessed row j with member ``assigned[j]``; label codes of shape (n,)."""

    def mean_probabilities(self, X: Any, weights: FloatArray, calibrations: Calibrations) -> FloatArray:
        """Compute the weighted sum of calibrated probabilities of preprocessed rows, shape (n, calibrated classes)."""

    def check_calibrations(self, calibrations: Calibrations) -> None:
        """Raise unless each calibrated member has the scores that its map requires; for values from files."""


@dataclass(frozen=True, eq=False)
class Estimators:
    """Fitted classifiers that predict one by one."""

    estimators: list[Any]
    params: list[dict[str, Any]]
    classes: Labels
    dropped: list[dict[str, Any]] = field(default_factory=list)
    kkt_violation: FloatArray | None = None
    converged: NDArray[np.bool_] | None = None
    #: Whether the classifiers were fitted by the user.
    prefit: bool = False

    def __post_init__(self) -> None:
        make_read_only(self.classes)

    def __len__(self) -> int:
        return len(self.estimators)

    def __getitem__(self, i: int) -> Any:
        return self.estimators[i]

    def preprocess(self, X: Any) -> Any:
        """Convert sparse rows to CSR format, in which rows can be picked."""
        return to_csr(X)

    def predict(self, X: Any, indices: Rows, coding: Coding) -> Predictions:
        """Predict rows with some classifiers; label codes of shape (indices, n)."""
        y_pred = list(self.predict_each(indices.tolist(), lambda i: X, coding))
        return np.stack([codes.astype(smallest_code_dtype(coding.labels.size), copy=False) for codes in y_pred])

    def predict_each(
        self,
        indices: Sequence[int],
        rows: Callable[[int], Any],
        coding: Coding,
        n_jobs: int | None = None,
        *,
        name_errors: bool = False,
    ) -> Iterator[Predictions]:
        """Yield the label codes of each classifier i for ``rows(i)``.

        While `validating`, errors of classifiers that were fitted by this library name their parameters.
        """

        def predict_one(i: int) -> Labels:
            with limit_to_one_core():
                X = rows(i)
                with add_classifier_to_errors(i, self.params[i]) if name_errors and not self.prefit else nullcontext():
                    return self._predict(i, X, coding.classes)

        with limit_to_one_thread(), progress("predictions", len(indices)) as advance:
            for y_pred in _map_threads(predict_one, indices, n_jobs):
                yield coding.encode(y_pred).astype(smallest_code_dtype(coding.labels.size))
                advance(1)

    def predict_assigned(self, X: Any, assigned: Codes, coding: Coding) -> Codes:
        """Predict row j with classifier ``assigned[j]``."""
        codes = np.empty(assigned.size, dtype=np.intp)
        with limit_to_one_thread(), progress("predictions", assigned.size) as advance:
            for i in np.unique(assigned).tolist():
                rows = np.flatnonzero(assigned == i)
                codes[rows] = coding.encode(self._predict(i, pick_rows(X, rows), coding.classes))
                advance(rows.size)
        return codes

    def mean_probabilities(self, X: Any, weights: FloatArray, calibrations: Calibrations) -> FloatArray:
        """Compute the weighted sum of calibrated probabilities, in the order of the classifiers."""
        used, classes = np.flatnonzero(weights), self.classes[calibrations.classes]
        total = np.zeros((count_rows(X), classes.size))
        # The columns of prefit classifiers, which users may have fitted on different ones, are left to scikit-learn.
        table = None if self.prefit else to_numeric_table(X)
        with limit_to_one_thread(), progress("probabilities", used.size) as advance:
            for i in used.tolist():
                calibration, classifier, rows = calibrations.maps[i], self.estimators[i], X
                if table is not None and calibration.kind == PROBABILITIES:
                    quick = make_fast_classifier(classifier, table)
                    classifier, rows = (classifier, X) if quick is None else (quick, table)
                total += weights[i] * calibration(compute_scores(classifier, rows, calibration.kind, classes))
                advance(1)
        return total

    def check_calibrations(self, calibrations: Calibrations) -> None:
        """Raise unless each calibrated classifier has the scores that its map requires."""
        methods = {PROBABILITIES: "predict_proba", DECISIONS: "decision_function", LABELS: "predict"}
        for i, calibration in calibrations.maps.items():
            has_scores = calibration.kind in methods and hasattr(self.estimators[i], methods[calibration.kind])
            require(has_scores, "Calibration.kind", f"must be a kind of scores that classifier {i} has")

    def _predict(self, i: int, X: Any, classes: Labels) -> Labels:
        """Predict with classifier i on a copy of the rows, which it may overwrite (StandardScaler(copy=False))."""
        name = f"estimators[{i}]" if self.prefit else f"classifier {i}"
        try:
            y_pred = self.estimators[i].predict(copy_rows(X))
        except NotFittedError as error:
            raise ValueError(f"{name} must be fitted, on rows other than these: {error}") from error
        labels = flatten_predictions(f"{name}.predict", y_pred, count_rows(X))
        check_label_types(f"{name}.predict", labels, classes, "y_val" if self.prefit else "y")
        return labels


@contextmanager
def add_classifier_to_errors(i: int, params: dict[str, Any]) -> Iterator[None]:
    """Add the index and parameters of a classifier to errors of its predictions."""
    try:
        yield
    except MemoryError:  # not caused by the classifier
        raise
    except Exception as error:  # other libraries' classifiers may raise anything
        raise ValueError(
            f"classifier {i} with {params} was fitted but could not predict: {type(error).__name__}: {error}"
        ) from error


def _map_threads(predict_one: Callable[[int], Labels], indices: Sequence[int], n_jobs: int | None) -> Iterable[Labels]:
    """Compute the predictions of classifiers in `n_jobs` threads, in order."""
    if n_jobs is None or effective_n_jobs(n_jobs) == 1:
        return map(predict_one, indices)
    # Threads, because sending all classifiers to processes would take longer than predicting.
    workers = Parallel(n_jobs=min(effective_n_jobs(n_jobs), cpu_count()), require="sharedmem", return_as="generator")
    predictions: Iterable[Labels] = workers(delayed(predict_one)(i) for i in indices)
    return predictions


class CompositeRows:
    """Rows, preprocessed for each part of composite members."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return count_rows(self.parts[0])


def pick_preprocessed(X: Any, rows: Rows) -> Any:
    """Pick some of the preprocessed rows."""
    if isinstance(X, CompositeRows):
        return CompositeRows(tuple(pick_rows(part, rows) for part in X.parts))
    return pick_rows(X, rows)


@dataclass(frozen=True, eq=False)
class CompositeMembers:
    """Concatenation of several members."""

    parts: tuple[Any, ...]
    #: Name of the candidate of each part; empty if the parameters of its members include it.
    names: tuple[str, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, i: int) -> Any:
        part, start = next((part, start) for part, start in self._iter_parts() if i < start + len(part))
        return part[i - start]

    def _iter_parts(self) -> Iterator[tuple[Any, int]]:
        """Yield each part with the index of its first member."""
        start = 0
        for part in self.parts:
            yield part, start
            start += len(part)

    def _iter_by_part(self, indices: NDArray[Any]) -> Iterator[tuple[int, Any, Rows, NDArray[Any]]]:
        """Yield number, part, positions in `indices`, and indices in the part, for each part with selected members."""
        for k, (part, start) in enumerate(self._iter_parts()):
            positions = np.flatnonzero((indices >= start) & (indices < start + len(part)))
            if positions.size:
                yield k, part, positions, indices[positions] - start

    @property
    def params(self) -> list[dict[str, Any]]:
        """Parameters that distinguish the members, including the name of their candidate."""
        return [
            {"candidate": name} | params if name else params
            for part, name in zip(self.parts, self.names, strict=True)
            for params in part.params
        ]

    @property
    def classes(self) -> Labels:
        """Classes, sorted."""
        classes: Labels = self.parts[0].classes
        return classes

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Candidates that could not be trained."""
        return [candidate for part in self.parts for candidate in part.dropped]

    @property
    def kkt_violation(self) -> FloatArray | None:
        """KKT violation of each SVM; NaN for other classifiers."""
        return self._concatenate("kkt_violation", np.nan)

    @property
    def converged(self) -> NDArray[np.bool_] | None:
        """Whether each SVM converged; true for other classifiers."""
        return self._concatenate("converged", True)

    def _concatenate(self, name: str, default: Any) -> NDArray[Any] | None:
        values = [getattr(part, name) for part in self.parts]
        if all(value is None for value in values):
            return None
        pairs = zip(values, self.parts, strict=True)
        return np.concatenate([np.full(len(part), default) if value is None else value for value, part in pairs])

    def preprocess(self, X: Any) -> CompositeRows:
        """Preprocess rows for each part."""
        return CompositeRows(tuple(part.preprocess(X) for part in self.parts))

    def predict(self, X: CompositeRows, indices: Rows, coding: Coding) -> Predictions:
        """Predict preprocessed rows with some members; label codes of shape (indices, n)."""
        # Every part first: the type of the codes depends on the number of labels after the last one.
        by_part = [
            (positions, part.predict(X.parts[k], part_indices, coding))
            for k, part, positions, part_indices in self._iter_by_part(indices)
        ]
        y_pred = np.empty((indices.size, len(X)), dtype=smallest_code_dtype(coding.labels.size))
        for positions, codes in by_part:
            y_pred[positions] = codes
        return y_pred

    def predict_assigned(self, X: CompositeRows, assigned: Codes, coding: Coding) -> Codes:
        """Predict preprocessed row j with member ``assigned[j]``; label codes of shape (n,)."""
        codes = np.empty(assigned.size, dtype=np.intp)
        for k, part, rows, part_indices in self._iter_by_part(assigned):
            codes[rows] = part.predict_assigned(pick_rows(X.parts[k], rows), part_indices, coding)
        return codes

    def mean_probabilities(self, X: CompositeRows, weights: FloatArray, calibrations: Calibrations) -> FloatArray:
        """Compute the weighted sum of calibrated probabilities, part by part."""
        total = np.zeros((len(X), calibrations.classes.size))
        for k, (part, start) in enumerate(self._iter_parts()):
            part_weights = weights[start : start + len(part)]
            if part_weights.any():
                total += part.mean_probabilities(X.parts[k], part_weights, calibrations.subset(start, len(part)))
        return total

    def check_calibrations(self, calibrations: Calibrations) -> None:
        """Raise unless each calibrated member has the scores that its map requires."""
        for part, start in self._iter_parts():
            part_calibrations = calibrations.subset(start, len(part))
            if part_calibrations.maps:
                part.check_calibrations(part_calibrations)
