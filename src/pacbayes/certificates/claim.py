"""What one rule guarantees: of several for one way of predicting, the one with the smallest bound predicts."""

from dataclasses import dataclass

from pacbayes.numeric.words import format_level, percent_up

#: Which rows recommended the rule: those that train, before any other was looked at, or those that validate.
TRAINING, VALIDATION = "training rows", "validation rows"
#: Of classifiers trained elsewhere: nobody knows which rows, but none that validates.
BEFOREHAND = "fixed beforehand"
#: Rules whose weights the validation rows find; they only pick among the others.
FOUND = ("posterior", "Occam", "tandem vote")


@dataclass(frozen=True)
class Claim:
    """A bound on the risk of one rule, at the level that the rule was given.

    The levels of all claims for one way of predicting sum to at most delta, so that they hold at once with
    probability 1 - delta, and with them the smallest.

    See Also
    --------
    Certificate : Made of the claim with the smallest bound; the others are its `alternatives`.

    Examples
    --------
    >>> print(Claim("proposal", "training rows", 0.045, 0.0623, 0.0387, 0.0, "binomial", "The exact binomial limit."))
    proposal: at most 6.3 %, at level 0.045
    """

    #: Which rule: "proposal", "posterior", "Occam", or the name of another vote.
    rule: str
    #: Which rows recommended it: "training rows" or "validation rows"; of sets from elsewhere "fixed beforehand".
    source: str
    #: The bound fails with at most this probability.
    level: float
    #: The upper bound, rounded up, at most 1.
    bound: float
    #: L, the share of validation errors it was computed from.
    empirical_risk: float
    #: K, the divergence from the prior; 0 for one rule alone.
    kl: float
    #: The distance of the PAC-Bayesian bound; "binomial" for the exact limit, "chernoff" for that of groups.
    distance: str
    #: Where the number comes from.
    theorem: str
    #: A lower bound that holds at once with the upper one, or None.
    lower: float | None = None

    def __str__(self) -> str:
        return f"{self.rule}: at most {percent_up(self.bound)}, at level {format_level(self.level)}"
