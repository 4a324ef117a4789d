"""Classifiers that were trained elsewhere as a full estimator."""

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
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Abstain, CertifiedClassifier, ClassifierSet, Grid, load, optimal_posterior, save

KINDS = (DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3, random_state=0), GaussianNB())


def rows(loaded=load_breast_cancer):
    X, y = loaded(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def trained(loaded=load_breast_cancer):
    X, y = rows(loaded)
    half = len(y) // 2
    return [clone(one).fit(X[:half], y[:half]) for one in KINDS], X[half:], y[half:]


def limit(errors, m, delta):
    return beta.ppf(1 - delta, errors + 1, m - errors)


def from_fitted(loaded=load_breast_cancer, **choices):
    return CertifiedClassifier.from_fitted(*trained(loaded), random_state=0, **choices)


@pytest.mark.parametrize("loaded", [load_breast_cancer, load_iris])
def test_without_a_proposal_it_is_the_posterior(loaded):
    clf = from_fitted(loaded, voting="stochastic")
    fitted, X, y = trained(loaded)
    errors = np.array([(one.predict(X) != y).sum() for one in fitted])
    expected = optimal_posterior(errors / len(y), len(y))
    assert clf.hedge_ == 1.0
    assert clf.primary_ == {}
    assert clf.classifiers_.errors.tolist() == errors.tolist()
    assert clf.certificate_.bound == pytest.approx(expected.bound, abs=1e-9)
    assert clf.certificate_.source == "validation rows"
    assert clf.certificates_["best"].bound == pytest.approx(limit(errors.min(), len(y), 0.05 / 3), abs=1e-9)
    assert clf.certificate_.baselines["holdout"].bound is None
    assert "no classifier was proposed" in clf.certificate_.baselines["holdout"].note
    assert np.array_equal(clf.classes_, np.unique(y))
    assert clf.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("loaded", [load_breast_cancer, load_iris])
def test_one_proposed_classifier_is_tested_like_a_hold_out(loaded):
    clf = from_fitted(loaded, primary=2, hedge=0.1)
    fitted, X, y = trained(loaded)
    errors = [(one.predict(X) != y).sum() for one in fitted]
    assert clf.hedge_ == 0.1
    for voting, certificate in clf.certificates_.items():
        assert certificate.bound <= limit(errors[2], len(y), 0.9 * 0.05) * (1 + 1e-9)
        if certificate.rule == "primary":
            assert certificate.bound == pytest.approx(limit(errors[2], len(y), 0.9 * 0.05))
            assert certificate.source == "fixed beforehand"
            assert clf.set_params(voting=voting).predict(X).tolist() == fitted[2].predict(X).tolist()
        assert not [one for one in certificate.alternatives if one.source == "training rows"]
    assert clf.certificate_.baselines["holdout"].bound == pytest.approx(limit(errors[2], len(y), 0.05))


def test_proposed_weights_are_those_of_draws_and_vote():
    weights = np.array([0.25, 0.25, 0.5])
    clf = from_fitted(primary=weights, hedge=0)
    fitted, X, y = trained()
    assert all(np.array_equal(clf.primary_[voting], weights) for voting in ("stochastic", "majority"))
    assert clf.primary_["best"].tolist() == [0, 0, 1]
    assert not hasattr(clf, "posterior_")
    # Of the third and any other the third has the last word; the two others together tie, and the first class wins.
    said = [one.predict(X) for one in fitted]
    expected = np.where(said[0] == said[1], np.minimum(said[0], said[2]), said[2])
    clf.set_params(voting="majority")
    assert np.array_equal(clf.predict(X), expected)
    assert clf.vote_errors_ == (expected != y).sum()
    assert clf.certificate_.bound == pytest.approx(limit((expected != y).sum(), len(y), 0.05))
    clf.set_params(voting="stochastic")
    assert round(clf.certificate_.empirical_risk * len(y)) == (clf.predict(X) != y).sum()


def test_assumptions_say_what_the_user_must_ensure():
    said = " ".join(from_fitted(primary=1).certificate_.assumptions)
    for words in (
        "trained, tuned and chose nothing",
        "early stopping",
        "without looking at the labels",
        "what was proposed beforehand",
    ):
        assert words in said
    assert "trained all classifiers" not in said
    assert "training rows" not in said


def test_the_most_frequent_class_is_not_chosen_on_validation_rows():
    assert from_fitted().majority_class_ is None
    assert from_fitted().certificate_.baselines["most frequent class"].bound is None
    clf = from_fitted(most_frequent=1)
    y = trained()[2]
    assert clf.majority_class_ == 1
    assert clf.certificate_.baselines["most frequent class"].empirical_risk == pytest.approx((y != 1).mean())
    with pytest.raises(ValueError, match=r"most_frequent must be one of the classes \[0, 1\], got 'benign'"):
        from_fitted(most_frequent="benign")


def test_a_clone_has_nothing_to_train():
    clf = clone(from_fitted(primary=1, delta=0.1, voting="majority"))
    assert clf.get_params()["delta"] == 0.1
    with pytest.raises(NotFittedError):
        clf.predict([[0.0]])
    with pytest.raises(ValueError, match=r"candidates must not be None.*from_fitted"):
        clf.fit(*rows())
    clf.set_params(candidates=Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}), cv=3)
    assert clf.fit(*rows()).certificate_.bound < 0.5


