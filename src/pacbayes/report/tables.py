"""Text tables about fitted models, for terminals and reports.  Bounds are rounded up."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes._utils.words import (
    PLURAL,
    format_confidence,
    format_level,
    format_params,
    format_rounded_up,
    format_share,
    percent_down,
    percent_up,
)
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certificate import MAJORITY_CLASS, OPTIMISED, PRESPECIFIED, TRAINING, VALIDATION, Certificate
from pacbayes.certificates.decisions import SelectiveResult, ThresholdResult
from pacbayes.certificates.metric_bounds import CLASS
from pacbayes.certificates.sentences import describe_delta_shares, format_label, format_required
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.voting import POSTERIOR, SOFT
from pacbayes.data.split import GROUP
from pacbayes.report.view import ReportView

# The table of weights lists classifiers up to this total weight, or this number of rows.
_TOTAL_WEIGHT, _MAX_ROWS = 0.99, 8
# How a rule was chosen, for tables.
_SOURCES = {TRAINING: "training set", VALIDATION: "validation set", PRESPECIFIED: "fixed before validation"}
# Matches cells with a number, possibly with a unit, or a range.
_ONE = r"-?\d[\d.e-]*( %)?"
_NUMBER = re.compile(rf"[–∞]|(error rate )?(at most |at least )?{_ONE}( to {_ONE})?( \(vacuous\)| of \d+)?")
# Note on metrics with duplicates="together".
_DUPLICATES_ONCE = {"distinct example": " Duplicates of an example count once."}


@dataclass(frozen=True)
class TextTable:
    """A table for display, whose cells are strings."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""

    @classmethod
    def from_dicts(cls, title: str, rows: Sequence[Mapping[str, str]], caption: str = "") -> "TextTable":
        """Table of rows as dicts, with the columns of the first row and a dash for missing cells.

        Examples
        --------
        >>> TextTable.from_dicts("Risks", [{"classifier": "a", "risk": "0.1"}, {"classifier": "b"}]).rows
        [('a', '0.1'), ('b', '–')]
        """
        columns = tuple(rows[0])
        return cls(title, columns, [tuple(row.get(name, "–") for name in columns) for row in rows], caption)

    @property
    def numeric(self) -> list[bool]:
        """Whether each column is numeric, and therefore right-aligned; the first one never is.

        Examples
        --------
        >>> TextTable("Risks", ("classifier", "risk", "m"), [("1", "0.1 %", "9"), ("2", "–", "all")]).numeric
        [False, True, False]
        """
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return [i > 0 and all(map(_NUMBER.fullmatch, cells)) for i, cells in enumerate(columns)]

    @property
    def transposed(self) -> "TextTable":
        """The transposed table, whose first column has no name.

        Examples
        --------
        >>> TextTable("Risks", ("classifier", "risk", "m"), [("a", "0.1", "9"), ("b", "0.2", "9")]).transposed.rows
        [('risk', '0.1', '0.2'), ('m', '9', '9')]
        """
        (_, *names), *rows = zip(self.columns, *self.rows, strict=True)
        return TextTable(self.title, ("", *names), rows, self.caption)


@dataclass(frozen=True)
class WeightGroup:
    """A classifier, or neighbours on a path with the same risk, with their total weight."""

    label: str
    number: int
    weight: float
    risk: float
    #: Indices of the classifiers.
    members: tuple[int, ...] = field(default=(), repr=False)


def weight_groups(view: ReportView) -> list[WeightGroup]:
    """Group the classifiers, by descending weight; on a path, neighbours with the same risk form a group.

    Classifiers with weight 0 are grouped separately.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> weight_groups(ReportView.from_model(StochasticSVC([0.1, 0.2, 1.0], random_state=0).fit(X, y)))
    [WeightGroup(label='0.1 to 1', number=3, weight=1.0, risk=0.0)]
    """
    weights, risks, params = view.weights, view.classifiers.risks, view.classifiers.params
    groups = []
    for path in view.paths:
        differs = (np.diff(risks[path]) != 0.0) | np.diff(weights[path] > 0.0)
        for run in np.split(path, np.flatnonzero(differs) + 1):
            label = format_run([params[i] for i in run])
            if view.is_path:
                label = " to ".join(f"{end:.4g}" for end in dict.fromkeys(view.positions[run[[0, -1]]].tolist()))
            weight, risk = float(weights[run].sum()), float(risks[run[0]])
            groups.append(WeightGroup(label, run.size, weight, risk, tuple(run.tolist())))
    return sorted(groups, key=lambda group: -group.weight)


