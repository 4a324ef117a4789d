"""Optimal posteriors: the certified search against the paper's iteration and SciPy's solvers; many classifiers.

Run with `python benchmarks/bench_posterior.py [--quick] [--distances kl ...]`.  Times are medians of five in one run,
those of SciPy's solvers of one, stopped after 120 seconds; compare ratios only.
"""

import argparse
import cProfile
import itertools
import pstats
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from pacbayes import DISTANCES, bound, optimal_posterior
from pacbayes.bounds import get_distance

M, DELTA, CAP = 1840, 0.01, 120.0


class TimeUpError(Exception):
    """The cap of a solver's run is reached."""


def profile(H: int, m: int = M) -> NDArray[np.float64]:
    """Risks like those of the paper's grids: rising with the regularisation, with the noise of counted errors."""
    rng = np.random.default_rng(0)
    return rng.binomial(m, np.linspace(0.07, 0.16, H)) / m


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def scipy_solver(risks: NDArray[np.float64], distance: str, method: str) -> tuple[float, float, bool]:
    """Minimise the bound over the simplex with exact gradients; return bound, seconds and whether the cap was hit."""
    H = risks.size
    f = get_distance(distance).bound_function(M, DELTA)
    start = time.perf_counter()
    best = [np.full(H, 1 / H)]

    def value(q: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        if time.perf_counter() - start > CAP:
            raise TimeUpError
        q = np.maximum(q, 1e-300)
        logs = np.log(q * H)
        L, K = min(float(q @ risks), 1.0), max(float(q @ logs), 0.0)
        in_risk, in_kl = f.partials(L, K)
        best[0] = q
        return f(L, K), in_risk * risks + in_kl * (1.0 + logs)

    options = {"maxiter": 1000} | ({"ftol": 1e-12} if method == "SLSQP" else {"gtol": 1e-8})
    capped = False
    try:
        minimize(
            value, best[0], jac=True, method=method, bounds=[(0.0, 1.0)] * H,
            constraints=LinearConstraint(np.ones((1, H)), 1.0, 1.0), options=options,
        )  # fmt: skip
    except TimeUpError:
        capped = True
    taken = time.perf_counter() - start
    q = np.maximum(best[0], 0.0)
    return bound(q / q.sum(), risks, M, distance=distance, delta=DELTA), taken, capped


def compare(sizes: list[int], distances: list[str]) -> None:
    print(f"m = {M}, delta = {DELTA}; bound, and time as a multiple of certified")
    print("| distance | H | certified | ms | fixed-point | times | SLSQP | times | trust-constr | times |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for distance in distances:
        for H in sizes:
            risks = profile(H)
            arguments = {"distance": distance, "delta": DELTA}
            best = optimal_posterior(risks, M, **arguments)
            ours = seconds(lambda risks=risks, arguments=arguments: optimal_posterior(risks, M, **arguments))
            iterate = optimal_posterior(risks, M, method="fixed-point", **arguments)
            row = f"| {distance} | {H} | {best.bound:.9f} | {ours * 1e3:.2f} | {iterate.bound:.9f} | "
            iteration = seconds(
                lambda risks=risks, arguments=arguments: optimal_posterior(risks, M, method="fixed-point", **arguments)
            )
            row += f"{iteration / ours:.1f} |"
            for method in ("SLSQP", "trust-constr"):
                value, taken, capped = scipy_solver(risks, distance, method)
                row += f" {value:.9f} | {'>= ' if capped else ''}{taken / ours:.0f} |"
                assert value >= best.lower_bound, "a solver went below the certificate"
            print(row, flush=True)


def many(H: int) -> None:
    print(f"\nH = {H:.0e} risks, multiples of 1/m: time over numpy.exp of the same array, extra memory in such arrays")
    print("| m | numpy.exp ms | certified | peak memory |\n|---|---|---|---|")
    rng = np.random.default_rng(1)
    for m in (200, 2_000, 20_000):
        risks = rng.integers(0, m // 2, H) / m
        exponential = seconds(lambda risks=risks: np.exp(risks))
        ours = seconds(lambda risks=risks, m=m: optimal_posterior(risks, m), 3)
        tracemalloc.start()
        optimal_posterior(risks, m)
        peak = tracemalloc.get_traced_memory()[1] / risks.nbytes
        tracemalloc.stop()
        print(f"| {m} | {exponential * 1e3:.0f} | {ours / exponential:.1f} | {peak:.2f} |", flush=True)
    times = []
    for size in (H // 100, H // 10, H):
        risks = rng.integers(0, 1000, size) / 2000
        times.append(seconds(lambda risks=risks: optimal_posterior(risks, 2000), 3))
    steps = " and ".join(f"{after / before:.1f}" for before, after in itertools.pairwise(times))
    print(f"ten times as many risks, twice: {steps} times the time")


def print_profile() -> None:
    risks = profile(1990)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(200):
        optimal_posterior(risks, M)
    profiler.disable()
    print("\nProfile of 200 certified searches, H = 1990")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="H = 50 and 200 only, a million risks")
    parser.add_argument("--distances", nargs="*", choices=DISTANCES, default=list(DISTANCES), help="those to compare")
    options = parser.parse_args()
    compare([50, 200] if options.quick else [50, 200, 1990], options.distances)
    many(10**6 if options.quick else 10**7)
    print_profile()


if __name__ == "__main__":
    main()
