"""A refit on all rows: what is covered and wrong stays below the bound, and what is not said does not hold.

Rows are points of a square with known labels and noise, so that every share is a mean over 400 points.
"""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import CLEAN, DELTA, NOISE, POINTS, fits, largest, sample, true_risk

from pacbayes import CertifiedClassifier, Grid, SVMs
from pacbayes.certificates.refit import Refit


def fitted(seed, classes=2, rows=120, **choices):
    X, y = sample(rows, classes, np.random.default_rng([seed, classes, 7]))
    candidates = [SVMs((0.01, 0.1, 1.0, 10.0)), GaussianNB(), Grid(DecisionTreeClassifier(), {"max_depth": [2, 5]})]
    given = {"delta": DELTA, "cv": 3, "refit": True, "random_state": seed} | choices
    return CertifiedClassifier(candidates, **given).fit(X, y), X, y


def true_shares(clf, classes=2):
    """Of the points: how often an answer is wrong and covered, wrong, and not covered."""
    said, covered = clf.predict(POINTS), clf.covered(POINTS)
    wrong = np.where(said == CLEAN[classes], NOISE, 1 - NOISE / (classes - 1)) / len(POINTS)
    whole = true_risk(said, classes)
    assert wrong.sum() == pytest.approx(whole, abs=1e-12)
    return float(wrong[covered].sum()), float(whole), float(np.mean(~covered))


def counted(fits, classes=2, **choices):
    """How often covered answers fail their bound, all answers theirs, and how much was not covered."""
    failures, totals, uncovered = 0, 0, []
    for seed in range(fits):
        clf, _, _ = fitted(seed, classes, **choices)
        both, whole, away = true_shares(clf, classes)
        bound = clf.certificate_.bound
        failures += both > bound
        totals += whole > bound + away
        uncovered.append(away)
        # One follows from the other, whatever the bound is.
        assert whole <= both + away + 1e-12
    return failures, totals, np.mean(uncovered)


@fits(8, 150)
@pytest.mark.parametrize(("classes", "voting"), [(2, "auto"), (5, "auto"), (2, "majority"), (2, "best")])
def test_covered_and_wrong_is_below_the_bound(classes, voting, fits):
    failures, totals, uncovered = counted(fits, classes, voting=voting)
    assert failures <= largest(fits)
    assert totals <= failures
    assert uncovered > 0.0


def test_by_class_too():
    """P(wrong and covered | class) is at most the limit of the class, at once with the bound."""
    fits, failures = 8, 0
    for seed in range(fits):
        clf, _, _ = fitted(seed, metrics=("error",))
        certificate = clf.certificate_
        assert len(certificate.metrics) == 2
        rng = np.random.default_rng([seed, 99])
        X_new, y_new = sample(20_000, 2, rng)
        wrong = (clf.predict(X_new) != y_new) & clf.covered(X_new)
        shares = [wrong[y_new == label].mean() for label in (0, 1)]
        failures += any(share > one.bound + 0.01 for share, one in zip(shares, certificate.metrics, strict=True))
    assert failures <= largest(fits)


# -- what does not hold ----------------------------------------------------------------------------------------------


def clusters(labels, rows, rng):
    """Rows of 150 clusters, each with a label of its own: who knows a cluster is right, who does not guesses."""
    which = rng.integers(0, labels.size, rows)
    return which[:, None].astype(float), labels[which]


def test_coverage_must_not_be_read_off_rows_that_the_refit_saw():
    """Both are right about clusters that both have seen, and agree there; about others they do not."""
    fits, on_known, on_new = 20, 0, 0
    for seed in range(fits):
        rng = np.random.default_rng([seed, 5])
        labels = rng.integers(0, 2, 150)
        X, y = clusters(labels, 200, rng)
        given = {"refit": True, "cv": 3, "delta": DELTA, "random_state": seed}
        clf = CertifiedClassifier(DecisionTreeClassifier(random_state=0), **given).fit(X, y)
        truth = np.mean(~clf.covered(np.arange(150.0)[:, None]))

        def fails(rows, clf=clf, truth=truth):
            away = int(np.sum(~clf.covered(rows)))
            return truth > beta.ppf(1 - DELTA, away + 1, len(rows) - away)

        on_known += fails(X[clf.classifiers_.splits(0)[0]])
        on_new += fails(clusters(labels, 100, rng)[0])
    # Twelve of twenty have a probability below 1e-7 at level 0.1.
    assert on_known >= 12
    assert on_new <= largest(fits)


def test_the_bound_is_a_share_of_all_answers_and_not_of_those_that_are_covered(monkeypatch):
    """It holds for any refit: for one, too, that agrees with the certified vote only where that errs."""
    fits, larger, failures = 6, 0, 0
    for seed in range(fits):
        with monkeypatch.context() as patch:
            clf, _, _ = fitted(seed)
            certified = clf._fitted.certified("soft", POINTS)
            wrong = certified != CLEAN[2]
            said = np.where(wrong, certified, 1 - certified)
            patch.setattr(Refit, "clear", lambda self, X, said=said: (said >= 0, said, np.eye(2)[said]))
            both, _, away = true_shares(clf)
            assert away == np.mean(~wrong)
            failures += both > clf.certificate_.bound
            larger += both / (1.0 - away) > clf.certificate_.bound
    assert failures <= largest(fits)
    assert larger == fits
