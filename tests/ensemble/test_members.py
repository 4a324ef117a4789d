"""Members: the numbers of labels, and the same answers however classifiers are asked."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, svm_set
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.voting import single_weight
from pacbayes.ensemble.calibration import PAIRS, Calibration, kind_of
from pacbayes.ensemble.members import Calibrated, Coding, Estimators
from pacbayes.ensemble.svm_members import KernelSVMs

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


# -- numbers of labels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "answers", "labels"),
    [
        ([0, 1], [[1, 0], [1, 1]], [0, 1]),
        ([0, 1], [[1, -1], [7, -1, 0]], [0, 1, -1, 7]),
        ([0, 1], [[1.0, 0.5], [0.0, 0.5]], [0, 1, 0.5]),
        ([0, 1], [[1.0, np.nan], [np.nan, 0.0]], [0, 1, np.nan]),
        ([False, True], [[True, False], [2, 0]], [0, 1, 2]),
        # Longer than any class, and between two of them.
        (["a", "c"], [["c", "outlier"], ["b", "a", "outlier"]], ["a", "c", "outlier", "b"]),
        ([3], [[3, 2, 4]], [3, 2, 4]),
    ],
)
def test_every_label_has_one_number(classes, answers, labels):
    coding = Coding(np.array(classes))
    codes = [coding.codes(np.array(said)) for said in answers]
    np.testing.assert_array_equal(coding.labels, np.array(labels))
    for said, found in zip(answers, codes, strict=True):
        np.testing.assert_array_equal(coding.labels[found], np.array(said))
    # Asked again, nothing is new.
    assert [coding.codes(np.array(said)).tolist() for said in answers] == [found.tolist() for found in codes]


# -- one interface ---------------------------------------------------------------------------------------------------


def trees(labels=NAMES):
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], labels[::2]) for d in (2, 3, 4, 5)]
    return ClassifierSet.from_fitted(fitted, X[1::2], labels[1::2]).members


def machines(labels=NAMES, **choices):
    return svm_set(X, labels, [0.01, 0.1, 1.0, 10.0], random_state=0, **choices).members


KINDS = {
    "trees": trees,
    "machines": machines,
    "landmarks": lambda labels=NAMES: machines(labels, kernel="nystroem", n_components=20),
    "machines of their own rows": lambda labels=NAMES: machines(labels, split="independent"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same_however_they_are_asked_for(kind):
    members, coding = KINDS[kind](), Coding(np.unique(NAMES))
    rows = members.prepared(X)
    table = members.predict(rows, np.arange(4), coding)
    for i in range(4):
        np.testing.assert_array_equal(coding.labels[table[i]], members[i].predict(X))
    which = np.array([3, 1])
    np.testing.assert_array_equal(members.predict(rows, which, coding), table[which])
    drawn = np.random.default_rng(0).integers(4, size=len(X))
    np.testing.assert_array_equal(members.predict_assigned(rows, drawn, coding), table[drawn, np.arange(len(X))])


def calibrated(members, chosen, classes=2, slope=5.0):
    """The same map for some classifiers, of the scores that they have."""
    kind = PAIRS if isinstance(members, KernelSVMs) else kind_of(members[0], classes, X)
    one = Calibration(kind, 75, slope, np.zeros(classes), np.zeros(classes))
    return Calibrated(np.arange(classes), {int(i): one for i in chosen})


def test_mean_probabilities_are_weighted_sums_of_calibrated_ones():
    members, weights = trees(), np.array([0.5, 0.0, 0.25, 0.25])
    soft = calibrated(members, [0, 2, 3], 3, slope=0.8)
    # p is proportional to ((n p + 1/k) / (n + 1))^0.8, and a whole multiple of 2^-20.
    expected = np.zeros((150, 3))
    for i in (0, 2, 3):
        powers = ((75 * members[i].predict_proba(X) + 1 / 3) / 76) ** 0.8
        expected += weights[i] * np.rint(powers / powers.sum(axis=1, keepdims=True) * 2.0**20) / 2.0**20
    np.testing.assert_array_equal(members.mean_probabilities(X, weights, soft), expected)
    np.testing.assert_allclose(soft.shares(expected).sum(axis=1), 1.0, rtol=1e-15)


def test_a_class_that_nobody_learnt_has_no_probability():
    fitted = DecisionTreeClassifier(random_state=0).fit(X[:100], NAMES[:100])
    members = Estimators([fitted], [{}], np.unique(NAMES))
    soft = calibrated(members, [0])
    mean = members.mean_probabilities(X, np.ones(1), soft)
    assert mean.shape == (150, 2)
    spread = soft.spread(soft.shares(mean), 3)
    assert (spread[:, 2] == 0.0).all()
    np.testing.assert_array_equal(spread.argmax(axis=1), np.searchsorted(members.classes, fitted.predict(X)))
    margins = SoftVote("mine", single_weight(0, 1), soft=soft).confidences(soft.shares(mean), 3)
    assert np.isnan(margins[:, 2]).all()
    np.testing.assert_allclose(margins[:, 0], mean[:, 0] - mean[:, 1], atol=1e-5)


# -- labels that are no class ----------------------------------------------------------------------------------------


class Outlying(DecisionTreeClassifier):
    """Says something else of rows that are far away."""

    def __init__(self, max_depth=None, other=None):
        super().__init__(max_depth=max_depth)
        self.other = other

    def predict(self, X):
        said = super().predict(X).tolist()
        return np.array([self.other if far else one for one, far in zip(said, np.asarray(X)[:, 0] > 6.5, strict=True)])


@pytest.mark.parametrize(
    ("labels", "other"),
    [(NAMES, "an outlier"), (Y, -1), (Y, 0.5), (Y, np.nan), (Y > 0, 2)],
    ids=["longer text", "whole", "fraction", "NaN", "beside booleans"],
)
def test_an_answer_that_is_no_class_is_an_error_and_is_passed_on(labels, other):
    grid = {"max_depth": [1, 2, 3]}
    clf = CertifiedClassifier(
        Grid(Outlying(other=other), grid), voting="majority", random_state=0, cv=3, validation_size=0.5
    ).fit(X, labels)
    assert clf.classes_.tolist() == np.unique(labels).tolist()
    kept = clf.classifiers_
    validation = kept.splits(0)[1]
    for i, one in enumerate(kept):
        assert kept.errors[i] == np.count_nonzero(one.predict(X[validation]) != labels[validation])
    far = X[:, 0] > 6.5
    said = clf.predict(X)
    np.testing.assert_array_equal(said[far], np.array([other] * int(far.sum())))
    assert np.isin(said[~far], clf.classes_).all()
    assert (clf.vote_share(X)[far] == 0.0).all()


# -- what cannot be --------------------------------------------------------------------------------------------------


class Silent(DecisionTreeClassifier):
    """A tree that cannot be asked where it is of depth two."""

    def predict(self, X, check_input=True):
        """Raise, or predict."""
        if self.max_depth == 2:
            raise RuntimeError("not today")
        return super().predict(X, check_input)


@pytest.mark.parametrize("cv", [2, None])
def test_who_cannot_be_asked_is_named_in_folds_too(cv):
    model = CertifiedClassifier(
        Grid(Silent(), {"max_depth": [1, 2, 3]}), cv=cv, random_state=0, voting="stochastic", validation_size=0.5
    )
    with pytest.raises(ValueError, match=r"classifier 1 with \{'max_depth': 2\} was fitted but could not predict"):
        model.fit(*load_iris(return_X_y=True))
