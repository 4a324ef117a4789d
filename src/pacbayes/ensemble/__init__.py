"""From training rows to classifiers, and what they answer: support vector machines, grids, forests, others."""

from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.families import Grid, SVMs, Trees
from pacbayes.ensemble.forest_set import forest_set
from pacbayes.ensemble.grid_set import grid_set
from pacbayes.ensemble.svm_set import svm_set

__all__ = [
    "ClassifierSet",
    "Grid",
    "SVMs",
    "Trees",
    "forest_set",
    "grid_set",
    "svm_set",
]
