"""Out-of-fold scores of any classifiers: those of a plain loop of refits; of forests, those of rows out of bag."""

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
from pacbayes.data.rows import few_rows
from pacbayes.data.split import SplitOptions, split_rows
from pacbayes.ensemble.calibration import ANSWERS, DECISIONS, PROBABILITIES, calibrate, kind_of, scores_of
from pacbayes.ensemble.candidates import GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import Work
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.ensemble.grid import train_grids

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
IRIS = load_iris(return_X_y=True)


class Mute(ClassifierMixin, BaseEstimator):
    """Answers, and does not say how sure it is; of rows that are far it says what is no class."""

    def __init__(self, column=0, far=np.inf):
        self.column, self.far = column, far

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        means = [X[y == label, self.column].mean() for label in self.classes_]
        self.means_ = np.array(means)
        return self

    def predict(self, X):
        near = np.abs(X[:, self.column, None] - self.means_).argmin(axis=1)
        said = np.asarray(self.classes_)[near]
        return said if self.far == np.inf else np.where(X[:, self.column] > self.far, -1, said)


def trained(estimator, grid, X, y, groups=None, n_jobs=None, duplicates="keep"):
    """Classifiers of a grid with their folds, trained on half of the rows."""
    data = Dataset.checked(X, y, groups)
    choices = SplitOptions("shared", 0.5, groups, duplicates)
    candidates = plan_candidates([GridFamily("", estimator, grid)], 0)
    return train_grids(candidates, Work(data, split_rows(data, choices, 1, 0), n_jobs, None, {}))


def heard(folds, fold):
    return list(folds.out_of_fold(np.arange(len(folds.estimators)), fold))


def some_folds(folds, number=4):
    return assign_folds(folds.codes, number, np.random.default_rng(0), None)


# -- against scikit-learn's own loop ---------------------------------------------------------------------------------


GRIDS = {
    "logistic": (
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.01, 1.0]}, PROBABILITIES,
    ),
    "trees": (DecisionTreeClassifier(max_features=2), {"max_depth": [1, 4]}, PROBABILITIES),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 7]}, PROBABILITIES),
    "ridge": (RidgeClassifier(), {"alpha": [0.1, 10.0]}, DECISIONS),
    "one machine for each class": (LinearSVC(dual=False), {"C": [0.01, 1.0]}, DECISIONS),
    "machines": (SVC(), {"C": [0.1, 10.0]}, DECISIONS),
    "no scores": (Mute(), {"column": [0, 1]}, ANSWERS),
    "forests that use all rows": (
        RandomForestClassifier(20, bootstrap=False), {"max_depth": [1, 3]}, PROBABILITIES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("data", [CANCER, WINE], ids=["two classes", "three classes"])
def test_scores_are_those_of_cross_val_predict(kind, data):
    estimator, grid, expected_kind = GRIDS[kind]
    X, y = data
    names = np.array(["b", "a", "c"])[y]
    one = trained(estimator, grid, X[:, :6], names)
    folds = one.folds
    fold = some_folds(folds)
    training = folds.training
    method = {PROBABILITIES: "predict_proba", DECISIONS: "decision_function", ANSWERS: "predict"}[expected_kind]
    for fitted, said in zip(folds.estimators, heard(folds, fold), strict=True):
        assert said.kind == expected_kind
        choices = {"cv": PredefinedSplit(fold)}
        predicted = cross_val_predict(clone(fitted), training.rows, training.labels, **choices)
        np.testing.assert_array_equal(training.classes[said.y_pred], predicted)
        scores = cross_val_predict(clone(fitted), training.rows, training.labels, method=method, **choices)
        if expected_kind == ANSWERS:
            scores = np.searchsorted(training.classes, scores)
        np.testing.assert_array_equal(said.scores, scores.reshape(said.scores.shape))


# -- which scores there are ------------------------------------------------------------------------------------------


class Two(RidgeClassifier):
    """Has a column of decisions for each of two classes."""

    def decision_function(self, X):
        found = super().decision_function(X)
        return np.stack([-found, found], axis=1)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


class Nameless(Mute):
    """Does not say which classes it knows."""

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
        # Of three classes there are three pairs, and they are no scores of the classes.
        (SVC(decision_function_shape="ovo"), WINE, ANSWERS),
        (make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")), WINE, ANSWERS),
        (SVC(decision_function_shape="ovo"), CANCER, DECISIONS),
        (Two(), CANCER, ANSWERS),
        (Mute(), CANCER, ANSWERS),
        (Nameless(), WINE, ANSWERS),
        (KNeighborsClassifier(), WINE, PROBABILITIES),
    ],
)
def test_which_scores_a_classifier_has(estimator, data, kind):
    X, y = data
    fitted = clone(estimator).fit(X, y)
    assert kind_of(fitted, np.unique(y).size, X[few_rows(y)]) == kind
    # And a fit works with whatever there is.
    clf = CertifiedClassifier(Grid(None, [estimator, DecisionTreeClassifier(max_depth=1)]), cv=3, random_state=0)
    clf.fit(X, y)
    assert clf.voting_ == "soft"
    assert np.isfinite(clf.predict_proba(X)).all()


