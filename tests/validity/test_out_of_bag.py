"""The guarantee of bounds on votes whose classifiers have validation rows of their own, by simulation with a known law.

The classifiers are scikit-learn's trees with their out-of-bag rows, machines with a split each, and bags that look at
labels.  Rows are of finitely many kinds with known probabilities of each class, so that the true risk of every
classifier and of every vote is known.  A bound counts as failed where the moment that it claims to bound exceeds it, a
sharper test than the vote's own risk.
"""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.validity.square import DELTA, fits, largest

from pacbayes import optimal_vote, svm_set

KINDS = 12


class Law:
    """Kinds of rows with their probabilities, and the probability of class 1 for each."""

    def __init__(self, rng):
        self.probability = rng.dirichlet(np.full(KINDS, 2.0))
        self.share = rng.choice([0.05, 0.2, 0.9], KINDS)
        self.rows = np.column_stack([np.arange(KINDS), rng.permutation(KINDS)]).astype(float)

    def sample(self, rng, n):
        kinds = rng.choice(KINDS, n, p=self.probability)
        return self.rows[kinds], (rng.random(n) < self.share[kinds]).astype(int)

    def moments(self, predict, weights):
        """The vote's risk, ties counted as errors, and the means of W and of its square."""
        said = predict(self.rows).astype(float)  # (H, kinds)
        total = np.zeros(3)
        for label, share in ((1, self.share), (0, 1 - self.share)):
            W = weights @ (said != label)
            mass = self.probability * share
            total += [mass @ (W >= 0.5 - 1e-12), mass @ W, mass @ W**2]
        return total


def claimed(vote, moments):
    risk, first, second = moments
    return max(risk, 2 * first if vote.method == "first-order" else 4 * second)


def failures(make, samples, n, seed=0):
    """How often each bound is below what it bounds, for the weights that minimise it."""
    rng = np.random.default_rng(seed)
    law = Law(rng)
    count = {"first-order": 0, "tandem": 0}
    for sample in range(samples):
        errors, validated, predict = make(*law.sample(rng, n), sample)
        for name in count:
            vote = optimal_vote(errors, n, bound=name, delta=DELTA, tol=1e-4, validated=validated)
            count[name] += claimed(vote, law.moments(predict, vote.weights)) > vote.bound
    return count


def left_out(bags, n):
    """Which of n rows each bag leaves out, shape (H, n)."""
    return np.array([np.bincount(bag, minlength=n) == 0 for bag in bags])


def forest(X, y, seed):
    """Trees with their out-of-bag rows."""
    grown = RandomForestClassifier(6, max_depth=3, random_state=seed).fit(X, y)

    def predict(rows):
        return grown.classes_[np.array([tree.predict(rows) for tree in grown.estimators_]).astype(int)]

    validated = left_out(grown.estimators_samples_, y.size)
    return (predict(X) != y) & validated, validated, predict


def divided(X, y, seed):
    """SVMs with a split of their own each, measured as pairs where two splits overlap."""
    found = svm_set(
        X, y, [0.1, 1.0, 10.0], kernel="linear", split="independent", validation_size=0.6, random_state=seed
    )
    return found.error_rows, found.validated_rows, found.predict


@fits(40, 1000)
@pytest.mark.filterwarnings("ignore:.*look like copies")
@pytest.mark.parametrize("make", [forest, divided])
def test_failures_are_compatible_with_delta(make, fits):
    for n in (60,) if fits < 100 else (80, 300):
        assert max(failures(make, fits, n).values()) <= largest(fits)


RARE = 0.2


def fair(rng, y):
    return rng.integers(y.size, size=y.size)


def looking(rng, y):
    """Draw a bag, and draw most rows of the frequent class in it again: what balances classes does this."""
    rows = rng.integers(y.size, size=4 * y.size)
    kept = rows[(y[rows] == 1) | (rng.random(rows.size) < RARE / (1 - RARE))]
    return kept[: y.size]


def failures_of_constants(draw, samples=40, n=200, H=5):
    """How often the bound of classifiers that always say 0 is below the share of class 1."""
    rng = np.random.default_rng(3)
    count = {"first-order": 0, "tandem": 0}
    for _ in range(samples):
        y = (rng.random(n) < RARE).astype(int)
        validated = left_out([draw(rng, y) for _ in range(H)], n)
        for name in count:
            errors = validated & (y == 1)
            vote = optimal_vote(errors, n, bound=name, delta=DELTA, tol=1e-4, validated=validated)
            count[name] += (2 if name == "first-order" else 4) * RARE > vote.bound
    return count


def test_bags_that_look_at_labels_are_caught():
    assert max(failures_of_constants(fair).values()) <= largest(40)
    assert min(failures_of_constants(looking).values()) > largest(40)
