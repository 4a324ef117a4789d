"""Every check of what a scikit-learn object holds, on an object with one fault; attack/ has the same through files."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pacbayes.estimators.persistence.reviewed import _check_tree, unreviewed

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), np.arange(60) % 3


def reason(value):
    found = unreviewed([value])
    assert len(found) == 1, found
    return next(iter(found.values()))


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


def forest():
    return RandomForestClassifier(3, random_state=0).fit(X, Y)


def boosting(classes=3):
    return GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, Y % classes)


def histograms():
    return HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, random_state=0).fit(X, Y)


def one_hot(**options):
    return OneHotEncoder(**options).fit(np.array([["a"], ["b"], ["c"], ["a"], ["a"]], dtype=object))


@pytest.mark.parametrize(
    "make",
    [tree, forest, boosting, lambda: boosting(2), histograms, one_hot, lambda: one_hot(min_frequency=2),
     lambda: GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, Y), DecisionTreeClassifier,
     RandomForestClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier, OneHotEncoder,
     lambda: sp.csr_array(np.eye(3))],
)  # fmt: skip
def test_what_scikit_learn_makes_passes(make):
    assert unreviewed([make()]) == {}


def set_at(value, name, new):
    """Set an attribute, given by its way there."""
    *way, last = name.split(".")
    for step in way:
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    if last.isdigit():
        value[int(last)] = new
    else:
        setattr(value, last, new)


@pytest.mark.parametrize(
    ("make", "name", "new", "message"),
    [
        (forest, "n_jobs", 10**6, "asks for 1000000 threads"),
        (forest, "predict", 1, "'predict' is in the place of a method"),
        (tree, "n_features_in_", 2, "splits other features"),
        (tree, "tree_", 1, "splits other features"),
        (forest, "n_features_in_", 2, "splits other features"),
        (forest, "estimators_.1", DecisionTreeRegressor().fit(X, Y), "holds a DecisionTreeRegressor"),
        (boosting, "estimators_", np.empty((2, 2), dtype=object), r"shape \(2, 2\) for 3 classes"),
        (boosting, "n_trees_per_iteration_", 1, "for 3 classes"),
        (boosting, "_loss", boosting(2)._loss, "loss is one for another number of classes"),
        (boosting, "_loss.link", boosting(2)._loss.link, "loss is one for another number of classes"),
        (boosting, "init_", forest(), "starts from something that was not reviewed"),
        (boosting, "init_.strategy", "uniform", "starts from something that was not reviewed"),
        (boosting, "init_.class_prior_", np.ones(2), "starts from another number of classes"),
        (boosting, "init_.n_outputs_", 2, "starts from another number of classes"),
        (histograms, "_preprocessor", tree(), "categorical features"),
        (histograms, "_bin_mapper.is_categorical_", np.ones(3, dtype=np.uint8), "categorical features"),
        (histograms, "_bin_mapper.is_categorical_", np.zeros(2, dtype=np.uint8), "categorical features"),
        (histograms, "n_features_in_", 3.0, "has 3.0 features"),
        (histograms, "_predictors.0.0", tree(), "holds a DecisionTreeClassifier"),
        (one_hot, "drop_idx_", np.zeros(1), "drops a category"),
        (one_hot, "_n_features_outs", [2], "has 2 columns for 3 categories"),
        (one_hot, "_n_features_outs", [True], "has True columns"),
        (one_hot, "categories_", [np.empty(0, dtype=object)], "categories of shape"),
        (one_hot, "categories_", [np.array([2.0, 1.0, 3.0])], "not sorted"),
        (lambda: one_hot(min_frequency=2), "_default_to_infrequent_mappings", [None], "does not say how"),
        (lambda: one_hot(min_frequency=2), "_infrequent_indices", [np.array([7])], "categories that it does not have"),
    ],
)  # fmt: skip
def test_one_fault_is_named(make, name, new, message):
    value = make()
    set_at(value, name, new)
    found = unreviewed([value])
    assert any(re.search(message, text) for text in found.values()), found


@pytest.mark.parametrize("format", ["coo", "lil", "dia"])
def test_sparse_matrices_of_other_formats(format):
    assert reason(sp.eye_array(3).asformat(format)) == f"matrices of the format {format} were not reviewed"


def test_sparse_indices_outside():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 9
    assert "indices" in reason(matrix) or "index" in reason(matrix)


def test_nodes_of_histograms():
    model = histograms()
    predictor = model._predictors[0][0]
    predictor.nodes = predictor.nodes[:0]
    assert "not those of a tree without categories" in unreviewed([model]).popitem()[1]
    model = histograms()
    nodes = model._predictors[0][0].nodes
    nodes["left"][0] = 0
    assert "child that does not come after it" in " ".join(unreviewed([model]).values())
    model = histograms()
    nodes = model._predictors[0][0].nodes
    nodes["feature_idx"][0] = 3
    assert "splits a feature that is not there" in " ".join(unreviewed([model]).values())


def tree_parts(n_features=3, n_classes=3, n_outputs=1):
    grown = tree().tree_
    return (n_features, np.array([n_classes], dtype=np.intp), n_outputs), grown.__getstate__()


def test_a_tree_as_it_is():
    arguments, state = tree_parts()
    _check_tree(arguments, state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_outputs": 2}, "one output"),
        ({"n_features": 0}, "0 features"),
        ({"n_features": 3.0}, "3.0 features"),
        ({"n_classes": 0}, "0 classes|and np.int64\\(0\\) classes"),
        ({"n_classes": 4}, "values of shape"),
        ({"n_features": 1}, "splits a feature that is not there"),
    ],
)
def test_a_tree_with_other_arguments(arguments, message):
    arguments, state = tree_parts(**arguments)
    with pytest.raises(ValueError, match=message):
        _check_tree(arguments, state)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("node_count", lambda old: old + 1, "nodes in an array of shape"),
        ("node_count", float, "nodes in an array of shape"),
        ("nodes", lambda old: old[:-1], "nodes in an array of shape"),
        ("values", lambda old: old[:, :, :1], "values of shape"),
    ],
)
def test_a_tree_with_other_nodes(part, change, message):
    arguments, state = tree_parts()
    state[part] = change(state[part])
    with pytest.raises(ValueError, match=message):
        _check_tree(arguments, state)


@pytest.mark.parametrize("field", ["left_child", "right_child"])
def test_a_child_before_its_parent(field):
    arguments, state = tree_parts()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][field][0] = 0
    with pytest.raises(ValueError, match="child that does not come after it"):
        _check_tree(arguments, state)
