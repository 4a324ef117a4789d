"""The limit of one classifier against statsmodels' exact interval, and SciPy's quantiles behind it."""

import numpy as np
import pytest
from scipy.stats import beta

from pacbayes import certify_predictions


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
        ours, theirs = limit(rows, errors, delta), upper(rows, errors, delta)
        assert ours == pytest.approx(theirs, abs=1e-9)
        larger += ours >= theirs
    return larger


def test_a_thousand_limits_are_those_of_statsmodels():
    intervals = pytest.importorskip("statsmodels.stats.proportion")

    def upper(rows, errors, delta):
        return intervals.proportion_confint(errors, rows, alpha=2 * delta, method="beta")[1]

    # Ours are rounded up; theirs may be off by some units in the last place, either way.
    assert compared(upper, 1000) >= 900


def test_and_quantiles_of_the_beta_distribution():
    assert compared(lambda n, k, delta: 1.0 if k == n else beta.ppf(1 - delta, k + 1, n - k), 300) >= 270


def test_digits_are_not_lost_between_numbers_with_and_without_a_sign():
    y_true, y_pred = np.array([2**53 + 1] * 50 + [3] * 50), np.array([2**53] * 50 + [3] * 50, dtype=np.uint64)
    with pytest.raises(TypeError, match="y_pred must be of the type of y_true"):
        certify_predictions(y_true, y_pred)


def test_a_model_is_not_certified_by_its_own_rows():
    from pacbayes import CertifiedClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    fitted = CertifiedClassifier("logistic", random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"estimators\[0\] was not fitted with, but 200 of 200 rows equal a row behind"
    ):
        CertifiedClassifier.from_fitted(fitted, X, y)
    assert CertifiedClassifier.from_fitted(fitted, X + 9.0, y).certificate_.m == 200


def test_other_shares_count_every_error_once():
    y_true = np.repeat([0, 1], [40, 60])
    y_pred = np.where(np.arange(100) % 6 == 0, 1 - y_true, y_true)
    for limits, label in ((("f1", "balanced_error"), None), (("recall", "error"), 1), (("recall",), None)):
        found = certify_predictions(y_true, y_pred, limits=limits, pos_label=label)
        whole = found.with_class_shares({0: 0.5, 1: 0.5})
        assert (whole.count, whole.rows) == (17, 100)
