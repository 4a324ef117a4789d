"""Bounds on votes of classifiers with individual validation rows, by simulation with known risks.

The classifiers are trees of scikit-learn with their out-of-bag rows, SVMs with independent splits, and bags that depend
on labels.  Rows are of finitely many kinds with known class probabilities, so that all risks are known.  A bound fails
if the moment that it bounds exceeds it, which is a stricter test than the risk of the vote.
"""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.validity.square import DELTA, fits, largest

from pacbayes import optimal_vote, svm_set

KINDS = 12


class Distribution:
    """Kinds of rows with their probabilities, and the probability of class 1 for each kind."""

    def __init__(self, rng):
        self.probability = rng.dirichlet(np.full(KINDS, 2.0))
        self.share = rng.choice([0.05, 0.2, 0.9], KINDS)
        self.rows = np.column_stack([np.arange(KINDS), rng.permutation(KINDS)]).astype(float)

    def sample(self, rng, n):
        kinds = rng.choice(KINDS, n, p=self.probability)
        return self.rows[kinds], (rng.random(n) < self.share[kinds]).astype(int)

    def moments(self, predict, weights):
        """The vote's risk, ties counted as errors, and the means of W and of its square."""
        y_pred = predict(self.rows).astype(float)  # (H, kinds)
        total = np.zeros(3)
        for label, share in ((1, self.share), (0, 1 - self.share)):
            W = weights @ (y_pred != label)
            mass = self.probability * share
            total += [mass @ (W >= 0.5 - 1e-12), mass @ W, mass @ W**2]
        return total


def bounded_value(vote, moments):
    risk, first, second = moments
    return max(risk, 2 * first if vote.method == "first-order" else 4 * second)


def failures(make, samples, n, seed=0):
    """Number of failures of each bound, at the weights that minimise it."""
    rng = np.random.default_rng(seed)
    distribution = Distribution(rng)
    count = {"first-order": 0, "tandem": 0}
    for sample in range(samples):
        errors, validated, predict = make(*distribution.sample(rng, n), sample)
        for name in count:
            vote = optimal_vote(errors, n, bound=name, delta=DELTA, tol=1e-4, validated=validated)
            count[name] += bounded_value(vote, distribution.moments(predict, vote.weights)) > vote.bound
    return count


def out_of_bag(bags, n):
    """Mask of the rows that are not in each bag, shape (H, n)."""
    return np.array([np.bincount(bag, minlength=n) == 0 for bag in bags])


def forest(X, y, seed):
    """Trees with their out-of-bag rows."""
    trees = RandomForestClassifier(6, max_depth=3, random_state=seed).fit(X, y)

    def predict(rows):
        return trees.classes_[np.array([tree.predict(rows) for tree in trees.estimators_]).astype(int)]

    validated = out_of_bag(trees.estimators_samples_, y.size)
    return (predict(X) != y) & validated, validated, predict


def independent_splits(X, y, seed):
    """SVMs with independent splits; pairs are validated on the overlap of two splits."""
    svms = svm_set(X, y, [0.1, 1.0, 10.0], kernel="linear", split="independent", validation_size=0.6, random_state=seed)
    return svms.error_rows, svms.validated_rows, svms.predict


@fits(40, 1000)
@pytest.mark.filterwarnings("ignore:.*look like copies")
@pytest.mark.parametrize("make", [forest, independent_splits])
def test_failures_are_compatible_with_delta(make, fits):
    for n in (60,) if fits < 100 else (80, 300):
        assert max(failures(make, fits, n).values()) <= largest(fits)


RARE = 0.2


def bootstrap(rng, y):
    return rng.integers(y.size, size=y.size)


def balanced_bootstrap(rng, y):
    """The planted fault: a bag with balanced classes, which depends on the labels."""
    rows = rng.integers(y.size, size=4 * y.size)
    balanced = rows[(y[rows] == 1) | (rng.random(rows.size) < RARE / (1 - RARE))]
    return balanced[: y.size]


def failures_of_constants(draw, samples=40, n=200, H=5):
    """Number of failures of the bounds of classifiers that always predict 0."""
    rng = np.random.default_rng(3)
    count = {"first-order": 0, "tandem": 0}
    for _ in range(samples):
        y = (rng.random(n) < RARE).astype(int)
        validated = out_of_bag([draw(rng, y) for _ in range(H)], n)
        for name in count:
            errors = validated & (y == 1)
            vote = optimal_vote(errors, n, bound=name, delta=DELTA, tol=1e-4, validated=validated)
            count[name] += (2 if name == "first-order" else 4) * RARE > vote.bound
    return count


def test_bags_that_depend_on_labels_are_caught():
    assert max(failures_of_constants(bootstrap).values()) <= largest(40)
    assert min(failures_of_constants(balanced_bootstrap).values()) > largest(40)
