r"""Leakage through columns: row numbers, identifiers, target leakage and identifiers of subjects with several rows.

*Target leakage.*  A column that determines the class was often recorded after the outcome.  In every training row its
value, or the side of a threshold, belongs to one class.  A column with error rate `e` does so on `n` rows with
probability at most :math:`(1-e)^n`: for 100 rows, 6 of 1000 columns with an error rate of 5 %, and 1 of 30 000 columns
with 10 %.  The test therefore requires `FEWEST` rows, `FEWEST_OTHERS` of which are not in the majority class.  A
missing value counts as a value; or rows with a missing value are left out, because leaking columns may be incomplete.

*Subjects with several rows* violate the independence of rows.  The test uses the multiplicities of the values.  If rows
are independent draws, the multiplicity of a value is approximately zero-truncated Poisson, and unequal probabilities
only increase the variance.  With the mean `c` and :math:`\lambda` from :math:`c=\lambda/(1-e^{-\lambda})`, the variance
is at least

.. math:: v(c) = c\,(1+\lambda-c).

(For a mixture over `c`, the variance stays above :math:`v` at the mean if the second moment is convex in `c`.  Its
second derivative in an exponential family is two plus the excess kurtosis minus the squared skewness, which is never
negative by Pearson's inequality.)  Subjects with equal numbers of visits vary less.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtr, gammaln, lambertw, xlogy

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.rejections import Hint, Refused, in_python, refuse
from pacbayes.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT, Column, Schema, numbers_of

#: False-positive rate of the tests for identifiers among integers.
CHANCE = 1e-3
#: Strings are identifiers if the fraction of distinct ones is above this, and there are at least this many.
OWN_TEXT, FEWEST_TEXTS = 0.9, 5
#: Strings are also identifiers if there are more distinct ones than this, and more than half as many as rows.
MOST_CATEGORIES = 100
#: Unsorted integers are identifiers from this number of rows on: if the column name suggests it and at least this
#: fraction is distinct, or if all are distinct and have the same number of digits, at least this number.
FEWEST_NUMBERS, OWN_NUMBER, LONG_NUMBER = 20, 0.95, 8
# Last words of the names of identifiers, and what they identify.
_ENDS = ("id", "ids", "nr", "no", "key", "uuid", "guid", "identifier", "ident", "idx")
_WHO = (
    *("account", "case", "client", "customer", "employee", "household", "member", "order", "participant", "passenger"),
    *("patient", "person", "pid", "policy", "record", "respondent", "row", "sample", "serial", "ssn", "student"),
    *("subject", "ticket", "transaction", "user"),
)
# Subjects that may have several rows, and last words of the names of their identifiers.
_SUBJECTS = (
    *("animal", "child", "couple", "donor", "driver", "family", "firm", "hospital", "individual", "mother", "player"),
    *("pupil", "rat", "school", "subj", "teacher", "village", "volunteer", "worker"),
)
_NUMBERS = ("code", "name", "num", "number")
_UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?")


def is_unnamed(name: str) -> bool:
    """Whether a column has the name that pandas gives to columns without a name, such as row numbers.

    Examples
    --------
    >>> is_unnamed("Unnamed: 0"), is_unnamed("Unnamed: 0.1"), is_unnamed("Unnamed")
    (True, True, False)
    """
    return _UNNAMED.fullmatch(name) is not None


def reject_columns(X: pd.DataFrame, schema: Schema, keep: Collection[str], hint: Hint) -> None:
    """Raise for all columns without values, with infinite numbers, or that look like identifiers."""
    columns = zip(schema.columns, (X.iloc[:, i] for i in range(X.shape[1])), strict=True)
    rejected = [_rejected(series, column, column.name in keep, hint) for column, series in columns]
    refuse([column for column in rejected if column is not None], hint)


def _rejected(series: "pd.Series[Any]", column: Column, keep: bool, hint: Hint) -> Refused | None:
    """Rejection of a column; columns to `keep` may look like identifiers."""
    name, rows, present = column.name, len(series), series.dropna().to_numpy()
    if not present.size:
        return Refused(name, "has no values at all")
    if column.kind == NUMBER:
        numbers = numbers_of(series)[0] if column.strings or present.dtype.kind == "O" else present
        if present.dtype.kind in "fO" and np.isinf(numbers).any():
            place = int(np.isinf(numbers_of(series)[0]).argmax())
            why = f"must hold finite numbers, got {series.iloc[place]} in example {place + 1}"
            return Refused(name, why, ("correct it", "leave the cell empty if the value is missing"))
        present = numbers[~np.isnan(numbers)] if column.strings else present
    if keep or column.kind in (BOOLEAN, DATE):
        return None if keep else refused_name(name, hint)
    rejected = refused_name(name, hint)
    if column.kind == NUMBER:
        rejected = rejected or refused_numbers(name, present, rows, hint)
    rejected = rejected or refused_runs(name, present, rows, hint)
    if rejected is None and column.kind in (CATEGORY, TEXT):
        texts = [str(value) for value in present]
        why = own_texts(texts, rows)
        # Strings of several words are text, whose words may repeat.
        if why and np.mean([" " in text.strip() for text in texts]) < 0.5:
            ways = (f"if it is a category or a text keep it with {hint('keep', name)}",)
            rejected = Refused(name, f"looks like a name or an identifier: {why}", ways)
    return rejected


def refused_name(name: str, hint: Hint) -> Refused | None:
    """Rejection of a column without a name; None for others."""
    if not is_unnamed(name):
        return None
    ways = (
        "name it in the header of the file",
        "if it is the index of a data frame write the file with to_csv(index=False)",
        f"if it is a measurement keep it with {hint('keep', name)}",
    )
    return Refused(name, "has no name in the file", ways)


def refused_numbers(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> Refused | None:
    """Rejection of numbers that look like row numbers or identifiers; None for others."""
    why = looks_like_row_id(values, rows) or unsorted_identifier(values, rows, sounds_like_identifier(name))
    ways = (f"if it is a measurement keep it with {hint('keep', name)}",)
    return Refused(name, f"looks like a row number or an identifier: {why}", ways) if why else None


def looks_like_row_id(values: NDArray[Any] | Sequence[Any], rows: int) -> str:
    r"""Reason why numbers look like row numbers or identifiers; empty if they do not.

    They do if they are distinct integers, not missing in more than half of the rows, and either

    * monotone: :math:`n` distinct numbers in random order are, with probability :math:`2/n!`, or
    * too many for their range: :math:`n` measurements with :math:`R` possible values are distinct with probability at
      most :math:`\prod_{i<n} (1 - i/R)`, for any distribution (birthday problem).

    Both probabilities are compared with `CHANCE`.  Consecutive integers in any order are rejected from nine rows on.

    Examples
    --------
    >>> looks_like_row_id([3, 1, 2, 9, 8, 7, 6, 5, 4, 10], 10)
    '10 distinct integers in 10 rows, from 1 to 10'
    >>> looks_like_row_id([2, 3, 5, 8, 13, 21, 34, 55], 8)
    '8 distinct integers that increase from row to row'
    >>> looks_like_row_id([55, 3, 5, 8, 13, 21, 34, 2], 8)
    ''
    """
    numbers = whole_numbers(values)
    if numbers is None or 2 * numbers.size <= rows:
        return ""
    n = int(numbers.size)
    # Sorting is fast enough, and most columns of measurements have equal values.
    ordered = np.sort(numbers)
    if n < 2 or bool((ordered[1:] == ordered[:-1]).any()):
        return ""
    rises = bool((numbers == ordered).all())
    if (rises or bool((numbers == ordered[::-1]).all())) and math.log(2.0) - math.lgamma(n + 1) < math.log(CHANCE):
        return f"{n} distinct integers that {'increase' if rises else 'decrease'} from row to row"
    low, high = int(ordered[0]), int(ordered[-1])
    if float(np.log1p(-np.arange(n) / (high - low + 1)).sum()) < math.log(CHANCE):
        return f"{n} distinct integers in {rows} rows, from {low} to {high}"
    return ""


def unsorted_identifier(values: NDArray[Any] | Sequence[Any], rows: int, named: bool) -> str:
    """Reason why unsorted integers of a wide range look like identifiers; empty if they do not.

    Measurements of a wide range may be distinct too.  Therefore the column must have the name of an identifier
    (`named`), or all numbers must have the same large number of digits, as phone and customer numbers have.

    Examples
    --------
    >>> drawn = np.random.default_rng(0).choice(90_000, 50, replace=False)
    >>> unsorted_identifier(drawn, 50, named=False), unsorted_identifier(drawn + 10_000_000, 50, named=False)
    ('', '50 distinct integers in 50 rows, all of 8 digits')
    >>> unsorted_identifier(drawn, 50, named=True)
    '50 distinct integers in 50 rows, and its name'
    """
    numbers = whole_numbers(values)
    if numbers is None or 2 * numbers.size <= rows or numbers.size < FEWEST_NUMBERS:
        return ""
    distinct = np.unique(numbers).size
    description = f"{distinct} distinct integers in {rows} rows"
    if named and distinct >= OWN_NUMBER * numbers.size:
        return f"{description}, and its name"
    smallest, largest = str(int(numbers.min())), str(int(numbers.max()))
    if distinct == numbers.size and smallest.isdigit() and len(smallest) == len(largest) >= LONG_NUMBER:
        return f"{description}, all of {len(smallest)} digits"
    return ""


def sounds_like_identifier(name: str) -> bool:
    """Whether a column has the name of an identifier: id, CustomerID, patient_no, key.

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
    """Whether a column has the name of an identifier, or of a subject that may have several rows.

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
    """Integers among values, without missing ones; None if a value is not an integer."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "f":
        array = array[~np.isnan(array)]
        # Above 2^53 all floats are integers, so that this means nothing.
        return array if bool((np.abs(array) <= 2.0**53).all() and (array == np.floor(array)).all()) else None
    if array.dtype.kind != "O":
        return None
    try:
        return np.array([_integer(value) for value in array if value == value], dtype=object)
    except (TypeError, ValueError, OverflowError):
        return None


