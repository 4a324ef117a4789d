"""Training of classifiers and their predictions: support vector machines, grids, prefit classifiers."""

from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.families import Grid, SVMs
from pacbayes.ensemble.grid import grid_set
from pacbayes.ensemble.svm_set import svm_set

__all__ = [
    "ClassifierSet",
    "Grid",
    "SVMs",
    "grid_set",
    "svm_set",
]
