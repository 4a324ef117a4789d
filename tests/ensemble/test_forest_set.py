"""Forests validated out of bag: what is counted against plain loops, forests and rows of all kinds, what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import forest_set, optimal_posterior, vote_bound

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.array(["no", "yes", "perhaps"])[(X[:, 0] + 0.7 * RNG.normal(size=90) > 0).astype(int) + (X[:, 1] > 1)]
FORESTS = {
    "random forest": RandomForestClassifier(15),
    "extra trees": ExtraTreesClassifier(15, bootstrap=True, max_samples=0.6),
    "bagged trees": BaggingClassifier(n_estimators=15),
    "bagged pipelines": BaggingClassifier(make_pipeline(StandardScaler(), LogisticRegression()), 15),
    "without replacement": BaggingClassifier(DecisionTreeClassifier(), 15, bootstrap=False, max_samples=40),
}


@pytest.mark.parametrize("name", FORESTS)
def test_errors_are_those_of_the_rows_left_out(name):
    trees = forest_set(FORESTS[name], X, Y, random_state=0)
    assert len(trees) == 15
    assert trees.splits.kind == "out-of-bag"
    for i in range(15):
        train, outside = trees.splits(i)
        assert sorted([*train, *outside]) == list(range(90))
        wrong = trees[i].predict(X[outside]) != Y[outside]
        assert trees.errors[i] == wrong.sum()
        assert trees.m_each[i] == outside.size
        np.testing.assert_array_equal(trees.error_rows[i, outside], wrong)
        np.testing.assert_array_equal(np.flatnonzero(trees.validated_rows[i]), outside)
    assert trees.m == trees.m_each.min()
    np.testing.assert_allclose(trees.risks, trees.errors / trees.m_each, rtol=1e-15)
    assert set(np.unique(trees.predict(X))) <= set(Y)
    assert 0 < optimal_posterior(trees.risks, trees.m_each).bound < 1


@pytest.mark.parametrize("name", ["random forest", "bagged pipelines"])
def test_seeds_and_workers(name):
    first, again, workers, other = (
        forest_set(FORESTS[name], X, Y, random_state=seed, n_jobs=jobs)
        for seed, jobs in ((0, None), (0, 1), (0, 2), (1, None))
    )
    for one in (again, workers):
        np.testing.assert_array_equal(one.error_rows, first.error_rows)
        np.testing.assert_array_equal(one.validated_rows, first.validated_rows)
    assert (other.validated_rows != first.validated_rows).any()
    own = FORESTS[name].set_params(random_state=5)
    np.testing.assert_array_equal(
        forest_set(own, X, Y, random_state=0).error_rows, forest_set(own, X, Y, random_state=1).error_rows
    )
    own.set_params(random_state=None)


def test_the_trees_are_those_of_the_forest():
    forest = RandomForestClassifier(10, random_state=3)
    trees = forest_set(forest, X, Y)
    fitted = RandomForestClassifier(10, random_state=3).fit(X, Y)
    for i, tree in enumerate(fitted.estimators_):
        np.testing.assert_array_equal(trees[i].predict(X), fitted.classes_[tree.predict(X).astype(int)])
    assert not hasattr(forest, "estimators_")


def test_a_bag_is_all_that_a_bagged_classifier_sees():
    class Spy(LogisticRegression):
        seen: list = []  # noqa: RUF012  # shared on purpose

        def fit(self, X, y, sample_weight=None):
            Spy.seen.append((X.copy(), sample_weight))
            return super().fit(X, y, sample_weight)

    trees = forest_set(BaggingClassifier(Spy(), 4), X, Y, random_state=0)
    for i, (rows, weights) in enumerate(Spy.seen):
        assert weights is None
        assert len(rows) == 90
        assert {tuple(row) for row in rows} == {tuple(row) for row in X[trees.splits(i)[0]]}


def test_frames_and_sparse_rows():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    forest = RandomForestClassifier(8, random_state=0)
    plain = forest_set(forest, X, Y)
    np.testing.assert_array_equal(forest_set(forest, frame, pd.Series(Y)).error_rows, plain.error_rows)
    np.testing.assert_array_equal(forest_set(forest, sp.csr_array(X), Y).errors, plain.errors)
    assert forest_set(forest, frame, Y).predict(frame).shape == (8, 90)


def test_the_bound_of_the_hard_vote_is_for_the_vote_of_all_trees():
    trees = forest_set(RandomForestClassifier(40), X, Y == "yes", random_state=0)
    uniform = np.full(40, 1 / 40)
    for name in ("tandem", "first-order", "cantelli"):
        assert vote_bound(uniform, trees.error_rows, 90, bound=name, validated=trees.validated_rows) > 0


@pytest.mark.parametrize(
    ("forest", "error", "message"),
    [
        (ExtraTreesClassifier(), ValueError, "forest must have bootstrap=True"),
        (RandomForestClassifier(bootstrap=False), ValueError, "forest must have bootstrap=True"),
        (RandomForestClassifier(class_weight="balanced"), ValueError, "class_weight=None, got 'balanced'"),
        (RandomForestClassifier(class_weight="balanced_subsample"), ValueError, "class_weight=None"),
        (RandomForestClassifier(class_weight={"no": 2}), ValueError, "class_weight=None"),
        (RandomForestClassifier(warm_start=True), ValueError, "warm_start=False"),
        (BaggingClassifier(max_features=0.5), ValueError, "all columns .* got max_features=0.5"),
        (BaggingClassifier(bootstrap_features=True), ValueError, "bootstrap_features=True"),
        (BaggingClassifier(bootstrap=False), ValueError, "must leave rows out of every bag"),
        (DecisionTreeClassifier(), TypeError, "forest must be a RandomForestClassifier.* got DecisionTreeClassifier"),
        (make_pipeline(StandardScaler(), RandomForestClassifier()), TypeError, "no pipeline around it, got Pipeline"),
        (type("Own", (RandomForestClassifier,), {})(), TypeError, "got Own"),
        (RandomForestClassifier, TypeError, "forest must be"),
    ],
)
def test_what_is_refused(forest, error, message):
    with pytest.raises(error, match=message):
        forest_set(forest, X, Y)


def test_too_few_rows_and_classes():
    with pytest.raises(ValueError, match="y must hold at least two classes, got class 'a' only"):
        forest_set(RandomForestClassifier(3), X, ["a"] * 90)
    with pytest.raises(ValueError, match="every classifier needs an out-of-bag row, but the bag of classifier"):
        forest_set(RandomForestClassifier(200), X[:3], ["a", "b", "a"], random_state=0)


def test_a_bag_that_cannot_be_trained_on_is_not_drawn_again():
    y = np.r_[np.zeros(89, dtype=int), 1]
    with pytest.raises(ValueError, match="class") as caught:
        forest_set(BaggingClassifier(LogisticRegression(), 20), X, y, random_state=0)
    assert "not drawn again" in caught.value.__notes__[0]


def test_memory_is_asked_for_first(monkeypatch):
    monkeypatch.setattr("pacbayes._utils.memory.free_bytes", lambda: 100)
    with pytest.raises(MemoryError, match="the answers of 15 classifiers to 90 rows"):
        forest_set(FORESTS["random forest"], X, Y)
