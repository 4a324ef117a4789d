"""Columns that tell rows, or subjects with several rows, apart instead of describing them."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
