"""Attributes of GridSearchCV: `cv_results_`, `best_params_`, `best_estimator_`; and `predict_proba`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import StochasticSVC
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes.ensemble.cross_validation import assign_folds, select_evenly_spaced


def test_scores_are_those_of_refitted_classifiers():
    clf, (X, y) = fitted("grid", two_classes), two_classes()
    train = clf.classifiers_.splits(0)[0]
    results = clf.cv_results_
    fold = assign_folds(y[train], clf.cv, make_rng(0, Purpose.FOLDS))
    for i in range(len(clf.classifiers_)):
        for k in range(clf.cv):
            inner, outer = train[fold != k], train[fold == k]
            refitted = clone(clf.classifiers_[i]).fit(X[inner], y[inner])
            assert results[f"split{k}_test_score"][i] == pytest.approx(refitted.score(X[outer], y[outer]), abs=1e-12)
    assert results["params"] == clf.classifiers_.params
    assert results["param_max_depth"].tolist() == [params["max_depth"] for params in results["params"]]
    sizes = np.bincount(fold)
    scores = np.array([results[f"split{k}_test_score"] for k in range(clf.cv)])
    np.testing.assert_allclose(results["mean_test_score"], np.average(scores, axis=0, weights=sizes))


@pytest.mark.parametrize("hedge", ["auto", 1])
@pytest.mark.parametrize("kind", ["svc", "grid"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_holdout_classifier_has_rank_one(kind, data, hedge):
    """Without primary rules, the first; with primary rules, the middle of the longest run."""
    clf = fitted(kind, data, hedge=hedge)
    ranks = clf.cv_results_["rank_test_score"]
    runs = [run for run in np.split(np.arange(ranks.size), np.flatnonzero(np.diff(ranks)) + 1) if ranks[run[0]] == 1]
    longest = max(runs, key=len)
    holdout = int(runs[0][0] if hedge == 1 else longest[(len(longest) - 1) // 2])
    if hedge != 1:
        assert clf.primary_["best"][holdout] == 1.0
    assert clf.certificate_.baselines["holdout"].note.startswith(f"classifier {holdout} ")
    scores = clf.cv_results_["mean_test_score"]
    assert scores[holdout] == np.nanmax(scores)
    assert all(rank == 1 + np.sum(scores > score + 1e-12) for rank, score in zip(ranks, scores, strict=True))


def test_unscored_classifiers_have_the_last_rank():
    X, y = two_classes()
    clf = StochasticSVC(np.geomspace(0.01, 10.0, 120), cv=2, hedge=1, random_state=0).fit(X[:150], y[:150])
    results = clf.cv_results_
    scored = np.zeros(120, dtype=bool)
    scored[select_evenly_spaced(120)] = True
    assert scored.sum() == 50
    for name in ("mean_test_score", "std_test_score", "split0_test_score", "split1_test_score"):
        assert np.array_equal(np.isfinite(results[name]), scored)
    assert set(results["rank_test_score"][~scored]) == {51}
    assert results["rank_test_score"][scored].max() <= 50
    assert len(pd.DataFrame(results)) == 120
    # Primary rules require the scores of all SVMs.
    with_rules = StochasticSVC(np.geomspace(0.01, 10.0, 120), cv=2, hedge=0.1, random_state=0).fit(X[:150], y[:150])
    assert np.isfinite(with_rules.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    "name",
    ["cv_results_", "best_params_", "majority_class_", "delta_", "distances_", "has_uniform_prior_", "vote_risk_"],
)
def test_attributes_require_fit(name):
    assert not hasattr(StochasticSVC(), name)
    with pytest.raises(NotFittedError):
        getattr(StochasticSVC(), name)


def test_missing_cv_results_are_explained():
    X, y = two_classes()
    clf = StochasticSVC([1.0], cv=None, random_state=0).fit(X, y)
    assert not hasattr(clf, "cv_results_")
    with pytest.raises(AttributeError, match=r"'cv_results_': cv=None"):
        clf.cv_results_  # noqa: B018
    with pytest.raises(AttributeError, match="every row is a validation row of some classifier"):
        fitted("svc", two_classes, "independent").cv_results_  # noqa: B018
