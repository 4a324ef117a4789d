r"""What the training rows propose: a classifier, a vote and draws, from errors counted within the training rows.

With :math:`k_i` errors of classifier i in cross-validation (or out of bag, as a rate times the number of rows), the
fewest being :math:`k_{\min}`: equation (vote-weights) and equation (draw-weights) of docs/mathematics.md.
"""

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.certificates.posterior_choice import Counts, integer_weights
from pacbayes.certificates.rules.rule import PROPOSAL, Rule, parts_of_one
from pacbayes.classifiers.cross_validation import middle_of_fewest
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import usual_float_errors

#: How strongly the proposed vote, and the proposed draws, prefer classifiers with few errors.
VOTE_STRENGTH, DRAW_STRENGTH = 0.25, 2.0
#: The votes tested beside it: from all alike to nearly one alone.
LADDER = (0.0, 0.5, 1.0, 2.0, 4.0)
#: The name, on the ladder, of the vote of one.
SINGLE = "single"


def vote_weights(errors: ArrayLike, strength: float) -> FloatArray:
    r"""Return the weights of a vote, not normalised: :math:`e^{-s (k_i - k_{\min})/\sqrt{k_{\min}+1}}`.

    A difference counts in units of what luck makes of so many errors.

    Examples
    --------
    >>> vote_weights([8, 11, 20], 1.0).round(4)
    array([1.    , 0.3679, 0.0183])
    """
    k = np.asarray(errors, dtype=np.float64)
    with usual_float_errors():
        return np.asarray(np.exp(-strength * (k - k.min()) / np.sqrt(k.min() + 1.0)))


def draw_weights(errors: ArrayLike) -> FloatArray:
    r"""Return the weights of draws, not normalised: :math:`e^{-2 (k_i - k_{\min})}`.

    A draw errs as often as the classifier drawn does, where a vote errs less than its members: draws want their weight
    on few.

    Examples
    --------
    >>> draw_weights([8, 9, 20]).round(4)
    array([1.    , 0.1353, 0.    ])
    """
    k = np.asarray(errors, dtype=np.float64)
    with usual_float_errors():
        return np.asarray(np.exp(-DRAW_STRENGTH * (k - k.min())))


def propose(candidates: Rows, errors: ArrayLike, number: int) -> tuple[Rule, ...]:
    """Return the rules that errors of some of so many classifiers recommend: for each way of predicting a proposal.

    A vote has a ladder of other votes beside it; one that would be the same as another is left out.

    Examples
    --------
    >>> for rule in propose(np.arange(3), [4, 4, 9], 3):
    ...     print(rule.voting, rule.name, np.ldexp(rule.parts.astype(float), -52).round(3))
    stochastic proposal [0.5 0.5 0. ]
    majority proposal [0.389 0.389 0.222]
    majority vote s=0 [0.333 0.333 0.333]
    majority vote s=0.5 [0.43 0.43 0.14]
    majority vote s=1 [0.475 0.475 0.051]
    majority vote s=2 [0.497 0.497 0.006]
    majority vote s=4 [0.5 0.5 0. ]
    majority single [1. 0. 0.]
    best proposal [1. 0. 0.]
    """
    found = np.asarray(errors)

    def parts(weights: FloatArray) -> Counts:
        spread = np.zeros(number)
        spread[candidates] = weights
        return integer_weights(spread)

    single = parts_of_one(int(candidates[middle_of_fewest(found)]), number)
    votes = [Rule("majority", PROPOSAL, parts(vote_weights(found, VOTE_STRENGTH)))]
    steps = [(f"vote s={s:g}", parts(vote_weights(found, s))) for s in LADDER]
    for name, weights in [*steps, (SINGLE, single)]:
        if not any(np.array_equal(weights, known.parts) for known in votes):
            votes.append(Rule("majority", name, weights))
    return (
        Rule("stochastic", PROPOSAL, parts(draw_weights(found))),
        *votes,
        Rule("best", PROPOSAL, single),
    )
