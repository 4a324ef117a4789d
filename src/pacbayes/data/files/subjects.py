"""Columns that say which rows belong together: a subject's number, repeated from row to row.

Several rows of one person on both sides of the division make errors look rarer than they are, and nothing else shows
it.  Such a column gives itself away by the order of the file: the rows of a subject follow one another.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.files.identifiers import sounds_like_identifier, whole_numbers
from pacbayes.data.files.refusals import Hint, Refused, in_python

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
