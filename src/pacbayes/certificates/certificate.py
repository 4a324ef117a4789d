"""Certificates: the guarantee, the classifier it holds for, its level, assumptions, alternatives and baselines."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL, format_level, format_rounded_up, html_card, percent_up
from pacbayes.certificates import sentences
from pacbayes.certificates.decisions import SelectiveResult, ThresholdResult
from pacbayes.certificates.metric_bounds import MetricBound, slices_below, with_class_shares, with_slice_shares
from pacbayes.certificates.monitor import Monitor, Wrong, count_wrong
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.voting import OCCAM, POSTERIOR

#: Rows on which a rule was chosen.
TRAINING, VALIDATION = "training rows", "validation rows"
#: Value of `source` for the primary rule of prefit classifiers.
PRESPECIFIED = "fixed before validation"
#: Rules that are optimised on the validation rows; other alternatives are only chosen there.
OPTIMISED = (POSTERIOR, OCCAM)


@dataclass(frozen=True)
class Claim:
    """Upper confidence bound of the error rate of one rule, at its share of delta.

    The levels of all claims of one voting rule sum to at most delta: they hold jointly with probability 1 - delta, and
    so does the smallest.

    See Also
    --------
    Certificate : The claim with the smallest bound; the others are its `alternatives`.

    Examples
    --------
    >>> print(Claim("primary", "training rows", 0.045, 0.0623, 0.0387, 0.0, "binomial", "The exact binomial bound."))
    primary: at most 6.3 %, at level 0.045
    """

    #: The rule: "primary", "posterior", "Occam", or the name of another vote.
    rule: str
    #: How it was chosen: on "training rows", on "validation rows", or, if prefit, "fixed before validation".
    source: str
    #: Maximum probability that the bound fails.
    level: float
    #: The upper bound, rounded up, at most 1.
    bound: float
    #: Error rate L of the rule on the validation rows.
    empirical_risk: float
    #: Divergence K from the prior; 0 for a fixed rule.
    kl: float
    #: The distance of a PAC-Bayes bound; "binomial" for the exact bound; "bet" or "chernoff" for groups.
    distance: str
    #: The source of the bound.
    theorem: str
    #: Simultaneous lower bound, or None.
    lower: float | None = None

    def __str__(self) -> str:
        return f"{self.rule}: at most {percent_up(self.bound)}, at level {format_level(self.level)}"


@dataclass(frozen=True)
class Missed:
    """Number of misclassified validation rows of a class.

    See Also
    --------
    Certificate : Its `missed` has an entry for each class.

    Examples
    --------
    >>> print(Missed("late", 21, 16))
    Class 'late': 16 of 21 validation rows misclassified.
    """

    of: Any
    #: Numbers of validation rows and of misclassified ones; means for random draws.
    rows: float
    missed: float

    def __str__(self) -> str:
        return sentences.missed_text(self)

    def hides_minority_class(self, bound: float) -> bool:
        """Whether half of the class is misclassified, or a fifth if this is at least twice the bound."""
        share = self.missed / max(self.rows, 1)
        return share >= 0.5 or share >= max(0.2, 2.0 * bound)


#: Name of the majority-class baseline.
MAJORITY_CLASS = "majority class"


@dataclass(frozen=True)
class Baseline:
    """Bound of another method on the same data, for comparison.

    See Also
    --------
    Certificate : Its `baselines` contain these.

    References
    ----------
    .. [1] J. Langford, "Tutorial on practical prediction theory for classification", Journal of Machine Learning
       Research 6, 2005.

    Examples
    --------
    >>> print(Baseline(0.1074, 0.0704, "one classifier, chosen by cross-validation"))
    at most 10.8 % (7.0 % errors on the validation rows): one classifier, chosen by cross-validation
    >>> print(Baseline(None, None, "every row is a validation row of some classifier"))
    not available: every row is a validation row of some classifier
    """

    #: Upper bound, rounded up; None if the method is not available.
    bound: float | None
    #: Error rate on the validation rows.
    empirical_risk: float | None
    #: The classifier and how it was chosen, or why it is not available.
    note: str
    #: Sampling unit of the certificate.
    unit: str = "example"

    def __str__(self) -> str:
        return sentences.baseline_text(self)

    @property
    def observed(self) -> str:
        """The observed error rate in brackets."""
        return sentences.baseline_observed(self)


@dataclass(frozen=True, repr=False)
class Certificate:
    """Upper confidence bound of a classifier's error rate on new examples, with its assumptions.

    See Also
    --------
    StochasticSVC : SVMs with certificates.
    CertifiedClassifier : Any classifiers with certificates.
    Baseline : Guarantee of another method.
    pacbayes.certificates.certify : Compute certificates from plan, predictions and posterior.

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
    With 95 % confidence, the error rate of the stochastic classifier on new examples is at most 8.7 %.
    4.0 % errors on 284 validation rows, averaged over the classifiers.
    Assumes that rows are independent (see explain()).
    >>> certificate
    Certificate(bound=0.0866, the stochastic classifier; kl, m=284, delta=0.05)
    >>> certificate.vacuous
    False

    The text warns if the bound does not beat the majority-class baseline, or if it hides a class that is mostly missed:

    >>> baselines = {"majority class": Baseline(0.0118, 0.006, "majority-class baseline ('no')")}
    >>> noise = Certificate(0.0164, None, 0.05, 1000, "binomial", 0.006, 0.0, "the classifier", "Exact.",
    ...     baselines=baselines, missed=(Missed("no", 994, 0), Missed("yes", 6, 6)))
    >>> print(noise)
    With 95 % confidence, the error rate of this classifier on new examples is at most 1.7 %.
    6 errors on 1000 validation rows. No better than the majority-class baseline ('no'): at most 1.2 %.
    Class 'yes': 6 of 6 validation rows misclassified.
    Assumes that rows are independent (see explain()).
    """

    #: Upper bound of the error rate on new examples, rounded up, at most 1.
    bound: float
    #: Simultaneous lower bound, or None.
    lower: float | None
    #: Maximum probability, over the sample, that the guarantee fails.
    delta: float
    #: Validation rows or groups (see `unit`) of each classifier.
    m: int
    #: The distance of a PAC-Bayes bound; "binomial" for the exact bound; "bet" or "chernoff" for groups.
    distance: str
    #: Error rate L on the validation rows.
    empirical_risk: float
    #: Divergence K from the prior.
    kl: float
    #: The certified classifier.
    holds_for: str
    #: The source of the bound.
    theorem: str
    #: Assumptions, including the use of the rows.
    assumptions: tuple[str, ...] = ()
    #: Guarantees of other methods from the same data, by name.
    baselines: dict[str, Baseline] = field(default_factory=dict)
    #: Sampling unit: "example", "distinct example" (duplicates count once) or "group".
    unit: str = "example"
    #: Validation rows that equal a training row in features and class; None if unknown.
    copies: int | None = None
    #: The rule used for prediction, which has the smallest bound of the rules that share delta: "primary",
    #: "posterior", "Occam" or the name of a vote.
    rule: str = "posterior"
    #: Share of delta of this rule; None for a certificate that was constructed directly.
    level: float | None = None
    #: How it was chosen: on "training rows", on "validation rows", or, if prefit, "fixed before validation".
    source: str = VALIDATION
    #: Claims of the other rules at their shares of delta.  They hold jointly with the bound, unless there is a
    #: decision, which uses all of delta.
    alternatives: tuple[Claim, ...] = ()
    #: Bounds of the requested metrics, which hold jointly with the bound; empty for a posterior.
    metrics: tuple[MetricBound, ...] = ()
    #: Result of `Abstain` (the bound is for accepted rows), `Threshold` or `PredictionSet` (the bound is 1), or None.
    decision: SelectiveResult | ThresholdResult | SetResult | None = None
    #: Whether the model was refitted on all rows.  Bounds then count errors on covered predictions, on which it agrees
    #: with the certified classifier.
    refit: bool = False
    #: Misclassified validation rows of each class; empty for a posterior and with a decision.
    missed: tuple[Missed, ...] = ()
    #: The positive class, whose misses are always reported; or None.
    positive: Any = None

    def with_class_shares(self, shares: dict[Any, float]) -> MetricBound:
        r"""Bound the error rate on a population with other class shares.

        The distribution within each class must be the same; the error rate is then :math:`\sum_c w_c r_c`.  The bound
        follows from those of the classes, which require ``metrics=("error",)``, "recall" or "balanced_error".  It holds
        jointly with the certificate and for all shares simultaneously, which may be chosen after validation.

        Parameters
        ----------
        shares : dict
            The share of every class; they sum to 1.

        Returns
        -------
        MetricBound

        Examples
        --------
        >>> ill = MetricBound("error", "ill", "upper", 0.2, 2, 40, "class")
        >>> metrics = (ill, MetricBound("error", "well", "upper", 0.1, 3, 60, "class"))
        >>> certificate = Certificate(0.2, None, 0.05, 100, "binomial", 0.05, 0.0, "it", "Exact.", metrics=metrics)
        >>> print(certificate.with_class_shares({"ill": 0.3, "well": 0.7}))
        error rate with the shares 'ill': 0.3, 'well': 0.7: at most 13.1 %; 5 errors on 100 validation rows
        """
        return with_class_shares(self.metrics, shares, self.unit)

    def with_slice_shares(self, shares: dict[Any, float]) -> MetricBound:
        r"""Bound the error rate for other, known shares of the slices than in the validation rows.

        The error rate within each slice must stay the same; the error rate is then :math:`\sum_s q_s r_s`, equation
        (slice-shares).  The bound follows from those of the slices (``metrics=("error",)`` and `slices` in `fit`).
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
        >>> certificate = Certificate(0.2, None, 0.05, 100, "binomial", 0.05, 0.0, "it", "Exact.", metrics=metrics)
        >>> round(certificate.with_slice_shares({"north": 0.5, "south": 0.5}).bound, 3)
        0.15
        """
        return with_slice_shares(self.metrics, shares, self.unit)

    def slices_below(self, max_error: float) -> tuple[Any, ...]:
        r"""Slices whose error rate is at most `max_error`, by Holm's procedure.

        With probability at least :math:`1 - \delta`, all of them have an error rate of at most `max_error`, which must
        be chosen without the validation rows: equation (holm) of docs/mathematics.md.  This holds jointly with the
        certificate, in place of the bounds of the slices, and finds more slices than these bounds do.  Requires
        ``metrics=("error",)`` and `slices` in `fit`.

        Parameters
        ----------
        max_error : float
            Maximum error rate, between 0 and 1.

        Returns
        -------
        tuple
            Names of slices, in the order of the bounds.

        References
        ----------
        .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
           1979.

        Examples
        --------
        >>> sizes = {"east": (0, 200), "north": (3, 107), "south": (9, 60)}
        >>> metrics = [
        ...     MetricBound("error", name, "upper", 0.2, k, n, "slice", level=0.005) for name, (k, n) in sizes.items()
        ... ]
        >>> certificate = Certificate(0.2, None, 0.05, 300, "binomial", 0.05, 0.0, "it", "Exact.", metrics=metrics)
        >>> certificate.slices_below(0.1)
        ('east', 'north')
        """
        return slices_below(self.metrics, max_error)

    def monitor(self, alpha: float = 0.01, *, wrong: Wrong = count_wrong) -> Monitor:
        """Monitor of the certificate, which tests it on labelled rows as they arrive.

        Parameters
        ----------
        alpha : float, default=0.01
            Maximum probability of any false alarm, ever, while the certificate holds and nothing changes.
        wrong : callable, optional
            Function from the arguments of `Monitor.update` to errors; by default, these are y_true and y_pred.

        Returns
        -------
        Monitor
            With `Abstain` or after a refit, use `monitor` of the model instead: it is not possible to tell
            from labels which predictions are accepted or covered.

        See Also
        --------
        Monitor : The e-values, and how to read an alarm.

        Examples
        --------
        >>> certificate = Certificate(0.05, None, 0.05, 300, "binomial", 0.03, 0.0, "the classifier", "Exact.")
        >>> certificate.monitor().update(y_true=["no"] * 90, y_pred=["no"] * 80 + ["yes"] * 10).alarm_at
        87
        """
        if isinstance(self.decision, ThresholdResult | SetResult):
            decision = type(self.decision.decision).__name__
            raise ValueError(f"a certificate of {decision}(...) cannot be monitored: it has no bound of the error rate")
        if isinstance(self.decision, SelectiveResult) and not self.decision.passed:
            raise ValueError("a certificate that accepts no rows cannot be monitored")
        if (self.refit or self.abstains) and wrong is count_wrong:
            rows = "covered predictions" if self.refit else "accepted rows"
            raise ValueError(
                f"the certificate is about {rows}, which labels do not determine: use monitor() of the model"
            )
        about = f"{self.holds_for}, on accepted rows" if self.abstains else self.holds_for
        about = "covered predictions of the refit" if self.refit else about
        # Fingerprint the numbers only, because the wording may change between versions.
        counts = [[str(missed.of), missed.rows, missed.missed] for missed in self.missed]
        numbers = fingerprint([self.bound, self.delta, self.m, self.empirical_risk, self.kl, self.rule, counts])
        return Monitor(self.bound, alpha, unit=self.unit, about=about, wrong=wrong, fingerprint=numbers)

    @property
    def abstains(self) -> bool:
        """Whether the bound is about accepted rows only: the decision is `Abstain`."""
        return isinstance(self.decision, SelectiveResult)

    @property
    def vacuous(self) -> bool:
        """Whether nothing is guaranteed: the bound is 1, or the decision did not meet its requirements."""
        return self.bound >= 1.0 if self.decision is None else not self.decision.passed

    @property
    def main_assumption(self) -> str:
        """Sentence on the assumption that is violated most often, independence; empty without assumptions."""
        return sentences.main_assumption(self)

    @property
    def majority_class(self) -> Baseline | None:
        """The majority-class baseline; None if it has no bound."""
        baseline = self.baselines.get(MAJORITY_CLASS)
        return None if baseline is None or baseline.bound is None else baseline

    @property
    def origin(self) -> str:
        """How the rule used for prediction was chosen."""
        return sentences.origin(self, self.rule in OPTIMISED)

    @property
    def beats_baseline(self) -> bool | None:
        """Whether the bound is below that of the majority-class baseline; None if unknown.

        Both bounds hold at the same level and use the same number of validation rows.  After a refit, the bound counts
        errors on covered predictions only, so a smaller bound is not comparable.
        """
        if self.majority_class is None or self.majority_class.bound is None or self.abstains:
            return None
        smaller = self.bound < self.majority_class.bound
        return None if smaller and self.refit else smaller

    @property
    def summary_line(self) -> str:
        """Short summary of the bound, with a warning if it does not beat the majority-class baseline.

        Examples
        --------
        >>> Certificate(0.0164, None, 0.05, 1000, "kl", 0.006, 0.0, "the classifier", "PAC-Bayes.").summary_line
        'Error rate at most 1.7 %'
        """
        return sentences.certificate_summary_line(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python numbers, strings, lists and dicts for JSON."""
        properties = {"vacuous": self.vacuous, "beats_baseline": self.beats_baseline}
        values = asdict(self)
        lists = {name: list(values[name]) for name in ("assumptions", "alternatives", "metrics")}
        decision = {"decision": None if self.decision is None else self.decision.to_dict()}
        return values | lists | decision | properties

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        return sentences.certificate_sentence(self)

    @property
    def observations(self) -> tuple[str, ...]:
        """Sentences on observed errors, the majority-class baseline, and often missed classes."""
        return sentences.certificate_observations(self)

    @property
    def text_lines(self) -> tuple[str, ...]:
        """Lines of the text: guarantee, observed errors with the baseline, and misses of a class."""
        return sentences.certificate_text_lines(self)

    @property
    def worse_than_baseline(self) -> str:
        """Warning if the bound does not beat the majority-class baseline; else empty."""
        return sentences.worse_than_baseline(self)

    @property
    def minority_class_missed(self) -> Missed | None:
        """The class with the lowest recall if the overall bound hides it, else None."""
        worst = max(self.missed, key=lambda missed: missed.missed / max(missed.rows, 1), default=None)
        return None if worst is None or not worst.hides_minority_class(self.bound) else worst

    def __str__(self) -> str:
        return sentences.certificate_text(self)

    def __repr__(self) -> str:
        baseline = self.majority_class
        compared = "" if baseline is None else f"; {MAJORITY_CLASS} {format_rounded_up(baseline.bound or 0.0, 4)}"
        classifier = f"covered predictions of a refit, {self.holds_for}" if self.refit else self.holds_for
        return (
            f"Certificate(bound={format_rounded_up(self.bound, 4)}, {classifier}; {self.distance}, m={self.m}, "
            f"delta={self.delta:g}{compared})"
        )

    def _repr_html_(self) -> str:
        facts = {
            f"validation {PLURAL[self.unit]} m": str(self.m),
            "validation risk L": format_rounded_up(self.empirical_risk, 4),
            "divergence K": format_rounded_up(self.kl, 4),
            "δ": f"{self.delta:g}",
            "source": self.theorem,
        }
        if isinstance(self.decision, SetResult):
            facts["mean size of the set"] = sentences.mean_sizes(self.decision)
        if self.alternatives:
            facts["rule"] = f"{self.rule}, {self.origin}"
            facts["alternatives"] = "; ".join(map(str, self.alternatives))
        facts |= {name: str(baseline) for name, baseline in self.baselines.items()}
        return html_card(self.summary_line, (*self.text_lines, *(metric.sentence for metric in self.metrics)), facts)

    def explain(self) -> str:
        """Explain the certificate: its source, assumptions, alternatives and baselines, one per line.

        Examples
        --------
        >>> print(Certificate(0.2, 0.0, 0.05, 50, "kl", 0.1, 0.0, "the classifier", "PAC-Bayes.").explain())
        With 95 % confidence, the error rate of this classifier on new examples is at most 20.1 %.
        10.0 % errors on 50 validation rows, averaged over the classifiers.
        Details:
        PAC-Bayes.
        Simultaneous lower bound: 0.0 %.
        """
        return sentences.certificate_explained(self)
