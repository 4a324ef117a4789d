"""`rows_needed` against exact binomial sums and simulation; the saw-tooth; the inequality behind it."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta, binom

from pacbayes import rows_needed
from pacbayes.bounds import chances
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial import binomial_upper

# error, target, delta, chance
SETTINGS = [
    (0.05, 0.08, 0.05, 0.8),
    (0.0, 0.02, 0.05, 0.8),
    (0.01, 0.03, 0.05, 0.9),
    (0.1, 0.2, 0.01, 0.95),
    (0.3, 0.5, 0.1, 0.5),
    (0.5, 0.9, 0.05, 0.8),
    (0.05, 0.3, 0.05, 0.2),
    (0.9, 0.99, 0.05, 0.8),
    (0.2, 0.25, 0.2, 0.6),
    (0.001, 0.02, 0.05, 0.8),
    (0.05, 0.06, 0.05, 0.05),
    (0.02, 0.05, 0.001, 0.99),
    (0.5, 0.6, 0.6, 0.05),
    (0.05, 0.9, 0.9, 0.9),
]


def chance_by_quantiles(m, error, target, delta):
    """With SciPy's quantiles of the Beta distribution as limits, and its binomial distribution: nothing of ours."""
    k = np.arange(m)
    passes = np.flatnonzero(beta.ppf(1 - delta, k + 1, m - k) <= target)
    return binom.cdf(passes[-1], m, error) if passes.size else 0.0


@pytest.mark.parametrize(("error", "target", "delta", "chance"), SETTINGS)
def test_from_there_on_the_chance_stays_and_just_before_it_does_not(error, target, delta, chance):
    rows = rows_needed(error, target, delta=delta, chance=chance)
    some = np.unique(np.concatenate([np.arange(rows, rows + 300), np.geomspace(rows, 6 * rows + 50, 100).astype(int)]))
    by_quantiles = [chance_by_quantiles(m, error, target, delta) for m in some.tolist()]
    assert min(by_quantiles) >= chance
    np.testing.assert_allclose(chances(some, error, target, delta=delta), by_quantiles, rtol=1e-9)
    if rows > 1:
        assert chance_by_quantiles(rows - 1, error, target, delta) < chance


@pytest.mark.parametrize(("error", "target", "delta", "chance"), SETTINGS[:12])
def test_by_simulation(error, target, delta, chance):
    rows, runs, rng = rows_needed(error, target, delta=delta, chance=chance), 4000, np.random.default_rng(0)

    def reached(m):
        errors = rng.binomial(m, error, runs)
        return np.count_nonzero(
            np.where(errors < m, beta.ppf(1 - delta, errors + 1, np.maximum(m - errors, 1)), 1.0) <= target
        )

    for m in (rows, rows + 17, 2 * rows):
        assert binom.cdf(reached(m), runs, chance) > 1e-4
    if rows > 1:
        fewer, expected = reached(rows - 1), float(chances([rows - 1], error, target, delta=delta)[0])
        assert expected < chance
        assert binom.cdf(fewer, runs, expected) > 1e-4
        assert binom.sf(fewer - 1, runs, expected) > 1e-4


def test_the_first_number_of_rows_that_has_the_chance_is_not_enough():
    """The planted fault: a search upwards stops at the first tooth that reaches it."""
    rows = rows_needed(0.05, 0.08)
    first = int(np.flatnonzero(chances(np.arange(1, 1000), 0.05, 0.08) >= 0.8)[0]) + 1
    assert first < rows
    assert chances(np.arange(first, rows), 0.05, 0.08).min() < 0.8
    assert chances(np.arange(rows, 20 * rows), 0.05, 0.08).min() >= 0.8


@pytest.mark.parametrize("seed", range(3))
def test_against_all_numbers_of_rows_one_by_one(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        error = float(rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 0.9)]))
        target = float(rng.uniform(error + 0.05, 1.0))
        delta, chance = float(rng.choice([0.001, 0.05, 0.4])), float(rng.uniform(0.02, 0.98))
        rows = rows_needed(error, target, delta=delta, chance=chance)
        every = np.arange(1, 3 * rows + 100)
        low = np.flatnonzero(chances(every, error, target, delta=delta) < chance)
        assert rows == (1 if low.size == 0 else every[low[-1]] + 1)


def test_many_rows():
    rows = rows_needed(0.05, 0.0502)
    some = np.concatenate([np.arange(rows, rows + 3000), np.geomspace(rows, 4 * rows, 500).astype(int)])
    assert chances(some, 0.05, 0.0502).min() >= 0.8
    assert chances([rows - 1], 0.05, 0.0502)[0] < 0.8
    assert 7e6 < rows < 8e6


def test_edges():
    assert rows_needed(0.3, 1.0) == 1
    assert chances([1, 5], 0.3, 1.0).tolist() == [1.0, 1.0]
    assert rows_needed(0.0, 0.05, chance=0.999) == 59
    assert chances([58, 59], 0.0, 0.05).tolist() == [0.0, 1.0]
    # At a tie the limit is rounded up, and above the target.
    assert rows_needed(0.0, 0.5, delta=0.125) == 4
    assert binomial_upper(0, 3, 0.125) > 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"error": 0.05, "target": 0.05}, r"target must be above error = 0\.05, and at most 1, got 0\.05"),
        ({"error": 0.05, "target": 1.2}, "target must be above"),
        ({"error": -0.1, "target": 0.2}, r"error must lie in \[0, 1\]"),
        ({"error": float("nan"), "target": 0.2}, r"error must lie in \[0, 1\]"),
        ({"error": 0.1, "target": float("nan")}, "target must be above"),
        ({"error": 0.1, "target": 0.2, "chance": 1.0}, "chance must be strictly between 0 and 1"),
        ({"error": 0.1, "target": 0.2, "chance": 0.0}, "chance must be strictly between 0 and 1"),
        ({"error": 0.1, "target": 0.2, "delta": 0.0}, "delta must be strictly between 0 and 1"),
        ({"error": 0.1, "target": 0.1 + 1e-9}, "target must be farther from error"),
    ],
)
def test_wrong_arguments(arguments, said):
    with pytest.raises(ValueError, match=said):
        rows_needed(**arguments)
    with pytest.raises(TypeError, match="error must be a number"):
        rows_needed("0.05", 0.1)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 57, 400])
def test_the_inequality_of_zubkov_and_serov(m):
    """What the upper end of the search rests on, enumerated: P(Bin(m, p) <= k) between C(k) and C(k + 1)."""
    k = np.arange(m + 1)
    for p in (1e-4, 0.01, 0.2, 0.5, 0.73, 0.99):
        sizes = np.sqrt(2 * m * np.asarray(kl_divergence(k / m, p)))
        C = ndtr(np.sign(k / m - p) * sizes)
        tail = binom.cdf(k, m, p)
        assert (tail[1:-1] >= C[1:-1] - 1e-12).all()
        assert (tail[:-1] <= C[1:] + 1e-12).all()
