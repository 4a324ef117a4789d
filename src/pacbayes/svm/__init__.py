"""Support vector machines for many values of the regularisation parameter."""

from pacbayes.svm.kernel import sigest
from pacbayes.svm.path import SVMPath, svm_path
from pacbayes.svm.svm_classifier import SVMClassifier

__all__ = ["SVMClassifier", "SVMPath", "sigest", "svm_path"]
