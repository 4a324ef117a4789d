"""Default preprocessor, which encodes tables of numbers, dates, categories and text as numbers."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, PLAIN_NUMBERS, NumberFormat, Schema

#: Maximum number of levels of a category that is one-hot encoded.
MAX_ONE_HOT_LEVELS = 30
# Maximum number of levels of a native category: gradient boosting has at most 255 bins.
_MAX_NATIVE_LEVELS = 250
# Number of columns that represent a text, and of hashed n-grams from which they are computed.
_N_COMPONENTS, _N_HASHES = 30, 2**13
_N_FOLDS = 5
_MISSING = "missing"


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Encode the columns of a table as numbers; all parameters are fitted on the rows of `fit`.

    Missing numbers become the median.  Dates become days since the first one, and year, month, day, weekday and hour
    where these vary.  Categories become one column per level (a missing value is a level), and above 30 levels the
    cross-fitted mean of each class among the rows of a level [1]_; these and free text also the singular vectors of
    their hashed n-grams [2]_.

    Parameters
    ----------
    categorical : sequence of str
        Columns that are always categories.
    numbers : NumberFormat, optional
        Format of numbers that are strings.
    native : bool
        Return a data frame for gradient boosting: numbers keep missing values, and categories with up to 250 levels
        are columns of dtype category.

    Attributes
    ----------
    schema_ : Schema
        Schema of the rows of `fit`.

    References
    ----------
    .. [1] D. Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes in classification and
       prediction problems", SIGKDD Explorations 3, 2001.
    .. [2] P. Cerda and G. Varoquaux, "Encoding high-cardinality string categorical variables", IEEE TKDE 34, 2022.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [31.0, None, 52.0], "blood": ["A", "0", "a "]})
    >>> TableEncoder().fit_transform(X, [0, 1, 0]).tolist()
    [[31.0, 0.0, 1.0], [41.5, 1.0, 0.0], [52.0, 0.0, 1.0]]
    """

    def __init__(
        self, categorical: Sequence[str] = (), numbers: NumberFormat | None = None, native: bool = False
    ) -> None:
        self.categorical = categorical
        self.numbers = numbers
        self.native = native

    def fit(self, X: Any, y: Any) -> Self:
        """Infer the schema, and fit the encoding of each column."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> Any:
        """Fit and encode the same rows, with cross-fitted target encodings."""
        self.schema_ = Schema.infer(X, categorical=self.categorical, numbers=self.numbers or PLAIN_NUMBERS)
        self.n_features_in_ = len(self.schema_.columns)
        if isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.array(self.schema_.names, dtype=object)
        frame, labels = self.schema_.parse(X), np.unique(np.asarray(y), return_inverse=True)[1]
        self.classes_ = int(labels.max()) + 1
        self.medians_: dict[str, float] = {}
        self.first_: dict[str, float] = {}
        self.parts_: dict[str, list[str]] = {}
        self.levels_: dict[str, list[str]] = {}
        self.targets_: dict[str, list[Any]] = {}
        self.idf_: dict[str, Any] = {}
        self.svd_: dict[str, Any] = {}
        cross_fitted: dict[str, FloatArray] = {}
        for column in self.schema_.columns:
            name, values = column.name, frame[column.name]
            if column.kind in (NUMBER, BOOLEAN, DATE):
                present = values.to_numpy()[np.isfinite(values.to_numpy())]
                self.medians_[name] = float(np.median(present)) if present.size else 0.0
                if column.kind == DATE:
                    self.first_[name] = float(present.min()) if present.size else 0.0
                    parts = _compute_date_parts(np.where(np.isfinite(values), values, self.medians_[name]))
                    self.parts_[name] = [part for part, part_values in parts.items() if np.ptp(part_values) > 0]
            elif column.kind == CATEGORY:
                known = _fill_missing(values)
                levels = sorted(set(known))
                if len(levels) <= (_MAX_NATIVE_LEVELS if self.native else MAX_ONE_HOT_LEVELS):
                    self.levels_[name] = levels
                else:
                    self.targets_[name] = self._fit_target_encoders(known, labels)
                    cross_fitted[name] = self._cross_fit(known, labels)
                    # N-grams also represent unseen levels that share words with known ones.
                    self._fit_text(name, values)
            else:
                self._fit_text(name, values)
        return self._encode(frame, cross_fitted)

    def transform(self, X: Any) -> Any:
        """Encode rows; unseen levels become zeros, or the overall mean of the classes."""
        check_is_fitted(self)
        return self._encode(self.schema_.parse(X), {})

    def summary(self) -> list[tuple[str, str, str]]:
        """Return the name, kind and encoding of each column."""
        return [(column.name, column.kind, self._describe_column(column.name)) for column in self.schema_.columns]

    def _describe_column(self, name: str) -> str:
        parts = []
        if name in self.first_:
            parts.append(", ".join(["days since the first date", *self.parts_[name]]))
        elif name in self.medians_:
            parts.append("the number" if self.native else f"the number; if missing, {self.medians_[name]:.4g}")
        if name in self.levels_:
            parts.append(
                f"category of {len(self.levels_[name])} values"
                if self.native
                else f"one column for each of {len(self.levels_[name])} values"
            )
        if name in self.targets_:
            parts.append("mean of each class by value")
        if name in self.svd_:
            parts.append(f"{self.svd_[name].n_components} components of its n-grams")
        return "; ".join(parts) or "nothing"

    def _encode(self, frame: pd.DataFrame, cross_fitted: dict[str, FloatArray]) -> Any:
        if len(self.medians_) == len(self.schema_.columns) and not self.first_ and not self.native:
            numbers = frame.to_numpy(dtype=np.float64)
            return np.where(np.isnan(numbers), np.array([*self.medians_.values()]), numbers)
        blocks: list[tuple[str, Any]] = []
        for column in self.schema_.columns:
            name, values = column.name, frame[column.name]
            if column.kind in (NUMBER, BOOLEAN, DATE):
                blocks.append((name, self._encode_numbers(name, values.to_numpy(dtype=np.float64))))
            elif name in self.levels_ and self.native:
                blocks.append((name, self._encode_native(name, values)))
            elif name in self.levels_:
                blocks.append(
                    (name, (_fill_missing(values)[:, None] == np.array(self.levels_[name], object)).astype(float))
                )
            elif name in self.targets_:
                means = (
                    cross_fitted[name]
                    if name in cross_fitted
                    else _encode_targets(self.targets_[name], _fill_missing(values))
                )
                blocks.append((name, means))
            if name in self.svd_:
                blocks.append(
                    (f"{name} text", self.svd_[name].transform(self.idf_[name].transform(_hash_ngrams(values))))
                )
        if not self.native:
            return (
                np.hstack([block.reshape(len(frame), -1) for _, block in blocks])
                if blocks
                else np.zeros((len(frame), 0))
            )
        columns: dict[str, Any] = {}
        for name, block in blocks:
            if isinstance(block, pd.Categorical):
                columns[name] = block
            else:
                columns |= {f"{name} {i}": part for i, part in enumerate(block.reshape(len(frame), -1).T)}
        return pd.DataFrame(columns)

    def _encode_numbers(self, name: str, values: FloatArray) -> FloatArray:
        """Encode numbers, or dates and their parts."""
        known = np.where(np.isnan(values), self.medians_[name], values)
        used = values if self.native else known
        if name not in self.first_:
            return used
        parts = _compute_date_parts(known)
        return np.column_stack([used - self.first_[name], *(parts[part] for part in self.parts_[name])])

    def _encode_native(self, name: str, values: Any) -> Any:
        """Encode categories for gradient boosting; unseen levels become missing."""
        levels: Any = pd.Index(self.levels_[name], dtype=object)
        return pd.Categorical.from_codes(levels.get_indexer(_fill_missing(values)), levels)

    def _fit_text(self, name: str, values: Any) -> None:
        grams = _hash_ngrams(values)
        size = min(_N_COMPONENTS, grams.shape[0] - 1)
        if size > 0 and grams.nnz:
            self.idf_[name] = TfidfTransformer().fit(grams)
            self.svd_[name] = TruncatedSVD(size, random_state=0).fit(self.idf_[name].transform(grams))

    def _fit_target_encoders(self, known: NDArray[Any], labels: Rows) -> list[Any]:
        """Fit a target encoder for each class; a single one for the second of two classes."""
        classes = range(1, 2) if self.classes_ == 2 else range(self.classes_)
        encoder = TargetEncoder(target_type="continuous")
        return [TargetEncoder(**encoder.get_params()).fit(known[:, None], (labels == c).astype(float)) for c in classes]

    def _cross_fit(self, known: NDArray[Any], labels: Rows) -> FloatArray:
        """Encode each fold with encoders fitted on the others; folds are stratified and deterministic."""
        folds = np.empty(labels.size, dtype=np.intp)
        order = np.argsort(labels, kind="stable")
        folds[order] = np.arange(labels.size) % _N_FOLDS
        parts = [
            (
                folds == fold,
                _encode_targets(
                    self._fit_target_encoders(known[folds != fold], labels[folds != fold]), known[folds == fold]
                ),
            )
            for fold in range(_N_FOLDS)
            if (folds == fold).any() and (folds != fold).any()
        ]
        encoded = np.empty((labels.size, parts[0][1].shape[1]))
        for rows, means in parts:
            encoded[rows] = means
        return encoded


def _fill_missing(values: Any) -> NDArray[Any]:
    """Replace missing values by a separate level."""
    return np.array([_MISSING if value != value else f"= {value}" for value in values], dtype=object)


def _encode_targets(encoders: list[Any], known: NDArray[Any]) -> FloatArray:
    return np.hstack([encoder.transform(known[:, None]) for encoder in encoders])


def _hash_ngrams(values: Any) -> Any:
    """Compute hashed character n-grams, row by row."""
    texts = ["" if text != text else text for text in values]
    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), n_features=_N_HASHES, alternate_sign=False
    ).transform(texts)


def _compute_date_parts(days: FloatArray) -> dict[str, FloatArray]:
    """Compute year, month, day, weekday and hour from days since 1970."""
    # Clip to the range of dates in pandas.
    moments: Any = pd.to_datetime(pd.Series(np.clip(days, -100_000.0, 100_000.0)), unit="D").dt
    parts = {"year": moments.year, "month": moments.month, "day": moments.day, "hour": moments.hour}
    # 1 January 1970 was a Thursday.
    numbers = {name: part.to_numpy(dtype=np.float64) for name, part in parts.items()}
    return numbers | {"weekday": np.floor(days + 3.0) % 7.0}
