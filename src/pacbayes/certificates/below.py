"""The classifiers of a set that are certified to be good enough, so that any of them may be taken."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import check_number, check_numbers
from pacbayes._utils.words import OF_NEW, format_params, percent_down, percent_up
from pacbayes.certificates.levels import occam_levels
from pacbayes.certificates.limits import lower_of, plain
from pacbayes.certificates.risks import check_compared
from pacbayes.data.division import GROUP
from pacbayes.ensemble.classifier_set import ClassifierSet


@dataclass(frozen=True)
class CertifiedMember:
    """One classifier of a set with a limit that holds at once with those of all others.

    See Also
    --------
    pacbayes.CertifiedClassifier.certified_below : Returns these.

    Examples
    --------
    >>> print(CertifiedMember(3, {"max_depth": 2}, 0.0481, 0.02))
    classifier 3 (max_depth = 2): errs on at most 4.9 % of new examples
    """

    #: Its number: ``classifiers_[index]`` is the fitted classifier.
    index: int
    #: Its parameters.
    params: dict[str, Any]
    #: Its risk is at most this; rounded up.
    bound: float
    #: Its share of validation errors.
    empirical_risk: float
    #: What it costs, None where nobody said.
    cost: float | None = None
    #: What was drawn, and what the shares are of: "example", "distinct example" (copies count once) or "group".
    unit: str = "example"
    #: Where its recall was asked about, and `bound` is a lower limit of it: of which class.
    of: Any = None

    def __str__(self) -> str:
        costs = "" if self.cost is None else f", at a cost of {self.cost:g}"
        named = f"classifier {self.index} ({format_params(self.params)})"
        if self.of is not None:
            return f"{named}: finds at least {percent_down(self.bound)} of class {self.of!r}{costs}"
        return f"{named}: errs on at most {percent_up(self.bound)} of {OF_NEW[self.unit]}{costs}"


def members_below(
    classifiers: ClassifierSet,
    target: float,
    cost: ArrayLike | Callable[[Any], float] | None,
    delta: float,
    prior: FloatArray | None,
    risk: str = "error",
    pos_label: Any = None,
) -> list[CertifiedMember]:
    """Return the classifiers whose limit at delta times their prior weight is at most a target, the cheapest first.

    With ``risk="recall"`` those whose recall of a class has a lower limit of at least the target.

    Examples
    --------
    >>> labels = np.zeros(100, dtype=int)
    >>> said = np.array([np.arange(100) < errors for errors in (0, 1, 20)]).astype(int)
    >>> found = members_below(ClassifierSet.from_predictions(said, labels), 0.09, [3.0, 1.0, 0.5], 0.05, None)
    >>> [(one.index, round(one.bound, 4), one.cost) for one in found]
    [(1, 0.059, 1.0), (0, 0.0401, 3.0)]
    """
    most = check_number("target", target, "a number between 0 and 1")
    if not 0.0 <= most <= 1.0:
        raise ValueError(f"target must lie in [0, 1] (a share, such as 0.05), got {target!r}")
    levels, of = occam_levels(len(classifiers), delta, prior), None
    if check_compared(risk, pos_label):
        of = plain(pos_label)
        limits, risks = _recalls(classifiers, of, levels)
        below, better = np.flatnonzero(limits >= most), -limits
    else:
        limits, risks = classifiers.counted.upper(levels), classifiers.risks
        below, better = np.flatnonzero(limits <= most), limits
    costs = _costs(classifiers, cost, below)
    order = np.lexsort((better[below], np.zeros(below.size) if costs is None else costs))
    return [
        CertifiedMember(
            int(i),
            classifiers.params[i],
            float(limits[i]),
            float(risks[i]),
            None if costs is None else float(costs[place]),
            classifiers.unit,
            of,
        )
        for place, i in ((place, below[place]) for place in order.tolist())
    ]


def _recalls(classifiers: ClassifierSet, of: Any, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower limits of the recall of a class, and the share of its rows that each classifier misses."""
    evidence = classifiers.evidence
    if evidence is None or classifiers.unit == GROUP:
        raise ValueError("risk='recall' needs answers to independent rows: neither groups nor losses have a class each")
    names = [plain(name) for name in evidence.classes]
    if of not in names:
        raise ValueError(f"pos_label must be one of the classes {names}, got {of!r}")
    mine = evidence.truth == evidence.code_of(of)
    answers = evidence.answers[:, mine]
    rows = np.count_nonzero(answers != evidence.absent, axis=1)
    missed = rows - np.count_nonzero(answers == evidence.code_of(of), axis=1)
    limits = [
        lower_of(n - k, n, level) for k, n, level in zip(missed.tolist(), rows.tolist(), levels.tolist(), strict=True)
    ]
    return np.array(limits), np.where(rows > 0, missed / np.maximum(rows, 1), 0.0)


def _costs(classifiers: ClassifierSet, cost: Any, below: Any) -> FloatArray | None:
    """Return the costs of some classifiers, or raise."""
    if cost is None:
        return None
    if callable(cost):
        found = check_numbers("cost", [cost(classifiers[int(i)]) for i in below])
    else:
        given = check_numbers("cost", cost)
        if given.shape != (len(classifiers),):
            raise ValueError(
                f"cost must be a number for each of {len(classifiers)} classifiers, got shape {given.shape}"
            )
        found = given[below]
    if np.isnan(found).any():
        raise ValueError("cost must be a number for every classifier, got nan")
    return found
