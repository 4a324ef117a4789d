"""`CertifiedClassifier.from_fitted`: certificates of prefit classifiers."""

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Abstain, CertifiedClassifier, Grid, load, optimal_posterior, save

MODELS = (DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3, random_state=0), GaussianNB())


def rows(loaded=load_breast_cancer):
    X, y = loaded(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def fitted_classifiers(loaded=load_breast_cancer):
    X, y = rows(loaded)
    half = len(y) // 2
    return [clone(model).fit(X[:half], y[:half]) for model in MODELS], X[half:], y[half:]


def clopper_pearson(errors, m, delta):
    return beta.ppf(1 - delta, errors + 1, m - errors)


def from_fitted(loaded=load_breast_cancer, **options):
    return CertifiedClassifier.from_fitted(*fitted_classifiers(loaded), random_state=0, **options)


@pytest.mark.parametrize("loaded", [load_breast_cancer, load_iris])
def test_posterior_without_a_primary_rule(loaded):
    clf = from_fitted(loaded, voting="stochastic")
    fitted, X, y = fitted_classifiers(loaded)
    errors = np.array([(classifier.predict(X) != y).sum() for classifier in fitted])
    expected = optimal_posterior(errors / len(y), len(y))
    assert clf.hedge_ == 1.0
    assert clf.primary_ == {}
    assert clf.classifiers_.errors.tolist() == errors.tolist()
    assert clf.certificate_.bound == pytest.approx(expected.bound, abs=1e-9)
    assert clf.certificate_.source == "validation rows"
    assert clf.certificates_["best"].bound == pytest.approx(clopper_pearson(errors.min(), len(y), 0.05 / 3), abs=1e-9)
    assert clf.certificate_.baselines["holdout"].bound is None
    assert "no primary classifier" in clf.certificate_.baselines["holdout"].note
    assert np.array_equal(clf.classes_, np.unique(y))
    assert clf.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("loaded", [load_breast_cancer, load_iris])
def test_primary_classifier_is_close_to_holdout(loaded):
    clf = from_fitted(loaded, primary=2, hedge=0.1)
    fitted, X, y = fitted_classifiers(loaded)
    errors = [(classifier.predict(X) != y).sum() for classifier in fitted]
    assert clf.hedge_ == 0.1
    for voting, certificate in clf.certificates_.items():
        assert certificate.bound <= clopper_pearson(errors[2], len(y), 0.9 * 0.05) * (1 + 1e-9)
        if certificate.rule == "primary":
            assert certificate.bound == pytest.approx(clopper_pearson(errors[2], len(y), 0.9 * 0.05))
            assert certificate.source == "fixed before validation"
            assert clf.set_params(voting=voting).predict(X).tolist() == fitted[2].predict(X).tolist()
        assert "training rows" not in {claim.source for claim in certificate.alternatives}
    assert clf.certificate_.baselines["holdout"].bound == pytest.approx(clopper_pearson(errors[2], len(y), 0.05))


def test_primary_weights_are_those_of_draws_and_vote():
    weights = np.array([0.25, 0.25, 0.5])
    clf = from_fitted(primary=weights, hedge=0)
    fitted, X, y = fitted_classifiers()
    assert all(np.array_equal(clf.primary_[voting], weights) for voting in ("stochastic", "majority"))
    assert clf.primary_["best"].tolist() == [0, 0, 1]
    assert not hasattr(clf, "posterior_")
    # The third decides unless the two others disagree with it: the first class wins the tie.
    a, b, c = (classifier.predict(X) for classifier in fitted)
    expected = np.where(a == b, np.minimum(a, c), c)
    clf.set_params(voting="majority")
    assert np.array_equal(clf.predict(X), expected)
    assert clf.vote_errors_ == (expected != y).sum()
    assert clf.certificate_.bound == pytest.approx(clopper_pearson((expected != y).sum(), len(y), 0.05))
    clf.set_params(voting="stochastic")
    assert round(clf.certificate_.empirical_risk * len(y)) == (clf.predict(X) != y).sum()


def test_assumptions():
    assumptions = " ".join(from_fitted(primary=1).certificate_.assumptions)
    for words in (
        "were not used to train, tune or choose anything",
        "early stopping",
        "without looking at the labels",
        "fixed before the errors were known",
    ):
        assert words in assumptions
    assert "to train all classifiers" not in assumptions
    assert "training rows" not in assumptions


def test_majority_class_is_given_by_the_user():
    assert from_fitted().majority_class_ is None
    assert from_fitted().certificate_.baselines["majority class"].bound is None
    clf = from_fitted(most_frequent=1)
    y = fitted_classifiers()[2]
    assert clf.majority_class_ == 1
    assert clf.certificate_.baselines["majority class"].empirical_risk == pytest.approx((y != 1).mean())
    with pytest.raises(ValueError, match=r"most_frequent must be one of the classes \[0, 1\], got 'benign'"):
        from_fitted(most_frequent="benign")


def test_clones_have_no_candidates():
    clf = clone(from_fitted(primary=1, delta=0.1, voting="majority"))
    assert clf.get_params()["delta"] == 0.1
    with pytest.raises(NotFittedError):
        clf.predict([[0.0]])
    with pytest.raises(ValueError, match=r"candidates must not be None.*from_fitted"):
        clf.fit(*rows())
    clf.set_params(candidates=Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}), cv=3)
    assert clf.fit(*rows()).certificate_.bound < 0.5


