"""Validation and test error against lambda, for the nine data sets."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.paper.new_figure import new_figure
from pacbayes.paper.output import Output, Row, markdown_table, number
from pacbayes.paper.protocol import describe
from pacbayes.paper.runs import Run
from pacbayes.paper.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "risk-curves"
# One point of this many goes into the CSV file and the figure, which would be megabytes otherwise.
_THIN = 10
# Where the paper sees Wdbc's risks begin to vary.
_TURN = 15.0


def reproduce(space: Workspace) -> Output:
    """Return the figure for the first seed of every split scheme, and numbers that describe the curves."""
    runs = {split: {d: space.run(d, split, 0) for d in space.datasets} for split in space.splits}
    rows: list[Row] = []
    for split, by_dataset in runs.items():
        for dataset, run in by_dataset.items():
            thin = slice(None, None, 1 if space.quick else _THIN)
            rows += [
                {"dataset": dataset, "split": split, "lambda": float(x), "validation": float(v), "test": float(t)}
                for x, v, t in zip(run.lambdas[thin], run.risks[thin], run.test_risks[thin], strict=True)
            ]
    parts = [
        "# Validation and test error against λ",
        "Seed 0. “Rise”: mean of the last tenth of the grid minus that of the first. “Scatter”: standard deviation of "
        "the differences of neighbours, divided by √2: what of the variation is not a trend. Below and above 15: "
        "standard deviation of the validation risks in that part of the grid.",
    ]
    for split, by_dataset in runs.items():
        lines = [[describe(dataset), *_numbers(run)] for dataset, run in by_dataset.items()]
        columns = ["data set", "least", "largest", "rise", "scatter", "deviation λ ≤ 15", "deviation λ > 15"]
        parts += [f"## {split.capitalize()} splits", markdown_table(columns, lines)]
        parts += [f"![risk curves, {split} splits](risk-curves-{split}.svg)"]
    figures = {f"risk-curves-{split}": partial(draw, by_dataset) for split, by_dataset in runs.items()}
    return Output(NAME, "\n\n".join(parts), rows, figures)


def describe_curve(run: Run) -> dict[str, float]:
    """Return the numbers of the table for one curve."""
    risks, tenth = run.risks, max(1, len(run.risks) // 10)
    return {
        "least": float(risks.min()), "largest": float(risks.max()),
        "rise": float(risks[-tenth:].mean() - risks[:tenth].mean()), "scatter": scatter(risks),
        "below": float(risks[run.lambdas <= _TURN].std()), "above": float(risks[run.lambdas > _TURN].std()),
    }  # fmt: skip


def _numbers(run: Run) -> list[str]:
    return [number(value, 4) for value in describe_curve(run).values()]


def scatter(values: FloatArray) -> float:
    """Return the part of the variation that neighbours do not share.

    Examples
    --------
    >>> scatter(np.linspace(0.0, 1.0, 11)) < 1e-12
    True
    """
    return float(np.diff(values).std() / np.sqrt(2.0))


def draw(runs: dict[str, Run]) -> "Figure":
    """Draw a panel for each data set."""
    columns = min(3, len(runs))
    lines = -(-len(runs) // columns)
    figure, axes = new_figure(lines, columns, width=3.4 * columns, height=2.3 * lines)
    for axis, (dataset, run) in zip(axes, runs.items(), strict=False):
        thin = slice(None, None, 1 if len(run.lambdas) < 10 * _THIN else _THIN)
        axis.plot(run.lambdas[thin], run.risks[thin], ".", markersize=2.0, color="tab:blue", label="validation")
        axis.plot(run.lambdas[thin], run.test_risks[thin], "-", linewidth=0.8, color="tab:orange", label="test")
        axis.set_title(describe(dataset), fontsize=9)
        axis.tick_params(labelsize=7)
        axis.set_ylim(bottom=0.0)
    axes[0].legend(fontsize=7, markerscale=3)
    figure.supxlabel("λ", fontsize=9)
    figure.supylabel("error", fontsize=9)
    return figure
