"""Upper limits of the risk of fixed classifiers, from whatever was counted: exact for errors, Chernoff's for groups."""

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.classifiers.classifier_set import Errors
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.risks import risks_of_errors
from pacbayes.numeric.arrays import FloatArray, Rows


def upper_limits(counted: Errors | GroupErrors, m: int | Rows, delta: ArrayLike) -> FloatArray:
    """Return the upper limit of each classifier's risk at its level: exact for errors, Chernoff's for groups.

    Errors may be those of different numbers `m` of examples, one for each; groups are as many for all.

    Examples
    --------
    >>> groups = GroupErrors(np.array([1, 2]), np.array([[1, 1], [3, 4]]))
    >>> upper_limits(np.array([1, 5]), 20, 0.05).round(4), upper_limits(groups, 20, 0.05).round(4)
    (array([0.2161, 0.4556]), array([0.2962, 0.5183]))
    """
    if isinstance(counted, GroupErrors):
        m = _one_size(m)
        return chernoff_upper(counted.risks(m), m, delta)
    return binomial_upper(counted, m, delta)


def risk_of_one(errors: int | GroupErrors, m: int) -> float:
    """Return the risk that the errors of one classifier amount to, rounded up.

    Examples
    --------
    >>> risk_of_one(2, 8)
    0.25
    """
    return float(risks_of(errors if isinstance(errors, GroupErrors) else np.array([errors]), m)[0])


def risks_of(counted: Errors | GroupErrors, m: int | Rows) -> FloatArray:
    """Return the risks that errors, or errors in groups, amount to, rounded up."""
    return counted.risks(_one_size(m)) if isinstance(counted, GroupErrors) else risks_of_errors(counted, m)


def _one_size(m: int | Rows) -> int:
    if not isinstance(m, int):
        raise TypeError("m must be one integer where errors are counted in groups")
    return m
