"""The limit of one classifier against statsmodels' exact interval, and SciPy's quantiles behind it."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, certify_predictions


def drawn(number):
    """Return random numbers of rows, errors among them, and levels; none and all errors too."""
    rng = np.random.default_rng(32)
    rows = np.exp(rng.uniform(0.0, np.log(5000.0), number)).astype(int)
    errors = np.minimum((rows + 1) * rng.random(number) ** 3, rows).astype(int)
    errors[:20], errors[20:40] = 0, rows[20:40]
    return zip(rows.tolist(), errors.tolist(), rng.choice([0.01, 0.05, 0.2], number).tolist(), strict=True)


def limit(rows, errors, delta):
    return certify_predictions(np.zeros(rows, dtype=int), np.arange(rows) < errors, delta=delta).bound


def compared(upper, number):
    larger = 0
    for rows, errors, delta in drawn(number):
        ours, other = limit(rows, errors, delta), upper(rows, errors, delta)
        assert ours == pytest.approx(other, abs=1e-9)
        larger += ours >= other
    return larger


def test_a_thousand_limits_are_those_of_statsmodels():
    intervals = pytest.importorskip("statsmodels.stats.proportion")

    def upper(rows, errors, delta):
        return intervals.proportion_confint(errors, rows, alpha=2 * delta, method="beta")[1]

    # Ours are rounded up; other may be off by some units in the last place, either way.
    assert compared(upper, 1000) >= 900


def test_and_quantiles_of_the_beta_distribution():
    assert compared(lambda n, k, delta: 1.0 if k == n else beta.ppf(1 - delta, k + 1, n - k), 300) >= 270


def test_digits_are_not_lost_between_numbers_with_and_without_a_sign():
    y_true, y_pred = np.array([2**53 + 1] * 50 + [3] * 50), np.array([2**53] * 50 + [3] * 50, dtype=np.uint64)
    with pytest.raises(TypeError, match="y_pred must be of the type of y_true"):
        certify_predictions(y_true, y_pred)


def wrapped(kind, inner, X, y):
    """A model of ours inside of one of scikit-learn's, all fitted with the same rows."""
    model = {
        "alone": lambda: inner,
        "pipeline": lambda: make_pipeline(StandardScaler(copy=False), MinMaxScaler(), inner),
        "search": lambda: GridSearchCV(inner, {"delta": [0.05]}, cv=2),
        "search of pipelines": lambda: GridSearchCV(make_pipeline(StandardScaler(), inner), {}, cv=2),
        "pipeline in a pipeline": lambda: make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), inner)),
        "vote": lambda: VotingClassifier([("ours", inner), ("other", GaussianNB())]),
        "stack": lambda: StackingClassifier([("ours", inner)], GaussianNB(), cv=2),
        "calibrated": lambda: CalibratedClassifierCV(inner, cv=2),
        "calibrated afterwards": lambda: CalibratedClassifierCV(FrozenEstimator(clone(inner).fit(X, y))),
        "bagging": lambda: BaggingClassifier(inner, n_estimators=2, bootstrap=False),
        "frozen": lambda: FrozenEstimator(clone(inner).fit(X, y)),
        "threshold": lambda: FixedThresholdClassifier(inner, threshold=0.4),
        "one against the rest": lambda: OneVsRestClassifier(inner),
        "dictionary": lambda: Holder({"a": [clone(inner).fit(X, y)]}),
        "cycle": lambda: Holder(clone(inner).fit(X, y)),
    }[kind]()
    return model.fit(X, y)


class Holder(ClassifierMixin, BaseEstimator):
    """Keeps a fitted model, and itself."""

    def __init__(self, parts):
        self.parts = parts

    def fit(self, X, y):
        self.classes_, self.itself_ = np.unique(y), [self]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


WRAPPED = ["alone", "pipeline", "search", "search of pipelines", "pipeline in a pipeline", "vote", "stack"]
WRAPPED += ["calibrated", "calibrated afterwards", "bagging", "frozen", "threshold", "one against the rest"]
WRAPPED += ["dictionary", "cycle"]


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_model_inside_of_another_is_not_certified_by_its_own_rows(kind):
    # Coin flips: on rows it was fitted with a tree is nearly always right.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    fitted = wrapped(kind, CertifiedClassifier(DecisionTreeClassifier(random_state=0), random_state=0), X.copy(), y)
    with pytest.raises(ValueError, match=r"^X_val must hold rows that estimators\[0\] was not fitted with, but"):
        CertifiedClassifier.from_fitted(fitted, X, y)
    assert CertifiedClassifier.from_fitted(fitted, X + 9.0, y).certificate_.m == 120


def test_rows_that_a_model_inside_cannot_take_are_not_asked_about():
    # The pipeline that stacks is fitted with answers: a scaler of one column is handed three.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    last = make_pipeline(StandardScaler(), CertifiedClassifier("logistic", random_state=0))
    stack = StackingClassifier([("other", GaussianNB())], last, cv=2).fit(X, y)
    assert CertifiedClassifier.from_fitted(stack, X + 9.0, y).certificate_.m == 120


def test_other_shares_count_every_error_once():
    y_true = np.repeat([0, 1], [40, 60])
    y_pred = np.where(np.arange(100) % 6 == 0, 1 - y_true, y_true)
    for limits, label in ((("f1", "balanced_error"), None), (("recall", "error"), 1), (("recall",), None)):
        found = certify_predictions(y_true, y_pred, metrics=limits, pos_label=label)
        whole = found.with_class_shares({0: 0.5, 1: 0.5})
        assert (whole.count, whole.rows) == (17, 100)
