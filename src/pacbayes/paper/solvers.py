"""The paper's solvers for kl: `fp-vs-solver`, for growing sets of classifiers, and `ccp`, from many starts."""

from functools import partial
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes.bounds import bound
from pacbayes.paper.numbers import printed, slip
from pacbayes.paper.output import Output, Row, lettered, markdown_table, number, signed
from pacbayes.paper.protocol import DELTA, describe
from pacbayes.paper.runs import Arrays, Run, digest
from pacbayes.paper.workspace import LETTERS, Workspace, error_of, kept_ipopt, solve

# Sizes of the sets of `fp-vs-solver`.
_SIZES = (50, 200, 500, 1000, 1990)
#: Classifiers that the convex-concave procedure is run on.
SIZE = 50
# A run of the procedure ends when a round lowers the bound by less than this.
_TOL = 1e-5
FORMULATIONS = ("paper", "one-sided")
# Decimals of the distance between two computations of one minimum: what is below is rounding.
_DECIMALS = 12
# The paper's number of starts.
_PAPER_STARTS = 1000
# Starts that are kept together: what an interruption loses.
_BLOCK = 50


def fp_vs_solver(space: Workspace) -> Output:
    """Table for the first seed of the workspace's main split scheme; of Ipopt in full for all seeds."""
    rows: list[Row] = []
    for dataset in space.datasets:
        seeds = space.seeds_of(dataset, space.primary) if space.full else range(1)
        runs = [space.run(dataset, space.primary, seed) for seed in seeds]
        for H in _SIZES:
            first, *others = (run.first(space.size(H)) for run in runs)
            rows.append(fp_vs_solver_row(space, dataset, H, first) | _over_seeds(space, [first, *others]))
    return Output("fp-vs-solver", rows, partial(fp_vs_solver_text, space))


def _over_seeds(space: Workspace, runs: list[Run]) -> Row:
    """Count the seeds on which Ipopt failed, with its distances above the certified minimum."""
    found = [kept_ipopt(space, run, "kl") for run in runs]
    above = [one["bound"] - solve(run, "kl").bound for one, run in zip(found, runs, strict=True)]
    letters = "".join(sorted(one["letter"] for one in found))
    return {
        "seeds": len(runs),
        "ipopt_letters": letters,
        "ipopt_least_above": min(above),
        "ipopt_most_above": max(above),
    }


def fp_vs_solver_row(space: Workspace, dataset: str, H: int, run: Run) -> Row:
    """Three bounds of one run beside the paper's."""
    theirs = next(row for row in printed("fp_vs_solver") if row["dataset"] == dataset and row["H"] == H)
    point, best, other = solve(run, "kl", method="fixed-point"), solve(run, "kl"), kept_ipopt(space, run, "kl")
    return {
        "dataset": dataset, "split": space.primary, "H": len(run.errors), "m": run.m,
        "fixed_point": point.bound, "fixed_point_converged": point.converged,
        "fixed_point_above": round(point.bound - best.bound, _DECIMALS) + 0.0,
        "certified": best.bound, "lower_bound": best.lower_bound,
        "ipopt": other["bound"], "ipopt_letter": other["letter"], "ipopt_message": other["message"],
        "ipopt_seconds": other["seconds"], "pushed_risk": 0.01 * float(run.risks.sum()),
        "paper_H": H, "paper_fixed_point": theirs["fixed_point"], "paper_ipopt": theirs["solver"],
        "paper_letter": theirs["letter"],
        "paper_slip": slip("fp_vs_solver", "fixed_point", dataset=dataset, H=H),
    }  # fmt: skip


def fp_vs_solver_text(space: Workspace, rows: list[Row]) -> str:
    """Page of `fp-vs-solver`."""
    lines = []
    for row in rows:
        mark = "†" if row["paper_slip"] else ""
        lines.append([
            describe(row["dataset"]), row["H"], number(row["certified"], 6),
            number(row["fixed_point_above"]) + ("" if row["fixed_point_converged"] else " (stopped)"),
            lettered(row["ipopt"], row["ipopt_letter"], 6), _failures(row), f"{row['pushed_risk']:.2f}",
            number(row["paper_fixed_point"], 6) + mark, lettered(row["paper_ipopt"], row["paper_letter"], 6) + mark,
            "–" if mark else signed(row["certified"] - row["paper_fixed_point"]),
        ])  # fmt: skip
    columns = [
        "data set", "H", "certified", "fixed point − certified", "Ipopt", "failed (all seeds)", "0.01 Σ l",
        "paper, fixed point", "paper, Ipopt", "certified − paper",
    ]  # fmt: skip
    both = [r for r in rows if not r["paper_slip"]]
    same = sum(bool(r["ipopt_letter"]) == bool(r["paper_letter"]) for r in both)
    text = (
        f"# kl: fixed point and solver\n\nThe first H classifiers of the grid, {space.primary} splits, seed 0. Ipopt "
        f"in the paper's formulation, at most {space.ipopt_seconds:g} s of processor time a solve; {LETTERS}; then on "
        f"how many of all seeds it failed, and its largest distance above the certified minimum. 0.01 Σ l is the "
        "empirical risk of the point that Ipopt moves the start to when H > 100: above 1 it cannot evaluate the "
        "constraint and stops at once. † marks cells of the paper that cannot be right: Banknote's for H = 1000 and "
        "1990 repeat Bupa's.\n\n"
        f"Largest distance of a fixed point from the certified minimum: {largest_distance(rows)}. Ipopt fails or "
        f"succeeds as in the paper in {same} of {len(both)} cells.\n\n"
    )
    return text + markdown_table(columns, lines)


