"""What a fitted model has to say, as tables of text: for the terminal, a pipe and a page; bounds are rounded up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes._utils.words import PLURAL, confidence, format_level, format_params, format_share, format_up, percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certificate import BEFOREHAND, CONSTANT, FOUND, TRAINING, VALIDATION, Certificate
from pacbayes.certificates.limits import CLASS
from pacbayes.certificates.sentences import format_label, format_target, shares_of_delta
from pacbayes.certificates.voting import POSTERIOR, SOFT
from pacbayes.data.division import GROUP
from pacbayes.report.view import ReportView

# The table of weights ends where so much of the weight is shown, or after so many rows.
_ENOUGH_WEIGHT, _MOST_ROWS = 0.99, 8
# Who recommended a rule.
_SOURCES = {TRAINING: "the training rows", VALIDATION: "the validation rows", BEFOREHAND: "who trained it, beforehand"}
# What a table of limits by class adds where copies were made of examples.
_COPIES_ONCE = {"distinct example": " Each example counts once however often it is copied."}


@dataclass(frozen=True)
class TextTable:
    """A table a person reads: every cell is text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""

    @classmethod
    def of(cls, title: str, rows: Sequence[Mapping[str, str]], caption: str = "") -> "TextTable":
        """Return the table of rows by column, with the columns of the first and a dash for what another lacks.

        Examples
        --------
        >>> TextTable.of("Risks", [{"classifier": "a", "risk": "0.1"}, {"classifier": "b"}]).rows
        [('a', '0.1'), ('b', '–')]
        """
        columns = tuple(rows[0])
        return cls(title, columns, [tuple(row.get(name, "–") for name in columns) for row in rows], caption)

    @property
    def transposed(self) -> "TextTable":
        """The table with rows as columns; what its first column was called is left out.

        Examples
        --------
        >>> TextTable("Risks", ("classifier", "risk", "m"), [("a", "0.1", "9"), ("b", "0.2", "9")]).transposed.rows
        [('risk', '0.1', '0.2'), ('m', '9', '9')]
        """
        (_, *names), *rows = zip(self.columns, *self.rows, strict=True)
        return TextTable(self.title, ("", *names), rows, self.caption)


@dataclass(frozen=True)
class WeightGroup:
    """A classifier, or neighbours on a path with equally many errors, with their weight together."""

    label: str
    number: int
    weight: float
    risk: float
    #: Their numbers in the set.
    members: tuple[int, ...] = field(default=(), repr=False)


def weight_groups(view: ReportView) -> list[WeightGroup]:
    """Return the classifiers by falling weight; on a path, neighbours with equally many errors are taken together.

    Those without any weight are kept apart from those that have some.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> weight_groups(ReportView.of(StochasticSVC([0.1, 0.2, 1.0], random_state=0).fit(X, y)))
    [WeightGroup(label='0.1 to 1', number=3, weight=1.0, risk=0.0)]
    """
    weights, risks, params = view.weights, view.classifiers.risks, view.classifiers.params
    groups = []
    for path in view.paths:
        differs = (np.diff(risks[path]) != 0.0) | np.diff(weights[path] > 0.0)
        for run in np.split(path, np.flatnonzero(differs) + 1):
            label = format_run([params[i] for i in run])
            if view.is_path:
                label = " to ".join(f"{end:.4g}" for end in dict.fromkeys(view.places[run[[0, -1]]].tolist()))
            weight, risk = float(weights[run].sum()), float(risks[run[0]])
            groups.append(WeightGroup(label, run.size, weight, risk, tuple(run.tolist())))
    return sorted(groups, key=lambda group: -group.weight)


class _Range(tuple[float, float]):
    """From a lambda to another, which shows itself as that."""

    def __repr__(self) -> str:
        return f"{self[0]:.6g} to {self[1]:.6g}"


