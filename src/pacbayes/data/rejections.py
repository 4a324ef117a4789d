"""Error messages for columns that cannot be used, with remedies, for all columns at once."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Function that formats an option, such as "drop", with its value (None for a flag), for an error message.
Hint = Callable[[str, str | None], str]
# Arguments of `load_dataset` that are not lists.
_SCALAR_ARGUMENTS = ("decimal", "encoding", "sep", "target", "thousands")
# Maximum number of columns that are described, and that are named; further ones are only counted.
_MAX_DESCRIBED, _MAX_NAMED = 10, 50


@dataclass(frozen=True)
class RejectedColumn:
    """Column that cannot be used, with the reason and remedies besides dropping it."""

    column: str
    reason: str
    remedies: tuple[str, ...] = ()
    #: Whether dropping the column is a remedy; dropping an identifier of groups would hide the dependence of rows.
    may_drop: bool = True

    def message(self, hint: Hint) -> str:
        """Format the error message."""
        drop = (f"leave it out with {hint('drop', self.column)}",) if self.may_drop else ()
        remedies = (*drop, *self.remedies)
        return f"column {self.column!r} {self.reason}; {', or '.join(remedies)}"


def format_option(option: str, value: str | None) -> str:
    r"""Format an option of the command line, with its value quoted for a shell.

    Examples
    --------
    >>> print(format_option("drop", "age in years"), format_option("skip_unlabelled", None))
    --drop 'age in years' --skip-unlabelled
    >>> print(format_option("thousands", ","))
    --thousands ","
    >>> print(format_option("drop", "it's\ttwo lines\n"))
    --drop $'it\'s\ttwo lines\n'
    """
    name = f"--{option.replace('_', '-')}"
    if value is None:
        return name
    if value in (",", ".", "'"):
        return f'{name} "{value}"'  # readable within a sentence
    if value.isprintable():
        return f"{name} {shlex.quote(value)}"
    # Control characters are escaped in the syntax of bash, zsh and ksh.
    escaped = value.encode("unicode_escape").decode().replace("'", "\\'")
    return f"{name} $'{escaped}'"


def format_argument(option: str, value: str | None) -> str:
    """Format a keyword argument of `load_dataset`.

    Examples
    --------
    >>> format_argument("drop", "age in years"), format_argument("sep", ";"), format_argument("skip_unlabelled", None)
    ("drop=['age in years']", "sep=';'", 'skip_unlabelled=True')
    """
    if value is None:
        return f"{option}=True"
    return f"{option}={value!r}" if option in _SCALAR_ARGUMENTS else f"{option}=[{value!r}]"


def format_names(names: Sequence[str], max_names: int = 10) -> str:
    """Format the first names of a list, and the number of remaining ones.

    Examples
    --------
    >>> format_names(["a", "b"]), format_names(["a", "b", "c", "d"], 1)
    ("'a', 'b'", "'a' and 3 more")
    """
    # Name one or two more instead of counting them.
    max_names = len(names) if len(names) <= max_names + 2 else max_names
    shown = ", ".join(repr(name) for name in names[:max_names])
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names} more"


def raise_rejected(columns: Sequence[RejectedColumn], hint: Hint) -> None:
    """Raise a single error for all rejected columns, if there are any.

    Examples
    --------
    >>> raise_rejected([], format_option)
    >>> raise_rejected([RejectedColumn("a b", "is empty"), RejectedColumn("c", "is full")], format_option)
    Traceback (most recent call last):
    ValueError: 2 columns cannot be used: (1) column 'a b' is empty; leave it out with --drop 'a b' (2) column 'c' is
    full; leave it out with --drop c (all) leave them all out with --drop 'a b' --drop c
    """
    if not columns:
        return
    if len(columns) == 1:
        raise ValueError(columns[0].message(hint))
    messages = [f"({number}) {column.message(hint)}" for number, column in enumerate(columns[:_MAX_DESCRIBED], 1)]
    if len(columns) > _MAX_DESCRIBED:
        rest = ", ".join(repr(column.column) for column in columns[_MAX_DESCRIBED:_MAX_NAMED])
        more = f" and {len(columns) - _MAX_NAMED} more" if len(columns) > _MAX_NAMED else ""
        messages.append(f"({_MAX_DESCRIBED + 1} to {len(columns)}) for such reasons {rest}{more}")
    if len(columns) <= _MAX_NAMED and all(column.may_drop for column in columns):
        drop = " ".join(hint("drop", column.column) for column in columns)
        messages.append(f"(all) leave them all out with {drop}")
    raise ValueError(f"{len(columns)} columns cannot be used: {' '.join(messages)}")
