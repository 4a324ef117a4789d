"""What each method guarantees: the bounds of all distances beside those of other methods, from the same data."""

from dataclasses import dataclass

from pacbayes.certificates.certificate import CONSTANT
from pacbayes.certificates.certify import OCCAM, POSTERIOR
from pacbayes.certificates.percentages import percent_up
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

    @property
    def value(self) -> str:
        """The bound as a percentage, rounded up, in words where there is none."""
        return "not available" if self.bound is None else percent_up(min(self.bound, 1.0))


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
        mine = view.voting == "stochastic"
        bars.append(Bar(label, chosen.bound, chosen.empirical_risk, chosen.kl, note, mine))
    vote, best = certificates["majority"], certificates["best"]
    mine = view.voting == "majority"
    note = vote.theorem
    if vote.rule == POSTERIOR:
        note += " The validation errors are the vote's own; the bound is not computed from them."
    label = "majority vote" if vote.rule == POSTERIOR else f"majority vote, {vote.rule}"
    bars.append(Bar(label, vote.bound, view.model.vote_risk_, vote.kl, note, mine))
    bars.append(
        Bar(
            "best single classifier (Occam)" if best.rule == OCCAM else f"best single classifier, {best.rule}",
            best.bound,
            best.empirical_risk,
            best.kl,
            best.theorem,
            view.voting == "best",
        )
    )
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
