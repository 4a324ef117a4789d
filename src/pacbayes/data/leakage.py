r"""Detection of leakage through columns: row numbers, identifiers, target leakage and repeated subjects.

*Target leakage.*  A column that determines the class was often recorded after the outcome: each of its values, or each
interval between thresholds, occurs in training rows of one class only.  A column with error rate `e` does so on `n`
rows with probability at most :math:`(1-e)^n`: for 100 rows, 6 of 1000 columns with an error rate of 5 %, and 1 of 30
000 columns with 10 %.  The test therefore requires `MIN_ROWS` rows, `MIN_MINORITY_ROWS` of which are not in the
majority class.  The test is run with missing values as a value of their own, and without the rows in which the value is
missing, because leaking columns may be incomplete.

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
from pacbayes.data.rejections import Hint, RejectedColumn, format_argument, raise_rejected
from pacbayes.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT, Column, Schema, parse_numbers

#: Significance level of the tests for integer identifiers.
ID_LEVEL = 1e-3
#: Strings are treated as identifiers if more than this fraction, and at least this number of them, are distinct.
MIN_UNIQUE_SHARE, MIN_UNIQUE_STRINGS = 0.9, 5
#: Strings are also treated as identifiers if there are more than this number of distinct ones, and more than one for
#: every two rows.
MAX_CATEGORIES = 100
#: Unsorted integers are identifiers from this number of rows on: if the column name suggests it and at least this
#: fraction is distinct, or if all are distinct and have the same number of digits, at least this number.
MIN_INTEGERS, MIN_DISTINCT_SHARE, MIN_ID_DIGITS = 20, 0.95, 8
# Last words of the names of identifiers, and names of the things that they identify.
_ID_SUFFIXES = ("id", "ids", "nr", "no", "key", "uuid", "guid", "identifier", "ident", "idx")
_ID_OWNERS = (
    *("account", "case", "client", "customer", "employee", "household", "member", "order", "participant", "passenger"),
    *("patient", "person", "pid", "policy", "record", "respondent", "row", "sample", "serial", "ssn", "student"),
    *("subject", "ticket", "transaction", "user"),
)
# Names of subjects that may have several rows, and last words of the names of their identifiers.
_SUBJECT_NAMES = (
    *("animal", "child", "couple", "donor", "driver", "family", "firm", "hospital", "individual", "mother", "player"),
    *("pupil", "rat", "school", "subj", "teacher", "village", "volunteer", "worker"),
)
_NUMBER_SUFFIXES = ("code", "name", "num", "number")
_UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?")


def is_unnamed(name: str) -> bool:
    """Whether a name is the one that pandas generates for unnamed columns, such as an index column in a CSV file.

    Examples
    --------
    >>> is_unnamed("Unnamed: 0"), is_unnamed("Unnamed: 0.1"), is_unnamed("Unnamed")
    (True, True, False)
    """
    return _UNNAMED.fullmatch(name) is not None


def reject_columns(X: pd.DataFrame, schema: Schema, keep: Collection[str], hint: Hint) -> None:
    """Raise a single error for all columns that are empty, hold infinite numbers, or look like identifiers."""
    columns = zip(schema.columns, (X.iloc[:, i] for i in range(X.shape[1])), strict=True)
    rejected = [_reject_column(series, column, column.name in keep, hint) for column, series in columns]
    raise_rejected([column for column in rejected if column is not None], hint)


def _reject_column(series: "pd.Series[Any]", column: Column, keep: bool, hint: Hint) -> RejectedColumn | None:
    """Check a single column and return its rejection, if any; columns to `keep` may look like identifiers."""
    name, rows, present = column.name, len(series), series.dropna().to_numpy()
    if not present.size:
        return RejectedColumn(name, "has no values at all")
    if column.kind == NUMBER:
        numbers = parse_numbers(series)[0] if column.strings or present.dtype.kind == "O" else present
        if present.dtype.kind in "fO" and np.isinf(numbers).any():
            place = int(np.isinf(parse_numbers(series)[0]).argmax())
            why = f"must hold finite numbers, got {series.iloc[place]} in example {place + 1}"
            return RejectedColumn(name, why, ("correct it", "leave the cell empty if the value is missing"))
        present = numbers[~np.isnan(numbers)] if column.strings else present
    if keep or column.kind in (BOOLEAN, DATE):
        return None if keep else reject_unnamed_column(name, hint)
    rejected = reject_unnamed_column(name, hint)
    if column.kind == NUMBER:
        rejected = rejected or reject_integer_id(name, present, rows, hint)
    rejected = rejected or reject_subject_id(name, present, rows, hint)
    if rejected is None and column.kind in (CATEGORY, TEXT):
        texts = [str(value) for value in present]
        why = looks_like_text_id(texts, rows)
        # Strings of several words are free text, which is encoded by its words.
        if why and np.mean([" " in text.strip() for text in texts]) < 0.5:
            remedies = (f"if it is a category or a text keep it with {hint('keep', name)}",)
            rejected = RejectedColumn(name, f"looks like a name or an identifier: {why}", remedies)
    return rejected


def reject_unnamed_column(name: str, hint: Hint) -> RejectedColumn | None:
    """Reject a column without a name; None for named columns."""
    if not is_unnamed(name):
        return None
    remedies = (
        "name it in the header of the file",
        "if it is the index of a data frame write the file with to_csv(index=False)",
        f"if it is a measurement keep it with {hint('keep', name)}",
    )
    return RejectedColumn(name, "has no name in the file", remedies)


def reject_integer_id(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> RejectedColumn | None:
    """Reject numbers that look like row numbers or identifiers; None for other numbers."""
    why = looks_like_row_id(values, rows) or looks_like_unsorted_id(values, rows, sounds_like_identifier(name))
    remedies = (f"if it is a measurement keep it with {hint('keep', name)}",)
    return RejectedColumn(name, f"looks like a row number or an identifier: {why}", remedies) if why else None


def looks_like_row_id(values: NDArray[Any] | Sequence[Any], rows: int) -> str:
    r"""Explain why numbers look like row numbers or identifiers; the result is empty if they do not.

    The numbers must be distinct integers, present in more than half of the rows, and either

    * monotone: :math:`n` distinct numbers in random order are, with probability :math:`2/n!`, or
    * too many for their range: :math:`n` measurements with :math:`R` possible values are distinct with probability at
      most :math:`\prod_{i<n} (1 - i/R)`, for any distribution (birthday problem).

    Both probabilities are compared with `ID_LEVEL`.  Consecutive integers in any order are rejected from nine rows on.

    Examples
    --------
    >>> looks_like_row_id([3, 1, 2, 9, 8, 7, 6, 5, 4, 10], 10)
    '10 distinct integers in 10 rows, from 1 to 10'
    >>> looks_like_row_id([2, 3, 5, 8, 13, 21, 34, 55], 8)
    '8 distinct integers that increase from row to row'
    >>> looks_like_row_id([55, 3, 5, 8, 13, 21, 34, 2], 8)
    ''
    """
    numbers = to_integers(values)
    if numbers is None or 2 * numbers.size <= rows:
        return ""
    n = int(numbers.size)
    # Columns of measurements usually have repeated values, so most of them return here.
    ordered = np.sort(numbers)
    if n < 2 or bool((ordered[1:] == ordered[:-1]).any()):
        return ""
    rises = bool((numbers == ordered).all())
    if (rises or bool((numbers == ordered[::-1]).all())) and math.log(2.0) - math.lgamma(n + 1) < math.log(ID_LEVEL):
        return f"{n} distinct integers that {'increase' if rises else 'decrease'} from row to row"
    low, high = int(ordered[0]), int(ordered[-1])
    if float(np.log1p(-np.arange(n) / (high - low + 1)).sum()) < math.log(ID_LEVEL):
        return f"{n} distinct integers in {rows} rows, from {low} to {high}"
    return ""


def looks_like_unsorted_id(values: NDArray[Any] | Sequence[Any], rows: int, named: bool) -> str:
    """Explain why unsorted integers of a wide range look like identifiers; the result is empty if they do not.

    Measurements of a wide range may be distinct too.  Therefore either the column name must suggest an identifier
    (`named`), or all numbers must have the same large number of digits, like phone or customer numbers.

    Examples
    --------
    >>> drawn = np.random.default_rng(0).choice(90_000, 50, replace=False)
    >>> looks_like_unsorted_id(drawn, 50, named=False), looks_like_unsorted_id(drawn + 10_000_000, 50, named=False)
    ('', '50 distinct integers in 50 rows, all of 8 digits')
    >>> looks_like_unsorted_id(drawn, 50, named=True)
    '50 distinct integers in 50 rows, and its name'
    """
    numbers = to_integers(values)
    if numbers is None or 2 * numbers.size <= rows or numbers.size < MIN_INTEGERS:
        return ""
    distinct = np.unique(numbers).size
    description = f"{distinct} distinct integers in {rows} rows"
    if named and distinct >= MIN_DISTINCT_SHARE * numbers.size:
        return f"{description}, and its name"
    smallest, largest = str(int(numbers.min())), str(int(numbers.max()))
    if distinct == numbers.size and smallest.isdigit() and len(smallest) == len(largest) >= MIN_ID_DIGITS:
        return f"{description}, all of {len(smallest)} digits"
    return ""


def sounds_like_identifier(name: str) -> bool:
    """Whether a column name suggests an identifier, such as id, CustomerID, patient_no or key.

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
    return (
        last in _ID_SUFFIXES
        or whole in _ID_OWNERS
        or any(whole == f"{who}{end}" for who in _ID_OWNERS for end in _ID_SUFFIXES)
    )


