r"""Targets, and thresholds of one class's probability that are tested against recall, precision, false alarms.

A row is answered "positive" if its probability of that class is at least `t`.  Given which validation rows are positive
(recall), answered so (precision) or not positive (false alarms), the errors among these are binomial.  A threshold
passes if every target that was asked for passes its exact test at the whole of :math:`\delta`; thresholds are tested in
an order fixed on the training rows, up to the first that does not pass.  With probability :math:`1 - \delta` every
threshold that passed keeps all targets: equation (threshold-targets) of docs/mathematics.md.
"""

from dataclasses import dataclass
from math import ceil, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels
from pacbayes._utils.checks import check_choice, check_number, need, need_array, read_only
from pacbayes._utils.words import PLURAL, format_share, percent_down, percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.target import chance_to_pass, check_max_error, counted_at, format_target, on_grid
from pacbayes.data.division import DISTINCT

AUTO = "auto"
#: What there may be targets of, in words, and on which side of the target they are to lie.
MEASURES = {
    "recall": ("recall", "recall", "at least"),
    "precision": ("the precision", "precision", "at least"),
    "fpr": ("the false positive rate", "false positive rate", "at most"),
}
PREFERENCES = (AUTO, "recall", "precision", "f1")
# At which shares of the positive rows, and of the others, there are thresholds; more of them where these are few.
_ENDS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03)
_SHARES = np.array([*_ENDS, *(np.arange(1, 25) / 25), *(1.0 - np.array(_ENDS)), 1.0])
# Both kinds of rows, and the threshold that every row reaches.
_MOST = 2 * _SHARES.size + 1


