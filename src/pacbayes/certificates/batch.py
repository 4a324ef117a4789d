"""Of these answers at most so many are wrong: a statement about the rows at hand, not about all that may come."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pacbayes._utils.arrays import cached_property
from pacbayes._utils.checks import check_level, need, need_whole
from pacbayes.bounds.binomial import hypergeometric_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.rules import Case, Rule
from pacbayes.data.split import DISTINCT, GROUP


@dataclass(frozen=True)
class Batch:
    """How many of the answers to a batch of new rows are wrong at most.

    Of `CertifiedClassifier.certify_batch`.  A statement of its own, beside the certificate and not at once with it.

    See Also
    --------
    Certificate : About all new examples, not about those at hand.
    pacbayes.certificates.hypergeometric_upper : Where the number comes from.

    References
    ----------
    .. [1] A. R. Thatcher, "Relationships between Bayesian and confidence limits for predictions", Journal of the Royal
       Statistical Society B 26, 1964.

    Examples
    --------
    >>> batch = Batch(rows=1000, errors=8, m=284, level=0.05, delta=0.05)
    >>> batch.wrong
    53
    >>> print(batch)  # doctest: +NORMALIZE_WHITESPACE
    With probability at least 95 % over sample and batch, at most 53 of these 1000 answers are wrong. This batch is one
    statement, beside the certificate and not at once with it.
    """

    #: The new rows.
    rows: int
    #: The errors of the rule that predicts on the validation rows.
    errors: int
    #: The validation rows.
    m: int
    #: The rule's share of delta, at which the limit was computed.
    level: float
    #: The statement fails with at most this probability, over sample and batch, whichever rule predicts.
    delta: float
    #: The answers that are not those of the rule that was tested: each may be wrong.
    not_covered: int = 0
    #: The rows that equal rows which the model was fitted with, no more than chance explains.
    seen: int = 0

    def __post_init__(self) -> None:
        """Raise unless the numbers fit together."""
        need_whole(self.rows, "Batch.rows", 0)
        need_whole(self.m, "Batch.m", 1)
        need_whole(self.errors, "Batch.errors", 0, self.m)
        need_whole(self.not_covered, "Batch.not_covered", 0, self.rows)
        need_whole(self.seen, "Batch.seen", 0, self.rows)
        check_level(self.delta)
        need(0.0 <= self.level <= self.delta, "Batch.level", "must be at most delta")

    @cached_property
    def wrong(self) -> int:
        """At most so many are wrong: those of the rule that was tested, and all that are not covered."""
        tested = hypergeometric_upper(self.errors, self.m, self.rows, self.level)
        return min(tested + self.not_covered, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, ready for JSON.

        Examples
        --------
        >>> Batch(rows=10, errors=0, m=100, level=0.05, delta=0.05).to_dict()["wrong"]
        1
        """
        return asdict(self) | {"wrong": self.wrong}

    def __str__(self) -> str:
        return sentences.batch_text(self)

    def explain(self) -> str:
        """Return the statement, the counts it comes from and its assumptions, one to a line.

        Examples
        --------
        >>> print(Batch(rows=100, errors=2, m=50, level=0.045, delta=0.05, not_covered=3).explain())
        ... # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
        With probability at least 95 % over sample and batch, at most 17 of these 100 answers are wrong. 3 are not
        covered, and counted among these. This batch is one statement, beside the certificate and not at once with it.
        The exact limit of a hypergeometric distribution, from 2 errors on 50 validation rows, at level 0.045.
        Assumed: The rows of the batch are independent draws ...
        Assumed: ...
        """
        return sentences.batch_explained(self)


def batch_of(plan: Plan, case: Case, rule: Rule) -> Batch:
    """Return an empty batch for the answers of a rule; raise where nothing is proved."""
    refused = _not_proved(plan)
    if refused is None:
        # All rules share the whole of delta: it is a statement of its own, from which no limits take a part.
        tested = rule.tested(case, plan.levels_of(plan.delta)[rule])
        if tested is not None:
            errors = int(np.count_nonzero(tested[0] != case.predictions.y_true))
            return Batch(0, errors, plan.split.m, tested[1], plan.delta)
        refused = (
            f"the {rule.voting!r} way of predicting has the {rule.name}'s weights, which the validation rows found; of "
            "such it is not proved. voting='best' has one classifier, of which it is"
        )
    raise ValueError(f"certify_batch cannot say how many answers are wrong at most: {refused}")


def _not_proved(plan: Plan) -> str | None:
    """Say why nothing is proved of any rule, None where something is."""
    split = plan.split
    if split.unit == GROUP:
        return "rows of a group depend on each other, so that new rows cannot take the place of validation rows"
    if split.unit == DISTINCT:
        return "with duplicates='together' copies count once, but a batch may hold any number of them"
    if plan.decision is not None:
        return f"{plan.decision!r} is certified, and nothing else"
    if split.kind != "shared":
        return f"with split={split.kind!r} every row validates some classifier and trains others"
    return None
