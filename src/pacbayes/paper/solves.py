"""Posteriors of a run: the certified minimum, and the solvers of the paper, whose results are kept."""

import math
import time
from typing import Any

import numpy as np

from pacbayes.paper.cache import Arrays, digest
from pacbayes.paper.protocol import DELTA
from pacbayes.paper.runs import Run
from pacbayes.paper.workspace import Workspace
from pacbayes.posteriors import Posterior, optimal_posterior

#: What the letters of a solver's ending mean; T is ours.
LETTERS = "E error, R restoration failed, M too many iterations (the paper's letters), T time limit (ours)"


def solve(run: Run, distance: str, constant: str = "paper", method: str = "certified", **options: Any) -> Posterior:
    """Return a posterior of a run with the paper's delta."""
    return optimal_posterior(
        run.risks, run.m, distance=distance, delta=DELTA, constant=constant, method=method, **options
    )


def timed_solve(space: Workspace, run: Run, distance: str, constant: str, method: str) -> tuple[Posterior, float]:
    """Return a posterior, and the processor time that it took when it was computed first: that is kept."""
    key = _key(run, distance, constant) | {"method": method, "what": "seconds"}
    start = time.process_time()
    posterior = solve(run, distance, constant, method)
    took = {"seconds": np.array(time.process_time() - start)}
    label = f"seconds-{run.dataset}-{distance}-{method}-{run.errors.size}"
    return posterior, float(space.cache.get(label, key, lambda: took)["seconds"])


def error_of(posterior: Posterior, run: Run) -> float:
    """Return the average test error of a posterior, the paper's T."""
    return float(posterior.weights @ run.test_risks)


def kept_ipopt(
    space: Workspace, run: Run, distance: str, constant: str = "paper", most: float = math.inf
) -> dict[str, Any]:
    """Return bound, weights, letter, time and message of Ipopt in the paper's formulation, from the cache if there.

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
    """Return what every posterior of a run depends on."""
    return {
        "risks": digest(run.errors), "m": run.m, "distance": distance, "constant": constant, "delta": DELTA,
    }  # fmt: skip
