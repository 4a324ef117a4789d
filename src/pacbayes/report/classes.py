"""Which errors: how the validation rows of every class were answered, as tables and in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import need
from pacbayes._utils.words import PLURAL, cut, format_share
from pacbayes.certificates.certificate import Missed
from pacbayes.certificates.grids import on_grid
from pacbayes.certificates.voting import POSTERIOR, vote_of_answers
from pacbayes.data.division import GROUP
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# Answers up to which there is a column for each, lines of longer tables, and sentences about single classes.
_MOST_COLUMNS, _MOST_LINES, _MOST_ERRORS, _MOST_SENTENCES = 6, 10, 6, 3
_LONGEST = 30
# Sums of weights that are no nearer to a whole number than this are means.
_WHOLE = 1e-9
# A class is rare below this share of the rows.
_RARE = 0.1


@dataclass(frozen=True, eq=False)
class Confusion:
    """Validation rows by class and answer, of the classifier that the certificate is for."""

    #: The classes, and the answers: classes first, then labels that are none.
    names: tuple[str, ...]
    answers: tuple[str, ...]
    #: Shape (classes, answers); of random choices with weights of their own, the mean over the choices.
    counts: FloatArray
    #: Rows of each class that are left unanswered; None where all are answered.
    unanswered: NDArray[np.int64] | None
    #: What the rows are called.
    rows: str

    def __post_init__(self) -> None:
        fits = (
            self.counts.shape == (len(self.names), len(self.answers)) and self.answers[: len(self.names)] == self.names
        )
        need(fits, "Confusion.counts", "must have a line for each class, and a column for each answer")

    @classmethod
    def of(cls, view: ReportView) -> "Confusion | None":
        """Count the answers; None where there is none to count."""
        plan, evidence = view.model._fitted.plan, view.model._fitted.evidence
        if uncounted(view):
            return None
        truth, answered, labels = evidence.truth.astype(np.intp), _answered(view), evidence.labels.tolist()
        if view.voting == "stochastic" and view.certificate.rule == POSTERIOR:
            chosen = np.flatnonzero(view.weights)
            tables = [_count(truth, evidence.answers[i], evidence.n_classes, len(labels)) for i in chosen]
            counts = np.tensordot(view.weights[chosen], np.array(tables), axes=1)
        else:
            counts = _count(truth[answered], _said(view)[answered], evidence.n_classes, len(labels)).astype(np.float64)
        left = None if answered.all() else np.bincount(truth[~answered], minlength=evidence.n_classes)
        names = tuple(cut(" ".join(str(one).split()), _LONGEST) for one in labels)
        unit = "rows" if plan.division.unit == GROUP else PLURAL[plan.division.unit]
        return cls(names[: evidence.n_classes], names, counts, left, unit)

    @property
    def sizes(self) -> FloatArray:
        """The validation rows of every class."""
        return np.asarray(self.answered + (0 if self.unanswered is None else self.unanswered))

    @property
    def answered(self) -> FloatArray:
        """Those of them that are answered."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def missed(self) -> FloatArray:
        """Those of them that get the answer of another class."""
        return np.asarray(self.answered - np.diagonal(self.counts))

    @property
    def by_class(self) -> TextTable:
        """What is missed of every class; of many classes those of which the most is."""
        order = np.arange(len(self.names))
        if order.size > _MOST_LINES:
            order = np.argsort(-self.missed, kind="stable")[:_MOST_LINES]
        columns = {
            "class": [self.names[i] for i in order],
            f"validation {self.rows}": [format_count(self.sizes[i]) for i in order],
            "answered": [format_count(self.answered[i]) for i in order],
            "missed": [format_count(self.missed[i]) for i in order],
            "share missed": [
                format_share(self.missed[i] / self.answered[i]) if self.answered[i] else "–" for i in order
            ],
        }
        if self.unanswered is None:
            del columns["answered"]
        notes = [f"Of {len(self.names)} classes the {order.size} with the most missed."] * (
            order.size < len(self.names)
        )
        notes += ["Means over the random choices."] * bool((np.abs(self.counts - np.rint(self.counts)) > _WHOLE).any())
        rows = list(zip(*columns.values(), strict=True))
        return TextTable("What is missed", tuple(columns), rows, " ".join(notes))

    @property
    def table(self) -> TextTable:
        """Classes against answers; of many the most frequent errors."""
        title = "Which answers are given"
        if len(self.answers) > _MOST_COLUMNS:
            wrong = self.counts * (np.arange(self.counts.shape[1]) != np.arange(len(self.names))[:, None])
            places = [
                np.unravel_index(k, wrong.shape) for k in np.argsort(-wrong, axis=None, kind="stable")[:_MOST_ERRORS]
            ]
            rows = [(self.names[i], self.answers[j], format_count(wrong[i, j])) for i, j in places if wrong[i, j] > 0]
            return TextTable(title, ("true class", "answer", self.rows), rows, "The most frequent errors.")
        lines = [
            (name, *map(format_count, line), *([] if self.unanswered is None else [format_count(self.unanswered[i])]))
            for i, (name, line) in enumerate(zip(self.names, self.counts, strict=True))
        ]
        columns = ("true class", *(f"answer {name}" for name in self.answers))
        return TextTable(title, columns if self.unanswered is None else (*columns, "not answered"), lines)

    def warnings(self, bound: float) -> list[str]:
        """Return what a bound of all errors hides: classes that are mostly missed, or that no row has."""
        sizes, total = self.sizes, float(self.sizes.sum())
        found = []
        counts = zip(self.answered.tolist(), self.missed.tolist(), strict=True)
        hidden = [Missed(None, rows, missed).misleads(bound) for rows, missed in counts]
        for i in np.flatnonzero(hidden | (sizes == 0)):
            name = f"Class {self.names[i]}"
            if sizes[i] == 0:
                found.append(f"{name} has no validation row: nothing is known of its errors.")
                continue
            rare = "rare and " if sizes[i] < _RARE * total else ""
            found.append(
                f"{name} is {rare}often missed: {format_count(self.missed[i])} of its "
                f"{format_count(self.answered[i])} validation {self.rows} get another answer."
            )
        more = len(found) - _MOST_SENTENCES
        return [*found[:_MOST_SENTENCES], *([f"So it is with {more} more classes."] if more > 0 else [])]


