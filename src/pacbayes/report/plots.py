"""Plots of certificates, risks, bounds, decisions, sample sizes and monitors."""

from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import import_optional
from pacbayes._utils.words import PLURAL, format_confidence, format_rounded_up, percent_up
from pacbayes.bounds.binomial import binomial_upper, chances, rows_needed
from pacbayes.certificates.certify import abstention_counts, threshold_counts
from pacbayes.certificates.decisions import Abstain, SelectiveResult, Threshold, ThresholdResult
from pacbayes.certificates.monitor import Monitor
from pacbayes.certificates.sentences import THRESHOLD_METRICS
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.thresholds import ThresholdGrid
from pacbayes.estimators.base import CertifiedModel
from pacbayes.posteriors.posterior import Problem
from pacbayes.report.guarantee import compare_with_baselines, format_baseline
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Types of plotted models; reports pass a view to avoid computing its numbers again.
Model = CertifiedModel | ReportView
# Two blues and an orange, distinguishable in greyscale and with most colour vision deficiencies.
RISK, TEST, ACCENT = "#1f4e79", "#7fa8d1", "#d9822b"
# Line styles that are distinguishable without colours.
_DASHES = ("-", "--", ":", "-.")
# Maximum number of points of a power curve.
_MAX_POINTS = 3000
# The axis is limited to this multiple of the bound of the model; larger bounds of baselines end in an arrow.
_FAR = 4.0
# Maximum number of characters of two legend entries side by side.
_LEGEND_WIDTH = 44
# Height of ticks and label of the x-axis, in lines of its label.
_LINES_BELOW = 3.6


