"""The hold-out baseline: one classifier chosen by cross-validation within the training rows, then validated once."""

from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.limits import upper_limits
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation, candidates_of
from pacbayes.classifiers.params import format_params

# Why there is none.
NOT_SHARED = "every row validates some classifier"
NOT_ASKED = "cv=None: not asked for"
NOT_PROPOSED = "no classifier was proposed beforehand"


def hold_out(classifiers: ClassifierSet, found: CrossValidation | None, chosen: int | None, delta: float) -> Baseline:
    """Return the baseline for the classifier chosen within the training rows; None where none was."""
    assert classifiers.splits is not None
    elsewhere = classifiers.splits.trained_elsewhere
    if chosen is None or (found is None and not elsewhere):
        shared = NOT_PROPOSED if elsewhere else NOT_ASKED
        return Baseline(None, None, shared if classifiers.splits.kind == "shared" else NOT_SHARED)
    bound = float(upper_limits(classifiers.counted[chosen : chosen + 1], classifiers.m, delta)[0])
    named = f"classifier {chosen} ({format_params(classifiers.params[chosen])})"
    if found is None:
        return Baseline(bound, float(classifiers.risks[chosen]), f"{named}, proposed beforehand")
    # Files of early versions do not tell which took part; there were as many as are asked where each costs a fit.
    number = max(found.candidates.size, candidates_of(len(classifiers)).size)
    among = f"all {number}" if number == len(classifiers) else f"{number} of {len(classifiers)}"
    note = f"{named}, chosen among {among} by {found.sizes.size}-fold cross-validation within the training rows"
    return Baseline(bound, float(classifiers.risks[chosen]), note)
