"""Error rates of classes and slices with groups, by simulation with known truth; a planted fault.

A group is of one of three kinds, which decides its size, its class shares and its error rate.
"""

import numpy as np
import pytest

from pacbayes import CertifiedClassifier, certify_predictions, load, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.report import report_html

DELTA, SHARE = 0.2, 0.5
#: Share of each kind, its rows, the share of class 1, and the shares of groups that err in class 0 and in class 1.
KINDS = ((0.4, 2, 0.5, 0.0, 0.1), (0.4, 10, 0.1, 0.05, 0.3), (0.2, 30, 0.3, 0.2, 0.5))


def draw(n_groups, rng):
    """Labels, predictions, groups and kinds of the rows: a group errs in a class on all rows or on none."""
    kinds = rng.choice(3, n_groups, p=[kind[0] for kind in KINDS])
    sizes = np.array([kind[1] for kind in KINDS])[kinds]
    groups = np.repeat(np.arange(n_groups), sizes)
    y = (rng.random(groups.size) < np.array([kind[2] for kind in KINDS])[kinds][groups]).astype(int)
    errs = rng.random((n_groups, 2)) < np.array([kind[3:] for kind in KINDS])[kinds]
    return y, np.where(errs[groups, y], 1 - y, y), groups, kinds[groups]


def true_rates():
    """Error rate in each class, averaged over the groups that have it."""
    rates = []
    for c in range(2):
        present = [p * (1 - (1 - (share if c else 1 - share)) ** rows) for p, rows, share, *_ in KINDS]
        rates.append(sum(w * kind[3 + c] for w, kind in zip(present, KINDS, strict=True)) / sum(present))
    return rates


def allowed(draws, level):
    return level * draws + 2 * np.sqrt(draws * level * (1 - level))


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_groups", [30, 150])
def test_bounds_hold_jointly(n_groups, draws):
    failed, rates, means = 0, true_rates(), []
    for seed in range(draws):
        y, y_pred, groups, kinds = draw(n_groups, np.random.default_rng([seed, 7]))
        params = {"metrics": ("error",), "metrics_share": SHARE, "groups": groups, "slices": kinds, "delta": DELTA}
        metrics = certify_predictions(y, y_pred, **params).metrics
        by_class = [metric for metric in metrics if metric.kind == "class"]
        by_slice = [metric for metric in metrics if metric.kind == "slice"]
        slice_rates = [mean_of_kind(metric.of) for metric in by_slice]
        failed += any(metric.bound < rate for metric, rate in zip(by_class, rates, strict=True)) or any(
            metric.bound < rate for metric, rate in zip(by_slice, slice_rates, strict=True)
        )
        means.append([metric.bound for metric in by_class])
    assert failed <= allowed(draws, DELTA * SHARE)
    assert (np.mean(means, axis=0) < (0.95 if n_groups == 30 else 0.7)).all()


def mean_of_kind(kind):
    _, _, share, zero, one = KINDS[kind]
    return (1 - share) * zero + share * one


def rates_of_rows():
    """Error rate of the rows of each class, with large groups counted more often."""
    kinds = np.array(KINDS)
    shares = np.column_stack([1 - kinds[:, 2], kinds[:, 2]])
    rows = kinds[:, :1] * kinds[:, 1:2] * shares
    return ((rows * kinds[:, 3:]).sum(axis=0) / rows.sum(axis=0)).tolist()


def test_rows_as_independent_draws_are_detected():
    failed, level = 0, DELTA * SHARE
    for seed in range(60):
        y, y_pred, _, _ = draw(150, np.random.default_rng([seed, 7]))
        wrong, rows = np.bincount(y[y != y_pred], minlength=2), np.bincount(y)
        failed += bool((binomial_upper(wrong, rows, level / 2) < rates_of_rows()).any())
    assert failed > 2 * allowed(60, level)


def test_a_class_without_groups_has_no_bound():
    y, y_pred = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
    metrics = certify_predictions(y, y_pred, groups=[0, 1, 2, 2], metrics=("error",), slices=[0, 0, 0, 1]).metrics
    assert [(metric.of, metric.rows) for metric in metrics] == [(0, 3), (1, 1), (0, 3), (1, 1)]
    assert "averaged over new groups with this class; 0.0 % errors per group on 3 validation groups" in str(metrics[0])


def test_other_shares_are_rejected():
    y, y_pred, groups, kinds = draw(60, np.random.default_rng(0))
    certificate = certify_predictions(y, y_pred, groups=groups, metrics=("error",), slices=kinds)
    with pytest.raises(ValueError, match="with_class_shares does not support groups"):
        certificate.with_class_shares({0: 0.5, 1: 0.5})
    with pytest.raises(ValueError, match="with_slice_shares does not support groups"):
        certificate.with_slice_shares({0: 0.5, 1: 0.25, 2: 0.25})
    with pytest.raises(ValueError, match="slices_below does not support groups"):
        certificate.slices_below(0.1)


def test_bets_of_a_fitted_model_come_from_training_groups(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=600) > 0).astype(int)
    clf = CertifiedClassifier("logistic", metrics=("error",), cv=3, random_state=0)
    clf.fit(X, y, groups=np.arange(600) // 4)
    (spec,) = clf._fitted.plan.metrics
    assert len(spec.bets) == 2
    assert all(0.0 < metric.bound < 0.4 for metric in clf.certificate_.metrics)
    assert "errors per group" in report_html(clf)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificate_ == clf.certificate_
