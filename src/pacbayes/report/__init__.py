"""Plots, HTML reports and model cards of fitted models; requires ``pip install jinja2 matplotlib``."""

from pacbayes.report.card import model_card
from pacbayes.report.page import report_html, write_report
from pacbayes.report.plots import (
    plot_bounds,
    plot_certificate,
    plot_coverage,
    plot_decision,
    plot_gibbs_curve,
    plot_monitor,
    plot_plan,
    plot_risks,
    plot_sets,
)

__all__ = [
    "model_card",
    "plot_bounds",
    "plot_certificate",
    "plot_coverage",
    "plot_decision",
    "plot_gibbs_curve",
    "plot_monitor",
    "plot_plan",
    "plot_risks",
    "plot_sets",
    "report_html",
    "write_report",
]
