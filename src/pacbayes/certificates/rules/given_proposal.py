"""A proposal that the user fixed beforehand, for classifiers that were trained elsewhere."""

from typing import Any

import numpy as np

from pacbayes.certificates.posterior_choice import integer_weights
from pacbayes.certificates.rules.proposals import SINGLE
from pacbayes.certificates.rules.rule import PROPOSAL, Rule, parts_of_one
from pacbayes.numeric.checks import check_distribution

#: The name of the vote in which all count alike.
EQUAL = "equal vote"


def given_rules(proposal: Any, number: int) -> tuple[Rule, ...]:
    """Return the rules that a proposal stands for, not yet tested: one of so many classifiers, or weights of all.

    Weights are those of the draws and of the vote, and propose the classifier with the largest (the first of several)
    for predicting with one.  Beside a proposed vote stand that classifier alone, and the vote of all alike.

    Examples
    --------
    >>> for rule in given_rules([0.5, 0.25, 0.25], 3):
    ...     print(rule.voting, rule.name, np.ldexp(rule.parts.astype(float), -52).round(3))
    stochastic proposal [0.5  0.25 0.25]
    majority proposal [0.5  0.25 0.25]
    majority single [1. 0. 0.]
    majority equal vote [0.333 0.333 0.333]
    best proposal [1. 0. 0.]
    >>> given_rules(3, 3)
    Traceback (most recent call last):
    ValueError: proposal must be the number of one of the 3 classifiers, from 0 to 2, or weights; got 3
    """
    if isinstance(proposal, bool | np.bool_ | str):
        raise TypeError(f"proposal must be the number of a classifier or a weight for each, got {proposal!r}")
    if isinstance(proposal, int | np.integer):
        if not 0 <= proposal < number:
            raise ValueError(
                f"proposal must be the number of one of the {number} classifiers, from 0 to {number - 1}, or weights; "
                f"got {proposal}"
            )
        parts = parts_of_one(int(proposal), number)
    else:
        parts = integer_weights(check_distribution("proposal", proposal, number)[0])
    single = parts_of_one(int(np.argmax(parts)), number)
    votes = [Rule("majority", PROPOSAL, parts)]
    for name, weights in ((SINGLE, single), (EQUAL, integer_weights(np.ones(number)))):
        if not any(np.array_equal(weights, known.parts) for known in votes):
            votes.append(Rule("majority", name, weights))
    return Rule("stochastic", PROPOSAL, parts), *votes, Rule("best", PROPOSAL, single)
