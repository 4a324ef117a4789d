"""Quick probabilities have the bits of scikit-learn's own, alone and in any batch."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes.ensemble.quick import make_fast_classifier, to_numeric_table

RNG = np.random.default_rng(0)
# Few values of each column: many rows are equally far from others.
X = pd.DataFrame(RNG.integers(0, 3, size=(400, 14))).add_prefix("column ")
Y = np.array(["a", "b", "c"])[(X.to_numpy()[:, :3].sum(axis=1) + RNG.integers(0, 2, 400)) // 3]
NEW = pd.DataFrame(RNG.integers(0, 3, size=(300, 14))).add_prefix("column ")
QUICK = {
    "random forest": RandomForestClassifier(10, random_state=0),
    "extra trees": ExtraTreesClassifier(10, bootstrap=True, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=5),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "nearest": make_pipeline(StandardScaler(), KNeighborsClassifier(1, algorithm="kd_tree")),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(11, algorithm="kd_tree")),
    "unscaled neighbours": KNeighborsClassifier(5, algorithm="kd_tree"),
    "all rows": KNeighborsClassifier(400, algorithm="kd_tree"),
    "other distance": KNeighborsClassifier(5, p=1, algorithm="kd_tree"),
}


@pytest.mark.parametrize("classifier", QUICK.values(), ids=QUICK.keys())
def test_the_bits_are_those_of_scikit_learn(classifier):
    classifier.fit(X, Y)
    table = to_numeric_table(NEW)
    quick = make_fast_classifier(classifier, table)
    probabilities = quick.predict_proba(table)
    assert np.array_equal(probabilities, classifier.predict_proba(NEW))
    assert np.array_equal(quick.classes_, classifier.classes_)
    assert hasattr(classifier if not hasattr(classifier, "steps") else classifier[0], "feature_names_in_")
    for rows in ([7], range(20), range(150, 300)):
        part = to_numeric_table(NEW.iloc[list(rows)])
        assert np.array_equal(quick.predict_proba(part).round(12), probabilities[list(rows)].round(12))


@pytest.mark.parametrize("k", [1, 2, 5, 30])
@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e150])
def test_neighbours_at_equal_distances_are_those_of_the_tree(k, scale):
    # Points and their mirror images, twins of another class, and clusters far from the origin.
    rng = np.random.default_rng(k)
    half = rng.normal(size=(60, 12))
    train = np.concatenate([half, -half, half, half + 1e8, np.repeat(half[:5], 30, axis=0)]) * scale
    new = np.concatenate([half, np.zeros((20, 12)), half + 1e8, half * 1e-9]) * scale
    codes = np.arange(len(train)) % 3
    model = KNeighborsClassifier(k, algorithm="kd_tree").fit(train, codes)
    assert np.array_equal(make_fast_classifier(model, new).predict_proba(new), model.predict_proba(new))


def test_other_classifiers_and_rows_are_left_to_scikit_learn():
    table = to_numeric_table(X)
    pipeline = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, Y)
    categories = X.astype({"column 0": "category"})
    boosting = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype").fit(categories, Y)
    several = DecisionTreeClassifier().fit(X, np.stack([Y, Y], axis=1))
    for other in (pipeline, boosting, GaussianNB().fit(X, Y), several):
        assert make_fast_classifier(other, table) is None
    assert make_fast_classifier(LogisticRegression().fit(X.iloc[:, :2], Y), table) is None
    rows = (
        *(X.to_numpy().tolist(), X.to_numpy()[0], X.to_numpy() > 1, X.astype(object), categories, X.iloc[:0]),
        *(np.array([[2**60]]), np.array([[np.inf]]), np.array([[1 + 2j]]), np.ones((1, 2), dtype=np.longdouble)),
    )
    assert all(to_numeric_table(other) is None for other in rows)


def test_values_beyond_single_precision_raise_as_in_scikit_learn():
    forest = QUICK["random forest"].fit(X, Y)
    table = np.full((1, 14), 1e300)
    with pytest.raises(ValueError, match="too large for dtype"):
        make_fast_classifier(forest, table).predict_proba(table)
