"""Calibration: optimality against SciPy, valid probabilities from any scores, independence of the batch."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from pacbayes.ensemble import calibration as module
from pacbayes.ensemble.calibration import (
    DECISIONS,
    GRID,
    KINDS,
    LABELS,
    PAIRS,
    PROBABILITIES,
    Calibration,
    calibrate,
)


def informative_scores(kind, k, n=200, seed=0):
    """Informative scores, and the classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), codes] += 1.5
    if kind == LABELS:
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
    """Scores per class, row by row."""
    if kind == PROBABILITIES:
        return np.log((n * scores + 1 / k) / (n + 1))
    if k == 2:
        return np.hstack([-scores / 2, scores / 2])
    if kind == DECISIONS:
        return scores
    result = np.empty((len(scores), k))
    for row, decisions in enumerate(scores):
        beats = np.full((k, k), np.nan)
        for d, (i, j) in zip(decisions, combinations(range(k), 2), strict=True):
            beats[j, i], beats[i, j] = expit(pair_slope * d), expit(-pair_slope * d)
        p = np.array([1 / (sum(1 / beats[c, j] for j in range(k) if j != c) - (k - 2)) for c in range(k)])
        result[row] = np.log(p / p.sum())
    return result


def cross_entropy(slope, bias, s, y):
    return -(y * log_softmax(slope * s + bias, axis=1)).sum()


# -- optimality ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PAIRS, DECISIONS, PROBABILITIES])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_scipy_finds_no_smaller_cross_entropy(kind, k):
    scores, codes = informative_scores(kind, k, 300, seed=k)
    calibration, log_loss = calibrate(kind, scores, codes, k)
    s, y = per_class(kind, scores, k, 300, calibration.pair_slope), targets(codes, k)

    def loss(v):
        return cross_entropy(v[0], np.append(0, v[1:]), s, y)

    minimum = minimize(loss, minimize(loss, np.zeros(k), tol=1e-7).x, method="Powell", tol=1e-13).fun
    bias = calibration.bias - calibration.slope * calibration.shift
    assert calibration.slope > 0
    assert cross_entropy(calibration.slope, bias, s, y) == pytest.approx(minimum, abs=1e-9, rel=0)
    assert calibration.bias.sum() == pytest.approx(0, abs=1e-12)
    # The log-loss is that of the classes, not of the smoothed targets.
    probabilities = softmax(calibration.slope * (s - calibration.shift) + calibration.bias, axis=1)
    assert log_loss == pytest.approx(-np.log(probabilities[np.arange(300), codes]).sum(), rel=1e-12)
    np.testing.assert_allclose(calibration(scores), probabilities, atol=0.51 * GRID, rtol=0)


def test_slope_of_pairs_is_pooled():
    k = 4
    scores, codes = informative_scores(PAIRS, k, 150, seed=3)
    counts = np.bincount(codes)

    def loss(slope):
        total = 0.0
        for column, (i, j) in enumerate(combinations(range(k), 2)):
            for d, code in zip(scores[:, column], codes, strict=True):
                if code in (i, j):
                    t = 1 - 1 / (counts[j] + 2) if code == j else 1 / (counts[i] + 2)
                    total -= t * np.log(expit(slope * d)) + (1 - t) * np.log(expit(-slope * d))
        return total

    calibration = calibrate(PAIRS, scores, codes, k)[0]
    assert calibration.pair_slope == pytest.approx(minimize(lambda v: loss(v[0]), [1.0], tol=1e-9).x[0], rel=1e-6)


@pytest.mark.parametrize("k", [3, 4, 8])
def test_coupling(k):
    scores = 3.0 * np.random.default_rng(k).normal(size=(20, k * (k - 1) // 2))
    probabilities = Calibration(PAIRS, 20, 1.0, np.zeros(k), np.zeros(k), pair_slope=0.7)(scores)
    np.testing.assert_allclose(probabilities, np.exp(per_class(PAIRS, scores, k, 20, 0.7)), atol=0.51 * GRID, rtol=0)


# -- predicted labels ------------------------------------------------------------------------------------------------


def test_labels_are_counted():
    y_pred, codes = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 3.0]), np.array([0, 0, 1, 1, 1, 2])
    calibration, log_loss = calibrate(LABELS, y_pred[:, None], codes, 3)
    share = np.array([2 + 1 / 3, 3 + 1 / 3, 1 + 1 / 3]) / 7
    cells = np.array([[2, 1, 0], [0, 2, 0], [0, 0, 0], [0, 0, 1]])
    table = (cells + share) / np.array([[4], [3], [1], [2]])
    np.testing.assert_allclose(calibration.table, table, rtol=1e-15)
    assert log_loss == pytest.approx(-np.log(table[[0, 0, 0, 1, 1, 3], codes]).sum(), rel=1e-14)
    for other in (3.0, 4.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e300):
        np.testing.assert_array_equal(calibration(np.array([[other]])), calibration(np.array([[3.0]])))
    np.testing.assert_allclose(calibration(np.arange(4.0)[:, None]), table, atol=0.51 * GRID, rtol=0)


