"""The vote whose weights the validation rows chose by the tandem bound: one more rule that the hedge pays for.

In a forest that is validated out of bag it is *the* vote: weights with the smallest 2 B would leave few trees of it.
"""

from dataclasses import replace

import numpy as np

from pacbayes.certificates.posterior_choice import Counts, integer_weights, weights_of
from pacbayes.certificates.rules.claim import VALIDATION, Claim
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.packed_errors import PackedErrors
from pacbayes.numeric.arrays import FloatArray
from pacbayes.posteriors.vote import optimal_vote
from pacbayes.posteriors.vote_bounds import VoteProblem, half_level

#: The name of the rule.
TANDEM = "tandem vote"
# The weights need not be the best to the last digit: the bound is that of the weights as they are.
_TOL = 1e-4
_THEOREMS = {
    "tandem": "Four times the PAC-Bayes-kl bound of the probability that two classifiers, drawn by the weights of the "
    "vote, both err",
    "first-order": "Twice the PAC-Bayes-kl bound of the probability that a classifier drawn by the weights of the vote "
    "errs",
}


def tandem_parts(classifiers: ClassifierSet, level: float, prior: FloatArray | None, constant: str) -> Counts | None:
    """Return weights with a small tandem bound, in multiples of 2^-52; None where it is not known who errs where.

    Where some two classifiers have no validation row in common, so that there is no tandem bound, they are the prior.

    Examples
    --------
    >>> wrong = np.random.default_rng(0).random((5, 400)) < 0.1
    >>> labels = np.zeros(400, dtype=int)
    >>> classifiers = ClassifierSet.from_predictions(wrong.astype(int), labels, keep_error_rows=True)
    >>> parts = tandem_parts(classifiers, 0.05, None, "exact")
    >>> claim = tandem_claim(classifiers, parts, 0.05, None, "exact")
    >>> claim.rule, claim.distance, round(claim.bound, 3), round(claim.empirical_risk, 3)
    ('tandem vote', 'tandem', 0.28, 0.1)
    """
    kept = classifiers.kept_errors
    if kept is None or level <= 0.0:
        return None
    if not _has_pairs(kept):
        return integer_weights(np.full(len(classifiers), 1.0 / len(classifiers)) if prior is None else prior)
    vote = optimal_vote(
        kept.rows(),
        kept.n_rows,
        delta=level,
        prior=prior,
        constant=constant,
        tol=_TOL,
        validated=kept.validated_rows(),
    )
    return integer_weights(vote.weights)


def tandem_claim(
    classifiers: ClassifierSet, parts: Counts, level: float, prior: FloatArray | None, constant: str
) -> Claim:
    """Return the tandem bound of a vote with such weights at a level: it holds for all weights at once.

    Where classifiers have validation rows of their own, and pairs therefore few, the level is divided between it and
    twice the bound of a classifier drawn by these weights, and the smaller counts.
    """
    kept = classifiers.kept_errors
    if kept is None:
        raise ValueError("classifiers must know who errs on which row: make them with keep_error_rows=True")
    if kept.validated is None:
        return _claim(kept, parts, "tandem", level, prior, constant)
    if not _has_pairs(kept):
        return _claim(kept, parts, "first-order", level, prior, constant)
    each = half_level(level)
    both = [_claim(kept, parts, bound, each, prior, constant) for bound in ("first-order", "tandem")]
    won = min(both, key=lambda claim: claim.bound)
    return replace(won, level=level, theorem=f"{won.theorem} It is the smaller of two, each at half of this level.")


def _claim(
    kept: PackedErrors, parts: Counts, bound: str, level: float, prior: FloatArray | None, constant: str
) -> Claim:
    problem = VoteProblem.checked(kept.rows(), kept.n_rows, bound, level, prior, constant, kept.validated_rows())
    values = problem.evaluate(weights_of(parts))
    rows = ""
    if problem.own is not None and bound == "tandem":
        rows = f" Every two have {problem.own.least_pair} validation rows in common, or more."
    return Claim(
        rule=TANDEM,
        source=VALIDATION,
        level=level,
        bound=min(values.bound, 1.0),
        empirical_risk=values.gibbs_risk,
        kl=values.kl,
        distance="tandem" if bound == "tandem" else "kl",
        theorem=f"{_THEOREMS[bound]}, with the {constant} constant.{rows}",
    )


def _has_pairs(kept: PackedErrors) -> bool:
    """Return whether every two classifiers have a validation row in common."""
    validated = kept.validated_rows()
    if validated is None:
        return True
    table = validated.astype(np.float32)
    return bool((table @ table.T).min() > 0.0)
