"""A division of one's own: the limit holds whatever rows trained, and fails where the labels had a part in it.

Rows are points of a square with known labels and noise, so that every risk is a mean over 400 points.
"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.validity.test_hedge import POINTS, sample, true_risk

from pacbayes import CertifiedClassifier

DELTA, FITS = 0.1, 60
LARGEST = binom.ppf(1 - 1e-4, FITS, DELTA)


def failures(divide, **choices):
    """How often the risk is above the limit, where `divide` says of 240 rows which train and which validate."""
    count = 0
    for seed in range(FITS):
        rng = np.random.default_rng([seed, 35])
        X, y = sample(240, 2, rng)
        rows, labels, validation = divide(X, y, rng)
        clf = CertifiedClassifier([GaussianNB(), DecisionTreeClassifier(random_state=0)], cv=3, delta=DELTA, **choices)
        clf.set_params(random_state=seed).fit(rows, labels, validation=validation)
        count += true_risk(clf.predict(POINTS), 2) > clf.certificate_.bound
    return count


def in_time(X, y, rng):
    """Old rows are of one half of the square, with many labels exchanged; new ones are as those to come."""
    old = np.arange(240) < 120
    X, y = X.copy(), y.copy()
    X[old, 0] = X[old, 0] / 2
    y[old] = np.where(rng.random(120) < 0.2, 1 - y[old], y[old])
    return X, y, ~old


def by_labels(X, y, rng):
    """Of one half those rows are left out that a classifier of the other half gets wrong: labels decide who counts."""
    half = rng.random(240) < 0.5
    kept = ~half | (GaussianNB().fit(X[~half], y[~half]).predict(X) == y)
    return X[kept], y[kept], half[kept]


@pytest.mark.parametrize("voting", ["soft", "majority", "best"])
def test_whatever_rows_trained(voting):
    assert failures(in_time, voting=voting) <= LARGEST


def test_labels_that_had_a_part_are_seen_by_this_simulation():
    assert failures(by_labels) > LARGEST
