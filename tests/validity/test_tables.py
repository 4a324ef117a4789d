"""Certificates of tables with dates that drift, names in two spellings, new categories and text hold as promised."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes import CertifiedClassifier
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.schema import UnseenCategoryWarning
from pacbayes.data.spelling import normalize_spellings

DELTA, ROWS, NEW, RUNS = 0.1, 320, 2000, 6


def table(rng, rows, groups=None):
    """Rows whose class depends on a number, a name in two spellings, and a weekday that loses its meaning by and by.

    Most names occur a few times.  The rows of a group share a number.
    """
    names = rng.integers(0, ROWS // 2, rows)
    day = rng.integers(0, 700, rows)
    x = rng.normal(size=rows) if groups is None else rng.normal(size=1 + groups.max())[groups]
    frame = pd.DataFrame(
        {
            "x": x,
            "name": [f"n{name}" if rng.random() < 0.5 else f"N{name} " for name in names],
            "day": pd.Timestamp("2022-01-01") + pd.to_timedelta(day, unit="D"),
            "note": [f"{' '.join(rng.choice(['late', 'box', 'fine', 'big'], 4))} {i}" for i in range(rows)],
        }
    )
    weekday = (day % 7 > 4) * (1.0 - day / 350)
    positive = frame["x"] + (names % 3 == 0) + weekday + 3.0 * rng.normal(size=rows) > 0.3
    return frame, np.where(positive, "yes", "no")


def is_false(model, new, y_new):
    """Whether the error rate on new rows is above the bound, by three standard deviations of its estimate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        error = np.mean(model.predict(new) != y_new)
    return error - 3.0 * np.sqrt(error / len(new)) > model.certificate_.bound


def classifier(seed):
    # One setting: the family "logistic" would encode the rows for each of four.
    model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression())
    return CertifiedClassifier(model, cv=None, voting="best", delta=DELTA, n_jobs=1, random_state=seed)


def false_certificates(runs, leak=False):
    """Number of runs with a false certificate."""
    false = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = table(rng, ROWS)
        new, y_new = table(rng, NEW)
        if leak:
            # The fault that this test must find: an encoder that learns from validation rows.
            encoder = TableEncoder().fit(X, y)
            X, new = (pd.DataFrame(encoder.transform(rows)).rename(columns=str) for rows in (X, new))
        false += is_false(classifier(seed).fit(X, y), new, y_new)
    return false


def false_certificates_of_groups(runs):
    """Number of runs with a false certificate about groups, whose names in two spellings are refused."""
    false = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(ROWS // 4), 4)
        X, y = table(rng, ROWS, groups)
        written = np.array([f"G{i}" if rng.random() < 0.5 else f"g{i} " for i in groups], dtype=object)
        if seed == 0:
            with pytest.raises(ValueError, match="groups holds both"):
                classifier(seed).fit(X, y, groups=written)
        new_groups = np.repeat(np.arange(NEW // 4), 4)
        false += is_false(classifier(seed).fit(X, y, groups=normalize_spellings(written)), *table(rng, NEW, new_groups))
    return false


@pytest.mark.parametrize("runs", [RUNS, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("simulate", [false_certificates, false_certificates_of_groups])
def test_certificates_of_encoded_tables(simulate, runs):
    assert simulate(runs) <= binom.ppf(1.0 - 1e-4, runs, DELTA)


def test_an_encoder_that_sees_validation_rows_is_found_out():
    assert false_certificates(RUNS, leak=True) > binom.ppf(1.0 - 1e-4, RUNS, DELTA)