def sounds_like_subject(name: str) -> bool:
    """Whether a column name suggests an identifier, or a subject that may have several rows.

    Examples
    --------
    >>> [sounds_like_subject(name) for name in ("id", "idcode", "patient.number", "Subject", "school")]
    [True, True, True, True, True]
    >>> [sounds_like_subject(name) for name in ("age", "state", "customer_age", "number", "ideal")]
    [False, False, False, False, False]
    """
    whole = "".join(re.findall(r"[a-z]+", name.lower()))
    known = ("id", *_ID_OWNERS, *_SUBJECT_NAMES)
    named = whole in _SUBJECT_NAMES or any(
        whole == f"{who}{end}" for who in known for end in (*_NUMBER_SUFFIXES, *_ID_SUFFIXES)
    )
    return named or sounds_like_identifier(name)


def to_integers(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any] | None:
    """Drop missing values and convert the others to integers; None if a value is not an integer."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "f":
        array = array[~np.isnan(array)]
        # All floats above 2^53 are integers, so being an integer is not informative there.
        return array if bool((np.abs(array) <= 2.0**53).all() and (array == np.floor(array)).all()) else None
    if array.dtype.kind != "O":
        return None
    try:
        return np.array([_to_integer(value) for value in array if value == value], dtype=object)
    except (TypeError, ValueError, OverflowError):
        return None


def _to_integer(value: Any) -> int:
    whole = int(value)
    if not isinstance(value, str) and whole != value:
        raise ValueError(f"{value!r} is not an integer")
    return whole


def looks_like_text_id(values: Sequence[str], rows: int) -> str:
    """Explain why strings look like names, identifiers or free text; the result is empty if they do not.

    Nearly all of them must be distinct, or there must be very many distinct ones.  Strings that are missing in most
    rows may be remarks, and fewer than five strings are too few to decide.

    Examples
    --------
    >>> looks_like_text_id(["Ann", "Bob", "Cy", "Di", "Ed"], 5)
    "5 distinct values in 5 rows, such as 'Ann'"
    >>> looks_like_text_id(["red", "green", "red", "blue", "black"], 5), looks_like_text_id(["broken"], 5)
    ('', '')
    """
    distinct = len(set(values))
    nearly_unique = (
        distinct > MIN_UNIQUE_SHARE * len(values) and 2 * len(values) > rows and distinct >= MIN_UNIQUE_STRINGS
    )
    if not nearly_unique and not (distinct > MAX_CATEGORIES and 2 * distinct > len(values)):
        return ""
    return f"{distinct} distinct values in {len(values)} rows, such as {values[0][:40]!r}"


#: With fewer distinct values than this, or than the square root of the number of rows, runs may be experimental
#: designs.
MIN_RUNS = 10
#: Minimum fraction of values that occur in a single run.
MIN_SINGLE_RUN_SHARE = 0.95
#: Minimum fraction of runs of the median length in a sorted column; otherwise it may be a sorted measurement.
MIN_EQUAL_RUN_SHARE = 0.9


def reject_subject_id(name: str, values: NDArray[Any] | Sequence[Any], rows: int, hint: Hint) -> RejectedColumn | None:
    """Reject a column that looks like an identifier of subjects with several rows; None for other columns."""
    why = looks_like_subject_id(values, rows, sounds_like_identifier(name))
    if not why:
        return None
    group = (
        f"if these are subjects use {hint('group', name)}"
        if hint is not format_argument
        else f"if these are subjects drop it with {hint('drop', name)} and pass it to fit as groups"
    )
    return RejectedColumn(
        name, why, (group, f"if it describes the row keep it with {hint('keep', name)}"), may_drop=False
    )


def looks_like_subject_id(values: NDArray[Any] | Sequence[Any], rows: int, named: bool = False) -> str:
    """Explain why values look like identifiers of subjects with several rows; the result is empty if they do not.

    The values must be many integers or strings, present in more than half of the rows, and nearly every value must
    occur in a single run of at least two consecutive rows.  A monotone column may be a measurement by which the file is
    sorted; in this case, nearly all runs must have the same length, or the column name must suggest an identifier
    (`named`).

    Examples
    --------
    >>> looks_like_subject_id([13] * 4 + [17] * 4 + list(range(20, 30)) * 2, 28)
    ''
    >>> looks_like_subject_id(np.repeat(np.arange(13, 53), 8), 320)
    'has 40 values in runs of 8 rows each'
    >>> ages = np.sort(np.random.default_rng(0).integers(20, 70, 300))
    >>> looks_like_subject_id(ages, 300), looks_like_subject_id(ages, 300, named=True)
    ('', 'has 50 values in runs of about 6 rows')
    """
    comparable = _to_comparable(values)
    if comparable is None or 2 * comparable.size <= rows or comparable.size < 2:
        return ""
    starts = np.flatnonzero(np.concatenate([[True], comparable[1:] != comparable[:-1]]))
    run_values = comparable[starts]
    lengths = np.diff(np.concatenate([starts, [comparable.size]]))
    # Most columns have short runs and return here.
    if 3 * run_values.size > 2 * comparable.size:
        return ""
    distinct, times = np.unique(run_values, return_counts=True)
    if distinct.size < MIN_RUNS or distinct.size**2 <= comparable.size or np.mean(times == 1) < MIN_SINGLE_RUN_SHARE:
        return ""
    median = int(np.median(lengths))
    if median < 2:
        return ""
    equal = float(np.mean(lengths == median)) >= MIN_EQUAL_RUN_SHARE
    monotone = bool((run_values[1:] > run_values[:-1]).all() or (run_values[1:] < run_values[:-1]).all())
    if monotone and not equal and not named:
        return ""
    return f"has {distinct.size} values in runs of " + (f"{median} rows each" if equal else f"about {median} rows")


def _to_comparable(values: NDArray[Any] | Sequence[Any]) -> NDArray[Any] | None:
    """Drop missing values; None unless all others are integers or strings."""
    numbers = to_integers(values)
    if numbers is not None:
        return numbers
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.array([value for value in array if value == value], dtype=object)
        return array if all(isinstance(value, str) for value in array) else None
    return array if array.dtype.kind == "U" else None


#: Minimum number of rows, and of rows outside the majority class, for a warning about target leakage.
MIN_ROWS, MIN_MINORITY_ROWS = 100, 30
#: Minimum number of subjects, because fewer values may be an experimental design; and minimum fraction of rows with a
#: repeated value in a column whose name suggests an identifier.
MIN_SUBJECTS, MIN_REPEATED_SHARE = 20, 0.1
# Lower minimums if only one row per suspected subject is counted: a false suspicion must not hide target leakage.
_MIN_SUSPECTED_ROWS = (20, 10)
# Approximate significance level of the test for subjects.
_SUBJECT_LEVEL = 1e-6
# Size of the sample of rows with which most columns are excluded.
_N_SAMPLED = 512
# Maximum number of warnings about subjects, and of column names in a warning about target leakage.
_MAX_SUBJECT_WARNINGS, _MAX_NAMES = 3, 30


def warn_about_leakage(X: Any, codes: Rows, train: Rows, units: Rows | None = None, groups: Rows | None = None) -> None:
    """Warn about target leakage in the training rows, and about columns that identify subjects or the groups.

    Only the classes of training rows are used.  Each unit, or suspected subject, is counted once, because its rows are
    not independent.  Sparse matrices, and rows that are not tables, are not checked.
    """
    subjects: dict[Any, str] = {}
    determined: set[Any] = set()
    minimum = (MIN_ROWS, MIN_MINORITY_ROWS) if units is not None else _MIN_SUSPECTED_ROWS
    for name, values in _iter_columns(X):
        value_codes = _encode_values(values)
        if value_codes is None:
            continue
        if groups is not None:
            if _identifies_groups(value_codes[train], groups[train]):
                warn_caller(
                    f"Column {name!r} of X identifies the groups: new groups have values that no training row had. "
                    "Drop it from X."
                )
            continue
        reason = detect_subjects_by_counts(np.bincount(value_codes[value_codes >= 0]), len(value_codes), name)
        if not reason and (reason_by_class := detect_subjects_by_class(value_codes, codes, train)):
            # If thresholds determine the class, target leakage is more likely than subjects.
            reason = "" if _check_purity(values[train], codes[train])[1] else reason_by_class
            determined |= {name}
        if reason:
            subjects[name] = reason
            units = value_codes if units is None else units
        elif values.dtype.kind == "O" and (reason := detect_subject_names(value_codes[train], codes[train])):
            warn_caller(
                f"Column {name!r} holds {reason}. If rows with one value belong together, use groups=X[{name!r}] and "
                "drop it from X: else the certificate is about new rows with known values. Otherwise, ignore this "
                "warning."
            )
    one_per_unit = train if units is None else train[np.unique(units[train], return_index=True)[1]]
    leaking = {
        name: incomplete
        for name, values in _iter_columns(X)
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
    """Test whether a column determines the class; None if it does not.

    The result is true if rows with missing values have to be left out.  `parts` holds all training rows, and one row of
    each unit, to which the `minimum` numbers of rows apply.
    """
    present = ~pd.isna(values)
    for drop_missing in (False,) if present.all() else (False, True):
        rows, one_per_unit = (part[present[part]] if drop_missing else part for part in parts)
        if determines_class(values[rows], codes[rows]) and determines_class(
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


def determines_class(
    values: NDArray[Any], codes: Rows, min_rows: int = MIN_ROWS, min_minority_rows: int = MIN_MINORITY_ROWS
) -> bool:
    """Test whether a column alone determines the class, by its values or by thresholds.

    The test by values requires at most 100 distinct values, which must not be fractions; the first row of each value
    does not count towards the minimum numbers of rows.  Missing values are treated as a value.

    Examples
    --------
    >>> codes = np.arange(120) % 2
    >>> determines_class(codes * 10.0, codes), determines_class(np.where(codes == 1, "paid", None), codes)
    (True, True)
    >>> determines_class(np.append(codes[:-1], 0), codes), determines_class(codes[:90], codes[:90])
    (False, False)
    """
    if codes.size < min_rows or codes.size - np.bincount(codes).max() < min_minority_rows:
        return False
    sample = slice(None, None, max(1, codes.size // _N_SAMPLED))
    try:
        return any(_check_purity(values[sample], codes[sample])) and any(
            _check_purity(values, codes, min_rows, min_minority_rows)
        )
    except TypeError:  # lists and the like are not hashable
        return False


def _check_purity(
    values: NDArray[Any], codes: Rows, min_rows: int = 0, min_minority_rows: int = 0
) -> tuple[bool, bool]:
    """Test whether each value, and whether each interval between thresholds, belongs to a single class."""
    value_codes = pd.factorize(values, use_na_sentinel=True)[0] + 1
    pairs = pd.factorize(value_codes * (int(codes.max()) + 1) + codes)[1]
    distinct = np.unique(value_codes).size
    if pairs.size > distinct:
        return False, False
    repeated = np.bincount(codes) - np.bincount(pairs % (int(codes.max()) + 1), minlength=int(codes.max()) + 1)
    enough = repeated.sum() >= min_rows and repeated.sum() - repeated.max() >= min_minority_rows
    # Fractions repeat in duplicates of rows only, which are not evidence of leakage.
    by_values = bool(distinct <= MAX_CATEGORIES and enough and (values.dtype.kind != "f" or _all_integers(values)))
    if values.dtype.kind not in "biuf":
        return by_values, False
    present = value_codes > 0
    ordered = codes[present][np.argsort(values[present], kind="stable")]
    changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return by_values, changes < np.unique(codes).size


def detect_subjects_by_counts(times: NDArray[np.int64], rows: int, name: Any) -> str:
    """Explain from multiplicities and column name why values look like subjects; the result is empty if they do not.

    There must be at least 20 values, present in more than half of the rows.  In addition, either the column name must
    suggest a subject and a tenth of the rows must have a repeated value, or there must be more values than the square
    root of the number of rows and their multiplicities must vary less than those of independent draws.

    Examples
    --------
    >>> detect_subjects_by_counts(np.full(50, 6), 300, "x"), detect_subjects_by_counts(np.arange(2, 42), 820, "patient")
    ('50 values, 6 rows each (more evenly than by chance)', '40 values, about 21 rows each (and its name)')
    >>> detect_subjects_by_counts(np.random.default_rng(0).poisson(6.0, 50), 300, "x")
    ''
    """
    number, total = times.size, int(times.sum())
    if number < MIN_SUBJECTS or 2 * total <= rows:
        return ""
    median = int(np.median(times))
    each = f"{median} rows each" if (times == median).all() else f"about {max(median, 2)} rows each"
    description = f"{number} values, {each}"
    if sounds_like_subject(str(name)) and times[times > 1].sum() >= MIN_REPEATED_SHARE * total:
        return f"{description} (and its name)"
    if number**2 > total and evenness_p_value(times) < _SUBJECT_LEVEL:
        return f"{description} (more evenly than by chance)"
    return ""


def evenness_p_value(times: NDArray[np.int64]) -> float:
    """Approximate the p-value of underdispersed multiplicities; 1 if all values are distinct.

    The sum of squared deviations is compared with a gamma distribution with the same mean and variance as under
    independent draws with equal probabilities.

    Examples
    --------
    >>> evenness_p_value(np.full(30, 8)) < 1e-6, evenness_p_value(np.ones(30, dtype=np.int64))
    (True, 1.0)
    >>> bool(evenness_p_value(np.random.default_rng(0).poisson(8.0, 30)) > 0.01)
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


