"""From risks, sample size and prior to the best posterior."""

from pacbayes.posteriors.gibbs import gibbs_posterior
from pacbayes.posteriors.optimal import optimal_posterior
from pacbayes.posteriors.posterior import Posterior

__all__ = ["Posterior", "gibbs_posterior", "optimal_posterior"]
