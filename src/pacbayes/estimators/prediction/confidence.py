"""How sure a set of classifiers is of a label: a score fixed on the training rows, of a row alone."""

import numpy as np

from pacbayes.certificates.questions.selective import on_grid
from pacbayes.numeric.arrays import Codes, FloatArray


def confidence(scores: FloatArray, codes: Codes) -> FloatArray:
    """Return the scores of the labels that a rule says, on the grid; minus infinity where there is none.

    There is none for a label that is no class, nor where a classifier's probabilities are not numbers: such rows are
    answered only where every row is.

    Examples
    --------
    >>> confidence(np.array([[0.5, -0.5], [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0]]), np.array([0, 0, 2, 0]))
    array([ 0.5, -1. , -inf, -inf])
    """
    known = codes < scores.shape[1]
    found = np.full(codes.size, -np.inf)
    found[known] = on_grid(scores[np.flatnonzero(known), codes[known]])
    return np.where(np.isnan(found), -np.inf, found)