def format_run(params: Sequence[Mapping[str, Any]]) -> str:
    """Return the parameters of a classifier, or of several on a path: the lambdas, and what they have in common.

    Examples
    --------
    >>> format_run([{"candidate": "svm", "lambda": 0.1}, {"candidate": "svm", "lambda": 1.0}])
    'svm: lambda = 0.1 to 1'
    """
    if len(params) == 1:
        return format_params(params[0])
    lambdas = [one["lambda"] for one in params]
    common = {name: value for name, value in params[0].items() if all(one.get(name) == value for one in params)}
    spread = _Range((min(lambdas), max(lambdas)))
    return format_params({name: common.get(name, spread) for name in params[0] if name in common or name == "lambda"})


def certificate_table(view: ReportView, full: bool = False) -> TextTable:
    """Return the certificates by way of predicting, and below them that of always answering the most frequent class.

    What is no better than that has learnt nothing; it is left out where nobody knows which class that was.  With
    `full`, the numbers are there with all their digits, and everything they were computed from.
    """
    rows = [_certificate_row(view, voting, full) for voting in view.model.certificates_]
    constant = view.model.certificates_["stochastic"].baselines[CONSTANT]
    if constant.bound is not None and constant.empirical_risk is not None:
        delta, observed = repr(view.plan.delta), view.observed
        rows.append(
            {
                "classifier": f"always {format_label(view.model.constant_label_)}",
                "errs on at most": _percent_of(constant.bound),
                "validation errors": format_share(constant.empirical_risk),
                "answers": "100.0 %",
                "test errors": "–" if observed is None else _share_of(observed.constant or 0, observed.rows),
                "bound B": repr(constant.bound),
                "risk L it is computed from": format_bound(constant.empirical_risk),
                "δ": delta,
                f"validation {PLURAL[view.classifiers.unit]} m": str(view.classifiers.m),
                "its share of δ": delta,
                "recommended by": _SOURCES[TRAINING],
                "other rules": "none",
                "where it comes from": f"{constant.note[0].upper()}{constant.note[1:]}.",
            }
        )
    return TextTable.of("Certificates", rows, _certificate_caption(view))


def _certificate_row(view: ReportView, voting: str, full: bool) -> dict[str, str]:
    certificate, risk = view.model.certificates_[voting], view.validation_risk(voting)
    name = certificate.holds_for.removeprefix("the ").removesuffix(" with its key")
    name += ", covered answers of the refit" if certificate.refit else ""
    row = {
        "classifier": f"{name} (this model)" if full and voting == view.voting else name,
        "errs on at most": _limit(certificate),
        "validation errors": "–" if risk is None else format_share(risk),
    }
    if certificate.answered is not None:
        row["answers"] = format_share(certificate.answered.share)
    if view.observed is not None:
        row["test errors"] = _share_of(*view.observed.among_answered(voting))
    if not full:
        return row
    picked = certificate.source == VALIDATION and certificate.rule not in FOUND
    # What only an auditor needs.
    return row | {
        "bound B": repr(certificate.bound),
        "errs on at least": "–" if certificate.lower is None else repr(certificate.lower),
        "risk L it is computed from": format_bound(certificate.empirical_risk),
        "divergence K": format_bound(certificate.kl),
        "δ": repr(certificate.delta),
        f"validation {PLURAL[certificate.unit]} m": str(certificate.m),
        "distance": certificate.distance,
        "which rule": certificate.rule,
        "its share of δ": "–" if certificate.level is None else format_level(certificate.level),
        "recommended by": f"{_SOURCES[certificate.source]}{', of rules fixed before' if picked else ''}",
        "other rules": "; ".join(map(str, certificate.alternatives)) or "none",
        "where it comes from": certificate.theorem,
    }


