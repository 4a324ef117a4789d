"""Certificates of tables with dates, many categories and text: false as rarely as promised."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from pacbayes import CertifiedClassifier
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.schema import UnseenCategoryWarning

DELTA, NEW = 0.1, 4000


def table(rng, rows):
    """Rows whose class depends on a date, a number and a name; many names occur once, and new ones keep coming."""
    names = rng.zipf(1.5, rows) % 5000
    day = rng.integers(0, 700, rows)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "name": [f"n{name}" for name in names],
            "day": pd.Timestamp("2022-01-01") + pd.to_timedelta(day, unit="D"),
            "note": [f"{' '.join(rng.choice(['late', 'box', 'fine', 'big'], 4))} {i}" for i in range(rows)],
        }
    )
    positive = (frame["x"] + (names % 3 == 0) + (day % 7 > 4) + rng.normal(size=rows)) > 1.0
    return frame, np.where(positive, "yes", "no")


def false_certificates(runs, leak=False):
    """Number of runs in which the error rate on new rows is above the bound."""
    false = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = table(rng, 240)
        new, y_new = table(rng, NEW)
        if leak:
            # The fault that this test must find: an encoder that learns from validation rows.
            encoder = TableEncoder().fit(X, y)
            X, new = (pd.DataFrame(encoder.transform(rows)).rename(columns=str) for rows in (X, new))
        model = CertifiedClassifier("logistic", cv=3, delta=DELTA, random_state=seed).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)
            error = np.mean(model.predict(new) != y_new)
        # Three standard deviations of the estimate of the error rate.
        false += error - 3.0 * np.sqrt(error / NEW) > model.certificate_.bound
    return false


@pytest.mark.parametrize("runs", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_certificates_of_encoded_tables(runs):
    assert false_certificates(runs) <= binom.ppf(1.0 - 1e-4, runs, DELTA)


def test_an_encoder_that_sees_validation_rows_is_found_out():
    assert false_certificates(12, leak=True) > binom.ppf(1.0 - 1e-4, 12, DELTA)
