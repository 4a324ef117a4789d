"""refit=True: predictions, coverage, certificates, files and monitors."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier, Cost, Grid, compare_classifiers, load, save
from pacbayes.certificates.rules import MARGIN

X, Y = load_breast_cancer(return_X_y=True)
NEW = X + np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)
GRID = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 5]})
COST = Cost([[0.0, 1.0], [5.0, 0.0]], [0, 1])


def fit(candidates="svm", data=(X, Y), groups=None, **options):
    params = {"refit": True, "cv": 3, "random_state": 0} | options
    return CertifiedClassifier(candidates, **params).fit(*data, groups=groups)


@pytest.fixture(scope="module")
def both():
    """The same fit with and without a refit."""
    return fit(), fit(refit=False)


def test_refit_predicts_where_it_is_clear(both):
    refitted, certified = both
    clear, labels, probabilities = refitted._fitted.refit.predict(NEW)
    first_two = np.sort(probabilities, axis=1)[:, -2:]
    np.testing.assert_array_equal(clear, first_two[:, 1] - first_two[:, 0] > MARGIN)
    assert 0.5 < clear.mean() < 1.0
    expected = np.where(clear, labels, certified.predict(NEW))
    np.testing.assert_array_equal(refitted.predict(NEW), expected)
    np.testing.assert_array_equal(refitted.covered(NEW), expected == certified.predict(NEW))
    assert 0.9 < refitted.covered(NEW).mean() < 1.0
    expected = np.where(clear[:, None], probabilities, certified.predict_proba(NEW))
    np.testing.assert_array_equal(refitted.predict_proba(NEW), expected)
    assert certified.covered(NEW).all()


def test_refit_is_trained_on_all_rows(both):
    refitted = both[0]._fitted.refit
    assert refitted.members.rows.shape[0] == len(X)
    assert both[0]._fitted.members.rows.shape[0] == len(X) // 2 + 1


def test_bound_is_that_of_the_certified_vote(both):
    refitted, certified = (clf.certificate_ for clf in both)
    assert refitted.refit
    assert not certified.refit
    assert refitted.bound == certified.bound
    assert refitted.level == certified.level
    assert refitted.sentence == (
        "With 95 % confidence, at most 5.1 % of new examples get a wrong prediction on which the refitted and the "
        "certified model agree."
    )
    assert refitted.summary_line == "At most 5.1 % of predictions covered and wrong"
    assert "covered(X) is the mask" in refitted.explain()
    assert refitted.to_dict()["refit"] is True
    # Other votings keep the certified classifiers.
    assert not both[0].certificates_["best"].refit
    np.testing.assert_array_equal(both[0].best_estimator_.predict(NEW), both[1].best_estimator_.predict(NEW))


@pytest.mark.parametrize("voting", ["soft", "majority", "best"])
def test_voting_is_fixed_by_fit(voting):
    clf = fit(GRID, voting=voting)
    assert clf.voting_ == voting
    np.testing.assert_array_equal(clf.classes_[clf.predict_proba(NEW).argmax(axis=1)], clf.predict(NEW))
    other = "majority" if voting == "best" else "best"
    clf.set_params(voting=other)
    with pytest.raises(ValueError, match=f"voting must be '{voting}' or 'auto': the model was refitted for it"):
        clf.predict(NEW)
    assert clf.set_params(voting="auto").voting_ == voting


def test_metrics_of_covered_predictions():
    clf, certified = (fit(metrics=("error", "balanced_error", COST), refit=refit) for refit in (True, False))
    assert clf.certificate_.metrics == tuple(replace(metric, covered=True) for metric in certified.certificate_.metrics)
    assert len(clf.certificate_.metrics) == 4


@pytest.mark.parametrize("candidates", ["svm", ["svm", "forest"]])
def test_save_and_load(candidates, tmp_path):
    clf = fit(candidates)
    loaded = load(tmp_path / "model", sha256=save(clf, tmp_path / "model"))
    assert loaded.certificates_ == clf.certificates_
    for name in ("predict", "covered", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, name)(NEW), getattr(clf, name)(NEW))


def test_rows_of_the_refit_are_recognised():
    clf = fit(GRID)
    with pytest.raises(ValueError, match="569 of 569 rows equal a row behind it"):
        compare_classifiers(Y, clf, X, Y)


def test_checkpoint_stores_both_trainings(tmp_path):
    expected = fit().predict_proba(NEW)
    for _ in range(2):
        np.testing.assert_array_equal(fit(checkpoint=tmp_path).predict_proba(NEW), expected)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("widths")) == [
        "refit/svm/widths",
        "svm/widths",
    ]


def test_batch_counts_uncovered_rows(both):
    refitted, certified = both
    batch, certified_batch = refitted.certify_batch(NEW), certified.certify_batch(NEW)
    uncovered = int(np.sum(~refitted.covered(NEW)))
    assert uncovered > 0
    assert (batch.not_covered, certified_batch.not_covered) == (uncovered, 0)
    assert batch.wrong == certified_batch.wrong + uncovered
    assert f"counting {uncovered} not covered" in str(batch)


def test_monitor_counts_covered_errors(both):
    monitor = both[0].monitor()
    monitor.update(NEW, Y)
    expected = (both[0].predict(NEW) != Y) & both[0].covered(NEW)
    assert monitor.errors == expected.sum()
    assert expected.sum() < np.sum(both[0].predict(NEW) != Y)


def test_sentences_refer_to_covered_predictions():
    """The refit may err more often: its metrics are proved for covered predictions only."""
    certificate = fit(metrics=("error", "balanced_error", COST)).certificate_
    assert all(metric.covered for metric in certificate.metrics)
    sentences = [str(metric) for metric in certificate.metrics]
    assert "covered and wrong" in sentences[0]
    assert all("counting covered predictions only" in sentence for sentence in sentences[2:])
    assert "error rate at most" not in certificate.explain().partition("Details:")[2].partition("Assumption")[0]
    assert "covered and wrong" in str(certificate.with_class_shares({0: 0.5, 1: 0.5}))


def test_monitor_of_the_certificate_is_rejected(both):
    with pytest.raises(ValueError, match="the certificate is about covered predictions"):
        both[0].certificate_.monitor()
    assert "covered predictions of a refit" in repr(both[0].certificate_)


def test_command_line_marks_covered_rows(both, tmp_path, capsys):
    frame = pd.DataFrame(NEW).rename(columns=str)
    frame.assign(kind=Y).to_csv(tmp_path / "new.csv", index=False)
    clf = fit(data=(pd.DataFrame(X).rename(columns=str), Y))
    save(clf, tmp_path / "model")
    predicted = in_process(["predict", tmp_path / "model", tmp_path / "new.csv", "--shares"], capsys)
    table = pd.read_csv(io.StringIO(predicted.out))
    np.testing.assert_array_equal(table["covered"] == "yes", clf.covered(frame))
    np.testing.assert_array_equal(table["share of 1"] > table["share of 0"], table["predicted"] == 1)
    watched = in_process(["watch", tmp_path / "model", tmp_path / "new.csv", "--target", "kind", "--json"], capsys)
    expected = clf.monitor().update(frame, Y)
    assert json.loads(watched.out)["errors"] == expected.errors < np.sum(clf.predict(frame) != Y)
