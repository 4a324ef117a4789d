"""What a certificate says and what would break it, in words, and what other methods guarantee from the same data."""

from dataclasses import dataclass

import numpy as np

from pacbayes.certificates.baselines import format_label
from pacbayes.certificates.certificate import BEFOREHAND, CONSTANT, TRAINING, VALIDATION, Certificate
from pacbayes.certificates.target import Answered, format_target
from pacbayes.certificates.threshold import Reached
from pacbayes.certificates.voting import OCCAM, POSTERIOR, SOFT
from pacbayes.numeric.words import (
    OF_NEW,
    PLURAL,
    confidence,
    counted_once,
    failure,
    format_share,
    percent_down,
    percent_up,
)
from pacbayes.report.tables import format_bound
from pacbayes.report.view import ReportView

# What the share of errors means, by what was counted.
_LONG_RUN = {
    "example": "This is the share in the long run. Among a few new examples it may be higher or lower by chance.",
    "distinct example": "This is the share in the long run among examples before any copying: equal rows were taken as "
    "copies of one another and counted once. Among a few new examples it may be higher or lower by chance.",
    "group": "For every new group, take the share of its rows that are answered wrongly; this is the mean of those "
    "shares in the long run. A group counts once, whatever its size, so this is not the share of errors among all "
    "rows. In a single group it may be far higher.",
}
# Who proposed a single classifier.
_PROPOSED = {
    TRAINING: "Cross-validation within the training rows proposed it, before any validation row was looked at.",
    BEFOREHAND: "It was proposed beforehand, by who trained it, before any validation row was looked at.",
}
# For which draws the guarantee of the stochastic classifier is, by whether it was proposed on the training rows.
_DRAWS = {
    False: "The guarantee is for the average over these draws.",
    True: "The draws follow from the example and from a key that was fixed beforehand; the guarantee is for this key.",
}
# How what was counted may fail to be independent draws.
_NOT_DRAWN = {
    "example": (
        "The rows are not independent, or new examples are of another kind.",
        "Measurements that follow one another in time, several rows from one person, copies of rows, rows picked by "
        "hand, a world that has changed since: the guarantee is only about examples drawn the way these rows were.",
    ),
    "group": (
        "The groups are not independent, or new groups are of another kind.",
        "One person in two groups, groups from one family or hospital, copies of rows under another name, groups "
        "picked by hand, a world that has changed since: the guarantee is only about groups drawn the way these were.",
    ),
}


@dataclass(frozen=True)
class Guarantee:
    """The top of the page."""

    #: The number, large, and the sentence of the certificate.
    headline: str
    sentence: str
    #: What the parts of that sentence mean.
    meaning: list[tuple[str, str]]
    #: What other methods guarantee from the same rows.
    compared: list[str]
    #: What happened on test rows, if any.
    observed: str
    #: What the certificate rests on, in its own words.
    assumptions: tuple[str, ...]
    #: What would make it worthless: in short, and in full.
    breaks: list[tuple[str, str]]


def guarantee(view: ReportView) -> Guarantee:
    """Return the words for a model's certificate."""
    certificate = view.certificate
    return Guarantee(
        headline=certificate.headline,
        sentence=certificate.sentence,
        meaning=[("Which classifier", _who(view)), *_meaning(view)],
        compared=[] if certificate.answered or certificate.reached else _compared(view),
        observed=_observed(view),
        assumptions=certificate.assumptions,
        breaks=_breaks(view),
    )


def _is_useless(certificate: Certificate) -> bool:
    return percent_up(certificate.bound) == percent_up(1.0)


def _who(view: ReportView) -> str:
    """Say which classifier it is; after a refit that another one predicts where it is clear."""
    if not view.certificate.refit:
        return _certified(view)
    return (
        "A refit on all rows gives the answers where it is clear, and the classifier that was certified elsewhere. An "
        f"answer is covered where the latter gives it too. {_certified(view)}"
    )


