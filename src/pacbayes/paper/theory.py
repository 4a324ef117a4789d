"""What theory decides: `constants`, I_lin and I_sq, and `outline`, the paper's first table with our verdicts."""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes.bounds import get_distance, log_constant
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import Output, Row, markdown_table, new_figure
from pacbayes.paper.protocol import DELTA
from pacbayes.paper.workspace import Workspace, kept_ipopt, solve
from pacbayes.posteriors import optimal_posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Where the moment of the linear distance is largest.
_BEST_LINEAR = 1.0 / (math.e - 1.0)
_SMALL, _LARGE = (5, 10, 15, 20, 25, 30), (500, 700, 1000, 1020, 1840, 2257)
_SQUARED = (10, 50, 100, 200, 500, 1000)
# One classifier of risk a among H of risk b, uniform prior: the bound has two minima.
_TWO_MINIMA = {
    "squared": (10**5, 30, 0.0, 0.3), "pinsker": (10**6, 50, 0.3, 0.5), "ch": (10**6, 50, 0.3, 0.475),
    "kl": (10**3, 10, 0.0, 0.2),
}  # fmt: skip


def constants(space: Workspace) -> Output:
    """Both tables and three figures; they are the same for every workspace."""
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
    figures = {"constants-linear": _draw_linear, "constants-squared": _draw_squared}
    return Output("constants", rows, partial(constants_text, space), figures)


def constants_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `constants`; the logarithms of the CSV file have too few digits for the large ones."""
    parts = ["# The constants", _introduction()]
    for distance, title in (("linear", "I_lin"), ("squared", "I_sq")):
        lines = [
            [row["m"], power(log_constant(distance, row["m"])), "–" if row["paper"] is None else f"{row['paper']:g}",
             f"{row['two_sqrt_m']:.2f}", "–" if row["paper"] is None else f"{row['paper_two_sqrt_m']:.2f}"]
            for row in rows if row["distance"] == distance
        ]  # fmt: skip
        parts += [f"## {title}(m)", markdown_table(["m", title, "paper", "2√m", "paper"], lines)]
    parts += ["![I_lin](constants-linear.svg)", "![I_sq](constants-squared.svg)"]
    return "\n\n".join(parts)


def _introduction() -> str:
    return (
        "Computed in logarithms, so that there is no largest m; the paper's are NaN from m = 1020 (elsewhere 1028) on. "
        f"The moment of the linear distance is largest at l = 1/(e−1) = {_BEST_LINEAR:.5f}; the paper's table is at "
        "l = 0.58, read off a figure, where it is a little lower (m = 500: 5.945e26). That of the squared distance is "
        "largest at l = 1/2 (the paper: “symmetric about l = 0”)."
    )


def power(log_value: float) -> str:
    """Format exp(log_value) to four digits, also where it has no floating-point number.

    Examples
    --------
    >>> power(math.log(475.79)), power(1000.0)
    ('475.8', '1.970e+434')
    """
    if log_value < math.log(1e5):
        return f"{math.exp(log_value):.4g}"
    exponent = math.floor(log_value / math.log(10.0))
    return f"{math.exp(log_value - exponent * math.log(10.0)):.3f}e+{exponent}"


def _draw_linear() -> "Figure":
    """Draw ln I_lin(m, l) over l for small and large m, with the line l* = 1/(e-1)."""
    figure, axes = new_figure(1, 2, width=9.0, height=3.6)
    risks = np.linspace(0.0, 1.0, 401)
    distance = get_distance("linear")
    for axis, sizes in zip(axes, (_SMALL, _LARGE), strict=True):
        for m in sizes:
            axis.plot(risks, distance.log_moment(m, risks) / math.log(10.0), label=f"m = {m}")
        axis.axvline(_BEST_LINEAR, color="black", linestyle=":", linewidth=1.0)
        axis.set(xlabel="true risk l", title="small m" if sizes is _SMALL else "large m")
        axis.annotate("l* = 1/(e−1)", (_BEST_LINEAR, 0.0), xytext=(3, 3), textcoords="offset points", fontsize=8)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("log₁₀ I_lin(m, l)")
    return figure


def _draw_squared() -> "Figure":
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


def outline(space: Workspace) -> Output:
    """Verdicts; they are the same for every workspace."""
    return Output("outline", _linear(space) + _squared() + _kl() + _pinsker() + _ch(), partial(outline_text, space))


def outline_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `outline`."""
    lines = [[row["distance"], row["aspect"], row["paper"], row["verdict"], row["evidence"]] for row in rows]
    text = (
        "# The paper's outline, judged\n\nIts first table, cell by cell. Two minima: the fixed-point iteration from "
        "the prior against the certified minimum, on one classifier of risk a among H − 1 of risk b "
        f"(δ = {DELTA}, the paper's constants, uniform prior; [the conjecture](../docs/conjecture.md)).\n\n"
    )
    return text + markdown_table(["distance", "aspect", "the paper", "verdict", "evidence"], lines)


