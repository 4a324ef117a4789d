"""From training rows to classifiers, and what they answer: support vector machines, grids, forests, others."""

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.families import Grid, SVMs, Trees
from pacbayes.classifiers.forest_set import forest_set
from pacbayes.classifiers.grid_set import grid_set
from pacbayes.classifiers.svm.kernel import sigest
from pacbayes.classifiers.svm.path import SVMPath, svm_path
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier
from pacbayes.classifiers.svm.svm_set import svm_set

__all__ = [
    "ClassifierSet",
    "Grid",
    "SVMClassifier",
    "SVMPath",
    "SVMs",
    "Trees",
    "forest_set",
    "grid_set",
    "sigest",
    "svm_path",
    "svm_set",
]
