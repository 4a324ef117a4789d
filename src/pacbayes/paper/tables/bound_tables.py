"""Bounds and test errors of the five distances beside the paper's: the rows of `main` and `small-lambda`."""

import math
from collections.abc import Sequence
from typing import Any

from pacbayes.numeric.arrays import FloatArray
from pacbayes.paper.numbers import cell
from pacbayes.paper.output import Row, markdown_table, mean_and_deviation, number, signed, spread
from pacbayes.paper.protocol import describe
from pacbayes.paper.runs import Run
from pacbayes.paper.solves import error_of, solve
from pacbayes.paper.workspace import Workspace

#: The order of the paper's columns.
COLUMNS = ("linear", "squared", "pinsker", "ch", "kl")
#: The columns of a table with the paper's constants: squared with both, as there.
CELLS = (
    ("linear", "paper"), ("squared", "paper"), ("squared", "exact"), ("pinsker", "paper"), ("ch", "paper"),
    ("kl", "paper"),
)  # fmt: skip
#: "Lowest 10 %": at most so many times the row's least.
BOLD = 1.1


def bound_rows(space: Workspace, table: str, lambdas: FloatArray, datasets: Sequence[str]) -> list[Row]:
    """Return a row per data set, split scheme, distance and constant, with the paper's number where it has one."""
    rows = []
    for split in space.splits:
        for dataset in datasets:
            runs = space.runs(dataset, split, lambdas)
            for distance in COLUMNS:
                for constant in ("paper", "exact"):
                    rows.append(_row(space, table, runs, dataset, split, distance, constant))
    return rows


def _row(
    space: Workspace, table: str, runs: Sequence[Run], dataset: str, split: str, distance: str, constant: str
) -> Row:
    posteriors = [solve(run, distance, constant) for run in runs]
    bound, bound_sd = mean_and_deviation([posterior.bound for posterior in posteriors])
    error, error_sd = mean_and_deviation([error_of(p, run) for p, run in zip(posteriors, runs, strict=True)])
    where = {"dataset": dataset, "distance": distance, "constant": constant}
    theirs, their_error = cell(table, "bound", **where), cell(table, "test_error", **where)
    return {
        "dataset": dataset,
        "protocol": str(space.protocol(dataset, split)),
        "split": split,
        "distance": distance,
        "constant": constant,
        "H": len(runs[0].errors),
        "m": runs[0].m,
        "seeds": len(runs),
        "bound": bound,
        "bound_sd": bound_sd,
        "paper_bound": theirs,
        "difference": None if theirs is None else bound - theirs,
        "test_error": error,
        "test_error_sd": error_sd,
        "paper_test_error": their_error,
        "test_difference": None if their_error is None else error - their_error,
        "hhi": mean_and_deviation([posterior.hhi for posterior in posteriors])[0],
        "full_support": all(p.support_size == len(run.errors) for p, run in zip(posteriors, runs, strict=True)),
        "largest_gap": max(posterior.gap for posterior in posteriors),
        "unconverged_svms": sum(run.unconverged for run in runs),
        "train_seconds": math.fsum(run.seconds for run in runs),
    }  # fmt: skip


def pick(rows: Sequence[Row], **where: Any) -> Row:
    """Return the one row with these values."""
    found = [row for row in rows if all(row[name] == value for name, value in where.items())]
    if len(found) != 1:
        raise ValueError(f"{where} must name one row, got {len(found)}")
    return found[0]


def paper_table(rows: Sequence[Row], split: str, value: str, stars: dict[str, str]) -> str:
    """Return the paper's table: ours, bold where among the lowest 10 %, and below it the paper's and the difference.

    `value` is "bound" or "test_error"; `stars` gives for each data set the letter of Ipopt's failure for kl.
    """
    theirs, difference = f"paper_{value}", "difference" if value == "bound" else "test_difference"
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        chosen = [pick(rows, dataset=dataset, split=split, distance=d, constant=c) for d, c in CELLS]
        least = min(row[value] for row in chosen)
        cells = [describe(dataset)]
        for row in chosen:
            text = spread(row[value], row[f"{value}_sd"])
            if row[value] <= BOLD * least:
                text = f"**{text}**"
            if row["distance"] == "kl" and stars.get(dataset):
                text += f" ★{stars[dataset]}"
            cells.append(f"{text}<br>{number(row[theirs])} ({signed(row[difference])})")
        lines.append(cells)
    return markdown_table(["data set", "linear", "squared", "squared, I_sq", "Pinsker", "ch", "kl"], lines)


def agreement_table(rows: Sequence[Row], split: str) -> str:
    """Return how many of the paper's cells we are near to, per distance."""
    lines = []
    for name, column in (("bound", "difference"), ("test error", "test_difference")):
        totals = [0, 0, 0, 0]
        for distance, constant in CELLS:
            chosen = [row for row in rows if row["split"] == split and row["distance"] == distance]
            differences = [abs(r[column]) for r in chosen if r["constant"] == constant and r[column] is not None]
            counts = within(differences)
            totals = [a + b for a, b in zip(totals, counts, strict=True)]
            lines.append([name, f"{distance}{', I_sq' if constant == 'exact' else ''}", *counts])
        lines.append([name, "**all**", *totals])
    return markdown_table(["", "distance", "within 0.01", "0.01 to 0.02", "beyond 0.02", "cells"], lines)


def agreement_line(rows: Sequence[Row], splits: Sequence[str]) -> str:
    """Return in one sentence how many of the paper's bounds are within 0.01 and 0.02 of ours, by split scheme."""
    parts = []
    for split in splits:
        chosen = [row["difference"] for row in rows if row["split"] == split and row["difference"] is not None]
        near, middle, _, total = within([abs(difference) for difference in chosen])
        parts.append(f"{split} {near} and {near + middle} of {total}")
    return f"Bounds of the paper within 0.01 and 0.02 of ours: {'; '.join(parts)}."


def within(differences: Sequence[float]) -> list[int]:
    """Return how many differences are at most 0.01, at most 0.02, beyond, and how many there are.

    Examples
    --------
    >>> within([0.005, 0.015, 0.3, 0.001])
    [2, 1, 1, 4]
    """
    near = sum(d <= 0.01 for d in differences)
    middle = sum(0.01 < d <= 0.02 for d in differences)
    return [near, middle, len(differences) - near - middle, len(differences)]


def exact_table(rows: Sequence[Row], split: str) -> str:
    """Return the bounds with exact constants, and by how much they are below those with the paper's."""
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        cells = [describe(dataset)]
        for distance in COLUMNS:
            exact = pick(rows, dataset=dataset, split=split, distance=distance, constant="exact")["bound"]
            paper = pick(rows, dataset=dataset, split=split, distance=distance, constant="paper")["bound"]
            cells.append(f"{number(exact, 4)} ({signed((exact - paper) / paper * 100.0, 1)} %)")
        lines.append(cells)
    return markdown_table(["data set", "linear", "squared", "Pinsker", "ch", "kl"], lines)
