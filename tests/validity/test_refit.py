"""Refit on all rows: P(wrong and covered) is at most the bound, by simulation on the square; what fails without it."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import CLEAN, DELTA, NOISE, POINTS, fits, largest, sample, true_risk

from pacbayes import CertifiedClassifier, Grid, SVMs
from pacbayes.certificates.rules import Refit


def fitted(seed, classes=2, rows=120, **choices):
    X, y = sample(rows, classes, np.random.default_rng([seed, classes, 7]))
    candidates = [SVMs((0.01, 0.1, 1.0, 10.0)), GaussianNB(), Grid(DecisionTreeClassifier(), {"max_depth": [2, 5]})]
    params = {"delta": DELTA, "cv": 3, "refit": True, "random_state": seed} | choices
    return CertifiedClassifier(candidates, **params).fit(X, y)


def true_shares(clf, classes=2):
    """Probabilities that a prediction is wrong and covered, wrong, and not covered."""
    y_pred, covered = clf.predict(POINTS), clf.covered(POINTS)
    wrong = np.where(y_pred == CLEAN[classes], NOISE, 1 - NOISE / (classes - 1)) / len(POINTS)
    risk = true_risk(y_pred, classes)
    assert wrong.sum() == pytest.approx(risk, abs=1e-12)
    return float(wrong[covered].sum()), float(risk), float(np.mean(~covered))


def failures_of_refits(fits, classes=2, **choices):
    """Number of failures for covered predictions, and for all predictions; and the mean share not covered."""
    failures, totals, shares = 0, 0, []
    for seed in range(fits):
        clf = fitted(seed, classes, **choices)
        wrong_and_covered, risk, uncovered = true_shares(clf, classes)
        bound = clf.certificate_.bound
        failures += wrong_and_covered > bound
        totals += risk > bound + uncovered
        shares.append(uncovered)
        assert risk <= wrong_and_covered + uncovered + 1e-12
    return failures, totals, np.mean(shares)


@fits(8, 150)
@pytest.mark.parametrize(("classes", "voting"), [(2, "auto"), (5, "auto"), (2, "majority"), (2, "best")])
def test_wrong_and_covered_is_below_the_bound(classes, voting, fits):
    failures, totals, uncovered = failures_of_refits(fits, classes, voting=voting)
    assert failures <= largest(fits)
    assert totals <= failures
    assert uncovered > 0.0


def test_class_bounds_hold_for_covered_predictions():
    fits, failures = 8, 0
    for seed in range(fits):
        clf = fitted(seed, metrics=("error",))
        certificate = clf.certificate_
        assert len(certificate.metrics) == 2
        rng = np.random.default_rng([seed, 99])
        X_new, y_new = sample(20_000, 2, rng)
        wrong = (clf.predict(X_new) != y_new) & clf.covered(X_new)
        shares = [wrong[y_new == label].mean() for label in (0, 1)]
        failures += any(share > metric.bound + 0.01 for share, metric in zip(shares, certificate.metrics, strict=True))
    assert failures <= largest(fits)


# -- planted faults --------------------------------------------------------------------------------------------------


def clusters(labels, rows, rng):
    """Draw rows of 150 clusters with random labels: a classifier can only guess the labels of new clusters."""
    places = rng.integers(0, labels.size, rows)
    return places[:, None].astype(float), labels[places]


def test_coverage_estimated_on_training_rows_of_the_refit_is_caught():
    """Both classifiers agree on clusters of their training rows, but not on others."""
    fits, on_known, on_new = 20, 0, 0
    for seed in range(fits):
        rng = np.random.default_rng([seed, 5])
        labels = rng.integers(0, 2, 150)
        X, y = clusters(labels, 200, rng)
        params = {"refit": True, "cv": 3, "delta": DELTA, "random_state": seed}
        clf = CertifiedClassifier(DecisionTreeClassifier(random_state=0), **params).fit(X, y)
        true = np.mean(~clf.covered(np.arange(150.0)[:, None]))

        def fails(rows, clf=clf, true=true):
            uncovered = int(np.sum(~clf.covered(rows)))
            return true > beta.ppf(1 - DELTA, uncovered + 1, len(rows) - uncovered)

        on_known += fails(X[clf.classifiers_.splits(0)[0]])
        on_new += fails(clusters(labels, 100, rng)[0])
    # Twelve of twenty have a probability below 1e-7 at level 0.1.
    assert on_known >= 12
    assert on_new <= largest(fits)


def test_the_bound_as_a_share_of_covered_predictions_is_caught(monkeypatch):
    """The guarantee holds for any refit, such as one that agrees with the certified vote only where this is wrong."""
    fits, larger, failures = 6, 0, 0
    for seed in range(fits):
        with monkeypatch.context() as patch:
            clf = fitted(seed)
            certified = clf._fitted.predict_certified("soft", POINTS)
            wrong = certified != CLEAN[2]
            y_pred = np.where(wrong, certified, 1 - certified)
            patch.setattr(Refit, "predict", lambda self, X, y_pred=y_pred: (y_pred >= 0, y_pred, np.eye(2)[y_pred]))
            wrong_and_covered, _, uncovered = true_shares(clf)
            assert uncovered == np.mean(~wrong)
            failures += wrong_and_covered > clf.certificate_.bound
            larger += wrong_and_covered / (1.0 - uncovered) > clf.certificate_.bound
    assert failures <= largest(fits)
    assert larger == fits
