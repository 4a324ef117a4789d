"""Support vector machines beside others: a joined set says what its parts say, asked one by one."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, SVMs
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import SplitOptions, split_rows
from pacbayes.ensemble.calibration import DECISIONS, PAIRS, PROBABILITIES, Calibration
from pacbayes.ensemble.classifier_set import Work
from pacbayes.ensemble.families import resolve_families, train_families
from pacbayes.ensemble.members import Calibrated, Coding, Estimators, Prepared, pick_prepared
from pacbayes.ensemble.portfolio import Size
from pacbayes.ensemble.svm_members import KernelSVMs

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["red", "green", "blue"])[Y]
FEW = SVMs([0.1, 1.0, 10.0], gamma=[0.02, 0.1])
WIDE = SVMs([0.5, 5.0], gamma="sigest", scale=True)
TREES = Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, None]})
LINEAR = make_pipeline(StandardScaler(), LinearSVC(dual=False))


def train(candidates, rows=X, labels=NAMES, preprocessor=None):
    """Families as a set, trained on half of the rows."""
    data, choices = Dataset.checked(rows, labels), SplitOptions("shared", 0.5, None, "keep")
    families = resolve_families(candidates, preprocessor, Size(90))
    return train_families(families, Work(data, split_rows(data, choices, 1, 0), 1, None, {}))


@pytest.fixture(scope="module")
def trained():
    return train([("few", FEW), TREES, ("wide", WIDE), ("line", LINEAR)])


def test_machines_come_first_and_the_others_together(trained):
    members = trained.members
    assert [type(part) for part in members.parts] == [KernelSVMs, KernelSVMs, Estimators]
    assert [len(part) for part in members.parts] == [6, 2, 5]
    assert len(members) == 13
    assert [one["candidate"] for one in members.params] == ["few"] * 6 + ["wide"] * 2 + ["grid"] * 4 + ["line"]
    assert [{**one, "candidate": ""} for one in members.params[:8]] == [
        {"candidate": ""} | one for part in members.parts[:2] for one in part.params
    ]
    assert members.params[8:12] == [{"candidate": "grid", "max_depth": depth} for depth in (1, 2, 3, None)]
    np.testing.assert_array_equal(members.classes, ["blue", "green", "red"])
    assert members.dropped == []


def table(members, coding):
    """What every classifier says of every row, asked one by one."""
    said = [members[i].predict(X) for i in range(len(members))]
    return coding.codes(np.concatenate(said)).reshape(len(said), len(X))


def test_answers_are_those_of_the_parts(trained):
    members, coding, rng = trained.members, Coding(trained.members.classes), np.random.default_rng(0)
    rows = members.prepared(X)
    assert isinstance(rows, Prepared)
    assert len(rows) == len(X)
    expected = table(members, coding)
    assert len(np.unique(expected, axis=0)) > 5
    np.testing.assert_array_equal(members.predict(rows, np.arange(13), coding), expected)
    for which in (np.array([12]), np.array([9, 0, 7, 5, 5, 12]), rng.permutation(13), np.array([6, 7])):
        np.testing.assert_array_equal(members.predict(rows, which, coding), expected[which])
    for drawn in (rng.integers(13, size=len(X)), np.full(len(X), 8), rng.integers(6, 8, size=len(X))):
        np.testing.assert_array_equal(members.predict_assigned(rows, drawn, coding), expected[drawn, np.arange(len(X))])
    # Some rows are answered as among all.
    some = np.array([170, 3, 99])
    for part in (pick_prepared(rows, some), members.prepared(X[some])):
        np.testing.assert_array_equal(members.predict(part, np.arange(13), coding), expected[:, some])


def maps():
    """Any maps for one machine of each kind, a tree and a linear classifier."""
    rng = np.random.default_rng(1)
    kinds = {1: PAIRS, 4: PAIRS, 7: PAIRS, 9: PROBABILITIES, 12: DECISIONS}
    return {
        i: Calibration(kind, 89, rng.uniform(0.5, 2.0), rng.normal(size=3), rng.normal(size=3), 0.5 if i < 8 else 1.0)
        for i, kind in kinds.items()
    }


def test_mean_probabilities_are_the_sum_of_those_of_the_parts(trained):
    members, rng = trained.members, np.random.default_rng(0)
    soft, weights = Calibrated(np.arange(3), maps()), np.zeros(13)
    weights[list(soft.maps)] = [0.25, 0.125, 0.125, 0.25, 0.25]
    rows = members.prepared(X)
    found = members.mean_probabilities(rows, weights, soft)
    expected, first = np.zeros((len(X), 3)), 0
    for place, part in enumerate(members.parts):
        own = {i - first: one for i, one in soft.maps.items() if 0 <= i - first < len(part)}
        mine = weights[first : first + len(part)]
        expected += part.mean_probabilities(rows.parts[place], mine, Calibrated(soft.classes, own))
        first += len(part)
    np.testing.assert_array_equal(found, expected)
    # By hand, of the two that are not ours.
    tree, linear = members[9], members[12]
    by_hand = 0.25 * soft.maps[9](tree.predict_proba(X)) + 0.25 * soft.maps[12](linear.decision_function(X))
    few = np.where(np.isin(np.arange(13), (9, 12)), weights, 0.0)
    some = Calibrated(soft.classes, {i: soft.maps[i] for i in (9, 12)})
    np.testing.assert_array_equal(members.mean_probabilities(rows, few, some), by_hand)
    # A row alone, or in another order, has the same.
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(members.mean_probabilities(pick_prepared(rows, order), weights, soft), found[order])
    alone = [members.mean_probabilities(members.prepared(X[[j]]), weights, soft)[0] for j in range(30)]
    np.testing.assert_array_equal(alone, found[:30])


def test_rows_are_prepared_for_families_of_our_own_alone():
    """SVMs get columns of categories, and estimators the rows as they are."""
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], size=(120, 3)).astype(object)
    y = (words[:, 0] == words[:, 1]).astype(int)
    own = make_pipeline(OneHotEncoder(), LogisticRegression())
    clf = CertifiedClassifier([FEW, own], preprocessor=OneHotEncoder(sparse_output=False), cv=3, random_state=0)
    clf.fit(words, y)
    machines, others = clf._fitted.members.parts
    rows = clf._fitted.members.prepared(words)
    assert rows.parts[0].shape == (120, 9)
    assert rows.parts[1] is words
    assert machines.preprocessor is not None
    assert clf.predict(words).shape == (120,)
    for i in (0, 6):
        np.testing.assert_array_equal(clf.classifiers_.predict(words)[i], clf.classifiers_[i].predict(words))
    assert len(others) == 1


# -- folds -----------------------------------------------------------------------------------------------------------


def test_folds_are_those_of_the_parts(trained):
    folds, fold = trained.folds, np.arange(trained.folds.codes.size) % 4
    assert folds.n_classes == 3
    # Of each family one has a part in the soft vote.
    assert folds.families.tolist() == [0] * 6 + [1] * 2 + [2] * 4 + [3]
    assert folds.tried(True).tolist() == list(range(13))
    said = list(folds.out_of_fold(np.arange(13), fold))
    expected = [one for part, size in zip(folds.parts, folds.sizes, strict=True)
                for one in part.out_of_fold(np.arange(size), fold)]  # fmt: skip
    assert [one.kind for one in said] == [PAIRS] * 8 + [PROBABILITIES] * 4 + [DECISIONS]
    for one, other in zip(said, expected, strict=True):
        np.testing.assert_array_equal(one.y_pred, other.y_pred)
        np.testing.assert_array_equal(one.scores, other.scores)
    some = list(folds.out_of_fold(np.array([6, 7, 9, 12]), fold))
    for one, i in zip(some, (6, 7, 9, 12), strict=True):
        np.testing.assert_array_equal(one.scores, said[i].scores)


def test_of_each_family_one_is_in_the_soft_vote():
    clf = CertifiedClassifier([FEW, TREES, LINEAR], cv=3, random_state=0).fit(X, NAMES)
    weights, families = clf.primary_["soft"], np.repeat([0, 1, 2], [6, 4, 1])
    losses = clf.cv_results_["mean_log_loss"]
    chosen = [np.flatnonzero(families == family)[losses[families == family].argmin()] for family in range(3)]
    assert set(np.flatnonzero(weights)) <= set(chosen)
    assert weights[losses.argmin()] == weights.max()
    assert clf.predict_proba(X).argmax(axis=1).tolist() == np.searchsorted(clf.classes_, clf.predict(X)).tolist()
