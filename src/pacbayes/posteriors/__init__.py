"""Posteriors and majority votes with the smallest PAC-Bayes bounds."""

from pacbayes.posteriors.gibbs import gibbs_posterior
from pacbayes.posteriors.optimal import optimal_posterior
from pacbayes.posteriors.optimal_vote import VotePosterior, optimal_vote
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.vote_bounds import vote_bound

__all__ = ["Posterior", "VotePosterior", "gibbs_posterior", "optimal_posterior", "optimal_vote", "vote_bound"]
