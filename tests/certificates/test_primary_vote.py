"""The primary vote: an average of votes, weighted by their errors in cross-validation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC
from pacbayes.certificates.primary import (
    STRENGTHS,
    averaged_vote_weights,
    errors_of_votes,
    integer_vote_weights,
)
from pacbayes.ensemble.cross_validation import assign_folds, count_fold_errors
from pacbayes.estimators import planning


def drawn(seed, classes=2, n=120, candidates=15):
    """Codes of labels, and predictions of candidates of very different quality; some are no class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    rates = rng.uniform(0.02, 0.6, candidates) * rng.beta(0.4, 0.8, n)[:, None] * 2
    other = (codes + rng.integers(1, classes + 1, (candidates, n))) % (classes + 1)
    return codes, np.where(rng.random((candidates, n)) < rates.T, other, codes)


def direct_errors_of_votes(codes, y_pred, fold, classes, nested=True):
    """Errors of the votes of all strengths, row by row."""
    wrong = y_pred != codes
    results = []
    for strength in STRENGTHS:
        errors = 0
        counted = [wrong[:, fold != k].sum(axis=1) if nested else wrong.sum(axis=1) for k in range(fold.max() + 1)]
        weights = [[int(part) for part in integer_vote_weights(k, strength)] for k in counted]
        for row in range(codes.size):
            parts = weights[fold[row]]
            behind = [
                sum(p for p, label in zip(parts, y_pred[:, row], strict=True) if label == c) for c in range(classes)
            ]
            errors += behind.index(max(behind)) != codes[row]
        results.append(errors)
    return tuple(results)


def cross_validated(codes, y_pred, fold=None):
    """Errors of the candidates in four folds, and those of their votes."""
    fold = assign_folds(codes, 4, np.random.default_rng(0)) if fold is None else fold
    errors, sizes = count_fold_errors(y_pred, codes, fold)
    return errors.sum(axis=1), errors_of_votes(y_pred, codes, fold, sizes), fold


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_errors_of_votes_with_weights_from_the_other_folds(classes):
    different, matters = 0, 0
    for seed in range(25):
        codes, y_pred = drawn(seed, classes)
        _, found, fold = cross_validated(codes, y_pred)
        assert found == direct_errors_of_votes(codes, y_pred, fold, classes)
        different += len(set(found)) > 2
        matters += found != direct_errors_of_votes(codes, y_pred, fold, classes, nested=False)
    # The strengths differ, and weights from all folds would give other errors.
    assert different > 10
    assert matters > 10


def test_folds_without_training_rows_of_a_class_are_skipped():
    """All rows of the second class are in the last fold: without it, one class is left."""
    codes, y_pred = drawn(0)
    fold = np.where(codes == 1, 3, np.arange(codes.size) % 4)
    kept = fold != 3
    totals, found, _ = cross_validated(codes, y_pred, fold)
    assert totals.tolist() == np.count_nonzero(y_pred[:, kept] != codes[kept], axis=1).tolist()
    assert found == direct_errors_of_votes(codes[kept], y_pred[:, kept], fold[kept], 2)


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=300) > 0).astype(int)


def test_votes_are_skipped_if_predictions_would_not_fit(monkeypatch):
    clf = StochasticSVC([0.1, 1.0, 10.0], hedge=0.1, random_state=0)
    for most, kept in ((3 * 150 - 1, False), (3 * 150, True)):
        monkeypatch.setattr(planning, "MAX_PREDICTIONS", most)
        found = clf.fit(*rows())._fitted.plan.cross_validation
        assert (found.errors_of_votes is not None) == kept


def exact_average(k, errors_of_votes):
    """Average of votes with these errors, in exact fractions but for the exponentials."""
    least = min(errors_of_votes)
    shares = [math.exp(-(errors - least) / math.sqrt(least + 1)) for errors in errors_of_votes]
    votes = [[Fraction(int(part), 2**52) for part in integer_vote_weights(k, strength)] for strength in STRENGTHS]
    mean = [
        sum(Fraction(share) * vote[i] for share, vote in zip(shares, votes, strict=True)) / sum(map(Fraction, shares))
        for i in range(len(k))
    ]
    assert sum(mean) == 1
    return [float(weight) for weight in mean]


def test_the_average_of_votes():
    rng = np.random.default_rng(5)
    for _ in range(20):
        k, errors = rng.integers(0, 30, 12), tuple(rng.integers(0, 12, len(STRENGTHS)).tolist())
        parts = averaged_vote_weights(k, errors)
        assert parts.sum() == 2**52
        np.testing.assert_allclose(np.ldexp(parts.astype(float), -52), exact_average(k, errors), rtol=0, atol=1e-14)


def test_the_primary_vote_of_estimators():
    X, y = rows()
    neighbours = Grid(KNeighborsClassifier(), {"n_neighbors": [1, 3, 7, 15, 31]})
    for clf in (
        StochasticSVC(np.geomspace(1e-3, 1e3, 15), hedge="auto", random_state=0),
        CertifiedClassifier(neighbours, cv=3, random_state=0),
    ):
        found = clf.fit(X, y)._fitted.plan.cross_validation
        assert len(found.errors_of_votes) == len(STRENGTHS)
        expected = exact_average(found.totals, found.errors_of_votes)
        np.testing.assert_allclose(clf.primary_["majority"][found.candidates], expected, rtol=0, atol=1e-14)
        names = {claim.rule for claim in clf.certificates_["majority"].alternatives}
        assert {"vote s=0", "vote s=0.25", "vote s=0.5", "vote s=1", "vote s=2", "vote s=4", "single"} <= names
        assert clf.set_params(hedge=1).fit(X, y)._fitted.plan.cross_validation.errors_of_votes is None
