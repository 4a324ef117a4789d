"""What out-of-bag validation rests on: rows out of a tree's bag have no part in it, not in a single bit."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pacbayes import forest_set

N = 70
SETTINGS = [
    {},
    {"min_samples_leaf": 5, "min_weight_fraction_leaf": 0.02},
    {"min_samples_split": 0.1, "max_features": None},
    {"max_leaf_nodes": 6, "criterion": "entropy"},
    {"max_samples": 0.5, "ccp_alpha": 0.01, "min_impurity_decrease": 0.01},
]


def bits(tree):
    state = tree.tree_.__getstate__()
    return state["nodes"].tobytes(), state["values"].tobytes()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("missing", ["nowhere", "out of the bag", "everywhere"])
def test_rows_out_of_the_bag_may_be_anything(kind, settings, missing):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 4)), rng.integers(0, 3, N)
    if missing == "everywhere":
        X[rng.random(X.shape) < 0.15] = np.nan
    forest = kind(4, bootstrap=True, random_state=1, **settings)
    trees = forest_set(forest, X, y)
    for i in range(len(trees)):
        outside = trees.splits(i)[1]
        changed, labels = X.copy(), y.copy()
        changed[outside] = 100 * rng.normal(size=(outside.size, 4))
        if missing != "nowhere":
            changed[outside[::2], 1] = np.nan
        labels[outside] = rng.integers(0, 3, outside.size)
        again = forest_set(forest, changed, labels)
        assert again.splits(i)[1].tolist() == outside.tolist()
        assert bits(again[i]) == bits(trees[i])


def test_rows_in_the_bag_do_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 4)), rng.integers(0, 2, N)
    forest = RandomForestClassifier(3, random_state=1)
    trees = forest_set(forest, X, y)
    y[trees.splits(0)[0][0]] ^= 1
    assert bits(forest_set(forest, X, y)[0]) != bits(trees[0])


def test_weights_of_classes_would_let_labels_decide_which_rows_are_drawn():
    # Why they are refused; scikit-learn draws rows by weight since version 1.8.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.integers(0, 2, N)
    with pytest.raises(ValueError, match="forest must have class_weight=None, got 'balanced'"):
        forest_set(RandomForestClassifier(3, class_weight="balanced"), X, y)
