"""Plans and evidence of classifiers whose errors are chosen."""

from dataclasses import replace

import numpy as np

from pacbayes import ClassifierSet
from pacbayes.certificates import Plan, certify, find
from pacbayes.certificates.proposals import given_rules
from pacbayes.certificates.voting import PROPOSAL
from pacbayes.data.division import GROUP, validating_division
from pacbayes.ensemble.evidence import Evidence


def a_set(errors, m=100):
    """Classifiers that err on the first of `m` rows, each on so many."""
    said = np.arange(m) < np.asarray(errors)[:, None]
    return ClassifierSet.from_predictions(said.astype(int), np.zeros(m, dtype=int))


def grouped(copies=None):
    """Three classifiers with errors in 30 groups of one, two and five rows."""
    sizes = np.repeat([1, 2, 5], 10)
    units = np.repeat(np.arange(30), sizes)
    row_sizes = sizes[units]
    answers = np.zeros((3, units.size), dtype=np.uint8)
    for line, counts in zip(answers, ([1, 3, 4], [0, 2, 11], [6, 12, 20]), strict=True):
        for size, count in zip((1, 2, 5), counts, strict=True):
            line[np.flatnonzero(row_sizes == size)[:count]] = 1
    evidence = Evidence(np.array([0, 1]), 2, answers, np.zeros(units.size, dtype=np.uint8))
    return ClassifierSet(None, evidence, replace(validating_division(units.size, GROUP, units), copies=copies))


def planned(classifiers, proposal=None, hedge=None, **choices):
    """A plan for a set, and its evidence, with what the rules of a proposal say of the rows."""
    evidence, rules = classifiers.evidence, ()
    hedge = (1.0 if proposal is None else 0.1) if hedge is None else hedge
    if proposal is not None:
        rules = given_rules(proposal, len(classifiers))
        rules = tuple(rule for rule in rules if hedge > 0.0 or rule.name == PROPOSAL)
        hashes = np.random.default_rng(0).integers(2**64, size=evidence.truth.size, dtype=np.uint64)
        said = np.stack([rule.of_answers(evidence.answers, evidence.labels, lambda: hashes) for rule in rules])
        evidence = replace(evidence, said=said.astype(evidence.answers.dtype))
    if choices.get("prior") is not None:
        choices["prior_kind"] = "given"
    return Plan(classifiers.splits, hedge=hedge, planned=rules, **choices), evidence


def erring(plan, evidence, errors):
    """The same evidence, but rules err on the first rows: `errors` by voting and name."""
    m, said = evidence.truth.size, evidence.said.copy()
    for line, rule in zip(said, plan.planned, strict=True):
        if (rule.voting, rule.name) in errors:
            line[:] = np.where(np.arange(m) < errors[rule.voting, rule.name], 1 - evidence.truth, evidence.truth)
    return replace(evidence, said=said)


def certified(plan, evidence):
    """All certificates."""
    return certify(plan, evidence, find(plan, evidence))


def claims_of(certificate):
    """Bound and level of the rule that predicts and of all others, by name."""
    others = {claim.rule: (claim.bound, claim.level) for claim in certificate.alternatives}
    return {certificate.rule: (certificate.bound, certificate.level)} | others
