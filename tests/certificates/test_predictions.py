"""Certificates from predictions, compared with independent computations; invalid input."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.metrics import f1_score, precision_score, recall_score

from pacbayes import Cost, certify_predictions
from pacbayes.bounds.bets import bet_upper

RNG = np.random.default_rng(0)
Y_TRUE = RNG.integers(0, 3, 200)
Y_PRED = np.where(RNG.random(200) < 0.2, (Y_TRUE + 1) % 3, Y_TRUE)


def test_bounds_are_exact():
    certificate = certify_predictions(Y_TRUE, Y_PRED, metrics=("recall", "precision", "f1"))
    wrong = int((Y_TRUE != Y_PRED).sum())
    assert certificate.bound == pytest.approx(beta.ppf(1 - 0.04, wrong + 1, 200 - wrong), rel=1e-7)
    assert certificate.empirical_risk == pytest.approx(wrong / 200)
    level = 0.05 * 0.2 / 3 / 3
    scores = {"recall": recall_score, "precision": precision_score, "f1": f1_score}
    for metric in certificate.metrics:
        observed = scores[metric.name](Y_TRUE, Y_PRED, labels=[metric.of], average=None)[0]
        exact = beta.ppf(level, metric.count, metric.rows - metric.count + 1)
        share = metric.count / metric.rows
        if metric.name == "f1":
            exact, share = 2 * exact / (1 + exact), 2 * share / (1 + share)
        assert share == pytest.approx(observed)
        assert metric.bound == pytest.approx(exact, rel=1e-7)


def test_groups_and_costs():
    groups, cost = np.arange(200) // 4, Cost(1 - np.eye(3), range(3))
    certificate = certify_predictions(Y_TRUE, Y_PRED, groups=groups, metrics=(cost,))
    losses = (Y_TRUE != Y_PRED).reshape(50, 4).mean(axis=1)
    assert certificate.bound == pytest.approx(bet_upper(losses, 0.89, 0.04), rel=1e-9)
    assert certificate.metrics[0].bound == pytest.approx(bet_upper(losses, 0.89, 0.01), rel=1e-9)
    assert (certificate.m, certificate.unit, certificate.distance) == (50, "group", "bet")


def test_slices_and_class_shares():
    site = pd.Series(np.where(np.arange(200) % 2, "north", "south"), name="site")
    certificate = certify_predictions(Y_TRUE, Y_PRED, metrics=("error",), slices=site)
    assert [metric.label for metric in certificate.metrics][3:] == ["site = 'north'", "site = 'south'"]
    assert sum(metric.rows for metric in certificate.metrics) == 400
    assert 0.0 < certificate.with_class_shares({0: 0.2, 1: 0.2, 2: 0.6}).bound < 1.0


def test_bound_for_other_shares_of_slices():
    site = pd.Series(np.repeat(["north", "south", "west"], [120, 60, 20]), name="site")
    certificate = certify_predictions(Y_TRUE, Y_PRED, metrics=("error",), slices=site)
    bounds = {metric.of: metric.bound for metric in certificate.metrics if metric.kind == "slice"}
    shares = {"south": 0.25, "north": 0.25, "west": 0.5}
    bound = certificate.with_slice_shares(shares)
    assert bound.bound == pytest.approx(sum(bounds[name] * share for name, share in shares.items()), rel=1e-12)
    assert bound.bound >= sum(Fraction(bounds[name]) * Fraction(share) for name, share in shares.items())
    assert (bound.count, bound.rows) == (int((Y_TRUE != Y_PRED).sum()), 200)
    assert str(bound).startswith("error rate with the shares 'south': 0.25, 'north': 0.25, 'west': 0.5: ")


@pytest.mark.parametrize(
    ("options", "shares", "message"),
    [
        ({}, {"a": 1.0}, "with_slice_shares requires a bound for every slice"),
        ({"slices": ["a", "b"] * 100}, {"a": 1.0}, "a share for each of the slices"),
        ({"slices": ["a", "b"] * 100}, {"a": 0.5, "b": 0.6}, "must sum to 1"),
    ],
)
def test_invalid_shares_of_slices(options, shares, message):
    with pytest.raises(ValueError, match=message):
        certify_predictions(Y_TRUE, Y_PRED, metrics=("error",), **options).with_slice_shares(shares)


def test_a_class_that_is_only_predicted():
    certificate = certify_predictions(["a"] * 30, ["a"] * 29 + ["b"], metrics=("recall", "precision"))
    by_name = {(metric.name, metric.of): metric for metric in certificate.metrics}
    assert (by_name["recall", "b"].rows, by_name["recall", "b"].bound) == (0, 0.0)
    assert (by_name["precision", "b"].rows, by_name["precision", "b"].bound) == (1, 0.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y_pred": Y_PRED[:-1]}, ValueError, "y_pred"),
        ({"y_pred": Y_PRED.astype(str)}, (TypeError, ValueError), "y_pred"),
        ({"delta": 0.0}, ValueError, "delta"),
        ({"metrics": ("recall",), "pos_label": 7}, ValueError, "pos_label must be one of the classes"),
        ({"metrics": ("recall",), "groups": np.arange(200) // 2}, ValueError, "with groups, only error rates"),
        ({"slices": np.arange(200) % 2}, ValueError, "slices require bounds on error rates"),
        ({"metrics": (Cost([[0, 1], [1, 0]], [0, 1]),)}, ValueError, "Cost must contain every class"),
        ({"metrics": ("log_loss",)}, ValueError, "metrics must be among"),
    ],
)
def test_invalid_input(arguments, error, message):
    with pytest.raises(error, match=message):
        certify_predictions(**{"y_true": Y_TRUE, "y_pred": Y_PRED} | arguments)