def test_scores_for_classes_that_a_classifier_does_not_know():
    X, y = IRIS
    classes = np.arange(3)
    known = LogisticRegression(max_iter=1000).fit(X[y != 1], y[y != 1])
    found = scores_of(known, X, PROBABILITIES, classes)
    np.testing.assert_array_equal(found[:, [0, 2]], known.predict_proba(X))
    assert (found[:, 1] == 0.0).all()
    decisions = scores_of(known, X, DECISIONS, classes)
    np.testing.assert_array_equal(decisions[:, 2], known.decision_function(X))
    np.testing.assert_array_equal(decisions[:, 0], -known.decision_function(X))
    np.testing.assert_array_equal(decisions[:, 1], -np.abs(known.decision_function(X)) - 1.0)
    four = LinearSVC(dual=False).fit(np.vstack([X, X[:50] + 9]), np.append(y, [7] * 50))
    # A class that nobody asked about is left out.
    np.testing.assert_array_equal(scores_of(four, X, DECISIONS, classes), four.decision_function(X)[:, :3])
    assert scores_of(Mute(far=7.0).fit(X, y), X, ANSWERS, classes)[X[:, 0] > 7.0].ravel().tolist() == [3.0] * 12


# -- classes that a fold lacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "ridge", "no scores", "machines"])
def test_a_class_that_the_other_folds_lack(kind):
    estimator, grid, expected_kind = GRIDS[kind]
    X, y = WINE
    folds = trained(estimator, grid, X[:, :6], y).folds
    codes, rows = folds.codes, folds.training.rows
    fold = np.where(codes == 1, 0, np.arange(codes.size) % 3)
    for fitted, said in zip(folds.estimators, heard(folds, fold), strict=True):
        assert said.kind == expected_kind
        assert np.isfinite(said.scores).all()
        refitted = clone(fitted).fit(rows[fold != 0], codes[fold != 0])
        own = said.scores[fold == 0]
        np.testing.assert_array_equal(said.y_pred[fold == 0], refitted.predict(rows[fold == 0]))
        assert not (said.y_pred[fold == 0] == 1).any()
        if expected_kind == PROBABILITIES:
            np.testing.assert_array_equal(own[:, [0, 2]], refitted.predict_proba(rows[fold == 0]))
            assert (own[:, 1] == 0.0).all()
        elif expected_kind == DECISIONS:
            decisions = refitted.decision_function(rows[fold == 0])
            np.testing.assert_array_equal(own, np.stack([-decisions, -np.abs(decisions) - 1.0, decisions], axis=1))
        calibration, loss = calibrate(said.kind, said.scores, codes, 3)
        assert np.isfinite(loss)
        assert np.isfinite(calibration(said.scores)).all()


@pytest.mark.parametrize("kind", ["logistic", "ridge", "no scores"])
@pytest.mark.parametrize("other", [0, 1])
def test_where_one_class_is_left_all_say_it(kind, other):
    estimator, grid, expected_kind = GRIDS[kind]
    X, y = CANCER
    folds = trained(estimator, grid, X[:, :6], y).folds
    codes = folds.codes
    fold = np.where(codes == other, 0, 1 + np.arange(codes.size) % 2)
    for said in heard(folds, fold):
        alone, left = fold == 0, 1 - other
        assert (said.y_pred[alone] == left).all()
        if expected_kind == PROBABILITIES:
            assert said.scores[alone].tolist() == [[float(left == 0), float(left == 1)]] * int(alone.sum())
        else:
            only = left if expected_kind == ANSWERS else 2.0 * left - 1.0
            assert (said.scores[alone] == only).all()
        assert len(np.unique(said.y_pred[~alone])) == 2


class Choosy(DecisionTreeClassifier):
    """Refuses to be trained on few rows."""

    def fit(self, X, y):
        if self.max_depth == 2 and len(X) < 56:
            raise RuntimeError("too few")
        return super().fit(X, y)