def _certified(view: ReportView) -> str:
    number = len(view.classifiers)
    classifiers = "the one classifier" if number == 1 else f"one of {number} classifiers"
    proposed = view.certificate.source != VALIDATION
    if view.voting == "best":
        chosen = (
            _PROPOSED[view.certificate.source]
            if proposed
            else "It was chosen on the validation rows, and the guarantee accounts for that choice."
        )
        return (
            f"The best single classifier is number {view.model.best_index_} of {number}; it alone gives the answers. "
            f"{chosen}"
        )
    if view.by_probabilities:
        return _who_says_how_probable(view)
    if view.only_classifier is not None and number > 1:
        kind = "majority vote" if view.voting == "majority" else "stochastic classifier"
        return (
            f"The {kind} is here a single classifier, number {view.only_classifier} of {number}: it has all the weight "
            "and gives all the answers."
        )
    if view.voting == "majority":
        return (
            f"The majority vote: all {number} classifiers answer, each with the weight shown below, and the class with "
            "the most weight behind it wins."
        )
    return (
        f"The stochastic classifier: for every new example, {classifiers}, drawn at random with the weights shown "
        f"below, gives the answer. {_DRAWS[proposed]}"
    )


def _who_says_how_probable(view: ReportView) -> str:
    """Say who has a part in a soft vote, and how it decides."""
    number, chosen = len(view.classifiers), int(np.count_nonzero(view.weights))
    if chosen == 1:
        which = "" if number == 1 else f", number {view.only_classifier} of {number}"
        who = f"a single classifier{which}, says how probable each class is, and the most probable class is the answer"
    else:
        some = f"all {number}" if chosen == number else f"{chosen} of {number}"
        who = (
            f"{some} classifiers say how probable each class is, and the class with the largest mean, with the weights "
            "shown below, is the answer"
        )
    reached = view.certificate.reached
    if reached is not None and reached.passed:
        who += f" where no threshold is set; here the answer is {format_label(reached.positive)} if its probability is "
        who += f"at least {reached.shown}, and the other class elsewhere"
    return (
        f"The soft vote: {who}. Cross-validation within the training rows fixed the weights, and how scores become "
        "probabilities, before any validation row was looked at."
    )


def _meaning(view: ReportView) -> list[tuple[str, str]]:
    certificate = view.certificate
    sure = (
        f"With probability at least {confidence(certificate.delta)}",
        "If everything were repeated with other samples of the same kind, the statement would be false for at most "
        f"{failure(certificate.delta)} of them. Nobody can tell whether this sample is one of those.",
    )
    if certificate.answered is not None:
        return [sure, *_meaning_of_target(certificate.answered)]
    if certificate.reached is not None:
        return [sure, *_meaning_of_threshold(certificate.reached)]
    if _is_useless(certificate):
        return [
            sure,
            (
                "No useful guarantee",
                "The bound is 100 %, or so close to it that it rounds to 100 %, which says nothing useful about this "
                "classifier, neither good nor bad. More validation rows, or classifiers that make fewer errors on "
                "them, would make it smaller.",
            ),
        ]
    share = (
        f"At most {percent_up(certificate.bound)} of {OF_NEW[certificate.unit]}",
        _LONG_RUN[certificate.unit],
    )
    if certificate.lower is None:
        return [sure, share]
    least = (
        f"At least {percent_down(certificate.lower)}",
        "The other side of the same statement: both limits hold together, and the share of errors is not below this "
        "one.",
    )
    return [sure, share, least]


def _meaning_of_target(answered: Answered) -> list[tuple[str, str]]:
    target = format_target(answered.target)
    if not answered.passed:
        return [
            (
                "It answers nothing",
                f"The aim was at most {target} errors among the examples that it answers. The training rows said from "
                "which confidence on that could be expected, and the validation rows did not confirm it. More rows, "
                "better classifiers or a larger target might.",
            )
        ]
    return [
        (
            f"At most {target} of the examples that it answers{counted_once(answered.unit)}",
            "Of the examples for which the model gives an answer, at most this share is answered wrongly in the long "
            "run. Of the examples that it leaves unanswered nothing is said: somebody else has to decide them.",
        ),
        (
            f"It answered {format_share(answered.share)} of the validation {PLURAL[answered.unit]}",
            "How many new examples it will answer is not guaranteed; of examples of the same kind it will be about as "
            "many.",
        ),
    ]


