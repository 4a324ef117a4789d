"""The mathematics of a single bound: kl inverses, constants, distances, the PAC-Bayesian bound and exact bounds."""

from pacbayes.bounds.binary_kl import kl_divergence, kl_roots
from pacbayes.bounds.binomial import chances, rows_needed
from pacbayes.bounds.bound import bound
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.distances import DISTANCES, Catoni, RefinedPinsker, get_distance, log_constant, register_distance

__all__ = [
    "DISTANCES",
    "BoundFunction",
    "Catoni",
    "Distance",
    "RefinedPinsker",
    "bound",
    "chances",
    "get_distance",
    "kl_divergence",
    "kl_roots",
    "log_constant",
    "register_distance",
    "rows_needed",
]
