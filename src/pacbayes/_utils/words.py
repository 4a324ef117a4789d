"""Formatting of numbers (conservatively rounded) and other values as text, and HTML representation of results."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import Any

# Smaller levels are not formatted as percentages.
_SMALL_DELTA = Decimal("1e-6")
# Maximum number of decimals of a percentage, enough for two digits of a bound from a hundred million rows.
_MAX_DECIMALS = 6


def format_rounded_up(value: float, digits: int) -> str:
    """Format a bound with `digits` decimals, rounded up.

    Examples
    --------
    >>> format_rounded_up(0.16301, 4), f"{0.16301:.4f}"
    ('0.1631', '0.1630')
    """
    if not math.isfinite(value):
        return str(value)
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def format_significant_up(value: float) -> str:
    """Format a non-negative number with at most four significant digits, rounded up.

    Examples
    --------
    >>> [format_significant_up(value) for value in (0.57531, 12345.0, 0.0, 1e30)]
    ['0.5754', '12350', '0', '1.001e+30']
    """
    exact = Decimal(value)
    if exact == 0:
        return "0"
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), rounding=ROUND_CEILING)):g}"


def percent_up(share: float) -> str:
    """Format an upper bound as a percentage, rounded up: one decimal, two significant digits if it is small.

    Examples
    --------
    >>> percent_up(0.0866), percent_up(0.0), percent_up(0.00996), percent_up(0.00015)
    ('8.7 %', '0.0 %', '1.0 %', '0.015 %')
    """
    return _format_percent(share, share, ROUND_CEILING)


def percent_down(share: float) -> str:
    """Format a lower bound as a percentage, rounded down: two significant digits if it is close to 0 or 100 %.

    Examples
    --------
    >>> percent_down(0.0866), percent_down(0.00017), percent_down(0.99985)
    ('8.6 %', '0.017 %', '99.985 %')
    """
    return _format_percent(share, min(share, 1.0 - share), ROUND_FLOOR)


def format_share(share: float) -> str:
    """Format an observed share as a percentage, rounded to nearest, with the same number of digits as an upper bound.

    Examples
    --------
    >>> format_share(0.0866), format_share(0.00015)
    ('8.7 %', '0.015 %')
    """
    return _format_percent(share, share, ROUND_HALF_EVEN)


def _format_percent(share: float, small: float, rounding: str) -> str:
    """Format a share as a percentage with one to six decimals, such that `small` has two significant digits."""
    # Round first: 0.00996 is 1.0 %, not 1.00 %.
    two_digits = Context(prec=2, rounding=rounding if small == share else ROUND_CEILING).create_decimal(Decimal(small))
    decimals = min(max(1, -1 - two_digits.adjusted()), _MAX_DECIMALS)
    rounded = Decimal(share).quantize(Decimal(1).scaleb(-2 - decimals), rounding=rounding)
    return f"{rounded.scaleb(2):f} %" if rounded else "0.0 %"


def format_confidence(delta: float) -> str:
    """Format 1 - delta as a percentage, rounded down to at most four decimals.

    For delta below 1e-6, the text is "1 - delta" with two digits of delta, rounded up, so it is never "100 %".

    Examples
    --------
    >>> format_confidence(0.05), format_confidence(0.001), format_confidence(1 / 3)
    ('95 %', '99.9 %', '66.6666 %')
    >>> format_confidence(1e-6), format_confidence(1e-30), format_confidence(1 / 3e7)
    ('99.9999 %', '1 - 1e-30', '1 - 3.4e-8')
    """
    # Use the decimal representation: 0.05 means 0.05, not the nearest double.
    written = Decimal(repr(float(delta)))
    if written < _SMALL_DELTA:
        return f"1 - {_format_scientific_up(written)}"
    percent = (100 - 100 * written).quantize(Decimal("0.0001"), rounding=ROUND_FLOOR)
    return f"{percent.normalize():f} %"


def format_delta(delta: float) -> str:
    """Format delta as a percentage, rounded up to at most four decimals; below 1e-6 as a number with two digits.

    Examples
    --------
    >>> format_delta(0.05), format_delta(1 / 3), format_delta(1e-30)
    ('5 %', '33.3334 %', '1e-30')
    """
    written = Decimal(repr(float(delta)))
    if written < _SMALL_DELTA:
        return _format_scientific_up(written)
    percent = (100 * written).quantize(Decimal("0.0001"), rounding=ROUND_CEILING)
    return f"{percent.normalize():f} %"


def format_level(level: float) -> str:
    """Format the level of a rule with at most four significant digits, rounded up.

    Examples
    --------
    >>> format_level(0.03599999999999994), format_level(0.045), format_level(1 / 30), format_level(5e-7)
    ('0.036', '0.045', '0.03334', '5e-7')
    """
    written = Decimal(repr(float(level)))
    if written < _SMALL_DELTA:
        return _format_scientific_up(written)
    return f"{written.quantize(Decimal(1).scaleb(written.adjusted() - 3), rounding=ROUND_CEILING).normalize():f}"


def _format_scientific_up(value: Decimal) -> str:
    """Format a small positive number in scientific notation with two digits, rounded up.

    Examples
    --------
    >>> [_format_scientific_up(Decimal(text)) for text in ("1.21e-9", "9.96e-9", "5e-324")]
    ['1.3e-9', '1e-8', '5e-324']
    """
    rounded = value.quantize(Decimal(1).scaleb(value.adjusted() - 1), rounding=ROUND_CEILING).normalize()
    digits = rounded.scaleb(-rounded.adjusted()).normalize()
    return f"{digits}e{rounded.adjusted()}"


# Longer texts are truncated: a parameter may be a list of a thousand settings.
_MAX_LENGTH = 600


def format_params(params: Mapping[str, Any]) -> str:
    """Format the parameters of a classifier, preceded by its family if there are several.

    For a pipeline created by this package, only the parameters of its last step are formatted.

    Examples
    --------
    >>> format_params({"lambda": 0.1 + 0.2, "kernel": "rbf"}), format_params({"model__C": 10}), format_params({})
    ("lambda = 0.3, kernel = 'rbf'", 'C = 10', 'as it is')
    >>> format_params({"candidate": "svm", "lambda": 0.1}), format_params({"candidate": "mine"})
    ('svm: lambda = 0.1', 'mine')
    """
    shown = {name.removeprefix("model__"): _last_step(value) for name, value in params.items()}
    family = shown.pop("candidate", None)
    text = ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {format_value(value)}"
        for name, value in shown.items()
    )
    if family is None:
        return text or "as it is"
    return f"{family}: {text}" if text else f"{family}"


def _last_step(value: Any) -> Any:
    """Return the last step of a pipeline created by this package, and any other value unchanged."""
    steps = getattr(value, "named_steps", None) or {}
    return steps["model"] if "model" in steps and set(steps) <= {"preprocessor", "scale", "model"} else value


def format_value(value: Any) -> str:
    """Format any value as text of limited length.

    Examples
    --------
    >>> import numpy as np
    >>> format_value(np.arange(0.1, 20, 0.1)), format_value("uniform"), format_value(len)
    ('199 values from 0.1 to 19.9', "'uniform'", 'builtins.len')
    """
    import numpy as np  # here, since the help of the command line only needs `escape_controls`

    if isinstance(value, np.ndarray | list | tuple) and len(value) > 8:
        numbers = np.asarray(value) if all(isinstance(item, float | int | np.number) for item in value) else None
        if numbers is not None and numbers.ndim == 1:
            return f"{numbers.size} values from {numbers.min():.6g} to {numbers.max():.6g}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    # scikit-learn wraps long representations: join the lines.
    return truncate(" ".join(repr(value).split()) if hasattr(value, "get_params") else repr(value), _MAX_LENGTH)


def truncate(text: str, longest: int) -> str:
    """Truncate long text and append its length.

    Examples
    --------
    >>> truncate("abcdef", 6), truncate("abcdef", 3)
    ('abcdef', 'abc … (6 characters)')
    """
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text)} characters)"


def escape_controls(text: str) -> str:
    r"""Escape characters that control a terminal or the writing direction.

    Names in the data are untrusted: they may contain codes that clear the screen or reverse a line.

    Examples
    --------
    >>> print(escape_controls("yes\x1b[2J \u202eon"))
    yes\x1b[2J \u202eon
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def escape_lines(text: str) -> str:
    """Apply `escape_controls` to each line."""
    return "\n".join(map(escape_controls, text.split("\n")))


#: Names of sampling units.
PLURAL = {"example": "rows", "distinct example": "distinct rows", "group": "groups"}

# Styles of HTML cards, without colours: these are inherited from the light or dark theme of the notebook.
_BOX = "border:1px solid;border-radius:.4em;padding:.6em 1em;margin:.3em 0;max-width:46em;overflow-wrap:anywhere"
_HEAD = "font-weight:bold;font-size:1.15em"
_NAME = "text-align:left;vertical-align:top;white-space:nowrap;font-weight:normal;opacity:.75;padding:.1em 1em .1em 0"
_CELL = "text-align:left;vertical-align:top;padding:.1em 0"


def html_card(title: str, sentences: Sequence[str] = (), facts: Mapping[str, str] | None = None) -> str:
    """Render an HTML card with a title, sentences, and a table of names and values (collapsed if there are sentences).

    Examples
    --------
    >>> print(html_card("A < B", (), {"m": "284"}))  # doctest: +ELLIPSIS
    <div style="..."><div style="...">A &lt; B</div><table ...>284</td></tr></table></div>
    """
    text = "".join(f'<p style="margin:.4em 0">{escape(sentence)}</p>' for sentence in sentences)
    rows = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in (facts or {}).items()
    )
    table = f'<table style="border-collapse:collapse;margin:.4em 0 0">{rows}</table>' if rows else ""
    if sentences and table:
        table = f"<details><summary>Details</summary>{table}</details>"
    return escape_lines(f'<div style="{_BOX}"><div style="{_HEAD}">{escape(title)}</div>{text}{table}</div>')
