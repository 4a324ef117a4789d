"""What one rule guarantees, and of what its shares are: examples, examples without their copies, or groups."""

from dataclasses import dataclass

from pacbayes.certificates.rules import OCCAM, POSTERIOR, TANDEM
from pacbayes.numeric.words import format_level, percent_up

#: What a certificate says the share of errors is of, by unit.
OF_NEW = {
    "example": "new examples",
    "distinct example": "new examples, each counted once however often it is copied",
    "group": "the rows of a new group, on average over groups",
}
#: The unit in few words, for tables.
PLURAL = {"example": "rows", "distinct example": "distinct rows", "group": "groups"}


def counted_once(unit: str) -> str:
    """Return what is to be added where examples were named, and copies of them do not count.

    Examples
    --------
    >>> counted_once("example"), counted_once("distinct example")
    ('', ', each counted once however often it is copied')
    """
    return OF_NEW["distinct example"].removeprefix(OF_NEW["example"]) if unit == "distinct example" else ""


#: Which rows recommended the rule: those that train, before any other was looked at, or those that validate.
TRAINING, VALIDATION = "training rows", "validation rows"
#: Of classifiers trained elsewhere: nobody knows which rows, but none that validates.
BEFOREHAND = "fixed beforehand"
#: Rules whose weights the validation rows find; they only pick among the others.
FOUND = (POSTERIOR, OCCAM, TANDEM)


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
