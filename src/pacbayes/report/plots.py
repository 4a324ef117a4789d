"""Pictures of certificates, risks, bounds and answers, of rows that are needed and of a certificate watched."""

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.checks import import_optional
from pacbayes._utils.words import PLURAL, confidence, format_up
from pacbayes.bounds.binomial import chances, rows_needed
from pacbayes.bounds.distances import DISTANCES
from pacbayes.certificates.certify import cut_counts
from pacbayes.certificates.decisions import Threshold
from pacbayes.certificates.grids import Cuts
from pacbayes.certificates.sentences import MEASURES
from pacbayes.certificates.watching import Monitor
from pacbayes.estimators.base import CertifiedModel
from pacbayes.posteriors.posterior import Problem
from pacbayes.report.guarantee import compared
from pacbayes.report.questions import Coverage
from pacbayes.report.tables import five_bounds
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Two blues and a warm colour that stay apart in grey and for most colour-blind readers.
RISK, TEST, ACCENT = "#1f4e79", "#7fa8d1", "#d9822b"
# What a bar is, of the model itself and of others.
_LIMIT = {True: "limit of this model", False: "limit of a simpler method"}
# Lines that are told apart without colours.
_DASHES = ("-", "--", ":", "-.")
# Numbers of rows at which a chance is drawn, at most.
_POINTS = 3000