def uncounted(view: ReportView) -> str:
    """Say why no answers can be counted by class; empty where they can."""
    if view.certificate.answered is not None and not view.certificate.answered.passed:
        return "It answers nothing."
    if view.model._fitted.plan.division.shared is None:
        return "Not known: no row validated all classifiers, so that their common answers were not counted."
    return ""


def format_count(count: Any) -> str:
    """Return a number of rows; a mean has one decimal.

    Examples
    --------
    >>> format_count(3.0), format_count(2.26)
    ('3', '2.3')
    """
    return str(round(count)) if abs(count - round(count)) <= _WHOLE else f"{count:.1f}"


def _count(truth: NDArray[np.intp], said: NDArray[Any], classes: int, labels: int) -> NDArray[np.int64]:
    places = truth * labels + said.astype(np.intp)
    return np.bincount(places, minlength=classes * labels).reshape(classes, labels).astype(np.int64)


def _said(view: ReportView) -> NDArray[Any]:
    """Return what the classifier of the certificate said of the validation rows, in numbers of labels."""
    fitted, found = view.model._fitted, view.certificate
    plan, evidence = fitted.plan, fitted.evidence
    rule = fitted.certificates.rule(view.voting)
    if found.reached is not None and found.reached.passed:
        assert evidence.scores is not None
        code = evidence.code_of(found.reached.positive)
        probable = on_grid(evidence.scores[plan.planned.index(plan.soft)]) >= found.reached.threshold
        return np.where(probable, code, 1 - code)
    tested = rule.tested(fitted.certificates.case, 0.0)
    if tested is not None:
        return np.asarray(tested[0])
    weights = fitted.weights(view.voting)
    return vote_of_answers(weights, evidence.answers, evidence.labels)


def _answered(view: ReportView) -> NDArray[np.bool_]:
    """Return which validation rows are answered."""
    plan, evidence, answered = view.model._fitted.plan, view.model._fitted.evidence, view.certificate.answered
    if answered is None:
        return np.ones(evidence.truth.size, dtype=np.bool_)
    assert evidence.scores is not None
    assert answered.threshold is not None
    return np.asarray(on_grid(evidence.scores[plan.planned.index(plan.proposals[view.voting])]) >= answered.threshold)
