"""Effect of starts: minima found by Ipopt, and the convex-concave procedure next to the paper's columns.

Run with `python benchmarks/bench_starts.py [--starts N]`, a few minutes.  The profiles are synthetic: their means at
H = 50 were fitted to the paper's convex-concave means; ranges and standard deviations were not.  The paper's procedure
stops when a round lowers the bound by less than 1e-5; "in 100 rounds" is one start without this rule.
"""

import argparse
from typing import Any

import numpy as np

from pacbayes import DISTANCES, bound, optimal_posterior
from pacbayes.paper.protocol import PROFILES, profile_risks

PAPER: dict[str, Any] = {"delta": 0.01, "constant": "paper"}
# The paper's convex-concave columns, H = 50, 1000 starts: range, mean and standard deviation.
PRINTED = {
    "spambase": (0.16632, 0.19290, 0.18257, 0.00301),
    "bupa": (0.23380, 0.26191, 0.24741, 0.00412),
    "mammographic": (0.24760, 0.25558, 0.25190, 0.00116),
    "wdbc": (0.13061, 0.13659, 0.13320, 0.00085),
    "ionosphere": (0.12284, 0.13132, 0.12631, 0.00119),
    "waveform": (0.06353, 0.06711, 0.06525, 0.00061),
    "haberman": (0.34857, 0.36011, 0.35417, 0.00175),
}


def minima(starts: int) -> None:
    print(f"\nIpopt (lifted), H = 50, {starts} random starts: number of distinct bounds (to 1e-6) of converged runs,")
    print("runs that did not converge, largest distance above the certified lower bound\n")
    print("| profile |" + "".join(f" {distance} |" for distance in DISTANCES))
    print("|---|" + "---|" * len(DISTANCES))
    for name in PROFILES:
        risks, m = profile_risks(name, 50)
        cells = []
        for distance in DISTANCES:
            lower = optimal_posterior(risks, m, distance=distance, **PAPER).lower_bound
            arguments = PAPER | {"distance": distance, "method": "ipopt"}
            runs = [optimal_posterior(risks, m, random_state=seed, **arguments) for seed in range(starts)]
            solved = np.sort([run.bound for run in runs if run.converged])
            distinct = 1 + int(np.count_nonzero(np.diff(solved) > 1e-6))
            cells.append(f"{distinct}, {starts - solved.size}, {solved[-1] - lower:.0e}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def procedure(starts: int) -> None:
    print(f"\nConvex-concave procedure, H = 50: the paper's columns, 1000 random starts, {starts} runs of each form\n")
    print("| profile | the paper's CCP | bounds of starts | largest fall | in 100 rounds | one-sided above optimum |")
    print("|---|---|---|---|---|---|")
    for name, (low, high, mean, std) in PRINTED.items():
        risks, m = profile_risks(name, 50)
        q = np.random.default_rng(0).exponential(size=(1000, 50))
        bounds = np.array([bound(w / w.sum(), risks, m, **PAPER) for w in q])
        paper = PAPER | {"method": "ccp", "formulation": "paper"}
        stuck = optimal_posterior(risks, m, n_init=starts, tol=1e-5, **paper).details
        fall = (stuck["start_bounds"] - stuck["bounds"]).max()
        drift = optimal_posterior(risks, m, tol=1e-12, **paper).details["trace"]
        moved = optimal_posterior(risks, m, method="ccp", n_init=starts, **PAPER).details
        lower = optimal_posterior(risks, m, **PAPER).lower_bound
        print(
            f"| {name} | [{low:.5f}, {high:.5f}] {mean:.5f} ± {std:.5f} "
            f"| [{bounds.min():.5f}, {bounds.max():.5f}] {bounds.mean():.5f} ± {bounds.std(ddof=1):.5f} "
            f"| {fall:.1e} | {drift[0] - drift[-1]:.1e} | {moved['bounds'].max() - lower:.0e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=20)
    starts = parser.parse_args().starts
    minima(starts)
    procedure(starts)


if __name__ == "__main__":
    main()