class _LambdaRange(tuple[float, float]):
    """Range of lambdas with a readable repr."""

    def __repr__(self) -> str:
        return f"{self[0]:.6g} to {self[1]:.6g}"


def format_run(params: Sequence[Mapping[str, Any]]) -> str:
    """Format the parameters of a classifier, or, for neighbours on a path, common parameters and the range of lambdas.

    Examples
    --------
    >>> format_run([{"candidate": "svm", "lambda": 0.1}, {"candidate": "svm", "lambda": 1.0}])
    'svm: lambda = 0.1 to 1'
    """
    if len(params) == 1:
        return format_params(params[0])
    lambdas = [setting["lambda"] for setting in params]
    common = {name: value for name, value in params[0].items() if all(setting.get(name) == value for setting in params)}
    spread = _LambdaRange((min(lambdas), max(lambdas)))
    return format_params({name: common.get(name, spread) for name in params[0] if name in common or name == "lambda"})


def certificate_table(view: ReportView, full: bool = False) -> TextTable:
    """Table of the certificates by voting, followed by the majority-class baseline if that class is known.

    With `full`, bounds have five digits and the table includes all numbers that they were computed from.
    """
    rows = [_certificate_row(view, voting, full) for voting in view.model.certificates_]
    baseline = view.model.certificates_["stochastic"].baselines[MAJORITY_CLASS]
    if baseline.bound is not None and baseline.empirical_risk is not None:
        observed = view.observed
        rows.append(
            {
                "classifier": f"majority class ({format_label(view.model.majority_class_)})",
                "error rate at most": _format_percent(baseline.bound),
                "validation error": format_share(baseline.empirical_risk),
                "acceptance rate": "100.0 %",
                "test error": "–" if observed is None else _format_test(observed.baseline_errors or 0, observed.rows),
                "bound B": format_bound(baseline.bound),
                "empirical risk L": format_bound(baseline.empirical_risk),
            }
        )
    return TextTable.from_dicts("Certificates", rows, _certificate_caption(view))


def _certificate_row(view: ReportView, voting: str, full: bool) -> dict[str, str]:
    certificate, risk = view.model.certificates_[voting], view.validation_risk(voting)
    name = certificate.holds_for.removeprefix("the ").removesuffix(" with its key")
    name += ", covered predictions of the refit" if certificate.refit else ""
    row = {
        "classifier": f"{name} (this model)" if full and voting == view.voting else name,
        "error rate at most": _format_error_bound(certificate),
        "validation error": "–" if risk is None else format_share(risk),
    }
    if isinstance(certificate.decision, SelectiveResult):
        row["acceptance rate"] = format_share(certificate.decision.acceptance_rate)
    if view.observed is not None:
        row["test error"] = _format_test(*view.observed.errors_among_accepted(voting))
    if not full:
        return row
    pre_specified = certificate.source == VALIDATION and certificate.rule not in OPTIMISED
    # Further rows for auditors.
    return row | {
        "bound B": format_bound(certificate.bound),
        "error rate at least": "–" if certificate.lower is None else percent_down(certificate.lower),
        "empirical risk L": format_bound(certificate.empirical_risk),
        "divergence K": format_bound(certificate.kl),
        "δ": repr(certificate.delta),
        f"validation {PLURAL[certificate.unit]} m": str(certificate.m),
        "distance": certificate.distance,
        "rule": certificate.rule,
        "level": "–" if certificate.level is None else format_level(certificate.level),
        "chosen on": f"{_SOURCES[certificate.source]}{', among pre-specified rules' if pre_specified else ''}",
        "alternatives": "; ".join(map(str, certificate.alternatives)) or "none",
        "source": certificate.theorem,
    }