@pytest.mark.parametrize("choices", [{}, {"primary": 1}, {"primary": [0.5, 0.25, 0.25], "hedge": 0}])
@pytest.mark.parametrize("voting", ["stochastic", "majority", "best"])
def test_saving_pickling_and_reporting(choices, voting, tmp_path):
    clf = from_fitted(voting=voting, most_frequent=1, **choices)
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    for other in (again, pickle.loads(pickle.dumps(clf))):
        assert other.certificates_ == clf.certificates_
        assert np.array_equal(other.predict(X), clf.predict(X))
        assert np.array_equal(other.vote_share(X), clf.vote_share(X))
    page = clf.report(tmp_path / "page.html", test=(1.01 * X, y)).read_text(encoding="utf-8")
    assert "trained, tuned and chose nothing" in page
    assert "Cross-validation within the training rows" not in page


def test_groups_count_once():
    fitted, X, y = trained()
    groups = np.arange(len(y)) // 5
    clf = CertifiedClassifier.from_fitted(fitted, X, y, groups=groups, primary=0, random_state=0)
    assert clf.classifiers_.m == groups.max() + 1
    wrong = fitted[0].predict(X) != y
    share = pd.Series(wrong).groupby(groups).mean().mean()
    assert clf.classifiers_.risks[0] == pytest.approx(share, rel=1e-12)
    assert clf.certificate_.unit == "group"


def test_copies_count_once():
    fitted, X, y = trained()
    once = CertifiedClassifier.from_fitted(fitted, X, y, primary=0, random_state=0)
    twice = CertifiedClassifier.from_fitted(
        fitted, np.repeat(X, 2, axis=0), np.repeat(y, 2), primary=0, duplicates="together", random_state=0
    )
    assert twice.certificate_.bound == once.certificate_.bound
    assert twice.certificate_.unit == "distinct example"


class Shouting:
    """A classifier that knows nothing of scikit-learn."""

    def predict(self, X):
        return np.array(["YES" if value > 0 else "NO" for value in X["a"]])