@dataclass(frozen=True)
class Abstain:
    """A target: answer only where sure, so that of the answers at most a share is wrong.

    Parameters
    ----------
    max_error : float
        That share, between 0 and 1.

    See Also
    --------
    Threshold : A target for recall, precision or false alarms of one class.
    CertifiedClassifier : What takes it as `target`.

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
        """Raise unless it is a share."""
        object.__setattr__(self, "max_error", check_max_error(self.max_error))


@dataclass(frozen=True, repr=False)
class Threshold:
    r"""A target: a threshold of one class's probability at which its recall, precision or false alarms are certified.

    Parameters
    ----------
    recall : float, optional
        Of the examples of the class at least this share is answered so.
    precision : float, optional
        Of the examples answered so at least this share is of the class.
    fpr : float, optional
        Of the examples of the other class at most this share is answered so.
    prefer : {"auto", "recall", "precision", "f1"}
        Which of the thresholds that passed is taken.  "precision": the largest; "recall": the smallest; "f1": the one
        with the best F1 of the training rows, in cross-validation.  "auto" is "precision" where a recall alone is asked
        for, "recall" where none is, else "f1".

    See Also
    --------
    Abstain : A target for the errors among answers.
    CertifiedClassifier : What takes it as `target`; its `pos_label` is the class.

    Notes
    -----
    The targets hold at the threshold in use, all at once, with probability at least :math:`1 - \delta`.  Nothing else
    is certified there: a limit that is computed at a threshold which the same rows chose would not hold.

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
    ValueError: Threshold needs at least one of recall, precision and fpr
    """

    recall: float | None = None
    precision: float | None = None
    fpr: float | None = None
    prefer: str = AUTO

    def __post_init__(self) -> None:
        """Raise unless there are targets, all of them shares."""
        for name in MEASURES:
            given = getattr(self, name)
            if given is None:
                continue
            share = check_number(name, given, "a number between 0 and 1, or None")
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name} must lie strictly between 0 and 1 (a share, such as 0.9), got {given!r}")
            object.__setattr__(self, name, share)
        if not self.asked:
            raise ValueError("Threshold needs at least one of recall, precision and fpr")
        check_choice("prefer", self.prefer, PREFERENCES)

    def __repr__(self) -> str:
        parts = [f"{name}={share!r}" for name, share in self.asked.items()]
        parts += [f"prefer={self.prefer!r}"] if self.prefer != AUTO else []
        return f"Threshold({', '.join(parts)})"

    @property
    def asked(self) -> dict[str, float]:
        """The targets by name."""
        return {name: getattr(self, name) for name in MEASURES if getattr(self, name) is not None}

    @property
    def preferred(self) -> str:
        """What `prefer` stands for."""
        if self.prefer != AUTO:
            return self.prefer
        if self.recall is None:
            return "recall"
        return "precision" if len(self.asked) == 1 else "f1"

    def words(self, positive: Any) -> str:
        """Return the targets in words.

        Examples
        --------
        >>> Threshold(recall=0.9, fpr=0.05).words("late")
        "recall of class 'late' is at least 90.0 % and its false positive rate at most 5.0 %"
        """
        return _joined({name: format_target(share) for name, share in self.asked.items()}, positive)


#: What may be asked of a classifier instead of a bound of its errors.
Target = Abstain | Threshold


def check_target(target: Any) -> Target | None:
    """Return a target, or raise unless it is one or None.

    Examples
    --------
    >>> check_target(0.02)
    Traceback (most recent call last):
    TypeError: target must be Abstain(...), Threshold(...) or None, got 0.02
    """
    if target is None or isinstance(target, Abstain | Threshold):
        return target
    raise TypeError(f"target must be Abstain(...), Threshold(...) or None, got {target!r}")


def positive_class(pos_label: Any, classes: Labels) -> int:
    """Return the number of the class that a threshold is about: the second where nobody says which, or raise.

    Examples
    --------
    >>> positive_class(None, np.array(["late", "punctual"])), positive_class("late", np.array(["late", "punctual"]))
    (1, 0)
    >>> positive_class("x", np.array(["late", "punctual"]))
    Traceback (most recent call last):
    ValueError: pos_label must be one of the classes ['late', 'punctual'], got 'x'
    """
    known = classes.tolist()
    if len(known) != 2:
        raise ValueError(f"Threshold(...) is for two classes, got {len(known)}; with more use Abstain(...), or limits")
    if pos_label is None:
        return 1
    found = [place for place, label in enumerate(known) if label == pos_label]
    if not found:
        raise ValueError(f"pos_label must be one of the classes {known}, got {pos_label!r}")
    return found[0]


def most_wrong(name: str, share: float) -> float:
    """Return which share of errors a target allows, rounded down: of misses where it is recall.

    Examples
    --------
    >>> most_wrong("fpr", 0.05), most_wrong("recall", 0.75) < 0.25
    (0.05, True)
    """
    return share if name == "fpr" else float(np.nextafter(1.0 - share, 0.0))


def rows_to_reach(name: str, share: float, delta: float) -> int:
    r"""Count the rows that a target takes where none of them is an error: :math:`\log \delta / \log(1 - e)`.

    Examples
    --------
    >>> rows_to_reach("recall", 0.9, 0.05), rows_to_reach("fpr", 0.05, 0.05)
    (29, 59)
    """
    return ceil(log(delta) / log1p(-most_wrong(name, share)))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows at one threshold or several: how many there are, of them positive, answered so, and both.

    Examples
    --------
    >>> counted = CountedRows(100, 20, np.array([30, 10]), np.array([18, 9]))
    >>> [part.tolist() for part in counted.errors("recall")], [part.tolist() for part in counted.errors("fpr")]
    ([[20, 20], [2, 11]], [[80, 80], [12, 1]])
    """

    rows: int
    positives: int
    #: Shape (T,).
    answered: Codes
    hits: Codes

    @classmethod
    def at(cls, values: FloatArray, scores: FloatArray, positive: NDArray[np.bool_]) -> "CountedRows":
        """Count the rows that have at least each score."""
        answered, false_alarms = counted_at(values, scores, ~positive)
        return cls(scores.size, int(np.count_nonzero(positive)), answered, answered - false_alarms)

    def errors(self, name: str) -> tuple[Codes, Codes]:
        """Return the rows that a measure is about, and the errors among these, at each threshold."""
        if name == "recall":
            return np.full_like(self.hits, self.positives), self.positives - self.hits
        rows = self.answered if name == "precision" else np.full_like(self.hits, self.rows - self.positives)
        return rows, self.answered - self.hits

    def limits(self, name: str, delta: float) -> FloatArray:
        """Return exact upper limits of the share of errors, each alone; 1 where there are no rows."""
        rows, wrong = self.errors(name)
        limits, some = np.ones(rows.size), rows > 0
        if some.any():
            limits[some] = binomial_upper(wrong[some], rows[some], delta)
        return limits

    def passes(self, target: Threshold, delta: float) -> NDArray[np.bool_]:
        """Return which thresholds pass all tests, each at the whole of delta."""
        found = np.ones(self.hits.size, dtype=np.bool_)
        for name, share in target.asked.items():
            found &= self.limits(name, delta) <= most_wrong(name, share)
        return found

    def place(self, index: int) -> "CountedRows":
        """Return what was counted at one threshold."""
        return CountedRows(self.rows, self.positives, self.answered[index : index + 1], self.hits[index : index + 1])


