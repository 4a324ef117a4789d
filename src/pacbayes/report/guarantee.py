"""What is guaranteed, what must hold for it, and which errors the validation rows showed, in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray
from pacbayes._utils.words import PLURAL, cut, failure, format_share, percent_up
from pacbayes.certificates.certificate import CONSTANT, Baseline, Missed
from pacbayes.certificates.grids import on_grid
from pacbayes.certificates.sentences import format_label
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
# What must be true of what was drawn, and what breaks it, by what was counted.
_DRAWN = {
    "example": (
        "The rows are independent, and new examples are of the same kind.",
        "Time series, several rows of one person, copies, rows picked by hand or a world that has changed break this.",
    ),
    "group": (
        "The groups are independent, and new groups are of the same kind.",
        "One person in two groups, groups of one family or hospital, groups picked by hand or a world that has changed "
        "break this. Every group counts once, whatever its size.",
    ),
}
_COPIED = "Equal rows were taken as copies of one another and counted once."
_DRAWN["distinct example"] = (_DRAWN["example"][0], f"{_DRAWN['example'][1]} {_COPIED}")
_BY_HAND = ("The labels had no part in dividing the rows.", "The user divided them: by time, by place, by a file.")
_USED = ("What is used is what was certified.", "A model trained anew, another threshold or overruled answers are not.")
_COVERED = ("Only answers that are covered count.", "Of all others nothing is guaranteed.")
_ALWAYS = (
    (
        "No classifier learned from the rows that count its errors.",
        "Scaling, filling gaps, choosing columns or balancing classes on all rows breaks this, and no number shows it.",
    ),
    (
        "Everything was fixed before results were seen:",
        "the list of classifiers, settings, the random seed. Trying several and keeping the best voids the guarantee.",
    ),
)
_LABELS = ("The labels are what counts.", "An error is an answer that differs from the label, right or wrong.")


def who_answers(view: ReportView) -> str:
    """Describe the way of predicting in a sentence."""
    number, some, reached = len(view.classifiers), int(np.count_nonzero(view.model.weights_)), view.certificate.reached
    if some == 1:
        who = "A single classifier" if number == 1 else f"One classifier, number {view.only_classifier} of {number},"
        if not view.by_probabilities:
            return f"{who} gives all answers."
    else:
        who = f"All {number} classifiers" if some == number else f"{some} of {number} classifiers"
    if view.by_probabilities:
        decides = f"the class with the largest {'probability' if some == 1 else 'mean'} is the answer"
        if reached is not None and reached.passed:
            decides = f"the answer is {format_label(reached.positive)} where that is at least {reached.shown}"
        return f"{who} {'says' if some == 1 else 'say'} how probable each class is; {decides}."
    if view.voting == "majority":
        return f"{who} vote, and the class with the most weight behind it is the answer."
    return f"For every new example one of {some} classifiers, chosen at random by fixed weights, gives the answer."


def facts(view: ReportView) -> list[str]:
    """List the sentences below the statement: the way of predicting, and what the validation rows showed."""
    certificate = view.certificate
    refit = "It was trained once more on all rows. An answer is covered where the certified classifier gives it too."
    # Warnings of their own stand above.
    warnings = (certificate.not_better, str(certificate.often_missed))
    seen = [line for line in certificate.lines[1:] if line not in warnings]
    some = certificate.answered is not None and certificate.answered.passed
    share = "How many new examples it answers is not guaranteed."
    return [who_answers(view), *([refit] if certificate.refit else []), *seen, *([share] if some else [])]


def observed(view: ReportView) -> str:
    """Describe the errors on test rows, if any."""
    test = view.observed
    if test is None:
        return ""
    errors, rows = test.among_answered(view.voting)
    if view.certificate.answered is not None:
        wrong = f", and erred {errors} times on these ({format_share(errors / rows)})" if rows else ""
        text = f"Of {test.rows} test rows it answered {rows} ({format_share(rows / test.rows)}){wrong}."
    else:
        covered = "" if test.covered is None else f", {test.covered} times with a covered answer"
        text = f"On {test.rows} test rows it erred {errors} times ({format_share(errors / test.rows)}){covered}."
    return f"{text} That is an observation, not part of the guarantee."


def must_hold(view: ReportView) -> list[tuple[str, str]]:
    """List the assumptions in short, each with what would break it."""
    unlucky = f"Even so the statement is false for up to {failure(view.certificate.delta)} of samples."
    run = "It is about the long run: among a few new examples there may be more errors."
    return [
        _DRAWN[view.certificate.unit],
        *([_BY_HAND] if view.plan.division.own else []),
        *_ALWAYS,
        _COVERED if view.certificate.refit else _USED,
        _LABELS,
        ("The sample was not unlucky.", f"{unlucky} {run}"),
    ]


def compared(view: ReportView) -> dict[str, Baseline]:
    """Return the certificate of the model, first, beside what simpler methods guarantee from the same rows."""
    certificate = view.certificate
    label = "this model, wrong and covered" if certificate.refit else "this model"
    who = "proposed beforehand" if view.plan.division.trained_elsewhere else "chosen by cross-validation"
    others = view.model.certificates_["best"].baselines
    return {
        label: Baseline(min(certificate.bound, 1.0), view.validation_risk(view.voting), who_answers(view)),
        f"one classifier, {who} (hold-out)": others["hold-out"],
        "always the most frequent class": others[CONSTANT],
    }


def most(one: Baseline) -> str:
    """Return a bound as a percentage, rounded up, or say that there is none."""
    return "not available" if one.bound is None else percent_up(one.bound)


@dataclass(frozen=True, eq=False)
class Confusion:
    """Validation rows by class and answer, of the classifier that the certificate is for."""

    #: The answers: the classes first, then labels that are none.
    answers: tuple[str, ...]
    #: Shape (classes, answers); of random choices with weights of their own, the mean over the choices.
    counts: FloatArray
    #: Rows of each class that are left unanswered; None where all are answered.
    unanswered: NDArray[np.int64] | None = None
    #: What the rows are called.
    rows: str = "rows"

    @classmethod
    def of(cls, view: ReportView) -> "Confusion | None":
        """Count the answers; None where there is none to count."""
        if uncounted(view):
            return None
        evidence, unit = view.model._fitted.evidence, view.plan.division.unit
        truth, answered, labels = evidence.truth.astype(np.intp), _answered(view), evidence.labels.tolist()

        def count(codes: NDArray[Any]) -> NDArray[np.int64]:
            places = (truth * len(labels) + codes)[answered]
            return np.bincount(places, minlength=evidence.n_classes * len(labels)).reshape(-1, len(labels))

        if view.voting == "stochastic" and view.certificate.rule == POSTERIOR:
            chosen = np.flatnonzero(view.weights)
            counts = np.asarray(sum(view.weights[i] * count(evidence.answers[i]) for i in chosen))
        else:
            counts = count(_predicted(view)).astype(np.float64)
        left = None if answered.all() else np.bincount(truth[~answered], minlength=evidence.n_classes)
        names = tuple(cut(" ".join(str(one).split()), _LONGEST) for one in labels)
        return cls(names, counts, left, "rows" if unit == GROUP else PLURAL[unit])

    @property
    def _by_class(self) -> list[tuple[str, float, float, float]]:
        """The name of every class, its rows, those of them that are answered, and those that get another answer."""
        answered = self.counts.sum(axis=1)
        sizes = answered + (0 if self.unanswered is None else self.unanswered)
        missed = answered - np.diagonal(self.counts)
        return list(zip(self.answers, sizes.tolist(), answered.tolist(), missed.tolist(), strict=False))

    @property
    def by_class(self) -> TextTable:
        """What is missed of every class; of many classes those of which the most is."""
        shown, notes = self._by_class, []
        if len(shown) > _MOST_LINES:
            shown = sorted(shown, key=lambda one: -one[3])[:_MOST_LINES]
            notes.append(f"Of {len(self.counts)} classes the {_MOST_LINES} with the most missed.")
        if (np.abs(self.counts - np.rint(self.counts)) > _WHOLE).any():
            notes.append("Means over the random choices.")
        rows = []
        for name, size, answered, missed in shown:
            row = {"class": name, f"validation {self.rows}": format_count(size), "answered": format_count(answered)}
            if self.unanswered is None:
                del row["answered"]
            share = format_share(missed / answered) if answered else "–"
            rows.append(row | {"missed": format_count(missed), "share missed": share})
        return TextTable.of("What is missed", rows, " ".join(notes))

    @property
    def table(self) -> TextTable:
        """Classes against answers; of many the most frequent errors."""
        title, names = "Which answers are given", self.answers
        if len(names) > _MOST_COLUMNS:
            wrong = self.counts.copy()
            np.fill_diagonal(wrong, 0.0)
            order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_ERRORS]
            places = [np.unravel_index(k, wrong.shape) for k in order]
            cells = [(names[i], names[j], format_count(wrong[i, j])) for i, j in places if wrong[i, j] > 0]
            return TextTable(title, ("true class", "answer", self.rows), cells, "The most frequent errors.")
        # Of two labels that are written alike each has its column.
        columns, counts = ["true class", *(f"answer {name}" for name in names)], self.counts
        if self.unanswered is not None:
            columns.append("not answered")
            counts = np.column_stack([counts, self.unanswered])
        rows = [(name, *map(format_count, line)) for name, line in zip(names, counts.tolist(), strict=False)]
        return TextTable(title, tuple(columns), rows)

    def warnings(self, bound: float) -> list[str]:
        """List classes that are mostly missed, or that no row has: a bound of all errors hides them."""
        total, sentences = sum(size for _, size, *_ in self._by_class), []
        for name, size, answered, missed in self._by_class:
            if size == 0:
                sentences.append(f"Class {name} has no validation row: nothing is known of its errors.")
            elif Missed(None, answered, missed).misleads(bound):
                rare = "rare and " if size < _RARE * total else ""
                rows = f"{format_count(missed)} of its {format_count(answered)} validation {self.rows}"
                sentences.append(f"Class {name} is {rare}often missed: {rows} get another answer.")
        more = len(sentences) - _MOST_SENTENCES
        return [*sentences[:_MOST_SENTENCES], *([f"So it is with {more} more classes."] if more > 0 else [])]


def uncounted(view: ReportView) -> str:
    """Explain why no answers can be counted by class; empty where they can."""
    if view.certificate.answered is not None and not view.certificate.answered.passed:
        return "It answers nothing."
    if view.plan.division.shared is None:
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


def _predicted(view: ReportView) -> NDArray[Any]:
    """Predictions of the certified classifier for the validation rows, in numbers of labels."""
    fitted, certificate, plan = view.model._fitted, view.certificate, view.plan
    evidence = fitted.evidence
    if certificate.reached is not None and certificate.reached.passed:
        assert evidence.scores is not None
        code = evidence.code_of(certificate.reached.positive)
        probable = on_grid(evidence.scores[plan.planned.index(plan.soft)]) >= certificate.reached.threshold
        return np.where(probable, code, 1 - code)
    tested = fitted.certificates.rule(view.voting).tested(fitted.certificates.case, 0.0)
    if tested is not None:
        return np.asarray(tested[0])
    return vote_of_answers(fitted.weights(view.voting), evidence.answers, evidence.labels)


def _answered(view: ReportView) -> BoolArray:
    """Mask of the validation rows that are answered."""
    evidence, answered = view.model._fitted.evidence, view.certificate.answered
    if answered is None:
        return np.ones(evidence.truth.size, dtype=np.bool_)
    assert evidence.scores is not None
    assert answered.threshold is not None
    proposed = view.plan.planned.index(view.plan.proposals[view.voting])
    return np.asarray(on_grid(evidence.scores[proposed]) >= answered.threshold)
