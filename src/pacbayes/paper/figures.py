"""The paper's figures: error against lambda, and, on samples of 33, no best lambda and both sides of the bound."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.seeds import make_rng
from pacbayes.bounds import log_constant
from pacbayes.data import load_dataset
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import Output, Row, markdown_table, new_figure, number
from pacbayes.paper.protocol import DELTA, describe
from pacbayes.paper.runs import Run
from pacbayes.paper.workspace import Workspace
from pacbayes.posteriors import optimal_posterior
from pacbayes.svm import sigest
from pacbayes.svm.kernel import Kernel, fit_scaling
from pacbayes.svm.path import solve_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# One point of this many goes into the CSV file and the figure, which would be megabytes otherwise.
_THIN = 10
# Where the paper sees the risks of one data set begin to vary, and which.
_TURN = 15.0
TURNING = "wdbc"
# What `describe_curve` returns.
_DESCRIPTION = ("least", "largest", "rise", "scatter", "below", "above")

# Samples of the first figure, and the size of a sample in both.
_SAMPLES, SIZE = 24, 33
# 10, 1, ..., 1e-23.
_POWERS: FloatArray = np.float64(10.0) ** (2.0 - np.arange(1, 26))
# Top 30 % of 25, as in the paper.
_TOP = 8
#: "Almost all": the paper asks for three quarters.
ALMOST_ALL = 0.75

# The paper does not say which it used; these are a tenth of its large grid.
_LAMBDAS = np.round(0.1 * np.arange(1, 201), 1)
METRICS = ("training", "held-out")
# The paper's colours of left and right sides.
_STYLES = {"linear": (-0.15, "tab:blue", "tab:green"), "squared": (0.15, "tab:red", "black")}

# With lambda = 1e-23 on data that cannot be separated there is no solution to converge to.
_MAX_ITER = 100_000


def risk_curves(space: Workspace) -> Output:
    """Figure for the first seed of every split scheme, and numbers that describe the curves.

    Those of `TURNING`, of which the paper claims more, are described for all seeds.
    """
    runs = {split: {d: space.run(d, split, 0) for d in space.datasets} for split in space.splits}
    points: list[Row] = []
    curves: list[Row] = []
    for split, by_dataset in runs.items():
        for dataset, run in by_dataset.items():
            where = {"dataset": dataset, "split": split}
            thin = slice(None, None, 1 if space.quick else _THIN)
            points += [
                {"kind": "point"} | where | {"lambda": float(x), "validation": float(v), "test": float(t)}
                for x, v, t in zip(run.lambdas[thin], run.risks[thin], run.test_risks[thin], strict=True)
            ]
            every = space.runs(dataset, split) if dataset == TURNING else [run]
            curves += [
                {"kind": "curve"} | where | {"seed": seed} | describe_curve(one) for seed, one in enumerate(every)
            ]
    figures = {f"risk-curves-{split}": partial(_draw_curves, by_dataset) for split, by_dataset in runs.items()}
    return Output("risk-curves", points + curves, partial(risk_curves_text, space), figures)


def risk_curves_text(space: Workspace, rows: list[Row]) -> str:
    """Page of `risk-curves`."""
    parts = [
        "# Validation and test error against λ",
        "Seed 0. “Rise”: mean of the last tenth of the grid minus that of the first. “Scatter”: standard deviation of "
        "the differences of neighbours, divided by √2: what of the variation is not a trend. Below and above 15: "
        "standard deviation of the validation risks in that part of the grid.",
    ]
    for split in space.splits:
        curves = [row for row in rows if (row["kind"], row["split"], row["seed"]) == ("curve", split, 0)]
        lines = [[describe(row["dataset"]), *(number(row[name], 4) for name in _DESCRIPTION)] for row in curves]
        columns = ["data set", "least", "largest", "rise", "scatter", "deviation λ ≤ 15", "deviation λ > 15"]
        parts += [f"## {split.capitalize()} splits", markdown_table(columns, lines)]
        parts += [f"![risk curves, {split} splits](risk-curves-{split}.svg)"]
    return "\n\n".join(parts)


def describe_curve(run: Run) -> dict[str, float]:
    """Numbers of the table for one curve."""
    risks, tenth = run.risks, max(1, len(run.risks) // 10)
    return {
        "least": float(risks.min()), "largest": float(risks.max()),
        "rise": float(risks[-tenth:].mean() - risks[:tenth].mean()), "scatter": scatter(risks),
        "below": float(risks[run.lambdas <= _TURN].std()), "above": float(risks[run.lambdas > _TURN].std()),
    }  # fmt: skip


def scatter(values: FloatArray) -> float:
    """Part of the variation that neighbours do not share.

    Examples
    --------
    >>> scatter(np.linspace(0.0, 1.0, 11)) < 1e-12
    True
    """
    return float(np.diff(values).std() / np.sqrt(2.0))


def _draw_curves(runs: dict[str, Run]) -> "Figure":
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


def no_best_lambda(space: Workspace) -> Output:
    """Ranking and test errors on the samples of the first seed, and how the best spread over ten seeds."""
    partitions = [rank_samples(seed) for seed in range(1 if space.quick else 10)]
    rows: list[Row] = [{"kind": "value"} | row for row in partitions[0]]
    rows += [{"kind": "partition", "seed": seed} | best_share(ranked) for seed, ranked in enumerate(partitions)]
    figures = {"no-best-lambda": partial(_draw_best, partitions[0])}
    return Output("no-best-lambda", rows, partial(no_best_lambda_text, space), figures)


def rank_samples(seed: int, samples: int = _SAMPLES) -> list[Row]:
    """Rank, lambda and errors of each sample and each of its top values: ties go to the smaller lambda."""
    data = load_dataset("mammographic")
    order = make_rng(seed).permutation(len(data.target))
    test = order[_SAMPLES * SIZE :]
    rows = []
    for sample in range(samples):
        train = order[sample * SIZE : (sample + 1) * SIZE]
        errors, test_errors = errors_on(data.data, data.target, train, (train, test), _POWERS, make_rng(seed, sample))
        for rank, i in enumerate(np.lexsort((_POWERS, errors))[:_TOP]):
            rows.append({
                "sample": sample + 1, "rank": rank + 1, "lambda": float(f"{_POWERS[i]:.0e}"),
                "training_error": int(errors[i]) / SIZE, "test_error": int(test_errors[i]) / len(test),
            })  # fmt: skip
    return rows


def best_share(rows: list[Row]) -> Row:
    """Lambda that is first most often and the share of samples in which it is."""
    first = Counter(row["lambda"] for row in rows if row["rank"] == 1)
    value, count = first.most_common(1)[0]
    return {"lambda": value, "share": count / _SAMPLES}


def _recurring(rows: list[Row]) -> set[float]:
    """Lambdas that are among the top of at least half of the samples."""
    counts = Counter(row["lambda"] for row in rows)
    return {value for value, count in counts.items() if count >= _SAMPLES / 2}


def no_best_lambda_text(_: Workspace, everything: list[Row]) -> str:
    """Page of `no-best-lambda`."""
    rows, shares = ([row for row in everything if row["kind"] == kind] for kind in ("value", "partition"))
    often, paper = _recurring(rows), best_share(list(printed("top_lambdas")))
    tied = _tied(rows)
    lines = []
    for sample in range(1, _SAMPLES + 1):
        top = [row for row in rows if row["sample"] == sample]
        cells = [f"**{r['lambda']:g}**" if r["lambda"] in often else f"{r['lambda']:g}" for r in top]
        lines.append([f"S{sample}", *cells])
    first, most = shares[0], max(row["share"] for row in shares)
    text = (
        f"# No single best λ\n\nMammographic: {_SAMPLES} samples of {SIZE}, the other 38 examples to test; λ = 10, 1, "
        "..., 1e-23; raw features, sigest, C = 1/λ. The top 30 % by training error, ties by increasing λ; bold: among "
        "the top of at least half of the samples (our reading of the paper's “recurring”).\n\n"
        f"The value that is best most often is {first['lambda']:g}, in {first['share']:.0%} of the samples (the "
        f"paper's table: {paper['lambda']:g}, in {paper['share']:.0%}). Over {len(shares)} partitions the largest such "
        f"share is {most:.0%}; the paper claims less than {ALMOST_ALL:.0%}. In {tied} of {_SAMPLES} samples all eight "
        "values shown have the same training error, so that the order among them is that of the tie rule, not of the "
        "data.\n\n![best values and their test errors](no-best-lambda.svg)\n\n"
    )
    return text + markdown_table(["sample", *(f"λ*{i}" for i in range(1, _TOP + 1))], lines)


def _tied(rows: list[Row]) -> int:
    """Count the samples in which the top values have one training error."""
    by_sample: dict[int, set[float]] = {}
    for row in rows:
        by_sample.setdefault(row["sample"], set()).add(row["training_error"])
    return sum(len(errors) == 1 for errors in by_sample.values())


def _draw_best(rows: list[Row]) -> "Figure":
    """Draw the test error of each sample's best lambda as a line, the value written above it."""
    figure, (axis,) = new_figure(1, 1, width=9.0, height=3.6)
    best = [row for row in rows if row["rank"] == 1]
    axis.vlines([row["sample"] for row in best], 0.0, [row["test_error"] for row in best], color="tab:blue")
    for row in best:
        axis.annotate(
            f"{row['lambda']:g}", (row["sample"], row["test_error"]), xytext=(0, 4), textcoords="offset points",
            ha="center", fontsize=7, rotation=45,
        )  # fmt: skip
    axis.set(xlabel="sample", ylabel="test error of the best λ", xticks=range(1, _SAMPLES + 1))
    axis.set_ylim(0.0, max(row["test_error"] for row in best) * 1.2)
    axis.tick_params(labelsize=7)
    return figure


