"""Majority votes: the certified tandem search against SLSQP, and bounds on votes of forests on eight data sets.

Run with `python benchmarks/bench_votes.py [--quick] [--search | --forests]`.  Times are processor time with one thread,
all in one run: medians of at least five, before and after those of SLSQP, which are medians of five, or of one that
takes more than a second; it is stopped after 60 seconds.  (With several threads BLAS waits actively, which processor
time counts: SLSQP on small matrices then takes up to ten times as long.)  Compare ratios only.  SLSQP certifies
nothing.  It runs with function values alone, as SciPy's default, and with exact gradients; timed until it stops, and
until its bound is within 1e-6 of our lower bound, which is our stopping rule and unknown to SLSQP.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from pacbayes import load_dataset
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.bounds import get_distance
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates import primary_weights
from pacbayes.certificates.levels import hedged_level, primary_level
from pacbayes.certificates.voting import float_weights
from pacbayes.posteriors.optimal_vote import optimal_vote
from pacbayes.posteriors.vote_bounds import vote_bound

DELTA, HEDGE, CAP, CLOSE, REPEATS = 0.05, 0.1, 60, 1e-6, 5
DATA = ("wdbc", "ionosphere", "mammographic", "haberman", "banknote", "digits", "waveform", "spambase")

Rows = NDArray[np.bool_]


def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "digits":
        X, y = load_digits(return_X_y=True)
        y = y % 2
    else:
        data = load_dataset(name)
        X, y = data.data, data.target
    return X, y


def parts_of(name: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], list[NDArray[np.int64]]]:
    """Rows, labels, and which rows train (half of them), validate (a quarter) and test (a quarter)."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X, y, np.split(order, [len(y) // 2, 3 * len(y) // 4])


def forest(name: str, trees: int, seed: int = 0) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Errors of the trees of a forest, grown on half of the rows, on a quarter for validation and one for test.

    And their out-of-bag errors, as rates times the number of training rows, which propose the weights of our vote.
    """
    X, y, (train, validation, test) = parts_of(name, seed)
    grown = RandomForestClassifier(trees, random_state=seed).fit(X[train], y[train])
    validated, tested = (errors_of(grown, X[rows], y[rows]) for rows in (validation, test))
    outside = left_out(grown, train.size)
    errors = errors_of(grown, X[train], y[train]) & outside
    return validated, tested, errors.sum(axis=1) / outside.sum(axis=1) * train.size


def errors_of(grown: RandomForestClassifier, X: NDArray[np.float64], y: NDArray[np.int64]) -> Rows:
    """Errors of each tree of a forest by row."""
    y_pred = np.array([tree.predict(X) for tree in grown.estimators_]).astype(int)
    return np.asarray(grown.classes_[y_pred] != y)


def left_out(grown: RandomForestClassifier, n: int) -> Rows:
    """Mask of the out-of-bag rows of each tree of a forest, among the n training rows."""
    return np.array([np.bincount(bag, minlength=n) == 0 for bag in grown.estimators_samples_])


def shared_difficulty(H: int, m: int) -> Rows:
    """Errors on rows of different difficulty, most of them easy."""
    rng = np.random.default_rng(0)
    return rng.random((H, m)) < np.clip(rng.beta(0.3, 1.2, m) * rng.uniform(0.7, 1.3, (H, 1)), 0, 1)


def seconds(function: Callable[[], object]) -> list[float]:
    """Return the processor times of a function, run five times and for a fifth of a second at least."""
    times: list[float] = []
    while len(times) < REPEATS or sum(times) < 0.2:
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return times


def minimise(errors: Rows, gradient: bool, goal: float, best: Any, when: Any) -> None:
    """Minimise the tandem bound over the simplex with SLSQP, writing every point where it looks into `best`.

    And into `when` the processor time at which a point, as weights with the sum one, first had a bound within `goal`.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (CAP, CAP))  # one step may take minutes
    start = time.process_time()
    H, m = errors.shape
    f = get_distance("kl").bound_function(m, DELTA)
    losses = errors.astype(np.float64) @ errors.T / m

    def value(q: NDArray[np.float64]) -> Any:
        q = np.maximum(q, 1e-300)
        logs, image = np.log(q * H), losses @ q
        T, K = min(float(q @ image), 1.0), max(float(q @ logs), 0.0)
        best[:] = q
        found = 4 * f(T, 2 * K)
        if when[0] < 0.0 and found <= goal and vote_bound(q / q.sum(), errors, m, delta=DELTA) <= goal:
            when[0] = time.process_time() - start
        if not gradient:
            return found
        in_risk, in_kl = f.partials(T, 2 * K)
        return found, 8 * in_risk * image + 8 * in_kl * (1.0 + logs)

    minimize(
        value, np.full(H, 1 / H), jac=gradient, method="SLSQP", bounds=[(0.0, 1.0)] * H,
        constraints=LinearConstraint(np.ones((1, H)), 1.0, 1.0), options={"maxiter": 1000, "ftol": 1e-12},
    )  # fmt: skip


