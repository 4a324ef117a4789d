r"""Leakage by columns: row numbers and identifiers, one that alone decides the class, one that names subjects.

*A column that alone decides the class* was often written after the outcome.  In every training row its value, or the
side of a threshold it is on, belongs to one class.  Of `n` rows a column that errs on a share `e` of all looks like
this with probability at most :math:`(1-e)^n`: with 100 rows, 6 of 1000 columns that err on 5 %, and 1 of 30 000 that
err on 10 %.  So from `FEWEST` rows on, of which `FEWEST_OTHERS` are not of the largest class.  A gap is a value of its
own; or rows with a gap are left out, as some of what is written afterwards is lost.

*A column that names subjects with several rows* breaks the independence of rows.  How often do its values occur?
Where rows are independent draws, a value that is seen occurs (nearly) as often as a Poisson variable that is not zero
says, and values of different probability only add to the variance.  With the mean `c` and :math:`\lambda` from
:math:`c=\lambda/(1-e^{-\lambda})` it is at least

.. math:: v(c) = c\,(1+\lambda-c).

(Mixing over `c` leaves it above :math:`v` at the mean if the second moment is convex in `c`.  For an exponential family
its second derivative is two plus the excess kurtosis less the squared skewness, and by Pearson never negative.)
Subjects that were visited equally often vary less.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtr, gammaln, lambertw, xlogy

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.refusals import Hint, Refused, in_python

#: Whole numbers are taken for identifiers if measurements would look like that with less than this probability.
CHANCE = 1e-3
#: A text is taken for an identifier if more than this share of the rows, of at least so many, have one of their own.
OWN_TEXT, FEWEST_TEXTS = 0.9, 5
#: So is a text with more distinct values than this, and in more than half of its rows.
MOST_CATEGORIES = 100
#: Whole numbers in any order are taken for identifiers from so many rows on: if the column's name says so and this
#: share of them differ, or if all differ and all have the same number of digits, at least so many.
FEWEST_NUMBERS, OWN_NUMBER, LONG_NUMBER = 20, 0.95, 8
# How names of identifiers end, and who has one.
_ENDS = ("id", "ids", "nr", "no", "key", "uuid", "guid", "identifier", "ident", "idx")
_WHO = (
    *("account", "case", "client", "customer", "employee", "household", "member", "order", "participant", "passenger"),
    *("patient", "person", "pid", "policy", "record", "respondent", "row", "sample", "serial", "ssn", "student"),
    *("subject", "ticket", "transaction", "user"),
)
# Others of whom there are several rows, and what their number may be called.
_SUBJECTS = (
    *("animal", "child", "couple", "donor", "driver", "family", "firm", "hospital", "individual", "mother", "player"),
    *("pupil", "rat", "school", "subj", "teacher", "village", "volunteer", "worker"),
)
_NUMBERS = ("code", "name", "num", "number")
_UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?")


def is_unnamed(name: str) -> bool:
    """Return whether a column has the name that pandas gives one without a name, such as its own row numbers.

    Examples
    --------
    >>> is_unnamed("Unnamed: 0"), is_unnamed("Unnamed: 0.1"), is_unnamed("Unnamed")
    (True, True, False)
    """
    return _UNNAMED.fullmatch(name) is not None


def refused_name(name: str, hint: Hint) -> Refused | None:
    """Return what to say of a column without a name; None for any other."""
    if not is_unnamed(name):
        return None
    ways = (
        "name it in the first line of the file",
        "if it is the row number pandas adds write the file with to_csv(index=False)",
        f"if it is a measurement keep it with {hint('keep', name)}",
    )
    return Refused(name, "has no name in the file", ways)


def refused_numbers(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> Refused | None:
    """Return what to say of numbers that look like row numbers or identifiers; None for any others."""
    why = tells_rows_apart(values, rows) or unsorted_identifier(values, rows, sounds_like_identifier(name))
    ways = (f"if it is a measurement keep it with {hint('keep', name)}",)
    return Refused(name, f"looks like a row number or an identifier: {why}", ways) if why else None


def tells_rows_apart(values: NDArray[Any] | Sequence[Any], rows: int) -> str:
    r"""Return why numbers look like row numbers or identifiers; empty if they do not.

    They do if more than half of the rows have one, all are whole, no two are equal, and either

    * they rise (or fall) with every row: :math:`n` different numbers in random order do so with probability
      :math:`2/n!`, or
    * they are too many for their range: of :math:`n` measurements with :math:`R` possible values no two are equal with
      probability at most :math:`\prod_{i<n} (1 - i/R)`, whatever their distribution (birthdays repeat most rarely where
      all days are equally likely).

    Both probabilities are compared with `CHANCE`.  Numbers without a gap, in any order, are refused from nine rows on.

    Examples
    --------
    >>> tells_rows_apart([3, 1, 2, 9, 8, 7, 6, 5, 4, 10], 10)
    '10 different whole numbers in 10 rows, from 1 to 10'
    >>> tells_rows_apart([2, 3, 5, 8, 13, 21, 34, 55], 8)
    '8 different whole numbers that rise from row to row'
    >>> tells_rows_apart([55, 3, 5, 8, 13, 21, 34, 2], 8)
    ''
    """
    numbers = whole_numbers(values)
    if numbers is None or 2 * numbers.size <= rows:
        return ""
    n = int(numbers.size)
    # At most a factor log(n) dearer than looking at every value, and measurements repeat soon.
    ordered = np.sort(numbers)
    if n < 2 or bool((ordered[1:] == ordered[:-1]).any()):
        return ""
    rises = bool((numbers == ordered).all())
    if (rises or bool((numbers == ordered[::-1]).all())) and math.log(2.0) - math.lgamma(n + 1) < math.log(CHANCE):
        return f"{n} different whole numbers that {'rise' if rises else 'fall'} from row to row"
    low, high = int(ordered[0]), int(ordered[-1])
    if float(np.log1p(-np.arange(n) / (high - low + 1)).sum()) < math.log(CHANCE):
        return f"{n} different whole numbers in {rows} rows, from {low} to {high}"
    return ""


def unsorted_identifier(values: NDArray[Any] | Sequence[Any], rows: int, named: bool) -> str:
    """Return why numbers in any order and range look like identifiers; empty if they do not.

    Measurements of a wide range differ too, from row to row.  So the name must say so (`named`), or all numbers must
    have one length, and that a long one, as phone and customer numbers have.

    Examples
    --------
    >>> drawn = np.random.default_rng(0).choice(90_000, 50, replace=False)
    >>> unsorted_identifier(drawn, 50, named=False), unsorted_identifier(drawn + 10_000_000, 50, named=False)
    ('', '50 different whole numbers in 50 rows, all of 8 digits')
    >>> unsorted_identifier(drawn, 50, named=True)
    '50 different whole numbers in 50 rows, and its name'
    """
    numbers = whole_numbers(values)
    if numbers is None or 2 * numbers.size <= rows or numbers.size < FEWEST_NUMBERS:
        return ""
    distinct = np.unique(numbers).size
    said = f"{distinct} different whole numbers in {rows} rows"
    if named and distinct >= OWN_NUMBER * numbers.size:
        return f"{said}, and its name"
    least, most = str(int(numbers.min())), str(int(numbers.max()))
    if distinct == numbers.size and least.isdigit() and len(least) == len(most) >= LONG_NUMBER:
        return f"{said}, all of {len(least)} digits"
    return ""


def sounds_like_identifier(name: str) -> bool:
    """Return whether a column's name is that of an identifier: id, CustomerID, patient_no, key.

    Examples
    --------
    >>> [sounds_like_identifier(name) for name in ("id", "CustomerID", "patient_no", "nr", "Customer", "userid")]
    [True, True, True, True, True, True]
    >>> [sounds_like_identifier(name) for name in ("humid", "no_of_children", "income", "keyboard")]
    [False, False, False, False]
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    last = words[-1].lower() if words else ""
    whole = "".join(words).lower()
    return last in _ENDS or whole in _WHO or any(whole == f"{who}{end}" for who in _WHO for end in _ENDS)


