"""What a fitted model has to say, as tables of text: for the terminal, a pipe and a page; bounds are rounded up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.words import PLURAL, confidence, format_level, format_params, format_share, format_up, percent_up
from pacbayes.bounds.distances import DISTANCES
from pacbayes.certificates.certificate import BEFOREHAND, CONSTANT, FOUND, TRAINING, VALIDATION, Baseline, Certificate
from pacbayes.certificates.sentences import format_label, format_target
from pacbayes.certificates.voting import POSTERIOR
from pacbayes.data.division import GROUP
from pacbayes.posteriors.posterior import Posterior
from pacbayes.report.view import ObservedErrors, ReportView

# The table of weights ends where so much of the weight is shown, or after so many rows.
_ENOUGH_WEIGHT, _MOST_ROWS = 0.99, 8
# Who recommended a rule.
_SOURCES = {TRAINING: "the training rows", VALIDATION: "the validation rows", BEFOREHAND: "who trained it, beforehand"}


@dataclass(frozen=True)
class TextTable:
    """A table a person reads: every cell is text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""

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


def five_bounds(view: ReportView) -> list[Posterior]:
    """Return for each of the five distances the posterior with the smallest bound, at the level of the model.

    Each bound holds alone; choosing the smallest after looking is not covered.
    """
    return [view.best_posterior(distance) for distance in DISTANCES]


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
    found = []
    for path in view.paths:
        differs = (np.diff(risks[path]) != 0.0) | np.diff(weights[path] > 0.0)
        for run in np.split(path, np.flatnonzero(differs) + 1):
            label = _lambdas(view.places[run]) if view.is_path else format_run([params[i] for i in run])
            weight, risk = float(weights[run].sum()), float(risks[run[0]])
            found.append(WeightGroup(label, run.size, weight, risk, tuple(run.tolist())))
    return sorted(found, key=lambda group: -group.weight)


def _lambdas(run: FloatArray) -> str:
    return f"{run[0]:.4g}" if run.size == 1 else f"{run[0]:.4g} to {run[-1]:.4g}"


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
    certificates, observed = view.model.certificates_, view.observed
    constant = certificates["stochastic"].baselines[CONSTANT]
    risks = [view.validation_risk(name) for name in certificates]
    columns = {
        "classifier": [
            *(_name_of(one) for one in certificates.values()),
            f"always {format_label(view.model.constant_label_)}",
        ],
        "errs on at most": [
            *(_limit(one) for one in certificates.values()),
            "–" if constant.bound is None else _percent_of(constant.bound),
        ],
        "validation errors": [
            "–" if risk is None else format_share(risk) for risk in (*risks, constant.empirical_risk)
        ],
    }
    answered = [one.answered for one in certificates.values()]
    if all(one is not None for one in answered):
        columns["answers"] = [*(format_share(one.share) for one in answered if one is not None), "100.0 %"]
    if observed is not None:
        counted = [*(observed.among_answered[name] for name in certificates), (observed.constant, observed.rows)]
        columns["test errors"] = [_share_of(errors, rows) for errors, rows in counted]
    if full:
        columns["classifier"] = [
            f"{name} (this model)" if voting == view.voting else name
            for voting, name in zip((*certificates, None), columns["classifier"], strict=True)
        ]
        columns |= _computed_from(view, constant)
    rows = list(zip(*columns.values(), strict=True))
    rows = rows if constant.bound is not None else rows[:-1]
    return TextTable("Certificates", tuple(columns), rows, _certificate_caption(view))


def _name_of(certificate: Certificate) -> str:
    """Return what a certificate is about, in few words."""
    name = certificate.holds_for.removeprefix("the ").removesuffix(" with its key")
    return f"{name}, covered answers of the refit" if certificate.refit else name


def _computed_from(view: ReportView, constant: Baseline) -> dict[str, list[str]]:
    """Return the columns that only an auditor needs."""
    found = list(view.model.certificates_.values())
    return {
        "bound B": [*(repr(one.bound) for one in found), repr(constant.bound)],
        "errs on at least": [*("–" if one.lower is None else repr(one.lower) for one in found), "–"],
        "risk L it is computed from": [
            *(format_bound(one.empirical_risk) for one in found),
            format_bound(constant.empirical_risk),
        ],
        "divergence K": [*(format_bound(one.kl) for one in found), "–"],
        "δ": [*(repr(one.delta) for one in found), repr(view.delta)],
        f"validation {PLURAL[view.classifiers.unit]} m": [*(str(one.m) for one in found), str(view.classifiers.m)],
        "distance": [*(one.distance for one in found), "–"],
        "which rule": [*(one.rule for one in found), "–"],
        "its share of δ": [*("–" if one.level is None else format_level(one.level) for one in found), repr(view.delta)],
        "recommended by": [*(_recommended(one) for one in found), _SOURCES[TRAINING]],
        "other rules": [*("; ".join(map(str, one.alternatives)) or "none" for one in found), "none"],
        "where it comes from": [*(one.theorem for one in found), f"{constant.note[0].upper()}{constant.note[1:]}."],
    }


def _recommended(certificate: Certificate) -> str:
    picked = certificate.source == VALIDATION and certificate.rule not in FOUND
    return f"{_SOURCES[certificate.source]}{', of rules fixed before' if picked else ''}"