@pytest.mark.parametrize("kind", [PROBABILITIES, ANSWERS])
def test_who_cannot_be_fitted_in_a_fold_errs_on_all_of_it(kind):
    cls = Choosy if kind == PROBABILITIES else type("Mum", (Choosy,), {"predict_proba": property()})
    folds = trained(cls(random_state=0), {"max_depth": [1, 2, 3]}, *IRIS).folds
    # Of 75 rows 20 are in the second of four folds.
    fold = np.repeat([0, 1, 2, 3], [18, 20, 19, 18])[np.random.default_rng(0).permutation(75)]
    with pytest.warns(FitFailedWarning, match=r"1 of 3 classifiers could not be fitted in a fold .* RuntimeError"):
        said = heard(folds, fold)
    lost = fold == 1
    assert [one.kind for one in said] == [kind] * 3
    assert (said[1].y_pred[lost] == 3).all()
    assert not (said[1].y_pred[~lost] == 3).any()
    assert (said[1].scores[lost] == (0.0 if kind == PROBABILITIES else 3.0)).all()
    for one in (said[0], said[2]):
        assert not (one.y_pred == 3).any()


# -- forests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("data", [CANCER, WINE], ids=["two classes", "three classes"])
def test_forests_are_heard_out_of_bag(cls, data):
    X, y = data
    forest = cls(60, bootstrap=True)
    folds = trained(forest, {"max_depth": [1, None]}, X, np.array(["b", "a", "c"])[y]).folds
    training = folds.training
    assert sorted(folds.out_of_bag) == [0, 1]
    for fitted, said in zip(folds.estimators, heard(folds, some_folds(folds)), strict=True):
        assert not fitted.oob_score
        assert not hasattr(fitted, "oob_decision_function_")
        again = clone(fitted).set_params(oob_score=True).fit(training.rows, training.labels)
        np.testing.assert_array_equal(said.scores, again.oob_decision_function_)
        assert said.kind == PROBABILITIES
        np.testing.assert_array_equal(training.classes[said.y_pred],
                                      again.classes_[again.oob_decision_function_.argmax(axis=1)])  # fmt: skip
        # The forest is what its own fit makes of it.
        plain = clone(fitted).fit(training.rows, training.labels)
        np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(X))


def test_a_row_that_every_tree_saw_is_known_nothing_of():
    X, y = IRIS
    with np.errstate(all="raise"):
        folds = trained(RandomForestClassifier(2), {"max_depth": [2]}, X + 1e-3 * np.arange(150)[:, None], y).folds
    (said,) = heard(folds, some_folds(folds))
    assert np.isfinite(said.scores).all()
    unknown = np.isnan(folds.out_of_bag[0]).all(axis=1)
    assert unknown.any()
    assert (said.scores[unknown] == 1 / 3).all()


def test_what_a_user_asked_of_a_forest_stays():
    X, y = CANCER
    folds = trained(RandomForestClassifier(60, oob_score=True), {"max_depth": [3]}, X, y).folds
    (fitted,) = folds.estimators
    assert fitted.oob_score
    np.testing.assert_array_equal(fitted.oob_decision_function_, folds.out_of_bag[0])


def by_folds(folds, fold):
    """Whether what is heard is what forests say that are trained without a fold."""
    training = folds.training
    for fitted, said in zip(folds.estimators, heard(folds, fold), strict=True):
        for k in range(int(fold.max()) + 1):
            one = clone(fitted).fit(training.rows[fold != k], training.labels[fold != k])
            np.testing.assert_array_equal(said.scores[fold == k], one.predict_proba(training.rows[fold == k]))
    return not folds.out_of_bag


def test_by_folds_where_rows_come_in_groups():
    X, y = CANCER
    groups = np.arange(len(y)) // 3
    one = trained(RandomForestClassifier(10), {"max_depth": [2]}, X, y, groups=groups)
    units = one.split.units_of(one.split(0)[0])
    fold = assign_folds(one.folds.codes, 4, np.random.default_rng(0), units)
    assert all(np.unique(fold[units == unit]).size == 1 for unit in np.unique(units))
    assert by_folds(one.folds, fold)


@pytest.mark.parametrize("duplicates", ["keep", "together"])
def test_by_folds_where_rows_are_equal(duplicates):
    X, y = CANCER
    # One row twice is enough.
    rows = np.append(np.arange(100), trained(None, [DecisionTreeClassifier()], X[:101], y[:101]).split(0)[0][:1])
    folds = trained(RandomForestClassifier(10), {"max_depth": [2]}, X[rows], y[rows], duplicates=duplicates).folds
    copied = np.unique(folds.training.rows, axis=0).shape[0] < folds.training.number
    assert copied or duplicates == "together"
    assert by_folds(folds, some_folds(folds))
