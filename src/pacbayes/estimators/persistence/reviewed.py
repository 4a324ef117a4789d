"""Types of scikit-learn whose objects may come from anywhere: what they do with their attributes was reviewed.

skops makes sure that a file runs no code.  It does not look at what the objects hold, and compiled code believes that:
a tree whose node names a child that is not there reads memory that is not its own.  So there is a list of the types
that are safe whatever they hold, because all they do is NumPy, and a check for each of the others, on which compiled
code relies.  Types that are on neither must be trusted by name.

How to add one: read what `predict` or `transform` do with every attribute.  Each array that reaches compiled code
without a check of its bounds needs one here, each number that is a length or a count a limit.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pacbayes.estimators.persistence.checking import MOST_CLASSES, check_svm_classifier
from pacbayes.estimators.persistence.schema import Schema

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
# No more threads than this are asked for, whatever a file says.
_MOST_JOBS = 4096
# NumPy alone: a wrong attribute is an exception.
_PLAIN = {
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.decomposition._pca.PCA",
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis",
    "sklearn.dummy.DummyClassifier",
    "sklearn.ensemble._bagging.BaggingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._weight_boosting.AdaBoostClassifier",
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._perceptron.Perceptron",
    "sklearn.linear_model._ridge.RidgeClassifier",
    "sklearn.linear_model._stochastic_gradient.SGDClassifier",
    "sklearn.naive_bayes.BernoulliNB",
    "sklearn.naive_bayes.CategoricalNB",
    "sklearn.naive_bayes.ComplementNB",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.naive_bayes.MultinomialNB",
    "sklearn.neural_network._multilayer_perceptron.MLPClassifier",
    "sklearn.pipeline.FeatureUnion",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.Binarizer",
    "sklearn.preprocessing._data.MaxAbsScaler",
    "sklearn.preprocessing._data.MinMaxScaler",
    "sklearn.preprocessing._data.Normalizer",
    "sklearn.preprocessing._data.PowerTransformer",
    "sklearn.preprocessing._data.QuantileTransformer",
    "sklearn.preprocessing._data.RobustScaler",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.LinearSVC",
}
# Numbers and functions of losses, compared with those of the ensemble where they matter.
_PARTS = ("sklearn._loss._loss.", "sklearn._loss.link.", "sklearn._loss.loss.", "sklearn.linear_model._sgd_fast.")


def needs_trust(name: str) -> bool:
    """Return whether a type of scikit-learn is on neither list.

    Examples
    --------
    >>> needs_trust("sklearn.pipeline.Pipeline"), needs_trust("sklearn.svm._classes.SVC"), needs_trust("builtins.list")
    (False, True, False)
    """
    return name.startswith("sklearn.") and not (name in _PLAIN or name in _CHECKS or name.startswith(_PARTS))


def check_trees(schema: Schema) -> None:
    """Raise unless every tree in a schema can be made: scikit-learn allocates and copies what its arguments say."""
    for node in schema.nodes:
        name, loader = f"{node.get('__module__')}.{node.get('__class__')}", node["__loader__"]
        if name == PREDICTOR and loader != "ObjectNode":
            raise ValueError(f"its {name} is a {loader}")
        if name != TREE and loader != "TreeNode":
            continue
        if name != TREE or loader != "TreeNode":
            raise ValueError(f"its {name} is a {loader}")
        _check_tree(schema.value(node["__reduce__"]["args"]), schema.value(node["content"]))


def _check_tree(arguments: Any, state: Any) -> None:
    n_features, n_classes, n_outputs = arguments
    nodes, values, count = state["nodes"], state["values"], state["node_count"]
    one_output = type(n_outputs) is int and n_outputs == 1 and isinstance(n_classes, np.ndarray)
    if not one_output or n_classes.shape != (1,) or n_classes.dtype != np.intp:
        raise ValueError("a tree must have one output")
    if type(n_features) is not int or not 0 < n_features < 2**31 or not 0 < n_classes[0] <= MOST_CLASSES:
        raise ValueError(f"a tree has {n_features!r} features and {n_classes[0]!r} classes")
    if type(count) is not int or nodes.ndim != 1 or not 0 < count == nodes.size:
        raise ValueError(f"a tree has {count!r} nodes in an array of shape {nodes.shape}")
    if values.shape != (count, 1, int(n_classes[0])):
        raise ValueError(f"a tree of {count} nodes has values of shape {values.shape}")
    inner = nodes["left_child"] != -1
    _check_children(inner, nodes["left_child"], nodes["right_child"], nodes["feature"], n_features)


def _check_children(
    inner: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], n_features: int
) -> None:
    """Raise unless each inner node has children behind it, so that every way down ends, and splits a feature."""
    places = np.flatnonzero(inner)
    for child in (left[inner].astype(np.int64), right[inner].astype(np.int64)):
        if not ((child > places) & (child < inner.size)).all():
            raise ValueError("a node of a tree has a child that does not come after it")
    split = feature[inner].astype(np.int64)
    if not ((split >= 0) & (split < n_features)).all():
        raise ValueError("a node of a tree splits a feature that is not there")


def unreviewed(root: Any) -> dict[str, str]:
    """Return the types of scikit-learn objects in `root` that must be trusted, with the reason for one object of each.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> unreviewed([SVC()])
    {'sklearn.svm._classes.SVC': 'it was not reviewed'}
    """
    found: dict[str, str] = {}
    for value in _objects(root):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        try:
            if sp.issparse(value):
                _check_sparse(value)
            elif needs_trust(name):
                raise ValueError("it was not reviewed")
            elif name.startswith(("pacbayes.", "sklearn.")):
                _check_attributes(value)
                _CHECKS.get(name, _no_check)(value)
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            found.setdefault(name, str(error))
    return found


def _objects(root: Any) -> Iterator[Any]:
    """Yield everything that can be reached from `root`, each once; arrays of numbers and text are not looked into."""
    seen: set[int] = set()
    left = [root]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type | None):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value
        elif isinstance(value, np.ndarray):
            left += value.ravel().tolist() if value.dtype == object else []
        else:
            left += getattr(value, "__dict__", {}).values()


def _check_attributes(value: Any) -> None:
    """Raise if an attribute stands for a method, or asks for thousands of threads."""
    for name in getattr(value, "__dict__", {}):
        if callable(getattr(type(value), name, None)):
            raise ValueError(f"its attribute {name!r} is in the place of a method")
    jobs = getattr(value, "n_jobs", None)
    if jobs is not None and not (isinstance(jobs, int) and -_MOST_JOBS <= jobs <= _MOST_JOBS):
        raise ValueError(f"it asks for {jobs!r} threads")


def _check_sparse(matrix: Any) -> None:
    """Raise unless the indices of a sparse matrix are inside it."""
    if matrix.format not in ("csr", "csc"):
        raise ValueError(f"matrices of the format {matrix.format} were not reviewed")
    matrix.check_format(full_check=True)


def _no_check(value: Any) -> None:
    """Accept."""


def _check_one_tree(estimator: Any, kinds: tuple[str, ...] = (), n_features: int | None = None) -> None:
    """Raise unless a tree splits the features its rows are checked for; its nodes were checked in the schema."""
    from sklearn.tree._tree import Tree

    if not hasattr(estimator, "tree_") and not kinds:  # not fitted
        return
    if kinds and type(estimator).__name__ not in kinds:
        raise ValueError(f"it holds a {type(estimator).__name__}")
    tree, expected = estimator.tree_, estimator.n_features_in_ if n_features is None else n_features
    if type(tree) is not Tree or not tree.n_features == estimator.n_features_in_ == expected:
        raise ValueError("its tree splits other features than it has")


def _check_forest(forest: Any) -> None:
    for tree in getattr(forest, "estimators_", ()):
        _check_one_tree(tree, ("DecisionTreeClassifier", "ExtraTreeClassifier"), forest.n_features_in_)


def _check_boosting(model: Any) -> None:
    if not hasattr(model, "estimators_"):
        return
    trees, classes = model.estimators_, np.size(model.classes_)
    columns = 1 if classes == 2 else classes
    if trees.ndim != 2 or trees.shape[1] != columns or model.n_trees_per_iteration_ != columns:
        raise ValueError(f"its trees have the shape {trees.shape} for {classes} classes")
    for tree in trees.ravel().tolist():
        _check_one_tree(tree, ("DecisionTreeRegressor",), model.n_features_in_)
    # What it starts from has a column for each of these, too: compiled code adds to them.
    losses = ("HalfBinomialLoss", "ExponentialLoss") if columns == 1 else ("HalfMultinomialLoss",)
    links = ("LogitLink", "HalfLogitLink") if columns == 1 else ("MultinomialLogit",)
    loss = model._loss
    if type(loss).__name__ not in losses or type(loss.link).__name__ not in links:
        raise ValueError("its loss is one for another number of classes")
    first = model.init_
    if first == "zero":
        return
    if type(first).__name__ != "DummyClassifier" or first.strategy != "prior":
        raise ValueError("it starts from something that was not reviewed")
    if np.shape(first.class_prior_) != (classes,) or first.n_outputs_ != 1:
        raise ValueError("it starts from another number of classes")


def _check_histogram_boosting(model: Any) -> None:
    if not hasattr(model, "_predictors"):
        return
    if model._preprocessor is not None or getattr(model, "_in_fit", False):
        raise ValueError("it has categorical features, which were not reviewed")
    categorical = model._bin_mapper.is_categorical_
    if categorical.dtype != np.uint8 or categorical.shape != (model.n_features_in_,) or categorical.any():
        raise ValueError("it has categorical features, which were not reviewed")
    if type(model.n_features_in_) is not int:
        raise ValueError(f"it has {model.n_features_in_!r} features")
    for predictor in (one for several in model._predictors for one in several):
        _check_predictor(predictor, model.n_features_in_)


def _check_predictor(predictor: Any, n_features: int | None = None) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    if type(predictor) is not TreePredictor:
        raise ValueError(f"it holds a {type(predictor).__name__}")
    nodes = predictor.nodes
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes["is_categorical"].any():
        raise ValueError("its nodes are not those of a tree without categories")
    most = n_features if n_features is not None else 2**31
    _check_children(nodes["is_leaf"] == 0, nodes["left"], nodes["right"], nodes["feature_idx"], most)


def _check_one_hot(encoder: Any) -> None:
    """Raise unless every category has a column: the sparse matrix made of them is not checked any more."""
    if not hasattr(encoder, "categories_"):
        return
    if encoder.drop_idx_ is not None or encoder._drop_idx_after_grouping is not None:
        raise ValueError("it drops a category, which was not reviewed")
    number = len(encoder.categories_)
    grouped = encoder._infrequent_enabled
    rare, mappings = (
        (encoder._infrequent_indices, encoder._default_to_infrequent_mappings) if grouped else ([None] * number,) * 2
    )
    parts = zip(encoder.categories_, rare, mappings, encoder._n_features_outs, strict=True)
    for known, few, mapping, columns in parts:
        needed = _check_categories(known)
        if (few is None) != (mapping is None):
            raise ValueError("it groups some categories and does not say how")
        if mapping is not None:
            if not (_within(few, 0, needed) and mapping.shape == (needed,) and _within(mapping, 0, needed)):
                raise ValueError("it groups categories that it does not have")
            needed = int(mapping.max()) + 1
        if isinstance(columns, bool) or not isinstance(columns, int | np.integer) or columns != needed:
            raise ValueError(f"it has {columns!r} columns for {needed} categories")


def _check_categories(known: Any) -> int:
    """Return the number of categories, or raise if a search among them could end behind the last."""
    if known.ndim != 1 or known.size == 0:
        raise ValueError(f"it has categories of shape {known.shape}")
    if known.dtype != object:
        # One NaN may stand at the end.
        numbers = known[:-1] if known.dtype.kind == "f" and np.isnan(known[-1]) else known
        if not (numbers[1:] > numbers[:-1]).all():
            raise ValueError("its categories are not sorted")
    return int(known.size)


def _within(values: Any, least: int, end: int) -> bool:
    return bool(values.dtype.kind == "i" and values.size > 0 and values.min() >= least and values.max() < end)


_CHECKS: dict[str, Callable[[Any], None]] = {
    "pacbayes.classifiers.svm.svm_classifier.SVMClassifier": check_svm_classifier,
    TREE: _no_check,
    PREDICTOR: _check_predictor,
    "sklearn.ensemble._forest.ExtraTreesClassifier": _check_forest,
    "sklearn.ensemble._forest.RandomForestClassifier": _check_forest,
    "sklearn.ensemble._gb.GradientBoostingClassifier": _check_boosting,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        _check_histogram_boosting
    ),
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_one_hot,
    "sklearn.tree._classes.DecisionTreeClassifier": _check_one_tree,
    "sklearn.tree._classes.DecisionTreeRegressor": _check_one_tree,
    "sklearn.tree._classes.ExtraTreeClassifier": _check_one_tree,
}
