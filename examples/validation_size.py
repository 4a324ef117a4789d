"""
How large should the validation set be?
=======================================

More validation rows make the bound tighter. Fewer training rows make the classifiers worse. Bounds and test errors of
``StochasticSVC`` on two data sets, for nine validation sizes.

.. image:: /images/validation_size.svg
   :alt: Bounds and test errors against validation_size, on Ionosphere and Mammographic

Each point is a mean over twenty splits. A fifth of the rows is the test set; ``validation_size`` splits the others.
Prints a table, in some minutes. With a file name, it draws the figure::

    python examples/validation_size.py docs/images/validation_size.svg
"""

# sphinx_gallery_thumbnail_path = 'images/validation_size.svg'
import sys

import numpy as np
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC, load_dataset

DATA = {"ionosphere": "Ionosphere", "mammographic": "Mammographic"}
SIZES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
LINES = {
    "stochastic": "bound, stochastic classifier",
    "Occam": "bound, best single classifier (Occam)",
    "holdout": "bound, holdout",
    "test": "test error, stochastic classifier",
}
REPEATS = 20


def measure(X: np.ndarray, y: np.ndarray, size: float) -> dict[str, float]:
    """Mean of every line at one validation size."""
    rows = []
    for seed in range(REPEATS):
        X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
        # hedge=1 leaves the posterior alone: with a primary rule, the bound would nearly be the holdout's.
        clf = StochasticSVC(validation_size=size, hedge=1, random_state=seed).fit(X_fit, y_fit)
        certificate = clf.certificate_
        wrong = clf.vote_share(X_test)[np.arange(len(y_test)), 1 - np.searchsorted(clf.classes_, y_test)]
        rows.append(
            (
                certificate.bound,
                certificate.baselines["Occam"].bound,
                certificate.baselines["holdout"].bound,
                float(wrong.mean()),
            )
        )
    return dict(zip(LINES, np.mean(rows, axis=0).tolist(), strict=True))


def table() -> dict[str, list[dict[str, float]]]:
    """Measure and print all lines."""
    results = {}
    for name in DATA:
        data = load_dataset(name)
        print(f"\n{name}: {len(data.target)} rows, means over {REPEATS} splits, delta = 0.05")
        print(f"{'validation_size':<17}" + "".join(f"{line:>12}" for line in LINES))
        results[name] = [measure(data.data, data.target, size) for size in SIZES]
        for size, values in zip(SIZES, results[name], strict=True):
            print(f"{size:<17}" + "".join(f"{values[line]:>12.4f}" for line in LINES))
    return results


def draw(results: dict[str, list[dict[str, float]]], path: str) -> None:
    """Plot the table."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "validation size"  # the same file from the same numbers
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(results), figsize=(9, 3.6), layout="constrained")
    styles = {"stochastic": "o-", "Occam": "s--", "holdout": "^:", "test": "k-"}
    for panel, (name, values) in zip(panels, results.items(), strict=True):
        for line, label in LINES.items():
            panel.plot(SIZES, [value[line] for value in values], styles[line], label=label, markersize=4)
        panel.set_title(DATA[name], fontsize="medium")
        panel.set_xlabel("validation_size")
        panel.set_ylim(bottom=0.0)
    panels[0].set_ylabel("error rate")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


if __name__ == "__main__":
    results = table()
    if len(sys.argv) > 1:
        draw(results, sys.argv[1])
