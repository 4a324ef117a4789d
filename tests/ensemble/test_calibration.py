"""Calibration: the same maps as others find, sane ones from any scores, and the same bits in any company."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from pacbayes.ensemble import calibration as module
from pacbayes.ensemble.calibration import (
    ANSWERS,
    DECISIONS,
    GRID,
    KINDS,
    PAIRS,
    PROBABILITIES,
    Calibration,
    calibrate,
)


def made(kind, k, n=200, seed=0):
    """Return scores that know something of the classes, and the classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), codes] += 1.5
    if kind == ANSWERS:
        return np.where(rng.random(n) < 0.1, k, logits.argmax(axis=1)).astype(float)[:, None], codes
    if kind == PROBABILITIES:
        return softmax(logits, axis=1), codes
    if kind == PAIRS or k == 2:
        return np.stack([logits[:, j] - logits[:, i] for i, j in combinations(range(k), 2)], axis=1), codes
    return logits, codes


def targets(codes, k):
    counts = np.bincount(codes, minlength=k)
    table = np.empty((codes.size, k))
    for i, code in enumerate(codes):
        table[i] = 1 / (counts[code] + 2) / (k - 1)
        table[i, code] = 1 - 1 / (counts[code] + 2)
    return table


def per_class(kind, scores, k, n, pair_slope=1.0):
    """Return the scores per class as defined, row by row."""
    if kind == PROBABILITIES:
        return np.log((n * scores + 1 / k) / (n + 1))
    if k == 2:
        return np.hstack([-scores / 2, scores / 2])
    if kind == DECISIONS:
        return scores
    found = np.empty((len(scores), k))
    for row, decisions in enumerate(scores):
        beats = np.full((k, k), np.nan)
        for d, (i, j) in zip(decisions, combinations(range(k), 2), strict=True):
            beats[j, i], beats[i, j] = expit(pair_slope * d), expit(-pair_slope * d)
        p = np.array([1 / (sum(1 / beats[c, j] for j in range(k) if j != c) - (k - 2)) for c in range(k)])
        found[row] = np.log(p / p.sum())
    return found


def cross_entropy(slope, bias, s, wanted):
    return -(wanted * log_softmax(slope * s + bias, axis=1)).sum()


# -- the same as others find -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PAIRS, DECISIONS, PROBABILITIES])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_optimiser_finds_a_smaller_cross_entropy(kind, k):
    scores, codes = made(kind, k, 300, seed=k)
    found, log_loss = calibrate(kind, scores, codes, k)
    s, wanted = per_class(kind, scores, k, 300, found.pair_slope), targets(codes, k)
    own = cross_entropy(found.slope, found.bias - found.slope * found.shift, s, wanted)
    oracle = minimize(lambda v: cross_entropy(v[0], np.append(0, v[1:]), s, wanted), np.zeros(k), tol=1e-7)
    oracle = minimize(
        lambda v: cross_entropy(v[0], np.append(0, v[1:]), s, wanted), oracle.x, method="Powell", tol=1e-13
    )
    assert found.slope > 0
    assert own == pytest.approx(oracle.fun, abs=1e-9, rel=0)
    assert found.bias.sum() == pytest.approx(0, abs=1e-12)
    # The loss is that of the true classes, not of the targets.
    chances = softmax(found.slope * (s - found.shift) + found.bias, axis=1)
    assert log_loss == pytest.approx(-np.log(chances[np.arange(300), codes]).sum(), rel=1e-12)
    np.testing.assert_allclose(found(scores), chances, atol=0.51 * GRID, rtol=0)


def test_the_slope_of_pairs_is_pooled_over_the_rows_of_their_classes():
    k = 4
    scores, codes = made(PAIRS, k, 150, seed=3)
    counts = np.bincount(codes)

    def loss(slope):
        total = 0.0
        for column, (i, j) in enumerate(combinations(range(k), 2)):
            for d, code in zip(scores[:, column], codes, strict=True):
                if code in (i, j):
                    t = 1 - 1 / (counts[j] + 2) if code == j else 1 / (counts[i] + 2)
                    total -= t * np.log(expit(slope * d)) + (1 - t) * np.log(expit(-slope * d))
        return total

    found = calibrate(PAIRS, scores, codes, k)[0]
    assert found.pair_slope == pytest.approx(minimize(lambda v: loss(v[0]), [1.0], tol=1e-9).x[0], rel=1e-6)


@pytest.mark.parametrize("k", [3, 4, 8])
def test_coupling(k):
    scores = 3.0 * np.random.default_rng(k).normal(size=(20, k * (k - 1) // 2))
    found = Calibration(PAIRS, 20, 1.0, np.zeros(k), np.zeros(k), pair_slope=0.7)(scores)
    np.testing.assert_allclose(found, np.exp(per_class(PAIRS, scores, k, 20, 0.7)), atol=0.51 * GRID, rtol=0)


# -- answers ---------------------------------------------------------------------------------------------------------


def test_answers_are_counted():
    said, codes = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 3.0]), np.array([0, 0, 1, 1, 1, 2])
    found, log_loss = calibrate(ANSWERS, said[:, None], codes, 3)
    share = np.array([2 + 1 / 3, 3 + 1 / 3, 1 + 1 / 3]) / 7
    cells = np.array([[2, 1, 0], [0, 2, 0], [0, 0, 0], [0, 0, 1]])
    table = (cells + share) / np.array([[4], [3], [1], [2]])
    np.testing.assert_allclose(found.table, table, rtol=1e-15)
    assert log_loss == pytest.approx(-np.log(table[[0, 0, 0, 1, 1, 3], codes]).sum(), rel=1e-14)
    # What is no number of a class is no class.
    for other in (3.0, 4.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e300):
        np.testing.assert_array_equal(found(np.array([[other]])), found(np.array([[3.0]])))
    np.testing.assert_allclose(found(np.arange(4.0)[:, None]), table, atol=0.51 * GRID, rtol=0)


