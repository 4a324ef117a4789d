"""What each method guarantees: the bounds of all distances beside those of other methods, from the same data."""

from dataclasses import dataclass

from pacbayes.certificates.certificate import CONSTANT
from pacbayes.certificates.certify import OCCAM, POSTERIOR
from pacbayes.certificates.questions.answered import Answered, format_target
from pacbayes.numeric.words import percent_up
from pacbayes.report.formatting import format_bound
from pacbayes.report.view import ReportView


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
        return cls(
            label if answered is None else f"{label}, among its answers",
            found.bound if answered is None or answered.passed else None,
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
    """Return the bound of each distance alone, the choice among several, the vote, the best one and the baselines."""
    certificates = view.model.certificates_
    # Whether a bar of the five distances is the certificate itself.
    single = len(view.chosen_among) == 1 and view.model.hedge_ == 1.0
    bars = []
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


def compared(view: ReportView) -> list[str]:
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