def plot_certificate(clf: Model, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
    """Plot the validation error and the interval up to the bound, of a model and of its baselines.

    The baselines are the holdout bound of a classifier chosen within the training set, and the majority class.  The
    axis is that of the model: bounds of baselines that do not fit end in an arrow.  Models with a decision are plotted
    by `plot_decision`.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted model.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.
    test : pair (X_test, y_test), optional
        Test set, to plot test errors.  It must not overlap with the rows of the fit.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.write_report : HTML report that includes this plot.
    plot_decision : Plot of a model with a decision.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import CertifiedClassifier
    >>> from pacbayes.report import plot_certificate
    >>> clf = CertifiedClassifier("logistic", cv=2, random_state=0)
    >>> axes = plot_certificate(clf.fit([[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]))
    >>> [text.get_text().strip() for text in axes.texts][:2]
    ['this model', 'at most 9.6 %']
    """
    view, axes = _view_and_axes(clf, ax, test)
    if view.plan.decision is not None:
        return plot_decision(clf, axes)
    rows = compare_with_baselines(view)
    bounds = [row.bound or 0.0 for row in rows.values()]
    end = 1.4 * max(bound for bound in bounds if bound <= _FAR * bounds[0])
    for y, (label, row) in zip(range(0, -len(rows), -1), rows.items(), strict=True):
        axes.annotate(label, (0.0, y + 0.2), va="bottom")
        text, bound, risk = format_baseline(row), row.bound, row.empirical_risk or 0.0
        if bound is None:
            axes.annotate(text, (0.0, y), va="center")
            continue
        color = RISK if y else ACCENT
        lower = view.certificate.lower or 0.0 if y == 0 else 0.0
        interval = [[max(risk - lower, 0.0)], [max(bound - risk, 0.0)]]
        name = f"validation error and {format_confidence(view.plan.delta)} upper bound"
        axes.errorbar([risk], [y], xerr=interval, fmt="o", color=color, capsize=5.0, linewidth=2.0, label=name)
        if bound > end:
            axes.plot([end], [y], ">", color=color, markersize=8.0, clip_on=False)
            axes.annotate(f"at most {text}", (end, y + 0.2), ha="right", va="bottom")
        else:
            axes.annotate(f"at most {text}", (bound, y), (7.0, 0.0), textcoords="offset points", va="center")
    if view.observed is not None:
        observed = view.observed
        errors = np.count_nonzero(observed.wrong(view.voting)) if observed.covered is None else observed.covered
        axes.plot(errors / observed.rows, 0.0, "D", color="black", mec="white", label="test error")
    axes.set_xlim(0.0, end)
    axes.set_ylim(0.6 - len(rows), 0.75)
    axes.set_yticks([])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_xticks([share for share in axes.get_xticks() if share <= min(1.0, end)])
    format_as_percent(axes.xaxis)
    return set_labels(axes, "error rate")


def plot_risks(clf: Model, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
    """Plot the validation error, test error and weight of every classifier.

    The x-axis is the regularisation parameter if the classifiers differ in nothing else, as those of `StochasticSVC`,
    and the rank by validation error otherwise.  The weights of the rule that predicts have a separate y-axis on the
    right.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted model.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.
    test : pair (X_test, y_test), optional
        Test set, to plot test errors.  It must not overlap with the rows of the fit.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_certificate : Plot of the bound.
    pacbayes.ClassifierSet : The classifiers and their validation errors.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_risks
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> plot_risks(clf).get_ylabel()
    'error rate'
    """
    view, axes = _view_and_axes(clf, ax, test)
    positions, classifiers = view.positions, view.classifiers
    order = np.argsort(positions, kind="stable")
    axes.plot(positions[order], classifiers.risks[order], color=RISK, label=f"validation error (m = {classifiers.m})")
    if view.observed is not None:
        axes.plot(positions[order], view.observed.risks[order], color=TEST, label="test error")
    axes.axhline(view.certificate.bound, color=RISK, linestyle="--", label=view.bound_name)
    right = axes.twinx()
    if view.is_path:
        right.fill_between(positions[order], view.weights[order], color=ACCENT, alpha=0.35, linewidth=0)
    else:
        right.bar(positions, view.weights, color=ACCENT, alpha=0.5)
    right.set_ylim(0.0, 1.6 * float(view.weights.max()))
    right.set_yticks([tick for tick in right.get_yticks() if tick <= 1.0])
    format_as_percent(axes.yaxis, right.yaxis)
    right.set_ylabel(view.weight_name)
    if view.is_path:
        _set_log_scale(axes)
    axes.set_ylim(bottom=0.0)
    # Draw the lines above the filled area.
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return set_labels(axes, "λ" if view.is_path else "rank by validation error", "error rate")


def plot_bounds(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Plot the bound and empirical risk of the optimal posterior of each distance.

    The distances are the five of the paper and those of the model, each at level `delta`.  Each bound holds on its own.
    Picking the smallest afterwards is not covered; use ``distance=[...]`` for that.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted model.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_gibbs_curve : Plot of the bound along Gibbs posteriors.
    pacbayes.bound : Compute a single bound.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_bounds
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> [label.get_text() for label in plot_bounds(clf).get_xticklabels()]
    ['kl', 'pinsker', 'ch', 'linear', 'squared']
    """
    view, axes = _view_and_axes(clf, ax)
    bounds = np.array([min(posterior.bound, 1.0) for posterior in view.posteriors])
    risks = np.array([posterior.empirical_risk for posterior in view.posteriors])
    positions = np.arange(bounds.size)
    name = f"validation error and {format_confidence(view.plan.delta)} upper bound"
    interval = [risks, np.maximum(bounds - risks, 0.0)]
    axes.errorbar(positions, risks, yerr=interval, fmt="o", color=RISK, capsize=5.0, linewidth=2.0, label=name)
    for x, height in zip(positions, bounds.tolist(), strict=True):
        axes.annotate(percent_up(height), (x, height), (0.0, 3.0), textcoords="offset points", ha="center", va="bottom")
    axes.set_xticks(positions, [posterior.distance for posterior in view.posteriors])
    axes.set_xlim(-0.5, bounds.size - 0.5)
    axes.set_ylim(0.0, 1.15 * float(bounds.max()))
    format_as_percent(axes.yaxis)
    return set_labels(axes, "", "error rate")


def plot_gibbs_curve(clf: Model, ax: "Axes | None" = None) -> "Axes":
    r"""Plot the bound `B` of Gibbs posteriors, :math:`q_i \propto p_i e^{-\beta \hat l_i}`, by `β`.

    The optimal posterior is a point of this curve.  There is one curve for each distance of the estimator.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted model.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_bounds : Plot of the optimal bounds of five distances.
    pacbayes.gibbs_posterior : Compute a point of the curve.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_gibbs_curve
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> plot_gibbs_curve(clf).get_xlabel()
    'inverse temperature β'
    """
    view, axes = _view_and_axes(clf, ax)
    best, risks, m = view.posterior, view.classifiers.risks, view.classifiers.m
    betas = np.geomspace(1e-2, 100.0 * m, 400)
    for distance, dashes in zip(view.plan.distances, cycle(_DASHES)):
        problem = Problem.from_arguments(risks, m, distance, best.delta, view.plan.prior, best.constant)
        points = [problem.curve.at(float(beta)) for beta in betas]
        axes.plot(betas, [problem.function(point.risk, point.kl) for point in points], dashes, label=distance.name)
    # If the optimum is at infinity, the curve becomes flat.
    beta = min(best.beta, betas[-1])
    label = f"optimum: β = {best.beta:.4g}, B = {format_rounded_up(best.bound, 4)}"
    axes.plot([beta], [best.bound], "o", color=ACCENT, label=label)
    _set_log_scale(axes)
    return set_labels(axes, "inverse temperature β", "bound on the error rate")


def plot_coverage(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Plot the error rate of accepted validation rows by acceptance rate, for `Abstain`.

    The dashed line is the Clopper-Pearson upper bound of each threshold, valid on its own at level delta.  Thresholds
    are tested in an order that the training set fixes; the one in use is marked.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Model fitted with `Abstain` or `max_error`.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Abstain : Selective classification.
    plot_decision : Plot of a model with a `Threshold`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_coverage
    >>> clf = StochasticSVC([0.1, 1.0], hedge="auto", max_error=0.2, random_state=0)
    >>> plot_coverage(clf.fit([[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)])).get_xlabel()
    'acceptance rate on the validation set'
    """
    view, axes = _view_and_axes(clf, ax)
    if not isinstance(view.plan.decision, Abstain):
        raise ValueError("clf must have been fitted with Abstain (max_error), got a model that never abstains")
    curve, max_error = coverage(view), view.plan.decision.max_error
    axes.plot(curve.shares, curve.errors, color=RISK, label="error rate of accepted rows")
    axes.plot(curve.shares, curve.bounds, color=RISK, linestyle="--", label="upper bound, each on its own")
    axes.axhline(max_error, color=ACCENT, label="maximum error rate")
    if curve.chosen is not None:
        point = curve.shares[curve.chosen], curve.errors[curve.chosen]
        axes.plot(*point, "o", color=ACCENT, label="threshold in use")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(0.0, max(3.0 * max_error, 1.1 * float(curve.errors.max())))
    format_as_percent(axes.xaxis, axes.yaxis)
    return set_labels(axes, "acceptance rate on the validation set", "error rate")


def plot_decision(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Plot recall, precision and false positive rate on the validation set by threshold.

    These are estimates, not bounds.  Dashed lines are the requirements, and the threshold in use is marked if there is
    one.  Models with `Abstain` are plotted by `plot_coverage`, those with `PredictionSet` by `plot_sets`.

    Parameters
    ----------
    clf : CertifiedClassifier
        Model fitted with a decision.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Threshold : Certified decision threshold.
    plot_coverage : Plot of a model with `Abstain`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import CertifiedClassifier, Threshold
    >>> from pacbayes.report import plot_decision
    >>> clf = CertifiedClassifier("logistic", decision=Threshold(recall=0.5), cv=2, random_state=0)
    >>> plot_decision(clf.fit([[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)])).get_xlabel()
    'threshold of the probability of 1'
    """
    view, axes = _view_and_axes(clf, ax)
    decision, grid, result = view.plan.decision, view.plan.thresholds, view.certificate.decision
    if isinstance(result, SetResult):
        return plot_sets(view, axes)
    if not isinstance(decision, Threshold):
        return plot_coverage(view, axes)
    assert isinstance(grid, ThresholdGrid)
    assert isinstance(result, ThresholdResult)
    for (name, words, shares), color in zip(shares_at_thresholds(view), (ACCENT, RISK, TEST), strict=True):
        axes.plot(grid.values, shares, color=color, label=words)
        if name in decision.required:
            axes.axhline(decision.required[name], color=color, linestyle="--", label=f"required {words}")
    if result.passed:
        axes.axvline(result.threshold, color="black", linewidth=1.0, label="threshold in use")
    axes.set_ylim(-0.02, 1.02)
    format_as_percent(axes.yaxis)
    # Reports omit the class name, which may contain characters that are invalid in an SVG.
    of_class = "" if clf is view else f" of {result.positive}"
    return set_labels(axes, f"threshold of the probability{of_class}", "rate on the validation set")


def plot_sets(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Plot how many classes the prediction sets of the validation rows have.

    The sizes are observations; the coverage is guaranteed.

    Parameters
    ----------
    clf : CertifiedClassifier
        Model fitted with `PredictionSet`.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.PredictionSet : Prediction sets with a certified coverage.
    plot_decision : Plot of a model with any decision.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import CertifiedClassifier, PredictionSet
    >>> from pacbayes.report import plot_sets
    >>> clf = CertifiedClassifier("logistic", decision=PredictionSet(0.8), cv=2, random_state=0)
    >>> plot_sets(clf.fit([[i % 5, i % 3] for i in range(60)], [i % 5 for i in range(60)])).get_xlabel()
    'classes in the prediction set'
    """
    view, axes = _view_and_axes(clf, ax)
    result = view.certificate.decision
    if not isinstance(result, SetResult):
        raise ValueError("clf must have been fitted with PredictionSet, got a model without prediction sets")
    shares = np.array(result.sizes[1:]) / result.m
    largest = int(np.flatnonzero(shares)[-1]) + 1
    axes.bar(np.arange(1, largest + 1), shares[:largest], color=RISK, label="share of the validation rows")
    label = f"mean: {result.mean_size:.2f} of {len(result.classes)} classes"
    axes.axvline(result.mean_size, color=ACCENT, linestyle="--", label=label)
    axes.set_xticks(np.unique(np.linspace(1, largest, min(largest, 10)).round()))
    format_as_percent(axes.yaxis)
    return set_labels(axes, "classes in the prediction set", "validation rows")


def plot_monitor(monitor: Monitor, ax: "Axes | None" = None) -> "Axes":
    """Plot the e-value against a certificate by number of arrived rows, and the alarm, if any.

    Parameters
    ----------
    monitor : Monitor
        Monitor of a certificate.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Monitor : Monitor of a certificate.
    plot_certificate : Plot of the bound that is monitored.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import Monitor
    >>> from pacbayes.report import plot_monitor
    >>> plot_monitor(Monitor(0.05).update_errors([0, 0, 1, 0] * 50)).get_ylabel()
    'e-value against the certificate'
    """
    if not isinstance(monitor, Monitor):
        raise TypeError(f"monitor must be a Monitor, as clf.monitor() returns, got {type(monitor).__name__}")
    axes = _new_axes(ax)
    e_values = np.concatenate([[1.0], monitor.e_values])
    axes.plot(np.arange(e_values.size), e_values, color=RISK, label="e-value")
    axes.axhline(monitor.needed, color=ACCENT, linestyle="--", label=f"alarm at {monitor.needed:.6g}")
    if monitor.alarm_at is not None:
        axes.plot(monitor.alarm_at, e_values[monitor.alarm_at], "o", color=ACCENT, label="alarm")
    axes.set_yscale("log")
    return set_labels(axes, f"{PLURAL[monitor.unit]} observed", "e-value against the certificate")


def plot_plan(
    error: float, target: float, ax: "Axes | None" = None, *, delta: float = 0.05, chance: float = 0.8
) -> "Axes":
    """Plot the probability that a Clopper-Pearson bound is at most `target`, by number of validation rows.

    Parameters
    ----------
    error, target, delta, chance
        As for `rows_needed`.
    ax : matplotlib Axes, optional
        Axes to plot on; new axes by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.rows_needed : Compute the number of rows.
    pacbayes.bounds.chances : Compute the probabilities.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes.report import plot_plan
    >>> plot_plan(0.05, 0.08).get_xlabel()
    'validation rows'
    """
    needed = rows_needed(error, target, delta=delta, chance=chance)
    axes, last = _new_axes(ax), max(2 * needed, 10)
    rows = np.unique(np.linspace(1, last, min(last, _MAX_POINTS)).astype(np.int64))
    axes.plot(rows, chances(rows, error, target, delta=delta), color=RISK, label="probability")
    axes.axhline(chance, color=ACCENT, linestyle="--", label=f"required probability: {chance:g}")
    axes.axvline(needed, color=ACCENT, label=f"{needed} rows")
    axes.set_ylim(0.0, 1.02)
    axes.set_xlim(0.0, last)
    axes.set_title(f"For an error rate of {100 * error:g} %; δ = {delta:g}", fontsize="medium")
    return set_labels(axes, "validation rows", f"probability of a bound of at most {100 * target:g} %")


class Coverage(NamedTuple):
    """Errors among accepted validation rows, from the strictest threshold to the loosest."""

    #: Acceptance rates, and error rates of accepted rows.
    shares: FloatArray
    errors: FloatArray
    #: Clopper-Pearson upper bounds of the error rates, each valid on its own at level delta.
    bounds: FloatArray
    #: Numbers of accepted rows, and of errors.
    rows: list[int]
    wrong: list[int]
    #: Index of the threshold in use; None if none passed.
    chosen: int | None


def coverage(view: ReportView) -> Coverage:
    """Errors among accepted rows at each threshold of a model that abstains."""
    rows, wrong = abstention_counts(view.plan, view.model._fitted.predictions, view.voting)
    rows, wrong = rows[rows > 0], wrong[rows > 0]
    selective, chosen = view.certificate.decision, None
    if isinstance(selective, SelectiveResult) and selective.passed:
        chosen = int(np.flatnonzero(rows == selective.accepted)[-1])
    bounds = [float(binomial_upper(k, n, view.plan.delta)) for n, k in zip(rows.tolist(), wrong.tolist(), strict=True)]
    return Coverage(rows / view.classifiers.m, wrong / rows, np.array(bounds), rows.tolist(), wrong.tolist(), chosen)


def shares_at_thresholds(view: ReportView) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield name, label and values of recall, precision and false positive rate; NaN without rows."""
    confusion = threshold_counts(view.plan, view.model._fitted.predictions)
    for name, (title, _) in THRESHOLD_METRICS.items():
        rows, wrong = confusion.errors(name)
        shares = wrong / np.maximum(rows, 1)
        yield name, title, np.where(rows > 0, shares if name == "fpr" else 1.0 - shares, np.nan)


def _view_and_axes(clf: Model, ax: "Axes | None", test: Any = None) -> "tuple[ReportView, Axes]":
    view = clf if isinstance(clf, ReportView) else ReportView.from_model(clf, test, name="clf")
    return view, _new_axes(ax)


def _new_axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    axes: Axes = import_optional("matplotlib.pyplot", "a plot").subplots(layout="constrained")[1]
    return axes


def set_labels(axes: "Axes", x: str, y: str = "", *, outside: bool = True) -> "Axes":
    """Label the axes, and add a legend without repeated entries: below them, where it hides nothing, or inside."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels[::-1], handles[::-1], strict=True))
    entries: Any = [*unique.values()][::-1], [*unique][::-1]
    if not outside:
        axes.legend(*entries, loc="best", frameon=False)
        return axes
    from matplotlib.transforms import offset_copy

    # Below the ticks and the label of the x-axis.
    lines = -_LINES_BELOW * float(axes.xaxis.label.get_fontsize())
    place = offset_copy(axes.transAxes, axes.get_figure(root=True), 0.0, lines, "points")
    columns = 2 if sum(sorted(map(len, unique))[-2:]) <= _LEGEND_WIDTH else 1
    axes.legend(
        *entries,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=place,
        borderaxespad=0.0,
        ncols=columns,
        frameon=False,
    )
    return axes


def format_as_percent(*axes: "Axis") -> None:
    """Format the ticks of axes as percentages."""
    for axis in axes:
        axis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")


def _set_log_scale(axes: "Axes") -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
