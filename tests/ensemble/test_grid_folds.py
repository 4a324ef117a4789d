"""Out-of-fold scores of any classifiers equal a loop of refits; those of forests are out of bag."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import select_test_rows
from pacbayes.data.split import SplitOptions, split_rows
from pacbayes.ensemble.calibration import (
    DECISIONS,
    LABELS,
    PROBABILITIES,
    calibrate,
    select_score_kind,
)
from pacbayes.ensemble.candidates import GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import TrainingJob
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.ensemble.grid import train_grids

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DATA = pytest.mark.parametrize("data", [CANCER, WINE], ids=["two classes", "three classes"])


class NearestMean(ClassifierMixin, BaseEstimator):
    """Classifier by the means of a column, without scores; predicts -1, which is no class, for large values."""

    def __init__(self, column=0, maximum=np.inf):
        self.column, self.maximum = column, maximum

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label, self.column].mean() for label in self.classes_])
        return self

    def predict(self, X):
        labels = self.classes_[np.abs(X[:, self.column, None] - self.means_).argmin(axis=1)]
        return labels if self.maximum == np.inf else np.where(X[:, self.column] > self.maximum, -1, labels)


def train(estimator, grid, X, y, groups=None, duplicates="keep"):
    """Classifiers of a grid, trained on half of the rows."""
    data = Dataset.from_arrays(X, y, groups)
    options = SplitOptions("shared", 0.5, groups, duplicates)
    candidates = plan_candidates([GridFamily("", estimator, grid)], 0)
    return train_grids(candidates, TrainingJob(data, split_rows(data, options, 1, 0), None, None, {}))


def out_of_fold(folds, fold):
    return list(folds.out_of_fold(np.arange(len(folds.estimators)), fold))


def four_folds(folds):
    return assign_folds(folds.codes, 4, np.random.default_rng(0))


# -- folds -----------------------------------------------------------------------------------------------------------


GRIDS = {
    "logistic": (
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.01, 1.0]}, PROBABILITIES,
    ),
    "trees": (DecisionTreeClassifier(max_features=2), {"max_depth": [1, 4]}, PROBABILITIES),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 7]}, PROBABILITIES),
    "ridge": (RidgeClassifier(), {"alpha": [0.1, 10.0]}, DECISIONS),
    "one-vs-rest SVMs": (LinearSVC(dual=False), {"C": [0.01, 1.0]}, DECISIONS),
    "SVMs": (SVC(), {"C": [0.1, 10.0]}, DECISIONS),
    "no scores": (NearestMean(), {"column": [0, 1]}, LABELS),
    "forests without bootstrap": (
        RandomForestClassifier(20, bootstrap=False), {"max_depth": [1, 3]}, PROBABILITIES,
    ),
}  # fmt: skip
METHODS = {PROBABILITIES: "predict_proba", DECISIONS: "decision_function", LABELS: "predict"}


@pytest.mark.parametrize("name", GRIDS)
@DATA
def test_scores_are_those_of_cross_val_predict(name, data):
    estimator, grid, kind = GRIDS[name]
    X, y = data
    folds = train(estimator, grid, X[:, :6], np.array(["b", "a", "c"])[y]).folds
    fold, training = four_folds(folds), folds.training
    for fitted, member in zip(folds.estimators, out_of_fold(folds, fold), strict=True):
        assert member.kind == kind
        y_pred, scores = (
            cross_val_predict(clone(fitted), training.rows, training.labels, method=method, cv=PredefinedSplit(fold))
            for method in ("predict", METHODS[kind])
        )
        np.testing.assert_array_equal(training.classes[member.y_pred], y_pred)
        if kind == LABELS:
            scores = np.searchsorted(training.classes, scores)
        np.testing.assert_array_equal(member.scores, scores.reshape(member.scores.shape))


@pytest.mark.parametrize("name", ["logistic", "ridge", "no scores", "SVMs"])
def test_class_that_is_missing_without_a_fold(name):
    estimator, grid, kind = GRIDS[name]
    X, y = WINE
    folds = train(estimator, grid, X[:, :6], y).folds
    codes, rows = folds.codes, folds.training.rows
    fold = np.where(codes == 1, 0, np.arange(codes.size) % 3)
    for fitted, member in zip(folds.estimators, out_of_fold(folds, fold), strict=True):
        assert member.kind == kind
        assert np.isfinite(member.scores).all()
        refitted = clone(fitted).fit(rows[fold != 0], codes[fold != 0])
        y_pred, scores = member.y_pred[fold == 0], member.scores[fold == 0]
        np.testing.assert_array_equal(y_pred, refitted.predict(rows[fold == 0]))
        assert not (y_pred == 1).any()
        if kind == PROBABILITIES:
            np.testing.assert_array_equal(scores[:, [0, 2]], refitted.predict_proba(rows[fold == 0]))
            assert (scores[:, 1] == 0.0).all()
        elif kind == DECISIONS:
            decisions = refitted.decision_function(rows[fold == 0])
            np.testing.assert_array_equal(scores, np.stack([-decisions, -np.abs(decisions) - 1.0, decisions], axis=1))
        calibration, log_loss = calibrate(member.kind, member.scores, codes, 3)
        assert np.isfinite(log_loss)
        assert np.isfinite(calibration(member.scores)).all()


@pytest.mark.parametrize("name", ["logistic", "ridge", "no scores"])
@pytest.mark.parametrize("removed", [0, 1])
def test_single_class_without_a_fold_is_predicted(name, removed):
    estimator, grid, kind = GRIDS[name]
    X, y = CANCER
    folds = train(estimator, grid, X[:, :6], y).folds
    fold = np.where(folds.codes == removed, 0, 1 + np.arange(folds.codes.size) % 2)
    rows, remaining = fold == 0, 1 - removed
    for member in out_of_fold(folds, fold):
        assert (member.y_pred[rows] == remaining).all()
        if kind == PROBABILITIES:
            assert (member.scores[rows] == [remaining == 0, remaining == 1]).all()
        else:
            assert (member.scores[rows] == (remaining if kind == LABELS else 2.0 * remaining - 1.0)).all()
        assert len(np.unique(member.y_pred[~rows])) == 2


class LargeSampleTree(DecisionTreeClassifier):
    """Fail to fit few rows at depth two."""

    def fit(self, X, y):
        if self.max_depth == 2 and len(X) < 56:
            raise RuntimeError("too few")
        return super().fit(X, y)


@pytest.mark.parametrize("kind", [PROBABILITIES, LABELS])
def test_classifier_that_cannot_be_fitted_without_a_fold_errs_on_all_of_it(kind):
    cls = LargeSampleTree
    if kind == LABELS:
        cls = type("WithoutScores", (LargeSampleTree,), {"predict_proba": property()})
    folds = train(cls(random_state=0), {"max_depth": [1, 2, 3]}, *IRIS).folds
    # The second of four folds has 20 of 75 rows.
    fold = np.repeat([0, 1, 2, 3], [18, 20, 19, 18])[np.random.default_rng(0).permutation(75)]
    with pytest.warns(FitFailedWarning, match=r"1 of 3 classifiers could not be fitted in a fold .* RuntimeError"):
        members = out_of_fold(folds, fold)
    assert [member.kind for member in members] == [kind] * 3
    for i, member in enumerate(members):
        np.testing.assert_array_equal(member.y_pred == 3, (fold == 1) & (i == 1))
    assert (members[1].scores[fold == 1] == (0.0 if kind == PROBABILITIES else 3.0)).all()


# -- kinds of scores -------------------------------------------------------------------------------------------------


class TwoColumns(RidgeClassifier):
    """Has a column of decision values for each of two classes."""

    def decision_function(self, X):
        decisions = super().decision_function(X)
        return np.stack([-decisions, decisions], axis=1)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


class WithoutClasses(NearestMean):
    """Has no attribute `classes_`."""

    def fit(self, X, y):
        super().fit(X, y)
        self.known_ = self.classes_
        del self.classes_
        return self

    def predict(self, X):
        return self.known_[np.abs(X[:, self.column, None] - self.means_).argmin(axis=1)]


@pytest.mark.parametrize(
    ("estimator", "data", "kind"),
    [
        (SVC(decision_function_shape="ovr"), WINE, DECISIONS),
        # Three classes have three pairs, whose decision values are not scores of the classes.
        (SVC(decision_function_shape="ovo"), WINE, LABELS),
        (make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")), WINE, LABELS),
        (SVC(decision_function_shape="ovo"), CANCER, DECISIONS),
        (TwoColumns(), CANCER, LABELS),
        (NearestMean(), CANCER, LABELS),
        (WithoutClasses(), WINE, LABELS),
        (KNeighborsClassifier(), WINE, PROBABILITIES),
    ],
)
def test_kind_of_scores(estimator, data, kind):
    X, y = data
    assert select_score_kind(clone(estimator).fit(X, y), np.unique(y).size, X[select_test_rows(y)]) == kind
    # `fit` supports all kinds.
    clf = CertifiedClassifier(Grid(None, [estimator, DecisionTreeClassifier(max_depth=1)]), cv=3, random_state=0)
    clf.fit(X, y)
    assert clf.voting_ == "soft"
    assert np.isfinite(clf.predict_proba(X)).all()


# -- forests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
@DATA
def test_scores_of_forests_are_out_of_bag(cls, data):
    X, y = data
    folds = train(cls(60, bootstrap=True), {"max_depth": [1, None]}, X, np.array(["b", "a", "c"])[y]).folds
    training = folds.training
    assert sorted(folds.out_of_bag) == [0, 1]
    for fitted, member in zip(folds.estimators, out_of_fold(folds, four_folds(folds)), strict=True):
        # The forest is left in the state of a plain fit.
        assert not fitted.oob_score
        assert not hasattr(fitted, "oob_decision_function_")
        plain = clone(fitted).fit(training.rows, training.labels)
        np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))
        with_oob = clone(fitted).set_params(oob_score=True).fit(training.rows, training.labels)
        assert member.kind == PROBABILITIES
        np.testing.assert_array_equal(member.scores, with_oob.oob_decision_function_)
        y_pred = with_oob.classes_[with_oob.oob_decision_function_.argmax(axis=1)]
        np.testing.assert_array_equal(training.classes[member.y_pred], y_pred)


def test_rows_in_every_bag_have_equal_probabilities():
    X, y = IRIS
    with np.errstate(all="raise"):
        folds = train(RandomForestClassifier(2), {"max_depth": [2]}, X + 1e-3 * np.arange(150)[:, None], y).folds
    (member,) = out_of_fold(folds, four_folds(folds))
    assert np.isfinite(member.scores).all()
    in_every_bag = np.isnan(folds.out_of_bag[0]).all(axis=1)
    assert in_every_bag.any()
    assert (member.scores[in_every_bag] == 1 / 3).all()


def assert_refitted(folds, fold):
    """Scores are those of forests refitted without a fold."""
    training = folds.training
    assert not folds.out_of_bag
    for fitted, member in zip(folds.estimators, out_of_fold(folds, fold), strict=True):
        for k in range(int(fold.max()) + 1):
            refitted = clone(fitted).fit(training.rows[fold != k], training.labels[fold != k])
            expected = refitted.predict_proba(training.rows[fold == k])
            np.testing.assert_array_equal(member.scores[fold == k], expected)


@pytest.mark.parametrize("duplicates", ["keep", "together"])
def test_forests_are_refitted_with_duplicates(duplicates):
    X, y = CANCER
    # A single duplicate suffices.
    rows = np.append(np.arange(100), train(None, [DecisionTreeClassifier()], X[:101], y[:101]).split(0)[0][:1])
    folds = train(RandomForestClassifier(10), {"max_depth": [2]}, X[rows], y[rows], duplicates=duplicates).folds
    duplicated = np.unique(folds.training.rows, axis=0).shape[0] < folds.training.n_rows
    assert duplicated or duplicates == "together"
    assert_refitted(folds, four_folds(folds))
