"""What goes with what: one table of refusals for estimators, plans and the command line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pacbayes.bounds.distances import CATONI
from pacbayes.certificates.decisions import Decision, Threshold
from pacbayes.certificates.levels import AUTO, resolve_hedge
from pacbayes.certificates.metrics import METRICS, MetricSpec
from pacbayes.certificates.primary import CROSS_VALIDATION
from pacbayes.certificates.refit import COVERED_METRICS, VOTINGS
from pacbayes.certificates.voting import SOFT
from pacbayes.data.split import SHARED

#: A parameter in words: its name alone, or with the value that it has.
Words = Callable[..., str]


def python_words(name: str, *value: Any) -> str:
    """Name a parameter as Python does."""
    return f"{name}={value[0]!r}" if value else name


@dataclass(frozen=True)
class Choices:
    """The parameters that depend on each other, by the names that estimators give them."""

    voting: str = AUTO
    hedge: float | str = AUTO
    split: str = SHARED
    cv: int | None = 5
    prior: Any = "uniform"
    distance: Any = "kl"
    metrics: tuple[MetricSpec, ...] = ()
    decision: Decision | None = None
    refit: bool = False
    duplicates: str = "keep"
    groups: bool = False
    slices: bool = False
    #: Whether the user splits the rows.
    validation: bool = False
    #: Whether the classifiers were fitted before, on rows that are not here, and what is proposed then.
    prefit: bool = False
    primary: bool = False

    @property
    def no_primary(self) -> str | None:
        """Why the training rows propose nothing; None where they do."""
        if self.prefit:
            return None if self.primary else "there is no [primary]"
        if self.split != SHARED:
            return "with {split} every row validates some classifier"
        return "{cv} leaves out the cross-validation behind it" if self.cv is None else None

    @property
    def no_training(self) -> str | None:
        """Why nothing comes from the training rows; None where something does."""
        return "the classifiers were trained on rows that are not here" if self.prefit else self.no_primary

    @property
    def no_scores(self) -> str | None:
        """Why there are no scores of the training rows that propose; None where there are."""
        return self.no_training or self.no_level

    @property
    def no_level(self) -> str | None:
        """Why nothing can be tested that was proposed; None where something can."""
        if self.no_primary is None and self.hedge == 1:
            return "{hedge} keeps all of delta for what the validation rows show"
        return self.no_primary

    @property
    def not_carried(self) -> str:
        """The first risk whose limit does not carry over to a refit; nothing where all do."""
        return next((repr(question.name) for question in self.metrics if question.name not in COVERED_METRICS), "")

    @property
    def resolved_hedge(self) -> float:
        """The share of delta in reserve: none with a threshold, as nothing stands beside its soft vote."""
        share = resolve_hedge(self.hedge, self.no_primary)
        return 0.0 if isinstance(self.decision, Threshold) and share < 1.0 else share

    def check(self, words: Words = python_words) -> None:
        """Raise for the first refusal of the table, in the words of Python or of the command line.

        Examples
        --------
        >>> Choices(voting="soft", cv=None).check()
        Traceback (most recent call last):
        ValueError: voting='soft' needs what the training rows propose, but cv=None leaves out the cross-validation
        behind it
        """
        for refused, sentence in _REFUSALS:
            if refused(self):
                raise ValueError(self._worded(sentence, words))

    def _worded(self, sentence: str, words: Words) -> str:
        """Fill in parameters: ``{name}`` with the value, ``[name]`` without, ``<name>`` for a reason."""

        def word(match: re.Match[str]) -> str:
            with_value, alone, reason = match.groups()
            if reason:
                return self._worded(getattr(self, reason), words)
            return words(alone) if alone else words(with_value, getattr(self, with_value))

        return re.sub(r"\{(\w+)\}|\[(\w+)\]|<(\w+)>", word, sentence)


def _names(distance: Any) -> list[Any]:
    return list(distance) if isinstance(distance, list | tuple) else [distance]


_REFUSALS: tuple[tuple[Callable[[Choices], Any], str], ...] = (
    (
        lambda c: c.hedge not in (AUTO, 1) and c.no_primary,
        "{hedge} keeps a part of delta for a rule that is proposed beforehand, but <no_primary>: [hedge] must be "
        "'auto' or 1",
    ),
    (
        lambda c: isinstance(c.decision, Threshold) and c.voting not in (AUTO, SOFT),
        "{decision} is not for {voting}: a threshold is one of the soft vote's probability",
    ),
    (lambda c: c.voting == SOFT and c.no_scores, "{voting} needs what the training rows propose, but <no_scores>"),
    (
        lambda c: c.decision is not None and c.no_scores,
        "{decision} needs what the training rows propose, but <no_scores>",
    ),
    (lambda c: c.metrics and c.no_level, "[metrics] need what is proposed beforehand, but <no_level>"),
    (
        lambda c: c.metrics and c.decision is not None,
        "[metrics] are not for {decision}, which is tested at all of delta",
    ),
    (lambda c: c.refit and c.no_scores, "{refit} needs what the training rows propose, but <no_scores>"),
    (
        lambda c: c.refit and c.voting not in (AUTO, *VOTINGS),
        "{refit} is not for {voting}: a random choice is another one for every row, and only its average is bounded",
    ),
    (
        lambda c: c.refit and c.decision is not None,
        "{refit} is not for {decision}: what was tested belongs to the certified vote",
    ),
    (
        lambda c: c.refit and c.not_carried,
        f"[metrics] with {{refit}} must be among {', '.join(COVERED_METRICS)}, got <not_carried>: only losses of "
        "single predictions carry over to those that are covered",
    ),
    (
        lambda c: isinstance(c.prior, str) and c.prior == CROSS_VALIDATION and c.no_training,
        "{prior} comes from the training rows, but <no_training>: give another prior",
    ),
    (
        lambda c: any(isinstance(one, str) and one == CATONI for one in _names(c.distance)) and c.no_training,
        "{distance} takes its C from the training rows, but <no_training>: fix C beforehand, as in "
        "[distance]='catoni(0.4)'",
    ),
    (
        lambda c: c.duplicates == "together" and c.groups,
        "{duplicates} is not for [groups]: equal rows of different groups cannot be one draw, and a group is counted "
        "once, whatever copies it holds",
    ),
    (
        lambda c: c.groups and c.decision is not None,
        "{decision} is not for [groups]: their rows are not independent, and no such limit is proved",
    ),
    (
        lambda c: c.groups and any(not METRICS[question.name].groups for question in c.metrics),
        "[metrics] are not for [groups], whose rows are not independent: of costs alone limits are proved, for "
        "classifiers that are trained here",
    ),
    (
        lambda c: c.slices and not any(question.name == "error" for question in c.metrics),
        "[slices] are for limits of errors: set metrics=('error',)",
    ),
    (
        lambda c: c.validation and c.split != SHARED,
        "[validation] is not for {split}: every row validates some classifier",
    ),
)
