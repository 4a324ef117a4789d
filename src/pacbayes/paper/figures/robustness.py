"""Both sides of the linear and the squared bound over samples of Transfusion, with training risk and with held-out."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes.bounds import log_constant
from pacbayes.data import load_dataset
from pacbayes.paper.new_figure import new_figure
from pacbayes.paper.output import Output, Row, markdown_table, number
from pacbayes.paper.protocol import DELTA
from pacbayes.paper.small_samples import errors_on
from pacbayes.paper.workspace import Workspace
from pacbayes.posteriors import optimal_posterior
from pacbayes.runtime.seeds import generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "robustness"
SIZE = 33
#: The paper does not say which it used; these are a tenth of its large grid.
LAMBDAS = np.round(0.1 * np.arange(1, 201), 1)
RISKS = ("training", "held-out")
_DATASET = "transfusion"
# The paper's colours of left and right sides.
_STYLES = {"linear": (-0.15, "tab:blue", "tab:green"), "squared": (0.15, "tab:red", "black")}


def reproduce(space: Workspace) -> Output:
    """Return both sides for every sample of the first seed."""
    rows = measure(0)
    return Output(NAME, _markdown(rows), rows, {"robustness": partial(draw, rows)})


def measure(seed: int) -> list[Row]:
    """Train on each sample of 33, measure risk there and on the next sample, and the true risk on all other rows."""
    data = load_dataset(_DATASET)
    order = generator(seed).permutation(len(data.target))
    number_of = len(order) // SIZE
    samples = [order[i * SIZE : (i + 1) * SIZE] for i in range(number_of)]
    rows = []
    for i, train in enumerate(samples):
        if len(set(data.target[train].tolist())) < 2:
            continue
        held_out = samples[(i + 1) % number_of]
        rest = np.setdiff1d(order, np.concatenate([train, held_out]))
        errors = errors_on(data.data, data.target, train, (train, held_out, rest), LAMBDAS, generator(seed, i))
        true = errors[2] / len(rest)
        for kind, empirical in zip(RISKS, errors[:2] / SIZE, strict=True):
            rows += [_sides(i + 1, kind, distance, empirical, true) for distance in ("linear", "squared")]
    return rows


def _sides(sample: int, kind: str, distance: str, empirical: Any, true: Any) -> Row:
    """Return both sides of the theorem for the posterior with the least bound."""
    posterior = optimal_posterior(empirical, SIZE, distance=distance, delta=DELTA)
    gap = float(posterior.weights @ true - posterior.weights @ empirical)
    left = gap if distance == "linear" else gap * gap
    right = (posterior.kl + log_constant(distance, SIZE) - np.log(DELTA)) / SIZE
    return {
        "sample": sample, "risk": kind, "distance": distance, "left": left, "right": float(right),
        "holds": bool(left <= right), "bound": posterior.bound, "true_risk": float(posterior.weights @ true),
    }  # fmt: skip


def _markdown(rows: list[Row]) -> str:
    lines = []
    for kind in RISKS:
        for distance in ("linear", "squared"):
            chosen = [row for row in rows if row["risk"] == kind and row["distance"] == distance]
            lines.append([
                kind, distance, len(chosen), sum(row["holds"] for row in chosen),
                number(float(np.mean([row["left"] for row in chosen])), 4), number(max(r["left"] for r in chosen), 4),
                number(min(r["right"] for r in chosen), 4),
            ])  # fmt: skip
    text = (
        f"# Both sides of the bound over samples\n\nTransfusion, samples of {SIZE}, {LAMBDAS.size} classifiers "
        f"(λ = 0.1, 0.2, ..., 20; the paper does not give its grid), δ = {DELTA}, exact constants. Q minimises the "
        "bound on each sample. Left: E_Q[l] − E_Q[l̂] for linear, its square for squared, l being the error on all "
        "examples in neither sample. Right: (KL + ln I/δ)/m. With the training risk, the paper's picture, no theorem "
        "applies: the classifiers depend on the examples. With the next sample's risk it does.\n\n"
    )
    columns = ["risk", "distance", "samples", "left ≤ right", "mean left", "largest left", "least right"]
    return text + markdown_table(columns, lines) + "\n\n![both sides](robustness.svg)"


def draw(rows: list[Row]) -> "Figure":
    """Draw, for each kind of risk, the left sides as lines and the right sides as crosses."""
    figure, axes = new_figure(1, 2, width=9.0, height=3.6)
    for axis, kind in zip(axes, RISKS, strict=True):
        for distance, (shift, line, cross) in _STYLES.items():
            chosen = [row for row in rows if row["risk"] == kind and row["distance"] == distance]
            places, right = [row["sample"] + shift for row in chosen], [row["right"] for row in chosen]
            axis.vlines(places, 0.0, [row["left"] for row in chosen], color=line, label=f"{distance}, left")
            axis.plot(places, right, "x", color=cross, markersize=5, label=f"{distance}, right")
        axis.axhline(0.0, color="grey", linewidth=0.5)
        axis.set(xlabel="sample", title=f"{kind} risk", ylim=(min(r["left"] for r in rows) - 0.03, None))
    axes[1].sharey(axes[0])
    axes[0].set_ylabel("left and right side")
    axes[1].legend(fontsize=7, loc="upper right", ncols=2)
    return figure
