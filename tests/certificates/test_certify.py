"""Certificates compared with independent computations from raw predictions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom
from tests.certificates.cases import a_set, certified, claims_of, erring, fixed_rules, grouped

from pacbayes import DISTANCES, ClassifierSet, bound, kl_roots, log_constant, optimal_posterior
from pacbayes.certificates import Posteriors, best_single, binomial_upper, certify, fit_posteriors
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.ensemble.validation import ErrorCounts

ERRORS, M = np.array([8, 9, 9, 12, 40]), 150
RISKS = ERRORS / M
PRIOR = np.array([0.1, 0.2, 0.0, 0.3, 0.4])


def certificates(distance="kl", delta=0.05, prior=None, constant="exact", errors=ERRORS):
    """The posterior of a set with these errors, and its certificates."""
    several = (distance,) if isinstance(distance, str) else tuple(distance)
    plan, predictions = fixed_rules(a_set(errors, M), delta=delta, prior=prior, distance=several, constant=constant)
    found = fit_posteriors(plan, predictions)
    return found.posterior, certify(plan, predictions, found)


# -- from raw predictions --------------------------------------------------------------------------------------------


def clopper(errors, m, level):
    return beta.ppf(1 - level, errors + 1, m - errors) if errors < m else 1.0


def kl_inverse(risk, x):
    """The largest b with kl(risk, b) <= x, by bisection."""

    def distance(b):
        there = 0.0 if risk == 0.0 else risk * math.log(risk / b)
        return there + (1 - risk) * math.log((1 - risk) / (1 - b)) - x

    return brentq(distance, max(risk, 1e-12), 1 - 1e-15, xtol=1e-15)


def pac_bayes(risk, weights, prior, m, level):
    """The PAC-Bayes-kl bound with the exact constant."""
    k = np.arange(m + 1)
    constant = binom.pmf(k, m, k / m).sum()
    some = weights > 0
    divergence = (weights[some] * np.log(weights[some] / prior[some])).sum()
    return kl_inverse(risk, (divergence + math.log(constant / level)) / m)


def election(seed=0, classifiers=8, m=240):
    """Predictions in three classes, some outside them, and the labels; equal weights are exact."""
    rng = np.random.default_rng(seed)
    y_true = rng.integers(3, size=m)
    wrong = rng.random((classifiers, m)) < rng.uniform(0.05, 0.35, (classifiers, 1))
    return np.where(wrong, (y_true + rng.integers(1, 4, (classifiers, m))) % 4, y_true), y_true


def weighted_vote(y_pred, weights):
    """The label with the largest weight, the first of several."""
    labels = np.unique(y_pred)
    behind = np.array([[weights[y_pred[:, j] == label].sum() for label in labels] for j in range(y_pred.shape[1])])
    return labels[behind.argmax(axis=1)]


@pytest.mark.parametrize(
    "prior", [None, np.array([0.3, 0.1, 0.1, 0.15, 0.1, 0.1, 0.1, 0.05])], ids=["uniform", "given"]
)
@pytest.mark.parametrize("seed", range(3))
def test_every_claim_from_raw_predictions(seed, prior):
    y_pred, y_true = election(seed)
    wrong, m, primary = y_pred != y_true, y_true.size, np.array([0.5, 0.25, 0.25, 0, 0, 0, 0, 0])
    plan, predictions = fixed_rules(ClassifierSet.from_predictions(y_pred, y_true), primary, prior=prior)
    found = fit_posteriors(plan, predictions)
    p = np.full(8, 1 / 8) if prior is None else prior
    certificate = certify(plan, predictions, found)
    # The primary rule has nine tenths of delta; the others share the rest equally.
    claims = claims_of(certificate["best"])
    occam = min(clopper(k, m, 0.005 * one) for k, one in zip(wrong.sum(axis=1), p, strict=True))
    assert claims == {
        "primary": pytest.approx((clopper(wrong[0].sum(), m, 0.045), 0.045), rel=1e-9),
        "Occam": pytest.approx((occam, 0.005), rel=1e-9),
    }
    q = found.posterior.weights
    third = 0.005 / 3
    votes = {"primary": primary, "single": primary > 0.4, "equal vote": np.full(8, 1 / 8)}
    errors = {name: np.count_nonzero(weighted_vote(y_pred, weights) != y_true) for name, weights in votes.items()}
    expected = {
        "primary": (clopper(errors["primary"], m, 0.045), 0.045),
        "single": (clopper(errors["single"], m, third), third),
        "equal vote": (clopper(errors["equal vote"], m, third), third),
        "posterior": (min(2 * pac_bayes(q @ wrong.mean(axis=1), q, p, m, third), 1.0), third),
    }
    assert claims_of(certificate["majority"]) == {
        name: pytest.approx(claim, rel=1e-8) for name, claim in expected.items()
    }
    drawn = claims_of(certificate["stochastic"])
    errors_of_draws = np.count_nonzero(predictions.labels[predictions.rule_predictions[0]] != y_true)
    assert drawn["primary"] == pytest.approx((clopper(errors_of_draws, m, 0.045), 0.045), rel=1e-9)
    exact = pac_bayes(q @ wrong.mean(axis=1), q, p, m, 0.005)
    assert drawn["posterior"] == pytest.approx((exact, 0.005), rel=1e-8)
    for one in certificate.values():
        assert one.bound == min(number for number, _ in claims_of(one).values())


def test_certify_is_a_pure_function():
    classifiers = ClassifierSet.from_predictions(*election())
    plan, predictions = fixed_rules(
        classifiers, 2, metrics=parse_metrics(("error", "balanced_error")), metrics_share=0.1
    )
    found = fit_posteriors(plan, predictions)
    kept = predictions.y_pred.copy(), predictions.rule_predictions.copy(), found.posterior.weights.copy()
    first = certify(plan, predictions, found)
    assert certify(plan, predictions, found) == first == certified(plan, predictions)
    now = predictions.y_pred, predictions.rule_predictions, found.posterior.weights
    assert all(np.array_equal(*pair) for pair in zip(kept, now, strict=True))


def test_the_order_of_the_classifiers_does_not_matter():
    (y_pred, y_true), prior = election(), np.array([0.3, 0.1, 0.15, 0.1, 0.05, 0.1, 0.1, 0.1])
    order = np.array([5, 2, 0, 6, 1, 7, 4, 3])
    plan, predictions = fixed_rules(ClassifierSet.from_predictions(y_pred, y_true), 3, prior=prior)
    classifiers = ClassifierSet.from_predictions(y_pred[order], y_true)
    other, moved = fixed_rules(classifiers, int(np.flatnonzero(order == 3)[0]), prior=prior[order])
    found = fit_posteriors(plan, predictions)
    reordered = Posteriors(replace(found.posterior, weights=found.posterior.weights[order]))
    for one, same in zip(
        certify(plan, predictions, found).values(), certify(other, moved, reordered).values(), strict=True
    ):
        assert (one.rule, one.level) == (same.rule, same.level)
        expected = {name: pytest.approx(claim, rel=1e-12) for name, claim in claims_of(one).items()}
        assert claims_of(same) == expected
    # The search, too, but for its tolerance.
    assert fit_posteriors(other, moved).posterior.bound == pytest.approx(found.posterior.bound, abs=1e-9)


# -- each distance ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("distance", DISTANCES)
def test_three_certificates(distance, prior, constant):
    posterior, found = certificates(distance, 0.05, prior, constant)
    # The true shares of errors, not their nearest numbers of double precision, some of which are smaller.
    risks = a_set(ERRORS, M).risks
    recomputed = bound(posterior.weights, risks, M, distance=distance, prior=prior, constant=constant)
    assert found["stochastic"].bound == min(recomputed, 1.0)
    assert (
        found["stochastic"].bound
        <= optimal_posterior(RISKS, M, distance=distance, prior=prior, constant=constant).bound + 1e-9
    )
    assert found["majority"].bound == min(2 * recomputed, 1.0)
    weights = np.full(5, 0.2) if prior is None else prior
    singles = [float(binomial_upper(k, M, 0.05 * p)) for k, p in zip(ERRORS, weights, strict=True)]
    assert found["best"].bound == pytest.approx(min(singles), rel=1e-9)
    assert found["best"].bound >= min(singles) * (1 - 1e-15)
    assert [c.lower is None for c in found.values()] == [distance == "linear", True, True]


@pytest.mark.parametrize("distance", ["kl", "squared", "pinsker", "ch"])
def test_lower_root_is_where_the_distance_reaches_the_threshold(distance):
    posterior, found = certificates(distance)
    L, m = float(posterior.weights @ RISKS), M
    n = 2 * m - 1 if distance == "ch" else m
    x = (posterior.kl + log_constant(distance, m) - np.log(0.05)) / n
    lower = found["stochastic"].lower
    d = L - lower
    reached = {
        "kl": None,
        "squared": d**2,
        "pinsker": 2 * d**2,
        "ch": d**2 + 2 / 9 * d**4 + 16 / 135 * d**6,
    }[distance]
    if lower == 0.0:  # the unclipped root is negative
        assert distance != "kl"
        assert reached < x
    elif distance == "kl":
        assert lower == pytest.approx(kl_roots(L, x)[0], rel=1e-9)
        assert lower <= kl_roots(L, x)[0]
    else:
        assert reached == pytest.approx(x, rel=1e-9)
        assert reached >= x


@pytest.mark.parametrize("distance", ["squared", "pinsker", "ch"])
def test_lower_roots_above_zero(distance):
    posterior, found = certificates(distance, errors=[70, 80])
    lower = found["stochastic"].lower
    # The distances are symmetric: as far below the empirical risk as the bound is above it.
    assert lower == pytest.approx(2 * posterior.empirical_risk - posterior.bound, rel=1e-9)
    assert 0.2 < lower < posterior.empirical_risk


def test_delta_is_divided_among_distances():
    names = ["squared", "kl", "linear"]
    posterior, found = certificates(names, 0.06)
    alone = [optimal_posterior(RISKS, M, distance=name, delta=0.02).bound for name in names]
    assert posterior.distance == "kl"
    assert found["stochastic"].bound == pytest.approx(min(alone), rel=1e-9)
    assert (found["stochastic"].delta, found["stochastic"].distance) == (0.06, "kl")
    assert "smallest of 3" in found["stochastic"].theorem
    assert 3 * posterior.delta <= 0.06


# -- which rule wins -------------------------------------------------------------------------------------------------

THREE = np.array([9, 8, 30])
HALVES = np.array([0.5, 0.5, 0.0])


def with_errors(draws=9, vote=7, single=9, best=9, prior=None):
    """Certificates of three classifiers, with these errors of rules on 100 rows."""
    plan, predictions = fixed_rules(a_set(THREE), HALVES, prior=prior)
    errors = {("stochastic", "primary"): draws, ("best", "primary"): best}
    errors |= {("majority", "primary"): vote, ("majority", "single"): single, ("majority", "equal vote"): 50}
    return certified(plan, erring(plan, predictions, errors))


def test_the_first_rule_with_the_smallest_bound_is_certified():
    found = with_errors()
    assert [one.rule for one in found.values()] == ["primary", "primary", "primary"]
    names = [claim.rule for claim in found["majority"].alternatives]
    assert names == ["single", "equal vote", "posterior"]
    # Primary rules with many errors: the posterior, another vote and Occam have smaller bounds.
    found = with_errors(draws=60, vote=60, single=2, best=60)
    assert [one.rule for one in found.values()] == ["posterior", "single", "Occam"]
    assert {one.source for one in found.values()} == {"validation rows"}
    # All bounds are one: the first rule is the primary one.
    everywhere = erring(*fixed_rules(a_set([100, 100]), 0), {("best", "primary"): 100})
    assert certified(fixed_rules(a_set([100, 100]), 0)[0], everywhere)["best"].rule == "primary"


def test_sentences_name_the_key_of_draws():
    found = with_errors()
    assert "the error rate of the stochastic classifier with its key on new examples is at most" in str(
        found["stochastic"]
    )
    assert any("for the draws of this key" in one for one in found["stochastic"].assumptions)
    drawn = with_errors(draws=90)["stochastic"]
    assert "the error rate of the stochastic classifier on new examples is at most" in str(drawn)
    assert any("average over random draws" in one for one in drawn.assumptions)
    assert drawn.lower is not None
    assert "Alternative: primary: at most" in drawn.explain()
    assert "primary: at most" in drawn._repr_html_()
    assert [one["rule"] for one in drawn.to_dict()["alternatives"]] == ["primary"]


# -- groups ------------------------------------------------------------------


def test_groups_have_chernoff_bounds():
    prior, classifiers = np.array([0.2, 0.7, 0.1]), grouped(copies=2)
    risks = np.array([1 + 3 / 2 + 4 / 5, 2 / 2 + 11 / 5, 6 + 12 / 2 + 20 / 5]) / 30
    bounds = [kl_inverse(risk, -math.log(0.05 * p) / 30) for risk, p in zip(risks, prior, strict=True)]
    best = best_single(classifiers.error_counts, 0.05, prior)
    assert best.index == int(np.argmin(bounds))
    assert best.bound == pytest.approx(min(bounds), rel=1e-10)
    plan, predictions = fixed_rules(classifiers, 1, prior=prior)
    found = certified(plan, predictions)
    assert claims_of(found["best"]) == {
        "primary": pytest.approx((kl_inverse(risks[1], -math.log(0.045) / 30), 0.045), rel=1e-9),
        "Occam": pytest.approx((best_single(classifiers.error_counts, 0.005, prior).bound, 0.005), rel=1e-9),
    }
    assert list(claims_of(found["majority"])) == ["primary", "equal vote", "posterior"]
    assert found["best"].distance == "chernoff"
    assert "Chernoff" in found["best"].theorem
    assert {one.copies for one in found.values()} == {2}
    assert "Validation rows equal to a training row in features and class: 2." in found["best"].explain()


def test_a_classifier_without_prior_weight_is_never_the_best():
    counted = ErrorCounts(np.array([[0], [30]]), None, 30)
    assert best_single(counted, 0.05, np.array([0.0, 1.0])).index == 1


# -- posteriors are weights: their own numbers are recomputed ----------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
def test_forged_numbers_of_a_posterior_are_recomputed(distance):
    plan, predictions = fixed_rules(a_set(ERRORS, M), distance=(distance,))
    posterior = fit_posteriors(plan, predictions).posterior
    true = certify(plan, predictions, Posteriors(posterior))
    level = 0.05 * (1 + 5e-13)
    forged = [
        {"bound": math.nextafter(posterior.bound, 0.0)},
        {"bound": 0.0, "delta": 1e-300},
        {"delta": level, "bound": bound(posterior.weights, RISKS, M, distance=distance, delta=level)},
        {"m": 10**6, "constant": "paper"},
        # The lower bound is computed from these two.
        {"kl": 0.0},
        {"empirical_risk": 2 * posterior.empirical_risk},
    ]
    for fields in forged:
        assert certify(plan, predictions, Posteriors(replace(posterior, **fields))) == true


def test_a_posterior_of_another_set_has_the_bound_of_this_one():
    plan, predictions = fixed_rules(a_set(ERRORS, M))
    other = optimal_posterior(np.zeros(5), M, prior=PRIOR, delta=0.5)
    true = certify(plan, predictions, Posteriors(other))["stochastic"].bound
    assert true == pytest.approx(pac_bayes(PRIOR @ RISKS, PRIOR, np.full(5, 0.2), M, 0.05), rel=1e-6)


def test_predictions_of_other_rows_are_rejected():
    plan, _ = fixed_rules(a_set(ERRORS, M))
    _, other = fixed_rules(a_set(ERRORS, 60))
    with pytest.raises(ValueError, match="ValidationPredictions must have a column for each validation row"):
        fit_posteriors(plan, other)
    losses = ClassifierSet.from_losses(np.ones((3, 100)))
    with pytest.raises(ValueError, match="made from losses: it holds risks, not error counts"):
        losses.error_counts  # noqa: B018
