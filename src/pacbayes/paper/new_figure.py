"""Figures without a screen: matplotlib's objects, drawn only when they are written."""

from typing import TYPE_CHECKING, Any

from pacbayes.numeric.caller import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(rows: int, columns: int, *, width: float, height: float) -> tuple["Figure", list[Any]]:
    """Return a figure and its axes, row by row."""
    figure: Figure = import_optional("matplotlib.figure", "a figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())
