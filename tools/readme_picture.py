"""Write docs/images/readme.svg: a certificate, and bounds on 28 sealed data sets compared with holdouts.

    python tools/readme_picture.py docs/images/readme.svg

Left: the certificate of `pacbayes certify --dataset wdbc`.  Right: means of results/against.jsonl, measured by
`python benchmarks/bench_against.py`: our bound divided by that of a holdout by hand, and by that of a holdout among the
same classifiers.
"""

import json
import statistics
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.report import plot_certificate
from pacbayes.report.plots import ACCENT, RISK

ROOT = Path(__file__).parents[1]
# Baselines in results/against.jsonl, with the label, marker and colour of their ratios.
_AGAINST = {"by hand": ("by hand", "o", ACCENT), "same members": ("among the same classifiers", "x", RISK)}


def sealed() -> set[str]:
    """Names of the sealed data sets, from their table in results/against.md."""
    part = (ROOT / "results" / "against.md").read_text(encoding="utf-8").partition("## Sealed")[2].partition("\n## ")[0]
    table = part.partition("| data set |")[2].splitlines()
    return {line.split("|")[1].strip() for line in table[2:] if line.startswith("|")}


def ratios(below: str) -> list[float]:
    """Ratio of our mean bound to that of a baseline, for every sealed data set, in ascending order."""
    lines = (ROOT / "results" / "against.jsonl").read_text(encoding="utf-8").splitlines()
    results = [json.loads(line) for line in lines]
    return sorted(
        statistics.fmean(result["limit"] for result in results if result["data"] == name)
        / statistics.fmean(result[below] for result in results if result["data"] == name)
        for name in sealed()
    )


def draw_ratios(axes: Axes) -> None:
    """Draw the ratios in ascending order."""
    for key, (label, marker, colour) in _AGAINST.items():
        values = ratios(key)
        smaller = sum(value < 1 for value in values)
        words = f"holdout {label}: ours is smaller on {smaller} of {len(values)}"
        axes.plot(range(1, len(values) + 1), values, marker, color=colour, markersize=5, label=words)
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.set(xlabel="sealed data sets, ordered by ratio", ylabel="our bound / bound of a holdout", xticks=[])
    axes.set_title("28 data sets that nothing was tuned on", loc="left")
    axes.spines[["right", "top"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize="small")


def main() -> None:
    """Fit, draw and write."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "readme"  # the same file from the same numbers
    from matplotlib import pyplot

    data = load_dataset("wdbc", as_frame=True)
    clf = CertifiedClassifier(random_state=0).fit(data.data, np.asarray(data.target_names)[data.target])
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    plot_certificate(clf, left)
    left.set_title("Wisconsin breast cancer: bound on the error rate", loc="left")
    draw_ratios(right)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
