"""How concentrated the optimal posteriors are: the Herfindahl-Hirschman index."""

from pacbayes.paper.output import Output, markdown_table
from pacbayes.paper.protocol import describe
from pacbayes.paper.tables.bound_tables import COLUMNS, bound_rows, pick
from pacbayes.paper.workspace import Workspace

NAME = "concentration"


def reproduce(space: Workspace) -> Output:
    """Return the index of every posterior of `main` (the paper's constants), averaged over seeds."""
    everything = bound_rows(space, "main", space.grid, space.datasets)
    names = ("dataset", "split", "distance", "H", "seeds", "hhi", "full_support")
    rows = [
        {name: row[name] for name in names} | {"n_effective": 1.0 / row["hhi"], "uniform_hhi": 1.0 / row["H"]}
        for row in everything
        if row["constant"] == "paper"
    ]
    parts = [
        "# Concentration of the posteriors",
        "HHI = Σ qᵢ² (the paper: “equivalent to the ℓ₂ norm”; it is its square), averaged over seeds, and in "
        f"parentheses how many classifiers of equal weight would have it. Uniform weights have 1/{space.grid.size} = "
        f"{1 / space.grid.size:.1e}. ○: some weight is zero.",
    ]
    for split in space.splits:
        lines = [
            [describe(dataset), *(_cell(pick(rows, dataset=dataset, split=split, distance=d)) for d in COLUMNS)]
            for dataset in space.datasets
        ]
        parts += [f"## {split.capitalize()} splits", markdown_table(["data set", *COLUMNS], lines)]
    return Output(NAME, "\n\n".join(parts), rows)


def _cell(row: dict[str, float]) -> str:
    return f"{row['hhi']:.2g} ({row['n_effective']:.0f}){'' if row['full_support'] else ' ○'}"
