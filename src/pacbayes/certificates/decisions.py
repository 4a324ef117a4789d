r"""Decisions: requirements instead of a bound on the overall error rate, and their results.

`Abstain`: :math:`a_t` validation rows have at least the confidence `t`, of which :math:`k_t` are wrong: given
:math:`a_t`, binomial with the error rate on accepted rows.  `Threshold`: the positive class is predicted if its
probability is at least `t`.  Given the positive rows (recall), those predicted positive (precision) or the negative
rows (false positive rate), the errors among them are binomial.

`PredictionSet` is calibrated in `certificates/sets.py`.

Thresholds and their order are fixed on the training rows.  A threshold passes if it passes the exact test of every
requirement at the whole of :math:`\delta`; thresholds are tested in order, up to the first failure.  With probability
:math:`1 - \delta`, all thresholds that passed meet all requirements: equation (fixed-sequence) and equation
(threshold-targets) of docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil, isfinite, log, log1p
from typing import Any

import numpy as np

from pacbayes._utils.arrays import Labels
from pacbayes._utils.checks import check_choice, check_number
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import clopper_pearson_upper, to_python_scalar
from pacbayes.certificates.metric_bounds import Cost

AUTO = "auto"
PREFERENCES = (AUTO, "recall", "precision", "f1")


@dataclass(frozen=True)
class Abstain:
    """Selective classification: abstain so that the error rate on accepted rows is certified.

    Parameters
    ----------
    max_error : float
        Maximum error rate on accepted rows, between 0 and 1.

    See Also
    --------
    Threshold : Require recall, precision or false positive rate of one class.
    CertifiedClassifier : Its parameter `decision` accepts this.

    References
    ----------
    .. [1] Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks", NIPS, 2017.

    Examples
    --------
    >>> from pacbayes import Abstain
    >>> Abstain(0.02)
    Abstain(max_error=0.02)
    """

    max_error: float

    def __post_init__(self) -> None:
        """Validate `max_error`."""
        object.__setattr__(self, "max_error", _validate_share("max_error", self.max_error, 0.02))


@dataclass(frozen=True, repr=False)
class Threshold:
    r"""Threshold on the probability of the positive class at which recall, precision or false positives are certified.

    Parameters
    ----------
    recall : float, optional
        Minimum recall of the positive class.
    precision : float, optional
        Minimum precision of the positive class.
    fpr : float, optional
        Maximum false positive rate.
    prefer : {"auto", "recall", "precision", "f1"}
        The threshold to use if several pass.  "precision": the largest; "recall": the smallest; "f1": the one with the
        best F1 on the training rows, in cross-validation.  "auto" is "precision" if only recall is required, "recall"
        if recall is not required, else "f1".
    cost : Cost, optional
        Instead of requirements: the costs of mistakes.  The threshold is the one with the smallest mean cost on the
        training rows, in cross-validation, and the mean cost has a bound.

    See Also
    --------
    Abstain : Require an error rate on accepted rows.
    CertifiedClassifier : Its parameter `decision` accepts this; `pos_label` is the positive class.

    Notes
    -----
    The requirements hold jointly at the threshold in use, with probability at least :math:`1 - \delta`.  Nothing else
    is certified there: a bound at a threshold that was chosen on the same rows would not hold.  The threshold for a
    cost is fixed before validation, so that the mean cost has the betting bound of a single rule, equation (bet) of
    docs/mathematics.md, at the whole of :math:`\delta`.

    References
    ----------
    .. [1] R. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982.
    .. [2] A. Angelopoulos, S. Bates, E. Candes, M. Jordan and L. Lei, "Learn then test: calibrating predictive
       algorithms to achieve risk control", arXiv:2110.01052, 2021.

    Examples
    --------
    >>> from pacbayes import Threshold
    >>> Threshold(recall=0.9, precision=0.7)
    Threshold(recall=0.9, precision=0.7)
    >>> Threshold()
    Traceback (most recent call last):
    ValueError: Threshold requires at least one of recall, precision and fpr, or cost
    """

    recall: float | None = None
    precision: float | None = None
    fpr: float | None = None
    prefer: str = AUTO
    cost: Cost | None = None

    def __post_init__(self) -> None:
        """Validate the requirements or the cost."""
        for name, share in self.required.items():
            object.__setattr__(self, name, _validate_share(name, share, 0.9))
        if self.cost is not None:
            if not isinstance(self.cost, Cost):
                raise TypeError(f"cost must be Cost(...) or None, got {self.cost!r}")
            if len(self.cost.classes) != 2:
                raise ValueError(f"Threshold(cost=...) requires two classes, got a cost for {len(self.cost.classes)}")
            if self.required or self.prefer != AUTO:
                raise ValueError("Threshold(cost=...) cannot be combined with other parameters: it minimises the cost")
        elif not self.required:
            raise ValueError("Threshold requires at least one of recall, precision and fpr, or cost")
        check_choice("prefer", self.prefer, PREFERENCES)

    def __repr__(self) -> str:
        parts = [f"{name}={share!r}" for name, share in self.required.items()]
        parts += [f"prefer={self.prefer!r}"] if self.prefer != AUTO else []
        parts += [f"cost={self.cost!r}"] if self.cost is not None else []
        return f"Threshold({', '.join(parts)})"

    @property
    def required(self) -> dict[str, float]:
        """The required values by metric."""
        values = {name: getattr(self, name) for name in sentences.THRESHOLD_METRICS}
        return {name: share for name, share in values.items() if share is not None}

    @property
    def preferred(self) -> str:
        """The value of `prefer`, with "auto" resolved."""
        if self.prefer != AUTO:
            return self.prefer
        if self.recall is None:
            return "recall"
        return "precision" if len(self.required) == 1 else "f1"

    def format_requirements(self, positive: Any) -> str:
        """Format the requirements.

        Examples
        --------
        >>> Threshold(recall=0.9, fpr=0.05).format_requirements("late")
        "the recall of class 'late' is at least 90.0 % and its false positive rate at most 5.0 %"
        """
        return sentences.requirements(self.required, positive)


@dataclass(frozen=True)
class PredictionSet:
    r"""Prediction sets that contain the true class with a certified probability, the coverage.

    Parameters
    ----------
    coverage : float
        Minimum probability that the set contains the true class, between 0 and 1.
    by_class : bool
        Whether the coverage must hold for the examples of every class, instead of for all examples.

    See Also
    --------
    Abstain : Predict a single class, or nothing.
    certify_sets : Calibrate sets from a table of probabilities.
    CertifiedClassifier : Its parameter `decision` accepts this; `predict_set` returns the sets.

    Notes
    -----
    A set contains the most probable class and those whose probability is at least a threshold.  The threshold is the
    k-th smallest probability of the true class on `m` validation rows, for the largest `k` with

    .. math:: P\big(\mathrm{Bin}(m, 1 - \mathrm{coverage}) \le k - 1\big) \le \delta.

    With probability at least :math:`1 - \delta` over the validation rows, the coverage holds for this threshold, not on
    average over validation sets: equation (prediction-set) of docs/mathematics.md.

    References
    ----------
    .. [1] V. Vovk, "Conditional validity of inductive conformal predictors", Machine Learning 92, 2013.
    .. [2] M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued classifiers with bounded error levels",
       Journal of the American Statistical Association 114, 2019.

    Examples
    --------
    >>> from pacbayes import PredictionSet
    >>> PredictionSet(0.95)
    PredictionSet(coverage=0.95, by_class=False)
    """

    coverage: float = 0.9
    by_class: bool = False

    def __post_init__(self) -> None:
        """Validate `coverage` and `by_class`."""
        object.__setattr__(self, "coverage", _validate_share("coverage", self.coverage, 0.9))
        if not isinstance(self.by_class, bool):
            raise TypeError(f"by_class must be True or False, got {self.by_class!r}")

    @property
    def required(self) -> dict[str, float]:
        """The required values by name."""
        return {"coverage": self.coverage}


def _validate_share(name: str, value: Any, example: float) -> float:
    """Validate a share: a number strictly between 0 and 1."""
    share = check_number(name, value, "a number between 0 and 1, or None")
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1 (a share, such as {example}), got {value!r}")
    return share


Decision = Abstain | Threshold | PredictionSet
#: Decisions that require the probabilities of the soft vote.
NEEDS_SOFT = (Threshold, PredictionSet)


def positive_class_index(pos_label: Any, classes: Labels) -> int:
    """Index of the positive class, the second of two by default.

    Examples
    --------
    >>> classes = np.array(["late", "punctual"])
    >>> positive_class_index(None, classes), positive_class_index("late", classes)
    (1, 0)
    >>> positive_class_index("x", classes)
    Traceback (most recent call last):
    ValueError: pos_label must be one of the classes ['late', 'punctual'], got 'x'
    """
    labels = classes.tolist()
    if len(labels) != 2:
        raise ValueError(
            f"Threshold(...) requires two classes, got {len(labels)}; for more, use Abstain(...) or metrics"
        )
    if pos_label is None:
        return 1
    if pos_label not in labels:
        raise ValueError(f"pos_label must be one of the classes {labels}, got {pos_label!r}")
    return int(labels.index(pos_label))


def max_error_rate(name: str, share: float) -> float:
    """Maximum error share that a requirement allows, rounded down; for recall, of false negatives.

    Examples
    --------
    >>> max_error_rate("fpr", 0.05), max_error_rate("recall", 0.75) < 0.25
    (0.05, True)
    """
    return share if name == "fpr" else float(np.nextafter(1.0 - share, 0.0))


def min_rows_required(name: str, share: float, delta: float) -> int:
    r"""Minimum number of rows to meet a requirement, without any errors: :math:`\log \delta / \log(1 - e)`.

    Examples
    --------
    >>> min_rows_required("recall", 0.9, 0.05), min_rows_required("fpr", 0.05, 0.05)
    (29, 59)
    """
    return ceil(log(delta) / log1p(-max_error_rate(name, share)))


@dataclass(frozen=True)
class SelectiveResult:
    """Result of selective classification with `Abstain`.

    See Also
    --------
    pacbayes.Abstain : The requirement.
    pacbayes.Certificate : Its attribute `decision` is this result.

    Examples
    --------
    >>> passed = SelectiveResult(0.02, 0.75, 300, 273, 1, 12)
    >>> print(passed.claim(0.05, "the vote"))
    With 95 % confidence, the error rate of the vote on the examples that it accepts is at most 2.0 %.
    >>> passed.observed
    '1 error on 273 accepted of 300 validation rows (acceptance rate 91.0 %).'
    >>> failed = SelectiveResult(0.02, None, 300, 0, 0, 1, 0.065)
    >>> print(failed.claim(0.05, "the vote"))  # doctest: +NORMALIZE_WHITESPACE
    The vote accepts no example: no confidence threshold could be certified at 2.0 %. The smallest error rate that would
    have passed is 6.5 %. This is information, not a guarantee.
    """

    #: Required maximum error rate on accepted rows.
    max_error: float
    #: Minimum confidence of accepted examples (minus infinity: all are accepted); None if no threshold passed.
    threshold: float | None
    #: Validation rows.
    m: int
    #: Accepted validation rows.
    accepted: int
    #: Errors among them.
    errors: int
    #: Number of tested thresholds.
    tested: int
    #: If none passed: the smallest error rate, in steps of half a percent, that would have passed; not guaranteed.
    smallest_max_error: float | None = None
    #: Sampling unit of the certificate.
    unit: str = "example"

    @property
    def acceptance_rate(self) -> float:
        """Accepted share of the validation rows."""
        return self.accepted / self.m

    @property
    def passed(self) -> bool:
        """Whether any example is accepted."""
        return self.accepted > 0

    @property
    def summary_line(self) -> str:
        """Short summary of the outcome."""
        return sentences.selective_summary_line(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON.

        JSON has no infinity: the threshold is None if all or no examples are accepted; "passed" tells which.

        Examples
        --------
        >>> values = SelectiveResult(0.2, float("-inf"), 100, 100, 5, 3).to_dict()
        >>> values["threshold"], values["passed"], values["acceptance_rate"]
        (None, True, 1.0)
        """
        finite = self.threshold is not None and isfinite(self.threshold)
        properties = {"passed": self.passed, "acceptance_rate": self.acceptance_rate}
        return asdict(self) | {"threshold": self.threshold if finite else None} | properties

    def claim(self, delta: float, classifier: str) -> str:
        """Sentence with the guarantee for a classifier."""
        return sentences.selective_claim(self, delta, classifier)

    @property
    def details(self) -> list[str]:
        """Sentences on the tests of thresholds."""
        return sentences.selective_details(self)

    @property
    def observed(self) -> str:
        """Sentence on the validation results; empty if nothing is accepted."""
        return sentences.selective_observed(self)


