"""Bound, status and time of every method for the kl bound, on synthetic profiles of the paper's data sets.

Run with `python benchmarks/bench_solvers.py [--full] [--sizes H ...] [--limit SECONDS]`.  Prints a Markdown table per
profile with the time of each method as a multiple of that of "certified".  Times are medians of five in one run (for
short solves, five batches of 0.3 s), or of one that takes longer than two seconds.  By default three profiles; `--full`
takes all nine, stores each row in a file of JSON lines and skips rows found there, to continue an interrupted run.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from pacbayes import Posterior, optimal_posterior
from pacbayes.paper.protocol import PROFILES, profile_risks

SIZES = (50, 200, 500, 1000, 1990)
DEFAULT = ("mammographic", "wdbc", "haberman")
PAPER = {"delta": 0.01, "constant": "paper"}
METHODS: dict[str, dict[str, Any]] = {
    "certified": {"method": "certified"},
    "fixed-point": {"method": "fixed-point"},
    "ipopt, lifted": {"method": "ipopt", "formulation": "lifted"},
    "ipopt, paper": {"method": "ipopt", "formulation": "paper"},
    "ccp, one-sided": {"method": "ccp", "formulation": "one-sided"},
    "ccp, paper": {"method": "ccp", "formulation": "paper"},
}
# Solves of less than this many seconds are timed in batches of about this length.
BATCH = 0.3
# The paper's own size for its convex-concave procedure.
CCP_SIZE = 50


def timed(risks: Any, m: int, arguments: dict[str, Any]) -> tuple[Posterior, float]:
    """Return the posterior and the median time of five solves, of one if it is long."""
    start = time.perf_counter()
    posterior = optimal_posterior(risks, m, **PAPER, **arguments)
    first = time.perf_counter() - start
    if first > 2.0:
        return posterior, first
    batch = max(1, round(BATCH / first))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(batch):
            posterior = optimal_posterior(risks, m, **PAPER, **arguments)
        times.append((time.perf_counter() - start) / batch)
    return posterior, statistics.median(times)


def measure(name: str, H: int, time_limit: float) -> list[dict[str, Any]]:
    """Run all methods on the first H classifiers of a profile."""
    risks, m = profile_risks(name, H)
    rows = []
    for label, arguments in METHODS.items():
        if label.startswith("ccp") and H != CCP_SIZE:
            continue
        options = {"time_limit": time_limit} if arguments["method"] == "ipopt" else {}
        posterior, seconds = timed(risks, m, arguments | options)
        letter = posterior.details.get("status") or ("" if posterior.converged else "not converged")
        rows.append({
            "profile": name, "m": m, "H": H, "method": label, "bound": posterior.bound, "status": letter,
            "iterations": posterior.n_iter, "seconds": seconds, "message": posterior.message,
            "lower_bound": None if label != "certified" else posterior.lower_bound,
        })  # fmt: skip
    return rows


def show(name: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n### {name} (m = {rows[0]['m']})\n")
    print("| H | method | bound | above certified | status | iterations | milliseconds | times certified |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        certified = next(r for r in rows if r["H"] == row["H"] and r["method"] == "certified")
        above = row["bound"] - certified["lower_bound"]
        print(
            f"| {row['H']} | {row['method']} | {row['bound']:.6f} | {above:.0e} | {row['status']} "
            f"| {row['iterations']} | {1e3 * row['seconds']:.2f} | {row['seconds'] / certified['seconds']:.0f} |",
            flush=True,
        )


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print how lifted Ipopt compares at each size, over all profiles together and from the least to the most."""
    times = {(row["profile"], row["H"], row["method"]): row["seconds"] for row in rows}
    print()
    for H in sorted({row["H"] for row in rows}):
        pairs = [(times[name, H, "ipopt, lifted"], times[name, H, "certified"]) for name in PROFILES
                 if (name, H, "certified") in times]  # fmt: skip
        ratios = sorted(theirs / ours for theirs, ours in pairs)
        total = sum(theirs for theirs, _ in pairs) / sum(ours for _, ours in pairs)
        print(
            f"H = {H}: lifted Ipopt takes {total:.0f} times as long as certified over {len(pairs)} profiles together, "
            f"{ratios[0]:.0f} to {ratios[-1]:.0f} times on single ones (median {statistics.median(ratios):.0f})"
        )


def read(path: Path | None) -> list[dict[str, Any]]:
    """Return the rows an earlier run left."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all nine profiles, resumable")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one Ipopt solve")
    parser.add_argument(
        "--results", type=Path, help="file of JSON lines (default with --full: build/bench_solvers.jsonl)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of classifiers")
    arguments = parser.parse_args()
    path = arguments.results or (Path("build/bench_solvers.jsonl") if arguments.full else None)
    done = read(path)
    optimal_posterior([0.1, 0.2], 100, method="ipopt")  # loads the solvers before the clock runs
    optimal_posterior([0.1, 0.2], 100, method="ccp")
    shown = []
    for name in PROFILES if arguments.full else DEFAULT:
        rows = []
        for H in arguments.sizes:
            found = [row for row in done if row["profile"] == name and row["H"] == H]
            if not found:
                found = measure(name, H, arguments.limit)
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with path.open("a", encoding="utf-8") as file:
                        file.write("".join(json.dumps(row) + "\n" for row in found))
            rows += found
        show(name, rows)
        shown += rows
    summarise(shown)


if __name__ == "__main__":
    main()
