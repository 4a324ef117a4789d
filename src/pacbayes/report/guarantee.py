"""What is guaranteed and what must hold for it, in words, and what other methods guarantee from the same data."""

from dataclasses import dataclass

import numpy as np

from pacbayes._utils.words import PLURAL, failure, format_share, percent_up
from pacbayes.certificates.certificate import CONSTANT
from pacbayes.certificates.decisions import Answered
from pacbayes.certificates.sentences import format_label, format_target
from pacbayes.certificates.voting import OCCAM, POSTERIOR, SOFT
from pacbayes.data.division import GROUP
from pacbayes.report.tables import format_bound
from pacbayes.report.view import ReportView

# What must be true of what was drawn, and how it fails, by what was counted.
_DRAWN = {
    "example": (
        "The rows are independent, and new examples are of the same kind.",
        "Rows that follow one another in time, several rows of one person, copies, rows picked by hand, a world that "
        "has changed since: then it does not hold.",
    ),
    "group": (
        "The groups are independent, and new groups are of the same kind.",
        "One person in two groups, groups of one family or hospital, groups picked by hand, a world that has changed "
        "since: then it does not hold. Every group counts once, whatever its size.",
    ),
}
_DRAWN["distinct example"] = (
    _DRAWN["example"][0],
    f"{_DRAWN['example'][1]} Equal rows were taken as copies of one another and counted once.",
)


def who_answers(view: ReportView) -> str:
    """Say in a sentence what gives the answers."""
    number, some, reached = len(view.classifiers), int(np.count_nonzero(view.model.weights_)), view.certificate.reached
    if some == 1:
        who = "A single classifier" if number == 1 else f"One classifier, number {view.only_classifier} of {number},"
        if not view.by_probabilities:
            return f"{who} gives all answers."
    else:
        every = "Both" if number == 2 else f"All {number}"
        who = f"{every if some == number else f'{some} of {number}'} classifiers"
    if view.by_probabilities:
        decides = f"the class with the largest {'probability' if some == 1 else 'mean'} is the answer"
        if reached is not None and reached.passed:
            decides = f"the answer is {format_label(reached.positive)} where that is at least {reached.shown}"
        return f"{who} {'says' if some == 1 else 'say'} how probable each class is; {decides}."
    if view.voting == "majority":
        return f"{who} vote, and the class with the most weight behind it is the answer."
    return f"For every new example one of {some} classifiers, chosen at random by fixed weights, gives the answer."


def facts(view: ReportView) -> list[str]:
    """Return what stands below the statement: what answers, and what was counted."""
    found = [who_answers(view)]
    if view.certificate.refit:
        found.append(
            "It was trained once more on all rows. An answer is covered where the classifier that was certified gives "
            "it too; of other answers nothing is guaranteed."
        )
    return [one for one in (*found, _counted(view)) if one]


def _counted(view: ReportView) -> str:
    """Say what was seen on how many rows."""
    found, unit = view.certificate, PLURAL[view.certificate.unit]
    untouched = "which trained nothing" if view.is_shared else "drawn for each classifier, which did not train it"
    if found.refit:
        untouched = "which did not train the certified classifier"
    rows = f"{found.m} validation {unit}, {untouched}"
    risk, answered = view.validation_risk(view.voting), found.answered
    if found.reached is not None:
        return f"Counted on {rows}. {found.reached.observed}".rstrip()
    if answered is not None and answered.passed:
        return (
            f"Of {rows}, it answered {answered.rows} ({format_share(answered.share)}), {answered.errors} of them "
            "wrong. How many new examples it answers is not guaranteed."
        )
    if answered is not None and answered.smallest_target is not None:
        least = format_target(answered.smallest_target)
        return f"Counted on {rows}. At most {least} would have been reached, which is information and no guarantee."
    if risk is None:
        return f"Counted on {rows}."
    who = "the certified classifier" if found.refit else "it"
    if found.unit == GROUP:
        return f"In {rows}, {who} answered {format_share(risk)} of the rows of a group wrong, on average."
    if not view.is_shared or (view.voting == "stochastic" and found.rule == POSTERIOR):
        return f"Of {rows}, {who} answered {format_share(risk)} wrong, on average."
    return f"Of {rows}, {who} answered {round(risk * found.m)} wrong ({format_share(risk)})."


def observed(view: ReportView) -> str:
    """Say what happened on test rows, if any."""
    seen = view.observed
    if seen is None:
        return ""
    errors, rows = seen.among_answered[view.voting]
    if view.certificate.answered is not None:
        wrong = f", and erred {errors} times on these ({format_share(errors / rows)})" if rows else ""
        said = f"Of {seen.rows} test rows it answered {rows} ({format_share(rows / seen.rows)}){wrong}."
    else:
        covered = "" if seen.covered is None else f", {seen.covered} times with a covered answer"
        said = f"On {seen.rows} test rows it erred {errors} times ({format_share(errors / seen.rows)}){covered}."
    return f"{said} That is an observation, not part of the guarantee."


