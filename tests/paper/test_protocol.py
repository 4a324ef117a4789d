"""One reading of the paper's protocol: cost and scaling."""

import numpy as np
import pytest

from pacbayes.paper.protocol import Protocol


def test_costs():
    assert Protocol(cost="1/(m lambda)").lambdas(np.array([2.0]), 100) == pytest.approx([200.0])
    with pytest.raises(ValueError, match="unknown cost '1/2'"):
        Protocol(cost="1/2")


def test_min_max_maps_columns_to_the_unit_interval():
    rows, scale = Protocol("min-max").prepare(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    np.testing.assert_array_equal(rows, [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    assert scale is False
