r"""Rules fixed on the training rows and tested on the validation rows.

One classifier, a weighted vote with its ties, draws by a key: fixed before any validation row is looked at, each is one
deterministic classifier, and its errors on `m` validation rows are binomial.  Of several rules with levels that sum to
:math:`\delta` all limits hold at once with probability :math:`1-\delta`, hence so does the smallest: equation
(rules) of docs/mathematics.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pacbayes.certificates.limits import risks_of, upper_limits
from pacbayes.certificates.posterior_choice import BITS, Counts
from pacbayes.certificates.questions.by_class import PartErrors
from pacbayes.certificates.rules.claim import TRAINING, VALIDATION, Claim
from pacbayes.certificates.rules.hedge import hedged_level, proposal_level
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.numeric.arrays import Rows

#: The rule that holds most of delta: what the training rows recommend.
PROPOSAL = "proposal"


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to predict with the classifiers of a set, whose weights no validation row has seen.

    Examples
    --------
    >>> from pacbayes.certificates.posterior_choice import integer_weights
    >>> rule = Rule("majority", "proposal", integer_weights(np.array([0.5, 0.25, 0.25])), 4)
    >>> claim = rule.claim(100, 0.045)
    >>> claim.rule, claim.source, round(claim.bound, 4)
    ('proposal', 'training rows', 0.0908)
    """

    #: How it predicts: a key of `certificates_`.
    voting: str
    #: "proposal", or the name of another that is tested beside it.
    name: str
    #: Weights in whole multiples of 2^-52, shape (H,); for voting="best" one classifier has all of it.
    parts: Counts
    #: Its errors on the validation rows, None as long as they are not counted.
    errors: int | GroupErrors | None = None
    #: The same in every class and slice, None where nobody asked.
    in_parts: PartErrors | None = None

    @property
    def index(self) -> int:
        """The classifier with the largest weight: the only one, where the rule is one classifier."""
        return int(np.argmax(self.parts))

    @property
    def is_alone(self) -> bool:
        """Whether the rule is one classifier, however it predicts."""
        return bool(np.count_nonzero(self.parts) == 1)

    def erred_as(self, counted: Rows | GroupErrors) -> bool:
        """Return whether a rule that is one classifier has the errors that were counted of that one, among all."""
        own = counted[self.index : self.index + 1]
        mine = self.errors.counts if isinstance(self.errors, GroupErrors) else np.array([self.errors])
        return bool(np.array_equal(own.counts if isinstance(own, GroupErrors) else own, mine))

    def claim(self, m: int, level: float) -> Claim:
        """Return the limit of the rule's risk at a level, from its errors on `m` validation rows (or groups)."""
        if self.errors is None:
            raise ValueError(f"the errors of the rule {self.name!r} ({self.voting}) are not counted")
        grouped = isinstance(self.errors, GroupErrors)
        counted = self.errors if isinstance(self.errors, GroupErrors) else np.array([self.errors])
        limit = "Chernoff's limit (the kl inverse)" if grouped else "The exact binomial limit"
        return Claim(
            rule=self.name,
            source=TRAINING if self.name == PROPOSAL else VALIDATION,
            level=level,
            bound=float(upper_limits(counted, m, level)[0]),
            empirical_risk=float(risks_of(counted, m)[0]),
            kl=0.0,
            distance="chernoff" if grouped else "binomial",
            theorem=f"{limit} of the rule's own errors, at its share of delta; {_SAYS[self.voting]}.",
        )


_SAYS = {
    "best": "the classifier was fixed before any validation row was looked at",
    "majority": "the weights of the vote were fixed before any validation row was looked at",
    "stochastic": "weights and key of the draws were fixed before any validation row was looked at, and it is "
    "certified for this key",
}


def parts_of_one(index: int, number: int) -> Counts:
    """Return the weights of a single classifier among so many, in whole multiples of 2^-52."""
    parts = np.zeros(number, dtype=np.int64)
    parts[index] = 2**BITS
    return parts


def claims_of(
    rules: Sequence[Rule], others: Sequence[Callable[[float], Claim]], m: int, delta: float, hedge: float
) -> list[Claim]:
    """Return what rules of one way of predicting, and others that the validation rows chose, claim at their levels.

    The proposal has (1 - hedge) delta; the other rules, and `others`, functions of a level, have equal shares of
    hedge delta.

    Examples
    --------
    >>> rules = [Rule("best", "proposal", parts_of_one(0, 2), 3)]
    >>> other = Rule("best", "other", parts_of_one(1, 2), 3)
    >>> found = claims_of(rules, [lambda level: other.claim(50, level)], 50, 0.05, 0.1)
    >>> [(claim.rule, round(claim.level, 12), round(claim.bound, 4)) for claim in found]
    [('proposal', 0.045, 0.1506), ('other', 0.005, 0.2027)]
    """
    proposals = [rule.claim(m, proposal_level(delta, hedge)) for rule in rules if rule.name == PROPOSAL]
    if len(proposals) > 1 or (hedge < 1.0 and not proposals):
        raise ValueError(f"rules must hold one proposal where hedge is below 1, got {len(proposals)}")
    if hedge == 0.0:
        return proposals
    tested = [rule for rule in rules if rule.name != PROPOSAL]
    level = hedged_level(delta, hedge, len(tested) + len(others))
    return [*proposals, *(rule.claim(m, level) for rule in tested), *(claim(level) for claim in others)]
