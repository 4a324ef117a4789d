"""What a reproduction works with: data sets, seeds, grids, cache and cores; it hands out runs and their posteriors."""

import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes.paper.protocol import DELTA, LAMBDAS, LARGE, NINE, PROTOCOLS, SPLIT_SCHEMES, Protocol, small_grid
from pacbayes.paper.runs import Arrays, Cache, Run, digest, train
from pacbayes.posteriors import Posterior, optimal_posterior

#: Data sets of `--quick`: the three with the smallest samples but one, of which one has no errors at small lambda.
QUICK = ("ionosphere", "banknote", "haberman")
#: What the letters of a solver's ending mean; T is ours.
LETTERS = "E error, R restoration failed, M too many iterations (the paper's letters), T time limit (ours)"
#: Seconds to train the 1990 SVMs with a split for each and with one for all, on two cores (results/main.csv).
SECONDS = {
    "spambase": (500.0, 20.0), "bupa-leaky": (14.0, 0.2), "bupa": (18.0, 0.3), "mammographic": (30.0, 0.6),
    "wdbc": (20.0, 0.4), "banknote": (42.0, 1.4), "mushroom-paper": (630.0, 9.6), "ionosphere": (21.0, 0.3),
    "waveform": (181.0, 4.1), "haberman": (9.1, 0.3),
}  # fmt: skip
# The quick grids take every so-manyth value.
_QUICK_STEP = 20