def robustness(space: Workspace) -> Output:
    """Both sides for every sample of the first seed."""
    rows = measured_sides(0)
    return Output("robustness", rows, partial(robustness_text, space), {"robustness": partial(_draw_sides, rows)})


def measured_sides(seed: int) -> list[Row]:
    """Train on each sample of 33, measure risk there and on the next sample, and the true risk on all other rows."""
    data = load_dataset("transfusion")
    order = make_rng(seed).permutation(len(data.target))
    number_of = len(order) // SIZE
    samples = [order[i * SIZE : (i + 1) * SIZE] for i in range(number_of)]
    rows = []
    for i, train in enumerate(samples):
        if len(set(data.target[train].tolist())) < 2:
            continue
        held_out = samples[(i + 1) % number_of]
        rest = np.setdiff1d(order, np.concatenate([train, held_out]))
        errors = errors_on(data.data, data.target, train, (train, held_out, rest), _LAMBDAS, make_rng(seed, i))
        true = errors[2] / len(rest)
        for kind, empirical in zip(METRICS, errors[:2] / SIZE, strict=True):
            rows += [_sides(i + 1, kind, distance, empirical, true) for distance in ("linear", "squared")]
    return rows


def _sides(sample: int, kind: str, distance: str, empirical: Any, true: Any) -> Row:
    """Both sides of the theorem for the posterior with the least bound."""
    posterior = optimal_posterior(empirical, SIZE, distance=distance, delta=DELTA)
    gap = float(posterior.weights @ true - posterior.weights @ empirical)
    left = gap if distance == "linear" else gap * gap
    right = (posterior.kl + log_constant(distance, SIZE) - np.log(DELTA)) / SIZE
    return {
        "sample": sample, "risk": kind, "distance": distance, "left": left, "right": float(right),
        "holds": bool(left <= right), "bound": posterior.bound, "true_risk": float(posterior.weights @ true),
    }  # fmt: skip


