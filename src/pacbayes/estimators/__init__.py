"""Classifiers for scikit-learn users that carry certificates."""

from pacbayes.estimators.classifier import CertifiedClassifier
from pacbayes.estimators.svc import StochasticSVC

__all__ = ["CertifiedClassifier", "StochasticSVC"]
