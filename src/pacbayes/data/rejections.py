"""Columns that cannot be used: what is wrong with each, and the ways out, said about all of them at once."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: How a way out is said: from an option, such as "drop", and what it is given, None for one that is given nothing.
Hint = Callable[[str, str | None], str]
# Arguments in Python that are no lists.
_SINGLE = ("decimal", "encoding", "sep", "target", "thousands")
# So many columns are said in full; up to the second number they are named; more are counted.
_SAID, _NAMED = 10, 50


@dataclass(frozen=True)
class Refused:
    """A column that cannot be used, why, and the ways out besides leaving it out."""

    column: str
    why: str
    ways: tuple[str, ...] = ()
    #: Whether leaving it out is a way out: what says which rows belong together is missed if it is not there.
    may_drop: bool = True

    def said(self, hint: Hint) -> str:
        """Return the whole of it in words."""
        drop = (f"leave it out with {hint('drop', self.column)}",) if self.may_drop else ()
        ways = (*drop, *self.ways)
        return f"column {self.column!r} {self.why}; {', or '.join(ways)}"


def in_shell(option: str, value: str | None) -> str:
    r"""Return an option of the command line; the value is quoted as a shell needs it.

    Examples
    --------
    >>> print(in_shell("drop", "age in years"), in_shell("missing", "?"), in_shell("skip_unlabelled", None))
    --drop 'age in years' --missing '?' --skip-unlabelled
    >>> print(in_shell("thousands", ","))
    --thousands ","
    >>> print(in_shell("drop", "it's\ttwo lines\n"))
    --drop $'it\'s\ttwo lines\n'
    """
    name = f"--{option.replace('_', '-')}"
    if value is None:
        return name
    if value in (",", ".", "'"):
        return f'{name} "{value}"'  # a sentence would swallow it
    if value.isprintable():
        return f"{name} {shlex.quote(value)}"
    # A line of help shows no control characters: written as bash, zsh and ksh read them.
    escaped = value.encode("unicode_escape").decode().replace("'", "\\'")
    return f"{name} $'{escaped}'"


def in_python(option: str, value: str | None) -> str:
    """Return an argument of `load_dataset`.

    Examples
    --------
    >>> in_python("drop", "age in years"), in_python("sep", ";"), in_python("skip_unlabelled", None)
    ("drop=['age in years']", "sep=';'", 'skip_unlabelled=True')
    """
    if value is None:
        return f"{option}=True"
    return f"{option}={value!r}" if option in _SINGLE else f"{option}=[{value!r}]"


def listed(names: Sequence[str], most: int = 10) -> str:
    """First names of a list, and the number of the others.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d"], 1)
    ("'a', 'b'", "'a' and 3 more")
    """
    # One or two more are as soon named as counted.
    most = len(names) if len(names) <= most + 2 else most
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def refuse(columns: Sequence[Refused], hint: Hint) -> None:
    """Raise one error about all columns, if there is any.

    Examples
    --------
    >>> refuse([], in_shell)
    >>> refuse([Refused("a b", "is empty"), Refused("c", "is full")], in_shell)
    Traceback (most recent call last):
    ValueError: 2 columns cannot be used: (1) column 'a b' is empty; leave it out with --drop 'a b' (2) column 'c' is
    full; leave it out with --drop c (all) leave them all out with --drop 'a b' --drop c
    """
    if not columns:
        return
    if len(columns) == 1:
        raise ValueError(columns[0].said(hint))
    said = [f"({number}) {column.said(hint)}" for number, column in enumerate(columns[:_SAID], 1)]
    if len(columns) > _SAID:
        rest = ", ".join(repr(column.column) for column in columns[_SAID:_NAMED])
        more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
        said.append(f"({_SAID + 1} to {len(columns)}) for such reasons {rest}{more}")
    if len(columns) <= _NAMED and all(column.may_drop for column in columns):
        drop = " ".join(hint("drop", column.column) for column in columns)
        said.append(f"(all) leave them all out with {drop}")
    raise ValueError(f"{len(columns)} columns cannot be used: {' '.join(said)}")