@pytest.mark.parametrize(
    ("options", "voting"),
    [({}, "stochastic"), ({"primary": 1}, "best"), ({"primary": [0.5, 0.25, 0.25], "hedge": 0}, "majority")],
)
def test_save_pickle_and_report(options, voting, tmp_path):
    clf = from_fitted(voting=voting, most_frequent=1, **options)
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(clf, tmp_path / "model")
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(clf))):
        assert other.certificates_ == clf.certificates_
        assert np.array_equal(other.predict(X), clf.predict(X))
        assert np.array_equal(other.vote_share(X), clf.vote_share(X))
    page = clf.report(tmp_path / "page.html", test=(1.01 * X, y)).read_text(encoding="utf-8")
    assert "were not used to train, tune or choose anything" in page
    assert "Cross-validation within the training rows" not in page


def test_groups_count_once():
    fitted, X, y = fitted_classifiers()
    groups = np.arange(len(y)) // 5
    clf = CertifiedClassifier.from_fitted(fitted, X, y, groups=groups, primary=0, random_state=0)
    assert clf.classifiers_.m == groups.max() + 1
    errors = pd.Series(fitted[0].predict(X) != y)
    assert clf.classifiers_.risks[0] == pytest.approx(errors.groupby(groups).mean().mean(), rel=1e-12)
    assert clf.certificate_.unit == "group"


def test_duplicates_count_once():
    fitted, X, y = fitted_classifiers()
    once = CertifiedClassifier.from_fitted(fitted, X, y, primary=0, random_state=0)
    twice = CertifiedClassifier.from_fitted(
        fitted, np.repeat(X, 2, axis=0), np.repeat(y, 2), primary=0, duplicates="together", random_state=0
    )
    assert twice.certificate_.bound == once.certificate_.bound
    assert twice.certificate_.unit == "distinct example"


class FrameClassifier:
    """Classifier without a base class."""

    def predict(self, X):
        return np.array(["YES" if value > 0 else "NO" for value in X["a"]])


def test_any_object_with_predict():
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": ["x", "y"] * 20})
    y_true = np.where(frame["a"] > 0.2, "YES", "NO")
    clf = CertifiedClassifier.from_fitted(
        [FrameClassifier(), FrameClassifier()], frame, y_true, primary=1, random_state=0
    )
    assert clf.classes_.tolist() == ["NO", "YES"]
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert set(clf.predict(frame.iloc[::3])) == {"NO", "YES"}


