"""Fast probabilities of scikit-learn classifiers, bitwise equal to `predict_proba`.

scikit-learn validates the input in every step of a pipeline and every tree of a forest.  Here, rows are validated once,
as an array.  Nearest neighbours in many columns, for which trees are slow, are computed by a matrix product; rows whose
neighbours are ambiguous because of rounding errors are left to the tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes._utils.arrays import EPS, FloatArray, Rows

# Maximum absolute value up to which all integers are exact in double precision.
_MAX_EXACT_INTEGER = 2**53
# Minimum number of columns, and of new rows, for which a matrix product is faster than a tree.
_MIN_COLUMNS, _MIN_NEW_ROWS = 12, 16
# Bound on the underflow error of products and sums.
_TINY = 1e-290
# Number of new rows per matrix product, whose result must fit into the cache.
_BLOCK = 128


def to_numeric_table(X: Any) -> FloatArray | None:
    """Convert rows to float64 if they are finite numbers that need no rounding; None for other rows.

    Examples
    --------
    >>> to_numeric_table(np.array([[1, 2]])), to_numeric_table([[1.0, 2.0]]), to_numeric_table(np.array([[np.nan]]))
    (array([[1., 2.]]), None, None)
    """
    frame = hasattr(X, "dtypes") and hasattr(X, "iloc") and np.ndim(X) == 2
    if not frame and type(X) is not np.ndarray:
        return None
    dtypes = set(X.dtypes) if frame else {X.dtype}
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" and dtype.itemsize <= 8 for dtype in dtypes):
        return None
    values: NDArray[Any] = np.asarray(X)
    if values.ndim != 2 or values.size == 0:
        return None
    table: FloatArray = np.ascontiguousarray(values, dtype=np.float64)
    wide = any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)
    largest = max(float(table.max()), -float(table.min()))  # NaN if any number is
    return table if largest <= (_MAX_EXACT_INTEGER if wide else np.finfo(np.float64).max) else None


def make_fast_classifier(classifier: Any, table: FloatArray) -> Any:
    """Create a faster version of a fitted classifier for a numeric table; None if there is none."""
    if type(classifier) is Pipeline:
        scalers, last = [step for _, step in classifier.steps[:-1]], classifier.steps[-1][1]
        model = make_fast_classifier(last, table) if all(type(step) is StandardScaler for step in scalers) else None
        same = model is not None and all(step.n_features_in_ == table.shape[1] for step in scalers)
        return _FastScaledModel([_drop_feature_names(step) for step in scalers], model) if same else None
    if getattr(classifier, "n_features_in_", None) != table.shape[1] or np.ndim(classifier.classes_[0]) != 0:
        return None
    if type(classifier) in (RandomForestClassifier, ExtraTreesClassifier):
        return _FastForest(classifier)
    if type(classifier) is KNeighborsClassifier:
        return _FastNeighbours(classifier)
    if type(classifier) is LogisticRegression:
        return _drop_feature_names(classifier)
    # Columns that were categories in `fit` are converted by name.
    if type(classifier) is HistGradientBoostingClassifier and classifier.is_categorical_ is None:
        return _drop_feature_names(classifier)
    return None


def _drop_feature_names(estimator: Any) -> Any:
    """Make a shallow copy without feature names, because arrays have none."""
    if not hasattr(estimator, "feature_names_in_"):
        return estimator
    copied = object.__new__(type(estimator))
    copied.__dict__.update(estimator.__dict__)
    del copied.__dict__["feature_names_in_"]
    return copied


@dataclass(frozen=True, eq=False)
class _FastScaledModel:
    """Standardisation before a classifier."""

    scalers: list[Any]
    model: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes of the classifier."""
        return np.asarray(self.model.classes_)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Predict class probabilities of standardised rows."""
        for scaler in self.scalers:
            X = scaler.transform(X)
        return np.asarray(self.model.predict_proba(X))


class _FastForest:
    """Mean of the trees' probabilities, added in the order of the trees."""

    def __init__(self, forest: Any) -> None:
        self._forest, self.classes_ = forest, forest.classes_

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Predict class probabilities by `Tree.predict`, which requires single precision."""
        with np.errstate(over="ignore", under="ignore"):
            rows = X.astype(np.float32)
            if not np.isfinite(rows).all():
                return np.asarray(_drop_feature_names(self._forest).predict_proba(X))  # raises
        total, trees = np.zeros((len(rows), self.classes_.size)), self._forest.estimators_
        for tree in trees:
            total += tree.tree_.predict(rows)[:, : self.classes_.size]
        return np.asarray(total / len(trees))


class _FastNeighbours:
    r"""Shares of the classes among the nearest neighbours, by |t|^2 - 2 x t, the squared distance less |x|^2.

    Their error is at most :math:`e = (d + 16) \varepsilon (|x| + |t|)^2` for d columns, and that of the distances
    that a tree computes is smaller.  Training rows are certainly neighbours, or certainly none, if they differ by more
    than 2 e from the k-th smallest.  If all others have the same class, the shares are those that a tree finds; other
    rows are left to the tree.
    """

    def __init__(self, model: Any) -> None:
        self._model, self.classes_ = model, model.classes_

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Predict class probabilities, by matrix products where these are faster."""
        model = self._model
        if not (
            len(X) >= _MIN_NEW_ROWS
            and X.shape[1] >= _MIN_COLUMNS
            and model.effective_metric_ == "euclidean"
            and model.weights == "uniform"
            and type(model._fit_X) is np.ndarray
            and model._fit_X.dtype == np.float64
            and len(model._fit_X) > model.n_neighbors
        ):
            return np.asarray(_drop_feature_names(model).predict_proba(X))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            counts = self._count_neighbours(X, model._fit_X, np.asarray(model._y))
        shares, unclear = counts / model.n_neighbors, np.flatnonzero(np.isnan(counts[:, 0]))
        if unclear.size:
            shares[unclear] = _drop_feature_names(model).predict_proba(X[unclear])
        return np.asarray(shares)

    def _count_neighbours(self, X: FloatArray, train: FloatArray, codes: Rows) -> FloatArray:
        """Count the neighbours of each class, shape (n, classes); NaN for rows with ambiguous neighbours."""
        squares, counts = np.einsum("ij,ij->i", train, train), np.empty((len(X), self.classes_.size))
        # The last column adds |t|^2; |x|^2 is the same for all training rows.
        factors = np.concatenate([-2.0 * train, squares[:, None]], axis=1).T
        sizes = np.sqrt(np.einsum("ij,ij->i", X, X)) + np.sqrt(squares.max())
        errors = (X.shape[1] + 16.0) * EPS * sizes**2 + _TINY
        for start in range(0, len(X), _BLOCK):
            block = slice(start, start + _BLOCK)
            distances = np.concatenate([X[block], np.ones((len(X[block]), 1))], axis=1) @ factors
            counts[block] = self._count_block_neighbours(distances, errors[block], codes)
        return counts

    def _count_block_neighbours(self, distances: FloatArray, errors: FloatArray, codes: Rows) -> FloatArray:
        k, n_classes = self._model.n_neighbors, self.classes_.size
        nearest = np.argpartition(distances, k, axis=1)[:, : k + 1]
        values = np.take_along_axis(distances, nearest, axis=1)
        last = values[:, :k].max(axis=1)
        clear = values[:, k] - last > 4.0 * errors  # false for NaN
        labels = codes[nearest[:, :k]]
        counts = np.stack([(labels == c).sum(axis=1) for c in range(n_classes)], axis=1).astype(np.float64)
        for i in np.flatnonzero(~clear).tolist():
            inside = distances[i] < last[i] - 2.0 * errors[i]
            doubtful = codes[(distances[i] <= last[i] + 2.0 * errors[i]) & ~inside]
            counts[i] = np.nan
            if doubtful.size and (doubtful == doubtful[0]).all():
                counts[i] = np.bincount(codes[inside], minlength=n_classes)
                counts[i, doubtful[0]] += k - np.count_nonzero(inside)
        return counts
