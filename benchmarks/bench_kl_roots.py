"""Both kl roots of many pairs (p, x): `kl_roots` against a loop of brentq and against SciPy's vectorised root finder.

Run with `python benchmarks/bench_kl_roots.py [--pairs N]`.  One run, medians of five; the loop is timed on at most
100 000 evenly spread pairs (the output says how many) and scaled.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, elementwise

from pacbayes import kl_roots

Array = NDArray[np.float64]


def brentq_loop(p: Array, x: Array) -> tuple[Array, Array]:
    """Find both roots of each pair by brentq on the plain formula."""
    lower, upper = np.empty_like(p), np.empty_like(p)
    log, smallest, largest = math.log, 1e-300, 1.0 - 2.0**-53
    for i, (a, b) in enumerate(zip(p.tolist(), x.tolist(), strict=True)):
        constant = a * log(a) + (1.0 - a) * log(1.0 - a) - b

        def excess(r: float, a: float = a, constant: float = constant) -> float:
            return constant - a * log(r) - (1.0 - a) * log(1.0 - r)

        lower[i] = brentq(excess, smallest, a) if excess(smallest) > 0 else 0.0
        upper[i] = brentq(excess, a, largest) if excess(largest) > 0 else 1.0
    return lower, upper


def find_root(p: Array, x: Array) -> tuple[Array, Array]:
    """Find both roots by scipy.optimize.elementwise.find_root on the plain formula."""

    def excess(r: Array, p: Array, x: Array) -> Array:
        return p * np.log(p / r) + (1.0 - p) * np.log((1.0 - p) / (1.0 - r)) - x

    lower = elementwise.find_root(excess, (np.full_like(p, 1e-300), p), args=(p, x))
    upper = elementwise.find_root(excess, (p, np.full_like(p, 1.0 - 2.0**-53)), args=(p, x))
    return np.where(lower.success, lower.x, 0.0), np.where(upper.success, upper.x, 1.0)


def seconds(function: Callable[[Array, Array], object], p: Array, x: Array, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(p, x)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    pairs = parser.parse_args().pairs
    rng = np.random.default_rng(0)
    p, x = rng.uniform(0.001, 0.999, pairs), rng.exponential(0.1, pairs)

    part = slice(None, None, max(1, pairs // 100_000))
    for name, other in (("brentq loop", brentq_loop), ("find_root", find_root)):
        roots = zip(kl_roots(p[part], x[part]), other(p[part], x[part]), strict=True)
        difference = max(np.abs(a - b).max() for a, b in roots)
        print(f"largest difference from {name}: {difference:.1e}")

    ours = seconds(kl_roots, p, x, 5)
    count = p[part].size
    loop = seconds(brentq_loop, p[part], x[part], 5) * pairs / count
    scipy = seconds(find_root, p, x, 5)
    print(f"{pairs} pairs, both roots, medians of five runs (the loop: on {count} pairs, scaled)")
    print(f"kl_roots            {ours / pairs * 1e9:9.0f} ns a pair")
    print(f"find_root           {scipy / pairs * 1e9:9.0f} ns a pair   {scipy / ours:7.1f} times ours")
    print(f"loop of brentq      {loop / pairs * 1e9:9.0f} ns a pair   {loop / ours:7.1f} times ours")


if __name__ == "__main__":
    main()