def _certificate_caption(view: ReportView) -> str:
    certificates, hedge = view.model.certificates_, view.plan.hedge
    parts = [
        f"Each certificate holds on its own, with {format_confidence(view.plan.delta)} confidence: decide before "
        "validation which classifier to use."
    ]
    if certificates["majority"].rule == POSTERIOR:
        parts.append(
            "The bound of the majority vote is twice that of the stochastic classifier; it does not depend on the "
            "errors of the vote."
        )
    if isinstance(view.certificate.decision, SelectiveResult):
        parts.append("Error rates are those of accepted rows; the maximum error rate was tested with all of delta.")
    elif view.plan.needs_soft:
        parts.append("Only the soft vote predicts; its requirements were tested with all of delta.")
    else:
        parts += describe_delta_shares(hedge, view.plan.split.prefit)
        if SOFT in certificates and 0.0 < hedge < 1.0:
            parts.append("The soft vote has all of delta.")
    unbeaten = [certificate.holds_for for certificate in certificates.values() if certificate.beats_baseline is False]
    if unbeaten:
        parts.append(f"Not better than the majority-class baseline: {', '.join(unbeaten)}.")
    if view.observed is not None:
        parts.append("Test errors are not used by the bounds.")
        if view.classifiers.unit == GROUP:
            parts.append("Test errors are per row, while the bounds are on the mean over groups.")
    return " ".join(parts)


def bounds_table(view: ReportView) -> TextTable:
    """Table of the bound of each distance and of the baselines."""
    bounds: list[tuple[str, str, float | None, float | None]] = [
        (posterior.distance, "stochastic classifier", posterior.bound, posterior.empirical_risk)
        for posterior in view.posteriors
    ]
    holdout, notes = "primary classifier" if view.plan.split.prefit else "cross-validated classifier", []
    for name, baseline in view.model.certificates_["stochastic"].baselines.items():
        if name != MAJORITY_CLASS:  # listed in the table of certificates
            classifier = "best single classifier" if name == "Occam" else holdout
            bounds.append((name, classifier, baseline.bound, baseline.empirical_risk))
            notes += [f"{name}: {baseline.note}."] if baseline.bound is None else []
    columns = ("bound", "classifier", "error rate at most", "validation error")
    rows = [
        (name, classifier, "–", "–")
        if bound is None or risk is None
        else (name, classifier, _format_percent(bound), format_share(risk))
        for name, classifier, bound, risk in bounds
    ]
    caption = (
        f"Each bound holds on its own, with {format_confidence(view.plan.delta)} confidence. Fix distance and delta "
        "before validation: picking the smallest of several bounds afterwards is not covered. A list of distances is, "
        "with delta divided among them."
    )
    if view.plan.hedge < 1.0:
        notes.append("The bounds of the distances are for a posterior with all of delta.")
    if len(view.plan.distances) > 1:
        notes.append(f"The certificate divides delta among {len(view.plan.distances)} distances; these bounds do not.")
    return TextTable("Five bounds and two baselines", columns, rows, " ".join([caption, *notes]))


def weight_table(view: ReportView, max_rows: int = _MAX_ROWS) -> TextTable:
    """Table of the classifiers with the largest weights."""
    groups = weight_groups(view)
    cumulative = np.cumsum([group.weight for group in groups]).tolist()
    listed = groups[: min(int(np.searchsorted(cumulative, _TOTAL_WEIGHT)) + 1, max_rows)]
    rows = []
    for group, total in zip(listed, cumulative, strict=False):
        members, row = list(group.members), {"lambda" if view.is_path else "classifier": group.label}
        if view.is_path or any(other.number > 1 for other in listed):
            row["SVMs" if view.is_path else "number"] = str(group.number)
        row |= {"weight": format_share(group.weight), "cumulative weight": format_share(total)}
        if view.plan.prior is not None:
            row["prior weight"] = format_share(float(view.plan.prior[members].sum()))
        row["validation error"] = format_share(group.risk)
        if view.observed is not None:
            # Classifiers with the same validation error may have different test errors.
            risks = view.observed.risks[members]
            ends = [format_share(float(end)) for end in (risks.min(), risks.max())]
            row["test error"] = " to ".join(dict.fromkeys(ends))
        rows.append(row)
    title = "Lambdas with the largest weights" if view.is_path else "Classifiers with the largest weights"
    return TextTable.from_dicts(title, rows, _weight_caption(view, groups, len(listed)))


