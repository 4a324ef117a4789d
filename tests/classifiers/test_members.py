"""Members: the numbers of labels, and the same answers however classifiers are asked."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from tests.classifiers.told import told

from pacbayes import ClassifierSet, StochasticClassifier, svm_set
from pacbayes.classifiers.members import Coding, Estimators, kept_as

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


def test_one_number_is_left_for_no_answer():
    for number in (1, 2, 254, 255, 256, 65_535, 65_536):
        assert number <= np.iinfo(kept_as(number)).max


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
    table = members.answers(rows, np.arange(4), coding)
    for i in range(4):
        np.testing.assert_array_equal(coding.labels[table[i]], members[i].predict(X))
    which = np.array([3, 1])
    np.testing.assert_array_equal(members.answers(rows, which, coding), table[which])
    drawn = np.random.default_rng(0).integers(4, size=len(X))
    np.testing.assert_array_equal(members.answers_each(rows, drawn, coding), table[drawn, np.arange(len(X))])


@pytest.mark.parametrize("kind", KINDS)
def test_one_alone_is_surest_of_what_it_says(kind):
    # Two classes: with more, the vote of pairs of machines may have another winner than the sum of their decisions.
    members = KINDS[kind](np.where(Y == 1, "yes", "no"))
    rows = members.prepared(X)
    table = members.answers(rows, np.arange(4), Coding(np.array(["no", "yes"])))
    assert len(np.unique(table, axis=0)) > 1
    for i in range(4):
        scores = members.scores(rows, np.eye(4)[i])
        assert (scores[:, 0] != scores[:, 1]).all()
        np.testing.assert_array_equal(scores.argmax(axis=1), table[i])


def test_scores_are_weighted_means_of_probabilities():
    members, weights = trees(), np.array([0.5, 0.0, 0.25, 0.25])
    mean = sum(weight * members[i].predict_proba(X) for i, weight in enumerate(weights))
    others = np.array([np.delete(mean, c, axis=1).max(axis=1) for c in range(3)]).T
    np.testing.assert_allclose(members.scores(X, weights), mean - others, atol=1e-12)


def test_a_class_that_nobody_learnt_has_no_score():
    fitted = DecisionTreeClassifier(random_state=0).fit(X[:100], NAMES[:100])
    members = Estimators([fitted], [{}], np.unique(NAMES))
    scores = members.scores(X, np.ones(1))
    assert np.isnan(scores[:, 2]).all()
    assert np.isfinite(scores[:, :2]).all()


# -- labels that are no class ----------------------------------------------------------------------------------------


def test_all_see_the_same_labels_that_are_no_class():
    table, members, rows = told()
    coding = Coding(members.classes)
    answers = members.answers(rows, np.arange(9), coding)
    np.testing.assert_array_equal(coding.labels[answers], table)
    drawn = np.random.default_rng(0).integers(9, size=len(rows))
    fresh = Coding(members.classes)
    codes = members.answers_each(rows, drawn, fresh)
    np.testing.assert_array_equal(fresh.labels[codes], table[drawn, np.arange(len(rows))])


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
    clf = StochasticClassifier(Outlying(other=other), grid, voting="majority", random_state=0).fit(X, labels)
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


@pytest.mark.parametrize(
    ("estimators", "params", "message"),
    [
        ([], [], "must be a list of classifiers"),
        ((DecisionTreeClassifier(),), [{}], "must be a list of classifiers"),
        ([DecisionTreeClassifier()], [], r"Estimators\.params must be a dict for each"),
        ([DecisionTreeClassifier()], [3], r"Estimators\.params must be a dict for each"),
    ],
)
def test_what_is_no_list_of_classifiers_is_refused(estimators, params, message):
    with pytest.raises(ValueError, match=message):
        Estimators(estimators, params, np.array([0, 1]))


def test_very_many_labels_that_are_no_class_have_their_numbers_at_once():
    said = np.random.default_rng(0).permutation(60_000) + 0.5
    coding = Coding(np.array([0, 1]))
    codes = coding.codes(said)
    assert np.array_equal(coding.labels[codes], said)
    assert np.array_equal(coding.codes(said[::-1]), codes[::-1])


class Silent(DecisionTreeClassifier):
    """A tree that cannot be asked where it is of depth two."""

    def predict(self, X, check_input=True):
        """Raise, or predict."""
        if self.max_depth == 2:
            raise RuntimeError("not today")
        return super().predict(X, check_input)


@pytest.mark.parametrize("cv", [2, None])
def test_who_cannot_be_asked_is_named_in_folds_too(cv):
    model = StochasticClassifier(Silent(), {"max_depth": [1, 2, 3]}, cv=cv, random_state=0)
    with pytest.raises(ValueError, match=r"classifier 1 with \{'max_depth': 2\} was fitted but could not predict"):
        model.fit(*load_iris(return_X_y=True))
