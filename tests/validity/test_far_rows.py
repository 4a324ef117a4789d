"""Certificates where one row in 500 is far away, by simulation on a distribution whose true risks are known exactly.

A row is one of 400 points of a square, its label that of its quadrant or, with probability 0.1, the other; with
probability 1/500 it is shifted by 1e10.  SVMs have splits of their own and unscaled rows, the case in which
distances were once computed from products, for counting centred on the mean of all rows and for predicting on that of
the training rows: what was counted was not what predicted, and certificates failed in more than a third of the fits.
"""

import sys
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.validity.square import CLEAN, POINTS, compatible

from pacbayes import StochasticSVC
from pacbayes.ensemble.validation import observe
from pacbayes.svm.kernel import Kernel, fit_scaling

DELTA, NOISE, N, SHIFT, FAR = 0.05, 0.1, 1500, 1e10, 1 / 500
EVERYWHERE = np.vstack([POINTS, POINTS + SHIFT])
LAMBDAS = np.array([0.03, 0.1, 0.3])


def sample(rng):
    places = rng.integers(0, 400, N)
    shifted = SHIFT * (rng.random(N) < FAR)
    return POINTS[places] + shifted[:, None], CLEAN[2][places] ^ (rng.random(N) < NOISE)


def true_risk(labels):
    """The exact risk of a classifier that gives the 400 points, then the shifted ones, these labels."""
    each = np.where(labels == np.tile(CLEAN[2], 2), NOISE, 1 - NOISE)
    return (1 - FAR) * each[..., :400].mean(axis=-1) + FAR * each[..., 400:].mean(axis=-1)


def failures(split, fits):
    count = 0
    for seed in range(fits):
        clf = StochasticSVC(LAMBDAS, scale=False, split=split, delta=DELTA, cv=None, n_jobs=1, random_state=seed)
        clf.fit(*sample(np.random.default_rng([seed, 3])))
        count += bool(clf.posterior_.weights @ true_risk(clf.classifiers_.predict(EVERYWHERE)) > clf.certificate_.bound)
    return count


@pytest.mark.parametrize(
    ("split", "fits"),
    [
        pytest.param("independent", 20, id="independent"),
        pytest.param("independent", 400, id="independent-long", marks=pytest.mark.slow),
        pytest.param("shared", 300, id="shared-long", marks=pytest.mark.slow),
    ],
)
def test_failures_are_compatible_with_delta(split, fits):
    count = failures(split, fits)
    assert compatible(count, fits, DELTA), count


def test_centres_that_differ_are_caught(monkeypatch):
    """The fault planted again: other distances for counting than for predicting.

    Where training alone has others, no certificate fails: what answers is counted.
    """

    def between(kernel, A, B):
        squares, others = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        return np.exp(-kernel.gamma * np.maximum(squares[:, None] + others - 2.0 * (A @ B.T), 0.0))

    def centre(rows, scale):
        return replace(fit_scaling(rows, scale), shift=rows.mean(axis=0))

    monkeypatch.setattr("pacbayes.svm.svm_classifier.fit_scaling", centre)
    monkeypatch.setattr(Kernel, "between", between)
    monkeypatch.setattr(Kernel, "gram", lambda kernel, A: between(kernel, A, A))
    count = failures("independent", 20)
    assert compatible(count, 20, DELTA), count

    def counted(members, data, *arguments):
        """Ask machines whose rows are centred on the mean of all rows, for counting alone."""
        middle, others = data.rows.mean(axis=0), [copy(one) for one in members.estimators]
        for one in others:
            scaling = replace(one._scaling, shift=middle)
            one.support_vectors_, one._scaling = scaling(one.support_vectors_ + one._scaling.shift), scaling
        return observe(replace(members, estimators=others), data, *arguments)

    monkeypatch.setattr(sys.modules["pacbayes.certificates.posteriors"], "observe", counted)
    count = failures("independent", 40)
    assert not compatible(count, 40, DELTA), count