class Ranking(ClassifierMixin, BaseEstimator):
    """Answers by the rank among the rows it is asked about."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].argsort().argsort() % 2


def test_any_object_that_predicts_and_rows_of_any_kind():
    frame = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": ["x", "y"] * 20})
    truth = np.where(frame["a"] > 0.2, "YES", "NO")
    clf = CertifiedClassifier.from_fitted([Shouting(), Shouting()], frame, truth, primary=1, random_state=0)
    assert clf.classes_.tolist() == ["NO", "YES"]
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert set(clf.predict(frame.iloc[::3])) == {"NO", "YES"}


def test_answers_that_depend_on_the_batch_are_warned_of():
    X, y = rows()
    with pytest.warns(UserWarning, match="Ranking predicts differently"):
        CertifiedClassifier.from_fitted([Ranking().fit(X, y)], X, y)


def test_labels_that_are_no_class_of_the_validation_rows():
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
        ({"estimators": KINDS[2]}, ValueError, "must be fitted, on rows other than these"),
        ({"estimators": [GaussianNB]}, TypeError, r"estimators\[0\] must be a fitted classifier with a method predict"),
        ({"estimators": [GaussianNB()]}, ValueError, r"estimators\[0\] must be fitted"),
        ({"y_val": [0, 1]}, ValueError, "X_val and y_val must have the same length, got 285 and 2"),
        ({"y_val": np.array(["a", "b"] * 142 + ["a"])}, TypeError, "must be labels like those of y_val"),
        ({"y_val": np.zeros(285)}, None, ""),
        ({"primary": 3}, ValueError, "one of the 3 classifiers"),
        ({"primary": -1}, ValueError, "one of the 3 classifiers"),
        ({"primary": [0.5, 0.5]}, ValueError, "primary must have one entry"),
        ({"primary": [0.5, 0.6, 0.5]}, ValueError, "primary must sum to 1"),
        ({"primary": "best"}, TypeError, "number of a classifier"),
        ({"primary": True}, TypeError, "number of a classifier"),
        ({"hedge": 0.1}, ValueError, "hedge=0.1 keeps a part of delta for a rule .* but there is no primary"),
        ({"metrics": ("error",)}, ValueError, "metrics need what is proposed beforehand, but there is no primary"),
        (
            {"decision": Abstain(0.05), "primary": 0},
            ValueError,
            r"decision=Abstain\(.* trained on rows that are not here",
        ),
        ({"prior": "cross-validation"}, ValueError, "trained on rows that are not here"),
        ({"prior": lambda params, X, y: None}, ValueError, "prior must not use training rows"),
        ({"distance": "catoni"}, ValueError, "trained on rows that are not here: fix C"),
        ({"voting": "loud"}, ValueError, "The 'voting' parameter of CertifiedClassifier must be"),
        ({"voting": "soft", "primary": 0}, ValueError, "voting='soft' needs .* trained on rows that are not here"),
        ({"groups": [1, 2]}, ValueError, "groups must hold one entry per row"),
    ],
)
def test_bad_input(change, error, message):
    fitted, X, y = trained()
    arguments = {"estimators": fitted, "X_val": X, "y_val": y} | change
    if error is None:
        assert CertifiedClassifier.from_fitted(**arguments).classes_.size == 2
        return
    with pytest.raises(error, match=message):
        CertifiedClassifier.from_fitted(**arguments)


def test_sets_of_fitted_classifiers_know_that_all_rows_validate():
    fitted, X, y = trained()
    found = ClassifierSet.from_fitted(fitted, X, y)
    assert found.prefit
    assert found.splits(0)[0].size == 0
    assert np.array_equal(found.splits(0)[1], np.arange(len(y)))


def test_parameters_that_were_given_are_kept():
    one = LogisticRegression(max_iter=10_000).fit(*rows(load_iris))
    clf = CertifiedClassifier.from_fitted([one], *rows(load_iris))
    assert clf.best_estimator_.get_params() == one.get_params()
    assert clf.best_params_["max_iter"] == 10_000


class Voting(ClassifierMixin, BaseEstimator):
    """The rounded mean of fitted classifiers."""

    def __init__(self, members):
        self.members = members

    def predict(self, X):
        return np.round(np.mean([one.predict(X) for one in self.members], axis=0)).astype(int)


def test_what_is_done_to_a_classifier_later_is_not_done_to_the_certified_one():
    fitted, X, y = trained()
    shared = [Voting(fitted[:2]), Voting(fitted[1:])]
    clf = CertifiedClassifier.from_fitted(shared, X, y, primary=0, voting="best", random_state=0)
    said = clf.predict(X)
    for one in fitted:
        one.fit(X, 1 - y)
    assert np.array_equal(clf.predict(X), said)
    # A part of two classifiers stays one.
    assert clf.classifiers_[0].members[1] is clf.classifiers_[1].members[0]


def test_a_classifier_that_cannot_be_copied_is_named():
    fitted, X, y = trained()
    fitted[1].lock = threading.Lock()
    with pytest.warns(UserWarning, match=r"estimators\[1\] cannot be copied \(TypeError: .* do not train it further"):
        clf = CertifiedClassifier.from_fitted(fitted, X, y, random_state=0)
    assert clf.classifiers_[1] is fitted[1]
    assert clf.classifiers_[0] is not fitted[0]


class Lazy(ClassifierMixin, BaseEstimator):
    """Its copies, as those of a model on another device, have to be loaded before they answer."""

    def __init__(self, inner=None):
        self.inner = inner

    def __getstate__(self):
        return {}

    def predict(self, X):
        return self.inner.predict(X)


class Itself(Lazy):
    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("kind", [Lazy, Itself])
def test_a_classifier_whose_copy_is_none_is_named_and_used_itself(kind):
    fitted, X, y = trained()
    with pytest.warns(UserWarning, match=r"estimators\[1\] cannot be copied"):
        clf = CertifiedClassifier.from_fitted([fitted[0], kind(fitted[1])], X, y, random_state=0)
    assert clf.classifiers_.errors[1] == (fitted[1].predict(X) != y).sum()


# -- one finished model ------------------------------------------------------------------------------------------------


class Column:
    """Says what stands in the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def one_model(errors, rows, **choices):
    said, labels = np.zeros((rows, 1)), np.zeros(rows, dtype=int)
    labels[: rows // 2] = said[: rows // 2] = 0
    labels[rows // 2 :] = said[rows // 2 :, 0] = 1
    said[:errors, 0] = 1 - labels[:errors]
    return CertifiedClassifier.from_fitted(Column(), said, labels, **choices)


def test_one_model_and_a_test_set():
    clf = one_model(5, 100)
    assert clf.certificate_.sentence == (
        "With probability at least 95 %, the classifier errs on at most 10.3 % of new examples."
    )
    assert clf.certificate_.assumptions[0].startswith("These 100 rows trained, tuned and chose nothing")
    assert clf.hedge_ == 0.0
    assert {one.bound for one in clf.certificates_.values()} == {clf.certificate_.bound}
    # In a list it is the same.
    assert CertifiedClassifier.from_fitted([Column()], np.eye(100)[:, :1], np.arange(100) % 2).hedge_ == 0.0


def test_limits_of_one_model_need_no_proposal():
    clf = one_model(5, 100, metrics=("recall",), pos_label=1)
    assert len(clf.certificate_.metrics) == 1
