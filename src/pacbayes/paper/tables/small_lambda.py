"""The paper's second table of bounds: 500 classifiers, lambda down to 1e-5."""

from pacbayes.paper.numbers import cell
from pacbayes.paper.output import Output, Row, markdown_table, number
from pacbayes.paper.protocol import DELTA, describe
from pacbayes.paper.tables.bound_tables import (
    agreement_line,
    agreement_table,
    bound_rows,
    exact_table,
    paper_table,
    pick,
)
from pacbayes.paper.workspace import Workspace

NAME = "small-lambda"


def reproduce(space: Workspace) -> Output:
    """Return the table for the split schemes of the workspace, and the change from the first grid."""
    rows = bound_rows(space, "small_lambda", space.second_grid, space.datasets)
    first = bound_rows(space, "main", space.grid, space.datasets)
    grid = space.second_grid
    parts = [
        "# Bounds and test errors for small λ",
        f"H = {grid.size} classifiers: λ = 0.10, 0.11, ..., 5.00 and nine values below, 1e-5 · 10^(4k/9), k = 0..8. "
        "The nine are our reading of the paper's undefined “combination of arithmetic-geometric progression”; it fixes "
        f"their number only. δ = {DELTA}, the paper's constants; cells as in [main](main.md).",
        agreement_line(rows, space.splits) + " Which kind of split the paper's two grids are of: "
        "[notes](../docs/paper-notes.md).",
    ]
    for split in space.splits:
        parts += [f"## {split.capitalize()} splits", "### Bounds", paper_table(rows, split, "bound", {})]
        parts += ["### Average test errors", paper_table(rows, split, "test_error", {})]
        parts += ["### How near we are to the paper", agreement_table(rows, split)]
        parts += ["### With exact constants (and the change)", exact_table(rows, split)]
        parts += ["### Against the grid of 1990, kl", _change(rows, first, split)]
    return Output(NAME, "\n\n".join(parts), rows)


def _change(rows: list[Row], first: list[Row], split: str) -> str:
    """Compare kl's bound and test error on both grids, ours and the paper's."""
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        where = {"dataset": dataset, "distance": "kl", "constant": "paper"}
        new, old = pick(rows, split=split, **where), pick(first, split=split, **where)
        cells = [describe(dataset)]
        for value, column in (("bound", "bound"), ("test_error", "test_error")):
            ours = f"{number(old[value], 4)} → {number(new[value], 4)}"
            theirs = [number(cell(table, column, **where), 4) for table in ("main", "small_lambda")]
            cells += [ours, " → ".join(theirs)]
        lines.append(cells)
    return markdown_table(["data set", "bound", "paper's bound", "test error", "paper's test error"], lines)
