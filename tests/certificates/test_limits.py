"""Limits of whatever was counted: exact for errors, Chernoff's for groups."""

import mpmath as mp
import numpy as np
import pytest
from tests.oracles import kl_upper

from pacbayes import ClassifierSet, optimal_posterior
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates import best_single, certify
from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.limits import risks_of, upper_limits
from pacbayes.classifiers.group_errors import GroupErrors

ABSENT = Baseline(None, None, "not asked for")


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
