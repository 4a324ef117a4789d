"""Numbers of threads of fits, folds and predictions, and classifiers that fail in a fold."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  (loads OpenMP)
from sklearn.exceptions import FitFailedWarning
from tests.estimators.models import by_draws
from threadpoolctl import threadpool_info, threadpool_limits

from pacbayes import Grid

FITS, PREDICTIONS = [], []
ONE_THREAD = {("blas", 1), ("openmp", 1)}


def thread_limits():
    # Libraries built without threads, such as Ipopt's, always have one.
    pools = [pool for pool in threadpool_info() if pool.get("threading_layer") != "disabled"]
    return {(pool["user_api"], pool["num_threads"]) for pool in pools}


class RecordingClassifier(ClassifierMixin, BaseEstimator):
    """Constant classifier that records its numbers of rows and threads."""

    def __init__(self, constant=0):
        self.constant = constant

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        FITS.append((len(X), thread_limits()))
        return self

    def predict(self, X):
        PREDICTIONS.append(thread_limits())
        return np.full(len(X), self.constant)


class NeedsRows(RecordingClassifier):
    """Fail to fit few rows."""

    def __init__(self, rows=0, error=ValueError):
        self.rows, self.error = rows, error

    def fit(self, X, y):
        if len(X) < self.rows:
            raise self.error(f"too few rows: {len(X)}")
        self.classes_, self.constant = np.unique(y), 0
        return self


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_and_folds_use_one_thread(n_jobs):
    FITS.clear()
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    with threadpool_limits(2), parallel_config(backend="threading"):
        by_draws(Grid(RecordingClassifier(), {"constant": [0, 1]}), n_jobs=n_jobs).fit(X, y)
    assert sorted(n_rows for n_rows, _ in FITS) == [20] * 6 + [30] * 2
    assert all(limits == ONE_THREAD for _, limits in FITS)


def test_holdout_does_not_choose_settings_that_fail_in_a_fold():
    X, y = np.arange(60.0)[:, None], (np.arange(60) >= 30).astype(int)
    with pytest.warns(FitFailedWarning, match=r"1 of 2 classifiers .* ValueError: too few rows: 20") as caught:
        model = by_draws(Grid(NeedsRows(), {"rows": [25, 5]})).fit(X, y)
    assert len(caught) == 1
    assert "rows = 5" in model.certificate_.baselines["holdout"].note


def test_memory_errors_in_a_fold_are_raised():
    X, y = np.arange(60.0)[:, None], (np.arange(60) >= 30).astype(int)
    with pytest.raises(MemoryError, match="too few rows"):
        by_draws(Grid(NeedsRows(error=MemoryError), {"rows": [25, 5]})).fit(X, y)


def test_predictions_use_one_thread():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    model = by_draws(Grid(RecordingClassifier(), {"constant": [0, 1]})).fit(X, y)
    PREDICTIONS.clear()
    with threadpool_limits(2):
        model.classifiers_.predict(X)
    assert PREDICTIONS == [ONE_THREAD] * 2