def _weight_caption(view: ReportView, groups: Sequence[WeightGroup], n_listed: int) -> str:
    omitted, total = groups[n_listed:], len(view.classifiers)
    listed_weight = sum(group.weight for group in groups[:n_listed])
    parts = [f"They have {format_share(listed_weight)} of the total {view.weight_name}."]
    if omitted:
        number = sum(group.number for group in omitted)
        with_weight = sum(group.number for group in omitted if group.weight > 0.0)
        parts.append(f"Not listed: {number} of {total} classifiers, {with_weight} of them with weight.")
    # A soft vote does not use the prior.
    if view.plan.prior is None and not view.predicts_by_probabilities:
        parts.append(f"The prior weight of each classifier is {format_number(1.0 / total)}.")
    effective = format_number(1.0 / float(np.sum(view.weights**2)))
    return " ".join([*parts, f"Effective number of classifiers, 1/Σq²: {effective}."])


def metric_table(view: ReportView) -> TextTable | None:
    """Table of the bounds on further metrics; None if there are none."""
    plan, certificate = view.plan, view.certificate
    if not plan.metrics:
        return None
    errors_only = all(metric.name == "error" for metric in plan.metrics)
    title, columns = "Bounds on further metrics", ("metric", "bound", "count", "rows")
    if errors_only:
        title = "Error bounds by class and slice" if plan.slices else "Error bounds by class"
        rate = "rate of covered errors at most" if certificate.refit else "error rate at most"
        columns = ("subset", rate, "errors", "rows")
        if certificate.unit == GROUP:
            columns = ("subset", rate, "errors per group", "groups")
    if not certificate.metrics:
        reason = "Not available: the rule that predicts was chosen on the validation set."
        return TextTable(title, columns, [], reason)
    rows = []
    for metric in certificate.metrics:
        label = metric.label + (f" ({metric.also})" if metric.also else "")
        label = f"true {label}" if metric.kind == CLASS and metric.name == "error" else label
        bound = percent_up(metric.bound) if errors_only else metric.claim
        count = f"{metric.count:g}"
        if metric.name == "error" and metric.unit == GROUP:
            count = format_share(metric.count / metric.rows) if metric.rows else "–"
        rows.append((label, bound, count, str(metric.rows)))
    jointly = (
        f"These bounds and that of the overall error rate hold jointly, with {format_confidence(certificate.delta)}"
    )
    cost = _cost_of_metrics(certificate, plan.share) + _DUPLICATES_ONCE.get(certificate.unit, "")
    return TextTable(title, columns, rows, f"{jointly} confidence. {cost}")


def _cost_of_metrics(certificate: Certificate, share: float) -> str:
    """Sentence on the share of delta used by metrics, and the resulting increase of the overall bound."""
    text = f"Bounds on metrics use {format_share(share)} of delta"
    if certificate.level is not None and certificate.distance == "binomial":
        # The level of an Occam bound is multiplied by the prior weight.
        level = min(certificate.level / (1.0 - share), 1.0) * float(np.exp(-certificate.kl))
        errors = round(certificate.empirical_risk * certificate.m)
        without, bound = percent_up(float(binomial_upper(errors, certificate.m, level))), percent_up(certificate.bound)
        if without != bound:
            text += f"; without them the overall bound would be {without} instead of {bound}"
    return f"{text}."


def _format_test(errors: int, rows: int) -> str:
    return f"{format_share(errors / rows)} of {rows}" if rows else "none accepted"


def _format_error_bound(certificate: Certificate) -> str:
    if isinstance(certificate.decision, ThresholdResult):
        return "(see its threshold)" if certificate.decision.passed else "(no threshold passed)"
    if isinstance(certificate.decision, SetResult):
        return "(see its prediction sets)" if certificate.decision.passed else "(no useful sets)"
    selective = certificate.decision
    if selective is None:
        return _format_percent(certificate.bound)
    return f"{format_required(selective.max_error)} of accepted rows" if selective.passed else "(abstains on all rows)"


def _format_percent(bound: float) -> str:
    return "100 % (vacuous)" if bound >= 1.0 else percent_up(bound)


def format_bound(value: float | None, digits: int = 5) -> str:
    """Format a number with `digits` decimals, rounded up, and None as a dash.

    Examples
    --------
    >>> format_bound(0.123451), format_bound(None), format_bound(float("inf"))
    ('0.12346', '–', '∞')
    """
    if value is None:
        return "–"
    return "∞" if value == math.inf else format_rounded_up(value, digits)


def format_number(value: float) -> str:
    """Format a number with at most four significant digits.

    Examples
    --------
    >>> format_number(427.5971), format_number(0.05), format_number(float("inf"))
    ('427.6', '0.05', '∞')
    """
    return "∞" if value == math.inf else f"{value:.4g}"
