"""Twenty adaptive attempts on one validation set: with a ledger false passes are rare, without it they are not.

Rows are of 200 kinds, all equally likely, and a classifier errs on all rows of some kinds.  Every strategy makes its
false statements as close to the truth as doubles allow.
"""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.ledger import Budget, Statement

KINDS, SIZE, CLOSE = 200, 20, 1e-9
DELTA, ATTEMPTS = 0.05, 20


def proved(side, k, n, share, levels):
    """Whether the bounds of an attempt prove its statement, for many runs, as `Statement.is_proved` does for one."""
    errors = k if side == "upper" else n - k
    bounds = np.ones(k.size)
    some = n > 0
    bounds[some] = binomial_upper(errors[some], n[some], levels[some])
    return bounds <= (share if side == "upper" else 1.0 - share)


class Strategy:
    """Independent classifiers of the same risk, each with a false statement about its error rate."""

    told = False

    def __init__(self, m, runs, rng):
        self.m, self.runs, self.rng = m, runs, rng
        self.rows = rng.multinomial(m, np.full(KINDS, 1.0 / KINDS), size=runs)
        self.wrong = self.drawn()

    def drawn(self, among=KINDS, first=0):
        """Error sets of SIZE random kinds."""
        places = self.rng.random((self.runs, among)).argsort(axis=1)[:, :SIZE] + first
        wrong = np.zeros((self.runs, KINDS), dtype=bool)
        np.put_along_axis(wrong, places, True, axis=1)
        return wrong

    def changed(self, number=5):
        """Error sets of which `number` kinds were exchanged."""
        rank = np.where(self.wrong, self.rng.random(self.wrong.shape), 2.0).argsort(axis=1)
        other = np.where(self.wrong, 2.0, self.rng.random(self.wrong.shape)).argsort(axis=1)
        wrong = self.wrong.copy()
        np.put_along_axis(wrong, rank[:, :number], False, axis=1)
        np.put_along_axis(wrong, other[:, :number], True, axis=1)
        return wrong

    def errors(self):
        return (self.rows * self.wrong).sum(axis=1), self.rows.sum(axis=1)

    def propose(self, t):
        """Side of the bound, counts, share and whether the statement is false."""
        self.wrong = self.drawn()
        return ("upper", *self.errors(), SIZE / KINDS - CLOSE, np.ones(self.runs, dtype=bool))

    def learn(self, passed, counts):
        """Use the outcomes."""


class Correlated(Strategy):
    """Versions of one classifier."""

    def propose(self, t):
        self.wrong = self.changed()
        return ("upper", *self.errors(), SIZE / KINDS - CLOSE, np.ones(self.runs, dtype=bool))


class HillClimbing(Strategy):
    """Test a true, weaker statement; keep the classifier if it passed, and then make the false one."""

    def propose(self, t):
        self.is_probe = t % 2 == 0
        share = SIZE / KINDS * (1.0 + 2.0 / np.sqrt(self.m * SIZE / KINDS)) if self.is_probe else SIZE / KINDS - CLOSE
        return ("upper", *self.errors(), share, np.full(self.runs, not self.is_probe))

    def learn(self, passed, counts):
        self.wrong = np.where(passed[:, None] if self.is_probe else False, self.wrong, self.changed(SIZE // 2))


class MoreRows(HillClimbing):
    """The same, with rows added after some outcomes."""

    def learn(self, passed, counts):
        super().learn(passed, counts)
        new = self.rng.multinomial(self.m // 5, np.full(KINDS, 1.0 / KINDS), size=self.runs)
        self.rows = self.rows + new * ~passed[:, None]


class Statements(Correlated):
    """Error rate, recall and precision in turn; the first half of the kinds is the positive class."""

    def propose(self, t):
        if t % 3 == 0:
            return super().propose(t)
        half = KINDS // 2
        missed, alarms = self.drawn(half), self.drawn(half, half)
        hits = (self.rows * ~missed)[:, :half].sum(axis=1)
        if t % 3 == 1:
            n, share = self.rows[:, :half].sum(axis=1), 1.0 - SIZE / half
        else:
            n, share = hits + (self.rows * alarms).sum(axis=1), (half - SIZE) / half
        return "lower", hits, n, share + CLOSE, np.ones(self.runs, dtype=bool)


class Told(Strategy):
    """Ask for the counts of half of the attempts, and make the statement about the best of them."""

    told = True

    def __init__(self, m, runs, rng):
        super().__init__(m, runs, rng)
        self.best, self.fewest = self.wrong, np.full(runs, m + 1)

    def propose(self, t):
        self.asks = t < ATTEMPTS // 2
        self.wrong = self.drawn() if self.asks else self.best
        return ("upper", *self.errors(), SIZE / KINDS - CLOSE, np.ones(self.runs, dtype=bool))

    def learn(self, passed, counts):
        better = counts < self.fewest
        self.best, self.fewest = np.where(better[:, None], self.wrong, self.best), np.minimum(counts, self.fewest)


def false_passes(strategy, m, runs, ledger, seed=0):
    """Runs with at least one false pass."""
    play = strategy(m, runs, np.random.default_rng(seed))
    budgets, failed = [Budget(DELTA)] * runs, np.zeros(runs, dtype=bool)
    for t in range(ATTEMPTS):
        side, k, n, share, is_false = play.propose(t)
        levels = np.array([one.level for one in budgets]) if ledger else np.full(runs, DELTA)
        passed = proved(side, k, n, share, levels)
        failed |= passed & is_false
        values = Statement(at_most=0.5).n_possible_counts(m) if play.told and play.asks else 1
        budgets = [one.after(bool(p), values) for one, p in zip(budgets, passed, strict=True)]
        play.learn(passed, k)
    return int(failed.sum())


STRATEGIES = [Strategy, Correlated, HillClimbing, MoreRows, Statements, Told]


def check(strategy, m, runs):
    found, without = (false_passes(strategy, m, runs, ledger) for ledger in (True, False))
    print(f"{strategy.__name__}, m={m}: {found / runs:.4f} with a ledger, {without / runs:.4f} without")
    assert found / runs <= DELTA + 2.0 * np.sqrt(DELTA * (1.0 - DELTA) / runs)
    assert binom.sf(without - 1, runs, DELTA) < 0.001


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_false_passes_are_rare_with_a_ledger_alone(strategy):
    check(strategy, 100, 300)


@pytest.mark.slow
@pytest.mark.parametrize("m", [100, 500, 2000])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_false_passes_in_2000_runs(strategy, m):
    check(strategy, m, 2000)


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_the_vectorised_rule_is_that_of_the_ledger(side):
    k, levels = np.arange(101), np.full(101, 0.0125)
    share, name = (0.1, "at_most") if side == "upper" else (0.9, "recall")
    statement = Statement(**{name: share}, pos_label=None if side == "upper" else 1)
    one_by_one = [statement.is_proved({name: (int(one), 100)}, 0.0125) for one in k]
    assert proved(side, k, np.full(101, 100), share, levels).tolist() == one_by_one
