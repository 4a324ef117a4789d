"""Beside every certificate: always answering the most frequent class, and what cross-validation would choose."""

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
def noise():
    """Return a model of labels that no feature tells apart, with about .6 % positives, and its data."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.where(rng.random(2000) < 0.006, "yes", "no")
    return StochasticSVC([0.1, 1.0, 10.0], cv=None, random_state=0).fit(X, y), X, y


def test_the_label_is_that_of_the_training_rows_and_the_errors_those_of_the_others():
    rng = np.random.default_rng(1)
    for _ in range(50):
        train, validation = rng.choice(list("abc"), size=9).tolist(), rng.choice(list("abcd"), size=7).tolist()
        label, errors = most_frequent(train, validation)
        counts = Counter(train)
        assert label == min(one for one, count in counts.items() if count == max(counts.values()))
        assert errors == sum(one != label for one in validation)


def counted(errors, m):
    """Errors of one classifier on so many rows."""
    return ErrorCounts(np.array([[errors]]), None, m)


def test_the_limit_is_clopper_and_pearson():
    for errors, m, delta in ((6, 1000, 0.05), (0, 30, 0.01), (14, 30, 0.2)):
        found = fixed_label_baseline("no", counted(errors, m), delta)
        assert binom.cdf(errors, m, found.bound) == pytest.approx(delta, rel=1e-6)
        assert found.empirical_risk == pytest.approx(errors / m)
    assert fixed_label_baseline("no", counted(30, 30), 0.05).bound == 1.0


@pytest.mark.parametrize(("kind", "split"), [("svc", "shared"), ("svc", "independent"), ("grid", "shared")])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_beside_every_certificate(kind, data, split):
    clf, (_, y) = fitted(kind, data, split), data()
    train, validation = clf.classifiers_.splits(0)
    label = Counter(sorted(y[train].tolist())).most_common(1)[0][0]
    errors = int(np.sum(y[validation] != label))
    assert clf.majority_class_ == label
    for certificate in clf.certificates_.values():
        found = certificate.baselines["most frequent class"]
        assert binom.cdf(errors, certificate.m, found.bound) == pytest.approx(certificate.delta, rel=1e-6)
        assert found.empirical_risk * certificate.m == pytest.approx(errors)
        assert f"majority class of the training rows ({label!r})" in certificate.explain()
        assert certificate.beats_baseline is (certificate.bound < found.bound)


def test_noise_is_said_to_be_no_better(noise):
    clf, _, _ = noise
    for certificate in clf.certificates_.values():
        assert certificate.bound < 0.05
        assert certificate.beats_baseline is False
        always = percent_up(certificate.baselines["most frequent class"].bound)
        third = f"That is no better than the majority class of the training rows ('no'): error rate at most {always}."
        assert certificate.lines[2] == third


def test_where_it_is_beaten_one_sentence_is_enough():
    certificate = fitted("grid", two_classes).certificate_
    assert certificate.beats_baseline is True
    assert certificate.lines[1].startswith("It erred on ")
    bound = percent_up(certificate.baselines["most frequent class"].bound)
    assert certificate.lines[2] == f"Majority class of the training rows (1): error rate at most {bound}."
    assert "no better" not in str(certificate)


def test_a_bound_as_large_as_the_constants_does_not_beat_it():
    def beats(bound):
        always = {"most frequent class": Baseline(0.25, 0.2, "majority class of the training rows ('no')")}
        return Certificate(bound, None, 0.05, 100, "kl", 0.1, 0.0, "it", "A theorem.", baselines=always).beats_baseline

    assert beats(0.25) is False
    assert beats(math.nextafter(0.25, 0.0)) is True
    nothing_known = Certificate(0.5, None, 0.05, 100, "kl", 0.1, 0.0, "it", "A theorem.")
    assert nothing_known.beats_baseline is None
    assert "no better" not in str(nothing_known)


def test_in_the_table_of_certificates(noise):
    clf, X, y = noise
    *_, last = certificate_table(ReportView.of(clf, test=(1.01 * X, y))).rows
    assert last[0] == "majority class ('no')"
    assert last[3] == f"{100 * np.mean(y != 'no'):.2f} % of 2000"
    assert (
        "Not better than the majority-class baseline: the stochastic classifier"
        in certificate_table(ReportView.of(clf)).caption
    )


def test_in_the_report(noise):
    page = Page(report_html(noise[0]))
    assert page.text("not-beaten").startswith("That is no better than the majority class of the training rows ('no')")


def test_a_long_name_of_a_class_is_cut():
    assert len(fixed_label_baseline("n" * 10_000, counted(1, 10), 0.05).note) < 150


def test_the_hold_out_is_the_binomial_limit_of_the_one_that_cross_validation_chose():
    clf = StochasticSVC([0.03, 0.3, 1.0, 30.0], random_state=3).fit(*two_classes())
    results = clf.cv_results_["mean_test_score"]
    best = int(np.argmax(results))
    found = clf.certificate_.baselines["holdout"]
    errors, m = int(clf.classifiers_.errors[best]), clf.classifiers_.m
    assert np.count_nonzero(results == results[best]) == 1
    assert binom.cdf(errors, m, found.bound) == pytest.approx(0.05, rel=1e-6)
    assert found.note.startswith(f"classifier {best} (lambda = {clf.classifiers_.params[best]['lambda']:g}")
    assert found.note.endswith("chosen among all 4 by 5-fold cross-validation within the training rows")
