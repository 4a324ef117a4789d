"""What a certificate is compared with: one classifier chosen within the training rows, always the same answer.

The third, the best of all single classifiers, is in levels.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.words import format_params
from pacbayes.bounds.bets import USUAL_BET, bet_upper
from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.plan import Plan
from pacbayes.ensemble.cross_validation import candidates_of
from pacbayes.ensemble.evidence import Counted, Evidence, unit_losses

# Why there is no hold-out.
NOT_SHARED = "every row validates some classifier"
NOT_ASKED = "cv=None: not asked for"
NOT_PROPOSED = "no classifier was proposed beforehand"
# Longer names of classes are cut.
_LONGEST = 40


def most_frequent(train: ArrayLike, validation: ArrayLike) -> tuple[Any, int]:
    """Return the label most frequent in training, the first of several, and the validation labels that are another.

    Examples
    --------
    >>> most_frequent(["no", "yes", "no"], ["no", "no", "yes", "no"])
    ('no', 1)
    """
    labels, counts = np.unique(np.asarray(train), return_counts=True)
    label = labels[np.argmax(counts)]
    errors = int(np.count_nonzero(np.asarray(validation) != label))
    return (label.item() if isinstance(label, np.generic) else label), errors


def constant_baseline(label: Any, counted: Counted, delta: float) -> Baseline:
    """Return what always answering `label` errs on: the share of errors on validation rows, and its upper limit.

    The label must be chosen before any of these rows is seen, as `most_frequent` does.  Then it is one classifier, and
    its limit (exact, of groups Chernoff's) holds at the whole level `delta`.

    Examples
    --------
    >>> print(constant_baseline("no", Counted(np.array([[6]]), None, 1000), 0.05))
    at most 1.2 % (0.60 % of the validation rows): majority class of the training rows ('no')
    """
    note = f"majority class of the training rows ({format_label(label)})"
    return Baseline(float(counted.upper(delta)[0]), float(counted.risks[0]), note)


def no_skill(plan: Plan, evidence: Evidence) -> Baseline:
    """Return what always answering the most frequent training label errs on, on the first classifier's rows."""
    if plan.no_skill is None:
        return Baseline(None, None, "the training rows are not here")
    counted = evidence.count_constant(evidence.code_of(plan.no_skill), plan.division)
    baseline = constant_baseline(plan.no_skill, counted, plan.delta)
    wrong = evidence.truth != evidence.code_of(plan.no_skill)
    if plan.bet is None:
        return baseline
    # Compared with limits by bets it must not look worse than it is: Chernoff's limit is smaller where many groups err,
    # that of a bet where few do.  Each has half of delta.
    half = 0.5 * plan.delta
    by_bet = _by_bet(baseline, wrong, plan, USUAL_BET, half)
    return replace(by_bet, bound=min(by_bet.bound or 1.0, float(counted.upper(half)[0])))


def _by_bet(baseline: Baseline, wrong: NDArray[np.bool_], plan: Plan, bet: float, level: float) -> Baseline:
    """Return the baseline of a classifier that gets these rows wrong, with the limit of a bet on groups."""
    losses = unit_losses(wrong.astype(np.float64), plan.division)
    return replace(baseline, bound=bet_upper(losses, bet, level))


def hold_out(plan: Plan, evidence: Evidence, counted: Counted, params: Sequence[dict[str, Any]]) -> Baseline:
    """Return the baseline for the classifier chosen within the training rows; `counted` are the errors of all."""
    baseline = _hold_out(plan, counted, params)
    if plan.bet is None or plan.hold_out is None:
        return baseline
    return _by_bet(baseline, evidence.answers[plan.hold_out] != evidence.truth, plan, plan.bet, plan.delta)


def _hold_out(plan: Plan, counted: Counted, params: Sequence[dict[str, Any]]) -> Baseline:
    found, elsewhere, chosen = plan.cross_validation, plan.division.trained_elsewhere, plan.hold_out
    if chosen is None:
        shared = NOT_PROPOSED if elsewhere else NOT_ASKED
        return Baseline(None, None, shared if plan.division.kind == "shared" else NOT_SHARED)
    own = counted[chosen]
    bound, risk = float(own.upper(plan.delta)[0]), float(own.risks[0])
    named = f"classifier {chosen} ({format_params(params[chosen])})"
    if found is None:
        return Baseline(bound, risk, f"{named}, proposed beforehand")
    number = max(found.candidates.size, candidates_of(len(counted)).size)
    among = f"all {number}" if number == len(counted) else f"{number} of {len(counted)}"
    note = f"{named}, chosen among {among} by {found.sizes.size}-fold cross-validation within the training rows"
    return Baseline(bound, risk, note)


def format_label(label: Any) -> str:
    """Return a label as it is written in a sentence.

    Examples
    --------
    >>> format_label("no"), format_label(np.int64(1)), len(format_label("x" * 500))
    ("'no'", '1', 41)
    """
    text = repr(label.item() if isinstance(label, np.generic) else label)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