@dataclass(frozen=True)
class ThresholdResult:
    """Result of `Threshold`: the threshold in use, and the counts there.

    See Also
    --------
    pacbayes.Threshold : The requirements.
    pacbayes.Certificate : Its attribute `decision` is this result.

    Examples
    --------
    >>> result = ThresholdResult(Threshold(recall=0.9, precision=0.7), "late", True, 0.3125, 500, 100, 120, 96, 9, 0.05)
    >>> print(result.claim(0.05, "the soft vote"))  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, at the threshold 0.3125 the recall of class 'late' is at least 90.0 % and its precision at
    least 70.0 %.
    >>> failed = ThresholdResult(Threshold(recall=0.9), "late", False, 0.0, 50, 9, 50, 9, 1, 0.05)
    >>> print(failed.claim(0.05, "the vote"))  # doctest: +NORMALIZE_WHITESPACE
    No threshold could be certified at which the recall of class 'late' is at least 90.0 %. Not enough data: a recall of
    90.0 % requires at least 29 validation rows of class 'late', but there are 9; the best possible bound is 71.6 %. The
    vote uses the default threshold.
    """

    #: The requirements.
    decision: Threshold
    #: The positive class.
    positive: Any
    #: Whether a threshold passed.
    passed: bool
    #: Minimum probability to predict the positive class; if none passed, the threshold that was tested first.
    threshold: float
    #: Validation rows: all, those of the positive class, those predicted positive, and the true positives.
    m: int
    positives: int
    predicted_positives: int
    true_positives: int
    #: Number of tested thresholds.
    tested: int
    #: Level of each test.
    delta: float
    #: Sampling unit of the certificate.
    unit: str = "example"
    #: With a cost: the upper bound of the mean cost, and the total on the validation rows.
    cost_bound: float | None = None
    total_cost: float | None = None

    def counts(self, name: str) -> tuple[int, int]:
        """Numbers of rows to which a metric applies, and of errors among them."""
        if name == "recall":
            return self.positives, self.positives - self.true_positives
        return (self.predicted_positives if name == "precision" else self.m - self.positives), self.false_positives

    def error_bound(self, name: str) -> float:
        """Clopper-Pearson upper bound of the error share of a metric at the threshold, valid on its own."""
        rows, errors = self.counts(name)
        return clopper_pearson_upper(errors, rows, self.delta)

    @property
    def recall(self) -> float | None:
        """Observed recall; None without positive rows."""
        return self.true_positives / self.positives if self.positives else None

    @property
    def precision(self) -> float | None:
        """Observed precision; None if no row is predicted positive."""
        return self.true_positives / self.predicted_positives if self.predicted_positives else None

    @property
    def fpr(self) -> float | None:
        """Observed false positive rate; None without negative rows."""
        return self.false_positives / (self.m - self.positives) if self.m > self.positives else None

    @property
    def false_positives(self) -> int:
        """Rows of the other class that are predicted positive."""
        return self.predicted_positives - self.true_positives

    @property
    def unattainable_requirements(self) -> Iterator[tuple[str, int, int, float]]:
        """Yield the requirements that this number of rows cannot meet, even without errors.

        Each comes with the number of rows, the number required, and the smallest error share that can be certified.
        """
        for name, share in self.decision.required.items():
            rows = self.m - self.positives if name == "fpr" else self.positives
            least = clopper_pearson_upper(0, rows, self.delta)
            if least > max_error_rate(name, share):
                yield name, rows, max(min_rows_required(name, share, self.delta), rows + 1), least

    @property
    def errors(self) -> int:
        """Errors on the validation rows at the threshold."""
        return self.positives + self.predicted_positives - 2 * self.true_positives

    @property
    def summary_line(self) -> str:
        """Short summary of the outcome."""
        return sentences.threshold_summary_line(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Examples
        --------
        >>> values = ThresholdResult(Threshold(fpr=0.1), "late", True, 0.5, 100, 20, 10, 9, 3, 0.05).to_dict()
        >>> values["required"], values["recall"], values["threshold"]
        ({'fpr': 0.1}, 0.45, 0.5)
        """
        names = ("passed", "threshold", "m", "positives", "predicted_positives", "true_positives", "tested")
        costs = ("cost_bound", "total_cost")
        return {"required": self.decision.required, "positive": to_python_scalar(self.positive)} | {
            name: getattr(self, name) for name in (*names, *costs, *sentences.THRESHOLD_METRICS)
        }

    def claim(self, delta: float, classifier: str) -> str:
        """Sentence with the guarantee for a classifier."""
        return sentences.threshold_claim(self, delta, classifier)

    @property
    def formatted_threshold(self) -> str:
        """The threshold with four digits."""
        return f"{self.threshold:.4g}"

    @property
    def details(self) -> list[str]:
        """Sentences on the tests of thresholds, and the counts at the threshold."""
        return sentences.threshold_details(self)

    @property
    def observed(self) -> str:
        """Sentence on the observed metrics at the threshold in use; empty if none passed."""
        return sentences.threshold_observed(self)
