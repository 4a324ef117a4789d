"""Pictures of fitted estimators: Axes in, Axes out.  They need ``pip install 'pacbayes[report]'``."""

from pacbayes.report.plots import plot_bounds, plot_gibbs_curve, plot_risks

__all__ = ["plot_bounds", "plot_gibbs_curve", "plot_risks"]
