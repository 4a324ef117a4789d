"""Rows of which the unsure ones become twice as frequent: the plain certificate fails, that for other shares holds."""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import certify_predictions

DELTA, RUNS = 0.05, 200
#: Shares of the slices in the validation rows and in use, and the error rate in each.
BEFORE, AFTER, RISK = np.array([0.8, 0.2]), np.array([0.6, 0.4]), np.array([0.02, 0.2])


@pytest.mark.parametrize("m", [200, 1000])
def test_other_shares_of_slices(m):
    rng = np.random.default_rng(m)
    plain = by_slice = 0
    for _ in range(RUNS):
        slices = rng.choice(2, m, p=BEFORE)
        wrong = rng.random(m) < RISK[slices]
        found = certify_predictions(
            np.zeros(m, dtype=int), wrong.astype(int), delta=DELTA, metrics=("error",), slices=slices
        )
        plain += found.bound < AFTER @ RISK
        by_slice += found.with_slice_shares(dict(enumerate(AFTER.tolist()))).bound < AFTER @ RISK
    assert binom.sf(plain - 1, RUNS, DELTA) < 1e-6
    assert by_slice / RUNS <= DELTA
