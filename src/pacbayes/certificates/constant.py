"""The least a classifier has to beat: always answering the class that is most frequent among the training rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.limits import risks_of, upper_limits
from pacbayes.classifiers.group_errors import GroupErrors

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


def constant_baseline(
    label: Any, errors: int | GroupErrors, m: int, delta: float, whose: str = "the training rows"
) -> Baseline:
    """Return what always answering `label` errs on: the share of errors on `m` validation rows, and its upper limit.

    The label must be chosen before any of these rows is seen, as `most_frequent` does.  Then it is one classifier, and
    its limit (exact, of groups Chernoff's) holds at the whole level `delta`.

    Examples
    --------
    >>> print(constant_baseline("no", 6, 1000, 0.05))
    at most 1.2 % (0.6 % of the validation rows): always answering 'no', the class most frequent among the training rows
    """
    counted = errors if isinstance(errors, GroupErrors) else np.array([errors])
    return Baseline(
        float(upper_limits(counted, m, delta)[0]),
        float(risks_of(counted, m)[0]),
        f"always answering {format_label(label)}, the class most frequent among {whose}",
    )


def format_label(label: Any) -> str:
    """Return a label as it is written in a sentence.

    Examples
    --------
    >>> format_label("no"), format_label(np.int64(1)), len(format_label("x" * 500))
    ("'no'", '1', 41)
    """
    text = repr(label.item() if isinstance(label, np.generic) else label)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
