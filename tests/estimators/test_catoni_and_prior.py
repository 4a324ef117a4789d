"""Catoni's C and the prior from cross-validation within the training rows, and distances as objects."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, three_classes, two_classes

from pacbayes import Grid, StochasticSVC, bound, gibbs_posterior, load, optimal_posterior, save
from pacbayes.bounds import Catoni, Distance, get_distance
from pacbayes.report.view import ReportView

LAMBDAS = [0.1, 0.5, 1.0, 5.0, 10.0]


def fit(data=two_classes, **options):
    return StochasticSVC(LAMBDAS, **({"random_state": 0, "cv": 3, "hedge": 1} | options)).fit(*data())


def cv_errors(clf):
    """Errors of the cross-validation by classifier, and the number of training rows."""
    n = clf.classifiers_.splits(0)[0].size
    return np.rint((1 - clf.cv_results_["mean_test_score"]) * n), n


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_c_is_optimal_for_the_cross_validated_risk(data):
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


def test_equal_distances_are_merged():
    catoni = fit(distance="catoni").distances_[0]
    half = fit(distance=["catoni", "kl"]).distances_[0]
    assert fit(distance=["catoni", get_distance(half)]).distances_ == (half,)
    with pytest.raises(ValueError, match="contains duplicates"):
        fit(distance=["kl", get_distance("kl")])
    assert fit(distance=catoni).distances_ == fit(distance=get_distance(catoni)).distances_ == (catoni,)


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_prior_from_cross_validation_has_gibbs_weights(data):
    clf = fit(data, prior="cross-validation")
    errors, _ = cv_errors(clf)
    weights = np.exp(-(errors - errors.min()))
    np.testing.assert_allclose(clf.prior_, weights / weights.sum(), rtol=1e-12)
    assert not clf.has_uniform_prior_
    assert any(
        "cross-validation within the training rows alone" in assumption for assumption in clf.certificate_.assumptions
    )


def test_classifiers_without_cross_validation_share_a_tenth():
    X, y = three_classes()
    grid = {"max_depth": range(1, 61)}
    clf = by_draws(Grid(DecisionTreeClassifier(), grid), prior="cross-validation").fit(X, y)
    unscored = np.isnan(clf.cv_results_["mean_test_score"])
    assert unscored.sum() == 10
    np.testing.assert_allclose(clf.prior_[unscored], 0.01)
    assert clf.prior_.sum() == pytest.approx(1.0)


def test_groups_temper_the_prior():
    X, y = two_classes()
    X, y = X[:300], y[:300]
    groups = np.arange(300) // 3
    clf = StochasticSVC(LAMBDAS, prior="cross-validation", cv=3, random_state=0).fit(X, y, groups=groups)
    errors, _ = cv_errors(clf)
    weights = np.exp(-(errors - errors.min()) / 3)
    np.testing.assert_allclose(clf.prior_, weights / weights.sum(), rtol=1e-9)


def test_fixed_c_requires_no_cross_validation():
    for split in ("shared", "independent"):
        clf = fit(distance=Catoni(0.5), split=split, cv=None)
        assert clf.distances_ == ("catoni(0.5)",)
        risks, m = clf.classifiers_.risks, clf.classifiers_.m
        assert clf.hedge_ == 1.0
        expected = optimal_posterior(risks, m, distance=Catoni(0.5)).bound
        assert clf.certificate_.bound == pytest.approx(expected, rel=1e-9)


def test_distances_are_parameters():
    clf = StochasticSVC(distance=[Catoni(0.5), "kl"])
    cloned = clone(clf)
    assert cloned.get_params()["distance"] == [Catoni(0.5), "kl"]
    assert cloned.set_params(distance=Catoni(0.25)).distance == Catoni(0.25)
    assert "distance=Catoni(C=0.25)" in repr(cloned)
    assert repr(clone(cloned)) == repr(cloned)
    fitted = fit(distance=Catoni(0.5))
    restored = pickle.loads(pickle.dumps(fitted))
    assert restored.certificate_ == fitted.certificate_
    assert restored.distance == Catoni(0.5)


@pytest.mark.parametrize("distance", ["catoni", [Catoni(0.3), "kl"]])
def test_save_and_load(distance, tmp_path):
    clf = fit(distance=distance, prior="cross-validation")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no trusted types are required
        save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.certificates_ == clf.certificates_
    assert loaded.distances_ == clf.distances_
    assert loaded.get_params()["distance"] == clf.get_params()["distance"]
    assert np.array_equal(loaded.prior_, clf.prior_)
    assert np.array_equal(loaded.predict(two_classes()[0]), clf.predict(two_classes()[0]))
    save(loaded, tmp_path / "second")
    assert load(tmp_path / "second").certificates_ == clf.certificates_


class CustomDistance(Distance):
    """Catoni's distance of C = 0.5 under another name."""

    name = "custom"
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


def test_unregistered_distance_cannot_be_saved(tmp_path):
    clf, same = fit(distance=CustomDistance()), fit(distance=Catoni(0.5))
    assert clf.certificate_.bound == pytest.approx(same.certificate_.bound, abs=1e-9)
    with pytest.raises(ValueError, match=r"CustomDistance\(\) cannot be saved.*register_distance"):
        save(clf, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    view = ReportView.from_model(clf)
    assert view.posteriors[-1].distance == "custom"
    assert clf.report(tmp_path / "page.html").stat().st_size > 0
