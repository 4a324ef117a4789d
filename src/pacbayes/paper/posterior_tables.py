"""Tables and figures beyond the paper's: chi-square against KL, the fixed point from many starts, and posteriors."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes.bounds.chi_square import CHI2_DISTANCES
from pacbayes.paper.bound_tables import COLUMNS
from pacbayes.paper.output import Output, Row, markdown_table, new_figure, number
from pacbayes.paper.protocol import DELTA, describe
from pacbayes.paper.runs import Run
from pacbayes.paper.workspace import Workspace, solve
from pacbayes.posteriors import gibbs_posterior, optimal_posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Both levels of the comparison: the paper's and the library's default.
_LEVELS = (0.01, 0.05)
_STARTS = 20
#: The data set of the figures, and its split scheme: the bounds are valid, and risks scatter as in the paper.
PICTURED = "wdbc"
_SPLIT = "independent"
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1990)
# One weight of this many goes into the CSV file.
_THIN = 10
_COLORS = dict(zip(COLUMNS, ("tab:blue", "tab:red", "tab:green", "tab:purple", "black"), strict=True))


def divergences(space: Workspace) -> Output:
    """Compare the smallest bounds by the Kullback-Leibler and by the chi-square divergence, on the first seed."""
    rows: list[Row] = []
    for dataset in space.datasets:
        run = space.run(dataset, "shared", 0)
        for delta in _LEVELS:
            for distance in CHI2_DISTANCES:
                row: Row = {"dataset": dataset, "H": run.errors.size, "m": run.m, "delta": delta, "distance": distance}
                for divergence in ("kl", "chi2"):
                    best = optimal_posterior(run.risks, run.m, distance=distance, delta=delta, divergence=divergence)
                    row |= {divergence: best.bound, f"{divergence}_support": best.support_size}
                    row[f"{divergence}_gap"] = max(best.gap, 0.0)
                rows.append(row)
    return Output("divergences", rows, partial(divergences_text, space))


def divergences_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `divergences`."""
    parts = [
        "# Kullback-Leibler against chi-square",
        "The smallest bounds over all posteriors, exact constants, uniform prior, one training and one validation "
        "sample for all classifiers (shared split), seed 0. Bold: the smaller of the two. All are proved optimal to "
        f"1e-9 (largest gap {max(max(r['kl_gap'], r['chi2_gap']) for r in rows):.0e}). The divergence must be fixed "
        "before validation.",
    ]
    for delta in sorted({row["delta"] for row in rows}):
        chosen = [row for row in rows if row["delta"] == delta]
        lines = []
        for dataset in dict.fromkeys(row["dataset"] for row in chosen):
            by_distance = {row["distance"]: row for row in chosen if row["dataset"] == dataset}
            cells = [cell for d in CHI2_DISTANCES for cell in _pair(by_distance[d]["kl"], by_distance[d]["chi2"])]
            lines.append([describe(dataset), by_distance["kl"]["m"], *cells, by_distance["kl"]["chi2_support"]])
        smaller = {d: sum(r["chi2"] < r["kl"] for r in chosen if r["distance"] == d) for d in CHI2_DISTANCES}
        columns = ["data set", "m", *(f"{d}, {name}" for d in CHI2_DISTANCES for name in ("KL", "chi-square"))]
        counts = ", ".join(f"{d} {smaller[d]} of {len(lines)}" for d in CHI2_DISTANCES)
        parts += [f"## δ = {delta:g}", f"Chi-square is smaller: {counts}."]
        parts.append(markdown_table([*columns, "support, kl by chi-square"], lines))
    return "\n\n".join(parts)


def _pair(first: float, second: float) -> list[str]:
    """Format two numbers for a table, the smaller one bold."""
    texts = [number(first, 4), number(second, 4)]
    return [
        f"**{text}**" if value == min(first, second) else text
        for text, value in zip(texts, (first, second), strict=True)
    ]


def starts(space: Workspace) -> Output:
    """Run the fixed-point iteration from random starts, on the first seed, and compare its ends."""
    rows: list[Row] = []
    count = 3 if space.quick else _STARTS
    for dataset in space.datasets:
        run = space.run(dataset, "shared", 0)
        for distance in COLUMNS:
            best = solve(run, distance)
            ends = [solve(run, distance, method="fixed-point", random_state=seed) for seed in range(count)]
            apart = max(float(np.abs(end.weights - ends[0].weights).sum()) for end in ends)
            rows.append({
                "dataset": dataset, "distance": distance, "H": run.errors.size, "starts": count,
                "converged": sum(end.converged for end in ends), "largest_l1": apart,
                "most_above": max(max(end.bound - best.bound for end in ends), 0.0), "gap": max(best.gap, 0.0),
                "least_steps": min(end.n_iter for end in ends), "most_steps": max(end.n_iter for end in ends),
            })  # fmt: skip
    return Output("starts", rows, partial(starts_text, space))


