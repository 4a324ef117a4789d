"""`CertifiedClassifier`: candidates, votings, probabilities, and independence of the batch."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from tests.estimators.models import certified, three_classes, two_classes, why_not

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, SVMs, load, load_dataset, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.data.schema import UnseenCategoryWarning
from pacbayes.ensemble.portfolio import PORTFOLIO

VOTINGS = ("soft", "stochastic", "majority", "best")
SVMS = SVMs([0.1, 1.0], gamma=[0.05, 0.5])
DEPTHS = {"max_depth": [1, 3]}


def assorted():
    """Candidates with scores of every kind."""
    return [
        ("svms", clone(SVMS)),
        ("trees", Grid(DecisionTreeClassifier(), DEPTHS)),
        ("linear", make_pipeline(StandardScaler(), LinearSVC())),
        ("nearest", NearestMean()),
    ]


class NearestMean(ClassifierMixin, BaseEstimator):
    """NearestMean-mean classifier without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((np.asarray(X)[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters_of_named_candidates():
    clf = certified(assorted())
    params = clf.get_params()
    assert params["svms__lambdas"] == [0.1, 1.0]
    assert params["trees__estimator__max_depth"] is None
    assert params["trees__param_grid"] == DEPTHS
    clf.set_params(svms__gamma=0.5, trees__estimator__min_samples_leaf=4, delta=0.1)
    cloned = clone(clf)
    for model in (clf, cloned):
        assert dict(model.candidates)["svms"].gamma == 0.5
        assert dict(model.candidates)["trees"].estimator.min_samples_leaf == 4
        assert model.delta == 0.1
    assert dict(cloned.candidates)["svms"] is not dict(clf.candidates)["svms"]
    clf.set_params(trees=DecisionTreeClassifier(max_depth=2), linear="logistic")
    assert [name for name, _ in clf.candidates] == ["svms", "trees", "linear", "nearest"]
    assert clf.get_params()["trees__max_depth"] == 2
    assert clf.get_params()["linear"] == "logistic"
    assert dict(cloned.candidates)["trees"].param_grid == DEPTHS
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        clf.set_params(trees__depth=1)


# -- candidates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidates", "number"),
    [
        ("svm", 130),
        ("forest", 2),
        ("boosting", 1),
        ("logistic", 4),
        ("neighbours", 4),
        (GaussianNB(), 1),
        (make_pipeline(StandardScaler(), LinearSVC()), 1),
        (SVMS, 4),
        (SVMs([1.0], kernel="linear"), 1),
        (Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}), 3),
        (Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, n_iter=2), 2),
        (Grid(None, [GaussianNB(), DecisionTreeClassifier()]), 2),
        (["logistic"], 4),
        ([SVMS, "logistic", GaussianNB(), Grid(DecisionTreeClassifier(), DEPTHS)], 11),
        ([SVMS, SVMs([1.0], kernel="linear")], 5),
        ([("wide", SVMs([1.0], gamma=0.01)), ("narrow", SVMs([1.0], gamma=1.0)), ("naive", GaussianNB())], 3),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_forms_of_candidates(candidates, number):
    X, y = three_classes()
    clf = certified(candidates).fit(X, y)
    assert (len(clf.classifiers_), clf.voting_) == (number, "soft")
    assert set(clf.certificates_) == set(VOTINGS)
    assert clf.score(X, y) > 0.85
    for voting in VOTINGS:
        clf.set_params(voting=voting)
        assert set(clf.predict(X)) <= set(clf.classes_)
        assert clf.weights_.sum() == 1.0
        assert clf.certificate_ == clf.certificates_[voting]


def test_portfolio():
    X, y = two_classes()
    clf = CertifiedClassifier(random_state=0).fit(X, y)
    names = [params["candidate"] for params in clf.classifiers_.params]
    assert sorted(set(names)) == ["boosting", "forest", "logistic", "neighbours", "svm"]
    assert len(names) == 130 + 2 + 2 + 4 + 4
    # The soft vote uses at most one classifier of each family.
    used = [names[i] for i in np.flatnonzero(clf.weights_)]
    assert len(set(used)) == len(used) > 1
    assert clf.certificate_.bound < 0.06
    assert clf.cv_results_["mean_log_loss"].shape == (142,)


def test_families_that_auto_leaves_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 2
    with pytest.warns(UserWarning, match=r'leaves out forest, because the rows are sparse.* candidates="forest"'):
        CertifiedClassifier(random_state=0).fit(csr_array(X), y)
    # Named families are never left out; warnings are errors here.
    named = CertifiedClassifier(["logistic", "neighbours"], random_state=0).fit(X, y)
    assert {params["candidate"] for params in named.classifiers_.params} == {"logistic", "neighbours"}


def test_wide_data_have_all_families():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 700)), np.arange(60) % 2
    clf = CertifiedClassifier(random_state=0).fit(X, y)
    assert {params["candidate"] for params in clf.classifiers_.params} == set(PORTFOLIO)
    for params in clf.classifiers_.params:
        if params["candidate"] in ("boosting", "neighbours"):
            # Of the columns with the largest F statistics on the training rows.
            assert params["estimator"].named_steps["select"].k == 500


