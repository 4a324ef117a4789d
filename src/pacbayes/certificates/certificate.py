"""A certificate: what is guaranteed, for which classifier, at which level, under which assumptions, and beside what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import (
    PLURAL,
    card,
    format_level,
    format_up,
    percent_up,
)
from pacbayes.certificates import sentences
from pacbayes.certificates.decisions import SelectiveResult, ThresholdResult
from pacbayes.certificates.metric_bounds import MetricBound, with_class_shares, with_slice_shares
from pacbayes.certificates.monitor import Monitor, Wrong, count_wrong
from pacbayes.certificates.voting import OCCAM, POSTERIOR

#: Which rows recommended the rule: those that train, before any other was looked at, or those that validate.
TRAINING, VALIDATION = "training rows", "validation rows"
#: Of classifiers trained elsewhere: nobody knows which rows, but none that validates.
PRESPECIFIED = "fixed beforehand"
#: Rules whose weights the validation rows find; they only pick among the others.
FOUND = (POSTERIOR, OCCAM)


@dataclass(frozen=True)
class Claim:
    """A bound on the risk of one rule, at the level that the rule was given.

    The levels of all claims for one way of predicting sum to at most delta, so that they hold at once with
    probability 1 - delta, and with them the smallest.

    See Also
    --------
    Certificate : Made of the claim with the smallest bound; the others are its `alternatives`.

    Examples
    --------
    >>> print(Claim("primary", "training rows", 0.045, 0.0623, 0.0387, 0.0, "binomial", "The exact binomial limit."))
    primary: at most 6.3 %, at level 0.045
    """

    #: Which rule: "primary", "posterior", "Occam", or the name of another vote.
    rule: str
    #: Which rows recommended it: "training rows" or "validation rows"; of sets from elsewhere "fixed beforehand".
    source: str
    #: The bound fails with at most this probability.
    level: float
    #: The upper bound, rounded up, at most 1.
    bound: float
    #: L, the share of validation errors it was computed from.
    empirical_risk: float
    #: K, the divergence from the prior; 0 for one rule alone.
    kl: float
    #: The distance of the PAC-Bayesian bound; "binomial" for the exact limit, "bet" or "chernoff" for that of groups.
    distance: str
    #: Where the number comes from.
    theorem: str
    #: A lower bound that holds at once with the upper one, or None.
    lower: float | None = None

    def __str__(self) -> str:
        return f"{self.rule}: at most {percent_up(self.bound)}, at level {format_level(self.level)}"


@dataclass(frozen=True)
class Missed:
    """How many validation rows of one class got another answer.

    See Also
    --------
    Certificate : Its `missed` has one for each class.

    Examples
    --------
    >>> print(Missed("late", 21, 16))
    Of 21 validation rows of class 'late' it missed 16.
    """

    of: Any
    #: Of random choices both are means.
    rows: float
    missed: float

    def __str__(self) -> str:
        return sentences.missed_text(self)

    def hides_minority_class(self, bound: float) -> bool:
        """Whether a bound of all errors says too little: of this class half are missed, or a fifth and far more."""
        share = self.missed / max(self.rows, 1)
        return share >= 0.5 or share >= max(0.2, 2.0 * bound)


# The baseline that every certificate is compared with in words.
CONSTANT = "most frequent class"


@dataclass(frozen=True)
class Baseline:
    """What another method guarantees from the same data.

    See Also
    --------
    Certificate : What it stands beside.

    References
    ----------
    .. [1] J. Langford, "Tutorial on practical prediction theory for classification", Journal of Machine Learning
       Research 6, 2005.

    Examples
    --------
    >>> print(Baseline(0.1074, 0.0704, "one classifier, chosen by cross-validation"))
    at most 10.8 % (7.0 % of the validation rows): one classifier, chosen by cross-validation
    >>> print(Baseline(None, None, "every row validates some classifier"))
    not available: every row validates some classifier
    """

    #: Its upper bound, rounded up; None where the method is not available.
    bound: float | None
    #: The share of validation errors behind it.
    empirical_risk: float | None
    #: Which classifier it is for, and how it was chosen; or why there is none.
    note: str
    #: What the shares are of, as in the certificate it is compared with.
    unit: str = "example"

    def __str__(self) -> str:
        return sentences.baseline_text(self)

    @property
    def seen(self) -> str:
        """The share of validation errors in brackets, as it stands behind the bound."""
        return sentences.baseline_seen(self)


@dataclass(frozen=True, repr=False)
class Certificate:
    """An upper bound on the share of new examples a classifier gets wrong, and what it rests on.

    See Also
    --------
    StochasticSVC : SVMs with certificates.
    CertifiedClassifier : Any classifiers with certificates.
    Baseline : What other methods guarantee.
    pacbayes.certificates.certify : From a posterior to its certificates.

    References
    ----------
    .. [1] M. Seeger, "PAC-Bayesian generalisation error bounds for Gaussian process classification", Journal of Machine
       Learning Research 3, 2002.
    .. [2] P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk bounds for the majority vote: from a
       PAC-Bayesian analysis to a learning algorithm", Journal of Machine Learning Research 16, 2015.
    .. [3] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> certificate = Certificate(
    ...     bound=0.0866, lower=0.012, delta=0.05, m=284, distance="kl", empirical_risk=0.0401, kl=0.8,
    ...     holds_for="the stochastic classifier", theorem="PAC-Bayes-kl",
    ... )
    >>> print(certificate)
    With probability at least 95 %, the stochastic classifier errs on at most 8.7 % of new examples.
    Its classifiers erred on 4.0 % of 284 validation rows, on average.
    explain() says what this rests on.
    >>> certificate
    Certificate(bound=0.0866, the stochastic classifier; kl, m=284, delta=0.05)
    >>> certificate.vacuous
    False

    Where always answering the most frequent class has a bound as small, or a class is mostly missed, that is said:

    >>> always = {"most frequent class": Baseline(0.0118, 0.006, "majority class of the training rows ('no')")}
    >>> noise = Certificate(0.0164, None, 0.05, 1000, "binomial", 0.006, 0.0, "the classifier", "Exact.",
    ...     baselines=always, missed=(Missed("no", 994, 0), Missed("yes", 6, 6)))
    >>> print(noise)
    With probability at least 95 %, the classifier errs on at most 1.7 % of new examples.
    It erred on 6 of 1000 validation rows.
    That is no better than the majority class of the training rows ('no'): error rate at most 1.2 %.
    Of 6 validation rows of class 'yes' it missed 6.
    explain() says what this rests on.
    """

    #: The share of errors on new examples is at most this; rounded up, at most 1.
    bound: float
    #: It is at least this; the two hold together, with the same probability.  None where nothing is guaranteed.
    lower: float | None
    #: The guarantee fails with at most this probability over the sample.
    delta: float
    #: Validation examples, or groups (see `unit`), behind each classifier's empirical risk.
    m: int
    #: The distance of the PAC-Bayesian bound; "binomial" for the exact limit, "bet" or "chernoff" for that of groups.
    distance: str
    #: L, the share of validation errors the bound was computed from.
    empirical_risk: float
    #: K, the divergence from the prior.
    kl: float
    #: The classifier it holds for.
    holds_for: str
    #: Where the number comes from.
    theorem: str
    #: Which rows were used for what, and what must hold outside the data.
    assumptions: tuple[str, ...] = ()
    #: What other methods guarantee from the same data, by name.
    baselines: dict[str, Baseline] = field(default_factory=dict)
    #: What was drawn, and what the shares are of: "example", "distinct example" (copies count once) or "group".
    unit: str = "example"
    #: Validation rows that equal a training row in features and class, None where that is not known.
    copies: int | None = None
    #: The rule that predicts, because it has the smallest bound of those that shared delta: "primary", "posterior",
    #: "Occam" or the name of a vote.
    rule: str = "posterior"
    #: Its share of delta, at which the bound was computed; None where a certificate was made by hand.
    level: float | None = None
    #: Which rows recommended it: "training rows" or "validation rows"; of sets from elsewhere "fixed beforehand".
    source: str = VALIDATION
    #: What the other rules say, each at its own share of delta; they hold at once with the bound, but for one with a
    #: target, which has all of delta.
    alternatives: tuple[Claim, ...] = ()
    #: Limits of other risks (errors by class, recall, costs, ...) that hold at once with the bound; empty where nobody
    #: asked, or where the rule has none.
    metrics: tuple[MetricBound, ...] = ()
    #: Result of `Abstain`, whose bound is about accepted rows, or of `Threshold`, whose bound is 1; or None.
    decision: SelectiveResult | ThresholdResult | None = None
    #: Whether a refit on all rows predicts: then bound and limits are about answers that are covered, which the
    #: certified classifier gives too.
    refit: bool = False
    #: What was missed of each class; empty where it is not known, for weights that the validation rows found, or with a
    #: target.
    missed: tuple[Missed, ...] = ()
    #: The class that matters, of which the words always say how many were missed; None where nobody said so.
    positive: Any = None

    def with_class_shares(self, shares: dict[Any, float]) -> MetricBound:
        r"""Return the limit of the errors where classes have other, known shares than where the rows come from.

        What examples of a class look like must be the same; then the errors are :math:`\sum_c w_c r_c`.  The limit
        follows from those of the classes, which must have been asked for (``metrics=("error",)``, "recall" or
        "balanced_error"), and holds at once with the bound, for all shares at once: they may be chosen afterwards.

        Parameters
        ----------
        shares : dict
            The share of every class, with the sum 1.

        Returns
        -------
        MetricBound

        Examples
        --------
        >>> ill = MetricBound("error", "ill", "upper", 0.2, 2, 40, "class")
        >>> metrics = (ill, MetricBound("error", "well", "upper", 0.1, 3, 60, "class"))
        >>> found = Certificate(0.2, None, 0.05, 100, "binomial", 0.05, 0.0, "it", "Exact.", metrics=metrics)
        >>> print(found.with_class_shares({"ill": 0.3, "well": 0.7}))
        error with the shares 'ill': 0.3, 'well': 0.7: errs on at most 13.1 %; 5 errors on 100 validation rows
        """
        return with_class_shares(self.metrics, shares, self.unit)

    def with_slice_shares(self, shares: dict[Any, float]) -> MetricBound:
        r"""Bound the error rate for other, known shares of the slices than in the validation rows.

        The error rate within each slice must stay the same; the error rate is then :math:`\sum_s q_s r_s`, equation
        (slice-shares).  The bound follows from those of the slices (``metrics=("error",)`` and `slices` at the fit).
        It holds jointly with the certificate and for all shares simultaneously, so that they may be chosen afterwards.

        Parameters
        ----------
        shares : dict
            The share of every slice; they sum to 1.

        Returns
        -------
        MetricBound

        Examples
        --------
        >>> north = MetricBound("error", "north", "upper", 0.2, 2, 40, "slice")
        >>> metrics = (north, MetricBound("error", "south", "upper", 0.1, 3, 60, "slice"))
        >>> found = Certificate(0.2, None, 0.05, 100, "binomial", 0.05, 0.0, "it", "Exact.", metrics=metrics)
        >>> round(found.with_slice_shares({"north": 0.5, "south": 0.5}).bound, 3)
        0.15
        """
        return with_slice_shares(self.metrics, shares, self.unit)

    def monitor(self, alpha: float = 0.01, *, wrong: Wrong = count_wrong) -> Monitor:
        """Return what watches whether the certificate holds for rows that arrive, from predictions and true labels.

        Parameters
        ----------
        alpha : float, default=0.01
            If the certificate is true and nothing changes, an alarm is ever seen with at most this probability.
        wrong : callable, optional
            What makes errors of the arguments of `Monitor.update`; these are y_true and y_pred by default.

        Returns
        -------
        Monitor
            It has seen no row yet.  With a target, or after a refit, use `monitor` of the model instead: labels do not
            show which rows it accepts, or covers.

        See Also
        --------
        Monitor : Where the evidence comes from, and what an alarm means.

        Examples
        --------
        >>> found = Certificate(0.05, None, 0.05, 300, "binomial", 0.03, 0.0, "the classifier", "Exact.")
        >>> found.monitor().update(y_true=["no"] * 90, y_pred=["no"] * 80 + ["yes"] * 10).alarm_at
        87
        """
        if isinstance(self.decision, ThresholdResult):
            raise ValueError("there is nothing to watch: a threshold's certificate has no limit of the errors")
        if isinstance(self.decision, SelectiveResult) and not self.decision.passed:
            raise ValueError("there is nothing to watch: the certificate's classifier answers no example")
        if (self.refit or isinstance(self.decision, SelectiveResult)) and wrong is count_wrong:
            some = "covered answers" if self.refit else "the rows that the model accepts"
            raise ValueError(f"the certificate is about {some}, which labels do not show: use monitor() of the model")
        about = (
            self.holds_for if not isinstance(self.decision, SelectiveResult) else f"{self.holds_for}, where it answers"
        )
        about = "the refit, whose covered answers count" if self.refit else about
        # Of numbers alone: the words may change between versions.
        counts = [[str(one.of), one.rows, one.missed] for one in self.missed]
        numbers = fingerprint([self.bound, self.delta, self.m, self.empirical_risk, self.kl, self.rule, counts])
        return Monitor(self.bound, alpha, unit=self.unit, about=about, wrong=wrong, fingerprint=numbers)

    @property
    def abstains(self) -> bool:
        """Whether the bound is about accepted rows only: the decision is `Abstain`."""
        return isinstance(self.decision, SelectiveResult)

    @property
    def vacuous(self) -> bool:
        """Whether nothing is said: the bound is 1, or no threshold reached its target."""
        return self.bound >= 1.0 if not isinstance(self.decision, ThresholdResult) else not self.decision.passed

    @property
    def main_assumption(self) -> str:
        """The assumption that fails first in practice, in a sentence: independence.  Empty where nothing is said."""
        said = next((one for one in self.assumptions if "independent draws" in one), "")
        return said and f"This assumes that {said[0].lower()}{said[1:]}"

    @property
    def constant(self) -> Baseline | None:
        """The baseline of always answering the most frequent class, None where it has no bound."""
        found = self.baselines.get(CONSTANT)
        return None if found is None or found.bound is None else found

    @property
    def origin(self) -> str:
        """What fixed the rule that predicts, and where that is something else, what picked it."""
        return sentences.origin(self, self.rule in FOUND)

    @property
    def beats_baseline(self) -> bool | None:
        """Whether the bound is below that of always answering the most frequent class; None where this is not known.

        Both bounds hold at the same level and rest on equally many validation rows.  After a refit the bound is about
        covered answers alone: that it is smaller says nothing of all.
        """
        if self.constant is None or self.constant.bound is None or isinstance(self.decision, SelectiveResult):
            return None
        smaller = self.bound < self.constant.bound
        return None if smaller and self.refit else smaller

    @property
    def headline(self) -> str:
        """The bound in the fewest words, with a warning where always giving the same answer does as well.

        Examples
        --------
        >>> Certificate(0.0164, None, 0.05, 1000, "kl", 0.006, 0.0, "the classifier", "PAC-Bayes.").headline
        'At most 1.7 % errors'
        """
        return sentences.certificate_headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings, lists and dicts, ready for JSON."""
        properties = {"vacuous": self.vacuous, "beats_baseline": self.beats_baseline}
        found = asdict(self)
        lists = {name: list(found[name]) for name in ("assumptions", "alternatives", "metrics")}
        decision = {"decision": None if self.decision is None else self.decision.to_dict()}
        return found | lists | decision | properties

    @property
    def sentence(self) -> str:
        """What is guaranteed, in one sentence."""
        return sentences.certificate_sentence(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """What everybody should know: the guarantee, what was seen, and the class that it says too little of."""
        return sentences.certificate_lines(self)

    @property
    def worse_than_baseline(self) -> str:
        """Say that always giving the same answer does as well; empty if it does not, or if that is not known."""
        return sentences.worse_than_baseline(self)

    @property
    def minority_class_missed(self) -> Missed | None:
        """The class that is missed most, where the bound says too little of it; None where it does not."""
        worst = max(self.missed, key=lambda one: one.missed / max(one.rows, 1), default=None)
        return None if worst is None or not worst.hides_minority_class(self.bound) else worst

    def __str__(self) -> str:
        return "\n".join((*self.lines, *(one.sentence for one in self.metrics), "explain() says what this rests on."))

    def __repr__(self) -> str:
        beside = "" if self.constant is None else f"; {CONSTANT} {format_up(self.constant.bound or 0.0, 4)}"
        whom = f"covered answers of a refit, {self.holds_for}" if self.refit else self.holds_for
        return (
            f"Certificate(bound={format_up(self.bound, 4)}, {whom}; {self.distance}, m={self.m}, "
            f"delta={self.delta:g}{beside})"
        )

    def _repr_html_(self) -> str:
        facts = {
            f"validation {PLURAL[self.unit]} m": str(self.m),
            "validation risk L": format_up(self.empirical_risk, 4),
            "divergence K": format_up(self.kl, 4),
            "δ": f"{self.delta:g}",
            "where it comes from": self.theorem,
        }
        facts |= {one.label: str(one).partition(": ")[2] for one in self.metrics}
        if self.alternatives:
            facts["which rule"] = f"{self.rule}, {self.origin}"
            facts["other rules"] = "; ".join(map(str, self.alternatives))
        facts |= {name: str(baseline) for name, baseline in self.baselines.items()}
        return card(self.headline, self.lines, facts)

    def explain(self) -> str:
        """Return the certificate, then in detail where it comes from, its assumptions and baselines, one to a line.

        Examples
        --------
        >>> print(Certificate(0.2, 0.0, 0.05, 50, "kl", 0.1, 0.0, "the classifier", "PAC-Bayes.").explain())
        With probability at least 95 %, the classifier errs on at most 20.1 % of new examples.
        Its classifiers erred on 10.0 % of 50 validation rows, on average.
        Details:
        PAC-Bayes.
        Under the same guarantee, it errs on at least 0.0 %.
        """
        return sentences.certificate_explained(self)
