"""What the cross-validation behind the hold-out baseline found, in the form of scikit-learn's `cv_results_`."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.numeric.arrays import FloatArray


def cv_results(params: list[dict[str, Any]], counted: CrossValidation) -> dict[str, Any]:
    """Return scores by classifier, NaN for those that were not cross-validated; these share the last rank.

    The mean is over rows, not over folds, so that those of rank 1 have the fewest errors.

    Examples
    --------
    >>> counted = CrossValidation(np.array([0, 2]), np.array([[1, 0], [0, 3]]), np.array([5, 5]))
    >>> found = cv_results([{"C": 1.0}, {"C": 2.0}, {"C": 4.0}], counted)
    >>> found["mean_test_score"], found["rank_test_score"]
    (array([0.9, nan, 0.7]), array([1, 3, 2], dtype=int32))
    """
    names = sorted({name for one in params for name in one})
    columns: dict[str, Any] = {f"param_{name}": _column(params, name) for name in names}
    folds = [k for k in range(counted.sizes.size) if counted.sizes[k] > 0]
    scores = 1.0 - counted.errors[:, folds] / counted.sizes[folds]
    for k in range(counted.sizes.size):
        own = scores[:, folds.index(k)] if k in folds else np.full(counted.candidates.size, np.nan)
        columns[f"split{k}_test_score"] = _spread(len(params), counted, own)
    if folds:
        mean = np.average(scores, axis=1, weights=counted.sizes[folds])
        std = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1, weights=counted.sizes[folds]))
    else:
        mean = std = np.full(counted.candidates.size, np.nan)
    ranks = np.full(len(params), counted.candidates.size + 1, dtype=np.int32)
    ranks[counted.candidates] = rankdata(counted.totals, method="min")
    return columns | {
        "params": list(params),
        "mean_test_score": _spread(len(params), counted, mean),
        "std_test_score": _spread(len(params), counted, std),
        "rank_test_score": ranks,
    }


def _column(params: list[dict[str, Any]], name: str) -> Any:
    values = np.empty(len(params), dtype=object)
    for i, one in enumerate(params):  # one by one: values may be sequences themselves
        values[i] = one.get(name)
    return np.ma.MaskedArray(values, mask=[name not in one for one in params])


def _spread(number: int, counted: CrossValidation, values: FloatArray) -> FloatArray:
    spread = np.full(number, np.nan)
    spread[counted.candidates] = values
    return spread
