"""Pictures show the numbers of the model they are asked about."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import DISTANCES, Monitor, StochasticSVC, bound, gibbs_posterior, optimal_posterior
from pacbayes.bounds import chances
from pacbayes.report import plot_bounds, plot_certificate, plot_gibbs_curve, plot_monitor, plot_plan, plot_risks

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
    drawn = line(ax, "validation risk")
    assert np.array_equal(drawn.get_ydata(), clf.classifiers_.risks)
    assert np.array_equal(drawn.get_xdata(), [setting["lambda"] for setting in clf.classifiers_.params])
    expected = (clf.classifiers_.predict(1.01 * X) != y).mean(axis=1)
    np.testing.assert_allclose(line(ax, "test error").get_ydata(), expected)
    assert line(ax, "bound").get_ydata()[0] == clf.certificate_.bound
    assert ax.get_xscale() == "log"


def test_risks_of_a_grid(ax):
    plot_risks(fitted("grid", three_classes), ax)
    assert ax.get_xlabel() == "rank by validation risk"
    assert all(not one.get_label().startswith("test") for one in ax.lines)


def test_bounds(ax):
    clf = fitted("svc", two_classes)
    assert plot_bounds(clf, ax) is ax
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    expected = [min(optimal_posterior(risks, m, distance=distance).bound, 1.0) for distance in DISTANCES]
    np.testing.assert_allclose([bar.get_height() for bar in ax.containers[0]], expected, rtol=1e-9)
    assert "holds alone" in ax.get_title()


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
    others = [certificate.baselines[name] for name in ("hold-out", "most frequent class")]
    expected = [number for one in (certificate, *others) for number in (one.bound, one.empirical_risk)]
    assert [bar.get_width() for bar in ax.patches] == expected
    assert line(ax, "errors among the test rows").get_xdata()[0] == np.mean(clf.predict(1.01 * X) != y)
    # Texts stand at the ends of their bars, and a tick beyond all examples there is none.
    assert [text.xy[0] for text in ax.texts[1::2]] == expected[::2]
    assert max(ax.get_xticks()) <= 1.0


def test_a_monitor(ax):
    quiet = Monitor(0.05).update_errors([0] * 20)
    assert plot_monitor(quiet, ax) is ax
    assert line(ax, "evidence").get_ydata().tolist() == [1.0, *quiet.evidence]
    assert not any(one.get_label() == "alarm" for one in ax.lines)
    loud = Monitor(0.05, alpha=0.002).update_errors([0] * 20 + [1] * 20)
    ax.clear()
    plot_monitor(loud, ax)
    assert line(ax, "alarm at 500").get_ydata()[0] == 500
    point = next(one for one in ax.lines if one.get_label() == "alarm")
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (loud.alarm_at, loud.evidence[loud.alarm_at - 1])
    assert ax.get_yscale() == "log"
    with pytest.raises(TypeError, match="monitor must be a Monitor"):
        plot_monitor(0.05)


def test_a_plan(ax):
    assert plot_plan(0.1, 0.2, ax, delta=0.01, chance=0.95) is ax
    rows, values = line(ax, "chance").get_data()
    assert np.array_equal(values, chances(rows, 0.1, 0.2, delta=0.01))
    assert line(ax, "213 rows").get_xdata()[0] == 213
    assert line(ax, "chance asked").get_ydata()[0] == 0.95
    assert rows[-1] == 426


def test_wrong_arguments():
    with pytest.raises(TypeError, match="clf must be a StochasticSVC"):
        plot_risks("svc")
    with pytest.raises(ValueError, match="not fitted yet"):
        plot_bounds(StochasticSVC())


def test_matplotlib_is_loaded_when_first_needed():
    code = "import sys, pacbayes.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
