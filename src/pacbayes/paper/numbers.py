"""The paper's own numbers, read from the files in `printed/`."""

import csv
from functools import cache
from importlib.resources import files
from typing import Any

from pacbayes._utils.checks import check_choice

#: The tables of the paper that have a file.
TABLES = ("main", "small_lambda", "fp_vs_solver", "ccp", "support", "constants", "top_lambdas", "slips")
_TEXT = {"dataset", "distance", "constant_kind", "letter", "table", "column", "note", "printed"}

Row = dict[str, Any]


@cache
def printed(table: str) -> tuple[Row, ...]:
    """Rows of one of the paper's tables: numbers as float, None where the paper has NaN, NA or a misprint.

    Parameters
    ----------
    table : str
        One of `TABLES`.

    Examples
    --------
    >>> [row["bound"] for row in printed("main") if row["dataset"] == "haberman" and row["distance"] == "kl"]
    [0.37998]
    """
    check_choice("table", table, TABLES)
    text = files("pacbayes.paper").joinpath("printed", f"{table}.csv").read_text(encoding="utf-8")
    return tuple({name: _value(name, cell) for name, cell in row.items()} for row in csv.DictReader(text.splitlines()))


def cell(table: str, column: str, **where: Any) -> float | None:
    """One number of the paper, None where it has none or the cell is a slip.

    Examples
    --------
    >>> cell("fp_vs_solver", "fixed_point", dataset="banknote", H=50)
    0.015278
    >>> cell("fp_vs_solver", "fixed_point", dataset="banknote", H=1000) is None  # repeats Bupa's
    True
    """
    if slip(table, column, **where) is not None:
        return None
    value: float | None = raw_cell(table, column, **where)
    return value


def raw_cell(table: str, column: str, **where: Any) -> Any:
    """One number of the paper as printed, None where it has none."""
    found = [row for row in printed(table) if all(row[name] == value for name, value in where.items())]
    if len(found) > 1:
        raise ValueError(f"{where} must name one row of {table!r}, got {len(found)}")
    return found[0][column] if found else None


def slip(table: str, column: str, **where: Any) -> str | None:
    """Reason why a cell of the paper cannot be right, None where nothing is known against it.

    Examples
    --------
    >>> slip("support", "fp_test", distance="squared", dataset="wdbc")
    'off by a factor ten; the main table has 0.07052'
    """
    for row in printed("slips"):
        if row["table"] == table and row["column"] == column:
            known = {name: value for name, value in where.items() if name in row}
            if all(row[name] == value for name, value in known.items()):
                return str(row["note"])
    return None


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    if text == "":
        return None
    try:
        number = float(text)
    except ValueError:
        # The constants "paper" and "exact" share a column's name with numbers; one time is misprinted.
        return text if text in ("paper", "exact") else None
    return int(number) if name in ("H", "H_star", "m", "sample", "rank") else number
