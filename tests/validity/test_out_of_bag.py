"""The guarantee of out-of-bag bounds by simulation with a known law: forests, and bags that look at labels.

Rows are of finitely many kinds with known probabilities of each class, so that the true risk of every classifier and of
every vote is known.  A bound counts as failed where the moment that it claims to bound exceeds it, a sharper test than
the vote's own risk.
"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes import forest_set, optimal_vote, svm_set
from pacbayes.ensemble.forest_set import BaggingTask

DELTA = 0.1
KINDS = 12


def largest(samples):
    """More failures than this have a probability below 1e-4 if each has at most the probability delta."""
    return binom.ppf(1 - 1e-4, samples, DELTA)


class Law:
    """Kinds of rows with their probabilities, and the probability of class 1 for each."""

    def __init__(self, rng):
        self.probability = rng.dirichlet(np.full(KINDS, 2.0))
        self.share = rng.choice([0.05, 0.2, 0.9], KINDS)
        self.rows = np.column_stack([np.arange(KINDS), rng.permutation(KINDS)]).astype(float)

    def sample(self, rng, n):
        kinds = rng.choice(KINDS, n, p=self.probability)
        return self.rows[kinds], (rng.random(n) < self.share[kinds]).astype(int)

    def moments(self, classifiers, weights):
        """The vote's risk, ties counted as errors, and the means of W and of its square."""
        said = classifiers.predict(self.rows).astype(float)  # (H, kinds)
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
        classifiers = make(*law.sample(rng, n), sample)
        errors, validated = classifiers.error_rows, classifiers.validated_rows
        for name in count:
            vote = optimal_vote(errors, n, bound=name, delta=DELTA, tol=1e-4, validated=validated)
            count[name] += claimed(vote, law.moments(classifiers, vote.weights)) > vote.bound
    return count


def random_forest(X, y, seed):
    return forest_set(RandomForestClassifier(6, max_depth=3), X, y, random_state=seed)


def bagged(X, y, seed):
    return forest_set(BaggingClassifier(DecisionTreeClassifier(max_depth=2), 6), X, y, random_state=seed)


def divided(X, y, seed):
    """Not a forest: machines with a split of their own each, measured as pairs where two splits overlap."""
    options = {"split": "independent", "validation_size": 0.6, "random_state": seed}
    return svm_set(X, y, [0.1, 1.0, 10.0], kernel="linear", **options)


@pytest.mark.filterwarnings("ignore:.*look like copies")
@pytest.mark.parametrize("make", [random_forest, bagged])
def test_failures_are_compatible_with_delta(make):
    for count in failures(make, 40, 60).values():
        assert count <= largest(40)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*look like copies")
@pytest.mark.parametrize("n", [60, 120, 300])
@pytest.mark.parametrize("make", [random_forest, bagged, divided])
def test_failures_are_compatible_with_delta_1000(make, n):
    for count in failures(make, 1000, n).values():
        assert count <= largest(1000)


RARE = 0.2


def failures_of_constants(samples, n=200, H=5):
    """How often the bound of classifiers that always say 0 is below the share of class 1."""
    rng = np.random.default_rng(3)
    count = {"first-order": 0, "tandem": 0}
    for sample in range(samples):
        X, y = np.arange(n, dtype=float)[:, None], (rng.random(n) < RARE).astype(int)
        forest = BaggingClassifier(DummyClassifier(strategy="constant", constant=0), H)
        found = forest_set(forest, X, y, random_state=sample)
        for name in count:
            vote = optimal_vote(found.error_rows, n, bound=name, delta=DELTA, tol=1e-4, validated=found.validated_rows)
            count[name] += (2 if name == "first-order" else 4) * RARE > vote.bound
    return count


def test_bags_that_look_at_labels_are_caught(monkeypatch):
    assert max(failures_of_constants(40).values()) <= largest(40)

    def drawn(task, i):
        """Draw a bag, and draw most rows of the frequent class in it again: what balances classes does this."""
        rng = np.random.default_rng([task.seed % 2**32, i])
        rows = rng.integers(task.y.size, size=4 * task.draws)
        kept = rows[(task.y[rows] == 1) | (rng.random(rows.size) < RARE / (1 - RARE))]
        return np.sort(kept[: task.draws])

    monkeypatch.setattr(BaggingTask, "drawn", drawn)
    assert min(failures_of_constants(40).values()) > largest(40)