def largest_distance(rows: list[Row]) -> str:
    """Largest distance of a fixed point from the certified minimum, in words."""
    worst = max(abs(row["fixed_point_above"]) for row in rows)
    return f"{worst:.0e}" if worst else f"less than 1e-{_DECIMALS}"


def _failures(row: Row) -> str:
    """Describe the failures of Ipopt: seeds, letters, and its largest distance above the minimum."""
    letters = row["ipopt_letters"] or ""
    kinds = ", ".join(f"{letters.count(letter)} {letter}" for letter in dict.fromkeys(letters))
    return f"{len(letters)} of {row['seeds']}{f' ({kinds})' if kinds else ''}; {row['ipopt_most_above']:.0e}"


def ccp(space: Workspace) -> Output:
    """Table for the first seed of the workspace's main split scheme."""
    starts = 5 if space.quick else _PAPER_STARTS if space.full else 100
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
        high = row["one-sided_high"]
        row["one-sided_above"] = None if high is None else high - best.bound
        theirs = next(r for r in printed("ccp") if r["dataset"] == dataset)
        rows.append(row | {f"paper_{name}": value for name, value in theirs.items() if name != "dataset"})
    return Output("ccp", rows, partial(ccp_text, space))


def _summary(name: str, values: FloatArray) -> Row:
    if np.isnan(values).any():
        return {f"{name}_{what}": None for what in ("low", "high", "mean", "std")}
    std = float(values.std(ddof=1))
    return {
        f"{name}_low": float(values.min()), f"{name}_high": float(values.max()), f"{name}_mean": float(values.mean()),
        f"{name}_std": std,
    }  # fmt: skip


def _all_ends(space: Workspace, run: Run, starts: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Bounds and test errors of the starts, and of the ends of both formulations; NaN where risks are zero."""
    ends = {"start": _start_values(run, starts)}
    for formulation in FORMULATIONS:
        parts = [
            _kept_ends(space, run, formulation, first, min(first + _BLOCK, starts))
            for first in range(0, starts, _BLOCK)
        ]
        bounds, errors = (np.concatenate([part[name] for part in parts]) for name in ("bounds", "errors"))
        ends[formulation] = (bounds, errors)
    return ends


def _kept_ends(space: Workspace, run: Run, formulation: str, first: int, last: int) -> Arrays:
    """Values at the ends of some of the starts, from the cache if there."""
    key = {
        "errors": digest(run.errors), "test": digest(run.test_errors), "m": run.m, "starts": [first, last],
        "formulation": formulation, "tol": _TOL, "delta": DELTA, "what": "ccp",
    }  # fmt: skip
    space.say(f"{run.dataset}: convex-concave procedure, {formulation}, starts {first} to {last - 1}")
    label = f"ccp-{run.dataset}-{formulation}-{first}-{last}"
    return space.cache.get(label, key, partial(_ends, run, formulation, range(first, last)))


def _start_values(run: Run, starts: int) -> tuple[FloatArray, FloatArray]:
    weights = [start_of(seed, len(run.errors)) for seed in range(starts)]
    bounds = [bound(w, run.risks, run.m, delta=DELTA, constant="paper") for w in weights]
    return np.array(bounds), np.array([float(w @ run.test_risks) for w in weights])


def start_of(seed: int, size: int) -> FloatArray:
    """Random start that `optimal_posterior` draws for a seed: exponential weights, normalised."""
    weights = np.random.default_rng(seed).exponential(size=size)
    return np.asarray(weights / weights.sum())


def _ends(run: Run, formulation: str, starts: range) -> Arrays:
    if not run.errors.any():  # kl has no tangent plane at zero risk: the paper's NA
        return {name: np.full(len(starts), np.nan) for name in ("bounds", "errors")}
    posteriors = [
        solve(run, "kl", method="ccp", tol=_TOL, formulation=formulation, random_state=seed) for seed in starts
    ]
    return {
        "bounds": np.array([posterior.bound for posterior in posteriors]),
        "errors": np.array([error_of(posterior, run) for posterior in posteriors]),
    }


def ccp_text(space: Workspace, rows: list[Row]) -> str:
    """Page of `ccp`."""

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
    above = max((row["one-sided_above"] for row in used), default=0.0)
    starts = rows[0]["starts"]
    remark = "as in the paper" if starts == _PAPER_STARTS else f"the paper: {_PAPER_STARTS}, `--full`"
    text = (
        f"# kl: the convex-concave procedure\n\nThe first {SIZE} classifiers, {space.primary} splits, seed 0, {starts} "
        f"random starts ({remark}); a run ends when a round lowers the bound by less than {_TOL:g}. "
        "Range, mean ± standard deviation. As printed, the procedure's two inequalities leave it its start only "
        "([notes](../docs/paper-notes.md)): on average it lowers the bound of the starts by at most "
        f"{moved:.1e}. With one inequality every start ends at most {above:.1e} above the certified minimum.\n\n"
    )
    return (
        text + "## Bounds\n\n" + markdown_table(columns, lines("")) + "\n\n## Average test errors\n\n"
        + markdown_table(columns, lines("_test"))
    )  # fmt: skip
