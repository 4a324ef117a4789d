"""What a certificate says and what would break it, in words for those who have to rely on it."""

from dataclasses import dataclass

from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.questions.answered import Answered, format_target
from pacbayes.certificates.rules.claim import BEFOREHAND, TRAINING, VALIDATION
from pacbayes.certificates.units import OF_NEW, PLURAL, counted_once
from pacbayes.numeric.words import confidence, failure, format_share, percent_down, percent_up
from pacbayes.report.comparison import compared
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
        sentence=str(certificate),
        meaning=[("Which classifier", _who(view)), *_meaning(view)],
        compared=[] if certificate.answered is not None else compared(view),
        observed=_observed(view),
        assumptions=certificate.assumptions,
        breaks=_breaks(view),
    )


def _is_useless(certificate: Certificate) -> bool:
    return percent_up(certificate.bound) == percent_up(1.0)


def _who(view: ReportView) -> str:
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


def _meaning(view: ReportView) -> list[tuple[str, str]]:
    certificate = view.certificate
    sure = (
        f"With probability at least {confidence(certificate.delta)} over the sample",
        "If everything were repeated with other samples of the same kind, the statement would be false for at most "
        f"{failure(certificate.delta)} of them. Nobody can tell whether this sample is one of those.",
    )
    if certificate.answered is not None:
        return [sure, *_meaning_of_target(certificate.answered)]
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
    return (
        f"On {observed.rows} test rows it erred {errors} times ({format_share(errors / observed.rows)}). "
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
            "Classifiers trained anew (on all rows, say), a different threshold, or answers overruled by hand are not "
            "covered by the certificate.",
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
