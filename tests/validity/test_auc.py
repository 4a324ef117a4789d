"""Bounds on the AUC hold, by simulation with normal scores, whose AUC is known; a planted fault."""

import numpy as np
import pytest
from scipy.stats import norm

from pacbayes import certify_predictions
from pacbayes.bounds.binomial import binomial_upper

DELTA = 0.1
# Distances of the classes' scores from those of the first class, class shares, rows, and the step of rounded scores.
WORLDS = {
    "two": ((0.0, 1.5), (0.5, 0.5), 200, 0.0),
    "unequal": ((0.0, 1.5), (0.85, 0.15), 200, 0.0),
    "rare": ((0.0, 2.0), (0.97, 0.03), 200, 0.0),
    "ties": ((0.0, 1.0), (0.7, 0.3), 200, 1.0),
    "thirty rows": ((0.0, 1.5), (0.6, 0.4), 30, 0.0),
    "useless": ((0.0, 0.0), (0.75, 0.25), 200, 0.0),
    "five": ((0.0, 0.3, 0.6, 1.0, 2.0), (0.2,) * 5, 200, 0.0),
    "twenty": (tuple(np.arange(20) / 8), (0.05,) * 20, 400, 0.0),
}


def draw(name, rng, n=None):
    """Labels, and a normal score of every class, higher for rows of the class."""
    distances, shares, rows, step = WORLDS[name]
    y = rng.choice(len(shares), n or rows, p=shares)
    scores = rng.normal(size=(y.size, len(shares))) + (y[:, None] == np.arange(len(shares))) * np.array(distances)
    if len(shares) == 2:
        scores[:, 0] = -scores[:, 1]
    return y, np.round(scores / step) * step if step else scores


def true_auc(name, c):
    """AUC of a class against the rest, of its score; with ties, those of rounded normal scores."""
    distances, _, _, step = WORLDS[name]
    if not step:
        return norm.cdf(distances[c] / np.sqrt(2.0))
    places = np.arange(-12, 13) * step
    negative, positive = (np.diff(norm.cdf(np.append(places, 13) - step / 2 - shift)) for shift in (0.0, distances[c]))
    return float((positive * (negative.cumsum() - negative / 2)).sum())


def bounds_of(y, scores):
    requested = {"metrics": ("auc",), "metrics_share": 0.5, "delta": DELTA}
    certificate = certify_predictions(y, y, y_score=scores, **requested)
    return {metric.of: metric.bound for metric in certificate.metrics}


def failures(name, draws, sort):
    failed = positive = 0
    for seed in range(draws):
        y, scores = draw(name, np.random.default_rng([seed, 5]))
        if np.unique(y).size < len(WORLDS[name][1]):
            continue
        order = np.lexsort([scores[:, -1], y]) if sort else np.arange(y.size)
        bounds = bounds_of(y[order], scores[order])
        failed += any(bound > true_auc(name, c) for c, bound in bounds.items())
        positive += min(bounds.values()) > 0.0
    return failed, positive


def allowed(draws):
    """Number of failures two standard deviations above the expected one, at the share of the metrics."""
    share = 0.5 * DELTA
    return share * draws + 2 * np.sqrt(draws * share * (1 - share))


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORLDS)
def test_bounds_hold_jointly_for_all_classes(name, draws):
    failed, positive = failures(name, draws, sort=False)
    assert failed <= allowed(draws)
    assert positive > draws / 2


@pytest.mark.parametrize("name", ["two", "five"])
def test_bounds_hold_for_rows_sorted_by_class_and_score(name):
    assert failures(name, 60, sort=True)[0] <= allowed(60)


def test_pairs_in_the_order_of_sorted_rows_are_detected():
    """The j-th positive row with the j-th negative one: rows that are sorted by score are not independent pairs."""
    failed = 0
    for seed in range(60):
        y, scores = draw("two", np.random.default_rng([seed, 5]))
        order = np.lexsort([scores[:, 1], y])
        y, scores = y[order], scores[order, 1]
        n = min(np.bincount(y))
        wrong = np.count_nonzero(scores[y == 1][:n] <= scores[y == 0][:n])
        failed += 1.0 - binomial_upper(wrong, n, 0.5 * DELTA) > true_auc("two", 1)
    assert failed > 2 * allowed(60)
