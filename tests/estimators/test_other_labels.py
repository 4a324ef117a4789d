"""Classifiers that predict labels that are not classes, such as outlier labels."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from tests.ensemble.recording import RecordingClassifier
from tests.estimators.models import by_draws
from tests.estimators.test_prediction import draws_by_hand, voting

from pacbayes import CertifiedClassifier, Grid
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.thresholds import confidence
from pacbayes.certificates.voting import integer_weights, majority
from pacbayes.ensemble.calibration import LABELS, calibrate
from pacbayes.ensemble.members import Calibrations, Coding, Estimators

# The first column determines the class on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Column 0 alone determines")
VOTINGS = ("stochastic", "majority", "best")


class OutlierClassifier(ClassifierMixin, BaseEstimator):
    """Predict the sign of the first column, or `mark` if the second exceeds `limit`."""

    def __init__(self, mark=-1, limit=0.5):
        self.mark, self.limit = mark, limit

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        labels = self.classes_[(X[:, 0] > 0).astype(int)]
        return labels if self.mark is None else np.where(X[:, 1] > self.limit, np.asarray(self.mark), labels)


def rows(n=400, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


def vote_by_hand(classifiers, weights, X):
    """Weighted vote by definition, with ties to the smaller class, then to the smaller label."""
    winners = []
    for labels in classifiers.predict(X).T:
        shares = {label: weights[labels == label].sum() for label in set(labels.tolist())}
        winners.append(min(shares, key=lambda label: (-shares[label], label not in (0, 1), label)))
    return winners


@pytest.mark.parametrize("mark", [-1, 9, 0.5])
def test_votings_return_other_labels(mark):
    X, y = rows()
    # With few validation rows, no classifier dominates.
    grid = {"limit": [0.3, 0.35, 0.4, 0.6], "mark": [mark, 11]}
    clf = CertifiedClassifier(
        Grid(OutlierClassifier(), grid), validation_size=20, random_state=0, voting="stochastic", cv=3
    ).fit(X, y)
    new = rows(300, 1)[0]
    predictions = clf.classifiers_.predict(new)
    assert (predictions == mark).any(axis=0).sum() > 50
    weights = clf.weights_
    expected = predictions[draws_by_hand(clf, new), np.arange(300)]
    assert (expected == mark).any()
    assert clf.predict(new).tolist() == expected.tolist()
    vote = voting(clf, "majority")
    assert vote.predict(new).tolist() == vote_by_hand(clf.classifiers_, vote.weights_, new)
    assert voting(clf, "best").predict(new).tolist() == predictions[clf.best_index_].tolist()
    shares = np.stack([weights @ (predictions == label) for label in (0, 1)], axis=1)
    assert np.array_equal(clf.vote_share(new), shares)
    assert shares.sum(axis=1).min() < 1.0


@pytest.mark.parametrize("how", VOTINGS)
@pytest.mark.parametrize(("names", "mark"), [((0, 1), -1), (("no", "yes"), "neither")])
def test_unanimous_other_labels(how, names, mark):
    X, y = rows()
    clf = CertifiedClassifier(
        Grid(OutlierClassifier(mark), {"limit": [0.9, 0.95]}), voting=how, random_state=0, cv=3, validation_size=0.5
    )
    clf.fit(X, np.array(names)[y])
    far = np.array([[0.5, 3.0], [0.5, 0.0], [-0.5, 3.0]])
    assert clf.predict(far).tolist() == [mark, names[1], mark]
    assert clf.vote_share(far).tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


class Constant:
    """Constant classifier."""

    def __init__(self, label, classes=()):
        self.label, self.classes_ = label, np.array(classes)

    def predict(self, X):
        return np.full(len(X), self.label)


def members_of(classifiers, classes):
    """Members with label codes."""
    return Estimators(classifiers, [{}] * len(classifiers), np.array(classes)), Coding(np.array(classes))


def test_ties_do_not_depend_on_the_batch():
    classifiers = [RecordingClassifier([7, 8]), RecordingClassifier([8, 7])]
    parts = integer_weights(np.array([0.5, 0.5]))
    for batch in ([0], [1], [0, 1], [1, 0]):
        members, coding = members_of(classifiers, [0, 1])
        codes = majority(members, np.array(batch)[:, None], parts, coding)
        assert coding.labels[codes].tolist() == [7] * len(batch)


def test_ties_go_to_the_first_label():
    classifiers = [Constant(label) for label in (4, 3)]
    for classes in ([0, 3], [0, 4], [0, 1], [3, 4]):
        members, coding = members_of(classifiers, classes)
        codes = majority(members, np.zeros((2, 1)), integer_weights(np.array([0.5, 0.5])), coding)
        assert coding.labels[codes].tolist() == [3, 3]


def test_classes_without_training_rows_have_no_confidence():
    members, _ = members_of([Constant(2, classes=[0, 1]), Constant(0, classes=[0, 1])], [0, 1, 2])
    y_pred = np.array([[0.0], [0.0], [1.0], [2.0]])
    table, _ = calibrate(LABELS, y_pred, np.array([0, 0, 1, 1]), 2)
    parts = integer_weights(np.array([0.9, 0.1]))
    rule = SoftVote("primary", parts, soft=Calibrations(np.array([0, 1]), {0: table, 1: table}))
    probabilities = rule.mean_probabilities(members, np.zeros((2, 1)))
    assert probabilities.shape == (2, 2)
    scores = rule.margins(probabilities, 3)
    assert np.isnan(scores[:, 2]).all()
    assert confidence(scores, np.array([2, 0])).tolist()[0] == -np.inf
    assert np.isfinite(confidence(scores, np.array([0, 0]))).all()


def test_numbers_instead_of_strings_are_rejected():
    X, y = rows()
    clf = by_draws(Grid(OutlierClassifier(mark=None), {"limit": [0.5]})).fit(X, np.array(["a", "b"])[y])
    clf.classifiers_[0].classes_ = np.array([0, 1])
    with pytest.raises(TypeError, match=r"classifier 0\.predict must be labels like those of y \(<U1\), got int64"):
        clf.predict(X)
