"""Bounds on the number of wrong predictions in a batch of new rows, rather than on the error rate of all rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pacbayes._utils.arrays import cached_property
from pacbayes._utils.checks import check_level, require, require_int
from pacbayes.bounds.binomial import hypergeometric_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.rules import BoundInputs, Rule
from pacbayes.data.split import DISTINCT, GROUP


@dataclass(frozen=True)
class Batch:
    """Upper confidence bound on the number of wrong predictions in a batch of new rows.

    The result of `CertifiedClassifier.certify_batch`.  It does not hold jointly with the certificate.

    See Also
    --------
    Certificate : Bound on the error rate of all new examples.
    pacbayes.certificates.hypergeometric_upper : The bound behind it.

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
    With 95 % confidence over sample and batch, at most 53 of these 1000 predictions are wrong. This holds for one
    batch, not jointly with the certificate.
    """

    #: The number of new rows.
    rows: int
    #: Validation errors of the rule that predicts.
    errors: int
    #: The number of validation rows.
    m: int
    #: The level of the bound: the rule's share of delta.
    level: float
    #: Maximum probability, over sample and batch, that the bound fails.
    delta: float
    #: The number of predictions that differ from those of the certified rule; each is counted as wrong.
    not_covered: int = 0
    #: The number of rows that equal rows used in `fit`, if it can be explained by chance.
    seen: int = 0

    def __post_init__(self) -> None:
        """Validate the numbers."""
        require_int(self.rows, "Batch.rows", 0)
        require_int(self.m, "Batch.m", 1)
        require_int(self.errors, "Batch.errors", 0, self.m)
        require_int(self.not_covered, "Batch.not_covered", 0, self.rows)
        require_int(self.seen, "Batch.seen", 0, self.rows)
        check_level(self.delta)
        require(0.0 <= self.level <= self.delta, "Batch.level", "must be at most delta")

    @cached_property
    def wrong(self) -> int:
        """Bound on the number of wrong predictions, including all that are not covered."""
        tested = hypergeometric_upper(self.errors, self.m, self.rows, self.level)
        return min(tested + self.not_covered, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers for JSON.

        Examples
        --------
        >>> Batch(rows=10, errors=0, m=100, level=0.05, delta=0.05).to_dict()["wrong"]
        1
        """
        return asdict(self) | {"wrong": self.wrong}

    def __str__(self) -> str:
        return sentences.batch_text(self)

    def explain(self) -> str:
        """Describe the guarantee, its counts and its assumptions, one per line.

        Examples
        --------
        >>> print(Batch(rows=100, errors=2, m=50, level=0.045, delta=0.05, not_covered=3).explain())
        ... # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
        With 95 % confidence over sample and batch, at most 17 of these 100 predictions are wrong, counting 3 not
        covered. This holds for one batch, not jointly with the certificate.
        Exact hypergeometric bound from 2 errors on 50 validation rows, at level 0.045.
        Assumption: The rows of the batch are independent draws ...
        Assumption: ...
        """
        return sentences.batch_explained(self)


def empty_batch(plan: Plan, inputs: BoundInputs, rule: Rule) -> Batch:
    """Create an empty batch for the predictions of a rule; raise if batches cannot be certified."""
    reason = _why_not_certifiable(plan)
    if reason is None:
        # The rules share all of delta, because metrics have no bounds for a batch.
        tested = rule.validation_predictions(inputs, plan.levels_for_delta(plan.delta)[rule])
        if tested is not None:
            y_pred, level = tested
            errors = int(np.count_nonzero(y_pred != inputs.predictions.y_true))
            return Batch(0, errors, plan.split.m, level, plan.delta)
        reason = (
            f"voting={rule.voting!r} uses the weights of the {rule.name}, which were optimised on the "
            "validation rows; use voting='best'"
        )
    raise ValueError(f"certify_batch is not available: {reason}")


def _why_not_certifiable(plan: Plan) -> str | None:
    """Reason why batches cannot be certified; None if they can."""
    split = plan.split
    if split.unit == GROUP:
        return "rows of a group are dependent, so that new rows are not exchangeable with validation rows"
    if split.unit == DISTINCT:
        return "duplicates='together' counts duplicates once, but a batch may contain any number of them"
    if plan.decision is not None:
        return f"only {plan.decision!r} is certified"
    if split.kind != "shared":
        return (
            f"with split={split.kind!r} every row is a training row of some classifiers and a validation row of others"
        )
    return None