@dataclass(frozen=True, eq=False)
class Cuts:
    """Thresholds of the positive class's probability, from the largest to 0, and what cross-validation counted at each.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> cuts = Cuts.from_scores(scores, scores > 0.7, "late")
    >>> order = cuts.order(Threshold(recall=0.9), 200, 0.05)
    >>> float(cuts.values[order[0]]), float(cuts.values[order[-1]]) == float(cuts.values.max())
    (0.0, True)
    """

    #: The positive class.
    positive: Any
    #: Descending, shape (T,); the last is 0: every row is answered so.
    values: FloatArray
    #: Training rows with at least that probability in cross-validation, and those of them that are positive.
    answered: Codes
    hits: Codes

    def __post_init__(self) -> None:
        """Raise unless values fall to 0, and counts grow with them."""
        plain = isinstance(self.positive, str | int | float | bool | np.generic)
        need(plain, "Cuts.positive", "must be a number or text")
        need_array(self.values, "Cuts.values", "f", (None,))
        need(0 < self.values.size <= _MOST, "Cuts.values", f"must be at most {_MOST}")
        falls = bool((self.values[1:] < self.values[:-1]).all()) and self.values[-1] == 0.0
        need(falls, "Cuts.values", "must fall to 0")
        for counts in (self.answered, self.hits):
            need_array(counts, "Cuts", "i", self.values.shape)
        for counts in (self.answered, self.hits, self.answered - self.hits):
            grows = bool((counts >= 0).all() and (np.diff(counts) >= 0).all())
            need(grows, "Cuts", "must be counts that do not fall as thresholds do")
        read_only(self.values, self.answered, self.hits)

    @classmethod
    def from_scores(cls, scores: FloatArray, positive: NDArray[np.bool_], label: Any) -> "Cuts":
        """Return thresholds at shares of the positive training rows, and of the others."""
        values = [0.0]
        for part in (on_grid(scores[positive]), on_grid(scores[~positive])):
            descending = np.sort(part)[::-1]
            values += descending[np.ceil(_SHARES * part.size).astype(np.int64) - 1].tolist() if part.size else []
        found = np.unique(values)[::-1]
        counted = CountedRows.at(found, scores, positive)
        return cls(label, found, counted.answered, counted.hits)

    @property
    def counted(self) -> CountedRows:
        """What was counted of the training rows."""
        return CountedRows(int(self.answered[-1]), int(self.hits[-1]), self.answered, self.hits)

    @property
    def f1(self) -> FloatArray:
        """F1 of the positive class at each threshold."""
        return np.asarray(2.0 * self.hits / np.maximum(self.answered + self.hits[-1], 1))

    def order(self, target: Threshold, m: int, delta: float) -> Codes:
        """Return the thresholds to be tested, in their order: one likely to pass on `m` rows, then towards the best.

        The first is the likeliest to pass all tests, by what cross-validation counted; of several the one farthest from
        where `prefer` leads.  From there it goes, step by step, to the threshold that `prefer` would take of all.
        """
        seen, likely = self.counted, np.ones(self.values.size)
        for name, share in target.asked.items():
            likely *= chance_to_pass(*seen.errors(name), seen.rows, m, most_wrong(name, share), delta)
        last = {"precision": 0, "recall": likely.size - 1, "f1": int(np.argmax(self.f1))}[target.preferred]
        ties = np.flatnonzero(likely >= likely.max())
        start = int(ties[np.argmax(np.abs(ties - last))])
        return np.arange(start, last + 1) if start <= last else np.arange(start, last - 1, -1)

    def taken(self, passed: Codes, target: Threshold) -> int:
        """Return which of the thresholds that passed, in the order of their tests, is taken."""
        if target.preferred == "f1":
            latest_first = passed[::-1]
            return int(latest_first[np.argmax(self.f1[latest_first])])
        return int(passed[-1])