class Tried(NamedTuple):
    """SLSQP's bound, its seconds until that was within `CLOSE` of a lower bound, if it was, and in all; if stopped."""

    bound: float
    close: float | None
    seconds: float
    capped: bool

    def times(self, ours: float) -> str:
        """Say how many times ours it took until it stopped, and to come as close as we do."""
        close = "not reached" if self.close is None else f"{self.close / ours:.0f}"
        return f"{'>= ' if self.capped else ''}{self.seconds / ours:.0f} | {close}"


def slsqp(errors: Rows, lower: float, gradient: bool) -> Tried:
    """Let SLSQP try, several times where that is quick, and return the median."""
    runs = [slsqp_once(errors, lower, gradient)]
    while len(runs) < REPEATS and runs[0].seconds < 1.0:
        runs.append(slsqp_once(errors, lower, gradient))
    return sorted(runs, key=lambda tried: tried.close or tried.seconds)[len(runs) // 2]


def slsqp_once(errors: Rows, lower: float, gradient: bool) -> Tried:
    """Let SLSQP try, in a process that the system ends when its time is up."""
    H, m = errors.shape
    context = multiprocessing.get_context("fork")
    best = context.RawArray("d", H)
    best[:] = [1 / H] * H
    when = context.RawArray("d", [-1.0])
    before = _children()
    process = context.Process(target=minimise, args=(errors, gradient, lower + CLOSE, best, when))
    process.start()
    process.join()
    capped = process.exitcode != 0
    q = np.maximum(np.array(best), 0.0)
    bound = vote_bound(q / q.sum(), errors, m, delta=DELTA)
    return Tried(bound, when[0] if when[0] >= 0.0 else None, _children() - before, capped)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(problems: dict[str, Rows]) -> None:
    print(f"delta = {DELTA}; the tandem bound, and the time of SLSQP as a multiple of ours: until it stops, and until")
    print(f"it is within {CLOSE:g} of our lower bound; what it is above the lower bound when it stops.")
    columns = ["errors", "H", "m", "bound", "gap", "inner problems", "ms"]
    for way in ("SLSQP", "with gradients"):
        columns += [f"{way}: above", "until it stops", f"within {CLOSE:g}"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for name, errors in problems.items():
        H, m = errors.shape
        search = partial(optimal_vote, errors, m, delta=DELTA)
        best, times = search(), seconds(search)
        tried = [slsqp(errors, best.lower_bound, gradient) for gradient in (False, True)]
        assert all(one.bound >= best.lower_bound for one in tried), "SLSQP went below the certificate"
        ours = statistics.median(times + seconds(search))
        cells = [name, f"{H}", f"{m}", f"{best.bound:.7f}", f"{best.gap:.0e}", f"{best.n_iter}", f"{ours * 1e3:.2f}"]
        cells += [f"{one.bound - best.lower_bound:.1e} | {one.times(ours)}" for one in tried]
        print(f"| {' | '.join(cells)} |", flush=True)


def error_of(weights: NDArray[np.float64], errors: Rows) -> float:
    """Return the share of rows on which the vote errs, ties counted as errors."""
    return float((weights @ errors >= 0.5 - 1e-12).mean())


Vote = tuple[float, float]  # bound and test error


def hedged(errors: Rows, tested: Rows, out_of_bag: NDArray[np.float64]) -> Vote:
    """Our bound for the vote: the smallest of those of votes that are fixed on the training rows."""
    trees, m = errors.shape
    rules = primary_weights(np.arange(trees), out_of_bag, trees)
    votes = [float_weights(rule.weights) for rule in rules if rule.voting == "majority"]
    # The first is the primary rule; the others share the hedge.
    others = len(votes) - 1
    levels = [primary_level(DELTA, HEDGE), *[hedged_level(DELTA, HEDGE, others)] * others]
    bounds = [
        float(binomial_upper(round(m * error_of(weights, errors)), m, level))
        for weights, level in zip(votes, levels, strict=True)
    ]
    best = int(np.argmin(bounds))
    return bounds[best], error_of(votes[best], tested)


def out_of_bag_votes(name: str, trees: int, seed: int) -> list[Vote]:
    """Votes of a forest grown on the training *and* validation rows: uniform, first order and tandem, out of bag."""
    X, y, (train, validation, test) = parts_of(name, seed)
    rows = np.concatenate([train, validation])
    grown = RandomForestClassifier(trees, random_state=seed).fit(X[rows], y[rows])
    own = left_out(grown, rows.size)
    errors, tested = errors_of(grown, X[rows], y[rows]) & own, errors_of(grown, X[test], y[test])
    uniform = np.full(trees, 1 / trees)
    # The smaller of two bounds: half of delta each.
    least = min(
        vote_bound(uniform, errors, rows.size, bound=bound, delta=DELTA / 2, validated=own)
        for bound in ("first-order", "tandem")
    )
    found = [(least, error_of(uniform, tested))]
    for bound in ("first-order", "tandem"):
        vote = optimal_vote(errors, rows.size, bound=bound, delta=DELTA, validated=own)
        found.append((vote.bound, error_of(vote.weights, tested)))
    return found


def votes_of(name: str, trees: int, seed: int) -> list[Vote]:
    """Return bound and test error of all votes of a data set, in the order of the table's columns."""
    errors, tested, out_of_bag = forest(name, trees, seed)
    m = errors.shape[1]
    found = []
    for bound in ("first-order", "tandem", "cantelli"):
        vote = optimal_vote(errors, m, bound=bound, delta=DELTA)
        found.append((vote.bound, error_of(vote.weights, tested)))
    uniform = np.full(trees, 1 / trees)
    bound = float(binomial_upper(round(m * error_of(uniform, errors)), m, DELTA))
    found += [(bound, error_of(uniform, tested)), hedged(errors, tested, out_of_bag)]
    return found + out_of_bag_votes(name, trees, seed)


def bounds_of_forests(names: tuple[str, ...], trees: int, seeds: int) -> None:
    print(f"\nForests of {trees} trees: bounds at delta = {DELTA} / test errors on a quarter of the rows, in percent;")
    print(f"means of {seeds} splits.  Grown on half, bounds from a quarter; out of bag: grown on both parts.")
    print(f"holdout: the exact bound for the uniform vote.  ours: the majority vote, hedge={HEDGE}.  At most 100.")
    kinds = ("first order", "tandem", "cantelli", "uniform, holdout", "ours")
    kinds += ("out of bag: uniform", "first order", "tandem")
    print(f"| data | m | {' | '.join(kinds)} |")
    print(f"|---|---|{'---|' * len(kinds)}")
    all_of_them = []
    for name in names:
        found = 100 * np.mean(np.minimum([votes_of(name, trees, seed) for seed in range(seeds)], 1.0), axis=0)
        all_of_them.append(found)
        m = len(load(name)[1]) * 3 // 4 - len(load(name)[1]) // 2
        print(f"| {name} | {m} | {' | '.join(f'{b:.1f} / {e:.1f}' for b, e in found)} |", flush=True)
    means = np.mean(all_of_them, axis=0)
    print(f"| mean | | {' | '.join(f'{b:.1f} / {e:.1f}' for b, e in means)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 100 classifiers, and the small data sets only")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--search", action="store_true", help="only the search against SLSQP")
    only.add_argument("--forests", action="store_true", help="only the table of forests, which measures no time")
    options = parser.parse_args()
    small = DATA[:5]
    if not options.forests:
        problems = {name: forest(name, 100)[0] for name in small} | {"drawn": shared_difficulty(100, 1000)}
        if not options.quick:
            problems |= {"drawn, many": shared_difficulty(1990, 1000), "banknote, many": forest("banknote", 1990)[0]}
        with limit_to_one_thread():
            compare(problems)
    if not options.search:
        bounds_of_forests(small if options.quick else DATA, 100, 2 if options.quick else 10)


if __name__ == "__main__":
    main()
