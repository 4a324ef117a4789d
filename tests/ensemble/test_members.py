"""Members: label codes, equal predictions through every method, and labels that are not classes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, svm_set
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.voting import single_weight
from pacbayes.ensemble.calibration import PROBABILITIES, Calibration
from pacbayes.ensemble.members import Calibrations, Coding, Estimators

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


# -- label codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "predictions", "labels"),
    [
        ([0, 1], [[1, 0], [1, 1]], [0, 1]),
        ([0, 1], [[1, -1], [7, -1, 0]], [0, 1, -1, 7]),
        ([0, 1], [[1.0, 0.5], [0.0, 0.5]], [0, 1, 0.5]),
        ([0, 1], [[1.0, np.nan], [np.nan, 0.0]], [0, 1, np.nan]),
        ([False, True], [[True, False], [2, 0]], [0, 1, 2]),
        # Longer than any class, and between two classes.
        (["a", "c"], [["c", "outlier"], ["b", "a", "outlier"]], ["a", "c", "outlier", "b"]),
        ([3], [[3, 2, 4]], [3, 2, 4]),
    ],
)
def test_every_label_has_one_code(classes, predictions, labels):
    coding = Coding(np.array(classes))
    codes = [coding.encode(np.array(y_pred)) for y_pred in predictions]
    np.testing.assert_array_equal(coding.labels, np.array(labels))
    for y_pred, y_codes in zip(predictions, codes, strict=True):
        np.testing.assert_array_equal(coding.labels[y_codes], np.array(y_pred))
        np.testing.assert_array_equal(coding.encode(np.array(y_pred)), y_codes)


# -- predictions -----------------------------------------------------------------------------------------------------


def trees():
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], NAMES[::2]) for d in (2, 3, 4, 5)]
    return ClassifierSet.from_fitted(fitted, X[1::2], NAMES[1::2]).members


def svms(**options):
    return svm_set(X, NAMES, [0.01, 0.1, 1.0, 10.0], random_state=0, **options).members


MEMBERS = {
    "trees": trees,
    "SVMs": svms,
    "landmarks": lambda: svms(kernel="nystroem", n_components=20),
    "independent SVMs": lambda: svms(split="independent"),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_methods_predict_the_same_labels(kind):
    members, coding = MEMBERS[kind](), Coding(np.unique(NAMES))
    rows = members.preprocess(X)
    table = members.predict(rows, np.arange(4), coding)
    for i in range(4):
        np.testing.assert_array_equal(coding.labels[table[i]], members[i].predict(X))
    np.testing.assert_array_equal(members.predict(rows, np.array([3, 1]), coding), table[[3, 1]])
    assigned = np.random.default_rng(0).integers(4, size=len(X))
    np.testing.assert_array_equal(members.predict_assigned(rows, assigned, coding), table[assigned, np.arange(len(X))])


def calibrations(indices, n_classes, slope):
    """The same map of probabilities for some classifiers."""
    calibration = Calibration(PROBABILITIES, 75, slope, np.zeros(n_classes), np.zeros(n_classes))
    return Calibrations(np.arange(n_classes), dict.fromkeys(indices, calibration))


def test_mean_probabilities_are_weighted_sums_of_calibrated_ones():
    members, weights = trees(), np.array([0.5, 0.0, 0.25, 0.25])
    soft = calibrations([0, 2, 3], 3, slope=0.8)
    # p is proportional to ((n p + 1/k) / (n + 1))^0.8, rounded to a multiple of 2^-20.
    expected = np.zeros((150, 3))
    for i in (0, 2, 3):
        powers = ((75 * members[i].predict_proba(X) + 1 / 3) / 76) ** 0.8
        expected += weights[i] * np.rint(powers / powers.sum(axis=1, keepdims=True) * 2.0**20) / 2.0**20
    np.testing.assert_array_equal(members.mean_probabilities(X, weights, soft), expected)
    np.testing.assert_allclose(soft.normalize(expected).sum(axis=1), 1.0, rtol=1e-15)


def test_classes_without_training_rows_have_probability_zero():
    fitted = DecisionTreeClassifier(random_state=0).fit(X[:100], NAMES[:100])
    members = Estimators([fitted], [{}], np.unique(NAMES))
    soft = calibrations([0], 2, slope=5.0)
    mean = members.mean_probabilities(X, np.ones(1), soft)
    assert mean.shape == (150, 2)
    probabilities = soft.expand(soft.normalize(mean), 3)
    assert (probabilities[:, 2] == 0.0).all()
    y_pred = np.searchsorted(members.classes, fitted.predict(X))
    np.testing.assert_array_equal(probabilities.argmax(axis=1), y_pred)
    margins = SoftVote("soft", single_weight(0, 1), soft=soft).margins(soft.normalize(mean), 3)
    assert np.isnan(margins[:, 2]).all()
    np.testing.assert_allclose(margins[:, 0], mean[:, 0] - mean[:, 1], atol=1e-5)


# -- labels that are not classes, and errors -------------------------------------------------------------------------


class OutlierTree(DecisionTreeClassifier):
    """Predict another label for outliers."""

    def __init__(self, max_depth=None, outlier_label=None):
        super().__init__(max_depth=max_depth)
        self.outlier_label = outlier_label

    def predict(self, X):
        pairs = zip(super().predict(X).tolist(), np.asarray(X)[:, 0] > 6.5, strict=True)
        return np.array([self.outlier_label if outlier else label for label, outlier in pairs])


@pytest.mark.parametrize(
    ("labels", "outlier_label"),
    [(NAMES, "an outlier"), (Y, -1), (Y, 0.5), (Y, np.nan), (Y > 0, 2)],
    ids=["longer string", "integer", "fraction", "NaN", "beside booleans"],
)
def test_labels_that_are_not_classes_are_errors_and_are_returned(labels, outlier_label):
    grid = Grid(OutlierTree(outlier_label=outlier_label), {"max_depth": [1, 2, 3]})
    clf = CertifiedClassifier(grid, voting="majority", random_state=0, cv=3, validation_size=0.5).fit(X, labels)
    assert clf.classes_.tolist() == np.unique(labels).tolist()
    classifiers = clf.classifiers_
    validation = classifiers.splits(0)[1]
    for i, tree in enumerate(classifiers):
        assert classifiers.errors[i] == np.count_nonzero(tree.predict(X[validation]) != labels[validation])
    outliers, y_pred = X[:, 0] > 6.5, clf.predict(X)
    np.testing.assert_array_equal(y_pred[outliers], np.array([outlier_label] * int(outliers.sum())))
    assert np.isin(y_pred[~outliers], clf.classes_).all()
    assert (clf.vote_share(X)[outliers] == 0.0).all()


class BrokenTree(DecisionTreeClassifier):
    """Fail to predict at depth two."""

    def predict(self, X, check_input=True):
        if self.max_depth == 2:
            raise RuntimeError("broken")
        return super().predict(X, check_input)


@pytest.mark.parametrize("cv", [2, None])
def test_errors_of_predictions_name_the_classifier_also_in_folds(cv):
    grid = Grid(BrokenTree(), {"max_depth": [1, 2, 3]})
    clf = CertifiedClassifier(grid, cv=cv, random_state=0, voting="stochastic", validation_size=0.5)
    with pytest.raises(ValueError, match=r"classifier 1 with \{'max_depth': 2\} was fitted but could not predict"):
        clf.fit(X, Y)
