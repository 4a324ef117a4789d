"""Bounds of a single classifier, compared with statsmodels and SciPy; models of this library inside others."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, certify_predictions


def drawn(number):
    """Random numbers of rows, errors and levels, also without errors and without correct rows."""
    rng = np.random.default_rng(32)
    rows = np.exp(rng.uniform(0.0, np.log(5000.0), number)).astype(int)
    errors = np.minimum((rows + 1) * rng.random(number) ** 3, rows).astype(int)
    errors[:20], errors[20:40] = 0, rows[20:40]
    return zip(rows.tolist(), errors.tolist(), rng.choice([0.01, 0.05, 0.2], number).tolist(), strict=True)


def bound(rows, errors, delta):
    return certify_predictions(np.zeros(rows, dtype=int), np.arange(rows) < errors, delta=delta).bound


def compared(upper, number):
    larger = 0
    for rows, errors, delta in drawn(number):
        ours, other = bound(rows, errors, delta), upper(rows, errors, delta)
        assert ours == pytest.approx(other, abs=1e-9)
        larger += ours >= other
    return larger


def test_bounds_are_those_of_statsmodels():
    intervals = pytest.importorskip("statsmodels.stats.proportion")

    def upper(rows, errors, delta):
        return intervals.proportion_confint(errors, rows, alpha=2 * delta, method="beta")[1]

    # Our bounds are rounded up; theirs may be off by some units in the last place.
    assert compared(upper, 1000) >= 900


def test_bounds_are_quantiles_of_the_beta_distribution():
    assert compared(lambda n, k, delta: 1.0 if k == n else beta.ppf(1 - delta, k + 1, n - k), 300) >= 270


def wrapped(kind, inner, X, y):
    """A model of this library inside one of scikit-learn, fitted on the same rows."""
    model = {
        "search of pipelines": lambda: GridSearchCV(make_pipeline(StandardScaler(), inner), {}, cv=2),
        "pipeline in a pipeline": lambda: make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), inner)),
        "vote": lambda: VotingClassifier([("ours", inner), ("other", GaussianNB())]),
        "stack": lambda: StackingClassifier([("ours", inner)], GaussianNB(), cv=2),
        "calibrated afterwards": lambda: CalibratedClassifierCV(FrozenEstimator(clone(inner).fit(X, y))),
        "bagging": lambda: BaggingClassifier(inner, n_estimators=2, bootstrap=False),
        "one-vs-rest": lambda: OneVsRestClassifier(inner),
        "dictionary": lambda: Holder({"a": [clone(inner).fit(X, y)]}),
        "cycle": lambda: Holder(clone(inner).fit(X, y)),
    }[kind]()
    return model.fit(X, y)


class Holder(ClassifierMixin, BaseEstimator):
    """Holds a fitted model, and itself."""

    def __init__(self, parts):
        self.parts = parts

    def fit(self, X, y):
        self.classes_, self.itself_ = np.unique(y), [self]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


WRAPPED = ["search of pipelines", "pipeline in a pipeline", "vote", "stack", "calibrated afterwards", "bagging"]
WRAPPED += ["one-vs-rest", "dictionary", "cycle"]


@pytest.mark.parametrize("kind", WRAPPED)
def test_training_rows_of_an_inner_model_are_detected(kind):
    # Random labels: a tree is nearly always right on its training rows.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    fitted = wrapped(kind, CertifiedClassifier(DecisionTreeClassifier(random_state=0), random_state=0), X.copy(), y)
    with pytest.raises(ValueError, match=r"^X_val must contain rows that estimators\[0\] was not fitted with, but"):
        CertifiedClassifier.from_fitted(fitted, X, y)
    assert CertifiedClassifier.from_fitted(fitted, X + 9.0, y).certificate_.m == 120


def test_inner_models_with_another_input_are_skipped():
    # The final pipeline is fitted on predictions: its scaler expects one column, not three.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    last = make_pipeline(StandardScaler(), CertifiedClassifier("logistic", random_state=0))
    stack = StackingClassifier([("other", GaussianNB())], last, cv=2).fit(X, y)
    assert CertifiedClassifier.from_fitted(stack, X + 9.0, y).certificate_.m == 120