#: Minimum number of distinct strings that may be names of subjects, and minimum deviation of their class frequencies in
#: standard deviations.
_MIN_NAMES, _N_SIGMA = 100, 6.0


def detect_subject_names(value_codes: Rows, codes: Rows) -> str:
    """Explain why strings may be names of subjects with several rows; the result is empty if they are not.

    There must be at least 100 of them, with two rows each on average, and the chi-squared statistic of the majority
    class must be at least six standard deviations above its mean.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> names, classes = rng.integers(0, 200, 3000), rng.integers(0, 2, 3000)
    >>> detect_subject_names(names, classes)
    ''
    >>> detect_subject_names(names, (names % 3 == 0).astype(int) ^ (rng.random(3000) < 0.2))
    '200 strings that repeat (about 15 rows each) and tell classes apart'
    """
    present = value_codes >= 0
    value_index, is_majority = value_codes[present], codes[present] == np.bincount(codes).argmax()
    times = np.bincount(value_index)
    times, number = times[times > 0], int(np.count_nonzero(times))
    if number < _MIN_NAMES or times.sum() < 2 * number or number**2 <= times.sum():
        return ""
    hits = np.bincount(value_index, weights=is_majority)[np.bincount(value_index) > 0]
    share = float(is_majority.mean())
    statistic = float((times * (hits / times - share) ** 2).sum()) / max(share * (1.0 - share), 1e-9)
    if statistic < number - 1 + _N_SIGMA * math.sqrt(2.0 * (number - 1)):
        return ""
    return f"{number} strings that repeat (about {int(np.median(times))} rows each) and tell classes apart"


