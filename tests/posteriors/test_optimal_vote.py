"""The door to votes: what comes back for each bound, and what is refused."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.posteriors.vote_problems import forest_rows, random_rows, random_vote

from pacbayes import optimal_posterior
from pacbayes.bounds import get_distance
from pacbayes.posteriors.optimal_vote import VoteDescent, lower_slopes, optimal_vote
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS, VoteProblem, vote_bound


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_the_bound_is_that_of_the_weights(name, constant):
    for seed in range(20):
        errors, m, prior, delta = random_vote(np.random.default_rng(seed))
        arguments = {"bound": name, "delta": delta, "prior": prior, "constant": constant}
        vote = optimal_vote(errors, m, **arguments)
        assert vote.converged
        assert vote.bound == vote_bound(vote.weights, errors, m, **arguments)
        assert vote.weights.min() >= 0
        assert vote.weights.sum() == pytest.approx(1, abs=1e-12)
        assert (vote.method, vote.m, vote.delta, vote.constant) == (name, m, delta, constant)
        assert (vote.mu is None) == (name != "cantelli")
        start = np.full(len(errors), 1 / len(errors)) if prior is None else prior
        assert vote.bound <= vote_bound(start, errors, m, **arguments) + 1e-6


def test_first_order_is_twice_the_optimal_posterior():
    errors = random_rows(np.random.default_rng(1), 30, 200)
    vote = optimal_vote(errors, 200, bound="first-order")
    single = optimal_posterior(errors.mean(axis=1), 200, tol=1e-7)
    assert vote.bound == pytest.approx(2 * single.bound, abs=1e-6)
    assert 0 <= vote.gap <= 1e-6


def test_cantelli_never_rises_and_proves_nothing():
    errors = forest_rows("haberman")
    problem = VoteProblem.checked(errors, errors.shape[1], "cantelli", 0.05, None, "exact")
    descent = VoteDescent(problem)
    start = np.exp(problem.factor.log_mass)
    bounds = [descent.run(start, 1e-6, steps).state.bound for steps in range(6)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]
    vote = optimal_vote(errors, errors.shape[1], bound="cantelli")
    assert vote.lower_bound == -math.inf
    assert vote.gap == math.inf
    assert "nothing proved" in repr(vote)
    assert vote.bound <= bounds[-1] + 1e-9


def test_cantelli_against_slsqp():
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        errors, m, prior, delta = random_vote(rng, 20)
        vote = optimal_vote(errors, m, bound="cantelli", prior=prior, delta=delta)
        if vote.bound >= 1:
            continue
        compared += 1
        H = len(errors)
        inside = np.ones(H) if prior is None else (prior > 0).astype(float)

        def value(q, inside=inside, errors=errors, m=m, prior=prior, delta=delta):
            q = (np.maximum(q, 0) + 1e-14) * inside
            return vote_bound(q / q.sum(), errors, m, bound="cantelli", prior=prior, delta=delta)

        for start in (inside / inside.sum(), rng.dirichlet(np.ones(H)), vote.weights):
            found = minimize(value, start, method="SLSQP", bounds=[(0, 1)] * H, options={"maxiter": 60, "ftol": 1e-12},
                             constraints={"type": "eq", "fun": lambda q: q.sum() - 1})  # fmt: skip
            assert vote.bound <= found.fun + 1e-6, seed
    assert compared >= 8


def test_cantelli_beats_tandem_where_classifiers_err_on_their_own():
    errors = np.random.default_rng(0).random((60, 4000)) < 0.3
    tandem, cantelli = (optimal_vote(errors, 4000, bound=name).bound for name in ("tandem", "cantelli"))
    assert cantelli < tandem - 0.01


def test_slopes_of_the_lower_root():
    function = get_distance("kl").bound_function(150)
    kl = get_distance("kl")
    for risk, divergence in ((0.1, 0.5), (0.5, 3.0), (0.95, 0.1)):
        h = 1e-6
        ends = [kl.lower(risk + s, function.threshold(divergence)) for s in (-h, h)]
        in_risk, in_kl = lower_slopes(function, risk, divergence)
        assert in_risk == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)
        ends = [kl.lower(risk, function.threshold(divergence + s)) for s in (-1e-4, 1e-4)]
        assert in_kl == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)
    assert lower_slopes(function, 0.0, 1.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_as_a_dictionary_and_in_a_notebook(name):
    vote = optimal_vote(random_rows(np.random.default_rng(0), 5, 50), 50, bound=name)
    values = json.loads(json.dumps(vote.to_dict()))
    assert values["bound"] == vote.bound
    assert values["weights"] == vote.weights.tolist()
    assert values["method"] == name
    assert "Vote of 5 classifiers" in vote._repr_html_()
    assert repr(vote).count("\n") == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"max_iter": 3}, TypeError, "bound 'tandem' has no option 'max_iter'; its options are max_problems"),
        ({"bound": "first"}, ValueError, "unknown bound"),
        ({"m": 4}, ValueError, "m = 4, got 3 columns"),
    ],
)
def test_wrong_arguments(change, error, message):
    with pytest.raises(error, match=message):
        optimal_vote(**({"error_rows": np.zeros((2, 3), dtype=bool), "m": 3} | change))


@pytest.mark.parametrize("kind", [bool, np.uint8, float])
def test_any_kind_of_zero_and_one(kind):
    errors = random_rows(np.random.default_rng(0), 5, 50)
    assert optimal_vote(errors.astype(kind), 50).bound == optimal_vote(errors, 50).bound
