r"""Columns that a careful colleague would ask about: one that alone decides the class, one that names subjects.

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

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import lambertw
from scipy.stats import chi2, poisson

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.identifiers import MOST_CATEGORIES, sounds_like_subject

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
    weight = poisson.pmf(k, rate) / -np.expm1(-rate)
    variance = float(weight @ (k - mean) ** 2)
    kurtosis = float(weight @ (k - mean) ** 4) / variance**2
    freedom = 2.0 * (times.size - 1) / (kurtosis - 1.0)
    return float(chi2.cdf(freedom * float(times.var(ddof=1)) / variance, freedom))


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
