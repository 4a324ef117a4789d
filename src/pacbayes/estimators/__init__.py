"""Classifiers for scikit-learn users that carry certificates."""

from pacbayes.estimators.classifier import StochasticClassifier
from pacbayes.estimators.svc import StochasticSVC

__all__ = ["StochasticClassifier", "StochasticSVC"]