def robustness_text(_: Workspace, rows: list[Row]) -> str:
    """Page of `robustness`."""
    lines = []
    for kind in METRICS:
        for distance in ("linear", "squared"):
            chosen = [row for row in rows if row["risk"] == kind and row["distance"] == distance]
            lines.append([
                kind, distance, len(chosen), sum(row["holds"] for row in chosen),
                number(float(np.mean([row["left"] for row in chosen])), 4), number(max(r["left"] for r in chosen), 4),
                number(min(r["right"] for r in chosen), 4),
            ])  # fmt: skip
    text = (
        f"# Both sides of the bound over samples\n\nTransfusion, samples of {SIZE}, {_LAMBDAS.size} classifiers "
        f"(λ = 0.1, 0.2, ..., 20; the paper does not give its grid), δ = {DELTA}, exact constants. Q minimises the "
        "bound on each sample. Left: E_Q[l] − E_Q[l̂] for linear, its square for squared, l being the error on all "
        "examples in neither sample. Right: (KL + ln I/δ)/m. With the training risk, the paper's picture, no theorem "
        "applies: the classifiers depend on the examples. With the next sample's risk it does.\n\n"
    )
    columns = ["risk", "distance", "samples", "left ≤ right", "mean left", "largest left", "least right"]
    return text + markdown_table(columns, lines) + "\n\n![both sides](robustness.svg)"


def _draw_sides(rows: list[Row]) -> "Figure":
    """Draw, for each kind of risk, the left sides as lines and the right sides as crosses."""
    figure, axes = new_figure(1, 2, width=9.0, height=3.6)
    for axis, kind in zip(axes, METRICS, strict=True):
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


def errors_on(
    X: FloatArray, y: Rows, train: Rows, targets: Sequence[Rows], lambdas: FloatArray, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Errors of every lambda's machine (across) on each of the targets (down): raw features, sigest.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> everything = np.arange(4)
    >>> errors_on(X, y, everything, [everything], np.array([0.1]), np.random.default_rng(0))
    array([[0]])
    """
    scaling = fit_scaling(X[train], False)
    rows = scaling(X[train])
    kernel = Kernel("rbf", sigest(rows, random_state=rng))
    path = solve_path(kernel.gram(rows), np.where(y[train] == 1, 1.0, -1.0), lambdas, max_iter=_MAX_ITER)
    errors = []
    for part in targets:
        scores = path.dual_coef @ kernel.between(rows, scaling(X[part])) + path.intercept[:, None]
        errors.append(np.count_nonzero((scores >= 0.0) != (y[part] == 1), axis=1))
    return np.array(errors, dtype=np.int64)