def _certificate_caption(view: ReportView) -> str:
    certificates, hedge = view.model.certificates_, view.plan.hedge
    parts = [
        f"Each certificate holds alone, with probability at least {confidence(view.plan.delta)}: decide beforehand "
        "which classifier you will use."
    ]
    if certificates["majority"].rule == POSTERIOR:
        parts.append(
            "The majority vote's bound is twice the stochastic classifier's; it is not computed from the vote's own "
            "errors."
        )
    if view.certificate.answered is not None:
        parts.append(
            "Errors are shares of the examples that are answered; the target was tested at the whole of delta."
        )
    elif view.certificate.reached is not None:
        parts.append("Only the soft vote predicts; its targets were tested at the whole of delta.")
    else:
        parts += shares_of_delta(hedge, view.plan.division.trained_elsewhere)
        if SOFT in certificates and 0.0 < hedge < 1.0:
            parts.append("The soft vote has all of delta.")
    unbeaten = [one.holds_for for one in certificates.values() if one.beats_constant is False]
    if unbeaten:
        parts.append(f"No better than always giving the same answer: {', '.join(unbeaten)}.")
    if view.observed is not None:
        parts.append("Test errors played no part in the bounds.")
        if view.classifiers.unit == GROUP:
            parts.append("They are shares of rows; the bounds are on the mean over groups.")
    return " ".join(parts)


def bounds_table(view: ReportView, full: bool = False) -> TextTable:
    """Return the bound of each distance and the baselines; with `full` as numbers, and where they come from."""
    best = "with the posterior that is best for this distance"
    bounds: list[tuple[Any, ...]] = [
        (one.distance, "stochastic classifier", one.bound, one.empirical_risk, one.kl, best) for one in view.posteriors
    ]
    held_out = "proposed classifier" if view.plan.division.trained_elsewhere else "cross-validated classifier"
    notes = []
    for name, one in view.model.certificates_["stochastic"].baselines.items():
        who = "best single classifier" if name == "Occam" else held_out
        if name != CONSTANT:  # stands beside the certificates
            bounds.append((name, who, one.bound, one.empirical_risk, None, one.note))
            notes += [f"{name}: {one.note}."] if one.bound is None and not full else []
    if full:
        columns: tuple[str, ...] = ("guarantee", "bound", "validation risk", "divergence K", "what it is")
        rows = [(f"{who}, {name}", *map(format_bound, numbers), note) for name, who, *numbers, note in bounds]
    else:
        columns = ("bound", "for the", "errs on at most", "validation errors")
        rows = [
            (name, who, "–", "–") if bound is None else (name, who, _percent_of(bound), format_share(risk))
            for name, who, bound, risk, *_ in bounds
        ]
    caption = (
        f"Each bound holds alone, with probability at least {confidence(view.plan.delta)}. Fix distance and delta "
        "before you look: the smallest of several, chosen afterwards, is not covered (asking for several distances at "
        "once is, with delta divided among them)."
    )
    if view.plan.hedge < 1.0:
        notes.append("The bounds of the distances are what a posterior would guarantee that had all of delta.")
    if len(view.plan.distances) > 1:
        notes.append(f"The certificate divides delta among {len(view.plan.distances)} distances; these bounds do not.")
    return TextTable("Five bounds and two baselines", columns, rows, " ".join([caption, *notes]))


def weight_table(view: ReportView, most: int = _MOST_ROWS) -> TextTable:
    """Return the classifiers that carry most of the weight, the heaviest first."""
    groups = weight_groups(view)
    so_far = np.cumsum([group.weight for group in groups]).tolist()
    shown = groups[: min(int(np.searchsorted(so_far, _ENOUGH_WEIGHT)) + 1, most)]
    rows = []
    for group, total in zip(shown, so_far, strict=False):
        members, row = list(group.members), {"lambda" if view.is_path else "classifier": group.label}
        if view.is_path or any(one.number > 1 for one in shown):
            row["machines" if view.is_path else "number"] = str(group.number)
        row |= {"weight": format_share(group.weight), "weight so far": format_share(total)}
        if view.plan.prior is not None:
            row["prior weight"] = format_share(float(view.plan.prior[members].sum()))
        row["validation errors"] = format_share(group.risk)
        if view.observed is not None:
            # Neighbours that err as often on the validation rows may not do so on others.
            risks = view.observed.risks[members]
            ends = [format_share(float(end)) for end in (risks.min(), risks.max())]
            row["test errors"] = " to ".join(dict.fromkeys(ends))
        rows.append(row)
    title = "The lambdas that carry the weight" if view.is_path else "The classifiers that carry the weight"
    return TextTable.of(title, rows, _weight_caption(view, groups, len(shown)))


