"""The mathematics of one bound: binary kl and its roots, constants, the distances, `bound`; exact limits."""

from pacbayes.bounds.binary_kl import kl_divergence, kl_roots
from pacbayes.bounds.binomial import chances, rows_needed
from pacbayes.bounds.bound import bound
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.distances import DISTANCES, Catoni, get_distance, log_constant, register_distance

__all__ = [
    "DISTANCES",
    "BoundFunction",
    "Catoni",
    "Distance",
    "bound",
    "chances",
    "get_distance",
    "kl_divergence",
    "kl_roots",
    "log_constant",
    "register_distance",
    "rows_needed",
]
