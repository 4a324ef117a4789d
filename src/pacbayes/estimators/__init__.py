"""Scikit-learn classifiers with certificates."""

from pacbayes.estimators.classifier import CertifiedClassifier
from pacbayes.estimators.svc import StochasticSVC

__all__ = ["CertifiedClassifier", "StochasticSVC"]
