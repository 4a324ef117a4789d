"""Write docs/images/readme.svg: stated bounds against true error rates, in samples with known truth.

    python tools/readme_picture.py docs/images/readme.svg

From results/promise.csv, which `python benchmarks/bench_promise.py --out results/promise.csv` simulates.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes

from pacbayes.report.plots import ACCENT, RISK

ROOT = Path(__file__).parents[1]


def draw(ax: Axes, results: pd.DataFrame, title: str) -> None:
    """Plot the bounds of one method against the true error rates; those below the diagonal are false."""
    false = results["bound"] < results["error_rate"]
    for mask, colour, marker, label in ((~false, RISK, "o", "true"), (false, ACCENT, "X", "false")):
        points = 100.0 * results.loc[mask, ["error_rate", "bound"]]
        ax.plot(points["error_rate"], points["bound"], marker, color=colour, markersize=5, alpha=0.7, label=label)
    ax.axline((0.0, 0.0), slope=1.0, color="0.4", linewidth=0.8)
    ax.set_title(f"{title}:\nfalse in {false.sum()} of {len(results)} samples", loc="left")
    ax.set_xlabel("true error rate, %")
    ax.spines[["right", "top"]].set_visible(False)


def main() -> None:
    """Read, draw and write."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "readme"  # the same file from the same numbers
    from matplotlib import pyplot

    results = pd.read_csv(ROOT / "results" / "promise.csv")
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharex=True, sharey=True)
    for ax, (method, part) in zip(axes, results.groupby("method", sort=False), strict=True):
        draw(ax, part, str(method))
    low = 100.0 * results[["error_rate", "bound"]].min() - 1.0
    high = 100.0 * results[["error_rate", "bound"]].max() + 1.0
    axes[0].set(xlim=(low["error_rate"], high["error_rate"]), ylim=(low["bound"], high["bound"]))
    axes[0].set_ylabel("stated: at most ... %")
    axes[1].legend(title="Statement", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