# -- degenerate scores -----------------------------------------------------------------------------------------------


def single_nonzero(scores):
    result = np.zeros_like(scores)
    result[0, 0] = 5.0
    return result


def some_not_finite(scores):
    result = scores.copy()
    result[::3], result[1::3, 0], result[2::9] = np.nan, np.inf, -np.inf
    return result


SCORES = {
    "informative": lambda scores: scores,
    "constant": lambda scores: np.full_like(scores, 0.1),
    "zero": np.zeros_like,
    "opposite": np.negative,
    "huge": lambda scores: np.where(scores > 0.5, 1e300, -1e300),
    "largest": lambda scores: np.where(scores > 0.5, np.finfo(float).max, np.finfo(float).min),
    "subnormal": lambda scores: scores * 1e-310,
    "tiny": lambda scores: scores * 1e-200,
    "large offset": lambda scores: 1e12 + 1e-3 * scores,
    "last bits of a large offset": lambda scores: 1e12 + 1e-4 * np.sign(scores - 0.5),
    "single nonzero": single_nonzero,
    "single huge": lambda scores: scores + 1e250 * single_nonzero(scores),
    "NaN": lambda scores: np.full_like(scores, np.nan),
    "some not finite": some_not_finite,
    "infinite": lambda scores: np.where(scores > 0.5, np.inf, -np.inf),
}
CODES = {
    "all rows": lambda codes, k: codes,
    "ten rows": lambda codes, k: codes[:10],
    "one row": lambda codes, k: codes[:1],
    "class with one row": lambda codes, k: np.where(np.arange(codes.size) == 3, k - 1, codes % (k - 1)),
    "last class without rows": lambda codes, k: codes % (k - 1),
    "first class without rows": lambda codes, k: codes % (k - 1) + 1,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("rows", CODES)
def test_any_scores_give_probabilities(kind, k, rows):
    original, codes = informative_scores(kind, k)
    codes = CODES[rows](codes, k)
    for name, scores in SCORES.items():
        values = scores(original[: codes.size])
        with np.errstate(all="raise"):
            calibration, log_loss = calibrate(kind, values, codes, k)
            extreme = np.array([[-np.inf], [np.inf], [np.nan], [-1e308], [1e308], [5e-324]]) * np.ones(values.shape[1])
            results = calibration(values), calibration(extreme)
        assert 0 <= log_loss < np.inf, name
        for probabilities in results:
            assert ((probabilities >= 0) & (probabilities <= 1)).all(), name
            np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=k * GRID)


@pytest.mark.parametrize("kind", [PAIRS, DECISIONS, PROBABILITIES])
def test_perfect_scores_of_imbalanced_classes(kind):
    """Newton's first step leads far beyond the minimum, where the loss is flat."""
    for first in (*range(1, 60), *range(940, 1000)):
        codes = np.repeat([0, 1], [first, 1000 - first])
        scores = np.stack([1.0 - codes, codes], axis=1) if kind == PROBABILITIES else 2.0 * codes[:, None] - 1
        np.testing.assert_allclose(calibrate(kind, scores, codes, 2)[0](scores), targets(codes, 2), atol=GRID)


def test_outliers_are_clipped():
    scores, codes = informative_scores(DECISIONS, 2, 500)
    without = calibrate(DECISIONS, scores, codes, 2)[0]
    results = []
    for outlier in (1e250, np.inf):
        scores[codes.argmax()] = outlier
        calibration = calibrate(DECISIONS, scores, codes, 2)[0]
        assert calibration.slope < without.slope
        results.append((calibration.slope, *calibration.bias))
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 7, 17])
@pytest.mark.parametrize("rounded", [True, False])
def test_bits_do_not_depend_on_the_batch(kind, k, rounded, monkeypatch):
    if not rounded:
        # Too fine to round any number.
        monkeypatch.setattr(module, "GRID", 2.0**-200)
    scores, codes = informative_scores(kind, k, 203)
    calibration = calibrate(kind, scores, codes, k)[0]
    scores[::50], scores[7], scores[8] = np.nan, np.inf, -1e300
    expected = calibration(scores)
    assert expected.flags.c_contiguous
    for size in (1, 7):
        batches = [calibration(scores[i : i + size]) for i in range(0, 203, size)]
        assert np.concatenate(batches).tobytes() == expected.tobytes()
    for other in (calibration(np.asfortranarray(scores)), calibration(scores[::-1])[::-1]):
        assert other.tobytes() == expected.tobytes()
    order = np.random.default_rng(0).permutation(203)
    assert calibration(scores[order]).tobytes() == expected[order].tobytes()
    assert calibration(scores[:0]).shape == (0, k)
    if rounded:
        np.testing.assert_array_equal(expected / GRID, np.rint(expected / GRID))
