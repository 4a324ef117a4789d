"""Certificates against their definitions."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pacbayes import DISTANCES, Baseline, ClassifierSet, bound, kl_roots, log_constant, optimal_posterior
from pacbayes.certificates import Certificate, best_single, binomial_upper, certify, choose_posterior
from pacbayes.certificates.limits import risks_of
from pacbayes.certificates.posterior_choice import BITS, divide_delta, integer_weights, weights_of
from pacbayes.numeric.rounding import round_down
from pacbayes.numeric.words import confidence, failure
from pacbayes.posteriors.problem import Problem

ERRORS, M = np.array([8, 9, 9, 12, 40]), 150
RISKS = ERRORS / M
PRIOR = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
ABSENT = Baseline(None, None, "not asked for")


def certificates(distance="kl", delta=0.05, prior=None, constant="exact"):
    posterior = choose_posterior(RISKS, M, distance=distance, delta=delta, prior=prior, constant=constant)
    number = 1 if isinstance(distance, str) else len(distance)
    return posterior, certify(
        posterior, ERRORS, delta=delta, prior=prior, n_distances=number, hold_out=ABSENT, constant=ABSENT
    )


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("distance", DISTANCES)
def test_three_certificates(distance, prior, constant):
    posterior, found = certificates(distance, 0.05, prior, constant)
    # The true shares of errors, not their nearest numbers of double precision, some of which are smaller.
    recomputed = bound(posterior.weights, risks_of(ERRORS, M), M, distance=distance, prior=prior, constant=constant)
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
    assert best_single(ERRORS, M, 0.05, prior).index == int(np.argmin(singles))
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
    errors = np.array([70, 80])
    posterior = choose_posterior(errors / M, M, distance=distance, delta=0.05, prior=None, constant="exact")
    lower = certify(posterior, errors, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT)["stochastic"].lower
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
    assert all(
        number * divide_delta(delta, number) <= delta for delta in (0.05, 0.1, 1 / 3) for number in range(1, 100)
    )


@pytest.mark.parametrize(
    ("distance", "error"), [("chi", ValueError), (["kl", "kl"], ValueError), ([], TypeError), (3, TypeError)]
)
def test_wrong_distances(distance, error):
    with pytest.raises(error, match="distance"):
        certificates(distance)


def test_weights_are_whole_parts():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 1990):
        weights = rng.dirichlet(np.full(size, 0.1))
        parts = integer_weights(weights)
        assert int(parts.sum()) == 2**BITS
        assert parts.min() >= 0
        np.testing.assert_allclose(weights_of(parts), weights, atol=size * 2.0**-BITS)
        assert weights_of(parts)[rng.permutation(size)].sum() == 1.0


def test_majority_is_vacuous_long_before_the_stochastic_classifier():
    errors = np.array([70, 80])
    posterior = optimal_posterior(errors / M, M)
    found = certify(posterior, errors, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT)
    assert found["majority"].bound == 1.0
    assert found["majority"].vacuous
    assert not found["stochastic"].vacuous
    assert "says nothing" in str(found["majority"])


def test_printed_numbers_are_rounded_away_from_the_truth():
    made = Certificate(0.08601, 0.0199, 0.05, 100, "kl", 0.04, 0.1, "the stochastic classifier", "A theorem.")
    assert str(made).endswith("errs on at most 8.7 % of new examples.")
    assert "at least 1.9 %" in made.explain()
    assert [confidence(delta) for delta in (0.05, 0.01, 0.001, 0.025)] == ["95 %", "99 %", "99.9 %", "97.5 %"]
    assert confidence(0.1 + 0.2) == "69.9999 %"


@pytest.mark.parametrize(
    ("delta", "sure", "fails"),
    [
        (1e-6, "99.9999 %", "0.0001 %"),
        (1e-7, "1 - 1e-7", "1e-7"),
        (1.21e-9, "1 - 1.3e-9", "1.3e-9"),
        (1e-30, "1 - 1e-30", "1e-30"),
        (1e-300, "1 - 1e-300", "1e-300"),
        (5e-324, "1 - 5e-324", "5e-324"),
        (1 - 2**-53, "0 %", "100 %"),
    ],
)
def test_no_confidence_is_printed_as_certainty(delta, sure, fails):
    assert (confidence(delta), failure(delta)) == (sure, fails)
    written = str(Certificate(0.2, None, delta, 50, "kl", 0.1, 0.0, "the classifier", "PAC-Bayes."))
    assert f"at least {sure} over the sample" in written


def test_a_level_too_small_to_be_divided_is_refused():
    arguments = {"delta": 5e-324, "prior": None, "constant": "exact"}
    assert choose_posterior(RISKS, M, distance="kl", **arguments).bound <= 1.0
    with pytest.raises(ValueError, match="large enough to be divided among 2 distances, got 5e-324"):
        choose_posterior(RISKS, M, distance=["kl", "ch"], **arguments)


def test_to_dict_is_json():
    _, found = certificates(["kl", "linear"], prior=PRIOR)
    for certificate in found.values():
        again = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
        assert again["bound"] == certificate.bound
        assert again["vacuous"] is certificate.vacuous
        assert again["baselines"]["hold-out"]["bound"] is None
    assert any("holds alone" in assumption for assumption in found["best"].assumptions)
    assert "price" in found["majority"].theorem


def test_a_set_is_as_good_as_its_errors():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=100)
    classifiers = ClassifierSet.from_predictions(np.where(rng.random((3, 100)) < 0.2, 1 - truth, truth), truth)
    posterior = optimal_posterior(classifiers.risks, 100)
    choices = {"delta": 0.05, "prior": None, "hold_out": ABSENT, "constant": ABSENT}
    assert certify(posterior, classifiers, **choices) == certify(posterior, classifiers.errors, **choices)
    with pytest.raises(ValueError, match="posterior must be one for 50 validation examples, as the set, got 100"):
        certify(posterior, ClassifierSet.from_predictions(np.ones((3, 50)), np.ones(50)), **choices)
    with pytest.raises(ValueError, match="classifiers must have counted errors; this set was made from losses"):
        certify(posterior, ClassifierSet.from_losses(np.ones((3, 100))), **choices)


def test_a_posterior_of_another_level_is_refused():
    posterior = optimal_posterior(RISKS, M, delta=0.5)
    with pytest.raises(ValueError, match=r"computed at delta = 0\.01 or less, got 0\.5"):
        certify(posterior, ERRORS, delta=0.01, prior=None, hold_out=ABSENT, constant=ABSENT)


def test_a_posterior_of_other_errors_is_refused():
    posterior = optimal_posterior(RISKS, M)
    with pytest.raises(ValueError, match="must belong to these errors"):
        certify(posterior, ERRORS * 3, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT)
    other = np.array([0.01, 0.01, 0.01, 0.01, 0.96])
    with pytest.raises(ValueError, match="must belong to these errors"):
        certify(posterior, ERRORS, delta=0.05, prior=other, hold_out=ABSENT, constant=ABSENT)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_posterior_that_says_an_ulp_too_little_is_certified_with_what_is_true(distance):
    posterior, true = certificates(distance)
    choices = {"delta": 0.05, "prior": None, "hold_out": ABSENT, "constant": ABSENT}
    # A level that is larger by rounding makes a smaller bound.
    level = 0.05 * (1 + 5e-13)
    forged = [
        {"bound": math.nextafter(true["stochastic"].bound, 0.0)},
        {"delta": level, "bound": bound(posterior.weights, RISKS, M, distance=distance, delta=level)},
        # The lower limit is computed from these two.
        {"kl": 0.0},
        {"empirical_risk": 2 * posterior.empirical_risk},
    ]
    for fields in forged:
        assert certify(replace(posterior, **fields), ERRORS, **choices) == true
    # A larger bound than necessary is true as well, and stays.
    larger = replace(posterior, bound=posterior.bound * 1.5)
    assert certify(larger, ERRORS, **choices)["stochastic"].bound == min(larger.bound, 1.0)


def test_a_posterior_is_checked_once(monkeypatch):
    made = []
    checked = Problem.checked
    monkeypatch.setattr(Problem, "checked", lambda *arguments: made.append(arguments) or checked(*arguments))
    choose_posterior(RISKS, M, distance=["kl", "ch"], delta=0.05, prior=None, constant="exact")
    assert [arguments[2].name for arguments in made] == ["kl", "ch"]


def test_occam_with_a_sample_size_for_each():
    # The same risk on more rows is the better guarantee, and the same number of errors too.
    errors, sizes = np.array([4, 8, 5]), np.array([40, 80, 80])
    best = best_single(errors, sizes, 0.05, None)
    assert (best.index, best.empirical_risk) == (2, 0.0625)
    assert best.bound == binomial_upper(5, 80, round_down(0.05 / 3, 64.0))
    assert best_single(errors, np.array([80, 80, 80]), 0.05, None) == best_single(errors, 80, 0.05, None)


def test_a_classifier_without_prior_weight_is_never_the_best():
    assert best_single(np.array([0, 30]), 30, 0.05, np.array([0.0, 1.0])).index == 1