def test_names_of_candidates():
    X, y = three_classes()
    clf = certified(assorted()).fit(X, y)
    names = [params["candidate"] for params in clf.classifiers_.params]
    assert names == ["svms"] * 4 + ["trees"] * 2 + ["linear", "nearest"]
    assert clf.cv_results_["param_candidate"].tolist() == names
    unnamed = certified([SVMS, SVMs([1.0], kernel="linear"), GaussianNB()]).fit(X, y)
    assert sorted({params["candidate"] for params in unnamed.classifiers_.params}) == ["gaussiannb", "svms-1", "svms-2"]


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ("nothing", ValueError, "candidates must name one of auto, svm, forest, .*, got 'nothing'"),
        (["svm", "auto"], ValueError, "'auto' cannot be an item of a list: name its families, svm, forest"),
        ([], ValueError, "candidates must hold at least one family, got none"),
        (3, TypeError, r"candidates must be one of the names auto, .* Grid\(estimator, param_grid\).*, got 3"),
        ((DecisionTreeClassifier(), DEPTHS), TypeError, r"got the tuple \(DecisionTreeClassifier\(\), "),
        ([("one",)], TypeError, r"families, or pairs of a name and a family, got \('one',\)"),
        (LinearRegression(), ValueError, r"candidates must be a classifier, got LinearRegression\(\)"),
        (StandardScaler(), TypeError, r"candidates must be an unfitted .* got StandardScaler\(\)"),
        (SVC(kernel="precomputed"), ValueError, "candidates must take rows, but SVC.* takes precomputed distances"),
        ([("cv", SVMS)], ValueError, r"names conflict with constructor arguments: \['cv'\]"),
        ([("one", SVMS), ("one", GaussianNB())], ValueError, "not unique"),
        (SVMs(gamma="wide"), ValueError, "unknown gamma 'wide'; known are widths, three widths, sigest, scale, auto"),
        (SVMs(kernel="poly"), ValueError, "unknown kernel 'poly'"),
        (Grid(DecisionTreeClassifier(), {"depth": [1]}), ValueError, "param_grid: .* does not fit the estimator"),
        (Grid(DecisionTreeClassifier(), DEPTHS, error_score="ignore"), ValueError, "unknown error_score 'ignore'"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_invalid_candidates(candidates, error, message):
    with pytest.raises(error, match=message):
        certified(candidates).fit(*three_classes())


def test_input_tags():
    def sparse(candidates):
        return get_tags(CertifiedClassifier(candidates)).input_tags.sparse

    def allow_nan(candidates):
        return get_tags(CertifiedClassifier(candidates)).input_tags.allow_nan

    assert list(map(sparse, ("auto", "svm", "forest", "logistic", SVMS))) == [True, True, True, True, False]
    assert list(map(allow_nan, ("auto", "boosting", HistGradientBoostingClassifier()))) == [False, True, True]
    assert sparse([LogisticRegression(), "forest"])
    assert not sparse(["svm", "boosting"])
    assert not sparse([LogisticRegression(), GaussianNB()])
    assert not sparse([LogisticRegression(), SVMS])
    assert sparse(Grid(None, [LogisticRegression(), LinearSVC()]))
    assert not allow_nan("nothing")
    assert get_tags(CertifiedClassifier("svm", preprocessor=HistGradientBoostingClassifier())).input_tags.allow_nan


# -- ways of predicting ------------------------------------------------------------------------------------------------


def prefit(**options):
    X, y = two_classes()
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:300], y[:300]) for depth in (1, 3)]
    return CertifiedClassifier.from_fitted(trees, X[300:], y[300:], random_state=0, **options)


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        (lambda X, y: certified(SVMS).fit(X, y), "soft"),
        (lambda X, y: certified(SVMS, hedge=0).fit(X, y), "soft"),
        (lambda X, y: certified(GaussianNB(), hedge=0.999).fit(X, y), "soft"),
        (lambda X, y: certified(NearestMean()).fit(X, y), "soft"),
        (lambda X, y: certified(SVMS, hedge=1).fit(X, y), "stochastic"),
        (lambda X, y: certified(GaussianNB(), cv=None).fit(X, y), "stochastic"),
        (lambda X, y: StochasticSVC([1.0], voting="auto", split="independent").fit(X, y), "stochastic"),
        (lambda X, y: prefit(), "best"),
        (lambda X, y: prefit(primary=1), "best"),
        (lambda X, y: StochasticSVC([0.1, 1.0], voting="auto", random_state=0).fit(X, y), "stochastic"),
        (lambda X, y: StochasticSVC([0.1, 1.0], voting="auto", hedge="auto", random_state=0).fit(X, y), "soft"),
    ],
)
def test_default_voting(fit, expected):
    X, y = two_classes()
    clf = fit(X, y)
    assert clf.voting == "auto"
    assert clf.voting_ == expected
    assert ("soft" in clf.certificates_) == (expected == "soft")
    assert clf.certificate_ == clf.certificates_[expected]
    for voting in clf.certificates_:
        clf.set_params(voting=voting)
        assert clf.voting_ == voting
        assert clf.predict(X).shape == y.shape
    if expected == "soft":
        return
    clf.set_params(voting="soft")
    assert not hasattr(clf, "voting_")
    assert not hasattr(clf, "certificate_")
    assert not hasattr(clf, "predict_proba")
    for method in (clf.predict, clf.accepts):
        with pytest.raises(ValueError, match="one of stochastic, majority, best for this fit, got 'soft'"):
            method(X)


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_soft_vote_has_a_clopper_pearson_bound(data):
    X, y = data()
    clf = certified(assorted()).fit(X, y)
    assert clf.certificate_.rule == "primary"
    rows = clf.classifiers_.splits(0)[1]
    errors = np.count_nonzero(clf.predict(X[rows]) != y[rows])
    assert clf.hedge_ == 0.02
    assert clf.certificate_.level == pytest.approx(0.05, rel=1e-12)
    assert clf.certificate_.bound == pytest.approx(float(binomial_upper(errors, rows.size, 0.05)), rel=1e-9)
    assert clf.certificate_.sentence.startswith(
        "With 95 % confidence, the error rate of this classifier on new examples is at most "
    )
    assert clf.certificate_.alternatives == ()


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_probabilities_of_votes(data):
    X, y = data()
    clf = certified(assorted()).fit(X, y)
    for voting in ("soft", "majority"):
        probabilities = clf.set_params(voting=voting).predict_proba(X)
        assert probabilities.shape == (len(y), clf.classes_.size)
        assert (probabilities >= 0.0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
        assert np.array_equal(clf.classes_[probabilities.argmax(axis=1)], clf.predict(X))
    assert np.array_equal(clf.vote_share(X), probabilities)
    remedy = 'use vote_share(X) or set_params(voting="majority")'
    assert remedy in why_not(clf.set_params(voting="stochastic"), "predict_proba")


def test_probabilities_of_a_single_classifier():
    X, y = two_classes()
    clf = certified(Grid(DecisionTreeClassifier(), DEPTHS), voting="best").fit(X, y)
    assert np.array_equal(clf.predict_proba(X), clf.best_estimator_.predict_proba(X))
    without = {"LinearSVC": LinearSVC(max_iter=100_000), "SVMClassifier": SVMS, "NearestMean": NearestMean()}
    for name, candidates in without.items():
        clf = certified(candidates, voting="best").fit(StandardScaler().fit_transform(X), y)
        assert f"{name}, the classifier that predicts, has no predict_proba" in why_not(clf, "predict_proba")


def test_invalid_voting_raises_in_predict():
    X, y = three_classes()
    clf = certified(GaussianNB()).fit(X, y).set_params(voting="loud")
    assert not hasattr(clf, "predict_proba")
    assert not hasattr(clf, "certificate_")
    assert "GaussianNB" in repr(clf)
    with pytest.raises(ValueError, match="unknown voting 'loud'"):
        clf.predict(X)


def test_plan_does_not_depend_on_validation_rows():
    X, y = two_classes()
    clf = certified(assorted(), decision=Abstain(0.05)).fit(X, y)
    rows = clf.classifiers_.splits(0)[1]
    other_X, other_y = X.copy(), y.copy()
    other_X[rows] = np.random.default_rng(0).permutation(X[rows])
    other_y[rows] = 1 - y[rows]
    other = certified(assorted(), decision=Abstain(0.05)).fit(other_X, other_y)
    for name, weights in clf.primary_.items():
        assert np.array_equal(other.primary_[name], weights)
    plan, other_plan = clf._fitted.plan, other._fitted.plan
    assert np.array_equal(plan.thresholds.values, other_plan.thresholds.values)
    for rule, other_rule in zip(plan.fixed_rules, other_plan.fixed_rules, strict=True):
        assert (rule.voting, rule.name) == (other_rule.voting, other_rule.name)
        if rule.voting == "soft":
            assert rule.soft.maps.keys() == other_rule.soft.maps.keys()
            for i, calibration in rule.soft.maps.items():
                scores = np.array([[0.3]]) if calibration.kind != "probabilities" else np.array([[0.3, 0.7]])
                assert np.array_equal(calibration(scores), other_rule.soft.maps[i](scores))


# -- where scikit-learn is used ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_pickle_dump_and_save(data, tmp_path):
    X, y = data()
    clf = certified(assorted()[:3]).fit(X, y)
    joblib.dump(clf, tmp_path / "dump")
    save(clf, tmp_path / "model")
    for loaded in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "dump"), load(tmp_path / "model")):
        assert loaded.certificates_ == clf.certificates_
        assert loaded.voting_ == "soft"
        for voting in VOTINGS:
            assert np.array_equal(loaded.set_params(voting=voting).predict(X), clf.set_params(voting=voting).predict(X))
        assert np.array_equal(
            loaded.set_params(voting="soft").predict_proba(X), clf.set_params(voting="soft").predict_proba(X)
        )
        assert [name for name, _ in loaded.candidates] == ["svms", "trees", "linear"]
        assert clone(loaded).fit(X, y).certificates_ == clf.certificates_


