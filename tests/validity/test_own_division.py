"""A division of one's own, of rows that are equal by chance: three coarse columns with gaps, whose risks are sums."""

from itertools import product

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import DELTA, compatible

from pacbayes import CertifiedClassifier
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import check_no_overlap, user_split

FITS = 60
VALUES = 12
CELLS = np.array(list(product([np.nan, *range(VALUES)], repeat=3)))
UNSURE = np.isnan(CELLS).sum(axis=1) >= 2  # two gaps: the class is a coin
RIGHT = (np.nan_to_num(CELLS).sum(axis=1) > VALUES).astype(int)
# The share of gaps among old rows and among new ones.
GAPS = [(0.3, 0.6), (0.6, 0.3), (0.3, 0.3), (0.9, 0.5)]


def shares(gaps):
    """How probable each row is where values are missing so often."""
    return np.where(np.isnan(CELLS), gaps, (1.0 - gaps) / VALUES).prod(axis=1)


def draw(n, gaps, rng):
    rows = rng.choice(len(CELLS), n, p=shares(gaps))
    return CELLS[rows], np.where(UNSURE[rows], rng.integers(0, 2, n), RIGHT[rows])


def equal(rows, others):
    """Which rows equal one of the others."""
    there = {tuple(row) for row in np.nan_to_num(others, nan=-1.0)}
    return np.array([tuple(row) in there for row in np.nan_to_num(rows, nan=-1.0)])


def false_certificates(gaps, leave_out=None):
    """How often the risk is above the limit, with equal rows left out of one side or of none."""
    count = 0
    for seed in range(FITS):
        rng = np.random.default_rng([seed, 42])
        (X, y), (X_val, y_val) = (draw(150, share, rng) for share in gaps)
        if leave_out == "training":
            kept = ~equal(X, X_val)
            X, y = X[kept], y[kept]
        if leave_out == "validation":
            kept = ~equal(X_val, X)
            X_val, y_val = X_val[kept], y_val[kept]
        clf = CertifiedClassifier(DecisionTreeClassifier(random_state=0), cv=3, delta=DELTA, voting="best")
        clf.set_params(random_state=seed).fit(X, y, X_val=X_val, y_val=y_val)
        wrong = np.where(UNSURE, 0.5, clf.predict(CELLS) != RIGHT)
        count += np.sum(shares(gaps[1]) * wrong) > clf.certificate_.bound
    return count


@pytest.mark.parametrize("leave_out", [None, "training"])
def test_rows_equal_by_chance_are_not_refused_and_do_no_harm(leave_out):
    """An attack had honest divisions refused, and did as the message said: the certificates were false."""
    found = false_certificates(GAPS[0], leave_out)
    assert compatible(found, FITS)


def test_validation_rows_left_out_because_they_trained_are_seen_by_this_simulation():
    found = false_certificates(GAPS[0], "validation")
    assert not compatible(found, FITS)


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize(("n", "m"), [(10, 10), (20, 20), (30, 10), (10, 30), (100, 100), (700, 300), (500, 500)])
def test_chance_alone_hardly_ever_looks_like_copies(n, m, gaps):
    rng, late, refused = np.random.default_rng([n, m]), np.arange(n + m) >= n, 0
    for _ in range(150):
        rows = [CELLS[rng.choice(len(CELLS), size, p=shares(one))] for size, one in zip((n, m), gaps, strict=True)]
        data = Dataset.checked(np.concatenate(rows), late)
        try:
            check_no_overlap(data, user_split(late, 0))
        except ValueError:
            refused += 1
    assert compatible(refused, 150, 0.004)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("copied", [0.05, 0.2, 1.0])
def test_copied_rows_are_refused(copied, times):
    """Rows of continuous columns, some of which were trained on, and oversampled there."""
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(2, 200, 3))
    X_val[: int(200 * copied)] = X[: int(200 * copied)]
    X = np.repeat(X, times, axis=0)
    y, y_val = X[:, 0] > 0, X_val[:, 0] > 0
    with pytest.raises(
        ValueError, match=f"{int(200 * copied)} of 200 rows equal a row of the training set, more than dup"
    ):
        CertifiedClassifier(GaussianNB()).fit(X, y, X_val=X_val, y_val=y_val)
