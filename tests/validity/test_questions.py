"""Limits by class, targets and members below a target hold for fitted estimators where every risk is known.

A row is one of 400 points of a square; its label is that of its region or, with a probability that depends on the
point, another, so that a true risk, in a class or among answered points, is a mean over 400 points.  Planted faults are
in tests/certificates/, where they cost less.
"""

import numpy as np
import pytest
from tests.validity.square import CLEAN as SQUARE
from tests.validity.square import LAMBDAS, POINTS, compatible, fits, svc

VOTINGS = ("soft", "stochastic", "majority", "best")
#: A rare class in a corner; and classes like a chess board, which noise drowns.
CLEAN = {
    "rare": ((POINTS[:, 0] > 0.3) & (POINTS[:, 1] > 0.3)).astype(int),
    "noise": SQUARE[2],
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


def fitted(kind, seed, sliced=False, n=160, **params):
    clf = svc(seed, **({"lambdas": LAMBDAS[::2], "cv": 3} | params))
    X, y = sample(kind, n, np.random.default_rng([seed, 11]))
    return clf.fit(X, y, slices=slices_of(X)) if sliced else clf.fit(X, y)


def slices_of(X):
    """Two halves of the square, and a corner that is hit by few rows or none."""
    return np.where((X > 0.6).all(axis=1), "corner", np.where(X[:, 0] > 0, "right", "left"))


def class_failures(kind, fits):
    """How often a limit by class or slice, or the bound, is too small; and how often a rule was chosen by the rows."""
    failed, chosen = dict.fromkeys(VOTINGS, 0), 0
    for seed in range(fits):
        # Every other time most of delta is kept for what the validation rows show.
        clf = fitted(kind, seed, sliced=True, metrics=("error",), metrics_share=0.5, hedge=0.1 if seed % 2 else 0.8)
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            if not certificate.metrics:  # a posterior
                continue
            chosen += certificate.rule != "primary"
            said = clf.set_params(voting=voting).predict(POINTS)
            errors, classes = chances(kind, said)
            risks = {("class", c): (classes[:, c] * (said != c)).sum() / classes[:, c].sum() for c in (0, 1)}
            risks |= {("slice", name): errors[slices_of(POINTS) == name].mean() for name in ("corner", "left", "right")}
            wrong = any(risks[one.kind, one.of] > one.bound for one in certificate.metrics)
            failed[voting] += bool(wrong or errors.mean() > certificate.bound)
    return failed, chosen


def target_failures(kind, fits, target):
    failed, some = dict.fromkeys(VOTINGS, 0), 0
    for seed in range(fits):
        clf = fitted(kind, seed, hedge=0.1, max_error=target)
        for voting in VOTINGS:
            answers = clf.set_params(voting=voting).accepts(POINTS)
            errors, _ = chances(kind, clf.predict(POINTS))
            some += bool(answers.any())
            failed[voting] += bool(answers.any() and errors[answers].mean() > target)
    return failed, some


@fits(8, 600)
@pytest.mark.parametrize("kind", CLEAN)
def test_limits_by_class_and_the_bound_hold_at_once(kind, fits):
    failed, chosen = class_failures(kind, fits)
    assert chosen > 0
    assert all(compatible(one, fits) for one in failed.values())


@fits(8, 600)
@pytest.mark.parametrize(("kind", "target"), [("rare", 0.15), ("noise", 0.3), ("noise", 0.4)])
def test_targets_are_kept(kind, target, fits):
    failed, _ = target_failures(kind, fits, target)
    assert all(compatible(one, fits) for one in failed.values())