# -- few rows, rare classes, text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("candidates", "classes"), [("auto", 2), (SVMS, 3)])
def test_ten_training_rows(candidates, classes):
    rng = np.random.default_rng(classes)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % classes
    clf = CertifiedClassifier(candidates, random_state=0).fit(X, y)
    assert clf.classifiers_.splits.n_train == 10
    assert 0.0 < clf.certificate_.bound <= 1.0
    assert set(clf.predict(X)) <= set(y)
    probabilities = clf.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)


def test_two_training_rows_of_two_classes():
    """Nothing can be trained without a fold, and the soft vote is uninformative."""
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    for candidates in (SVMS, GaussianNB(), KNeighborsClassifier(1)):
        clf = certified(candidates, random_state=2).fit(X, y)
        assert clf.classifiers_.splits.n_train == 2
        assert clf.predict_proba(X).tolist() == [[0.5, 0.5]] * 4


@pytest.mark.parametrize(
    ("candidates", "seed", "in_training"), [(assorted(), 0, True), ("auto", 1, False)], ids=["assorted", "auto"]
)
def test_class_with_a_single_row(candidates, seed, in_training):
    X, y = load_iris(return_X_y=True)
    y = np.where(y == 0, "a", "b")
    y[100] = "c"
    clf = CertifiedClassifier(candidates, random_state=seed).fit(X, y)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    probabilities = clf.set_params(voting="soft").predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    train, validation = clf.classifiers_.splits(0)
    assert (100 in train) == in_training
    if in_training:
        assert (probabilities[:, 2] > 0.0).any()
    else:
        # Classes without training rows are never predicted, and their rows are errors.
        assert (probabilities[:, 2] == 0.0).all()
        assert clf.classifiers_.error_rows[:, validation.tolist().index(100)].all()
    assert "c" not in clf.predict(X[y != "c"])


