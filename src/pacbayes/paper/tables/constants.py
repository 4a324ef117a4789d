"""The constants I_lin and I_sq: the paper's two tables and its figures."""

import math
from typing import TYPE_CHECKING

import numpy as np

from pacbayes.bounds import get_distance, log_constant
from pacbayes.paper.new_figure import new_figure
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import Output, Row, markdown_table
from pacbayes.paper.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "constants"
#: Where the moment of the linear distance is largest.
BEST_LINEAR = 1.0 / (math.e - 1.0)
_SMALL, _LARGE = (5, 10, 15, 20, 25, 30), (500, 700, 1000, 1020, 1840, 2257)
_SQUARED = (10, 50, 100, 200, 500, 1000)


def reproduce(space: Workspace) -> Output:
    """Return both tables and three figures; they are the same for every workspace."""
    rows: list[Row] = []
    for theirs in printed("constants"):
        m, distance = theirs["m"], theirs["distance"]
        rows.append({
            "distance": distance, "m": m, "log_constant": log_constant(distance, m), "paper": theirs["constant"],
            "paper_log": math.log(theirs["constant"]), "two_sqrt_m": 2.0 * math.sqrt(m),
            "paper_two_sqrt_m": theirs["two_sqrt_m"],
        })  # fmt: skip
    rows += [
        {"distance": d, "m": m, "log_constant": log_constant(d, m), "two_sqrt_m": 2.0 * math.sqrt(m)}
        for d in ("linear", "squared") for m in (1323, 1840, 2257, 10**6)
    ]  # fmt: skip
    parts = ["# The constants", _text()]
    for distance, title in (("linear", "I_lin"), ("squared", "I_sq")):
        lines = [
            [row["m"], power(row["log_constant"]), "–" if "paper" not in row else f"{row['paper']:g}",
             f"{row['two_sqrt_m']:.2f}", "–" if "paper" not in row else f"{row['paper_two_sqrt_m']:.2f}"]
            for row in rows if row["distance"] == distance
        ]  # fmt: skip
        parts += [f"## {title}(m)", markdown_table(["m", title, "paper", "2√m", "paper"], lines)]
    parts += ["![I_lin](constants-linear.svg)", "![I_sq](constants-squared.svg)"]
    figures = {"constants-linear": draw_linear, "constants-squared": draw_squared}
    return Output(NAME, "\n\n".join(parts), rows, figures)


def _text() -> str:
    return (
        "Computed in logarithms, so that there is no largest m; the paper's are NaN from m = 1020 (elsewhere 1028) on. "
        f"The moment of the linear distance is largest at l = 1/(e−1) = {BEST_LINEAR:.5f}; the paper's table is at "
        "l = 0.58, read off a figure, where it is a little lower (m = 500: 5.945e26). That of the squared distance is "
        "largest at l = 1/2 (the paper: “symmetric about l = 0”)."
    )


def power(log_value: float) -> str:
    """Return exp(log_value) to four digits, also where it has no floating-point number.

    Examples
    --------
    >>> power(math.log(475.79)), power(1000.0)
    ('475.8', '1.970e+434')
    """
    if log_value < math.log(1e5):
        return f"{math.exp(log_value):.4g}"
    exponent = math.floor(log_value / math.log(10.0))
    return f"{math.exp(log_value - exponent * math.log(10.0)):.3f}e+{exponent}"


def draw_linear() -> "Figure":
    """Draw ln I_lin(m, l) over l for small and large m, with the line l* = 1/(e-1)."""
    figure, axes = new_figure(1, 2, width=9.0, height=3.6)
    risks = np.linspace(0.0, 1.0, 401)
    distance = get_distance("linear")
    for axis, sizes in zip(axes, (_SMALL, _LARGE), strict=True):
        for m in sizes:
            axis.plot(risks, distance.log_moment(m, risks) / math.log(10.0), label=f"m = {m}")
        axis.axvline(BEST_LINEAR, color="black", linestyle=":", linewidth=1.0)
        axis.set(xlabel="true risk l", title="small m" if sizes is _SMALL else "large m")
        axis.annotate("l* = 1/(e−1)", (BEST_LINEAR, 0.0), xytext=(3, 3), textcoords="offset points", fontsize=8)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("log₁₀ I_lin(m, l)")
    return figure


def draw_squared() -> "Figure":
    """Draw I_sq(m, l) over l, with a dot at each supremum."""
    figure, (axis,) = new_figure(1, 1, width=6.0, height=4.0)
    risks = np.linspace(0.0, 1.0, 401)
    distance = get_distance("squared")
    for m in _SQUARED:
        line = axis.plot(risks, np.exp(distance.log_moment(m, risks)), label=f"m = {m}")[0]
        axis.plot([0.5], [math.exp(distance.exact_log_constant(m))], "o", color=line.get_color(), markersize=4)
    axis.set(xlabel="true risk l", ylabel="I_sq(m, l)")
    axis.legend(fontsize=8)
    return figure