def plot_certificate(clf: CertifiedModel, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
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
    axes, view = _axes(clf, ax), ReportView.of(clf, test)
    if clf._fitted.plan.target is not None:
        return plot_target(clf, axes)
    return draw_certificate(view, axes)


def draw_certificate(view: ReportView, axes: "Axes") -> "Axes":
    """Draw what `plot_certificate` draws."""
    bars = compared(view)
    for place, bar in enumerate(bars):
        limit = 0.0 if bar.bound is None else min(bar.bound, 1.0)
        said = bar.value if bar.bound is None else f"at most {bar.value}"
        axes.barh(-place, limit, 0.4, color=ACCENT if bar.own else TEST, label=_LIMIT[bar.own])
        axes.barh(-place, bar.empirical_risk or 0.0, 0.4, color=RISK, label="errors among the validation rows")
        axes.annotate(bar.label, (0.0, 0.24 - place), va="bottom")
        axes.annotate(said, (limit, -place), (4.0, 0.0), textcoords="offset points", va="center")
    if view.observed is not None:
        errors = view.observed.errors[view.voting] if view.observed.covered is None else view.observed.covered
        axes.plot(errors / view.observed.rows, 0.0, "D", color="black", mec="white", label="errors among the test rows")
    top = max(min(bar.bound, 1.0) for bar in bars if bar.bound is not None)
    axes.set_xlim(0.0, 1.35 * top)
    axes.set_ylim(0.5 - len(bars) - 0.1, 0.65)
    axes.set_yticks([])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_xticks([share for share in axes.get_xticks() if share <= min(1.0, 1.35 * top)])
    _in_percent(axes.xaxis)
    axes.set_xlabel("share of errors")
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    axes.legend(once.values(), once.keys(), loc="best", frameon=False)
    return axes


def plot_risks(clf: CertifiedModel, ax: "Axes | None" = None, *, test: Any = None) -> "Axes":
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
    axes = _axes(clf, ax)
    return draw_risks(ReportView.of(clf, test), axes)


def draw_risks(view: ReportView, axes: "Axes") -> "Axes":
    """Draw what `plot_risks` draws."""
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
    axes.set_xlabel("λ" if view.is_path else "rank by validation risk")
    axes.set_ylabel("share of errors")
    axes.legend(loc="best", frameon=False)
    # The lines above the filled area.
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return axes


def plot_bounds(clf: CertifiedModel, ax: "Axes | None" = None) -> "Axes":
    """Draw the smallest bound of each of the five distances, with the empirical risk it starts from.

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
    axes = _axes(clf, ax)
    return draw_bounds(ReportView.of(clf), axes)


def draw_bounds(view: ReportView, axes: "Axes") -> "Axes":
    """Draw what `plot_bounds` draws."""
    found = five_bounds(view)
    places = np.arange(len(found))
    bounds = [min(posterior.bound, 1.0) for posterior in found]
    axes.bar(places, bounds, color=TEST, label="bound")
    axes.bar(places, [posterior.empirical_risk for posterior in found], color=RISK, label="validation risk")
    for place, height in zip(places, bounds, strict=True):
        axes.annotate(format_up(height, 3), (place, height), ha="center", va="bottom")
    axes.set_xticks(places, DISTANCES)
    axes.set_ylim(0.0, 1.15 * max(bounds))
    axes.set_ylabel("share of errors")
    axes.set_title(f"Each bound holds alone, with probability at least {confidence(view.delta)}", fontsize="medium")
    axes.legend(loc="best", frameon=False)
    return axes


def plot_gibbs_curve(clf: CertifiedModel, ax: "Axes | None" = None) -> "Axes":
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
    axes, view = _axes(clf, ax), ReportView.of(clf)
    best, risks, m = view.posterior, view.classifiers.risks, view.classifiers.m
    betas = np.geomspace(1e-2, 100.0 * m, 400)
    for distance, dashes in zip(view.model._fitted.plan.distances, cycle(_DASHES)):
        problem = Problem.checked(risks, m, distance, best.delta, view.prior, best.constant)
        points = [problem.curve.at(float(beta)) for beta in betas]
        axes.plot(betas, [problem.function(point.risk, point.kl) for point in points], dashes, label=distance.name)
    # Where the optimum is at infinity the line is flat by its end.
    beta = min(best.beta, betas[-1])
    axes.plot(
        [beta],
        [best.bound],
        "o",
        color=ACCENT,
        label=f"optimum: β = {best.beta:.4g}, B = {format_up(best.bound, 4)}",
    )
    _logarithmic(axes)
    axes.set_xlabel("inverse temperature β")
    axes.set_ylabel("bound on the share of errors")
    axes.legend(loc="best", frameon=False)
    return axes


def plot_coverage(clf: CertifiedModel, ax: "Axes | None" = None) -> "Axes":
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
    axes = _axes(clf, ax)
    found = Coverage.of(clf, clf.voting_)
    if found is None:
        raise ValueError("clf must have been fitted with Abstain (max_error), got an estimator that answers every row")
    axes.plot(found.shares, found.errors, color=RISK, label="errors among answered rows")
    axes.plot(found.shares, found.limits, color=RISK, linestyle="--", label="upper limit, each alone")
    axes.axhline(found.target, color=ACCENT, label="target")
    if found.chosen is not None:
        place = found.shares[found.chosen], found.errors[found.chosen]
        axes.plot(*place, "o", color=ACCENT, label="threshold in use")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(0.0, max(3.0 * found.target, 1.1 * float(found.errors.max())))
    _in_percent(axes.xaxis, axes.yaxis)
    axes.set_xlabel("share of validation rows answered")
    axes.set_ylabel("share of errors")
    axes.legend(loc="best", frameon=False)
    return axes


def plot_target(clf: CertifiedModel, ax: "Axes | None" = None) -> "Axes":
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
    axes, plan = _axes(clf, ax), clf._fitted.plan
    if not isinstance(plan.target, Threshold):
        return plot_coverage(clf, axes)
    assert isinstance(plan.thresholds, Cuts)
    reached, counted = clf.certificate_.reached, cut_counts(plan, clf._fitted.evidence)
    assert reached is not None
    for (name, (_, words, _)), color in zip(MEASURES.items(), (ACCENT, RISK, TEST), strict=True):
        rows, wrong = counted.errors(name)
        shares = wrong / np.maximum(rows, 1)
        shown = np.where(rows > 0, shares if name == "fpr" else 1.0 - shares, np.nan)
        axes.plot(plan.thresholds.values, shown, color=color, label=words)
        if name in plan.target.asked:
            axes.axhline(plan.target.asked[name], color=color, linestyle="--", label=f"{words}: target")
    if reached.passed:
        axes.axvline(reached.threshold, color="black", linewidth=1.0, label="threshold in use")
    axes.set_ylim(-0.02, 1.02)
    _in_percent(axes.yaxis)
    axes.set_xlabel(f"threshold of the probability of {reached.positive}")
    axes.set_ylabel("share of validation rows, observed")
    axes.legend(loc="best", frameon=False)
    return axes


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
    axes.set_xlabel(f"{PLURAL[monitor.unit]} that arrived")
    axes.set_ylabel("evidence against the certificate")
    axes.legend(loc="best", frameon=False)
    return axes


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
    axes.set_xlabel("validation rows")
    axes.set_ylabel(f"chance of a limit of at most {100 * target:g} %")
    axes.set_title(f"If {100 * error:g} % of new examples are answered wrong; δ = {delta:g}", fontsize="medium")
    axes.legend(loc="best", frameon=False)
    return axes


def _axes(clf: CertifiedModel, ax: "Axes | None") -> "Axes":
    if not isinstance(clf, CertifiedModel):
        raise TypeError(f"clf must be a StochasticSVC or CertifiedClassifier, got {type(clf).__name__}")
    check_is_fitted(clf)
    return _new_axes(ax)


def _new_axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    axes: Axes = import_optional("matplotlib.pyplot", "a plot").subplots(layout="constrained")[1]
    return axes


def _in_percent(*some: "Axis") -> None:
    for axis in some:
        axis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")


def _logarithmic(axes: "Axes") -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