# -- scores of all sorts ---------------------------------------------------------------------------------------------


def one_is_different(scores):
    found = np.zeros_like(scores)
    found[0, 0] = 5.0
    return found


def not_finite(scores):
    found = scores.copy()
    found[::3], found[1::3, 0], found[2::9] = np.nan, np.inf, -np.inf
    return found


ODD = {
    "usual": lambda scores: scores,
    "constant": lambda scores: np.full_like(scores, 0.1),
    "zero": np.zeros_like,
    "opposite": np.negative,
    "huge": lambda scores: np.where(scores > 0.5, 1e300, -1e300),
    "largest": lambda scores: np.where(scores > 0.5, np.finfo(float).max, np.finfo(float).min),
    "subnormal": lambda scores: scores * 1e-310,
    "tiny": lambda scores: scores * 1e-200,
    "a bit around a huge offset": lambda scores: 1e12 + 1e-3 * scores,
    "the last bits of a huge offset": lambda scores: 1e12 + 1e-4 * np.sign(scores - 0.5),
    "one is different": one_is_different,
    "one is huge": lambda scores: scores + 1e250 * one_is_different(scores),
    "none is finite": lambda scores: np.full_like(scores, np.nan),
    "some are not finite": not_finite,
    "infinite": lambda scores: np.where(scores > 0.5, np.inf, -np.inf),
}
CODES = {
    "usual": lambda codes, k: codes,
    "ten rows": lambda codes, k: codes[:10],
    "one row": lambda codes, k: codes[:1],
    "a class with one row": lambda codes, k: np.where(np.arange(codes.size) == 3, k - 1, codes % (k - 1)),
    "a class without rows": lambda codes, k: codes % (k - 1),
    "the first without rows": lambda codes, k: codes % (k - 1) + 1,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("rows", CODES)
@pytest.mark.parametrize("odd", ODD)
def test_probabilities_from_any_scores(kind, k, rows, odd):
    """Warnings are errors; nor do underflows matter where the caller's NumPy raises."""
    scores, codes = made(kind, k)
    codes = CODES[rows](codes, k)
    scores = ODD[odd](scores[: codes.size])
    with np.errstate(all="raise"):
        found, log_loss = calibrate(kind, scores, codes, k)
        chances = found(scores)
        beyond = found(
            np.array([[-np.inf], [np.inf], [np.nan], [-1e308], [1e308], [5e-324]]) * np.ones(scores.shape[1])
        )
    assert np.isfinite(log_loss)
    assert log_loss >= 0
    for some in (chances, beyond):
        assert ((some >= 0) & (some <= 1)).all()
        np.testing.assert_allclose(some.sum(axis=1), 1, atol=k * GRID)


@pytest.mark.parametrize("kind", [PAIRS, DECISIONS, PROBABILITIES])
def test_perfect_scores_of_unequal_classes(kind):
    """Newton's first step leads far beyond the least loss, where it is flat."""
    for first in (*range(1, 60), *range(940, 1000)):
        codes = np.repeat([0, 1], [first, 1000 - first])
        scores = np.stack([1.0 - codes, codes], axis=1) if kind == PROBABILITIES else 2.0 * codes[:, None] - 1
        np.testing.assert_allclose(calibrate(kind, scores, codes, 2)[0](scores), targets(codes, 2), atol=GRID)


def test_an_outlier_hides_nothing():
    scores, codes = made(DECISIONS, 2, 500)
    expected = calibrate(DECISIONS, scores, codes, 2)[0]
    scores[codes.argmax()] = 1e250
    found = calibrate(DECISIONS, scores, codes, 2)[0]
    assert found.slope < expected.slope
    scores[codes.argmax()] = np.inf
    again = calibrate(DECISIONS, scores, codes, 2)[0]
    assert (again.slope, *again.bias) == (found.slope, *found.bias)


# -- the same bits in any company ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 7, 17])
@pytest.mark.parametrize("rounded", [True, False])
def test_rows_have_the_same_bits_whichever_stand_beside_them(kind, k, rounded, monkeypatch):
    if not rounded:
        # So fine that it changes no number.
        monkeypatch.setattr(module, "GRID", 2.0**-200)
    scores, codes = made(kind, k, 203)
    found = calibrate(kind, scores, codes, k)[0]
    scores[::50], scores[7], scores[8] = np.nan, np.inf, -1e300
    together = found(scores)
    alone = np.concatenate([found(scores[i : i + 1]) for i in range(203)])
    sevens = np.concatenate([found(scores[i : i + 7]) for i in range(0, 203, 7)])
    order = np.random.default_rng(0).permutation(203)
    assert together.flags.c_contiguous
    for other in (alone, sevens, found(np.asfortranarray(scores)), found(scores[::-1])[::-1]):
        assert other.tobytes() == together.tobytes()
    assert found(scores[order]).tobytes() == together[order].tobytes()
    assert found(scores[:0]).shape == (0, k)
    if rounded:
        np.testing.assert_array_equal(together / GRID, np.rint(together / GRID))
