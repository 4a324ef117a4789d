"""Pictures of certificates, risks, bounds and answers, of rows that are needed and of a certificate watched."""

from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import import_optional
from pacbayes._utils.words import PLURAL, confidence, format_up
from pacbayes.bounds.binomial import binomial_upper, chances, rows_needed
from pacbayes.certificates.certify import cut_counts, threshold_counts
from pacbayes.certificates.decisions import Abstain, Threshold
from pacbayes.certificates.grids import Cuts
from pacbayes.certificates.sentences import MEASURES
from pacbayes.certificates.watching import Monitor
from pacbayes.estimators.base import CertifiedModel
from pacbayes.posteriors.posterior import Problem
from pacbayes.report.guarantee import compared, most
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: What a picture is of; the page hands in what it has looked at already.
Model = CertifiedModel | ReportView
# Two blues and a warm colour that stay apart in grey and for most colour-blind readers.
RISK, TEST, ACCENT = "#1f4e79", "#7fa8d1", "#d9822b"
# Lines that are told apart without colours.
_DASHES = ("-", "--", ":", "-.")
# Numbers of rows at which a chance is drawn, at most.
_POINTS = 3000


def plot_certificate(clf: Model, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
    """Draw the limit of the errors beside those of simpler methods, each with the errors that were counted.

    Below the model stand one classifier chosen within the training rows and validated once, and always the same answer.
    For a model with a target it is `plot_target`.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.
    test : pair (X_test, y_test), optional
        Rows that `clf` was not fitted with, for test errors.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.write_report : A page with this picture.
    plot_target : What a model with a target is drawn by.

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
    view, axes = _start(clf, ax, test)
    if view.plan.target is not None:
        return plot_target(clf, axes)
    bars = compared(view)
    for place, (label, bar) in enumerate(bars.items()):
        kind, color = ("this model", ACCENT) if place == 0 else ("a simpler method", TEST)
        axes.barh(-place, bar.bound or 0.0, 0.4, color=color, label=f"limit of {kind}")
        axes.barh(-place, bar.empirical_risk or 0.0, 0.4, color=RISK, label="errors among the validation rows")
        axes.annotate(label, (0.0, 0.24 - place), va="bottom")
        text = most(bar) if bar.bound is None else f"at most {most(bar)}"
        axes.annotate(text, (bar.bound or 0.0, -place), (4.0, 0.0), textcoords="offset points", va="center")
    if view.observed is not None:
        observed = view.observed
        errors = np.count_nonzero(observed.wrong(view.voting)) if observed.covered is None else observed.covered
        axes.plot(errors / observed.rows, 0.0, "D", color="black", mec="white", label="errors among the test rows")
    end = 1.35 * max(bar.bound or 0.0 for bar in bars.values())
    axes.set_xlim(0.0, end)
    axes.set_ylim(0.4 - len(bars), 0.65)
    axes.set_yticks([])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_xticks([share for share in axes.get_xticks() if share <= min(1.0, end)])
    _in_percent(axes.xaxis)
    return _finished(axes, "share of errors")


def plot_risks(clf: Model, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
    """Draw the validation risk, test error and weight of every classifier.

    Against the regularisation parameter where the classifiers differ in nothing else, as those of `StochasticSVC`, and
    against the rank by validation risk otherwise.  Weights, those of the rule that predicts, are drawn on a scale of
    their own, on the right.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.
    test : pair (X_test, y_test), optional
        Rows that `clf` was not fitted with, for test errors.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_certificate : The guarantee instead of the classifiers behind it.
    pacbayes.ClassifierSet : Where the risks come from.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_risks
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> plot_risks(clf).get_ylabel()
    'share of errors'
    """
    view, axes = _start(clf, ax, test)
    places, classifiers = view.places, view.classifiers
    order = np.argsort(places, kind="stable")
    axes.plot(places[order], classifiers.risks[order], color=RISK, label=f"validation risk (m = {classifiers.m})")
    if view.observed is not None:
        axes.plot(places[order], view.observed.risks[order], color=TEST, label="test error")
    axes.axhline(view.certificate.bound, color=RISK, linestyle="--", label=view.bound_name)
    right = axes.twinx()
    right.fill_between(places[order], view.weights[order], color=ACCENT, alpha=0.35, linewidth=0)
    right.set_ylim(0.0, 1.6 * float(view.weights.max()))
    right.set_ylabel(view.weight_name)
    if view.is_path:
        _logarithmic(axes)
    axes.set_ylim(bottom=0.0)
    # The lines above the filled area.
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return _finished(axes, "λ" if view.is_path else "rank by validation risk", "share of errors")


def plot_bounds(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Draw the smallest bound of each distance, the five and others of the model, with the risk it starts from.

    All at the level of the estimator, each with the posterior that is best for it.  Each holds alone: choosing the
    smallest after looking is not covered; ``distance=[...]`` pays for that.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_gibbs_curve : Where the smallest bound lies.
    pacbayes.bound : One bound.

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
    view, axes = _start(clf, ax)
    bounds = [min(posterior.bound, 1.0) for posterior in view.posteriors]
    places = np.arange(len(bounds))
    axes.bar(places, bounds, color=TEST, label="bound")
    axes.bar(places, [posterior.empirical_risk for posterior in view.posteriors], color=RISK, label="validation risk")
    for place, height in zip(places, bounds, strict=True):
        axes.annotate(format_up(height, 3), (place, height), ha="center", va="bottom")
    axes.set_xticks(places, [posterior.distance for posterior in view.posteriors])
    axes.set_ylim(0.0, 1.15 * max(bounds))
    sure = confidence(view.plan.delta)
    axes.set_title(f"Each bound holds alone, with probability at least {sure}", fontsize="medium")
    return _finished(axes, "", "share of errors")


def plot_gibbs_curve(clf: Model, ax: "Axes | None" = None) -> "Axes":
    r"""Draw the bound `B` along the curve of Gibbs posteriors, :math:`q_i \propto p_i e^{-\beta \hat l_i}`.

    The optimal posterior is a point of this curve; one line for each distance of the estimator.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    plot_bounds : The smallest bounds of five distances.
    pacbayes.gibbs_posterior : One point of the curve.

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
    view, axes = _start(clf, ax)
    best, risks, m = view.posterior, view.classifiers.risks, view.classifiers.m
    betas = np.geomspace(1e-2, 100.0 * m, 400)
    for distance, dashes in zip(view.plan.distances, cycle(_DASHES)):
        problem = Problem.checked(risks, m, distance, best.delta, view.plan.prior, best.constant)
        points = [problem.curve.at(float(beta)) for beta in betas]
        axes.plot(betas, [problem.function(point.risk, point.kl) for point in points], dashes, label=distance.name)
    # Where the optimum is at infinity the line is flat by its end.
    beta = min(best.beta, betas[-1])
    label = f"optimum: β = {best.beta:.4g}, B = {format_up(best.bound, 4)}"
    axes.plot([beta], [best.bound], "o", color=ACCENT, label=label)
    _logarithmic(axes)
    return _finished(axes, "inverse temperature β", "bound on the share of errors")


def plot_coverage(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Draw the errors among answered validation rows against the share answered, with `Abstain`.

    The dashed line is the exact upper limit at each threshold, alone at delta; thresholds were tested against the
    target in an order that the training rows fixed, and the one in use is marked.

    Parameters
    ----------
    clf : StochasticSVC or CertifiedClassifier
        Fitted with a target `Abstain`, or `max_error`.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Abstain : The target.
    plot_target : For a `Threshold`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import plot_coverage
    >>> clf = StochasticSVC([0.1, 1.0], hedge="auto", max_error=0.2, random_state=0)
    >>> plot_coverage(clf.fit([[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)])).get_xlabel()
    'share of validation rows answered'
    """
    view, axes = _start(clf, ax)
    if not isinstance(view.plan.target, Abstain):
        raise ValueError("clf must have been fitted with Abstain (max_error), got an estimator that answers every row")
    curve, target = coverage(view), view.plan.target.max_error
    axes.plot(curve.shares, curve.errors, color=RISK, label="errors among answered rows")
    axes.plot(curve.shares, curve.limits, color=RISK, linestyle="--", label="upper limit, each alone")
    axes.axhline(target, color=ACCENT, label="target")
    if curve.chosen is not None:
        place = curve.shares[curve.chosen], curve.errors[curve.chosen]
        axes.plot(*place, "o", color=ACCENT, label="threshold in use")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(0.0, max(3.0 * target, 1.1 * float(curve.errors.max())))
    _in_percent(axes.xaxis, axes.yaxis)
    return _finished(axes, "share of validation rows answered", "share of errors")


def plot_target(clf: Model, ax: "Axes | None" = None) -> "Axes":
    """Draw recall, precision and false alarms of the validation rows against the threshold, with their targets.

    They are observed and no limits; the dashed lines are the targets that were tested, and the threshold in use is
    marked where there is one.  For `Abstain` it is `plot_coverage`.

    Parameters
    ----------
    clf : CertifiedClassifier
        Fitted with a target.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Threshold : The targets.
    plot_coverage : For `Abstain`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import CertifiedClassifier, Threshold
    >>> from pacbayes.report import plot_target
    >>> clf = CertifiedClassifier("logistic", target=Threshold(recall=0.5), cv=2, random_state=0)
    >>> plot_target(clf.fit([[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)])).get_xlabel()
    'threshold of the probability of 1'
    """
    view, axes = _start(clf, ax)
    target, cuts, reached = view.plan.target, view.plan.thresholds, view.certificate.reached
    if not isinstance(target, Threshold):
        return plot_coverage(view, axes)
    assert isinstance(cuts, Cuts)
    assert reached is not None
    for (name, words, shares), color in zip(shares_at_thresholds(view), (ACCENT, RISK, TEST), strict=True):
        axes.plot(cuts.values, shares, color=color, label=words)
        if name in target.asked:
            axes.axhline(target.asked[name], color=color, linestyle="--", label=f"{words}: target")
    if reached.passed:
        axes.axvline(reached.threshold, color="black", linewidth=1.0, label="threshold in use")
    axes.set_ylim(-0.02, 1.02)
    _in_percent(axes.yaxis)
    # Not on a page: the name of a class may hold what a picture there cannot show.
    whose = "" if clf is view else f" of {reached.positive}"
    return _finished(axes, f"threshold of the probability{whose}", "share of validation rows, observed")


def plot_monitor(monitor: Monitor, ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence against a certificate after every row that arrived, and where there is an alarm.

    Parameters
    ----------
    monitor : Monitor
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.Monitor : What is drawn.
    plot_certificate : The guarantee that is watched.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from pacbayes import Monitor
    >>> from pacbayes.report import plot_monitor
    >>> plot_monitor(Monitor(0.05).update_errors([0, 0, 1, 0] * 50)).get_ylabel()
    'evidence against the certificate'
    """
    if not isinstance(monitor, Monitor):
        raise TypeError(f"monitor must be a Monitor, as clf.monitor() returns, got {type(monitor).__name__}")
    axes = _new_axes(ax)
    evidence = np.concatenate([[1.0], monitor.evidence])
    axes.plot(np.arange(evidence.size), evidence, color=RISK, label="evidence")
    axes.axhline(monitor.needed, color=ACCENT, linestyle="--", label=f"alarm at {monitor.needed:.6g}")
    if monitor.alarm_at is not None:
        axes.plot(monitor.alarm_at, evidence[monitor.alarm_at], "o", color=ACCENT, label="alarm")
    axes.set_yscale("log")
    return _finished(axes, f"{PLURAL[monitor.unit]} that arrived", "evidence against the certificate")


def plot_plan(
    error: float, target: float, ax: "Axes | None" = None, *, delta: float = 0.05, chance: float = 0.8
) -> "Axes":
    """Draw with which chance the exact limit reaches a target, by the number of validation rows.

    Parameters
    ----------
    error, target, delta, chance
        As for `rows_needed`.
    ax : matplotlib Axes, optional
        Drawn into; a new one by default.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pacbayes.rows_needed : The number of rows alone.
    pacbayes.bounds.chances : The numbers that are drawn.

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
    rows = np.unique(np.linspace(1, last, min(last, _POINTS)).astype(np.int64))
    axes.plot(rows, chances(rows, error, target, delta=delta), color=RISK, label="chance")
    axes.axhline(chance, color=ACCENT, linestyle="--", label=f"chance asked for: {chance:g}")
    axes.axvline(needed, color=ACCENT, label=f"{needed} rows")
    axes.set_ylim(0.0, 1.02)
    axes.set_xlim(0.0, last)
    axes.set_title(f"If {100 * error:g} % of new examples are answered wrong; δ = {delta:g}", fontsize="medium")
    return _finished(axes, "validation rows", f"chance of a limit of at most {100 * target:g} %")


class Coverage(NamedTuple):
    """Errors among answered validation rows, from the strictest threshold to the loosest."""

    #: The share of validation rows that are answered, and of errors among these.
    shares: FloatArray
    errors: FloatArray
    #: The exact upper limits of these errors, each alone at delta.
    limits: FloatArray
    #: Rows answered, and errors, as counts.
    rows: list[int]
    wrong: list[int]
    #: Which threshold is used, None where none passed.
    chosen: int | None


def coverage(view: ReportView) -> Coverage:
    """Errors among answered rows by threshold, of a model that abstains."""
    rows, wrong = threshold_counts(view.plan, view.model._fitted.evidence, view.voting)
    rows, wrong = rows[rows > 0], wrong[rows > 0]
    answered, chosen = view.certificate.answered, None
    if answered is not None and answered.passed:
        chosen = int(np.flatnonzero(rows == answered.rows)[-1])
    limits = [float(binomial_upper(k, n, view.plan.delta)) for n, k in zip(rows.tolist(), wrong.tolist(), strict=True)]
    return Coverage(rows / view.classifiers.m, wrong / rows, np.array(limits), rows.tolist(), wrong.tolist(), chosen)


def shares_at_thresholds(view: ReportView) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield recall, precision and false alarms: name, words, and shares by threshold, NaN where there are no rows."""
    counted = cut_counts(view.plan, view.model._fitted.evidence)
    for name, (_, words, _) in MEASURES.items():
        rows, wrong = counted.errors(name)
        shares = wrong / np.maximum(rows, 1)
        yield name, words, np.where(rows > 0, shares if name == "fpr" else 1.0 - shares, np.nan)


def _start(clf: Model, ax: "Axes | None", test: Any = None) -> "tuple[ReportView, Axes]":
    view = clf if isinstance(clf, ReportView) else ReportView.of(clf, test, name="clf")
    return view, _new_axes(ax)


def _new_axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    axes: Axes = import_optional("matplotlib.pyplot", "a plot").subplots(layout="constrained")[1]
    return axes


def _finished(axes: "Axes", x: str, y: str = "") -> "Axes":
    """Name the axes, and every kind of line or bar once."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    axes.legend(once.values(), once.keys(), loc="best", frameon=False)
    return axes


def _in_percent(*some: "Axis") -> None:
    for axis in some:
        axis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")


def _logarithmic(axes: "Axes") -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
