"""kl: the fixed point, Ipopt in the paper's formulation and the certified minimum, for growing sets of classifiers."""

from pacbayes.paper.numbers import printed, slip
from pacbayes.paper.output import Output, Row, markdown_table, number, signed
from pacbayes.paper.protocol import describe
from pacbayes.paper.runs import Run
from pacbayes.paper.solves import LETTERS, kept_ipopt, solve
from pacbayes.paper.workspace import Workspace

NAME = "fp-vs-solver"
SIZES = (50, 200, 500, 1000, 1990)


def reproduce(space: Workspace) -> Output:
    """Return the table for the first seed of the workspace's main split scheme; of Ipopt in full for all seeds."""
    rows: list[Row] = []
    for dataset in space.datasets:
        seeds = space.seeds_of(dataset, space.primary) if space.full else range(1)
        runs = [space.run(dataset, space.primary, seed) for seed in seeds]
        for H in SIZES:
            first, *others = (run.first(space.size(H)) for run in runs)
            rows.append(_row(space, dataset, H, first) | _over_seeds(space, [first, *others]))
    return Output(NAME, _markdown(space, rows), rows)


def _over_seeds(space: Workspace, runs: list[Run]) -> Row:
    """Return on how many seeds Ipopt failed, and how far above the certified minimum it ended."""
    found = [kept_ipopt(space, run, "kl") for run in runs]
    above = [one["bound"] - solve(run, "kl").bound for one, run in zip(found, runs, strict=True)]
    letters = "".join(sorted(one["letter"] for one in found))
    return {
        "seeds": len(runs),
        "ipopt_letters": letters,
        "ipopt_least_above": min(above),
        "ipopt_most_above": max(above),
    }


def _row(space: Workspace, dataset: str, H: int, run: Run) -> Row:
    theirs = next(row for row in printed("fp_vs_solver") if row["dataset"] == dataset and row["H"] == H)
    point, best, other = solve(run, "kl", method="fixed-point"), solve(run, "kl"), kept_ipopt(space, run, "kl")
    return {
        "dataset": dataset, "split": space.primary, "H": len(run.errors), "m": run.m,
        "fixed_point": point.bound, "fixed_point_converged": point.converged,
        "certified": best.bound, "lower_bound": best.lower_bound,
        "ipopt": other["bound"], "ipopt_letter": other["letter"], "ipopt_message": other["message"],
        "ipopt_seconds": other["seconds"], "pushed_risk": 0.01 * float(run.risks.sum()),
        "paper_H": H, "paper_fixed_point": theirs["fixed_point"], "paper_ipopt": theirs["solver"],
        "paper_letter": theirs["letter"],
        "paper_slip": slip("fp_vs_solver", "fixed_point", dataset=dataset, H=H),
    }  # fmt: skip


def _markdown(space: Workspace, rows: list[Row]) -> str:
    lines = []
    for row in rows:
        mark = "†" if row["paper_slip"] else ""
        lines.append([
            describe(row["dataset"]), row["H"], number(row["certified"], 6),
            f"{row['fixed_point'] - row['certified']:.0e}" + ("" if row["fixed_point_converged"] else " (stopped)"),
            f"{number(row['ipopt'], 6)} {row['ipopt_letter']}", _failures(row), f"{row['pushed_risk']:.2f}",
            number(row["paper_fixed_point"], 6) + mark, f"{number(row['paper_ipopt'], 6)} {row['paper_letter']}{mark}",
            "–" if mark else signed(row["certified"] - row["paper_fixed_point"]),
        ])  # fmt: skip
    columns = [
        "data set", "H", "certified", "fixed point − certified", "Ipopt", "failed (all seeds)", "0.01 Σ l",
        "paper, fixed point", "paper, Ipopt", "certified − paper",
    ]  # fmt: skip
    both = [r for r in rows if not r["paper_slip"]]
    same = sum(bool(r["ipopt_letter"]) == bool(r["paper_letter"]) for r in both)
    worst = max(abs(r["fixed_point"] - r["certified"]) for r in rows)
    text = (
        f"# kl: fixed point and solver\n\nThe first H classifiers of the grid, {space.primary} splits, seed 0. Ipopt "
        f"in the paper's formulation, at most {space.ipopt_seconds:g} s of processor time a solve; {LETTERS}; then on "
        f"how many of all seeds it failed, and its largest distance above the certified minimum. 0.01 Σ l is the "
        "empirical risk of the point that Ipopt moves the start to when H > 100: above 1 it cannot evaluate the "
        "constraint and stops at once. † marks cells of the paper that cannot be right: Banknote's for H = 1000 and "
        "1990 repeat Bupa's.\n\n"
        f"Largest distance of a fixed point from the certified minimum: {worst:.1e}. Ipopt fails or succeeds as in the "
        f"paper in {same} of {len(both)} cells.\n\n"
    )
    return text + markdown_table(columns, lines)


def _failures(row: Row) -> str:
    """Return on how many seeds Ipopt failed, with what letters, and how far above the minimum it was at most."""
    letters = row["ipopt_letters"]
    kinds = ", ".join(f"{letters.count(letter)} {letter}" for letter in dict.fromkeys(letters))
    return f"{len(letters)} of {row['seeds']}{f' ({kinds})' if kinds else ''}; {row['ipopt_most_above']:.0e}"