def _identifies_groups(value_codes: Rows, groups: Rows) -> bool:
    """Whether values and groups define the same partition of the rows."""
    if (value_codes < 0).any():
        return False
    return bool(np.array_equal(pd.factorize(value_codes)[0], pd.factorize(groups)[0]))


def detect_subjects_by_class(value_codes: Rows, codes: Rows, train: Rows) -> str:
    """Explain why values look like subjects, each with a single class in the training rows; the result may be empty.

    Examples
    --------
    >>> who = np.repeat(np.arange(40), 5)
    >>> detect_subjects_by_class(who, who % 2, np.arange(200))
    '40 values, with one class in all training rows of each'
    >>> detect_subjects_by_class(who, np.arange(200) % 2, np.arange(200))
    ''
    """
    number, n_present = int(value_codes.max()) + 1, np.count_nonzero(value_codes >= 0)
    if number < MIN_SUBJECTS or number**2 <= value_codes.size or 2 * n_present <= value_codes.size:
        return ""
    rows = train[value_codes[train] >= 0]
    n_classes = int(codes.max()) + 1
    # Test the first values only, which excludes most columns.
    for sample in (rows[value_codes[rows] < MIN_SUBJECTS], rows):
        pairs = np.unique(value_codes[sample] * n_classes + codes[sample])
        if np.unique(pairs // n_classes).size < pairs.size:
            return ""
    repeated = np.bincount(codes[rows], minlength=n_classes) - np.bincount(pairs % n_classes, minlength=n_classes)
    if repeated.sum() < MIN_ROWS or repeated.sum() - repeated.max() < MIN_MINORITY_ROWS:
        return ""
    return f"{number} values, with one class in all training rows of each"


def _iter_columns(X: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the name (or index) and values of each column of a table; nothing for rows that are not a table."""
    if isinstance(X, pd.DataFrame):
        for i, name in enumerate(X.columns):
            yield name, _to_column_array(X.iloc[:, i])
        return
    table: Any = X
    if isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], list | tuple):
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            return
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biufOU":
        yield from ((i, _to_column_array(pd.Series(table[:, i]).infer_objects())) for i in range(table.shape[1]))


def _to_column_array(column: "pd.Series[Any]") -> NDArray[Any]:
    """Convert numeric and datetime columns to numbers, with NaN for missing values, and other columns to objects."""
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return column.to_numpy()
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        return np.where(column.isna(), np.nan, column.astype(np.int64))
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _encode_values(values: NDArray[Any]) -> Rows | None:
    """Assign an index to each distinct value, -1 if missing; None unless all values are integers or strings."""
    if values.dtype.kind == "f":
        if not (_all_integers(values[:_N_SAMPLED]) and _all_integers(values)):
            return None
    elif values.dtype.kind == "O":
        if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "integer"):
            return None
    elif values.dtype.kind not in "iu":
        return None
    return np.asarray(pd.factorize(values, use_na_sentinel=True)[0], dtype=np.int64)


def _all_integers(values: NDArray[Any]) -> bool:
    return bool((np.isnan(values) | (values == np.floor(values))).all())
