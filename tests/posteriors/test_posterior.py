"""The result of a search."""

import json

import pytest

from pacbayes import Posterior, optimal_posterior


def test_the_result_object():
    posterior = optimal_posterior([0.1, 0.2, 0.2, 0.9], 100)
    assert isinstance(posterior, Posterior)
    assert posterior.hhi == pytest.approx((posterior.weights**2).sum())
    assert posterior.n_effective == pytest.approx(1 / posterior.hhi)
    assert posterior.support_size == 4
    assert posterior.support_size_above(1e-3) == 1
    plain = posterior.to_dict()
    assert json.loads(json.dumps(plain))["weights"] == posterior.weights.tolist()
    assert plain["gap"] == posterior.gap <= 1e-9
    assert {"bound", "lower_bound", "beta", "kl", "m", "delta", "distance", "method", "converged"} <= set(plain)
    with pytest.raises(AttributeError):
        posterior.bound = 0.0
    assert "proved within" in repr(posterior)
