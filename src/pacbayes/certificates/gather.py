"""The first, and in a fit the only, place that asks about validation rows: each classifier about each of them, once.

Those that have a part in a soft vote are asked a second question: how sure they are.
"""

from dataclasses import replace

import numpy as np

from pacbayes.certificates.plan import Plan
from pacbayes.certificates.target import confidence
from pacbayes.certificates.voting import PROPOSAL, SOFT, Rule, said_of, soft_confidences, soft_shares
from pacbayes.classifiers.evidence import Evidence, observe
from pacbayes.classifiers.members import Members
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows
from pacbayes.numeric.arrays import FloatArray


def gather(members: Members, plan: Plan, data: Labelled, n_jobs: int | None = None) -> Evidence:
    """Ask every classifier about every row that validates it, once, and note what every planned rule makes of it.

    A rule is planned only where all classifiers share their validation rows.
    """
    evidence = observe(members, data, plan.division, n_jobs)
    if not plan.planned:
        return evidence
    rows = plan.division.validating
    shares = _soft_shares(members, plan, data)
    planned = said_of(
        plan.planned, evidence.answers, evidence.labels, data.hashes(plan.key)[rows], lambda rule: shares[rule]
    )
    said = np.stack(list(planned))
    evidence = replace(evidence, said=said.astype(evidence.answers.dtype))
    if plan.max_error is None:
        return evidence
    # Of the soft vote, whatever the way of predicting: any score is valid that the training rows fixed.
    rule = plan.planned[plan.place(SOFT, PROPOSAL)]
    assert rule.soft is not None
    scores = soft_confidences(rule.soft, shares[rule], int(data.classes.size))
    return replace(evidence, scores=np.stack([confidence(scores, one) for one in said]))


def _soft_shares(members: Members, plan: Plan, data: Labelled) -> dict[Rule, FloatArray]:
    """Return the mean probabilities of every planned soft vote for the validation rows."""
    soft = [rule for rule in plan.planned if rule.soft is not None]
    if not soft:
        return {}
    prepared = members.prepared(pick_rows(data.rows, plan.division.validating))
    return {rule: soft_shares(rule, members, prepared) for rule in soft}
