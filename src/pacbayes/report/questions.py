"""Limits of other risks, and what a target leaves answered: as tables and curves."""

from dataclasses import dataclass

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.words import confidence, format_share, percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import threshold_counts
from pacbayes.certificates.decisions import Abstain
from pacbayes.certificates.limits import CLASS
from pacbayes.certificates.voting import POSTERIOR
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# What a table of limits by class adds where copies were made of examples.
_COPIES_ONCE = {"distinct example": " Each example counts once however often it is copied."}


@dataclass(frozen=True)
class Coverage:
    """Errors among answered validation rows, from the strictest threshold to the loosest."""

    #: The share of validation rows that are answered.
    shares: FloatArray
    #: The share of errors among these.
    errors: FloatArray
    #: Their exact upper limits, each alone at delta.
    limits: FloatArray
    #: Rows answered, and errors, as counts.
    rows: list[int]
    wrong: list[int]
    #: Which threshold is used, None where none passed.
    chosen: int | None
    #: The target.
    target: float

    @classmethod
    def of(cls, model: CertifiedModel, voting: str) -> "Coverage | None":
        """Return the curve of a model with a target, None without one."""
        fitted = model._fitted
        if not isinstance(fitted.plan.target, Abstain):
            return None
        counts, m = threshold_counts(fitted.plan, fitted.evidence, voting), model.classifiers_.m
        some = np.flatnonzero(counts[0] > 0)
        rows, wrong = counts[0][some].tolist(), counts[1][some].tolist()
        limits = [float(binomial_upper(k, a, model.delta_)) for a, k in zip(rows, wrong, strict=True)]
        answered = model.certificates_[voting].answered
        chosen = None
        if answered is not None and answered.passed:
            chosen = max(place for place, a in enumerate(rows) if a == answered.rows)
        shares, errors = np.array(rows) / m, np.array(wrong) / np.array(rows)
        return cls(shares, errors, np.array(limits), rows, wrong, chosen, fitted.plan.target.max_error)


def part_table(view: ReportView) -> TextTable | None:
    """Return the limits of other risks of the classifier that predicts; None where nobody asked."""
    plan, found = view.model._fitted.plan, view.certificate
    if not plan.limits:
        return None
    errors_only = all(question.name == "error" for question in plan.limits)
    title = "Limits of other risks"
    if errors_only:
        title = "Errors by class" if not plan.slices else "Errors by class and in slices"
    most = "covered and wrong at most" if found.refit else "errs on at most"
    columns = ("among", most, "errors", "rows") if errors_only else ("of", "limit", "counted", "rows")
    if not found.limits:
        return TextTable(
            title, columns, [], "None: what predicts was chosen on the validation rows, where none are proved."
        )
    rows = [
        (
            ("true " if one.kind == CLASS and one.name == "error" else "")
            + one.label
            + (f" ({one.also})" if one.also else ""),
            percent_up(one.bound) if errors_only else one.claim,
            f"{one.count:g}",
            str(one.rows),
        )
        for one in found.limits
    ]
    caption = (
        f"All of these limits and the one of all errors hold at once, with probability at least "
        f"{confidence(found.delta)}. {cost_of_parts(found, plan.share)}{_COPIES_ONCE.get(found.unit, '')}"
    )
    return TextTable(title, columns, rows, caption)


def cost_of_parts(found: Certificate, share: float) -> str:
    """Say what the limits cost the bound, if it is seen."""
    kept = f"They take {format_share(share)} of the probability with which anything here may fail"
    if found.rule == POSTERIOR or found.level is None or found.distance != "binomial":
        return f"{kept}."
    level = min(found.level / (1.0 - share), 1.0)
    if found.kl > 0.0:  # Occam's, at the prior weight of one classifier
        level *= float(np.exp(-found.kl))
    errors = round(found.empirical_risk * found.m)
    without, bound = percent_up(float(binomial_upper(errors, found.m, level))), percent_up(found.bound)
    return f"{kept}." if without == bound else f"{kept}; without them the bound would be {without} instead of {bound}."
