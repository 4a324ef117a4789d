"""Thresholds of prediction sets, and certificates from a table of probabilities."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from pacbayes import PredictionSet, certify_sets
from pacbayes.certificates.sets import max_misses


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("m", [1, 10, 28, 29, 30, 200, 5000])
def test_misses_are_a_binomial_quantile(m, coverage, delta):
    misses = max_misses(m, coverage, delta)
    assert misses == -1 or binom.cdf(misses, m, 1 - coverage) <= delta * (1 + 1e-9)
    assert binom.cdf(misses + 1, m, 1 - coverage) > delta * (1 - 1e-9)


def table(n, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet([0.5] * n_classes, size=n)
    y = (probabilities.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    return y, probabilities


def test_sets_reach_the_threshold_or_are_the_most_probable_class():
    y, probabilities = table(300)
    result = certify_sets(y, probabilities, range(4)).decision
    v = np.sort(np.rint(probabilities[np.arange(300), y] * 2**20) / 2**20)
    assert result.thresholds == (v[max_misses(300, 0.9, 0.05)],) * 4
    sets = result.predict_set(probabilities)
    assert sets[np.arange(300), probabilities.argmax(axis=1)].all()
    assert (sets.sum(axis=1) == 1).any()
    assert result.mean_size == sets.sum() / 300
    assert sum(result.covered) == np.count_nonzero(sets[np.arange(300), y])
    means = [sets[y == code].sum(axis=1).mean() for code in range(4)]
    assert result.mean_sizes == pytest.approx(means)
    assert result.sizes == tuple(np.bincount(sets.sum(axis=1), minlength=5))


def test_classes_with_few_rows_are_in_every_set_and_take_no_share():
    y, probabilities = table(400)
    keep = (y != 3) | (np.cumsum(y == 3) <= 20)
    args = (y[keep], probabilities[keep], ["a", "b", "c", "d"])
    names = np.array(["a", "b", "c", "d"])[y[keep]]
    result = certify_sets(names, *args[1:], by_class=True).decision
    assert result.in_every_set == ("d",)
    assert result.predict_set(probabilities)[:, 3].all()
    alone = certify_sets(names[names == "a"], probabilities[keep][names == "a"], args[2], delta=0.05 / 3)
    assert result.thresholds[0] == alone.decision.thresholds[0]
    assert "of every class" in result.claim(0.05, "it")
    assert "Included in every set because of too few rows: 'd'." in result.details


def test_the_levels_of_the_classes_sum_to_delta():
    """With 35 rows, a class passes at the level 0.05, but not at 0.025: two thresholds at 0.05 would exceed delta."""
    probabilities = np.tile([0.6, 0.4], (135, 1))
    y = np.repeat([0, 1], [100, 35])
    result = certify_sets(y, probabilities, range(2), by_class=True).decision
    assert result.in_every_set == (1,)
    larger = certify_sets(np.append(y, 1), np.vstack([probabilities, probabilities[:1]]), range(2), by_class=True)
    assert larger.decision.in_every_set == ()


def test_too_few_rows():
    y, probabilities = table(28)
    certificate = certify_sets(y, probabilities, range(4))
    text = (
        "Every set contains every class: a coverage of 90.0 % requires at least 29 validation rows, but there are 28."
    )
    assert certificate.sentence == text
    assert (certificate.vacuous, certificate.decision.predict_set(probabilities).all()) == (True, True)
    assert certificate.summary_line == "No useful sets at a coverage of 90.0 %"
    assert certificate.observations == ()


def test_labels_without_a_column():
    y, probabilities = table(200)
    few, many = (np.where(np.arange(200) < number, 9, y) for number in (5, 60))
    assert certify_sets(few, probabilities, range(4)).decision.unknown == 5
    certificate = certify_sets(many, probabilities, range(4))
    assert certificate.sentence.endswith("too many validation rows have a class with a probability of 0.")
    assert certificate.decision.in_every_set == (0, 1, 2, 3)


def test_plain_values_are_json():
    y, probabilities = table(100)
    certificate = certify_sets(y, probabilities, np.arange(4), by_class=True)
    size = certificate.decision.mean_sizes[2]
    assert f"class 2: {size:.2f}" in certificate._repr_html_()
    values = json.loads(json.dumps(certificate.to_dict()))["decision"]
    assert values["required"] == {"coverage": 0.9, "by_class": True}
    assert sum(values["sizes"]) == values["m"] == 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coverage": 1.0}, "coverage must lie strictly between 0 and 1"),
        ({"by_class": 1}, "by_class must be True or False"),
        ({"probabilities": [[0.5, 0.5]]}, "a column for each of 4 classes"),
        ({"probabilities": np.full((100, 4), np.nan)}, r"probabilities must lie in \[0, 1\]"),
        ({"classes": [0, 1, 2, 2]}, "classes must be unique labels"),
        ({"y_true": [0, 1]}, "y_true"),
        ({"y_true": ["a"] * 100}, "y_true"),
        ({"y_true": [0, 7] * 50, "by_class": True}, "by_class=True, got 7: no set would contain it"),
        ({"probabilities": pd.DataFrame(np.ones((100, 4)), columns=[0, 2, 1, 3])}, r"columns \[0, 1, 2, 3\]"),
        ({"delta": 0}, "delta"),
    ],
)
def test_invalid_tables(change, message):
    y, probabilities = table(100)
    values = {"y_true": y, "probabilities": probabilities, "classes": range(4)} | change
    with pytest.raises((TypeError, ValueError), match=message):
        certify_sets(**values)


@pytest.mark.parametrize("rows", [[[0.2, 0.8]], [[0.5]], [0.1, 0.2, 0.3, 0.4], [[np.nan] * 4], [[30, 40, 20, 10]]])
def test_invalid_probabilities_of_new_rows(rows):
    y, probabilities = table(100)
    with pytest.raises(ValueError, match="probabilities must"):
        certify_sets(y, probabilities, range(4)).decision.predict_set(rows)


@pytest.mark.parametrize("by_class", [False, True])
def test_the_smallest_delta(by_class):
    y, probabilities = table(100)
    assert not certify_sets(y, probabilities, range(4), by_class=by_class, delta=5e-324).decision.passed


def test_no_monitor():
    y, probabilities = table(100)
    with pytest.raises(ValueError, match="certificate of PredictionSet"):
        certify_sets(y, probabilities, range(4)).monitor()


def test_equal_requirements_are_equal():
    assert PredictionSet(0.9) == PredictionSet() != PredictionSet(0.9, by_class=True)
