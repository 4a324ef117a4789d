"""Certificates hold with extreme outliers, by simulation with exact true risks.

A row is one of 400 points of a square, with the label of its quadrant or, with probability 0.1, the other; with
probability 1/500 it is shifted by 1e10.  Once, squared distances came from inner products of rows, centred on the mean
of all rows for validation, and on that of the training rows for prediction.  The classifiers that were validated
differed from those that predicted, and certificates failed in more than a third of the fits.
"""

import sys
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.validity.square import CLEAN, POINTS, compatible

from pacbayes import StochasticSVC
from pacbayes.ensemble.validation import collect_predictions
from pacbayes.svm.kernel import Kernel, fit_scaling

DELTA, NOISE, N, SHIFT, FAR = 0.05, 0.1, 1500, 1e10, 1 / 500
EVERYWHERE = np.vstack([POINTS, POINTS + SHIFT])
LAMBDAS = np.array([0.03, 0.1, 0.3])


def sample(rng):
    places = rng.integers(0, 400, N)
    shifted = SHIFT * (rng.random(N) < FAR)
    return POINTS[places] + shifted[:, None], CLEAN[2][places] ^ (rng.random(N) < NOISE)


def true_risk(labels):
    """Exact risk of a classifier with these labels for the 400 points, then for the shifted ones."""
    errors = np.where(labels == np.tile(CLEAN[2], 2), NOISE, 1 - NOISE)
    return (1 - FAR) * errors[..., :400].mean(axis=-1) + FAR * errors[..., 400:].mean(axis=-1)


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


def test_different_centres_are_caught(monkeypatch):
    """The planted fault: other distances for validation than for prediction.

    Other distances in training alone are harmless: the classifiers that predict are validated.
    """

    def between(kernel, A, B):
        squares_a, squares_b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        return np.exp(-kernel.gamma * np.maximum(squares_a[:, None] + squares_b - 2.0 * (A @ B.T), 0.0))

    def centre(rows, scale):
        return replace(fit_scaling(rows, scale), shift=rows.mean(axis=0))

    monkeypatch.setattr("pacbayes.svm.svm_classifier.fit_scaling", centre)
    monkeypatch.setattr(Kernel, "between", between)
    monkeypatch.setattr(Kernel, "gram", lambda kernel, A: between(kernel, A, A))
    count = failures("independent", 20)
    assert compatible(count, 20, DELTA), count

    def observe_centred(members, data, *arguments):
        """Validate SVMs with rows centred on the mean of all rows."""
        svms = [copy(svm) for svm in members.estimators]
        for svm in svms:
            scaling = replace(svm._scaling, shift=data.rows.mean(axis=0))
            svm.support_vectors_, svm._scaling = scaling(svm.support_vectors_ + svm._scaling.shift), scaling
        return collect_predictions(replace(members, estimators=svms), data, *arguments)

    monkeypatch.setattr(sys.modules["pacbayes.certificates.posteriors"], "collect_predictions", observe_centred)
    count = failures("independent", 40)
    assert not compatible(count, 40, DELTA), count
