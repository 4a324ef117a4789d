"""What a user fixed beforehand about classifiers that were trained elsewhere."""

from dataclasses import dataclass

from pacbayes.certificates.rules.rule import Rule


@dataclass(frozen=True)
class Beforehand:
    """In the place of what an estimator learns from training rows."""

    #: The rules that a proposal stands for, not yet tested; none without a proposal.
    rules: tuple[Rule, ...]
    #: The number of the class that is most frequent among training rows, None where that is not known.
    constant: int | None