def reach_in_order(cuts: Cuts, counted: CountedRows, target: Threshold, delta: float) -> "Reached":
    """Test thresholds in the order that the training rows fixed, each at the whole of delta, up to the first failure.

    `counted` are the validation rows at each threshold.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> cuts = Cuts.from_scores(scores, scores > 0.7, "late")
    >>> counted = CountedRows.at(cuts.values, scores, scores > 0.7)
    >>> found = reach_in_order(cuts, counted, Threshold(recall=0.9), 0.05)
    >>> found.passed, round(found.threshold, 3), found.recall
    (True, 0.709, 0.9833333333333333)
    """
    order = cuts.order(target, counted.rows, delta)
    passes = counted.passes(target, delta)[order]
    number = int(np.argmin(passes)) if not passes.all() else passes.size
    index = cuts.taken(order[:number], target) if number else int(order[0])
    here = counted.place(index)
    return Reached(
        target=target,
        positive=cuts.positive,
        passed=number > 0,
        threshold=float(cuts.values[index]),
        m=counted.rows,
        positives=counted.positives,
        answered=int(here.answered[0]),
        hits=int(here.hits[0]),
        tested=min(number + 1, passes.size),
        delta=delta,
    )


@dataclass(frozen=True)
class Reached:
    """What became of targets for one class: at which threshold they hold, and what was seen there.

    See Also
    --------
    pacbayes.Threshold : The targets.
    pacbayes.Certificate : Has this as `reached`.

    Examples
    --------
    >>> found = Reached(Threshold(recall=0.9, precision=0.7), "late", True, 0.3125, 500, 100, 120, 96, 9, 0.05)
    >>> print(found.claim("Surely,", "the soft vote"))  # doctest: +NORMALIZE_WHITESPACE
    Surely, at the threshold 0.3125 recall of class 'late' is at least 90.0 % and its precision at least 70.0 %.
    >>> print(Reached(Threshold(recall=0.9), "late", False, 0.0, 50, 9, 50, 9, 1, 0.05).claim("Surely,", "the vote"))
    ... # doctest: +NORMALIZE_WHITESPACE
    No threshold was shown to reach the target: recall of class 'late' is at least 90.0 %. Not enough data: a recall of
    90.0 % takes at least 29 validation rows of class 'late', there are 9, which can show 71.6 % at best. The vote
    predicts as without a target.
    """

    #: What was asked for.
    target: Threshold
    #: Of which class.
    positive: Any
    #: Whether any threshold passed.
    passed: bool
    #: An example is answered so if its probability is at least this; where nothing passed, what was tested first.
    threshold: float
    #: Validation rows, those that are positive, that are answered so at the threshold, and both.
    m: int
    positives: int
    answered: int
    hits: int
    #: Thresholds that were tested.
    tested: int
    #: The level of every test.
    delta: float
    #: What was drawn, as in the certificate.
    unit: str = "example"

    @property
    def recall(self) -> float | None:
        """Observed, and no limit: the share of positive rows that are answered so; None where there is no such row."""
        return self.hits / self.positives if self.positives else None

    @property
    def precision(self) -> float | None:
        """Observed, and no limit: the share of rows answered so that are positive."""
        return self.hits / self.answered if self.answered else None

    @property
    def fpr(self) -> float | None:
        """Observed, and no limit: the share of the other rows that are answered so."""
        return (self.answered - self.hits) / (self.m - self.positives) if self.m > self.positives else None

    @property
    def errors(self) -> int:
        """Validation rows that are answered wrong at the threshold."""
        return self.positives + self.answered - 2 * self.hits

    @property
    def headline(self) -> str:
        """The outcome in the fewest words."""
        short = [f"{MEASURES[name][1]} {MEASURES[name][2]} {format_target(share)}" for name, share in self._asked]
        said = " and ".join(short)
        return f"{said[0].upper()}{said[1:]}" if self.passed else f"Not reached: {said}"

    @property
    def _asked(self) -> list[tuple[str, float]]:
        return list(self.target.asked.items())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        Examples
        --------
        >>> found = Reached(Threshold(fpr=0.1), "late", True, 0.5, 100, 20, 10, 9, 3, 0.05).to_dict()
        >>> found["target"], found["recall"], found["threshold"]
        ({'fpr': 0.1}, 0.45, 0.5)
        """
        names = ("passed", "threshold", "m", "positives", "answered", "hits", "tested", *MEASURES)
        label = self.positive.item() if isinstance(self.positive, np.generic) else self.positive
        return {"target": self.target.asked, "positive": label} | {name: getattr(self, name) for name in names}

    def claim(self, sure: str, who: str) -> str:
        """Return the guarantee in words, after `sure`: with which probability; `who` is what it is about."""
        words = self.target.words(self.positive)
        if self.passed:
            once = " Each example counts once, however often it is copied." if self.unit == DISTINCT else ""
            return f"{sure} at the threshold {self.shown} {words}.{once}"
        return (
            f"No threshold was shown to reach the target: {words}. {self._too_few() or self._shown_first()} "
            f"{who[0].upper()}{who[1:]} predicts as without a target."
        )

    def _too_few(self) -> str:
        """Say which target the validation rows cannot reach, however well they are told apart; empty if none."""
        for name, share in self._asked:
            rows, of = self.positives, f"class {_label(self.positive)}"
            if name == "fpr":
                rows, of = self.m - self.positives, "the other class"
            least = binomial_upper(0, rows, self.delta) if rows else 1.0
            if least > most_wrong(name, share):
                needed = max(rows_to_reach(name, share, self.delta), rows + 1)
                return (
                    f"Not enough data: a {MEASURES[name][1]} of {format_target(share)} takes at least {needed} "
                    f"validation {PLURAL[self.unit]} of {of}, there are {rows}"
                    + (f", which can show {_bound_in_words(name, float(least))} at best." if rows else ".")
                )
        return ""

    def _shown_first(self) -> str:
        """Say what the rows show at the threshold that was tested first, each bound alone."""
        here = CountedRows(self.m, self.positives, np.array([self.answered]), np.array([self.hits]))
        bounds = {name: _bound_in_words(name, float(here.limits(name, self.delta)[0])) for name, _ in self._asked}
        all_rows = f", where every row is answered {_label(self.positive)}" if self.answered == self.m else ""
        return (
            f"At the one that was tested first, {self.shown}{all_rows}, {_joined(bounds, self.positive)}, each alone: "
            "this is information and no guarantee."
        )

    @property
    def shown(self) -> str:
        """The threshold with four digits."""
        return f"{self.threshold:.4g}"

    @property
    def details(self) -> list[str]:
        """How it was found, and what was observed, in sentences."""
        rule = f"An example is answered {self.positive!r} if its probability of that is at least {self.shown}"
        rows = (
            f"{self.hits} of {self.positives} validation {PLURAL[self.unit]} of the class and {self.errors_of_others} "
            f"of {self.m - self.positives} others are answered so"
        )
        start = f"{rule}." if self.passed else "The threshold that the training rows put first did not pass."
        tested = (
            "Thresholds are tested in an order fixed on the training rows, every target at the whole of delta, up to"
        )
        number = f"{self.tested} {'was' if self.tested == 1 else 'were'} tested"
        return [f"{start} {tested} the first failure; {number}.", f"There {rows}."]

    @property
    def observed(self) -> str:
        """What the validation rows showed at the threshold in use, in a sentence; empty where nothing passed."""
        if not self.passed:
            return ""
        seen = (("recall", self.recall), ("precision", self.precision), ("false positive rate", self.fpr))
        shares = ", ".join(f"{name} {'–' if share is None else format_share(share)}" for name, share in seen)
        return f"Observed at {self.shown}, and not guaranteed: {shares}."

    @property
    def errors_of_others(self) -> int:
        """Rows of the other class that are answered so."""
        return self.answered - self.hits


def _bound_in_words(name: str, wrong: float) -> str:
    """Write the bound of a measure, whose share of errors is at most `wrong`."""
    return percent_up(wrong) if name == "fpr" else percent_down(1.0 - wrong)


def _label(positive: Any) -> str:
    return repr(positive.item() if isinstance(positive, np.generic) else positive)


def _joined(shares: dict[str, str], positive: Any) -> str:
    """Return shares of measures of a class in words; `shares` are texts by the name of the measure."""
    parts: list[str] = []
    for name, text in shares.items():
        first, later, side = MEASURES[name]
        parts.append(f"its {later} {side} {text}" if parts else f"{first} of class {_label(positive)} is {side} {text}")
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"