def mixed_frame(n=240):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "sure": rng.random(n) < 0.5,
        }
    )
    y = np.where((frame["colour"] == "red") ^ (rng.random(n) < 0.05), "yes", "no")
    frame.loc[::17, "size"] = np.nan
    frame.loc[5::29, "colour"] = None
    return frame, y


@pytest.mark.parametrize("candidates", [["svm", "boosting"], pytest.param("auto", marks=pytest.mark.slow)], ids=repr)
@pytest.mark.filterwarnings("ignore:to load this model")  # k-d trees of nearest neighbours
def test_strings_and_missing_values_are_preprocessed_for_named_families(candidates, tmp_path):
    frame, y = mixed_frame()
    clf = CertifiedClassifier(candidates, random_state=0).fit(frame, y)
    assert clf.certificate_.bound < 0.25
    probabilities = clf.predict_proba(frame)
    assert np.array_equal(clf.classes_[probabilities.argmax(axis=1)], clf.predict(frame))
    # A single row, an unknown category, and another order.
    assert np.array_equal(clf.predict_proba(frame.iloc[[7]]), probabilities[[7]])
    with pytest.warns(UnseenCategoryWarning, match="1 of 1 examples hold a category .*'violet'"):
        assert clf.predict(frame.iloc[[7]].assign(colour="violet")).shape == (1,)
    assert np.array_equal(clf.predict_proba(frame.iloc[::-1])[::-1], probabilities)
    save(clf, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(frame), probabilities)


