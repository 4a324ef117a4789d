"""What validation rows choose: the best posterior over one or several distances."""

import numpy as np
import pytest
from tests.certificates.cases import a_set, fixed_rules

from pacbayes import gibbs_posterior, optimal_posterior
from pacbayes.certificates import choose_posterior, fit_posteriors
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.certificates.posteriors import restored_posterior
from pacbayes.certificates.voting import float_weights, integer_weights
from pacbayes.posteriors.posterior import Problem

METRICS, M = np.array([8, 9, 9, 12, 40]) / 150, 150
USUAL = {"delta": 0.05, "prior": None, "constant": "exact"}


@pytest.mark.parametrize(
    ("distance", "error"), [("chi", ValueError), (["kl", "kl"], ValueError), ([], TypeError), (3, TypeError)]
)
def test_wrong_distances(distance, error):
    with pytest.raises(error, match="distance"):
        choose_posterior(METRICS, M, distance=distance, **USUAL)


def test_a_level_too_small_to_be_divided_is_refused():
    arguments = USUAL | {"delta": 5e-324}
    assert choose_posterior(METRICS, M, distance="kl", **arguments).bound <= 1.0
    with pytest.raises(ValueError, match="large enough to be divided among 2 distances, got 5e-324"):
        choose_posterior(METRICS, M, distance=["kl", "ch"], **arguments)


def test_a_posterior_is_checked_once(monkeypatch):
    made = []
    checked = Problem.checked
    monkeypatch.setattr(Problem, "checked", lambda *arguments: made.append(arguments) or checked(*arguments))
    choose_posterior(METRICS, M, distance=["kl", "ch"], **USUAL)
    assert [arguments[2].name for arguments in made] == ["kl", "ch"]


def test_the_posterior_is_the_best_at_the_reserve():
    plan, predictions = fixed_rules(a_set([9, 8, 30]), 0, hedge=0.1, metrics=parse_metrics(("error",)))
    found = fit_posteriors(plan, predictions).posterior
    assert found.bound == pytest.approx(optimal_posterior(np.array([9, 8, 30]) / 100, 100, delta=0.004).bound, abs=1e-9)
    assert found.delta == plan.hedged_level
    # Weights are whole multiples of 2^-52: a draw from them is exact.
    assert (np.ldexp(found.weights, 52) % 1 == 0).all()
    assert found.weights.sum() == 1.0


def test_nothing_is_looked_for_without_a_reserve():
    assert fit_posteriors(*fixed_rules(a_set([9, 8, 30]), 0, hedge=0.0)).posterior is None


def test_weights_of_somebody_else_have_their_own_bound():
    weights = np.array([0.5, 0.25, 0.25, 0.0, 0.0])
    found = restored_posterior(weights, METRICS, M, distance="kl", **USUAL)
    best = choose_posterior(METRICS, M, distance="kl", **USUAL)
    assert np.array_equal(found.weights, weights)
    assert found.lower_bound == best.lower_bound <= best.bound < found.bound
    assert not found.converged
    same = restored_posterior(best.weights, METRICS, M, distance="kl", **USUAL)
    assert same.bound == best.bound


def test_weights_of_a_version_that_was_less_exact_stay_converged():
    best = choose_posterior(METRICS, M, distance="kl", **USUAL)
    weights = float_weights(integer_weights(gibbs_posterior(METRICS, best.beta * (1 + 1e-5))))
    found = restored_posterior(weights, METRICS, M, distance="kl", **USUAL)
    assert best.bound < found.bound <= best.bound + 1e-9
    assert found.converged