@dataclass(frozen=True)
class Workspace:
    """Settings of a reproduction; hands out runs.

    Attributes
    ----------
    cache : Cache
    quick : bool
        Three data sets, every twentieth lambda, one seed.
    full : bool
        The paper's own counts: 1000 starts of the convex-concave procedure instead of 100, Ipopt on all seeds instead
        of the first, 5 seeds of independent splits also on the three large data sets.
    seeds : int or None
        Number of seeds; None for 10 where all classifiers share a split, 5 where each has its own (1 on the three large
        data sets unless `full`).
    splits : tuple of str
        Split schemes.
    jobs : int or None
        Threads, None for all cores.
    ipopt_seconds : float
        Time limit of one Ipopt solve, in processor time.
    quiet : bool
        No line on stderr for each run.
    only : tuple of str
        The data sets; all if empty.
    """

    cache: Cache
    quick: bool = False
    full: bool = False
    seeds: int | None = None
    splits: tuple[str, ...] = SPLIT_SCHEMES
    jobs: int | None = None
    ipopt_seconds: float = 30.0
    quiet: bool = True
    only: tuple[str, ...] = ()
    protocols: dict[str, Protocol] = field(default_factory=lambda: dict(PROTOCOLS))

    @classmethod
    def at(cls, folder: Path, **settings: Any) -> "Workspace":
        """Workspace with its cache in a folder."""
        return cls(Cache(folder), **settings)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The paper's data sets, in its order."""
        known = tuple(name for name in NINE if name in QUICK) if self.quick and not self.only else NINE
        return tuple(name for name in known if name in self.only) if self.only else known

    @property
    def primary(self) -> str:
        """The split scheme of tables that need one only: the one that explains the paper's main table best."""
        return "overlapping" if "overlapping" in self.splits else self.splits[0]

    def seeds_of(self, dataset: str, split: str) -> range:
        """Seeds of a data set: ten for one split, whose samples decide much; five for many; one if slow."""
        if self.seeds is not None:
            return range(self.seeds)
        if self.quick:
            return range(1)
        if split != "independent":
            return range(10)
        return range(1 if dataset in LARGE and not self.full else 5)

    @property
    def grid(self) -> FloatArray:
        """The paper's 1990 lambdas."""
        return np.asarray(LAMBDAS[::_QUICK_STEP] if self.quick else LAMBDAS)

    @property
    def second_grid(self) -> FloatArray:
        """The paper's 500 lambdas from 1e-5 to 5."""
        grid = small_grid()
        return np.concatenate([grid[:9], grid[9::_QUICK_STEP]]) if self.quick else grid

    def protocol(self, dataset: str, split: str) -> Protocol:
        """Protocol of a data set."""
        return self.protocols[dataset].with_split(split)

    def run(self, dataset: str, split: str, seed: int, lambdas: FloatArray | None = None) -> Run:
        """Classifiers of a data set for the paper's grid, or another."""
        return self.train(dataset, self.protocol(dataset, split), seed, self.grid if lambdas is None else lambdas)

    def train(self, dataset: str, protocol: Protocol, seed: int, lambdas: FloatArray) -> Run:
        """Run under any protocol."""
        self.say(f"{dataset}: {lambdas.size} classifiers, {protocol.split} splits, {protocol}, seed {seed}")
        return train(dataset, lambdas, protocol, seed, self.cache, self.jobs)

    def seconds(self, dataset: str, split: str) -> float:
        """Estimate how long all runs of a data set take to train, from those of the committed results."""
        both = {"independent": 0, "shared": 1, "overlapping": 1}
        return SECONDS[dataset][both[split]] * len(self.seeds_of(dataset, split)) * self.grid.size / LAMBDAS.size

    def runs(self, dataset: str, split: str, lambdas: FloatArray | None = None) -> list[Run]:
        """Run for every seed."""
        return [self.run(dataset, split, seed, lambdas) for seed in self.seeds_of(dataset, split)]

    def size(self, H: int) -> int:
        """Count the classifiers that stand for the first H of the paper's grid: H itself, or a twentieth."""
        return max(10, H // _QUICK_STEP) if self.quick else H

    def say(self, text: str) -> None:
        """Tell on stderr what is being done."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)


def solve(run: Run, distance: str, constant: str = "paper", method: str = "certified", **options: Any) -> Posterior:
    """Posterior of a run with the paper's delta."""
    return optimal_posterior(
        run.risks, run.m, distance=distance, delta=DELTA, constant=constant, method=method, **options
    )


def timed_solve(space: Workspace, run: Run, distance: str, constant: str, method: str) -> tuple[Posterior, float]:
    """Posterior, and the processor time that it took when it was computed first: that is kept."""
    key = _key(run, distance, constant) | {"method": method, "what": "seconds"}
    start = time.process_time()
    posterior = solve(run, distance, constant, method)
    took = {"seconds": np.array(time.process_time() - start)}
    label = f"seconds-{run.dataset}-{distance}-{method}-{run.errors.size}"
    return posterior, float(space.cache.get(label, key, lambda: took)["seconds"])


def error_of(posterior: Posterior, run: Run) -> float:
    """Average test error of a posterior, the paper's T."""
    return float(posterior.weights @ run.test_risks)


def kept_ipopt(
    space: Workspace, run: Run, distance: str, constant: str = "paper", most: float = math.inf
) -> dict[str, Any]:
    """Bound, weights, letter, time and message of Ipopt in the paper's formulation, from the cache if there.

    A solve has the workspace's time limit, or `most` seconds if that is less.
    """
    limit = min(space.ipopt_seconds, most)
    key = _key(run, distance, constant) | {"limit": limit, "what": "ipopt, paper"}

    def compute() -> Arrays:
        space.say(f"{run.dataset}: Ipopt, paper's formulation, {distance}, H = {run.errors.size}")
        start = time.process_time()
        posterior = solve(run, distance, constant, "ipopt", formulation="paper", time_limit=limit)
        return {
            "bound": np.array(posterior.bound),
            "weights": posterior.weights,
            "letter": np.array(posterior.details["status"]),
            "message": np.array(posterior.message),
            "seconds": np.array(time.process_time() - start),
        }

    kept = space.cache.get(f"ipopt-{run.dataset}-{distance}-{run.errors.size}", key, compute)
    return {
        "bound": float(kept["bound"]), "weights": kept["weights"], "letter": str(kept["letter"]),
        "message": str(kept["message"]), "seconds": float(kept["seconds"]),
        "test_error": float(kept["weights"] @ run.test_risks),
    }  # fmt: skip


def _key(run: Run, distance: str, constant: str) -> dict[str, Any]:
    """Everything that a posterior of a run depends on."""
    return {
        "risks": digest(run.errors), "m": run.m, "distance": distance, "constant": constant, "delta": DELTA,
    }  # fmt: skip