def sounds_like_subject(name: str) -> bool:
    """Return whether a column's name is that of an identifier, or of somebody who may have several rows.

    Examples
    --------
    >>> [sounds_like_subject(name) for name in ("id", "idcode", "patient.number", "Subject", "school")]
    [True, True, True, True, True]
    >>> [sounds_like_subject(name) for name in ("age", "state", "customer_age", "number", "ideal")]
    [False, False, False, False, False]
    """
    whole = "".join(re.findall(r"[a-z]+", name.lower()))
    known = ("id", *_WHO, *_SUBJECTS)
    named = whole in _SUBJECTS or any(whole == f"{who}{end}" for who in known for end in (*_NUMBERS, *_ENDS))
    return named or sounds_like_identifier(name)


def whole_numbers(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any] | None:
    """Return the values that are there as integers of any size, or None if one is not whole."""
    found = np.asarray(values)
    if found.dtype.kind in "iu":
        return found
    if found.dtype.kind == "f":
        found = found[~np.isnan(found)]
        # Beyond 2^53 floats are whole because they cannot be anything else.
        return found if bool((np.abs(found) <= 2.0**53).all() and (found == np.floor(found)).all()) else None
    if found.dtype.kind != "O":
        return None
    try:
        return np.array([_integer(value) for value in found if value == value], dtype=object)
    except (TypeError, ValueError, OverflowError):
        return None


