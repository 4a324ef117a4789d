"""Certificates of tables with dates, many categories and text: false as rarely as promised."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from pacbayes import CertifiedClassifier
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.schema import UnseenCategoryWarning

DELTA, ROWS, NEW = 0.1, 240, 1000


def table(rng, rows):
    """Rows whose class depends on a date, a number and a name; most names occur a few times."""
    names = rng.integers(0, ROWS // 2, rows)
    day = rng.integers(0, 700, rows)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "name": [f"n{name}" for name in names],
            "day": pd.Timestamp("2022-01-01") + pd.to_timedelta(day, unit="D"),
            "note": [f"{' '.join(rng.choice(['late', 'box', 'fine', 'big'], 4))} {i}" for i in range(rows)],
        }
    )
    positive = (frame["x"] + (names % 3 == 0) + (day % 7 > 4) + 3.0 * rng.normal(size=rows)) > 0.6
    return frame, np.where(positive, "yes", "no")


def false_certificates(runs, leak=False):
    """Number of runs in which the error rate on new rows is above the bound."""
    false = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = table(rng, ROWS)
        new, y_new = table(rng, NEW)
        if leak:
            # The fault that this test must find: an encoder that learns from validation rows.
            encoder = TableEncoder().fit(X, y)
            X, new = (pd.DataFrame(encoder.transform(rows)).rename(columns=str) for rows in (X, new))
        model = CertifiedClassifier("logistic", cv=3, delta=DELTA, n_jobs=1, random_state=seed).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)
            error = np.mean(model.predict(new) != y_new)
        # Three standard deviations of the estimate of the error rate.
        false += error - 3.0 * np.sqrt(error / NEW) > model.certificate_.bound
    return false


@pytest.mark.parametrize("runs", [8, pytest.param(150, marks=pytest.mark.slow)])
def test_certificates_of_encoded_tables(runs):
    assert false_certificates(runs) <= binom.ppf(1.0 - 1e-4, runs, DELTA)


def test_an_encoder_that_sees_validation_rows_is_found_out():
    assert false_certificates(8, leak=True) > binom.ppf(1.0 - 1e-4, 8, DELTA)
