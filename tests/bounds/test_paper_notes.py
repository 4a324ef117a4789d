"""The errors of the paper about bounds that docs/paper-notes.md reports."""

import math

import mpmath as mp
import pytest
from tests import oracles

from pacbayes import kl_roots, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.distances import ch_root


def printed_ch_slope(R):
    """dr_CH/dR as the supplement prints it."""
    R = mp.mpf(R)
    root = mp.sqrt(729 * R**2 + mp.mpf(6615) / 8 * R + mp.mpf(208980) / 256)
    a, b = mp.mpf(1225) / 512 + mp.mpf(135) / 32 * R, mp.mpf(5) / 32 * root
    inner = mp.mpf(5) / 32 * (2 * R * 729 + mp.mpf(6615) / 8) / root

    def power(z):  # real cube root
        return mp.sign(z) * abs(z) ** (mp.mpf(1) / 3)

    return (power(a + b) ** -2 * (mp.mpf(135) / 32 + inner) + power(a - b) ** -2 * (mp.mpf(135) / 32 - inner)) / 3


def test_printed_slope_of_the_ch_root_misses_a_factor():
    R = 0.1
    numerical = mp.diff(oracles.ch_root, R, h=mp.mpf("1e-20"))
    assert ch_root(R)[1] == pytest.approx(float(numerical), rel=1e-12)
    assert float(numerical) == pytest.approx(0.95525, abs=5e-6)
    assert float(printed_ch_slope(R)) == pytest.approx(0.62396, abs=5e-6)


def test_ch_radicals_lose_digits_for_small_arguments():
    def radicals(R):
        root = math.sqrt(729 * R**2 + 6615 / 8 * R + 208980 / 256)
        a, b = 1225 / 512 + 135 / 32 * R, 5 / 32 * root
        return -5 / 8 + math.cbrt(a + b) + math.cbrt(a - b)

    truth = float(oracles.ch_root(1e-12))
    assert abs(radicals(1e-12) / truth - 1) > 1e-5
    assert abs(ch_root(1e-12)[0] / truth - 1) < 1e-15


CH_Q = [
    "0.038905393", "0.117691919", "0.034856483", "0.135564832", "0.039842634",
    "0.134196637", "0.293501960", "0.191581463", "0.007108130", "0.006750549",
]  # fmt: skip


def test_counterexample_to_convexity_of_ch_is_none():
    H, m, delta = 10, 40, mp.mpf("0.01")
    q = [mp.mpf(w) for w in CH_Q]
    log_i = oracles.log_constant("ch", m, "paper")
    K = mp.fsum(w * mp.log(H * w) for w in q)
    cross = mp.fsum(mp.log(H * w) for w in q) / H
    r = oracles.ch_root((K + log_i - mp.log(delta)) / (2 * m - 1))
    r_prime = oracles.ch_root((log_i - mp.log(delta)) / (2 * m - 1))
    left = 2 * mp.sqrt(r_prime) * mp.sqrt(r)
    R = (K + log_i - mp.log(delta)) / (2 * m - 1)
    right = mp.diff(oracles.ch_root, R, h=mp.mpf("1e-20")) * (cross - K) / (2 * m - 1) + 2 * r
    right_as_printed = printed_ch_slope(R) * (cross - K) / (2 * m - 1) + 2 * r
    assert [float(v) for v in (left, right, right_as_printed)] == pytest.approx([0.20807, 0.20119, 0.20534], abs=5e-6)
    assert left > right  # the paper prints 2.539717 < 2.541530


def bound_towards_one_classifier(distance, share, H, m, delta):
    """Bound at the mixture of the uniform prior with `share` of a point mass, for risks of zero.

    The risk is linear along the line, so it does not affect convexity.
    """
    s = share + (1 - share) / mp.mpf(H)
    K = s * mp.log(s * H) + (1 - s) * mp.log((1 - s) * H / (H - 1))
    return oracles.bound_from(distance, mp.mpf(0), K, m, delta, oracles.log_constant(distance, m, "paper"))


@pytest.mark.parametrize("distance", ["squared", "ch"])
def test_true_counterexamples_to_convexity(distance):
    H, m, delta = 10**6, 50, 0.01
    low, middle, high = (bound_towards_one_classifier(distance, mp.mpf(a), H, m, delta) for a in ("0.4", "0.5", "0.6"))
    assert middle > (low + high) / 2 + mp.mpf("1e-4")


def test_constant_of_ch_at_one_is_below_the_supremum():
    paper = 4 * (1 - math.exp(-float(oracles.ch_polynomial(mp.mpf(1) / 2))))
    assert paper == pytest.approx(0.9334, abs=5e-5)
    assert float(oracles.moment("ch", 1, mp.mpf(1) / 2)) > 1.304
    # ... and from m = 5 on it is above 2 sqrt(m), which is valid for ch as well.
    assert paper * 4 < 2 * math.sqrt(4)
    assert paper * 5 > 2 * math.sqrt(5)


def test_lemma_of_the_main_text_has_an_extra_factor_two():
    def moment(c):
        return float(
            mp.fsum(mp.binomial(10, k) * mp.exp(c * 10 * (mp.mpf(k) / 10 - 0.5) ** 2) for k in range(11)) / 2**10
        )

    assert f"{moment(1):.2f}" == "1.39"  # the supplement's table
    assert f"{moment(2):.2f}" == "2.57"  # the lemma as printed: Pinsker's moment


def test_supremum_of_the_linear_moment_is_not_at_058():
    linear, star = get_distance("linear"), 1 / (math.e - 1)
    assert linear.log_moment(1000, star) > linear.log_moment(1000, 0.58)
    assert linear.log_moment(1000, star) == pytest.approx(log_constant("linear", 1000), rel=1e-13)
    assert log_constant("linear", 1) == pytest.approx(0.12330156, abs=5e-9)


def test_kl_roots_near_one_are_not_lost_to_an_epsilon():
    # The paper's bisection starts from eps and 1 - eps and fails if x exceeds kl at both ends.
    lower, upper = kl_roots(0.5, 20.0)
    assert 0 < lower < 1e-16
    assert 1 - 2**-52 < upper <= 1
