"""Certificates: bounds on the error rate of votes, stochastic classifiers and single classifiers."""

from pacbayes.bounds.binomial import binomial_upper, chernoff_upper, hypergeometric_upper
from pacbayes.certificates.batch import Batch
from pacbayes.certificates.certificate import Baseline, Certificate, Claim, Missed
from pacbayes.certificates.certify import Certificates, certify, fixed_label_baseline, most_frequent
from pacbayes.certificates.decisions import Abstain, PredictionSet, SelectiveResult, Threshold, ThresholdResult
from pacbayes.certificates.difference import Difference, certify_difference, compare_classifiers
from pacbayes.certificates.ledger import Attempt, Ledger
from pacbayes.certificates.levels import best_single
from pacbayes.certificates.metric_bounds import Cost, MetricBound
from pacbayes.certificates.monitor import Monitor
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors, choose_posterior, fit_posteriors
from pacbayes.certificates.predictions import certify_counts, certify_predictions, certify_sets
from pacbayes.certificates.primary import primary_weights
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.voting import VOTINGS

__all__ = [
    "VOTINGS",
    "Abstain",
    "Attempt",
    "Baseline",
    "Batch",
    "Certificate",
    "Certificates",
    "Claim",
    "Cost",
    "Difference",
    "Ledger",
    "MetricBound",
    "Missed",
    "Monitor",
    "Plan",
    "Posteriors",
    "PredictionSet",
    "SelectiveResult",
    "SetResult",
    "Threshold",
    "ThresholdResult",
    "best_single",
    "binomial_upper",
    "certify",
    "certify_counts",
    "certify_difference",
    "certify_predictions",
    "certify_sets",
    "chernoff_upper",
    "choose_posterior",
    "compare_classifiers",
    "fit_posteriors",
    "fixed_label_baseline",
    "hypergeometric_upper",
    "most_frequent",
    "primary_weights",
]