def _integer(value: Any) -> int:
    whole = int(value)
    if not isinstance(value, str) and whole != value:
        raise ValueError(f"{value!r} is not whole")
    return whole


def own_texts(values: Sequence[str], rows: int) -> str:
    """Return why texts look like names, identifiers or free text; empty if they do not.

    They do if nearly every row has one of its own, or if there are very many.  Texts in less than half of the rows may
    be remarks on these rows, and of fewer than five nothing can be told.

    Examples
    --------
    >>> own_texts(["Ann", "Bob", "Cy", "Di", "Ed"], 5)
    "5 different values in 5 rows, such as 'Ann'"
    >>> own_texts(["red", "green", "red", "blue", "black"], 5), own_texts(["broken"], 5)
    ('', '')
    """
    distinct = len(set(values))
    apart = distinct > OWN_TEXT * len(values) and 2 * len(values) > rows and distinct >= FEWEST_TEXTS
    if not apart and not (distinct > MOST_CATEGORIES and 2 * distinct > len(values)):
        return ""
    return f"{distinct} different values in {len(values)} rows, such as {values[0][:40]!r}"


#: Fewer different values than this, or than the square root of the number of rows, may be a design or a category.
FEWEST_RUNS = 10
#: So many of the values must stand in one run each.
IN_ONE_RUN = 0.95
#: Where a column rises, so many runs must be of one length: sorted measurements repeat by chance, subjects by design.
OF_ONE_LENGTH = 0.9