def test_strings_are_not_preprocessed_for_other_estimators():
    frame, y = mixed_frame()
    with pytest.raises(ValueError, match=r"colour.*(encode|Encoder|pipeline)"):
        certified(GaussianNB()).fit(frame, y)
    with pytest.raises(ValueError, match=r"colour.*preprocessor"):
        certified("svm", preprocessor=None).fit(frame, y)


# -- independence of the batch -----------------------------------------------------------------------------------------


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


SETS = {
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": digits,
    "moons": lambda: make_moons(200, noise=0.3, random_state=0),
    "five": lambda: make_classification(240, n_classes=5, n_informative=6, random_state=0),
}


@pytest.mark.parametrize("name", ["cancer", "iris", "five"])
def test_predictions_do_not_depend_on_the_batch(name, tmp_path):
    """Unlike the last bits of other libraries' probabilities."""
    X, y = SETS[name]()
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    clf = certified([clone(SVMS), scaled, RandomForestClassifier(10), KNeighborsClassifier(5)]).fit(X, y)
    check_batches(clf, X, tmp_path)


def subsample(X, y):
    """At most 600 rows."""
    rows = np.random.default_rng(0).permutation(len(y))[:600]
    return np.asarray(X, dtype=float)[rows], np.asarray(y)[rows]


def bundled(name):
    data = load_dataset(name)
    return subsample(data.data, data.target)


BUNDLED = ("banknote", "bupa", "haberman", "ionosphere", "mammographic", "mushroom", "spambase", "waveform", "wdbc")
ALL = SETS | {name: lambda name=name: bundled(name) for name in BUNDLED}
ALL |= {"seven": lambda: make_classification(500, n_classes=7, n_informative=8, random_state=2)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_predictions_of_the_portfolio_do_not_depend_on_the_batch(name, tmp_path):
    X, y = ALL[name]()
    check_batches(CertifiedClassifier(random_state=0).fit(X, y), X, tmp_path)


def check_batches(clf, X, tmp_path):
    rng = np.random.default_rng(0)
    new = X + 1e-3 * rng.normal(size=X.shape)
    order = rng.permutation(len(new))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "to load this model")  # k-d trees of nearest neighbours
        save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model", trusted=["sklearn."])
    for voting in VOTINGS:
        clf.set_params(voting=voting)
        loaded.set_params(voting=voting)
        methods = ["predict", "predict_proba"] if voting == "soft" else ["predict"]
        for method in methods:
            predict = getattr(clf, method)
            expected = predict(new)
            for size, n in ((1, 25), (7, 140)):
                batches = [predict(new[i : i + size]) for i in range(0, n, size)]
                assert np.array_equal(np.concatenate(batches), expected[:n])
            assert np.array_equal(predict(new[order]), expected[order])
            assert np.array_equal(getattr(loaded, method)(new[order]), expected[order])
    # Validation predictions are those of `predict`.
    rows, predictions = clf.classifiers_.splits(0)[1], clf._fitted.predictions
    for rule, codes in zip(clf._fitted.plan.fixed_rules, predictions.rule_predictions, strict=True):
        if rule.name == "primary" and clf.certificates_[rule.voting].rule == "primary":
            assert np.array_equal(clf.set_params(voting=rule.voting).predict(X[rows]), predictions.labels[codes])


class TruncatedTree(DecisionTreeClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:1]


def test_probabilities_of_wrong_shape_are_rejected():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"predict_proba of TruncatedTree must give a number for each of \d+ rows"):
        certified(TruncatedTree()).fit(X, y)