def _integer(value: Any) -> int:
    whole = int(value)
    if not isinstance(value, str) and whole != value:
        raise ValueError(f"{value!r} is not an integer")
    return whole


def own_texts(values: Sequence[str], rows: int) -> str:
    """Reason why strings look like names, identifiers or free text; empty if they do not.

    They do if nearly all are distinct, or if there are very many distinct ones.  Strings in less than half of the rows
    may be remarks, and fewer than five strings are too few to decide.

    Examples
    --------
    >>> own_texts(["Ann", "Bob", "Cy", "Di", "Ed"], 5)
    "5 distinct values in 5 rows, such as 'Ann'"
    >>> own_texts(["red", "green", "red", "blue", "black"], 5), own_texts(["broken"], 5)
    ('', '')
    """
    distinct = len(set(values))
    nearly_unique = distinct > OWN_TEXT * len(values) and 2 * len(values) > rows and distinct >= FEWEST_TEXTS
    if not nearly_unique and not (distinct > MOST_CATEGORIES and 2 * distinct > len(values)):
        return ""
    return f"{distinct} distinct values in {len(values)} rows, such as {values[0][:40]!r}"


#: Fewer distinct values than this, or than the square root of the number of rows, may be an experimental design.
FEWEST_RUNS = 10
#: Minimum fraction of values that occur in a single run.
IN_ONE_RUN = 0.95
#: Minimum fraction of runs of equal length in a sorted column, which may be a measurement otherwise.
OF_ONE_LENGTH = 0.9