def refused_runs(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> Refused | None:
    """Return what to say of a column, numbers or text, that looks like the subject each row is of; None for others."""
    why = runs_of_rows(values, rows, sounds_like_identifier(name))
    if not why:
        return None
    group = (
        f"if these are subjects give {hint('group', name)}"
        if hint is not in_python
        else f"if these are subjects leave it out with {hint('drop', name)} and give it to fit as groups"
    )
    return Refused(name, why, (group, f"if it describes the row keep it with {hint('keep', name)}"), may_drop=False)


def runs_of_rows(values: NDArray[Any] | Sequence[Any], rows: int, named: bool = False) -> str:
    """Return why values look like the subject that each row is of; empty if they do not.

    They do if they are whole numbers or text, more than half of the rows have one, they are many, nearly every one
    stands in a single run of equal rows, and these have two rows or more.  In a column that rises (or falls) from run
    to run this may be a file sorted by a measurement: there nearly all runs must have the same length, or the column a
    name like that of an identifier (`named`).

    Examples
    --------
    >>> runs_of_rows([13] * 4 + [17] * 4 + list(range(20, 30)) * 2, 28)
    ''
    >>> runs_of_rows(np.repeat(np.arange(13, 53), 8), 320)
    'has 40 values in runs of 8 rows each'
    >>> ages = np.sort(np.random.default_rng(0).integers(20, 70, 300))
    >>> runs_of_rows(ages, 300), runs_of_rows(ages, 300, named=True)
    ('', 'has 50 values in runs of about 6 rows')
    """
    found = _comparable(values)
    if found is None or 2 * found.size <= rows or found.size < 2:
        return ""
    begins = np.flatnonzero(np.concatenate([[True], found[1:] != found[:-1]]))
    heads = found[begins]
    lengths = np.diff(np.concatenate([begins, [found.size]]))
    # Cheap, and true of nearly every column: values alternate.
    if 3 * heads.size > 2 * found.size:
        return ""
    distinct, times = np.unique(heads, return_counts=True)
    if distinct.size < FEWEST_RUNS or distinct.size**2 <= found.size or np.mean(times == 1) < IN_ONE_RUN:
        return ""
    usual = int(np.median(lengths))
    if usual < 2:
        return ""
    equal = float(np.mean(lengths == usual)) >= OF_ONE_LENGTH
    rises = bool((heads[1:] > heads[:-1]).all() or (heads[1:] < heads[:-1]).all())
    if rises and not equal and not named:
        return ""
    return f"has {distinct.size} values in runs of " + (f"{usual} rows each" if equal else f"about {usual} rows")


def _comparable(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any] | None:
    """Return whole numbers or texts, None where there is anything else."""
    numbers = whole_numbers(values)
    if numbers is not None:
        return numbers
    found = np.asarray(values)
    if found.dtype.kind == "O":
        found = np.array([one for one in found if one == one], dtype=object)
        return found if all(isinstance(one, str) for one in found) else None
    return found if found.dtype.kind == "U" else None


#: Rows, and rows that are not of the largest class, from which on a column may be said to decide the class.
FEWEST, FEWEST_OTHERS = 100, 30
#: Fewer different values may be a design or a category; a column with an identifier's name has so many rows, of all,
#: whose value occurs again.
FEWEST_SUBJECTS, REPEATED = 20, 0.1
# Of subjects that are only suspected so few, and so many of other classes, are enough: they may be none, and must not
# hide a column that decides the class of all rows.
_FEWEST_APART = (20, 10)
# A column of independent draws is taken for one of subjects with about this probability.
_CHANCE = 1e-6
# Most columns are seen to be others in so few rows.
_LOOKED_AT = 512
# So many columns are named: of subjects each in a warning of its own.
_NAMED_SUBJECTS, _NAMED = 3, 30


def warn_of_columns(X: Any, codes: Rows, train: Rows, units: Rows | None = None, grouped: bool = False) -> None:
    """Warn of columns that alone decide the class of all training rows, and unless `grouped` of such with subjects.

    Of other rows no class is looked at.  Rows of one unit, or of one subject, say the same: one of each is counted.
    Rows that are no table, and sparse ones, are passed over.
    """
    subjects: dict[Any, str] = {}
    of_classes: set[Any] = set()
    least = (FEWEST, FEWEST_OTHERS) if units is not None else _FEWEST_APART
    for name, values in () if grouped else _columns(X):
        told = _numbered(values)
        if told is None:
            continue
        why = subjects_by_times(np.bincount(told[told >= 0]), len(told), name)
        if not why and (of_class := subjects_by_class(told, codes, train)):
            # Classes that follow each other in the order of the values are another matter.
            why = "" if _pure(values[train], codes[train])[1] else of_class
            of_classes |= {name}
        if why:
            subjects[name] = why
            units = told if units is None else units
    apart = train if units is None else train[np.unique(units[train], return_index=True)[1]]
    deciding = {
        name: with_gaps
        for name, values in _columns(X)
        if name not in subjects and (with_gaps := _decides_all(values, codes, (train, apart), least)) is not None
    }
    if deciding:
        warn_caller(_said_of_deciding(list(deciding), train.size, any(deciding.values())))
    for name in list(subjects)[:_NAMED_SUBJECTS]:
        place = f"X[{name!r}]" if isinstance(X, pd.DataFrame) else f"X[:, {name}]"
        if_not = "it alone decides the class: if it was written after the outcome, leave it out of X"
        warn_caller(
            f"Column {name!r} looks like a person or thing with several rows: {subjects[name]}. If it is, the rows are "
            f"not independent: give groups={place} and leave it out of X. If not, "
            f"{if_not if name in of_classes else 'nothing is wrong'}."
        )


def _decides_all(values: NDArray[Any], codes: Rows, parts: tuple[Rows, Rows], least: tuple[int, int]) -> bool | None:
    """Tell whether rows with a gap must be left out for a column to decide the class; None if it does not decide.

    `parts` are all training rows, and one of each unit, of which there must be `least`.
    """
    known = ~pd.isna(values)
    for with_gaps in (False,) if known.all() else (False, True):
        rows, apart = (part[known[part]] if with_gaps else part for part in parts)
        if decides_class(values[rows], codes[rows]) and decides_class(values[apart], codes[apart], *least):
            return with_gaps
    return None


def _said_of_deciding(names: list[Any], rows: int, some_gaps: bool) -> str:
    shown = ", ".join(repr(name) for name in names[:_NAMED])
    shown += f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    of_all = f"the class of all {rows} training rows{', where it has a value' if some_gaps else ''}."
    if len(names) == 1:
        return (
            f"Column {shown} alone decides {of_all} If it was written after the outcome, leave it out of X; if it is "
            "known before, nothing is wrong."
        )
    return (
        f"Each of the columns {shown} alone decides {of_all} If they were written after the outcome, leave them out of "
        "X; if they are known before, nothing is wrong."
    )


def decides_class(values: NDArray[Any], codes: Rows, fewest: int = FEWEST, others: int = FEWEST_OTHERS) -> bool:
    """Return whether a column alone decides the class: by its values, or by thresholds in order.

    Values are texts, whole numbers and the like, at most 100.  A gap is a value of its own.  There must be as many rows
    as the module says; for values, besides the first row of each.

    Examples
    --------
    >>> codes = np.arange(120) % 2
    >>> decides_class(codes * 10.0, codes), decides_class(np.where(codes == 1, "paid", None), codes)
    (True, True)
    >>> decides_class(np.append(codes[:-1], 0), codes), decides_class(codes[:90], codes[:90])
    (False, False)
    """
    if codes.size < fewest or codes.size - np.bincount(codes).max() < others:
        return False
    some = slice(None, None, max(1, codes.size // _LOOKED_AT))
    try:
        return any(_pure(values[some], codes[some])) and any(_pure(values, codes, fewest, others))
    except TypeError:  # lists and the like: nothing stands for their value
        return False


def _pure(values: NDArray[Any], codes: Rows, fewest: int = 0, others: int = 0) -> tuple[bool, bool]:
    """Return whether few values, and whether thresholds, have one class each."""
    numbers = pd.factorize(values, use_na_sentinel=True)[0] + 1
    of_value = pd.factorize(numbers * (int(codes.max()) + 1) + codes)[1]
    distinct = np.unique(numbers).size
    if of_value.size > distinct:
        return False, False
    tested = np.bincount(codes) - np.bincount(of_value % (int(codes.max()) + 1), minlength=int(codes.max()) + 1)
    enough = tested.sum() >= fewest and tested.sum() - tested.max() >= others
    # Fractions repeat where rows were copied, and then mean nothing.
    few = bool(distinct <= MOST_CATEGORIES and enough and (values.dtype.kind != "f" or _whole(values)))
    if values.dtype.kind not in "biuf":
        return few, False
    present = numbers > 0
    ordered = codes[present][np.argsort(values[present], kind="stable")]
    changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return few, changes < np.unique(codes).size


def subjects_by_times(times: NDArray[np.int64], rows: int, name: Any) -> str:
    """Return why values look like subjects with several rows, by how often each occurs and the name; empty if not.

    They do if more than half of the rows have one, there are 20 or more, and either the column has a name like that of
    an identifier and a tenth of the rows share their value with another, or the values are more than the square root of
    the number of rows and occur more evenly than independent draws do.

    Examples
    --------
    >>> subjects_by_times(np.full(50, 6), 300, "x"), subjects_by_times(np.arange(2, 42), 820, "patient")
    ('50 values, 6 rows each (more evenly than by chance)', '40 values, about 21 rows each (told by its name)')
    >>> subjects_by_times(np.random.default_rng(0).poisson(6.0, 50), 300, "x")
    ''
    """
    number, total = times.size, int(times.sum())
    if number < FEWEST_SUBJECTS or 2 * total <= rows:
        return ""
    usual = int(np.median(times))
    each = f"{usual} rows each" if (times == usual).all() else f"about {max(usual, 2)} rows each"
    said = f"{number} values, {each}"
    if sounds_like_subject(str(name)) and times[times > 1].sum() >= REPEATED * total:
        return f"{said} (told by its name)"
    if number**2 > total and evenness(times) < _CHANCE:
        return f"{said} (more evenly than by chance)"
    return ""


def evenness(times: NDArray[np.int64]) -> float:
    """Return about how probable it is that values of independent draws occur so evenly, or more; 1 if all occur once.

    The sum of squares is compared with a gamma distribution of its mean and variance under equal probabilities.

    Examples
    --------
    >>> evenness(np.full(30, 8)) < 1e-6, evenness(np.ones(30, dtype=np.int64))
    (True, 1.0)
    >>> bool(evenness(np.random.default_rng(0).poisson(8.0, 30)) > 0.01)
    True
    """
    mean = float(times.mean())
    if times.max() < 2:
        return 1.0
    rate = mean + float(lambertw(-mean * np.exp(-mean)).real)
    k = np.arange(1, int(rate + 12.0 * np.sqrt(rate)) + 20)
    weight = np.exp(xlogy(k, rate) - gammaln(k + 1.0) - rate) / -np.expm1(-rate)
    variance = float(weight @ (k - mean) ** 2)
    kurtosis = float(weight @ (k - mean) ** 4) / variance**2
    freedom = 2.0 * (times.size - 1) / (kurtosis - 1.0)
    return float(chdtr(freedom, freedom * float(times.var(ddof=1)) / variance))


def subjects_by_class(told: Rows, codes: Rows, train: Rows) -> str:
    """Return why values look like subjects by the classes of training rows: many, repeated, each of one class.

    Examples
    --------
    >>> who = np.repeat(np.arange(40), 5)
    >>> subjects_by_class(who, who % 2, np.arange(200)), subjects_by_class(who, np.arange(200) % 2, np.arange(200))
    ('40 values, with one class in all training rows of each', '')
    """
    number = int(told.max()) + 1
    if number < FEWEST_SUBJECTS or number**2 <= told.size or 2 * np.count_nonzero(told >= 0) <= told.size:
        return ""
    rows = train[told[train] >= 0]
    classes = int(codes.max()) + 1
    # Most columns are seen to be others by the first values.
    for some in (rows[told[rows] < FEWEST_SUBJECTS], rows):
        pairs = np.unique(told[some] * classes + codes[some])
        if np.unique(pairs // classes).size < pairs.size:
            return ""
    tested = np.bincount(codes[rows], minlength=classes) - np.bincount(pairs % classes, minlength=classes)
    if tested.sum() < FEWEST or tested.sum() - tested.max() < FEWEST_OTHERS:
        return ""
    return f"{number} values, with one class in all training rows of each"


def _columns(X: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield names, or numbers, and values of the columns of a table; nothing for other rows."""
    if isinstance(X, pd.DataFrame):
        for place, name in enumerate(X.columns):
            yield name, _values(X.iloc[:, place])
        return
    table: Any = X
    if isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], list | tuple):
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            return
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biufOU":
        yield from ((place, _values(pd.Series(table[:, place]).infer_objects())) for place in range(table.shape[1]))


def _values(column: "pd.Series[Any]") -> NDArray[Any]:
    """Return numbers and times as numbers, gaps in them NaN, and anything else as objects."""
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return column.to_numpy()
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        return np.where(column.isna(), np.nan, column.astype(np.int64))
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _numbered(values: NDArray[Any]) -> Rows | None:
    """Return the number of each row's value, -1 for gaps; None unless all are whole numbers or texts."""
    if values.dtype.kind == "f":
        if not (_whole(values[:_LOOKED_AT]) and _whole(values)):
            return None
    elif values.dtype.kind == "O":
        if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "integer"):
            return None
    elif values.dtype.kind not in "iu":
        return None
    return np.asarray(pd.factorize(values, use_na_sentinel=True)[0], dtype=np.int64)


def _whole(values: NDArray[Any]) -> bool:
    return bool((np.isnan(values) | (values == np.floor(values))).all())