def _row(distance: str, aspect: str, paper: str, verdict: str, evidence: str) -> Row:
    return {"distance": distance, "aspect": aspect, "paper": paper, "verdict": verdict, "evidence": evidence}


def _constant(distance: str, m: int = 1840) -> str:
    exact, paper = log_constant(distance, m), log_constant(distance, m, "paper")
    return f"m = {m}: {power(exact)} exact, {power(paper)} the paper's"


def _describe_two_minima(distance: str) -> str:
    """Results of two starts of the fixed-point iteration, and the certificate, where there are two minima."""
    H, m, a, b = _TWO_MINIMA[distance]
    risks = [a] + [b] * (H - 1)
    settings: dict[str, Any] = {"distance": distance, "delta": DELTA, "constant": "paper"}
    best = optimal_posterior(risks, m, **settings)
    one = [1.0 - 1e-9] + [1e-9 / (H - 1)] * (H - 1)
    from_prior = optimal_posterior(risks, m, method="fixed-point", start="prior", **settings)
    from_one = optimal_posterior(risks, m, method="fixed-point", start=one, **settings)
    return (
        f"H = {H:.0e}, m = {m}, a = {a:g}, b = {b:g}: from the prior {from_prior.bound:.6f}, from the one "
        f"{from_one.bound:.6f}, certified {best.bound:.6f}"
    )


def _linear(space: Workspace) -> list[Row]:
    rate = log_constant("linear", 1000) / 1000
    return [
        _row("linear", "constant", "not required", "needed for the bound, not for the posterior",
             f"ln I = {rate:.6f} m, at l = {_BEST_LINEAR:.5f}: no bound is below that"),
        _row("linear", "convexity", "convex", "right", "L + K/m, K convex"),
        _row("linear", "global minimum", "q ∝ p exp(−m l)", "right", "the fixed point with β = m"),
        _row("linear", "solver", "identifies the global minimum", *_linear_solver(space)),
    ]  # fmt: skip


def _linear_solver(space: Workspace) -> tuple[str, str]:
    """Whether Ipopt ends at the closed form on the smallest data set, and by how much it misses."""
    run = space.run("haberman", space.primary, 0).first(50)
    other, best = kept_ipopt(space, run, "linear"), solve(run, "linear")
    miss = other["bound"] - best.bound
    return "right" if miss <= 1e-6 and not other[
        "letter"
    ] else "**no**", f"Haberman, H = 50: {miss:.0e} above the minimum"


def _squared() -> list[Row]:
    return [
        _row("squared", "constant", "Σ C(m,k) 2^−m exp(m(k/m−½)²), approximated by 2√m", "right; 2√m is far above",
             _constant("squared")),
        _row("squared", "convexity", "possibly quasi-convex", "**no**", _describe_two_minima("squared")),
        _row("squared", "solver", "a unique minimum", "on the nine data sets, not in general",
             "as above: two starts, two minima"),
        _row("squared", "fixed point", "matches the solver", "on the nine data sets", "[support](support-squared.md)"),
    ]  # fmt: skip


def _kl() -> list[Row]:
    return [
        _row("kl", "constant", "2√m (Maurer)", "valid, not the least", _constant("kl")),
        _row("kl", "convexity", "non-convex, difference of convex functions", "right", _describe_two_minima("kl")),
        _row("kl", "fixed point", "qᵢ = pᵢ exp{...}, no normalisation", "as printed it leaves the simplex",
             "normalised it has the same fixed points"),
        _row("kl", "solver", "several minima, errors for large H", "errors: those of a start outside the domain",
             "[fixed point against solver](fp-vs-solver.md)"),
        _row("kl", "fixed point, computed", "same point from different starts", "on the nine data sets, not in general",
             "as above"),
    ]  # fmt: skip


def _pinsker() -> list[Row]:
    return [
        _row("pinsker", "constant", "2√m", "valid, not the least", _constant("pinsker")),
        _row("pinsker", "convexity", "possibly quasi-convex", "**no**", _describe_two_minima("pinsker")),
        _row("pinsker", "solver", "a unique minimum", "on the nine data sets, not in general", "as above"),
        _row("pinsker", "fixed point", "matches the solver", "on the nine data sets", "[support](support-pinsker.md)"),
    ]  # fmt: skip


def _ch() -> list[Row]:
    true = math.exp(log_constant("ch", 1))
    return [
        _row("ch", "constant", "0.9334 m", "invalid at m = 1, elsewhere far above",
             f"{_constant('ch')}; m = 1: {true:.4f} exact, 0.9334 the paper's"),
        _row("ch", "convexity", "shown to be non-convex", "non-convex, but not by the printed example",
             _describe_two_minima("ch")),
        _row("ch", "fixed point", "2√r / (dr/dR) in the exponent", "right, but the printed derivative lacks a ½",
             "R = 0.1: 0.62396 printed, 0.95525 true ([notes](../docs/paper-notes.md))"),
        _row("ch", "solver", "a unique minimum", "on the nine data sets, not in general", "as above"),
    ]  # fmt: skip
