"""Plots show the numbers of their model."""

import matplotlib
import numpy as np
import pytest
from scipy.stats import beta
from tests.estimators.models import fitted, two_classes
from tests.report.models import model

from pacbayes import DISTANCES, Monitor, StochasticSVC, bound, gibbs_posterior, optimal_posterior
from pacbayes._utils.words import format_rounded_up, percent_up
from pacbayes.bounds import chances
from pacbayes.report import (
    plot_bounds,
    plot_certificate,
    plot_coverage,
    plot_decision,
    plot_gibbs_curve,
    plot_monitor,
    plot_plan,
    plot_risks,
)
from pacbayes.report.page import render_svg

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def line(axes, label):
    return next(one for one in axes.lines if one.get_label().startswith(label))


def test_risks(ax):
    clf, (X, y) = fitted("svc", two_classes), two_classes()
    assert plot_risks(clf, ax, test=(1.01 * X, y)) is ax
    risks = line(ax, "validation error")
    assert np.array_equal(risks.get_ydata(), clf.classifiers_.risks)
    assert np.array_equal(risks.get_xdata(), [setting["lambda"] for setting in clf.classifiers_.params])
    expected = (clf.classifiers_.predict(1.01 * X) != y).mean(axis=1)
    np.testing.assert_allclose(line(ax, "test error").get_ydata(), expected)
    assert line(ax, "bound").get_ydata()[0] == clf.certificate_.bound
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("name", ["grid", "soft"])
def test_risks_against_the_rank(ax, name):
    clf = model(name)
    plot_risks(clf, ax)
    assert ax.get_xlabel() == "rank by validation error"
    assert all(not one.get_label().startswith("test") for one in ax.lines)
    assert line(ax, f"bound of {clf.certificate_.holds_for.removesuffix(' with its key')}")
    assert sorted(bar.get_height() for bar in ax.figure.axes[1].patches) == sorted(clf.weights_)


@pytest.mark.parametrize("hedge", [0, 0.1, "auto"])
def test_bounds(ax, hedge):
    """For a model without posterior, or with a hedge, the plot is for the posterior at the whole of delta."""
    clf = fitted("svc", two_classes, hedge=hedge)
    assert plot_bounds(clf, ax) is ax
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    expected = [min(optimal_posterior(risks, m, distance=distance).bound, 1.0) for distance in DISTANCES]
    tops = [segment[1, 1] for segment in ax.containers[0].lines[2][0].get_segments()]
    np.testing.assert_allclose(tops, expected, rtol=1e-9)
    assert ax.get_legend_handles_labels()[1][0] == "validation error and 95 % upper bound"
    assert plot_gibbs_curve(clf, ax).get_xlabel() == "inverse temperature β"
    best = optimal_posterior(risks, m, delta=0.05 * (clf.hedge_ or 1.0)).bound
    assert line(ax, "optimum").get_label().endswith(f"B = {format_rounded_up(best, 4)}")


def test_gibbs_curve(ax):
    X, y = two_classes()
    clf = StochasticSVC([0.01, 0.1, 50.0], distance=["kl", "squared"], cv=None, random_state=0).fit(X, y)
    assert plot_gibbs_curve(clf, ax) is ax
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    for name in ("kl", "squared"):
        betas, values = line(ax, name).get_data()
        for i in (0, 200, 399):
            weights = gibbs_posterior(risks, betas[i])
            assert values[i] == pytest.approx(bound(weights, risks, m, distance=name, delta=0.025), rel=1e-6)
        assert values.min() >= clf.posterior_.lower_bound
    assert line(ax, "optimum").get_ydata()[0] == clf.posterior_.bound


def test_certificate(ax):
    clf, (X, y) = fitted("svc", two_classes), two_classes()
    assert plot_certificate(clf, ax, test=(1.01 * X, y)) is ax
    certificate = clf.certificate_
    shown = (certificate, *(certificate.baselines[name] for name in ("holdout", "majority class")))
    for container, one in zip(ax.containers, shown, strict=True):
        assert container.lines[0].get_xdata()[0] == one.empirical_risk
        ends = container.lines[2][0].get_segments()[0][:, 0]
        np.testing.assert_allclose(ends, [getattr(one, "lower", None) or 0.0, one.bound], atol=1e-12)
    assert line(ax, "test error").get_xdata()[0] == np.mean(clf.predict(1.01 * X) != y)
    # The axis is that of the model; a baseline beyond it ends in an arrow, with its bound as text.
    end = ax.get_xlim()[1]
    assert certificate.bound < end < shown[2].bound
    assert [one.get_xdata()[0] for one in ax.lines if one.get_marker() == ">"] == [end]
    assert [text.xy[0] for text in ax.texts[1::2]] == [certificate.bound, shown[1].bound, end]
    assert ax.texts[-1].get_text() == f"at most {percent_up(shown[2].bound)}"
    assert max(ax.get_xticks()) <= 1.0


