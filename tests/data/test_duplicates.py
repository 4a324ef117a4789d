"""Equal rows are counted on both sides of the division, and told apart from copies that were made after sampling."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes import grid_set, load_dataset, svm_set
from pacbayes.data.bundled import DATASETS
from pacbayes.data.duplicates import explain_copies, index_distinct_samples

COARSE = ("mammographic", "haberman", "transfusion")
FINE = ("bupa", "wdbc", "banknote", "ionosphere", "waveform", "spambase")


def data_set(name):
    data = load_dataset(name)
    return np.asarray(data.data, dtype=float), np.unique(np.asarray(data.target), return_inverse=True)[1]


def sign(X, y):
    return explain_copies(X, y, index_distinct_samples(X, y))


def doubled_third(X, y, rng):
    rows = np.concatenate([np.arange(y.size), rng.choice(y.size, y.size // 3, replace=False)])
    return X[rows], y[rows]


def oversampled(X, y, rng):
    """As RandomOverSampler: rows of the smaller class drawn with replacement until both are equally large."""
    sizes = np.bincount(y)
    extra = rng.choice(np.flatnonzero(y == np.argmin(sizes)), sizes.max() - sizes.min())
    rows = np.concatenate([np.arange(y.size), extra])
    return X[rows], y[rows]


@pytest.mark.parametrize("name", DATASETS)
def test_no_data_set_that_comes_with_the_package_looks_copied(name):
    assert sign(*data_set(name)) is None


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("name", [*COARSE, *FINE, "mushroom"])
def test_every_row_several_times_is_seen(name, times):
    X, y = data_set(name)
    order = np.random.default_rng(0).permutation(times * y.size) % y.size
    assert f"occur {times} times each" in sign(X[order], y[order])


@pytest.mark.parametrize("name", FINE)
def test_a_join_that_doubles_a_third_of_the_rows_is_seen(name):
    assert sign(*doubled_third(*data_set(name), np.random.default_rng(0))) is not None


@pytest.mark.parametrize("name", ["wdbc", "banknote", "ionosphere", "spambase"])
def test_a_smaller_class_drawn_again_is_seen(name):
    assert "of a class occur more than once" in sign(*oversampled(*data_set(name), np.random.default_rng(0)))


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_meet_by_chance_are_not(seed):
    """Cells of a table, few or many, as numbers, as one-hot columns and as words."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 9, rng.integers(1, 6))
    X = np.column_stack([rng.integers(0, level, 600) ** 2 for level in levels])
    y = (X[:, 0] > 1).astype(int) ^ (rng.random(600) < 0.2)
    one_hot = pd.get_dummies(pd.DataFrame(X).astype(str)).to_numpy()
    for rows in (X, one_hot, X.astype(str)):
        assert sign(rows, y) is None


def test_labels_are_part_of_what_is_equal():
    X = np.array([[1.0, -0.0], [1.0, 0.0], [np.nan, 2.0], [np.nan, 2.0], [0.0, 1.0]])
    assert index_distinct_samples(X, np.array([0, 1, 1, 1, 1])).tolist() == [0, 1, 2, 2, 3]
    assert index_distinct_samples([lambda: 0, print], np.array([0, 1])) is None
    assert index_distinct_samples([["a"], ["a", "b"]], np.array([0, 1])) is None


def brute_force(X, y, splits, number):
    """The count by comparing every pair of rows."""

    def of(i):
        train, validation = splits(i)
        return sum(any((X[v] == X[t]).all() and y[v] == y[t] for t in train) for v in validation)

    return max(of(i) for i in range(number))


@pytest.mark.parametrize("split", ["shared", "independent"])
def test_the_count_is_that_of_all_pairs(split):
    X, y = data_set("mammographic")
    X, y = X[:200], y[:200]
    machines = svm_set(X, y, [0.1, 1.0, 10.0], split=split, random_state=0)
    assert machines.copies == brute_force(X, y, machines.splits, 3) > 0
    trees = grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, X, y, split=split, random_state=0)
    assert trees.copies == brute_force(X, y, trees.splits, 3)


def test_copies_are_warned_of_where_rows_are_divided():
    X, y = data_set("wdbc")
    X, y = np.tile(X[:100], (5, 1)), np.tile(y[:100], 5)
    with pytest.warns(UserWarning, match="validation rows have a duplicate .* 100 distinct rows occur 5 times"):
        svm_set(X, y, [1.0], random_state=0)
    with pytest.warns(UserWarning, match="duplicates='together'"):
        grid_set(DecisionTreeClassifier(), {"max_depth": [1]}, X, y, random_state=0)


@pytest.mark.parametrize("split", ["shared", "independent"])
def test_together_keeps_copies_on_one_side_and_counts_them_once(split):
    rng = np.random.default_rng(0)
    X, y = data_set("wdbc")
    X, y = X[:120], y[:120]
    rows = rng.permutation(np.repeat(np.arange(120), rng.integers(1, 6, 120)))
    many, labels = X[rows], y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trees = grid_set(
            DecisionTreeClassifier(),
            {"max_depth": [1, 2, 3]},
            many,
            labels,
            split=split,
            duplicates="together",
            validation_size=0.4,
            random_state=0,
        )
    assert (trees.unit, trees.copies) == ("distinct example", 0)
    assert (trees.m, trees.splits.n_train) == (48, 72)
    for i in range(3):
        train, validation = trees.splits(i)
        originals = [set(rows[part].tolist()) for part in (train, validation)]
        assert [len(part) for part in originals] == [72, 48]
        assert set().union(*originals) == set(range(120))
        assert validation.size == 48  # once each
        assert train.size == sum(np.count_nonzero(rows == original) for original in originals[0])  # all copies
        assert trees.errors[i] == np.count_nonzero(trees[i].predict(many[validation]) != labels[validation])


def test_what_cannot_be_together_is_refused():
    X, y = np.arange(40.0)[:, None], np.tile([0, 1], 20)
    with pytest.raises(ValueError, match="unknown duplicates 'drop'; known are keep, together"):
        svm_set(X, y, [1.0], duplicates="drop")
    with pytest.raises(ValueError, match="duplicates must not be 'together' with groups"):
        svm_set(X, y, [1.0], duplicates="together", groups=np.arange(40))
    with pytest.raises(ValueError, match="of 2 distinct rows: 1 and 1"):
        svm_set(np.zeros((40, 1)), y, [1.0], duplicates="together")
    with pytest.raises(TypeError, match="can be compared"):
        grid_set(DummyClassifier(), {}, [print] * 40, y, duplicates="together")
