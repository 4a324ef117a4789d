"""Classifiers that answer with labels no row has, such as marks of outliers: never turned into a class."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import RadiusNeighborsClassifier
from tests.estimators.models import by_draws
from tests.estimators.test_prediction import drawn_by_hand, voting

from pacbayes import CertifiedClassifier, Grid
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.thresholds import confidence
from pacbayes.certificates.voting import integer_weights, majority
from pacbayes.ensemble.calibration import LABELS, calibrate
from pacbayes.ensemble.members import Calibrations, Coding, Estimators

# The classes are the sign of the first column, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Column 0 alone determines")
VOTINGS = ("stochastic", "majority", "best")


class Marked(ClassifierMixin, BaseEstimator):
    """Says the sign of the first column, and `mark` where the second is above `limit`."""

    def __init__(self, mark=-1, limit=0.5):
        self.mark, self.limit = mark, limit

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        said = self.classes_[(X[:, 0] > 0).astype(int)]
        if self.mark is None:
            return said
        return np.where(X[:, 1] > self.limit, np.asarray(self.mark), said)


def rows(n=400, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


def plurality(classifiers, weights, X):
    """The weighted vote over whatever is said, from its definition; ties to the smaller class, then label."""
    classes = {0, 1}
    winners = []
    for said in classifiers.predict(X).T.tolist():
        shares = {label: weights[[each == label for each in said]].sum() for label in set(said)}
        winners.append(min(shares, key=lambda label: (-shares[label], label not in classes, label)))
    return winners


@pytest.mark.parametrize("mark", [-1, 9, 0.5])
def test_every_way_of_predicting_says_what_the_classifiers_say(mark):
    X, y = rows()
    # Few validation rows: no classifier stands out, and the marks get votes.
    grid = {"limit": [0.3, 0.35, 0.4, 0.6], "mark": [mark, 11]}
    clf = CertifiedClassifier(Grid(Marked(), grid), validation_size=20, random_state=0, voting="stochastic", cv=3).fit(
        X, y
    )
    new = rows(300, 1)[0]
    everyone = clf.classifiers_.predict(new)
    assert (everyone == mark).any(axis=0).sum() > 50
    weights = clf.weights_
    said = everyone[drawn_by_hand(clf, new), np.arange(300)]
    assert (said == mark).any()
    assert clf.predict(new).tolist() == said.tolist()
    vote = voting(clf, "majority")
    assert vote.predict(new).tolist() == plurality(clf.classifiers_, vote.weights_, new)
    assert voting(clf, "best").predict(new).tolist() == everyone[clf.best_index_].tolist()
    shares = np.stack([weights @ (everyone == label) for label in (0, 1)], axis=1)
    assert np.array_equal(clf.vote_share(new), shares)
    assert shares.sum(axis=1).min() < 1.0


def test_they_count_as_errors():
    X, y = rows()
    grid = {"limit": [0.0, 0.5]}
    clf = by_draws(Grid(Marked(), grid)).fit(X, y)
    validation = clf.classifiers_.splits(0)[1]
    assert clf.classifiers_.errors.tolist() == [int((X[validation, 1] > limit).sum()) for limit in (0.0, 0.5)]


@pytest.mark.parametrize("how", VOTINGS)
@pytest.mark.parametrize(("names", "mark"), [((0, 1), -1), (("no", "yes"), "neither")])
def test_where_all_say_so_it_is_said(how, names, mark):
    X, y = rows()
    clf = CertifiedClassifier(
        Grid(Marked(mark), {"limit": [0.9, 0.95]}), voting=how, random_state=0, cv=3, validation_size=0.5
    )
    clf.fit(X, np.array(names)[y])
    far = np.array([[0.5, 3.0], [0.5, 0.0], [-0.5, 3.0]])
    assert clf.predict(far).tolist() == [mark, names[1], mark]
    assert clf.vote_share(far).tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("how", VOTINGS)
@pytest.mark.parametrize(("names", "mark"), [((0, 1), -1), ((3, 5), 4), ((3, 5), 6)])
def test_radius_neighbours_with_an_outlier_label(how, names, mark):
    X, y = rows()
    near = RadiusNeighborsClassifier(outlier_label=mark)
    clf = CertifiedClassifier(Grid(near, {"radius": [0.3, 0.5]}), voting=how, random_state=0, cv=3, validation_size=0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Outlier label")
        clf.fit(X, np.array(names)[y])
        said = clf.predict([[50.0, 50.0], [0.8, 0.0], [-0.8, 0.0]])
    assert said.tolist() == [mark, names[1], names[0]]


class Always:
    """A classifier with one answer."""

    def __init__(self, label, classes=()):
        self.label, self.classes_ = label, np.array(classes)

    def predict(self, X):
        return np.full(len(X), self.label)


def members_of(classifiers, classes):
    """Classifiers with numbers for the labels that they may say."""
    return Estimators(classifiers, [{}] * len(classifiers), np.array(classes)), Coding(np.array(classes))


def test_ties_between_other_labels_do_not_depend_on_the_rows_around():
    class Each:
        """Classifier i says i to the one row and nine to the other; or nothing of the kind."""

        def __init__(self, answers):
            self.answers = answers

        def predict(self, X):
            return np.array([self.answers[int(x)] for x in X[:, 0]])

    classifiers = [Each([7, 8]), Each([8, 7])]
    parts = integer_weights(np.array([0.5, 0.5]))
    for asked in ([0], [1], [0, 1], [1, 0]):
        members, coding = members_of(classifiers, [0, 1])
        codes = majority(members, np.array(asked)[:, None], parts, coding)
        assert coding.labels[codes].tolist() == [7] * len(asked)


def test_a_tie_goes_to_the_first_label_whether_or_not_it_is_a_class():
    classifiers = [Always(label) for label in (4, 3)]
    for classes in ([0, 3], [0, 4], [0, 1], [3, 4]):
        members, coding = members_of(classifiers, classes)
        codes = majority(members, np.zeros((2, 1)), integer_weights(np.array([0.5, 0.5])), coding)
        assert coding.labels[codes].tolist() == [3, 3]


def test_a_class_that_nobody_has_learnt_has_no_confidence():
    members, _ = members_of([Always(2, classes=[0, 1]), Always(0, classes=[0, 1])], [0, 1, 2])
    first_two = np.array([0, 1])
    answers = np.array([[0.0], [0.0], [1.0], [2.0]])
    table, _ = calibrate(LABELS, answers, np.array([0, 0, 1, 1]), 2)
    parts = integer_weights(np.array([0.9, 0.1]))
    rule = SoftVote("primary", parts, soft=Calibrations(first_two, {0: table, 1: table}))
    shares = rule.shares(members, np.zeros((2, 1)))
    assert shares.shape == (2, 2)
    scores = rule.confidences(shares, 3)
    assert np.isnan(scores[:, 2]).all()
    assert confidence(scores, np.array([2, 0])).tolist()[0] == -np.inf
    assert np.isfinite(confidence(scores, np.array([0, 0]))).all()


def test_numbers_in_place_of_names_are_refused():
    X, y = rows()
    clf = by_draws(Grid(Marked(mark=None), {"limit": [0.5]})).fit(X, np.array(["a", "b"])[y])
    clf.classifiers_[0].classes_ = np.array([0, 1])
    with pytest.raises(TypeError, match=r"classifier 0\.predict must be labels like those of y \(<U1\), got int64"):
        clf.predict(X)
