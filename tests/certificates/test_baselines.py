"""Baselines of certificates: the majority class, and the holdout chosen by cross-validation."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom
from tests.estimators.models import fitted, three_classes, two_classes
from tests.report.browser_page import Page

from pacbayes import Baseline, Certificate, StochasticSVC
from pacbayes._utils.words import percent_up
from pacbayes.certificates import fixed_label_baseline, most_frequent
from pacbayes.ensemble.validation import ErrorCounts
from pacbayes.report import report_html
from pacbayes.report.tables import certificate_table
from pacbayes.report.view import ReportView


@pytest.fixture(scope="module")
def uninformative():
    """A model fitted to labels that are independent of the features, 0.6 % of them positive, and its data."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.where(rng.random(2000) < 0.006, "yes", "no")
    return StochasticSVC([0.1, 1.0, 10.0], cv=None, random_state=0).fit(X, y), X, y


def test_the_majority_class_is_that_of_the_training_rows():
    rng = np.random.default_rng(1)
    for _ in range(50):
        train, validation = rng.choice(list("abc"), size=9).tolist(), rng.choice(list("abcd"), size=7).tolist()
        label, errors = most_frequent(train, validation)
        counts = Counter(train)
        assert label == min(name for name, count in counts.items() if count == max(counts.values()))
        assert errors == sum(other != label for other in validation)


def baseline(errors, m, delta, label="no"):
    return fixed_label_baseline(label, ErrorCounts(np.array([[errors]]), None, m), delta)


@pytest.mark.parametrize(("errors", "m", "delta"), [(6, 1000, 0.05), (0, 30, 0.01), (14, 30, 0.2)])
def test_the_bound_is_that_of_clopper_and_pearson(errors, m, delta):
    assert binom.cdf(errors, m, baseline(errors, m, delta).bound) == pytest.approx(delta, rel=1e-6)
    assert baseline(errors, m, delta).empirical_risk == pytest.approx(errors / m)
    assert baseline(m, m, delta).bound == 1.0


@pytest.mark.parametrize(("kind", "split"), [("svc", "shared"), ("svc", "independent"), ("grid", "shared")])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_every_certificate_has_the_majority_class_baseline(kind, data, split):
    clf, (_, y) = fitted(kind, data, split), data()
    train, validation = clf.classifiers_.splits(0)
    label = Counter(sorted(y[train].tolist())).most_common(1)[0][0]
    errors = int(np.sum(y[validation] != label))
    assert clf.majority_class_ == label
    for certificate in clf.certificates_.values():
        majority = certificate.baselines["majority class"]
        assert binom.cdf(errors, certificate.m, majority.bound) == pytest.approx(certificate.delta, rel=1e-6)
        assert majority.empirical_risk * certificate.m == pytest.approx(errors)
        assert f"majority-class baseline ({label!r})" in certificate.explain()
        assert certificate.beats_baseline is (certificate.bound < majority.bound)


def test_a_certificate_that_does_not_beat_the_baseline_warns(uninformative):
    clf, X, y = uninformative
    for certificate in clf.certificates_.values():
        assert certificate.bound < 0.05
        assert certificate.beats_baseline is False
        bound = percent_up(certificate.baselines["majority class"].bound)
        assert certificate.text_lines[1].endswith(
            f" No better than the majority-class baseline ('no'): at most {bound}."
        )
    assert Page(report_html(clf)).text("not-beaten").startswith("No better than the majority-class baseline ('no')")
    table = certificate_table(ReportView.from_model(clf, test=(1.01 * X, y)))
    assert (table.rows[-1][0], table.rows[-1][3]) == (
        "majority class ('no')",
        f"{100 * np.mean(y != 'no'):.2f} % of 2000",
    )
    assert "Not better than the majority-class baseline: the stochastic classifier" in table.caption


def test_an_equal_bound_does_not_beat_the_baseline():
    def beats(bound, **baselines):
        return Certificate(bound, None, 0.05, 100, "kl", 0.1, 0.0, "it", "Exact.", **baselines).beats_baseline

    baselines = {"majority class": Baseline(0.25, 0.2, "majority-class baseline ('no')")}
    assert beats(0.25, baselines=baselines) is False
    assert beats(math.nextafter(0.25, 0.0), baselines=baselines) is True
    assert beats(0.25) is None


def test_the_holdout_is_the_classifier_chosen_by_cross_validation():
    clf = StochasticSVC([0.03, 0.3, 1.0, 30.0], random_state=3).fit(*two_classes())
    scores = clf.cv_results_["mean_test_score"]
    best = int(np.argmax(scores))
    holdout = clf.certificate_.baselines["holdout"]
    errors, m = int(clf.classifiers_.errors[best]), clf.classifiers_.m
    assert np.count_nonzero(scores == scores[best]) == 1
    assert binom.cdf(errors, m, holdout.bound) == pytest.approx(0.05, rel=1e-6)
    assert holdout.note.startswith(f"classifier {best} (lambda = {clf.classifiers_.params[best]['lambda']:g}")
    assert holdout.note.endswith("chosen among all 4 by 5-fold cross-validation within the training rows")
