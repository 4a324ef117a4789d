"""Weights in whole parts: exact sums, in any order."""

import numpy as np
import pytest

from pacbayes.certificates.voting import BITS, integer_weights, weights_of
from pacbayes.files.checks_certificates import check_parts


def test_weights_are_whole_parts():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 1990):
        weights = rng.dirichlet(np.full(size, 0.1))
        parts = integer_weights(weights)
        assert int(parts.sum()) == 2**BITS
        assert parts.min() >= 0
        check_parts(parts, "weights")
        np.testing.assert_allclose(weights_of(parts), weights, atol=size * 2.0**-BITS)
        assert weights_of(parts)[rng.permutation(size)].sum() == 1.0
        # What is whole already stays as it is.
        np.testing.assert_array_equal(integer_weights(weights_of(parts)), parts)


def test_what_is_no_whole_weights_is_refused():
    # In 64 bits this sum is 2^52 as well.
    overflowing = np.array([2**63 - 1, 2**63 - 1, 2, 2**52], dtype=np.int64)
    assert overflowing.sum() == 2**52
    for parts in (overflowing, np.array([0.5, 0.5]), np.array([[2**52]]), np.array([2**52], dtype=np.uint64)):
        with pytest.raises(ValueError, match=r"^weights must"):
            check_parts(parts, "weights")
