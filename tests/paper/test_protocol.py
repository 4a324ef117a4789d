"""The protocol's cost and scaling; the synthetic profiles look like the data sets where the paper's tables say how."""

import numpy as np
import pytest

from pacbayes import bound, optimal_posterior
from pacbayes.paper.protocol import LAMBDAS, PROFILES, Protocol, profile_risks

PAPER = {"delta": 0.01, "constant": "paper"}
# Validation size, and the fixed point's kl bound for H = 50 and 1990 (Banknote's 1990 cell repeats Bupa's).
PRINTED = {
    "spambase": (1840, 0.14726, 0.153324),
    "bupa": (138, 0.208330, 0.238509),
    "mammographic": (332, 0.241706, 0.260632),
    "wdbc": (227, 0.127827, 0.147595),
    "banknote": (549, 0.015278, None),
    "mushroom": (2257, 0.004050, 0.004882),
    "ionosphere": (140, 0.119248, 0.147074),
    "waveform": (1323, 0.058419, 0.063376),
    "haberman": (122, 0.342978, 0.379982),
}
# Mean and standard deviation of 1000 random starts' bounds after the paper's convex-concave procedure, H = 50.
PRINTED_CCP = {
    "spambase": (0.18257, 0.00301),
    "bupa": (0.24741, 0.00412),
    "mammographic": (0.25190, 0.00116),
    "wdbc": (0.13320, 0.00085),
    "ionosphere": (0.12631, 0.00119),
    "waveform": (0.06525, 0.00061),
    "haberman": (0.35417, 0.00175),
}


def test_there_are_nine():
    assert list(PROFILES) == list(PRINTED)
    assert LAMBDAS[[0, 1, -1]].tolist() == [0.1, 0.11, 19.99]


@pytest.mark.parametrize("name", PROFILES)
def test_risks_are_counts_with_least_bounds_near_the_papers(name):
    risks, m = profile_risks(name)
    assert risks.shape == (1990,)
    np.testing.assert_allclose(risks * m, np.rint(risks * m), atol=1e-9)
    np.testing.assert_array_equal(profile_risks(name, 200)[0], risks[:200])
    assert (risks[:50].max() == 0.0) == (name in ("banknote", "mushroom"))
    size, at_50, at_1990 = PRINTED[name]
    assert size == m
    for H, printed in ((50, at_50), (1990, at_1990)):
        if printed is not None:
            assert optimal_posterior(risks[:H], m, **PAPER).bound == pytest.approx(printed, rel=0.04)


@pytest.mark.parametrize("name", PRINTED_CCP)
def test_the_printed_ccp_columns_look_like_bounds_of_random_starts(name):
    """The means were used to choose the profiles; the standard deviations were not."""
    risks, m = profile_risks(name, 50)
    q = np.random.default_rng(0).exponential(size=(1000, 50))
    bounds = [bound(w / w.sum(), risks, m, **PAPER) for w in q]
    mean, std = PRINTED_CCP[name]
    assert np.mean(bounds) == pytest.approx(mean, rel=0.03)
    assert 0.7 < np.std(bounds, ddof=1) / std < 1.4


def test_choices_of_a_protocol():
    rows, scale = Protocol("min-max").prepare(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    np.testing.assert_array_equal(rows, [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    assert scale is False
    assert Protocol(cost="1/(m lambda)").lambdas(np.array([2.0]), 100) == pytest.approx([200.0])
    with pytest.raises(ValueError, match="unknown cost '1/2'"):
        Protocol(cost="1/2")
    for arguments in (("iris",), ("wdbc", 0), ("wdbc", 1991), ("wdbc", 2.0)):
        with pytest.raises((ValueError, TypeError), match=r"unknown name 'iris'|H must be"):
            profile_risks(*arguments)