def starts_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `starts`."""
    lines = [
        [
            describe(row["dataset"]), row["distance"], f"{row['converged']} of {row['starts']}",
            f"{row['largest_l1']:.1e}", f"{row['most_above']:.1e}", f"{row['least_steps']}–{row['most_steps']}",
        ]
        for row in rows
    ]  # fmt: skip
    text = (
        "# The fixed point from different starts\n\n"
        f"{rows[0]['starts']} random starts (normalised exponential weights, as in the paper), H = {rows[0]['H']}, "
        f"shared split, seed 0, δ = {DELTA}, the paper's constants. “Apart”: the largest distance Σ|qᵢ − q'ᵢ| between "
        "two ends. “Above”: the largest difference of an end's bound and the certified minimum. All ends on a data set "
        f"are within {max(row['largest_l1'] for row in rows):.0e} of each other, and within "
        f"{max(row['most_above'] for row in rows):.0e} of the minimum; "
        "[in general they need not be](../docs/conjecture.md).\n\n"
    )
    return text + markdown_table(["data set", "distance", "converged", "apart", "above", "steps"], lines)


def posteriors(space: Workspace) -> Output:
    """Draw the posteriors over lambda, the Gibbs curve with the five optima, and bounds by number of classifiers."""
    dataset = PICTURED if PICTURED in space.datasets else space.datasets[0]
    run = space.run(dataset, _SPLIT, 0)
    best = {distance: solve(run, distance) for distance in COLUMNS}
    rows: list[Row] = [
        {
            "kind": "optimum", "dataset": dataset, "m": run.m, "H": run.errors.size, "distance": distance,
            "bound": posterior.bound, "risk": posterior.empirical_risk, "kl": posterior.kl,
            "beta": posterior.beta, "n_effective": posterior.n_effective, "median_lambda": _median(run, posterior),
        }
        for distance, posterior in best.items()
    ]  # fmt: skip
    cumulated = {distance: np.cumsum(posterior.weights) for distance, posterior in best.items()}
    thin = slice(None, None, 1 if space.quick else _THIN)
    for i in range(run.errors.size)[thin]:
        weights = {f"{distance}_cumulated": float(cumulated[distance][i]) for distance in COLUMNS}
        rows.append({"kind": "weight", "lambda": float(run.lambdas[i]), "risk": float(run.risks[i])} | weights)
    rows += _curve_rows(run) + _size_rows(run)
    figures = {
        "posterior-over-lambda": partial(_draw_weights, run, cumulated),
        "gibbs-curve": partial(_draw_curve, rows),
        "bound-and-classifiers": partial(_draw_sizes, rows),
    }
    return Output("posteriors", rows, partial(posteriors_text, space), figures)


def _median(run: Run, posterior: Any) -> float:
    """Lambda below which half of the weight is."""
    return float(run.lambdas[np.searchsorted(np.cumsum(posterior.weights), 0.5)])


def _curve_rows(run: Run) -> list[Row]:
    """Points of the Gibbs curve, from the prior on."""
    rows: list[Row] = []
    for beta in (0.0, *np.geomspace(1.0, 1e4, 60).tolist()):
        weights = gibbs_posterior(run.risks, beta)
        logs = np.log(np.maximum(weights * weights.size, 1e-300))
        rows.append({"kind": "curve", "beta": beta, "risk": float(weights @ run.risks), "kl": float(weights @ logs)})
    return rows


def _size_rows(run: Run) -> list[Row]:
    """Smallest bounds for the first classifiers of the grid."""
    sizes = [H for H in _SIZES if run.errors.size > H] + [run.errors.size]
    return [
        {"kind": "size", "H": H, "distance": distance, "bound": solve(run.first(H), distance).bound}
        for H in sizes for distance in COLUMNS
    ]  # fmt: skip


def posteriors_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `posteriors`."""
    optima = [row for row in rows if row["kind"] == "optimum"]
    lines = [
        [
            row["distance"], number(row["bound"], 4), number(row["risk"], 4), f"{row['kl']:.3f}", f"{row['beta']:.1f}",
            f"{row['n_effective']:.1f}", f"{row['median_lambda']:g}",
        ]
        for row in optima
    ]  # fmt: skip
    sizes = [row for row in rows if row["kind"] == "size"]
    by_size = [
        [H, *(number(row["bound"], 4) for d in COLUMNS for row in sizes if (row["H"], row["distance"]) == (H, d))]
        for H in dict.fromkeys(row["H"] for row in sizes)
    ]
    columns = ["distance", "bound", "risk L", "KL", "β", "effective number", "median λ"]
    return "\n\n".join([
        "# Posteriors over λ",
        f"{describe(optima[0]['dataset'])}, H = {optima[0]['H']}, a split for each classifier, m = {optima[0]['m']}, "
        f"seed 0, δ = {DELTA}, the paper's constants.",
        markdown_table(columns, lines),
        "![Posterior weight over λ, with the validation risks](posterior-over-lambda.svg)",
        "A weight of one in 1990 is narrower than a pixel. Above: the validation risk of every SVM. Below: the weight "
        "of all SVMs up to λ. Each step is an SVM with a small risk on its own validation sample.",
        "![The Gibbs curve with the five optima](gibbs-curve.svg)",
        "Every posterior lies on or above the curve of Gibbs posteriors in the plane of empirical risk and "
        "divergence, and every optimum lies on it.",
        "![Smallest bound against the number of classifiers](bound-and-classifiers.svg)",
        "The first H classifiers of the grid, from small λ upwards. A uniform prior divides its mass among all of "
        "them, and larger λ have larger risks: more classifiers do not lower the bound as such.",
        markdown_table(["H", *COLUMNS], by_size),
    ])  # fmt: skip


