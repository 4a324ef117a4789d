"""`Threshold(cost=...)`: chosen on training rows, with a bound on the mean cost; simulation with known truth."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from tests.estimators.models import two_classes
from tests.validity.test_threshold import draw_scores

from pacbayes import CertifiedClassifier, Cost, Threshold, load, save
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold

COST = Cost([[0.0, 1.0], [10.0, 0.5]], ["no", "yes"])
DELTA = 0.1


def named(y):
    return np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def clf():
    X, y = two_classes()
    decision = Threshold(cost=COST)
    return CertifiedClassifier("logistic", decision=decision, cv=3, random_state=0).fit(X, named(y))


def mean_cost(y_true, y_pred):
    codes = [np.searchsorted(["no", "yes"], labels) for labels in (y_true, y_pred)]
    return COST.matrix[codes[0], codes[1]].sum()


def test_threshold_and_total_cost(clf):
    X, y = two_classes()
    result, validating = clf.certificate_.decision, clf._fitted.plan.split.validation_rows
    y_pred = clf.predict(X)
    positive = np.rint(clf.predict_proba(X)[:, 1] * 2**20) >= result.threshold * 2**20
    assert (y_pred == named(positive.astype(int))).all()
    assert result.total_cost == pytest.approx(mean_cost(named(y)[validating], y_pred[validating]))
    assert result.total_cost / result.m < result.cost_bound < COST.largest
    # A miss costs ten times as much as a false alarm.
    assert result.threshold < 0.5
    assert clf.certificate_.sentence.startswith("With 95 % confidence, the mean cost at the threshold 0.")
    assert clf.certificate_.summary_line.startswith("Mean cost at most ")


def test_files(clf, tmp_path):
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.certificate_ == clf.certificate_
    assert (loaded.predict(two_classes()[0]) == clf.predict(two_classes()[0])).all()


def test_few_rows_have_no_useful_bound():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 2
    result = CertifiedClassifier(LogisticRegression(), decision=Threshold(cost=COST), cv=2, random_state=0)
    certificate = result.fit(X, named(y)).certificate_
    if certificate.vacuous:
        assert certificate.sentence.startswith("There is no useful bound of the mean cost")
    else:
        assert certificate.decision.cost_bound < COST.largest


def true_cost(distance, share, threshold):
    cut = norm.ppf(threshold)
    recall, fpr = norm.sf(cut - distance), norm.sf(cut)
    return share * (10.0 * (1 - recall) + 0.5 * recall) + (1 - share) * fpr


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("world", "distance", "share"), [("standard", 2.0, 0.3), ("rare", 2.5, 0.04), ("few", 1.5, 0.5)]
)
def test_bounds_hold(world, distance, share, draws):
    rows = {"standard": (300, 300), "rare": (1000, 800), "few": (60, 60)}[world]
    failed, chosen, fixed = 0, [], []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 4])
        train, (scores, positive) = (draw_scores(world, n, rng) for n in rows)
        grid = ThresholdGrid.from_scores(*train, "yes")
        counts = ConfusionCounts.from_scores(grid.values, scores, positive)
        result = certify_threshold(grid, counts, Threshold(cost=COST), DELTA)
        failed += result.cost_bound < true_cost(distance, share, result.threshold)
        chosen.append(true_cost(distance, share, result.threshold))
        fixed.append(true_cost(distance, share, 0.99))
    assert failed <= DELTA * draws + 2 * np.sqrt(draws * DELTA * (1 - DELTA))
    assert np.mean(chosen) < np.mean(fixed)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cost": COST, "recall": 0.9}, "cannot be combined with other parameters"),
        ({"cost": COST, "prefer": "f1"}, "cannot be combined with other parameters"),
        ({"cost": [[0, 1], [1, 0]]}, "cost must be Cost"),
        ({"cost": Cost(1.0 - np.eye(3), "abc")}, "requires two classes"),
    ],
)
def test_rejected_parameters(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Threshold(**params)


def test_other_classes_are_rejected():
    X, y = two_classes()
    with pytest.raises(ValueError, match="Cost must contain every class"):
        CertifiedClassifier("logistic", decision=Threshold(cost=COST)).fit(X, y)
