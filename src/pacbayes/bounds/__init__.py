"""The mathematics of one bound: binary kl and its roots, constants, the distances, `bound`; exact limits."""

from pacbayes.bounds.binary_kl import kl_divergence, kl_roots
from pacbayes.bounds.bound import bound
from pacbayes.bounds.catoni import Catoni
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.registry import DISTANCES, get_distance, log_constant, register_distance
from pacbayes.bounds.rows_needed import chances, rows_needed

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