def _weight_caption(view: ReportView, groups: Sequence[WeightGroup], shown: int) -> str:
    others, total = groups[shown:], len(view.classifiers)
    parts = [f"Together {format_share(sum(group.weight for group in groups[:shown]))} of the {view.weight_name}."]
    if others:
        left, weighted = sum(one.number for one in others), sum(one.number for one in others if one.weight > 0.0)
        parts.append(f"Not shown: {left} of {total} classifiers, {weighted} of them with weight.")
    # A soft vote knows no prior.
    if view.plan.prior is None and not view.by_probabilities:
        parts.append(f"Each had the prior weight {format_number(1.0 / total)}.")
    effective = format_number(1.0 / float(np.sum(view.weights**2)))
    return " ".join([*parts, f"Effective number of classifiers, 1/Σq²: {effective}."])


def part_table(view: ReportView) -> TextTable | None:
    """Return the limits of other risks of the classifier that predicts; None where nobody asked."""
    plan, certificate = view.plan, view.certificate
    if not plan.limits:
        return None
    errors_only = all(question.name == "error" for question in plan.limits)
    title, columns = "Limits of other risks", ("of", "limit", "counted", "rows")
    if errors_only:
        title = "Errors by class and in slices" if plan.slices else "Errors by class"
        columns = ("among", "covered and wrong at most" if certificate.refit else "errs on at most", "errors", "rows")
    if not certificate.limits:
        nothing = "None: what predicts was chosen on the validation rows, where none are proved."
        return TextTable(title, columns, [], nothing)
    rows = []
    for one in certificate.limits:
        label = one.label + (f" ({one.also})" if one.also else "")
        label = f"true {label}" if one.kind == CLASS and one.name == "error" else label
        rows.append((label, percent_up(one.bound) if errors_only else one.claim, f"{one.count:g}", str(one.rows)))
    all_hold = "All of these limits and the one of all errors hold at once, with probability at least"
    cost = _cost_of_parts(certificate, plan.share) + _COPIES_ONCE.get(certificate.unit, "")
    return TextTable(title, columns, rows, f"{all_hold} {confidence(certificate.delta)}. {cost}")


def _cost_of_parts(certificate: Certificate, share: float) -> str:
    """Describe what the limits cost the bound, if it shows."""
    text = f"They take {format_share(share)} of the probability with which anything here may fail"
    if certificate.level is not None and certificate.distance == "binomial":
        # Of Occam's choice at the prior weight of one classifier.
        level = min(certificate.level / (1.0 - share), 1.0) * float(np.exp(-certificate.kl))
        errors = round(certificate.empirical_risk * certificate.m)
        without, bound = percent_up(float(binomial_upper(errors, certificate.m, level))), percent_up(certificate.bound)
        if without != bound:
            text += f"; without them the bound would be {without} instead of {bound}"
    return f"{text}."


def _share_of(errors: int, rows: int) -> str:
    return f"{format_share(errors / rows)} of {rows}" if rows else "none answered"


def _limit(certificate: Certificate) -> str:
    if certificate.reached is not None:
        return "(has a target)" if certificate.reached.passed else "(did not reach its target)"
    if certificate.answered is None:
        return _percent_of(certificate.bound)
    answered = certificate.answered
    return f"{format_target(answered.target)} of its answers" if answered.passed else "(answers nothing)"


def _percent_of(bound: float) -> str:
    return "100 % (says nothing)" if bound >= 1.0 else percent_up(bound)


def format_bound(value: float | None, digits: int = 5) -> str:
    """Return a number with so many decimals, rounded up; a dash where there is none.

    Examples
    --------
    >>> format_bound(0.123451), format_bound(None), format_bound(float("inf"))
    ('0.12346', '–', '∞')
    """
    if value is None:
        return "–"
    return "∞" if value == math.inf else format_up(value, digits)


def format_number(value: float) -> str:
    """Return a number with four significant digits, as far as it has them.

    Examples
    --------
    >>> format_number(427.5971), format_number(0.05), format_number(float("inf"))
    ('427.6', '0.05', '∞')
    """
    return "∞" if value == math.inf else f"{value:.4g}"
