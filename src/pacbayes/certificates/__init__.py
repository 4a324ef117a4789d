"""What is guaranteed, and for whom: the stochastic classifier, the majority vote, the best single classifier."""

from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.certificates.certificate import Baseline, Certificate
from pacbayes.certificates.certify import VOTINGS, certify
from pacbayes.certificates.constant import constant_baseline, most_frequent
from pacbayes.certificates.posterior_choice import choose_posterior
from pacbayes.certificates.questions.answered import Answered
from pacbayes.certificates.questions.below import CertifiedMember
from pacbayes.certificates.questions.by_class import PartLimit
from pacbayes.certificates.questions.difference import Difference, certify_difference, compare_classifiers
from pacbayes.certificates.rules.claim import Claim
from pacbayes.certificates.rules.occam import best_single
from pacbayes.certificates.rules.proposals import propose
from pacbayes.certificates.rules.rule import Rule

__all__ = [
    "VOTINGS",
    "Answered",
    "Baseline",
    "Certificate",
    "CertifiedMember",
    "Claim",
    "Difference",
    "PartLimit",
    "Rule",
    "best_single",
    "binomial_upper",
    "certify",
    "certify_difference",
    "chernoff_upper",
    "choose_posterior",
    "compare_classifiers",
    "constant_baseline",
    "most_frequent",
    "propose",
]
