"""Limits for losses between 0 and 1: Chernoff's bound, against arbitrary precision, never below it."""

import mpmath as mp
import numpy as np
import pytest
from tests.oracles import kl_upper

from pacbayes import ClassifierSet, optimal_posterior
from pacbayes.certificates import best_single, certify
from pacbayes.certificates.binomial import binomial_upper
from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.limits import chernoff_upper, risks_of, upper_limits
from pacbayes.classifiers.group_errors import GroupErrors

ABSENT = Baseline(None, None, "not asked for")


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-12, 1e-300])
@pytest.mark.parametrize("m", [1, 7, 100, 12345])
def test_the_limit_is_the_root_rounded_up(m, delta):
    risks = np.array([0.0, 1e-9, 0.01, 1 / 3, 0.5, 0.9, 1 - 1e-12, 1.0])
    found = chernoff_upper(risks, m, delta)
    for risk, limit in zip(risks, found, strict=True):
        exact = kl_upper(mp.mpf(float(risk)), -mp.log(mp.mpf(delta)) / m)
        assert exact <= mp.mpf(float(limit)) <= min(exact * (1 + mp.mpf("1e-12")), mp.mpf(1))


def test_levels_at_the_ends():
    assert chernoff_upper([0.2, 0.2], 10, [0.0, 1.0]).tolist()[0] == 1.0
    assert 0.2 <= chernoff_upper(0.2, 10, 1.0) < 0.2 + 1e-9
    with pytest.raises(ValueError, match="delta"):
        chernoff_upper(0.2, 10, 1.5)
    with pytest.raises(ValueError, match="risks"):
        chernoff_upper(1.2, 10, 0.5)


def test_the_callers_floating_point_errors_do_not_matter():
    expected = chernoff_upper([0.0, 1e-300, 0.3], 10, [0.0, 1e-300, 0.05])
    with np.errstate(all="raise"):
        assert np.array_equal(chernoff_upper([0.0, 1e-300, 0.3], 10, [0.0, 1e-300, 0.05]), expected)


def test_it_is_never_below_the_exact_limit_of_errors():
    m = 40
    errors = np.arange(m + 1)
    exact, chernoff = binomial_upper(errors, m, 0.05), chernoff_upper(errors / m, m, 0.05)
    assert np.all(exact <= chernoff + 1e-12)
    assert np.all(exact[1:-1] < chernoff[1:-1])


def grouped():
    """Three classifiers, errors in 30 groups of one, two and five rows."""
    return GroupErrors(np.array([1, 2, 5]), np.array([[1, 3, 4], [0, 2, 11], [6, 12, 20]]))


def test_the_best_of_groups_is_the_smallest_chernoff_limit_at_its_share_of_delta():
    prior = np.array([0.2, 0.7, 0.1])
    best = best_single(grouped(), 30, 0.05, prior)
    limits = [float(kl_upper(r, -mp.log(0.05 * p) / 30)) for r, p in zip(grouped().risks(30), prior, strict=True)]
    assert best.index == int(np.argmin(limits))
    assert best.bound == pytest.approx(min(limits), rel=1e-10)
    assert best.bound >= min(limits)


def test_certificates_of_groups_say_what_they_are_about():
    counts = grouped()
    classifiers = ClassifierSet([{}, {}, {}], counts.risks(30), 30, group_errors=counts, copies=2)
    posterior = optimal_posterior(classifiers.risks, 30)
    found = certify(posterior, classifiers, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT)
    assert found["stochastic"].bound == posterior.bound
    assert found["majority"].bound == min(2 * posterior.bound, 1.0)
    assert found["best"].distance == "chernoff"
    assert "Chernoff" in found["best"].theorem
    assert [one.copies for one in found.values()] == [2, 2, 2]
    assert "Validation rows that equal a training row in features and class: 2." in found["best"].explain()
    # With errors of as many rows the exact limit is used, and is smaller.
    rows = upper_limits(np.array([10]), 30, 0.05)
    assert rows == binomial_upper([10], 30, 0.05)
    assert risks_of(np.array([10]), 30)[0] >= 10 / 30