def _draw_weights(run: Run, cumulated: dict[str, FloatArray]) -> "Figure":
    """Draw risks above, and cumulated weights below."""
    figure, axes = new_figure(2, 1, width=8.0, height=6.0)
    axes[0].plot(run.lambdas, run.risks, ".", color="grey", markersize=2.0)
    axes[0].set_ylabel("validation risk")
    axes[0].set_ylim(bottom=0.0)
    for distance, values in cumulated.items():
        axes[1].step(run.lambdas, values, where="post", color=_COLORS[distance], label=distance, linewidth=1.2)
    axes[1].plot(run.lambdas, np.linspace(0.0, 1.0, run.lambdas.size), ":", color="grey", label="prior")
    axes[1].set(xlabel="λ", ylabel="weight of all SVMs up to λ", ylim=(0.0, 1.02))
    axes[1].legend(fontsize=8, loc="lower right")
    axes[1].sharex(axes[0])
    return figure


def _draw_curve(rows: list[Row]) -> "Figure":
    """Draw the curve and the optima."""
    figure, (axis,) = new_figure(1, 1, width=7.0, height=4.5)
    curve = [row for row in rows if row["kind"] == "curve"]
    risks, kls = [row["risk"] for row in curve], [row["kl"] for row in curve]
    axis.fill_between(risks, kls, max(kls), color="tab:blue", alpha=0.08, label="region of all posteriors")
    axis.plot(risks, kls, color="grey", label="Gibbs posteriors")
    for row in (row for row in rows if row["kind"] == "optimum"):
        label = f"{row['distance']}: bound {row['bound']:.3f}, β = {row['beta']:.0f}"
        axis.plot(row["risk"], row["kl"], "o", color=_COLORS[row["distance"]], label=label)
    axis.set(xlabel="empirical risk L", ylabel="divergence from the prior, KL", xlim=(min(risks) * 0.97, None))
    axis.set_ylim(0.0, max(kls) * 1.03)
    axis.legend(fontsize=8)
    return figure


def _draw_sizes(rows: list[Row]) -> "Figure":
    """Draw a line for each distance."""
    figure, (axis,) = new_figure(1, 1, width=7.0, height=4.0)
    for distance in COLUMNS:
        chosen = [row for row in rows if row["kind"] == "size" and row["distance"] == distance]
        sizes: Sequence[float] = [row["H"] for row in chosen]
        axis.plot(sizes, [row["bound"] for row in chosen], "o-", color=_COLORS[distance], label=distance, markersize=4)
    axis.set(xlabel="number of classifiers H", ylabel="smallest bound", xscale="log")
    axis.set_ylim(bottom=0.0)
    axis.legend(fontsize=8, ncols=2)
    return figure
