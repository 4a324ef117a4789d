"""The coverage of prediction sets, by enumeration and by simulation with known truth; planted faults.

A row is of one of finitely many types, with known class shares and given probabilities: the coverage of any sets is
known exactly.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import pytest

from pacbayes import certify_sets
from pacbayes.certificates.sets import set_threshold

DELTA = 0.1
# Number of classes, concentration of the class shares, validation rows, and coverage.
WORLDS = {
    "two": (2, 0.5, 300, 0.9),
    "five": (5, 0.5, 300, 0.9),
    "twenty": (20, 0.1, 400, 0.8),
    "ties": (5, 0.5, 300, 0.9),
    "thirty rows": (5, 0.3, 30, 0.9),
    "useless": (5, 0.5, 200, 0.9),
    "rare": (3, 0.5, 400, 0.9),
    "unseen": (5, 0.3, 300, 0.8),
}


class World:
    """Types of rows with shares, true class shares and a classifier's probabilities."""

    def __init__(self, name):
        n_classes, concentration, self.m, self.coverage = WORLDS[name]
        rng = np.random.default_rng([17, *name.encode()])
        self.classes, self.truth = np.arange(n_classes), rng.dirichlet([concentration] * n_classes, size=300)
        if name == "rare":
            self.truth = self.truth * np.array([1.0, 1.0, 0.03])
        if name == "unseen":
            # The last label has no column: training never saw it.
            self.truth = np.column_stack([0.92 * self.truth, np.full(300, 0.08)])
        self.truth /= self.truth.sum(axis=1, keepdims=True)
        self.probabilities = 0.8 * self.truth[:, :n_classes] + 0.2 * rng.dirichlet([1.0] * n_classes, size=300)
        if name == "ties":
            self.probabilities = np.round(4 * self.probabilities) / 4
        if name == "useless":
            self.probabilities = np.full((300, n_classes), 1.0 / n_classes)

    def draw(self, rng):
        """Labels and probabilities of validation rows."""
        types = rng.integers(300, size=self.m)
        uniform = rng.random((self.m, 1))
        return (self.truth[types].cumsum(axis=1) < uniform).sum(axis=1).clip(max=self.truth.shape[1] - 1), types

    def misses(self, sets):
        """True share of rows, and of each class, whose set lacks the true class."""
        contained = np.column_stack([sets, np.zeros((300, self.truth.shape[1] - len(self.classes)), dtype=bool)])
        joint = self.truth / 300
        return float(joint[~contained].sum()), (joint * ~contained).sum(axis=0) / joint.sum(axis=0)


world = cache(World)


def allowed(draws):
    """Number of failures two standard deviations above the expected one."""
    return DELTA * draws + 2 * np.sqrt(draws * DELTA * (1 - DELTA))


def certified(here, y, types, by_class=False):
    """Sets of all types, with a flag if they have every label, also those that training never saw."""
    certificate = certify_sets(
        y, here.probabilities[types], here.classes, coverage=here.coverage, by_class=by_class, delta=DELTA
    )
    result = certificate.decision
    return result.predict_set(here.probabilities), len(result.in_every_set) == len(here.classes)


def failures(name, draws, sets_of, by_class=False):
    """Number of draws whose sets have a smaller coverage than requested, and whose sets leave out a class."""
    here, failed, useful = world(name), 0, 0
    for seed in range(draws):
        y, types = here.draw(np.random.default_rng([seed, 3]))
        sets, every_label = sets_of(here, y, types)
        overall, each = here.misses(sets)
        worst = each[: len(here.classes)].max() if by_class else overall
        failed += not every_label and worst > 1.0 - here.coverage + 1e-12
        useful += not sets.all()
    return failed, useful


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORLDS)
def test_coverage_holds(name, draws):
    failed, useful = failures(name, draws, certified)
    assert failed <= allowed(draws)
    assert (useful == 0) == (name == "useless")


@pytest.mark.parametrize("draws", [40, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["two", "five", "twenty", "ties", "rare"])
def test_coverage_holds_in_every_class(name, draws):
    failed, useful = failures(name, draws, lambda *args: certified(*args, by_class=True), by_class=True)
    assert failed <= allowed(draws)
    assert useful > 0


# -- planted faults ----------------------------------------------------------------------------------------------------


def at(here, q):
    sets = here.probabilities >= q
    sets[np.arange(300), here.probabilities.argmax(axis=1)] = True
    return sets, False


def at_marginal_rank(here, y, types):
    """Split conformal prediction: the coverage holds on average over calibrations."""
    v = np.sort(here.probabilities[types, y])
    return at(here, v[int((1 - here.coverage) * (v.size + 1)) - 1])


def without_unseen_labels(here, y, types):
    """Leave out the rows whose label training never saw."""
    known = y < len(here.classes)
    return certified(here, y[known], types[known])


def at_undivided_levels(here, y, types):
    """Calibrate every class at the whole of delta."""
    scores = here.probabilities[types, y]
    q = np.array([set_threshold(scores[y == c], here.coverage, DELTA) for c in here.classes])
    return at(here, q)


def test_undivided_levels_are_detected():
    failed, _ = failures("five", 100, at_undivided_levels, by_class=True)
    assert failed > 1.5 * allowed(100)


def test_marginal_rank_is_detected():
    failed, _ = failures("five", 100, at_marginal_rank)
    assert failed > 2 * allowed(100)


def test_unseen_labels_are_detected():
    failed, _ = failures("unseen", 100, without_unseen_labels)
    assert failed > 2 * allowed(100)


# -- enumeration -------------------------------------------------------------------------------------------------------

#: Values of the probability of the true class, with their probabilities.
LAWS = (
    {-1.0: Fraction(1, 10), 0.0: Fraction(1, 5), 0.5: Fraction(3, 10), 1.0: Fraction(2, 5)},
    {0.0: Fraction(1, 3), 0.25: Fraction(1, 3), 0.5: Fraction(1, 3)},
    {0.25: Fraction(1, 4), 0.75: Fraction(3, 4)},
    {0.1: Fraction(51, 100), 0.2: Fraction(49, 100)},
)


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.45])
@pytest.mark.parametrize("coverage", [0.5, 0.75, 0.9])
def test_all_samples_of_up_to_ten_rows(coverage, delta):
    """The probability of a calibration that misses the coverage is at most delta, with exact arithmetic."""
    alpha, largest = 1 - Fraction(coverage), Fraction(0)
    for law in LAWS:
        for m in range(1, 11):
            failed = Fraction(0)
            for sample in combinations_with_replacement(law, m):
                q = set_threshold(np.array(sample), coverage, delta)
                # At -1, every set has every label.
                if q >= 0 and sum(p for v, p in law.items() if v < q) > alpha:
                    failed += multinomial(law, sample)
            largest = max(largest, failed)
    assert largest <= Fraction(delta)
    if (coverage, delta) == (0.5, 0.45):
        assert largest > Fraction(delta) * 3 / 4  # otherwise nothing was tested


def multinomial(law, sample):
    """Probability of a sample in any order."""
    probability = Fraction(factorial(len(sample)))
    for value, p in law.items():
        number = sample.count(value)
        probability *= p**number / factorial(number)
    return probability
