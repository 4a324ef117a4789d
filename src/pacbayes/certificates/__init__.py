"""What is guaranteed, and for whom: the stochastic classifier, the majority vote, the best single classifier."""

from pacbayes.bounds.binomial import binomial_upper, chernoff_upper, hypergeometric_upper
from pacbayes.certificates.batch import Batch
from pacbayes.certificates.certificate import Baseline, Certificate, Claim, Missed
from pacbayes.certificates.certify import Certificates, certify, constant_baseline, most_frequent
from pacbayes.certificates.decisions import Abstain, Answered, Reached, Threshold
from pacbayes.certificates.difference import Difference, certify_difference, compare_classifiers
from pacbayes.certificates.find import Found, choose_posterior, find
from pacbayes.certificates.levels import best_single
from pacbayes.certificates.limits import Cost, Limit
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.predictions import certify_predictions
from pacbayes.certificates.proposals import propose
from pacbayes.certificates.voting import VOTINGS
from pacbayes.certificates.watching import Monitor

__all__ = [
    "VOTINGS",
    "Abstain",
    "Answered",
    "Baseline",
    "Batch",
    "Certificate",
    "Certificates",
    "Claim",
    "Cost",
    "Difference",
    "Found",
    "Limit",
    "Missed",
    "Monitor",
    "Plan",
    "Reached",
    "Threshold",
    "best_single",
    "binomial_upper",
    "certify",
    "certify_difference",
    "certify_predictions",
    "chernoff_upper",
    "choose_posterior",
    "compare_classifiers",
    "constant_baseline",
    "find",
    "hypergeometric_upper",
    "most_frequent",
    "propose",
]
