"""Incompatible combinations of parameters: one table for estimators, plans and the command line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pacbayes.bounds.distances import CATONI
from pacbayes.certificates.decisions import NEEDS_SOFT, Decision, PredictionSet
from pacbayes.certificates.levels import AUTO, resolve_hedge
from pacbayes.certificates.metric_bounds import AUC
from pacbayes.certificates.metrics import METRICS, MetricSpec
from pacbayes.certificates.primary import CROSS_VALIDATION
from pacbayes.certificates.voting import SOFT
from pacbayes.data.split import SHARED

#: Metrics that can be bounded on covered predictions of a refit: means of non-negative losses.
COVERED_METRICS = ("error", "balanced_error", "cost")
#: Votings with a single deterministic rule, which a refit requires.
VOTINGS = (SOFT, "majority", "best")
#: Formats a parameter, with or without its value.
Words = Callable[..., str]


def python_words(name: str, *value: Any) -> str:
    """Format a parameter as in Python."""
    return f"{name}={value[0]!r}" if value else name


@dataclass(frozen=True)
class Choices:
    """Parameters whose combination is validated, named as those of the estimators."""

    voting: str = AUTO
    hedge: float | str = AUTO
    split: str = SHARED
    cv: int | str | None = "auto"
    prior: Any = "uniform"
    distance: Any = "kl"
    metrics: tuple[MetricSpec, ...] = ()
    decision: Decision | None = None
    refit: bool = False
    duplicates: str = "keep"
    groups: bool = False
    slices: bool = False
    #: Whether the split is user-defined.
    validation: bool = False
    #: Whether the classifiers are prefit, and whether a primary rule is set for them.
    prefit: bool = False
    primary: bool = False
    #: Whether scores of prefit classifiers are available.
    scores: bool = False

    @property
    def why_no_primary(self) -> str | None:
        """Reason why there is no primary rule, or None."""
        if self.prefit:
            return None if self.primary else "there is no [primary]"
        if self.split != SHARED:
            return "with {split} every row is a validation row of some classifier"
        return "{cv} omits the cross-validation that fixes it" if self.cv is None else None

    @property
    def why_no_training_rows(self) -> str | None:
        """Reason why the training rows cannot be used, or None."""
        return "the training rows of prefit classifiers are unknown" if self.prefit else self.why_no_primary

    @property
    def why_no_scores(self) -> str | None:
        """Reason why the primary rule has no scores, on training rows too if the decision requires them; else None."""
        if self.prefit and isinstance(self.decision, PredictionSet):
            return self.why_no_level
        return self.why_no_training_rows or self.why_no_level

    @property
    def why_no_probabilities(self) -> str | None:
        """Reason why there are no scores for the AUC, or None."""
        if self.prefit:
            return None if self.scores else "there are none; use certify_predictions with y_score"
        if self.voting not in (AUTO, SOFT):
            return "with {voting} there are none"
        return self.why_no_scores

    @property
    def why_no_level(self) -> str | None:
        """Reason why no primary rule is tested, or None."""
        if self.why_no_primary is None and self.hedge == 1:
            return "{hedge} leaves no share of delta for it"
        return self.why_no_primary

    @property
    def unsupported_refit_metric(self) -> str:
        """The first metric that cannot be bounded after a refit; empty if there is none."""
        return next((repr(spec.name) for spec in self.metrics if spec.name not in COVERED_METRICS), "")

    @property
    def resolved_hedge(self) -> float:
        """The hedge with "auto" resolved; 0 for a decision on the soft vote, which has no alternatives."""
        share = resolve_hedge(self.hedge, self.why_no_primary)
        return 0.0 if isinstance(self.decision, NEEDS_SOFT) and share < 1.0 else share

    def validate(self, words: Words = python_words) -> None:
        """Raise for the first incompatible combination, with parameters as in Python or on the command line.

        Examples
        --------
        >>> Choices(voting="soft", cv=None).validate()
        Traceback (most recent call last):
        ValueError: voting='soft' requires a primary rule, but cv=None omits the cross-validation that fixes it
        """
        for applies, template in INCOMPATIBLE:
            if applies(self):
                raise ValueError(self._fill(template, words))

    def _fill(self, template: str, words: Words) -> str:
        """Fill in parameters: ``{name}`` with the value, ``[name]`` without, ``<name>`` for a reason."""

        def word(match: re.Match[str]) -> str:
            with_value, alone, reason = match.groups()
            if reason:
                return self._fill(getattr(self, reason), words)
            return words(alone) if alone else words(with_value, getattr(self, with_value))

        return re.sub(r"\{(\w+)\}|\[(\w+)\]|<(\w+)>", word, template)


def _as_list(distance: Any) -> list[Any]:
    return list(distance) if isinstance(distance, list | tuple) else [distance]


#: Conditions and templates of error messages.
INCOMPATIBLE: tuple[tuple[Callable[[Choices], Any], str], ...] = (
    (
        lambda c: c.hedge not in (AUTO, 1) and c.why_no_primary,
        "{hedge} requires a primary rule, but <why_no_primary>: [hedge] must be 'auto' or 1",
    ),
    (
        lambda c: isinstance(c.decision, NEEDS_SOFT) and c.voting not in (AUTO, SOFT),
        "{decision} cannot be combined with {voting}: it requires the probabilities of the soft vote",
    ),
    (lambda c: c.voting == SOFT and c.why_no_scores, "{voting} requires a primary rule, but <why_no_scores>"),
    (lambda c: c.decision is not None and c.why_no_scores, "{decision} requires a primary rule, but <why_no_scores>"),
    (lambda c: c.metrics and c.why_no_level, "[metrics] require a primary rule, but <why_no_level>"),
    (
        lambda c: any(spec.name == AUC for spec in c.metrics) and c.why_no_probabilities,
        "'auc' among [metrics] requires probabilities or scores, but <why_no_probabilities>",
    ),
    (
        lambda c: c.metrics and c.decision is not None,
        "[metrics] cannot be combined with {decision}, which uses all of delta",
    ),
    (lambda c: c.refit and c.why_no_scores, "{refit} requires a primary rule, but <why_no_scores>"),
    (
        lambda c: c.refit and c.voting not in (AUTO, *VOTINGS),
        "{refit} cannot be combined with {voting}, whose predictions are random",
    ),
    (
        lambda c: c.refit and c.decision is not None,
        "{refit} cannot be combined with {decision}: its threshold is for the certified vote only",
    ),
    (
        lambda c: c.refit and c.unsupported_refit_metric,
        f"[metrics] with {{refit}} must be among {', '.join(COVERED_METRICS)}, got "
        "<unsupported_refit_metric>: only means of losses carry over to covered predictions",
    ),
    (
        lambda c: isinstance(c.prior, str) and c.prior == CROSS_VALIDATION and c.why_no_training_rows,
        "{prior} is computed on the training rows, but <why_no_training_rows>: use another prior",
    ),
    (
        lambda c: (
            any(isinstance(name, str) and name == CATONI for name in _as_list(c.distance)) and c.why_no_training_rows
        ),
        "{distance} computes C on the training rows, but <why_no_training_rows>: fix C, as in [distance]='catoni(0.4)'",
    ),
    (
        lambda c: c.duplicates == "together" and c.groups,
        "{duplicates} cannot be combined with [groups]: equal rows of different groups are not one example, and "
        "duplicates within a group do not matter",
    ),
    (
        lambda c: c.groups and c.decision is not None,
        "{decision} cannot be combined with [groups]: it requires independent rows",
    ),
    (
        lambda c: c.groups and any(not METRICS[spec.name].groups for spec in c.metrics),
        "with [groups], only error rates and costs can be bounded among [metrics]",
    ),
    (
        lambda c: c.slices and not any(spec.name == "error" for spec in c.metrics),
        "[slices] require bounds on error rates: set metrics=('error',)",
    ),
    (
        lambda c: c.validation and c.split != SHARED,
        "[validation] cannot be combined with {split}: every row is a validation row of some classifier",
    ),
)