def must_hold(view: ReportView) -> list[tuple[str, str]]:
    """Return what the guarantee rests on: in short, and what would break it."""
    used = (
        "What is used is what was certified.",
        "A model trained anew elsewhere, another threshold or answers overruled by hand are not covered.",
    )
    if view.certificate.refit:
        used = (
            "Only answers that are covered count.",
            "Of an answer that the certified classifier does not give too, nothing is guaranteed.",
        )
    division = view.classifiers.splits
    by_hand = (
        "The labels had no part in dividing the rows.",
        "Who divided them here was the user: by time, by place, by a file of its own.",
    )
    return [
        _DRAWN[view.certificate.unit],
        *([by_hand] if division is not None and division.own else []),
        (
            "No classifier learned from the rows that count its errors.",
            "Scaling, filling gaps, choosing columns or balancing classes on all rows beforehand breaks this, and no "
            "number here would show it.",
        ),
        (
            "Everything was fixed before results were seen:",
            "the list of classifiers, all settings, the random seed. Who tries several and keeps the best has no "
            "guarantee.",
        ),
        used,
        (
            "The labels are what counts.",
            "An error is an answer that differs from the label in the data, right or wrong.",
        ),
        (
            "The sample was not unlucky.",
            f"Even so the statement is false for up to {failure(view.certificate.delta)} of samples. And it is about "
            "the long run: among a few new examples there may be more errors.",
        ),
    ]


@dataclass(frozen=True)
class Bar:
    """One guarantee; None where the method has none."""

    label: str
    bound: float | None
    #: Validation errors of the classifier that the guarantee is for; None where they were not counted.
    empirical_risk: float | None
    kl: float | None
    note: str
    #: Whether it is the certificate of the model as it predicts now.
    own: bool = False
    #: What became of a target: then it is about the examples that are answered.
    answered: Answered | None = None

    @classmethod
    def of(cls, view: ReportView, voting: str, label: str, note: str) -> "Bar":
        """Return the certificate of a way of predicting."""
        found = view.model.certificates_[voting]
        answered = found.answered
        if answered is not None:
            label = f"{label}, among its answers"
        elif found.reached is not None:
            label = f"{label}, which has a target and no bound"
        stated = found.reached is None and (answered is None or answered.passed)
        return cls(
            label,
            found.bound if stated else None,
            view.validation_risk(voting),
            found.kl,
            note,
            view.voting == voting,
            answered,
        )

    @property
    def value(self) -> str:
        """The bound as a percentage, rounded up, or the target; in words where there is none."""
        if self.bound is None:
            return "not available" if self.answered is None else "answers nothing"
        return percent_up(min(self.bound, 1.0)) if self.answered is None else format_target(self.bound)

    @property
    def number(self) -> str:
        """The bound as a number, rounded up, or the target as it was given."""
        return format_bound(self.bound) if self.answered is None or self.bound is None else repr(self.bound)


def bars_of(view: ReportView) -> list[Bar]:
    """Return the bound of the soft vote, of each distance alone, of the choice among several, and of what else is."""
    certificates = view.model.certificates_
    # Whether a bar of the five distances is the certificate itself.
    single = len(view.chosen_among) == 1 and view.model.hedge_ == 1.0
    bars = []
    if SOFT in certificates:
        soft = certificates[SOFT]
        bars.append(Bar.of(view, SOFT, f"soft vote, {soft.rule}", soft.theorem))
    for distance in view.distances:
        own = single and distance == view.posterior.distance
        found = view.best_posterior(distance)
        note = "stochastic classifier, with the posterior that is best for this distance"
        label = f"stochastic classifier, {distance}"
        mine = own and view.voting == "stochastic"
        bars.append(Bar(label, found.bound, found.empirical_risk, found.kl, note, mine))
    if not single:
        chosen = certificates["stochastic"]
        number = len(view.chosen_among)
        label = f"stochastic classifier, best of {number} distances"
        note = f"the smallest of {number} bounds, each at δ/{number}: {chosen.distance}"
        if view.model.hedge_ < 1.0:
            label, note = f"stochastic classifier, {chosen.rule}", chosen.theorem
        bars.append(Bar.of(view, "stochastic", label, note))
    vote, best = certificates["majority"], certificates["best"]
    note = vote.theorem
    if vote.rule == POSTERIOR:
        note += " The validation errors are the vote's own; the bound is not computed from them."
    label = "majority vote" if vote.rule == POSTERIOR else f"majority vote, {vote.rule}"
    bars.append(Bar.of(view, "majority", label, note))
    label = "best single classifier (Occam)" if best.rule == OCCAM else f"best single classifier, {best.rule}"
    bars.append(Bar.of(view, "best", label, best.theorem))
    return [*bars, *_baselines(view)]


def _baselines(view: ReportView, named: str = "hold-out, {}") -> list[Bar]:
    """Return what one classifier, validated once, and always the same answer have."""
    found = view.model.certificates_["best"].baselines
    who = "proposed beforehand" if view.classifiers.trained_elsewhere else "chosen by cross-validation"
    both = {named.format(who): found["hold-out"], "always the most frequent class": found[CONSTANT]}
    return [Bar(label, one.bound, one.empirical_risk, None, one.note) for label, one in both.items()]


def compared(view: ReportView) -> list[Bar]:
    """Return the certificate of the model beside what simpler methods guarantee from the same rows."""
    label = "this model, wrong and covered" if view.certificate.refit else "this model"
    own = Bar.of(view, view.voting, label, who_answers(view))
    return [own, *_baselines(view, "one classifier, {} (hold-out)")]
