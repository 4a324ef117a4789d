"""Limits by class, targets and members below a target hold for fitted estimators where every risk is known.

A row is one of 400 points of a square; its label is that of its region or, with a probability that depends on the
point, another, so that a true risk, in a class or among answered points, is a mean over 400 points.  Planted faults are
in tests/certificates/questions/, where they cost less.
"""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import StochasticSVC

DELTA = 0.1
VOTINGS = ("stochastic", "majority", "best")
SIDE = (np.arange(20) - 9.5) / 10
POINTS = np.array([(a, b) for a in SIDE for b in SIDE])
#: A rare class in a corner; and classes like a chess board, which noise drowns.
CLEAN = {
    "rare": ((POINTS[:, 0] > 0.3) & (POINTS[:, 1] > 0.3)).astype(int),
    "noise": (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int),
}
NOISE = {"rare": 0.25 * (np.abs(POINTS[:, 0]) < 0.5), "noise": np.full(400, 0.32)}


def sample(kind, n, rng):
    rows = rng.integers(0, 400, n)
    flipped = rng.random(n) < NOISE[kind][rows]
    return POINTS[rows], np.where(flipped, 1 - CLEAN[kind][rows], CLEAN[kind][rows])


def chances(kind, said):
    """The probability of an error at every point, and of every class there."""
    second = np.where(CLEAN[kind] == 1, 1 - NOISE[kind], NOISE[kind])
    classes = np.column_stack([1 - second, second])
    return 1 - classes[np.arange(400), said], classes


def fitted(kind, seed, n=160, **params):
    clf = StochasticSVC(
        np.geomspace(1e-3, 30.0, 8), gamma=8.0, scale=False, delta=DELTA, cv=3, random_state=seed, **params
    )
    return clf.fit(*sample(kind, n, np.random.default_rng([seed, 11])))


def class_failures(kind, fits):
    failed = dict.fromkeys(VOTINGS, 0)
    for seed in range(fits):
        clf = fitted(kind, seed, class_share=0.5)
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            if certificate.rule == "posterior":
                continue
            said = clf.set_params(voting=voting).predict(POINTS)
            errors, classes = chances(kind, said)
            risks = [(classes[:, c] * (said != c)).sum() / classes[:, c].sum() for c in (0, 1)]
            wrong = any(risk > one.bound for risk, one in zip(risks, certificate.by_class, strict=True))
            failed[voting] += wrong or errors.mean() > certificate.bound
    return failed


def target_failures(kind, fits, target):
    failed, some = dict.fromkeys(VOTINGS, 0), 0
    for seed in range(fits):
        clf = fitted(kind, seed, max_error=target)
        for voting in VOTINGS:
            answers = clf.set_params(voting=voting).answers(POINTS)
            errors, _ = chances(kind, clf.predict(POINTS))
            some += bool(answers.any())
            failed[voting] += bool(answers.any()) and errors[answers].mean() > target
    return failed, some


def below_failures(fits):
    failed = 0
    for seed in range(fits):
        clf = fitted("noise", seed)
        said = clf.classifiers_.predict(POINTS)
        listed = clf.certified_below(0.5)
        failed += any(chances("noise", said[one.index])[0].mean() > one.bound for one in listed)
    return failed


def compatible(failed, fits):
    return binom.sf(failed - 1, fits, DELTA) > 1e-4


FITS = [8, pytest.param(600, marks=pytest.mark.slow)]


@pytest.mark.parametrize("fits", FITS)
@pytest.mark.parametrize("kind", CLEAN)
def test_limits_by_class_and_the_bound_hold_at_once(kind, fits):
    assert all(compatible(one, fits) for one in class_failures(kind, fits).values())


@pytest.mark.parametrize("fits", FITS)
@pytest.mark.parametrize(("kind", "target"), [("rare", 0.15), ("noise", 0.3), ("noise", 0.4)])
def test_targets_are_kept(kind, target, fits):
    failed, _ = target_failures(kind, fits, target)
    assert all(compatible(one, fits) for one in failed.values())


@pytest.mark.parametrize("fits", FITS)
def test_members_below_a_target(fits):
    assert compatible(below_failures(fits), fits)