def _meaning_of_threshold(reached: Reached) -> list[tuple[str, str]]:
    if not reached.passed:
        return [
            (
                "Nothing is guaranteed",
                f"The aim was that {reached.target.words(reached.positive)}. The threshold that the training rows put "
                "first was tested, and the validation rows did not confirm it. More rows, better classifiers or a "
                "weaker target might.",
            )
        ]
    return [
        (
            reached.headline,
            f"In the long run {reached.target.words(reached.positive)}, if every example whose probability is at least "
            f"{reached.shown} is answered so. That is all that is guaranteed.",
        ),
        ("What was observed", " ".join(reached.details)),
    ]


def _observed(view: ReportView) -> str:
    observed = view.observed
    if observed is None:
        return ""
    errors, rows = observed.among_answered[view.voting]
    if view.certificate.answered is not None:
        wrong = f", and erred {errors} times on these ({format_share(errors / rows)})" if rows else ""
        share = format_share(rows / observed.rows)
        return (
            f"Of {observed.rows} test rows it answered {rows} ({share}){wrong}. That is an observation, not part of "
            "the guarantee."
        )
    covered = "" if observed.covered is None else f", {observed.covered} times with a covered answer"
    return (
        f"On {observed.rows} test rows it erred {errors} times ({format_share(errors / observed.rows)}){covered}. "
        "That is an observation, not part of the guarantee."
    )


def _breaks(view: ReportView) -> list[tuple[str, str]]:
    own = "the rows that later counted errors" if view.is_shared else "rows that counted its own errors"
    return [
        (*_NOT_DRAWN.get(view.certificate.unit, _NOT_DRAWN["example"]),),
        (
            "A classifier learned from validation rows.",
            f"The guarantee relies on no classifier having seen {own}. Scaling, filling in missing values, choosing "
            "columns or balancing classes on all rows beforehand breaks it, and no number on this page would show "
            "that.",
        ),
        (
            "Something was chosen after results were seen.",
            "δ, the distance, the way of predicting, the list of classifiers, their prior weights and the random seed "
            "must be fixed beforehand. Trying several and keeping the best result voids the guarantee.",
        ),
        (
            "What is used is not what was certified.",
            "Classifiers trained anew elsewhere, a different threshold, or answers overruled by hand are not covered "
            "by the certificate.",
        ),
        (
            "The labels mean something else.",
            "An error is a disagreement with the label recorded in the data, whether that label is right or wrong.",
        ),
        (
            "Bad luck.",
            f"Even if all of this is in order, the statement is false for up to {failure(view.certificate.delta)} of "
            "samples.",
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
    hold_out = best.baselines["hold-out"]
    who = "proposed beforehand" if view.classifiers.trained_elsewhere else "chosen by cross-validation"
    bars.append(Bar(f"hold-out, {who}", hold_out.bound, hold_out.empirical_risk, None, hold_out.note))
    constant = best.baselines[CONSTANT]
    bars.append(Bar("always the most frequent class", constant.bound, constant.empirical_risk, None, constant.note))
    return bars


def _compared(view: ReportView) -> list[str]:
    """Say how the certificate compares with what simpler methods guarantee, above all where they do better."""
    own = view.certificate
    others = []
    if view.voting != "best":
        best = view.model.certificates_["best"]
        occam = best.rule == OCCAM
        name = "the best single classifier (Occam's bound)" if occam else "the one classifier of voting='best'"
        others.append((name, best.bound))
    hold_out = own.baselines["hold-out"]
    if hold_out.bound is not None:
        how = "proposed beforehand and" if view.classifiers.trained_elsewhere else "chosen by cross-validation and then"
        others.append((f"one classifier {how} validated once (hold-out)", hold_out.bound))
    constant = own.baselines[CONSTANT]
    if constant.bound is not None:
        others.append((f"{constant.note},", constant.bound))
    return [
        f"From the same rows and with the same probability, {name} errs on at most {percent_up(bound)}: "
        f"{_than(bound, own.bound)} this certificate."
        for name, bound in others
    ]


def _than(bound: float, own: float) -> str:
    if percent_up(bound) == percent_up(own):
        return "about the same as"
    return "less than" if bound < own else "more than"
