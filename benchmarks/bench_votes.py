"""Votes: the tandem search with proof against SLSQP, and what the bounds say about forests on eight data sets.

Run with `python benchmarks/bench_votes.py [--quick]`.  Times are processor time, medians of five (SLSQP: one run,
stopped after 120 seconds, the cap counted), all in one run; only their ratios mean something on another machine.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from pacbayes import load_dataset
from pacbayes.bounds import get_distance
from pacbayes.certificates.binomial import binomial_upper
from pacbayes.posteriors.votes.vote import optimal_vote
from pacbayes.posteriors.votes.vote_bounds import vote_bound

DELTA, CAP = 0.05, 120.0
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


def forest(name: str, trees: int, seed: int = 0) -> tuple[Rows, Rows]:
    """Errors of the trees of a forest, grown on half of the rows, on a quarter for validation and one for test."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, validation, test = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    grown = RandomForestClassifier(trees, random_state=seed, n_jobs=1).fit(X[train], y[train])
    validated, tested = (
        np.array([tree.predict(X[rows]) != y[rows] for tree in grown.estimators_]) for rows in (validation, test)
    )
    return validated, tested


def shared_difficulty(H: int, m: int) -> Rows:
    """Errors on rows of different difficulty, most of them easy."""
    rng = np.random.default_rng(0)
    return rng.random((H, m)) < np.clip(rng.beta(0.3, 1.2, m) * rng.uniform(0.7, 1.3, (H, 1)), 0, 1)


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def minimise(errors: Rows, gradient: bool, best: Any) -> None:
    """Minimise the tandem bound over the simplex with SLSQP, writing every point where it looks into `best`."""
    H, m = errors.shape
    f = get_distance("kl").bound_function(m, DELTA)
    losses = errors.astype(np.float64) @ errors.T / m

    def value(q: NDArray[np.float64]) -> Any:
        q = np.maximum(q, 1e-300)
        logs, image = np.log(q * H), losses @ q
        T, K = min(float(q @ image), 1.0), max(float(q @ logs), 0.0)
        best[:] = q
        if not gradient:
            return 4 * f(T, 2 * K)
        in_risk, in_kl = f.partials(T, 2 * K)
        return 4 * f(T, 2 * K), 8 * in_risk * image + 8 * in_kl * (1.0 + logs)

    minimize(
        value, np.full(H, 1 / H), jac=gradient, method="SLSQP", bounds=[(0.0, 1.0)] * H,
        constraints=LinearConstraint(np.ones((1, H)), 1.0, 1.0), options={"maxiter": 1000, "ftol": 1e-12},
    )  # fmt: skip


def slsqp(errors: Rows, gradient: bool = True) -> tuple[float, float, bool]:
    """Return SLSQP's bound, its seconds and whether it was stopped; in a process, as one step may take minutes."""
    H, m = errors.shape
    context = multiprocessing.get_context("fork")
    best = context.RawArray("d", H)
    best[:] = [1 / H] * H
    before = _children()
    process = context.Process(target=minimise, args=(errors, gradient, best))
    process.start()
    process.join(CAP)
    capped = process.is_alive()
    if capped:
        process.kill()
        process.join()
    q = np.maximum(np.array(best), 0.0)
    return vote_bound(q / q.sum(), errors, m, delta=DELTA), _children() - before, capped


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(problems: dict[str, Rows]) -> None:
    print(f"delta = {DELTA}; the tandem bound, and the time of SLSQP as a multiple of ours, with and without gradients")
    print("| errors | H | m | bound | gap | inner problems | ms | SLSQP's bound | times | times, no gradients |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, errors in problems.items():
        H, m = errors.shape
        best = optimal_vote(errors, m, delta=DELTA)
        ours = seconds(lambda errors=errors, m=m: optimal_vote(errors, m, delta=DELTA))
        row = f"| {name} | {H} | {m} | {best.bound:.7f} | {best.gap:.0e} | {best.n_iter} | {ours * 1e3:.1f} |"
        value, taken, capped = slsqp(errors)
        assert value >= best.lower_bound, "SLSQP went below the certificate"
        row += f" {value:.7f} | {'>= ' if capped else ''}{taken / ours:.0f} |"
        if H <= 100:
            _, taken, capped = slsqp(errors, gradient=False)
            row += f" {'>= ' if capped else ''}{taken / ours:.0f} |"
        print(row if H <= 100 else f"{row} |", flush=True)


def error_of(weights: NDArray[np.float64], errors: Rows) -> float:
    """Return the share of rows on which the vote errs, ties counted as errors."""
    return float((weights @ errors >= 0.5 - 1e-12).mean())


def bounds_of_forests(names: tuple[str, ...], trees: int) -> None:
    print(f"\n{trees} trees on half of the rows, bounds from a quarter at delta = {DELTA}, test errors on a quarter")
    print("hold-out: the exact binomial limit of the uniform vote, whose weights are not chosen")
    print("| data | m | first order | test | tandem | test | cantelli | test | uniform: hold-out | tandem | test |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        errors, tested = forest(name, trees)
        m = errors.shape[1]
        row = f"| {name} | {m} |"
        for bound in ("first-order", "tandem", "cantelli"):
            vote = optimal_vote(errors, m, bound=bound, delta=DELTA)
            row += f" {vote.bound:.3f} | {error_of(vote.weights, tested):.3f} |"
        uniform = np.full(trees, 1 / trees)
        limit = float(binomial_upper(round(m * error_of(uniform, errors)), m, DELTA))
        row += f" {limit:.3f} | {vote_bound(uniform, errors, m, delta=DELTA):.3f} | {error_of(uniform, tested):.3f} |"
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 100 classifiers, and the small data sets only")
    options = parser.parse_args()
    small = DATA[:5]
    problems = {name: forest(name, 100)[0] for name in small} | {"drawn": shared_difficulty(100, 1000)}
    if not options.quick:
        problems |= {"drawn, many": shared_difficulty(1990, 1000), "banknote, many": forest("banknote", 1990)[0]}
    compare(problems)
    bounds_of_forests(small if options.quick else DATA, 100)


if __name__ == "__main__":
    main()