def _certificate_caption(view: ReportView) -> str:
    caption = (
        f"Each certificate holds alone, with probability at least {confidence(view.delta)}: decide beforehand which "
        "classifier you will use."
    )
    if view.model.certificates_["majority"].rule == POSTERIOR:
        caption += (
            " The majority vote's bound is twice the stochastic classifier's; it is not computed from the vote's own "
            "errors."
        )
    if view.certificate.answered is not None:
        caption += " Errors are shares of the examples that are answered; the target was tested at the whole of delta."
    elif view.certificate.reached is not None:
        caption += " Only the soft vote predicts; its targets were tested at the whole of delta."
    elif view.model.hedge_ < 1.0:
        caption += f" Of delta, {view.divided}. Of all rules those with the smallest bounds predict: "
        caption += ", ".join(f"{voting} {one.rule}" for voting, one in view.model.certificates_.items()) + "."
    unbeaten = [one.holds_for for one in view.model.certificates_.values() if one.beats_constant is False]
    if unbeaten:
        caption += f" No better than always giving the same answer: {', '.join(unbeaten)}."
    if view.observed is not None:
        caption += " Test errors played no part in the bounds."
        if view.classifiers.unit == GROUP:
            caption += " They are shares of rows; the bounds are on the mean over groups."
    return caption


def bounds_table(view: ReportView) -> TextTable:
    """Return the bounds of the five distances and the baselines."""
    rows = [
        (
            posterior.distance,
            "stochastic classifier",
            _percent_of(posterior.bound),
            format_share(posterior.empirical_risk),
        )
        for posterior in five_bounds(view)
    ]
    held_out = "proposed classifier" if view.classifiers.trained_elsewhere else "cross-validated classifier"
    notes = []
    for name, baseline in view.model.certificates_["stochastic"].baselines.items():
        if name == CONSTANT:  # stands beside the certificates
            continue
        who = "best single classifier" if name == "Occam" else held_out
        if baseline.bound is None or baseline.empirical_risk is None:
            rows.append((name, who, "–", "–"))
            notes.append(f"{name}: {baseline.note}.")
        else:
            rows.append((name, who, _percent_of(baseline.bound), format_share(baseline.empirical_risk)))
    caption = (
        f"Each bound holds alone, with probability at least {confidence(view.delta)}. Fix distance and delta "
        "before you look: the smallest of several, chosen afterwards, is not covered (asking for several distances at "
        "once is, with delta divided among them)."
    )
    number = len(view.chosen_among)
    if view.model.hedge_ < 1.0:
        notes.append("The bounds of the distances are what a posterior would guarantee that had all of delta.")
    if number > 1:
        notes.append(f"The certificate divides delta among {number} distances; these bounds do not.")
    return TextTable(
        "Five bounds and two baselines",
        ("bound", "for the", "errs on at most", "validation errors"),
        rows,
        " ".join([caption, *notes]),
    )


def weight_table(view: ReportView, most: int = _MOST_ROWS) -> TextTable:
    """Return the classifiers that carry most of the weight, the heaviest first."""
    groups = weight_groups(view)
    so_far = np.cumsum([group.weight for group in groups])
    shown = groups[: min(int(np.searchsorted(so_far, _ENOUGH_WEIGHT)) + 1, most)]
    columns = {"lambda" if view.is_path else "classifier": [group.label for group in shown]}
    if view.is_path or any(group.number > 1 for group in shown):
        columns["machines" if view.is_path else "number"] = [str(group.number) for group in shown]
    columns["weight"] = [format_share(group.weight) for group in shown]
    columns["weight so far"] = [format_share(value) for value in so_far[: len(shown)].tolist()]
    if view.prior is not None:
        columns["prior weight"] = [format_share(float(view.prior[list(group.members)].sum())) for group in shown]
    columns["validation errors"] = [format_share(group.risk) for group in shown]
    if view.observed is not None:
        columns["test errors"] = [_test_errors(view.observed, group) for group in shown]
    title = "The lambdas that carry the weight" if view.is_path else "The classifiers that carry the weight"
    rows = list(zip(*columns.values(), strict=True))
    return TextTable(title, tuple(columns), rows, _weight_caption(view, groups, shown))


def _test_errors(observed: ObservedErrors, group: WeightGroup) -> str:
    """Return the share of errors; neighbours that err as often on the validation rows may not do so on others."""
    risks = observed.risks[list(group.members)]
    least, most = format_share(float(risks.min())), format_share(float(risks.max()))
    return least if least == most else f"{least} to {most}"


def _weight_caption(view: ReportView, groups: Sequence[WeightGroup], shown: Sequence[WeightGroup]) -> str:
    number, total = sum(group.number for group in shown), len(view.classifiers)
    together = f"Together {format_share(sum(group.weight for group in shown))} of the {view.weight_name}."
    left, weighted = total - number, sum(group.number for group in groups[len(shown) :] if group.weight > 0.0)
    if left == 0:
        rest = ""
    elif left == 1:
        rest = " The other one has the rest." if weighted else " The other one has none."
    elif weighted in (0, left):
        rest = f" The other {left} share the rest." if weighted else f" The other {left} have none."
    else:
        rest = f" Of the other {left}, {weighted} {'has' if weighted == 1 else 'share'} the rest."
    # A soft vote knows no prior.
    has_prior = view.prior is None and not view.by_probabilities
    prior = f" Each had the prior weight {format_number(1.0 / total)}." if has_prior else ""
    effective = f" Effective number of classifiers, 1/Σq²: {format_number(1.0 / float(np.sum(view.weights**2)))}."
    return together + rest + prior + effective


def _share_of(errors: int | None, rows: int) -> str:
    if errors is None:
        return "–"
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
