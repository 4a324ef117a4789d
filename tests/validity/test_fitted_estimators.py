"""Class and slice bounds, and abstention, hold for fitted estimators with known risks.

A row is one of 400 points of a square.  Its label is that of its region or, with a probability that depends on the
point, the other: true risks, in a class or among accepted points, are means over 400 points.  Planted faults are in
tests/certificates/, where they are cheaper.
"""

import numpy as np
import pytest
from tests.validity.square import CLEAN as SQUARE
from tests.validity.square import LAMBDAS, POINTS, compatible, fits, svc

VOTINGS = ("soft", "stochastic", "majority", "best")
#: A rare class in a corner, and an exclusive or with much noise.
CLEAN = {
    "rare": ((POINTS[:, 0] > 0.3) & (POINTS[:, 1] > 0.3)).astype(int),
    "noise": SQUARE[2],
}
NOISE = {"rare": 0.25 * (np.abs(POINTS[:, 0]) < 0.5), "noise": np.full(400, 0.32)}


def sample(kind, n, rng):
    rows = rng.integers(0, 400, n)
    flipped = rng.random(n) < NOISE[kind][rows]
    return POINTS[rows], np.where(flipped, 1 - CLEAN[kind][rows], CLEAN[kind][rows])


def chances(kind, y_pred):
    """The probability of an error at every point, and of every class."""
    second = np.where(CLEAN[kind] == 1, 1 - NOISE[kind], NOISE[kind])
    classes = np.column_stack([1 - second, second])
    return 1 - classes[np.arange(400), y_pred], classes


def fitted(kind, seed, sliced=False, n=160, **params):
    clf = svc(seed, **({"lambdas": LAMBDAS[::2], "cv": 3} | params))
    X, y = sample(kind, n, np.random.default_rng([seed, 11]))
    return clf.fit(X, y, slices=slices_of(X)) if sliced else clf.fit(X, y)


def slices_of(X):
    """Two halves of the square, and a corner with few rows or none."""
    return np.where((X > 0.6).all(axis=1), "corner", np.where(X[:, 0] > 0, "right", "left"))


def class_failures(kind, fits):
    """Number of failures of class, slice and main bounds; and of rules chosen on the validation rows."""
    failed, chosen = dict.fromkeys(VOTINGS, 0), 0
    for seed in range(fits):
        # The hedge is small or large in turn.
        clf = fitted(kind, seed, sliced=True, metrics=("error",), metrics_share=0.5, hedge=0.1 if seed % 2 else 0.8)
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            if not certificate.metrics:  # a posterior
                continue
            chosen += certificate.rule != "primary"
            y_pred = clf.set_params(voting=voting).predict(POINTS)
            errors, classes = chances(kind, y_pred)
            risks = {("class", c): (classes[:, c] * (y_pred != c)).sum() / classes[:, c].sum() for c in (0, 1)}
            risks |= {("slice", name): errors[slices_of(POINTS) == name].mean() for name in ("corner", "left", "right")}
            wrong = any(risks[metric.kind, metric.of] > metric.bound for metric in certificate.metrics)
            failed[voting] += bool(wrong or errors.mean() > certificate.bound)
    return failed, chosen


def abstention_failures(kind, fits, max_error):
    failed = dict.fromkeys(VOTINGS, 0)
    for seed in range(fits):
        clf = fitted(kind, seed, hedge=0.1, max_error=max_error)
        for voting in VOTINGS:
            accepted = clf.set_params(voting=voting).accepts(POINTS)
            errors, _ = chances(kind, clf.predict(POINTS))
            failed[voting] += bool(accepted.any() and errors[accepted].mean() > max_error)
    return failed


@fits(8, 600)
@pytest.mark.parametrize("kind", CLEAN)
def test_class_bounds_and_the_main_bound_hold_jointly(kind, fits):
    failed, chosen = class_failures(kind, fits)
    assert chosen > 0
    assert all(compatible(count, fits) for count in failed.values())


@fits(8, 600)
@pytest.mark.parametrize(("kind", "max_error"), [("rare", 0.15), ("noise", 0.3), ("noise", 0.4)])
def test_the_error_rate_of_accepted_rows_is_kept(kind, max_error, fits):
    failed = abstention_failures(kind, fits, max_error)
    assert all(compatible(count, fits) for count in failed.values())