def test_classes_without_validation_rows():
    X, y = np.zeros((30, 1)), np.array([0, 1] * 15)
    three = DummyClassifier(strategy="constant", constant=7).fit(np.zeros((3, 1)), [0, 1, 7])
    clf = CertifiedClassifier.from_fitted([three], X, y, random_state=0)
    assert clf.classes_.tolist() == [0, 1, 7]
    assert clf.classifiers_.errors.tolist() == [30]
    assert clf.predict(X).tolist() == [7] * 30


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimators": []}, TypeError, "a fitted classifier or a list of fitted classifiers"),
        ({"estimators": MODELS[2]}, ValueError, "must be fitted, on rows other than these"),
        ({"estimators": [GaussianNB()]}, ValueError, r"estimators\[0\] must be fitted"),
        ({"y_val": [0, 1]}, ValueError, "X_val and y_val must have the same length, got 285 and 2"),
        ({"y_val": np.array(["a", "b"] * 142 + ["a"])}, TypeError, "must be labels like those of y_val"),
        ({"y_val": np.zeros(285)}, None, ""),
        ({"primary": 3}, ValueError, "one of the 3 classifiers"),
        ({"primary": [0.5, 0.5]}, ValueError, "primary must have one entry"),
        ({"primary": True}, TypeError, "index of a classifier"),
        (
            {"decision": Abstain(0.05), "primary": 0},
            ValueError,
            r"decision=Abstain\(.* training rows of prefit classifiers are unknown",
        ),
        ({"prior": "cross-validation"}, ValueError, "training rows of prefit classifiers are unknown"),
        (
            {"voting": "soft", "primary": 0},
            ValueError,
            "voting='soft' requires .* training rows of prefit classifiers are unknown",
        ),
    ],
)
def test_bad_input(change, error, message):
    fitted, X, y = fitted_classifiers()
    arguments = {"estimators": fitted, "X_val": X, "y_val": y} | change
    if error is None:
        assert CertifiedClassifier.from_fitted(**arguments).classes_.size == 2
        return
    with pytest.raises(error, match=message):
        CertifiedClassifier.from_fitted(**arguments)


class Mean(ClassifierMixin, BaseEstimator):
    """Rounded mean of fitted classifiers."""

    def __init__(self, members):
        self.members = members

    def predict(self, X):
        return np.round(np.mean([member.predict(X) for member in self.members], axis=0)).astype(int)


def test_classifiers_are_copied():
    fitted, X, y = fitted_classifiers()
    shared = [Mean(fitted[:2]), Mean(fitted[1:])]
    clf = CertifiedClassifier.from_fitted(shared, X, y, primary=0, voting="best", random_state=0)
    y_pred = clf.predict(X)
    for member in fitted:
        member.fit(X, 1 - y)
    assert np.array_equal(clf.predict(X), y_pred)
    # A shared member stays shared.
    assert clf.classifiers_[0].members[1] is clf.classifiers_[1].members[0]


def test_classifiers_that_cannot_be_copied_are_named():
    fitted, X, y = fitted_classifiers()
    fitted[1].lock = threading.Lock()
    with pytest.warns(UserWarning, match=r"estimators\[1\] cannot be copied \(TypeError: .* do not train it further"):
        clf = CertifiedClassifier.from_fitted(fitted, X, y, random_state=0)
    assert clf.classifiers_[1] is fitted[1]
    assert clf.classifiers_[0] is not fitted[0]


# -- a single classifier -----------------------------------------------------------------------------------------------


class Column:
    """Predict the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def single_classifier(errors, rows, **options):
    labels = (np.arange(rows) >= rows // 2).astype(int)
    X = np.where(np.arange(rows) < errors, 1 - labels, labels)[:, None]
    return CertifiedClassifier.from_fitted(Column(), X, labels, **options)


def test_single_classifier_has_a_clopper_pearson_bound():
    clf = single_classifier(5, 100)
    assert clf.certificate_.sentence == (
        "With 95 % confidence, the error rate of this classifier on new examples is at most 10.3 %."
    )
    assert clf.certificate_.assumptions[0].startswith("These 100 rows were not used to train")
    assert clf.hedge_ == 0.0
    assert {certificate.bound for certificate in clf.certificates_.values()} == {clf.certificate_.bound}
    assert CertifiedClassifier.from_fitted([Column()], np.eye(100)[:, :1], np.arange(100) % 2).hedge_ == 0.0
