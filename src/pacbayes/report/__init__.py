"""Pictures (Axes in, Axes out), and the HTML report.  ``pip install jinja2 matplotlib``."""

from pacbayes.report.page import report_html, write_report
from pacbayes.report.plots import (
    plot_bounds,
    plot_coverage,
    plot_gibbs_curve,
    plot_monitor,
    plot_plan,
    plot_risks,
    plot_target,
)

__all__ = [
    "plot_bounds",
    "plot_coverage",
    "plot_gibbs_curve",
    "plot_monitor",
    "plot_plan",
    "plot_risks",
    "plot_target",
    "report_html",
    "write_report",
]
