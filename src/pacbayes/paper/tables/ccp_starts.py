"""kl, 50 classifiers: the convex-concave procedure from many starts, as printed and with one of its inequalities."""

from functools import partial
from typing import Any

import numpy as np

from pacbayes.bounds import bound
from pacbayes.numeric.arrays import FloatArray
from pacbayes.paper.cache import Arrays, digest
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import Output, Row, markdown_table, number
from pacbayes.paper.protocol import DELTA, describe
from pacbayes.paper.runs import Run
from pacbayes.paper.solves import error_of, solve
from pacbayes.paper.workspace import Workspace

NAME = "ccp"
SIZE = 50
#: A run of the procedure ends when a round lowers the bound by less than this.
TOL = 1e-5
FORMULATIONS = ("paper", "one-sided")
#: The paper's number of starts.
PAPER_STARTS = 1000
#: Starts that are kept together: what an interruption loses.
BLOCK = 50


def reproduce(space: Workspace) -> Output:
    """Return the table for the first seed of the workspace's main split scheme."""
    starts = 5 if space.quick else PAPER_STARTS if space.full else 100
    rows = []
    for dataset in space.datasets:
        run = space.run(dataset, space.primary, 0).first(SIZE)
        point, best = solve(run, "kl", method="fixed-point"), solve(run, "kl")
        row: Row = {
            "dataset": dataset, "split": space.primary, "H": len(run.errors), "m": run.m, "starts": starts,
            "fixed_point": point.bound, "certified": best.bound, "fixed_point_test": error_of(point, run),
        }  # fmt: skip
        for name, (bounds, errors) in _all_ends(space, run, starts).items():
            row |= _summary(name, bounds) | _summary(f"{name}_test", errors)
        theirs = next(r for r in printed("ccp") if r["dataset"] == dataset)
        rows.append(row | {f"paper_{name}": value for name, value in theirs.items() if name != "dataset"})
    return Output(NAME, _markdown(space, rows, starts), rows)


def _summary(name: str, values: FloatArray) -> Row:
    if np.isnan(values).any():
        return {f"{name}_{what}": None for what in ("low", "high", "mean", "std")}
    std = float(values.std(ddof=1))
    return {
        f"{name}_low": float(values.min()), f"{name}_high": float(values.max()), f"{name}_mean": float(values.mean()),
        f"{name}_std": std,
    }  # fmt: skip


def _all_ends(space: Workspace, run: Run, starts: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return bounds and test errors of the starts, and of the ends of both formulations; NaN where risks are zero."""
    ends = {"start": _start_values(run, starts)}
    for formulation in FORMULATIONS:
        parts = [
            _kept_ends(space, run, formulation, first, min(first + BLOCK, starts)) for first in range(0, starts, BLOCK)
        ]
        bounds, errors = (np.concatenate([part[name] for part in parts]) for name in ("bounds", "errors"))
        ends[formulation] = (bounds, errors)
    return ends


def _kept_ends(space: Workspace, run: Run, formulation: str, first: int, last: int) -> Arrays:
    """Return the ends of some of the starts, from the cache if there."""
    key = {
        "errors": digest(run.errors), "test": digest(run.test_errors), "m": run.m, "starts": [first, last],
        "formulation": formulation, "tol": TOL, "delta": DELTA, "what": "ccp",
    }  # fmt: skip
    space.say(f"{run.dataset}: convex-concave procedure, {formulation}, starts {first} to {last - 1}")
    label = f"ccp-{run.dataset}-{formulation}-{first}-{last}"
    return space.cache.get(label, key, partial(_ends, run, formulation, range(first, last)))


def _start_values(run: Run, starts: int) -> tuple[FloatArray, FloatArray]:
    weights = [start_of(seed, len(run.errors)) for seed in range(starts)]
    bounds = [bound(w, run.risks, run.m, delta=DELTA, constant="paper") for w in weights]
    return np.array(bounds), np.array([float(w @ run.test_risks) for w in weights])


def start_of(seed: int, size: int) -> FloatArray:
    """Return the random start that `optimal_posterior` draws for a seed: exponential weights, normalised."""
    weights = np.random.default_rng(seed).exponential(size=size)
    return np.asarray(weights / weights.sum())


def _ends(run: Run, formulation: str, starts: range) -> Arrays:
    if not run.errors.any():  # kl has no tangent plane at zero risk: the paper's NA
        return {name: np.full(len(starts), np.nan) for name in ("bounds", "errors")}
    posteriors = [
        solve(run, "kl", method="ccp", tol=TOL, formulation=formulation, random_state=seed) for seed in starts
    ]
    return {
        "bounds": np.array([posterior.bound for posterior in posteriors]),
        "errors": np.array([error_of(posterior, run) for posterior in posteriors]),
    }


def _markdown(space: Workspace, rows: list[Row], starts: int) -> str:
    def span(row: Row, name: str) -> str:
        if row[f"{name}_low"] is None:
            return "NA"
        low, high, mean, std = (number(row[f"{name}_{what}"]) for what in ("low", "high", "mean", "std"))
        return f"[{low}, {high}] {mean} ± {std}"

    def lines(test: str) -> list[list[Any]]:
        first = "fixed_point_test" if test else "fixed_point"
        theirs = "paper_fp_test" if test else "paper_fp_bound"
        return [
            [describe(row["dataset"]), number(row[first]), *(span(row, f"{n}{test}") for n in ("start", *FORMULATIONS)),
             number(row[theirs]), span(row, f"paper_ccp{test}")]
            for row in rows
        ]  # fmt: skip

    columns = [
        "data set",
        "fixed point",
        "random starts",
        "CCP as printed",
        "CCP, one-sided",
        "paper, fixed point",
        "paper, CCP",
    ]
    used = [row for row in rows if row["paper_low"] is not None]
    moved = max((row["start_mean"] - row["paper_mean"] for row in used), default=0.0)
    above = max((row["one-sided_high"] - row["certified"] for row in used), default=0.0)
    remark = "as in the paper" if starts == PAPER_STARTS else f"the paper: {PAPER_STARTS}, `--full`"
    text = (
        f"# kl: the convex-concave procedure\n\nThe first {SIZE} classifiers, {space.primary} splits, seed 0, {starts} "
        f"random starts ({remark}); a run ends when a round lowers the bound by less than {TOL:g}. "
        "Range, mean ± standard deviation. As printed, the procedure's two inequalities leave it its start only "
        "([notes](../docs/paper-notes.md)): on average it lowers the bound of the starts by at most "
        f"{moved:.1e}. With one inequality every start ends at most {above:.1e} above the certified minimum.\n\n"
    )
    return (
        text + "## Bounds\n\n" + markdown_table(columns, lines("")) + "\n\n## Average test errors\n\n"
        + markdown_table(columns, lines("_test"))
    )  # fmt: skip
