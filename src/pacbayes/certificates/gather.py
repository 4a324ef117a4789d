"""The first, and in a fit the only, place that asks about validation rows: each classifier about each of them, once.

With a target it asks a second question: how sure the proposed vote is.
"""

from dataclasses import replace

import numpy as np

from pacbayes.certificates.plan import Plan
from pacbayes.certificates.target import confidence
from pacbayes.certificates.voting import said_of, weights_of
from pacbayes.classifiers.evidence import Evidence, observe
from pacbayes.classifiers.members import Members
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows


def gather(members: Members, plan: Plan, data: Labelled, n_jobs: int | None = None) -> Evidence:
    """Ask every classifier about every row that validates it, once, and note what every planned rule makes of it.

    A rule is planned only where all classifiers share their validation rows.
    """
    evidence = observe(members, data, plan.division, n_jobs)
    if not plan.planned:
        return evidence
    rows = plan.division.validating
    said = np.stack(list(said_of(plan.planned, evidence.answers, evidence.labels, data.hashes(plan.key)[rows])))
    evidence = replace(evidence, said=said.astype(evidence.answers.dtype))
    if plan.max_error is None:
        return evidence
    # Of the proposed vote, whatever the way of predicting: any score is valid that the training rows fixed.
    weights = plan.planned[plan.proposal("majority")].weights
    assert weights is not None
    scores = members.scores(members.prepared(pick_rows(data.rows, rows)), weights_of(weights))
    return replace(evidence, scores=np.stack([confidence(scores, one) for one in said]))
