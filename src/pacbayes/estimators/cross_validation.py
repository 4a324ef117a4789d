"""What the cross-validation behind the hold-out baseline found, in the form of scikit-learn's `cv_results_`."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from pacbayes.certificates.hold_out import Choice
from pacbayes.numeric.arrays import FloatArray


def cv_results(params: list[dict[str, Any]], choice: Choice) -> dict[str, Any]:
    """Return scores by classifier, NaN for those that were not cross-validated; these share the last rank.

    The mean is over rows, not over folds, so that the first of rank 1 is the classifier that was chosen.

    Examples
    --------
    >>> choice = Choice(np.array([0, 2]), np.array([[1, 0], [0, 3]]), np.array([5, 5]))
    >>> found = cv_results([{"C": 1.0}, {"C": 2.0}, {"C": 4.0}], choice)
    >>> found["mean_test_score"], found["rank_test_score"]
    (array([0.9, nan, 0.7]), array([1, 3, 2], dtype=int32))
    """
    names = sorted({name for one in params for name in one})
    columns: dict[str, Any] = {f"param_{name}": _column(params, name) for name in names}
    folds = [k for k in range(choice.sizes.size) if choice.sizes[k] > 0]
    scores = 1.0 - choice.errors[:, folds] / choice.sizes[folds]
    for k in range(choice.sizes.size):
        own = scores[:, folds.index(k)] if k in folds else np.full(choice.candidates.size, np.nan)
        columns[f"split{k}_test_score"] = _spread(len(params), choice, own)
    if folds:
        mean = np.average(scores, axis=1, weights=choice.sizes[folds])
        std = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1, weights=choice.sizes[folds]))
    else:
        mean = std = np.full(choice.candidates.size, np.nan)
    ranks = np.full(len(params), choice.candidates.size + 1, dtype=np.int32)
    ranks[choice.candidates] = rankdata(choice.errors.sum(axis=1), method="min")
    return columns | {
        "params": list(params),
        "mean_test_score": _spread(len(params), choice, mean),
        "std_test_score": _spread(len(params), choice, std),
        "rank_test_score": ranks,
    }


def _column(params: list[dict[str, Any]], name: str) -> Any:
    values = np.empty(len(params), dtype=object)
    for i, one in enumerate(params):  # one by one: values may be sequences themselves
        values[i] = one.get(name)
    return np.ma.MaskedArray(values, mask=[name not in one for one in params])


def _spread(number: int, choice: Choice, values: FloatArray) -> FloatArray:
    spread = np.full(number, np.nan)
    spread[choice.candidates] = values
    return spread