def test_legends_are_outside_of_the_axes(ax):
    for plot, clf in (
        (plot_certificate, model("soft")),
        (plot_risks, model("soft")),
        (plot_coverage, model("abstain")),
    ):
        ax.clear()
        plot(clf, ax)
        ax.figure.canvas.draw()
        # Below the label of the x-axis, so that a title has its place.
        assert ax.get_legend().get_window_extent().y1 <= ax.xaxis.label.get_window_extent().y0


def test_coverage(ax):
    clf = model("abstain")
    assert plot_certificate(clf, ax) is ax
    shares, limits = line(ax, "upper bound").get_data()
    errors, m = line(ax, "error rate").get_ydata(), clf.certificate_.m
    assert np.all(np.diff(shares) >= 0)
    rows, wrong = np.rint(shares * m), np.rint(errors * np.rint(shares * m))
    np.testing.assert_allclose(limits, np.where(wrong < rows, beta.isf(0.05, wrong + 1, rows - wrong), 1.0), rtol=1e-9)
    answered = clf.certificate_.decision
    point = line(ax, "threshold in use")
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (
        answered.acceptance_rate,
        answered.errors / answered.accepted,
    )
    assert line(ax, "maximum").get_ydata()[0] == 0.02
    ax.clear()
    assert len(plot_coverage(model("nothing accepted"), ax).lines) == 3
    with pytest.raises(ValueError, match="max_error"):
        plot_coverage(model("posterior"), ax)


def test_decision(ax):
    clf = model("threshold")
    assert plot_certificate(clf, ax) is ax
    assert ax.get_xlabel() == "threshold of the probability of malignant"
    reached = clf.certificate_.decision
    assert line(ax, "threshold in use").get_xdata()[0] == reached.threshold
    for label, share in (("recall", reached.recall), ("precision", reached.precision), ("false positive", reached.fpr)):
        cuts, shares = line(ax, label).get_data()
        assert shares[np.flatnonzero(cuts == reached.threshold)[0]] == share
    assert plot_decision(clf, ax) is ax


def test_monitor(ax):
    quiet = Monitor(0.05).update_errors([0] * 20)
    assert plot_monitor(quiet, ax) is ax
    assert line(ax, "e-value").get_ydata().tolist() == [1.0, *quiet.e_values]
    assert not any(one.get_label() == "alarm" for one in ax.lines)
    loud = Monitor(0.05, alpha=0.002).update_errors([0] * 20 + [1] * 20)
    ax.clear()
    plot_monitor(loud, ax)
    assert line(ax, "alarm at 500").get_ydata()[0] == 500
    point = next(one for one in ax.lines if one.get_label() == "alarm")
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (loud.alarm_at, loud.e_values[loud.alarm_at - 1])
    assert ax.get_yscale() == "log"
    with pytest.raises(TypeError, match="monitor must be a Monitor"):
        plot_monitor(0.05)


def test_plan(ax):
    assert plot_plan(0.1, 0.2, ax, delta=0.01, chance=0.95) is ax
    rows, values = line(ax, "probability").get_data()
    assert np.array_equal(values, chances(rows, 0.1, 0.2, delta=0.01))
    assert line(ax, "213 rows").get_xdata()[0] == 213
    assert line(ax, "required probability").get_ydata()[0] == 0.95
    assert rows[-1] == 426


def test_names_are_not_parsed_as_mathtext():
    text = 'style="fill: #1f4e79" $\\frac$ <b> id="y"'
    made = [render_svg("x", 200, lambda axes: (axes.plot([1], label="b"), axes.set_xlabel(text))) for _ in range(2)]
    assert 'style="fill: #1f4e79" $\\frac$ &lt;b&gt; id="y"</text>' in made[0]
    assert made[0] == made[1]