def refused_runs(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> Refused | None:
    """Rejection of a column that looks like an identifier of subjects with several rows; None for others."""
    why = runs_of_rows(values, rows, sounds_like_identifier(name))
    if not why:
        return None
    group = (
        f"if these are subjects use {hint('group', name)}"
        if hint is not in_python
        else f"if these are subjects drop it with {hint('drop', name)} and pass it to fit as groups"
    )
    return Refused(name, why, (group, f"if it describes the row keep it with {hint('keep', name)}"), may_drop=False)


def runs_of_rows(values: NDArray[Any] | Sequence[Any], rows: int, named: bool = False) -> str:
    """Reason why values look like identifiers of subjects with several rows; empty if they do not.

    They do if they are many integers or strings, not missing in more than half of the rows, and nearly every value
    occurs in a single run of at least two consecutive rows.  A monotone column may be a measurement by which the file
    is sorted: then nearly all runs must have the same length, or the column the name of an identifier (`named`).

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
    comparable = _comparable(values)
    if comparable is None or 2 * comparable.size <= rows or comparable.size < 2:
        return ""
    starts = np.flatnonzero(np.concatenate([[True], comparable[1:] != comparable[:-1]]))
    run_values = comparable[starts]
    lengths = np.diff(np.concatenate([starts, [comparable.size]]))
    # A fast exit for most columns, whose values alternate.
    if 3 * run_values.size > 2 * comparable.size:
        return ""
    distinct, times = np.unique(run_values, return_counts=True)
    if distinct.size < FEWEST_RUNS or distinct.size**2 <= comparable.size or np.mean(times == 1) < IN_ONE_RUN:
        return ""
    median = int(np.median(lengths))
    if median < 2:
        return ""
    equal = float(np.mean(lengths == median)) >= OF_ONE_LENGTH
    monotone = bool((run_values[1:] > run_values[:-1]).all() or (run_values[1:] < run_values[:-1]).all())
    if monotone and not equal and not named:
        return ""
    return f"has {distinct.size} values in runs of " + (f"{median} rows each" if equal else f"about {median} rows")


def _comparable(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any] | None:
    """Integers or strings among values, without missing ones; None if there is anything else."""
    numbers = whole_numbers(values)
    if numbers is not None:
        return numbers
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.array([value for value in array if value == value], dtype=object)
        return array if all(isinstance(value, str) for value in array) else None
    return array if array.dtype.kind == "U" else None


#: Minimum number of rows, and of rows outside of the majority class, for a warning of target leakage.
FEWEST, FEWEST_OTHERS = 100, 30
#: Minimum number of subjects, as fewer values may be an experimental design; and the minimum fraction of rows with a
#: repeated value in a column with the name of an identifier.
FEWEST_SUBJECTS, REPEATED = 20, 0.1
# Lower minimum for one row per suspected subject: a false suspicion must not hide target leakage.
_MIN_SUSPECTED = (20, 10)
# Approximate false-positive rate of the test for subjects.
_CHANCE = 1e-6
# Number of rows that suffice to exclude most columns.
_N_SAMPLED = 512
# Maximum numbers of columns with a warning about subjects, and of column names in a warning about target leakage.
_MAX_SUBJECT_WARNINGS, _MAX_NAMES = 3, 30


def warn_of_columns(X: Any, codes: Rows, train: Rows, units: Rows | None = None, groups: Rows | None = None) -> None:
    """Warn of target leakage in the training rows, and of columns that identify subjects, or the groups.

    The classes of other rows are not used.  One row of each unit, or of each suspected subject, counts, because the
    rows of a subject are not independent.  Sparse rows and rows that are not tables are skipped.
    """
    subjects: dict[Any, str] = {}
    determined: set[Any] = set()
    minimum = (FEWEST, FEWEST_OTHERS) if units is not None else _MIN_SUSPECTED
    for name, values in _columns(X):
        value_codes = _value_codes(values)
        if value_codes is None:
            continue
        if groups is not None:
            if _same_partition(value_codes[train], groups[train]):
                warn_caller(
                    f"Column {name!r} of X identifies the groups: new groups have values that no training row had. "
                    "Drop it from X."
                )
            continue
        reason = subjects_by_times(np.bincount(value_codes[value_codes >= 0]), len(value_codes), name)
        if not reason and (reason_by_class := subjects_by_class(value_codes, codes, train)):
            # If thresholds of the values determine the class, this is target leakage.
            reason = "" if _pure(values[train], codes[train])[1] else reason_by_class
            determined |= {name}
        if reason:
            subjects[name] = reason
            units = value_codes if units is None else units
        elif values.dtype.kind == "O" and (reason := repeated_names(value_codes[train], codes[train])):
            warn_caller(
                f"Column {name!r} holds {reason}. If rows with one value belong together, use groups=X[{name!r}] and "
                "drop it from X: else the certificate is about new rows with known values. Otherwise, ignore this "
                "warning."
            )
    one_per_unit = train if units is None else train[np.unique(units[train], return_index=True)[1]]
    leaking = {
        name: incomplete
        for name, values in _columns(X)
        if name not in subjects
        and (incomplete := _leaks_where_complete(values, codes, (train, one_per_unit), minimum)) is not None
    }
    if leaking:
        warn_caller(_target_leakage_message(list(leaking), train.size, any(leaking.values())))
    for name in list(subjects)[:_MAX_SUBJECT_WARNINGS]:
        column = f"X[{name!r}]" if isinstance(X, pd.DataFrame) else f"X[:, {name}]"
        otherwise = "it determines the class: if it was recorded after the outcome, drop it from X"
        warn_caller(
            f"Column {name!r} looks like a person or thing with several rows: {subjects[name]}. If it is, the rows are "
            f"not independent: use groups={column} and drop it from X. Otherwise, "
            f"{otherwise if name in determined else 'ignore this warning'}."
        )


def _leaks_where_complete(
    values: NDArray[Any], codes: Rows, parts: tuple[Rows, Rows], minimum: tuple[int, int]
) -> bool | None:
    """Whether a column determines the class only if rows with missing values are left out; None if it never does.

    `parts` are all training rows, and one row of each unit, of which there must be `minimum`.
    """
    present = ~pd.isna(values)
    for drop_missing in (False,) if present.all() else (False, True):
        rows, one_per_unit = (part[present[part]] if drop_missing else part for part in parts)
        if decides_class(values[rows], codes[rows]) and decides_class(
            values[one_per_unit], codes[one_per_unit], *minimum
        ):
            return drop_missing
    return None


def _target_leakage_message(names: list[Any], rows: int, incomplete: bool) -> str:
    listed = ", ".join(repr(name) for name in names[:_MAX_NAMES])
    listed += f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    scope = f"the class of all {rows} training rows{' in which it is not missing' if incomplete else ''}."
    if len(names) == 1:
        return (
            f"Column {listed} alone determines {scope} This is target leakage if it was recorded after the outcome: "
            "then drop it from X. If it is known before, ignore this warning."
        )
    return (
        f"Each of the columns {listed} alone determines {scope} This is target leakage if they were recorded after the "
        "outcome: then drop them from X. If they are known before, ignore this warning."
    )


def decides_class(values: NDArray[Any], codes: Rows, fewest: int = FEWEST, others: int = FEWEST_OTHERS) -> bool:
    """Whether a column alone determines the class, by its values or by thresholds.

    By values, it has at most 100 distinct strings, integers and the like, and the first row of each does not count
    towards the minimum numbers of rows.  A missing value is a value.

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
    sample = slice(None, None, max(1, codes.size // _N_SAMPLED))
    try:
        return any(_pure(values[sample], codes[sample])) and any(_pure(values, codes, fewest, others))
    except TypeError:  # lists and the like are not hashable
        return False


def _pure(values: NDArray[Any], codes: Rows, fewest: int = 0, others: int = 0) -> tuple[bool, bool]:
    """Whether few values, and whether intervals between thresholds, have one class each."""
    value_codes = pd.factorize(values, use_na_sentinel=True)[0] + 1
    pairs = pd.factorize(value_codes * (int(codes.max()) + 1) + codes)[1]
    distinct = np.unique(value_codes).size
    if pairs.size > distinct:
        return False, False
    repeated = np.bincount(codes) - np.bincount(pairs % (int(codes.max()) + 1), minlength=int(codes.max()) + 1)
    enough = repeated.sum() >= fewest and repeated.sum() - repeated.max() >= others
    # Repeated values that are not integers are duplicates of rows, which mean nothing.
    by_values = bool(distinct <= MOST_CATEGORIES and enough and (values.dtype.kind != "f" or _whole(values)))
    if values.dtype.kind not in "biuf":
        return by_values, False
    present = value_codes > 0
    ordered = codes[present][np.argsort(values[present], kind="stable")]
    changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return by_values, changes < np.unique(codes).size


def subjects_by_times(times: NDArray[np.int64], rows: int, name: Any) -> str:
    """Reason why values look like subjects with several rows, by multiplicities and column name; empty if not.

    They do if there are at least 20, not missing in more than half of the rows, and either the column has the name of
    an identifier and a tenth of the rows have a repeated value, or there are more values than the square root of the
    number of rows and their multiplicities vary less than those of independent draws.

    Examples
    --------
    >>> subjects_by_times(np.full(50, 6), 300, "x"), subjects_by_times(np.arange(2, 42), 820, "patient")
    ('50 values, 6 rows each (more evenly than by chance)', '40 values, about 21 rows each (and its name)')
    >>> subjects_by_times(np.random.default_rng(0).poisson(6.0, 50), 300, "x")
    ''
    """
    number, total = times.size, int(times.sum())
    if number < FEWEST_SUBJECTS or 2 * total <= rows:
        return ""
    median = int(np.median(times))
    each = f"{median} rows each" if (times == median).all() else f"about {max(median, 2)} rows each"
    description = f"{number} values, {each}"
    if sounds_like_subject(str(name)) and times[times > 1].sum() >= REPEATED * total:
        return f"{description} (and its name)"
    if number**2 > total and evenness(times) < _CHANCE:
        return f"{description} (more evenly than by chance)"
    return ""


def evenness(times: NDArray[np.int64]) -> float:
    """Approximate p-value of such even multiplicities for independent draws; 1 if all values are distinct.

    The sum of squares is compared with a gamma distribution with its mean and variance under equal probabilities.

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


#: Fewest distinct strings that may be names of subjects; and how many standard deviations their classes must differ.
_MANY_NAMES, _N_SIGMA = 100, 6.0


def repeated_names(value_codes: Rows, codes: Rows) -> str:
    """Reason why strings may be names of subjects with several rows in any order; empty if not.

    There are at least 100 of them, with at least two rows each on average, and their classes differ by more than chance
    explains: the chi-squared statistic of the majority class is six standard deviations above its mean.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> names, classes = rng.integers(0, 200, 3000), rng.integers(0, 2, 3000)
    >>> repeated_names(names, classes), repeated_names(names, (names % 3 == 0).astype(int) ^ (rng.random(3000) < 0.2))
    ('', '200 strings that repeat (about 15 rows each) and tell classes apart')
    """
    present = value_codes >= 0
    of_value, of_class = value_codes[present], codes[present] == np.bincount(codes).argmax()
    times = np.bincount(of_value)
    times, number = times[times > 0], int(np.count_nonzero(times))
    if number < _MANY_NAMES or times.sum() < 2 * number or number**2 <= times.sum():
        return ""
    hits = np.bincount(of_value, weights=of_class)[np.bincount(of_value) > 0]
    share = float(of_class.mean())
    statistic = float((times * (hits / times - share) ** 2).sum()) / max(share * (1.0 - share), 1e-9)
    if statistic < number - 1 + _N_SIGMA * math.sqrt(2.0 * (number - 1)):
        return ""
    return f"{number} strings that repeat (about {int(np.median(times))} rows each) and tell classes apart"


def _same_partition(value_codes: Rows, groups: Rows) -> bool:
    """Whether values are equal exactly within groups."""
    if (value_codes < 0).any():
        return False
    return bool(np.array_equal(pd.factorize(value_codes)[0], pd.factorize(groups)[0]))


def subjects_by_class(value_codes: Rows, codes: Rows, train: Rows) -> str:
    """Reason why values look like subjects: many, repeated, each with a single class in the training rows.

    Examples
    --------
    >>> who = np.repeat(np.arange(40), 5)
    >>> subjects_by_class(who, who % 2, np.arange(200)), subjects_by_class(who, np.arange(200) % 2, np.arange(200))
    ('40 values, with one class in all training rows of each', '')
    """
    number, n_present = int(value_codes.max()) + 1, np.count_nonzero(value_codes >= 0)
    if number < FEWEST_SUBJECTS or number**2 <= value_codes.size or 2 * n_present <= value_codes.size:
        return ""
    rows = train[value_codes[train] >= 0]
    n_classes = int(codes.max()) + 1
    # The first values suffice to exclude most columns.
    for sample in (rows[value_codes[rows] < FEWEST_SUBJECTS], rows):
        pairs = np.unique(value_codes[sample] * n_classes + codes[sample])
        if np.unique(pairs // n_classes).size < pairs.size:
            return ""
    repeated = np.bincount(codes[rows], minlength=n_classes) - np.bincount(pairs % n_classes, minlength=n_classes)
    if repeated.sum() < FEWEST or repeated.sum() - repeated.max() < FEWEST_OTHERS:
        return ""
    return f"{number} values, with one class in all training rows of each"


def _columns(X: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield names (or indices) and values of the columns of a table; nothing for other rows."""
    if isinstance(X, pd.DataFrame):
        for i, name in enumerate(X.columns):
            yield name, _values(X.iloc[:, i])
        return
    table: Any = X
    if isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], list | tuple):
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            return
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biufOU":
        yield from ((i, _values(pd.Series(table[:, i]).infer_objects())) for i in range(table.shape[1]))


def _values(column: "pd.Series[Any]") -> NDArray[Any]:
    """Convert numbers and dates to numbers, with NaN for missing values, and anything else to objects."""
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return column.to_numpy()
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        return np.where(column.isna(), np.nan, column.astype(np.int64))
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _value_codes(values: NDArray[Any]) -> Rows | None:
    """Index of each value, -1 if missing; None unless all are integers or strings."""
    if values.dtype.kind == "f":
        if not (_whole(values[:_N_SAMPLED]) and _whole(values)):
            return None
    elif values.dtype.kind == "O":
        if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "integer"):
            return None
    elif values.dtype.kind not in "iu":
        return None
    return np.asarray(pd.factorize(values, use_na_sentinel=True)[0], dtype=np.int64)


def _whole(values: NDArray[Any]) -> bool:
    return bool((np.isnan(values) | (values == np.floor(values))).all())
