"""Numbers as they are written in a report: bounds rounded up."""

import math
from decimal import ROUND_FLOOR, Decimal

from pacbayes.numeric.words import format_up


def format_bound(value: float | None, digits: int = 5) -> str:
    """Return a number with so many decimals, rounded up; a dash where there is none.

    Examples
    --------
    >>> format_bound(0.123451), format_bound(None), format_bound(float("inf"))
    ('0.12346', '–', '∞')
    """
    if value is None:
        return "–"
    return "∞" if value == math.inf else format_up(value, digits)


def format_number(value: float) -> str:
    """Return a number with four significant digits, as far as it has them.

    Examples
    --------
    >>> format_number(427.5971), format_number(0.05), format_number(float("inf"))
    ('427.6', '0.05', '∞')
    """
    return "∞" if value == math.inf else f"{value:.4g}"


def format_down(value: float, digits: int = 10) -> str:
    """Return a number with so many decimals, rounded down.

    Examples
    --------
    >>> format_down(0.12345678919)
    '0.1234567891'
    """
    if not math.isfinite(value):
        return str(value)
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def format_gap(gap: float) -> str:
    r"""Return a small number with two digits, rounded up.

    Examples
    --------
    >>> format_gap(1.41e-11), format_gap(0.0), format_gap(9.99e-10)
    ('1.5\xa0×\xa010⁻¹¹', '0', '1.0\xa0×\xa010⁻⁹')
    """
    if gap <= 0.0 or not math.isfinite(gap):
        return "0" if gap <= 0.0 else "∞"
    exponent = math.floor(math.log10(gap))
    digits = math.ceil(Decimal(gap).scaleb(1 - exponent))
    if digits >= 100:
        digits, exponent = math.ceil(digits / 10), exponent + 1
    power = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    # Spaces at which a line is not broken.
    return f"{digits / 10:.1f}\u00a0×\u00a010{power}"
