"""What somebody who knows GridSearchCV looks for: cv_results_, best_params_, best_estimator_; and predict_proba."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, fitted, three_classes, two_classes, why_not

from pacbayes import Grid, StochasticSVC, load, save
from pacbayes._utils.seeds import Purpose, generator
from pacbayes.ensemble.cross_validation import assign_folds, evenly_spaced


def test_scores_are_those_of_the_classifiers_trained_anew():
    clf, (X, y) = fitted("grid", two_classes), two_classes()
    train = clf.classifiers_.splits(0)[0]
    found = clf.cv_results_
    fold = assign_folds(y[train], clf.cv, generator(0, Purpose.FOLDS))
    for i in range(len(clf.classifiers_)):
        for k in range(clf.cv):
            inner, outer = train[fold != k], train[fold == k]
            again = clone(clf.classifiers_[i]).fit(X[inner], y[inner])
            assert found[f"split{k}_test_score"][i] == pytest.approx(again.score(X[outer], y[outer]), abs=1e-12)
    for k, name in enumerate(found["params"]):
        assert name == clf.classifiers_.params[k]
        assert found["param_max_depth"][k] == name["max_depth"]
    sizes = np.bincount(fold)
    scores = np.array([found[f"split{k}_test_score"] for k in range(clf.cv)])
    np.testing.assert_allclose(found["mean_test_score"], np.average(scores, axis=0, weights=sizes))


@pytest.mark.parametrize("hedge", ["auto", 1])
@pytest.mark.parametrize("kind", ["svc", "grid"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_one_of_rank_one_is_the_hold_out_classifier(kind, data, hedge):
    """The first of them without a proposal; else the proposal itself, the middle one of the longest run."""
    clf = fitted(kind, data, hedge=hedge)
    ranks = clf.cv_results_["rank_test_score"]
    runs = [run for run in np.split(np.arange(ranks.size), np.flatnonzero(np.diff(ranks)) + 1) if ranks[run[0]] == 1]
    longest = max(runs, key=len)
    chosen = int(runs[0][0] if hedge == 1 else longest[(len(longest) - 1) // 2])
    if hedge != 1:
        assert clf.primary_["best"][chosen] == 1.0
    assert clf.certificate_.baselines["holdout"].note.startswith(f"classifier {chosen} ")
    scores = clf.cv_results_["mean_test_score"]
    assert scores[chosen] == np.nanmax(scores)
    assert all(rank == 1 + np.sum(scores > score + 1e-12) for rank, score in zip(ranks, scores, strict=True))


def test_those_without_a_score_have_none_and_the_last_rank():
    X, y = two_classes()
    clf = StochasticSVC(np.geomspace(0.01, 10.0, 120), cv=2, hedge=1, random_state=0).fit(X[:150], y[:150])
    found = clf.cv_results_
    scored = np.zeros(120, dtype=bool)
    scored[evenly_spaced(120)] = True
    assert scored.sum() == 50
    for name in ("mean_test_score", "std_test_score", "split0_test_score", "split1_test_score"):
        assert np.array_equal(np.isfinite(found[name]), scored)
    assert set(found["rank_test_score"][~scored]) == {51}
    assert found["rank_test_score"][scored].max() <= 50
    assert len(pd.DataFrame(found)) == 120
    # A proposal looks at all of them: a path costs little more.
    proposed = StochasticSVC(np.geomspace(0.01, 10.0, 120), cv=2, hedge=0.1, random_state=0).fit(X[:150], y[:150])
    assert np.isfinite(proposed.cv_results_["mean_test_score"]).all()


def test_parameters_that_only_some_have_are_masked_and_sequences_stay_whole():
    X, y = two_classes()
    grid = [{"max_depth": [1]}, {"max_features": [3], "class_weight": [{0: 1.0, 1: 2.0}]}]
    found = by_draws(Grid(DecisionTreeClassifier(), grid)).fit(X, y).cv_results_
    assert found["param_max_features"].mask.tolist() == [True, False]
    assert found["param_class_weight"][1] == {0: 1.0, 1: 2.0}


def test_best_is_the_classifier_of_the_best_certificate():
    clf, (X, _) = fitted("svc", two_classes), two_classes()
    assert clf.best_params_ == clf.classifiers_.params[clf.best_index_]
    assert clf.best_params_["lambda"] == clf.best_estimator_.lam
    by_voting = clone(clf).set_params(voting="best").fit(*two_classes())
    assert np.array_equal(by_voting.best_estimator_.predict(X), by_voting.predict(X))


@pytest.mark.parametrize(
    "name",
    ["cv_results_", "best_params_", "majority_class_", "delta_", "distances_", "has_uniform_prior_", "vote_risk_"],
)
def test_not_before_it_is_fitted(name):
    assert not hasattr(StochasticSVC(), name)
    with pytest.raises(NotFittedError):
        getattr(StochasticSVC(), name)


def test_without_cross_validation_the_error_says_why_and_what_to_do():
    X, y = two_classes()
    alone = StochasticSVC([1.0], cv=None, random_state=0).fit(X, y)
    assert not hasattr(alone, "cv_results_")
    with pytest.raises(AttributeError, match=r"'cv_results_': cv=None"):
        alone.cv_results_  # noqa: B018  (the access is the test)
    with pytest.raises(AttributeError, match="every row validates some classifier"):
        fitted("svc", two_classes, "independent").cv_results_  # noqa: B018


def test_a_loaded_model_has_them_too(tmp_path):
    clf = fitted("svc", two_classes)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.best_params_ == clf.best_params_
    for name, values in clf.cv_results_.items():
        np.testing.assert_array_equal(again.cv_results_[name], values)


@pytest.mark.parametrize("kind", ["svc", "grid"])
def test_predict_proba_names_the_remedy(kind):
    X, y = two_classes()
    clf = clone(fitted(kind, two_classes)).fit(X, y)
    assert 'use vote_share(X) or set_params(voting="majority")' in why_not(clf, "predict_proba")
    shares = clf.set_params(voting="majority").vote_share(X)
    assert np.array_equal(clf.predict_proba(X), shares)
    # scikit-learn asks for the method by its name.
    assert clf.predict_proba.__name__ == "predict_proba"
    scorer = make_scorer(roc_auc_score, response_method="predict_proba")
    assert scorer(clf, X, y) == roc_auc_score(y, shares[:, 1])
