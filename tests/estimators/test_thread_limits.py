"""Cross-validation for the holdout choice trains in the same limits of threads as the grid's own fits."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: F401  (loads OpenMP)
from sklearn.exceptions import FitFailedWarning
from tests.estimators.models import by_draws
from threadpoolctl import threadpool_info, threadpool_limits

from pacbayes import Grid

SEEN = []


class Recorder(ClassifierMixin, BaseEstimator):
    """A constant classifier that notes in how many threads it was fitted, and on how many rows."""

    def __init__(self, constant=0):
        self.constant = constant

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        # Libraries built without threads, such as Ipopt's, have always one.
        limits = {
            (one["user_api"], one["num_threads"])
            for one in threadpool_info()
            if one.get("threading_layer") != "disabled"
        }
        SEEN.append((len(X), limits))
        return self

    def predict(self, X):
        return np.full(len(X), self.constant)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_has_the_thread_limits_of_the_fits(n_jobs):
    SEEN.clear()
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    with threadpool_limits(2), parallel_config(backend="threading"):
        by_draws(Grid(Recorder(), {"constant": [0, 1]}), n_jobs=n_jobs).fit(X, y)
    fits = [limits for rows, limits in SEEN if rows == 30]
    folds = [limits for rows, limits in SEEN if rows == 20]
    assert (len(fits), len(folds)) == (2, 6)
    assert all(limits == {("blas", 1), ("openmp", 1)} for limits in fits + folds)


def test_a_setting_that_cannot_be_trained_on_a_fold_is_not_chosen():
    X, y = np.arange(60.0)[:, None], (np.arange(60) >= 30).astype(int)
    with pytest.warns(FitFailedWarning, match=r"1 of 2 classifiers .* ValueError: too few rows: 20") as caught:
        model = by_draws(Grid(NeedsRows(), {"rows": [25, 5]})).fit(X, y)
    # Once for all folds.
    assert len(caught) == 1
    assert "rows = 5" in model.certificate_.baselines["holdout"].note


def test_no_memory_in_a_fold_is_no_error_of_the_classifier():
    X, y = np.arange(60.0)[:, None], (np.arange(60) >= 30).astype(int)
    with pytest.raises(MemoryError, match="no room"):
        by_draws(Grid(NeedsMemory(), {"rows": [25, 5]})).fit(X, y)


def test_answers_have_the_thread_limits_of_votes():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    model = by_draws(Grid(Answering(), {"constant": [0, 1]})).fit(X, y)
    ASKED.clear()
    with threadpool_limits(2):
        model.classifiers_.predict(X)
    assert [{("blas", 1), ("openmp", 1)}] * 2 == ASKED


ASKED = []


class Answering(Recorder):
    def predict(self, X):
        ASKED.append(
            {
                (one["user_api"], one["num_threads"])
                for one in threadpool_info()
                if one.get("threading_layer") != "disabled"
            }
        )
        return super().predict(X)


class NeedsRows(Recorder):
    def __init__(self, rows=0):
        self.rows = rows

    def fit(self, X, y):
        if len(X) < self.rows:
            raise ValueError(f"too few rows: {len(X)}")
        self.classes_, self.constant = np.unique(y), 0
        return self


class NeedsMemory(NeedsRows):
    def fit(self, X, y):
        if len(X) < self.rows:
            raise MemoryError("no room")
        return super().fit(X, y)
