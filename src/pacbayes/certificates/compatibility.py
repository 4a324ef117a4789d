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

#: Metrics whose bounds hold for covered predictions of a refit: means of non-negative losses.
COVERED_METRICS = ("error", "balanced_error", "cost")
#: Ways of predicting with a single deterministic rule, as a refit needs.
VOTINGS = (SOFT, "majority", "best")
#: Formats a parameter, with or without its value.
Words = Callable[..., str]


def python_words(name: str, *value: Any) -> str:
    """Format a parameter as in Python."""
    return f"{name}={value[0]!r}" if value else name


@dataclass(frozen=True)
class Choices:
    """Parameters that depend on each other, by the names that estimators use."""

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
    #: Whether the classifiers are prefit, and then whether there is a primary one.
    prefit: bool = False
    primary: bool = False
    #: Whether prefit classifiers come with scores.
    scores: bool = False

    @property
    def no_primary(self) -> str | None:
        """Reason why there is no primary rule, or None."""
        if self.prefit:
            return None if self.primary else "there is no [primary]"
        if self.split != SHARED:
            return "with {split} every row is a validation row of some classifier"
        return "{cv} omits the cross-validation that fixes it" if self.cv is None else None

    @property
    def no_training(self) -> str | None:
        """Reason why the training rows cannot be used, or None."""
        return "the training rows of prefit classifiers are unknown" if self.prefit else self.no_primary

    @property
    def no_scores(self) -> str | None:
        """Reason why the primary rule has no scores, or none from the training rows if they are needed, or None."""
        if self.prefit and isinstance(self.decision, PredictionSet):
            return self.no_level
        return self.no_training or self.no_level

    @property
    def no_probabilities(self) -> str | None:
        """Reason why there are no scores for the AUC, or None."""
        if self.prefit:
            return None if self.scores else "there are none; certify_predictions has y_score"
        if self.voting not in (AUTO, SOFT):
            return "with {voting} there are none"
        return self.no_scores

    @property
    def no_level(self) -> str | None:
        """Reason why no primary rule is tested, or None."""
        if self.no_primary is None and self.hedge == 1:
            return "{hedge} leaves it no share of delta"
        return self.no_primary

    @property
    def not_carried(self) -> str:
        """The first metric whose bound does not carry over to a refit; empty if there is none."""
        return next((repr(spec.name) for spec in self.metrics if spec.name not in COVERED_METRICS), "")

    @property
    def resolved_hedge(self) -> float:
        """The hedge with "auto" resolved; 0 with a decision of the soft vote, which has no alternatives."""
        share = resolve_hedge(self.hedge, self.no_primary)
        return 0.0 if isinstance(self.decision, NEEDS_SOFT) and share < 1.0 else share

    def check(self, words: Words = python_words) -> None:
        """Raise for the first incompatible combination, with parameters as in Python or on the command line.

        Examples
        --------
        >>> Choices(voting="soft", cv=None).check()
        Traceback (most recent call last):
        ValueError: voting='soft' needs a primary rule, but cv=None omits the cross-validation that fixes it
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
        lambda c: c.hedge not in (AUTO, 1) and c.no_primary,
        "{hedge} needs a primary rule, but <no_primary>: [hedge] must be 'auto' or 1",
    ),
    (
        lambda c: isinstance(c.decision, NEEDS_SOFT) and c.voting not in (AUTO, SOFT),
        "{decision} is not for {voting}: it is about the probabilities of the soft vote",
    ),
    (lambda c: c.voting == SOFT and c.no_scores, "{voting} needs a primary rule, but <no_scores>"),
    (lambda c: c.decision is not None and c.no_scores, "{decision} needs a primary rule, but <no_scores>"),
    (lambda c: c.metrics and c.no_level, "[metrics] need a primary rule, but <no_level>"),
    (
        lambda c: any(spec.name == AUC for spec in c.metrics) and c.no_probabilities,
        "'auc' among [metrics] needs probabilities or scores, but <no_probabilities>",
    ),
    (
        lambda c: c.metrics and c.decision is not None,
        "[metrics] are not for {decision}, which is tested at the whole of delta",
    ),
    (lambda c: c.refit and c.no_scores, "{refit} needs a primary rule, but <no_scores>"),
    (
        lambda c: c.refit and c.voting not in (AUTO, *VOTINGS),
        "{refit} is not for {voting}, whose predictions are random draws",
    ),
    (
        lambda c: c.refit and c.decision is not None,
        "{refit} is not for {decision}, whose threshold is that of the certified vote",
    ),
    (
        lambda c: c.refit and c.not_carried,
        f"[metrics] with {{refit}} must be among {', '.join(COVERED_METRICS)}, got <not_carried>: only means of "
        "losses carry over to covered predictions",
    ),
    (
        lambda c: isinstance(c.prior, str) and c.prior == CROSS_VALIDATION and c.no_training,
        "{prior} is computed on the training rows, but <no_training>: use another prior",
    ),
    (
        lambda c: any(isinstance(name, str) and name == CATONI for name in _as_list(c.distance)) and c.no_training,
        "{distance} computes C on the training rows, but <no_training>: fix C, as in [distance]='catoni(0.4)'",
    ),
    (
        lambda c: c.duplicates == "together" and c.groups,
        "{duplicates} is not for [groups]: equal rows of different groups cannot be one example, and a group counts "
        "once, whatever duplicates it has",
    ),
    (
        lambda c: c.groups and c.decision is not None,
        "{decision} is not for [groups], whose rows are not independent",
    ),
    (
        lambda c: c.groups and any(not METRICS[spec.name].groups for spec in c.metrics),
        "[metrics] are not for [groups], whose rows are not independent: only error rates and costs have bounds",
    ),
    (
        lambda c: c.slices and not any(spec.name == "error" for spec in c.metrics),
        "[slices] need bounds of error rates: set metrics=('error',)",
    ),
    (
        lambda c: c.validation and c.split != SHARED,
        "[validation] is not for {split}: every row is a validation row of some classifier",
    ),
)
