"""The constants ln I(m) by name of a distance: the paper's tables, the definition, the supremum over the risk."""

import math

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, log_constant
from pacbayes.bounds import get_distance

PAPER_LINEAR = {
    5: "1.85", 10: "3.43", 15: "6.36", 20: "11.78", 25: "21.81", 30: "40.41", 50: "475.79",
    100: "2.3e+05", 500: "5.9e+26", 700: "3e+37", 1000: "3.5e+53", 1020: "4.2e+54",
}  # fmt: skip
PAPER_SQUARED = {10: "1.39", 50: "1.41", 100: "1.41", 200: "1.41", 500: "1.41", 1000: "1.41"}


def as_printed(value, printed):
    if "e" in printed:
        digits = len(printed.split("e")[0].replace(".", "")) - 1
        return f"{value:.{digits}e}"
    return f"{value:.2f}"


@pytest.mark.parametrize(("m", "printed"), PAPER_LINEAR.items())
def test_paper_table_linear_is_at_058(m, printed):
    value = math.exp(get_distance("linear").log_moment(m, 0.58))
    assert as_printed(value, printed) == printed
    assert value < math.exp(log_constant("linear", m))  # the supremum is at 1/(e-1) = 0.58198


@pytest.mark.parametrize(("m", "printed"), PAPER_SQUARED.items())
def test_paper_table_squared(m, printed):
    assert as_printed(math.exp(log_constant("squared", m)), printed) == printed


@pytest.mark.parametrize("m", [1, 2, 3, 7, 15, 16, 17, 50, 99, 100, 101, 300, 1028])
@pytest.mark.parametrize("distance", ["kl", "pinsker", "squared", "linear"])
@pytest.mark.parametrize("kind", ["exact", "paper"])
def test_against_the_definition(distance, m, kind):
    excess = mp.mpf(log_constant(distance, m, kind)) - oracles.log_constant(distance, m, kind)
    assert 0 <= excess < 2e-12


@pytest.mark.parametrize("m", [1028, 10**5, 10**7, 10**9, 2**53])
@pytest.mark.parametrize("kind", ["exact", "paper"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_finite_where_the_paper_has_nan(distance, m, kind):
    assert 0 < log_constant(distance, m, kind) < math.inf


@pytest.mark.parametrize("distance", DISTANCES)
def test_supremum_over_a_fine_grid_for_all_m_up_to_200(distance):
    risks = np.concatenate([[0.0, 1.0, 1 / (math.e - 1)], np.linspace(0.001, 0.999, 250)])
    for m in range(1, 201):
        largest = float(get_distance(distance).log_moment(m, risks).max())
        claimed = log_constant(distance, m)
        assert largest <= claimed + 1e-13  # log_moment is not rounded down; the oracle's test has no such allowance
        # The supremum is claimed for all of them, so one percent less is too small somewhere.
        assert largest > claimed - math.log(1.01)


@pytest.mark.parametrize("distance", DISTANCES)
def test_paper_constants_are_valid_too(distance):
    # All m for which the exact constant is not itself below the paper's by a proof: xi(m) <= 2 sqrt(m).
    for m in range(2, 400):
        assert log_constant(distance, m, "exact") <= log_constant(distance, m, "paper") + 2e-12


def test_constant_is_named_as_in_bound():
    assert log_constant("kl", 100, constant="paper") == get_distance("kl").log_constant(100, constant="paper")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("kl", 0), ValueError, "m must be at least 1, got 0"),
        (("kl", -3), ValueError, "m must be at least 1"),
        (("kl", 2.5), TypeError, "m must be an integer"),
        (("kl", True), TypeError, "m must be an integer"),
        (("kl", "10"), TypeError, "m must be an integer"),
        (("euclid", 10), ValueError, "unknown distance 'euclid'; known are kl, pinsker, ch, linear, squared"),
        ((3, 10), TypeError, "distance must be a string"),
        (("kl", 10, "best"), ValueError, "unknown constant 'best'; known are exact, paper"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        log_constant(*arguments)
