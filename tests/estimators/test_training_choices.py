"""Catoni's C and a prior from cross-validation within the training rows, and distances that are objects."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, three_classes, two_classes

from pacbayes import Grid, StochasticSVC, bound, gibbs_posterior, load, optimal_posterior, save
from pacbayes.bounds import Catoni, Distance, get_distance
from pacbayes.report.tables import certificate_table
from pacbayes.report.view import ReportView

LAMBDAS = [0.1, 0.5, 1.0, 5.0, 10.0]


def fit(data=two_classes, **choices):
    return StochasticSVC(LAMBDAS, **({"random_state": 0, "cv": 3, "hedge": 1} | choices)).fit(*data())


def cv_errors(clf):
    """Return the errors in cross-validation by classifier, and of how many rows, from what is public."""
    found = clf.cv_results_
    n = clf.classifiers_.splits(0)[0].size
    return np.rint((1 - found["mean_test_score"]) * n), n


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_c_is_the_best_for_the_risk_in_cross_validation(data):
    clf = fit(data, distance="catoni")
    errors, n = cv_errors(clf)
    expected = Catoni.expecting((errors.min() + 0.5) / (n + 1), clf.classifiers_.m, 0.05)
    assert clf.distances_ == (expected.name,)
    assert clf.certificate_.distance == clf.posterior_.distance == expected.name
    assert clf.posterior_.gap <= 1e-9
    # Rounded to multiples of 2^-52.
    gibbs = gibbs_posterior(clf.classifiers_.risks, expected.C * clf.classifiers_.m)
    np.testing.assert_allclose(clf.posterior_.weights, gibbs, rtol=1e-6, atol=2.0**-51)
    recomputed = bound(clf.posterior_.weights, clf.classifiers_.risks, clf.classifiers_.m, distance=expected)
    assert clf.certificate_.bound == pytest.approx(recomputed, rel=1e-12)
    assert clf.certificate_.lower is None
    assert clf.get_params()["distance"] == "catoni"


def test_of_several_distances_c_is_for_a_share_of_delta():
    clf = fit(distance=["kl", "catoni"], delta=0.1)
    errors, n = cv_errors(clf)
    assert clf.distances_ == ("kl", Catoni.expecting((errors.min() + 0.5) / (n + 1), clf.classifiers_.m, 0.05).name)
    assert clf.posterior_.delta <= 0.05


def test_c_that_was_also_given_is_one_distance():
    found = fit(distance="catoni").distances_[0]
    half = fit(distance=["catoni", "kl"]).distances_[0]
    assert fit(distance=["catoni", get_distance(half)]).distances_ == (half,)
    with pytest.raises(ValueError, match="contains duplicates"):
        fit(distance=["kl", get_distance("kl")])
    assert fit(distance=found).distances_ == fit(distance=get_distance(found)).distances_ == (found,)


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_the_prior_of_cross_validation_is_gibbs(data):
    clf = fit(data, prior="cross-validation")
    errors, _ = cv_errors(clf)
    weights = np.exp(-(errors - errors.min()))
    np.testing.assert_allclose(clf.prior_, weights / weights.sum(), rtol=1e-12)
    assert not clf.has_uniform_prior_
    assert any("cross-validation within the training rows alone" in said for said in clf.certificate_.assumptions)


def test_what_was_not_cross_validated_shares_a_tenth():
    X, y = three_classes()
    grid = {"max_depth": range(1, 61)}
    clf = by_draws(Grid(DecisionTreeClassifier(), grid), prior="cross-validation").fit(X, y)
    untried = np.isnan(clf.cv_results_["mean_test_score"])
    assert untried.sum() == 10
    np.testing.assert_allclose(clf.prior_[untried], 0.01)
    assert clf.prior_.sum() == pytest.approx(1.0)


def test_rows_of_a_group_count_as_one():
    X, y = two_classes()
    X, y = X[:300], y[:300]
    groups = np.arange(300) // 3
    clf = StochasticSVC(LAMBDAS, prior="cross-validation", cv=3, random_state=0).fit(X, y, groups=groups)
    errors, _ = cv_errors(clf)
    weights = np.exp(-(errors - errors.min()) / 3)
    np.testing.assert_allclose(clf.prior_, weights / weights.sum(), rtol=1e-9)


def test_a_given_c_needs_no_cross_validation():
    for split in ("shared", "independent"):
        clf = fit(distance=Catoni(0.5), split=split, cv=None)
        assert clf.distances_ == ("catoni(0.5)",)
        risks, m = clf.classifiers_.risks, clf.classifiers_.m
        assert clf.hedge_ == 1.0
        expected = optimal_posterior(risks, m, distance=Catoni(0.5)).bound
        assert clf.certificate_.bound == pytest.approx(expected, rel=1e-9)


def test_parameters_are_those_of_scikit_learn():
    clf = StochasticSVC(distance=[Catoni(0.5), "kl"])
    again = clone(clf)
    assert again.get_params()["distance"] == [Catoni(0.5), "kl"]
    assert again.set_params(distance=Catoni(0.25)).distance == Catoni(0.25)
    assert "distance=Catoni(C=0.25)" in repr(again)
    assert repr(clone(again)) == repr(again)
    fitted = fit(distance=Catoni(0.5))
    restored = pickle.loads(pickle.dumps(fitted))
    assert restored.certificate_ == fitted.certificate_
    assert restored.distance == Catoni(0.5)


@pytest.mark.parametrize("distance", ["catoni", Catoni(0.3), [Catoni(0.3), "kl"], get_distance("pinsker")])
def test_saving_keeps_distance_and_prior(distance, tmp_path):
    clf = fit(distance=distance, prior="cross-validation")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no trust is asked for
        save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.certificates_ == clf.certificates_
    assert again.distances_ == clf.distances_
    assert again.get_params()["distance"] == clf.get_params()["distance"]
    assert np.array_equal(again.prior_, clf.prior_)
    assert np.array_equal(again.predict(two_classes()[0]), clf.predict(two_classes()[0]))
    save(again, tmp_path / "again")
    assert load(tmp_path / "again").certificates_ == clf.certificates_


class Own(Distance):
    """Catoni's distance of C = 0.5 under another name."""

    name = "own"
    two_sided = False

    def value(self, empirical, true):
        return Catoni(0.5).value(empirical, true)

    def exact_log_constant(self, m):
        return 0.0

    def upper(self, empirical, x):
        return Catoni(0.5).upper(empirical, x)

    def slopes(self, empirical, x):
        return Catoni(0.5).slopes(empirical, x)

    def ratio_is_monotone(self, empirical, x):
        return True


def test_an_own_distance_works_unregistered_but_is_not_saved(tmp_path):
    clf, same = fit(distance=Own()), fit(distance=Catoni(0.5))
    assert clf.certificate_.bound == pytest.approx(same.certificate_.bound, abs=1e-9)
    with pytest.raises(ValueError, match=r"Own\(\) cannot be saved.*register_distance"):
        save(clf, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    view = ReportView.of(clf)
    assert view.posteriors[-1].distance == "own"
    assert "own" in str(certificate_table(view))
    assert clf.report(tmp_path / "page.html").stat().st_size > 0


def test_reports_show_catoni(tmp_path):
    clf = fit(distance="catoni", prior="cross-validation")
    page = clf.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert clf.distances_[0] in page
    posteriors = ReportView.of(clf).posteriors
    assert any(one.distance == clf.distances_[0] and math.isfinite(one.bound) for one in posteriors)
