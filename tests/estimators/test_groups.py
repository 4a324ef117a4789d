"""Groups and duplicates in both estimators: certificates, folds, files and reports."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grouped import exact_risk, is_rounded_up, sample
from tests.files.model_files import Forged

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, load, save
from pacbayes._utils.words import percent_up
from pacbayes.bounds.bets import bet_upper
from pacbayes.bounds.binomial import chernoff_upper
from pacbayes.ensemble import cross_validation
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.report import report_html

LAMBDAS = np.geomspace(0.01, 10.0, 5).tolist()
SENTENCE = "averaged over new groups, is at most {}."


def svc(**options):
    return StochasticSVC(LAMBDAS, **{"hedge": "auto", "random_state": 0} | options)


def grid(**options):
    trees = Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]})
    return CertifiedClassifier(trees, **{"cv": 3, "random_state": 0} | options)


@pytest.mark.parametrize(("make", "options"), [(svc, {}), (svc, {"split": "independent"}), (grid, {})])
def test_certificate_is_for_new_groups(make, options, tmp_path):
    X, y, groups = sample(60)
    clf = make(**options).fit(X, y, groups=groups)
    certificate = clf.certificate_
    assert (certificate.unit, certificate.m, certificate.copies) == ("group", 30, 0)
    assert SENTENCE.format(percent_up(certificate.bound)) in certificate.sentence
    assert any("not on the error rate of all rows" in line for line in certificate.assumptions)
    assert any("30" in line and "groups" in line for line in certificate.assumptions)
    best = clf.best_index_
    train, validation = clf.classifiers_.splits(best)
    assert not set(groups[train]) & set(groups[validation])
    exact = exact_risk(clf.classifiers_[best].predict(X[validation]) != y[validation], groups[validation])
    assert is_rounded_up(clf.certificates_["best"].empirical_risk, exact)
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model", trusted=["sklearn."])
    assert loaded.certificates_ == clf.certificates_
    assert np.array_equal(loaded.predict(X), clf.predict(X))
    assert clone(clf).fit(X, y, groups=groups).certificates_ == clf.certificates_


def test_certificates_follow_from_stored_predictions(tmp_path):
    X, y, groups = sample(60)
    clf = svc(hedge=1).fit(X, y, groups=groups)
    forged = Forged.of(clf)
    y_pred, y_true = forged["predictions.y_pred"], forged["predictions.y_true"]
    first = np.flatnonzero((y_pred == y_true).all(axis=0))[0]
    y_pred[:, first] = 1 - y_true[first]
    forged["predictions.y_pred"] = y_pred
    loaded = load(forged.write(tmp_path / "model"))
    assert all(
        loaded.certificates_[voting].bound > clf.certificates_[voting].bound for voting in ("stochastic", "best")
    )
    # As single rows, they would have smaller, binomial bounds.
    forged = Forged.of(clf)
    forged["plan.split.unit"], forged["plan.split.units"] = "example", None
    with pytest.raises(ValueError, match=r"Split\.\w+ is not"):
        load(forged.write(tmp_path / "model"))


@pytest.mark.parametrize("make", [svc, grid])
def test_holdout_keeps_groups_in_one_fold(make, monkeypatch):
    X, y, groups = sample(60)
    calls = []

    def recording(codes, n_folds, rng, units=None):
        folds = assign_folds(codes, n_folds, rng, units)
        calls.append((folds, units))
        return folds

    monkeypatch.setattr(cross_validation, "assign_folds", recording)
    clf = make(cv=4).fit(X, y, groups=groups)
    ((folds, units),), train = calls, clf.classifiers_.splits(0)[0]
    assert pd.factorize(groups[train])[0].tolist() == pd.factorize(units)[0].tolist()
    assert sorted(np.unique(folds)) == [0, 1, 2, 3]
    sizes = [len(np.unique(units[folds == k])) for k in range(4)]
    assert sum(sizes) == len(np.unique(units)) == 30  # no group in two folds
    assert max(sizes) - min(sizes) <= 1
    baseline = clf.certificate_.baselines["holdout"]
    plan, predictions = clf._fitted.plan, clf._fitted.predictions
    wrong = pd.Series(predictions.y_pred[plan.holdout] != predictions.y_true)
    losses = wrong.groupby(groups[plan.split.validation_rows]).mean()
    # A fixed classifier has the bet of the primary rules.
    expected = (
        chernoff_upper(baseline.empirical_risk, 30, 0.05) if plan.bet is None else bet_upper(losses, plan.bet, 0.05)
    )
    assert baseline.bound == pytest.approx(float(expected), rel=1e-12)
    assert "errors per validation group" in str(baseline)


def test_vote_risk_is_a_mean_over_groups(tmp_path):
    X, y, groups = sample(60)
    clf = svc(voting="majority").fit(X, y, groups=groups)
    validation = clf.classifiers_.splits(0)[1]
    exact = exact_risk(clf.predict(X[validation]) != y[validation], groups[validation])
    assert is_rounded_up(clf.vote_risk_, exact)
    assert clf.vote_errors_ == np.count_nonzero(clf.predict(X[validation]) != y[validation])
    constant = exact_risk(y[validation] != clf.majority_class_, groups[validation])
    assert is_rounded_up(clf.certificate_.baselines["majority class"].empirical_risk, constant)


@pytest.mark.parametrize("make", [svc, grid])
def test_duplicates_are_counted_or_kept_together(make, tmp_path):
    X, y, _ = sample(60)
    rows, labels = np.tile(X, (5, 1)), np.tile(y, 5)
    with pytest.warns(UserWarning, match="look like copies made after sampling"):
        kept = make().fit(rows, labels)
    assert kept.certificate_.copies > 0.9 * kept.certificate_.m
    once = make(duplicates="together").fit(rows, labels)
    assert (once.certificate_.copies, once.certificate_.m) == (0, y.size // 2)
    assert once.certificate_.unit == "distinct example"
    assert "on new examples, duplicates counted once, is at most" in once.certificate_.sentence
    assert "independent draws from the distribution of new originals" in once.certificate_.explain()
    assert once.certificate_.bound > kept.certificate_.bound
    assert once.get_params()["duplicates"] == "together"
    save(once, tmp_path / "model")
    assert load(tmp_path / "model", trusted=["sklearn."]).certificates_ == once.certificates_
    page = report_html(once, data=(rows, labels))
    assert "validation distinct rows m" in page
    assert "Equal rows were treated as duplicates" in page


def test_duplicates_are_detected_before_preprocessing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["x", "y"], 80)})
    y = (X["a"] > 0).astype(int).to_numpy()
    preprocessor = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    twice = pd.concat([X, X], ignore_index=True)
    with pytest.warns(UserWarning, match="80 distinct rows occur 2 times"):
        svc(preprocessor=preprocessor).fit(twice, np.tile(y, 2))
    clf = svc(preprocessor=preprocessor, duplicates="together").fit(twice, np.tile(y, 2))
    assert clf.certificate_.m == 40
