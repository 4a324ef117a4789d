"""Rows in groups, and exact risks as fractions."""

import math
from fractions import Fraction

import numpy as np


def sample(n_groups=40, seed=0):
    """Rows in random order, of groups of one to seven rows with string names."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_groups), rng.integers(1, 8, n_groups)))
    X = rng.normal(size=(groups.size, 3)) + 0.3 * groups[:, None] % 2
    y = (X[:, 0] + 0.7 * rng.normal(size=groups.size) > 0).astype(int)
    return X, y, np.array([f"patient {group}" for group in groups])


def exact_risk(wrong, groups):
    """Mean error rate of the groups, as a fraction."""
    rates = [Fraction(int(wrong[groups == name].sum()), int((groups == name).sum())) for name in np.unique(groups)]
    return sum(rates, Fraction(0)) / len(rates)


def is_rounded_up(value, exact):
    """Whether a double is the smallest that is at least the exact number."""
    return Fraction(value) >= exact and (value == 0.0 or Fraction(math.nextafter(value, -1.0)) < exact)
