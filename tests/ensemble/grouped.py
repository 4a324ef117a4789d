"""Rows that come in groups, and their risk in exact fractions."""

import math
from fractions import Fraction

import numpy as np


def sample(number=40, seed=0):
    """Rows of groups of one to seven, in no order; the names of groups are words."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(number), rng.integers(1, 8, number)))
    X = rng.normal(size=(groups.size, 3)) + 0.3 * groups[:, None] % 2
    y = (X[:, 0] + 0.7 * rng.normal(size=groups.size) > 0).astype(int)
    return X, y, np.array([f"patient {number}" for number in groups])


def exact_risk(wrong, groups):
    """The mean over groups of their shares of errors, as a fraction."""
    shares = [Fraction(int(wrong[groups == name].sum()), int((groups == name).sum())) for name in np.unique(groups)]
    return sum(shares, Fraction(0)) / len(shares)


def is_rounded_up(value, exact):
    """Whether a double is the smallest that is at least the exact number."""
    return Fraction(value) >= exact and (value == 0.0 or Fraction(math.nextafter(value, -1.0)) < exact)
