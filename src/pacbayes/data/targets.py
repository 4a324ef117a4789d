"""Selection and parsing of the target column of a file."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import convert_long_labels, did_you_mean
from pacbayes.data.leakage import is_unnamed
from pacbayes.data.rejections import Hint, format_argument, format_names
from pacbayes.data.spelling import check_spellings

if TYPE_CHECKING:
    import pandas as pd

#: Maximum number of classes: with more, there would be too many one-vs-one SVMs and too few rows per class.
MAX_CLASSES = 100
_INTEGER = re.compile(r"[+-]?\d+(\.0*)?", re.ASCII)


def select_target(columns: Sequence[str], target: str | None, path: str, hint: Hint = format_argument) -> str:
    """Select the target column, by default the last; raise if there is none, or no feature besides it."""
    if len(columns) < 2:
        raise ValueError(
            f"{path!r} must have at least one feature and a class column; its only column is {list(columns)}; if it "
            f"has several, give the character between them with {hint('sep', ';')} or the like"
        )
    chosen = columns[-1] if target is None else target
    if chosen not in columns:
        raise ValueError(f"target must be a column of {path!r}, got {chosen!r}; {suggest_columns(columns, [chosen])}")
    if target is None and is_unnamed(chosen):
        raise ValueError(
            f"the last column of {path!r} would be the class, but it has no name; leave it out with "
            f"{hint('drop', chosen)}, or name the class with {hint('target', columns[0])} or another"
        )
    return chosen


def suggest_columns(columns: Sequence[str], unknown: Sequence[str]) -> str:
    """List similar column names, or all of them if there are few."""
    similar = did_you_mean(unknown, columns)
    return similar.removeprefix("; ") or f"its columns are {format_names(list(columns), 12)}"


def labelled_mask(frame: "pd.DataFrame", target: str, path: str) -> NDArray[np.bool_]:
    """Compute the mask of rows with a label; raise if there are none."""
    present = frame[target].notna().to_numpy()
    if not present.any():
        raise ValueError(f"no example has a class: column {target!r} of {path!r} is empty")
    return np.asarray(present)


def parse_labels(
    series: "pd.Series[Any]", path: str, hint: Hint = format_argument, as_text: bool = False
) -> NDArray[Any]:
    """Convert strings to integers, floats or booleans if all of them can be converted; raise for missing labels."""
    name, missing = series.name, series.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"every example needs a class, but {int(missing.sum())} in column {name!r} of {path!r} are missing "
            f"(empty, NA, None, nan and the like), the first in example {int(missing.argmax()) + 1}; fill them in, or "
            f"leave such examples out with {hint('skip_unlabelled', None)}"
        )
    import pandas as pd

    codes, values = pd.factorize(series.to_numpy(dtype=object))
    distinct = [str(value).strip() for value in values]
    check_spellings(distinct, f"column {name!r} of {path!r}")
    converters = () if as_text else (_parse_integers, _parse_floats, _parse_booleans)
    tables = (convert(distinct) for convert in converters)
    table = next((table for table in tables if table is not None), None)
    # `narrow_labels` avoids wide string arrays if a single label is long.
    return np.asarray(np.asarray(convert_long_labels(distinct) if table is None else table)[codes])


def _parse_integers(distinct: list[str]) -> NDArray[Any] | None:
    if not all(_INTEGER.fullmatch(text) for text in distinct):
        return None
    numbers = [int(text.partition(".")[0]) for text in distinct]
    kind = np.int64 if max(numbers) <= np.iinfo(np.int64).max else np.uint64
    inside = np.iinfo(kind).min <= min(numbers) and max(numbers) <= np.iinfo(kind).max
    return np.array(numbers, dtype=kind) if inside else None


def _parse_floats(distinct: list[str]) -> NDArray[Any] | None:
    try:
        return np.array([float(text) for text in distinct])
    except ValueError:
        return None


def _parse_booleans(distinct: list[str]) -> NDArray[Any] | None:
    words = [text.casefold() for text in distinct]
    return np.array([word == "true" for word in words]) if set(words) <= {"true", "false"} else None


def check_classes(labels: NDArray[Any], name: str) -> None:
    """Raise if a target column has a single class, too many classes, or numbers that are not classes.

    Examples
    --------
    >>> check_classes(np.array([0.5, 1.25, 3.0]), "price")
    Traceback (most recent call last):
    ValueError: column 'price' must hold classes, but it holds fractions such as 0.5: it looks like a quantity; name the
    column of classes by target=
    """
    classes = np.unique(labels)
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError(f"column {name!r} must hold classes, but it holds infinite numbers")
        fractions = classes[classes != np.floor(classes)]
        if fractions.size:
            raise ValueError(
                f"column {name!r} must hold classes, but it holds fractions such as {fractions[0]:g}: it looks like a "
                "quantity; name the column of classes by target="
            )
    if classes.size < 2:
        raise ValueError(f"column {name!r} must hold at least two classes, but every example is {classes[0]!s}")
    if classes.size > MAX_CLASSES:
        raise ValueError(
            f"column {name!r} must hold at most {MAX_CLASSES} classes, but it holds {classes.size} different values "
            f"in {labels.size} rows; if it is not the class, name another by target="
        )
