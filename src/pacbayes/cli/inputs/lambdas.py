"""Grids of regularisation parameters as one word."""

import math
from decimal import Decimal, InvalidOperation

#: More values than anybody means.
MOST_LAMBDAS = 100_000


def parse_lambdas(text: str) -> list[float]:
    """Return the grid that ``a:b:s`` (a, a + s, ... below b) or ``x,y,z`` stands for.

    Decimal arithmetic: 0.1:20:0.01 is the paper's grid of 1990 values, each the double nearest to its decimals.

    Examples
    --------
    >>> parse_lambdas("0.1:0.5:0.1")
    [0.1, 0.2, 0.3, 0.4]
    >>> len(parse_lambdas("0.1:20:0.01")), parse_lambdas("0.1:20:0.01")[-1]
    (1990, 19.99)
    >>> parse_lambdas("10,0.5")
    [10.0, 0.5]
    >>> parse_lambdas("1:2")
    Traceback (most recent call last):
    ValueError: --lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got '1:2'
    """
    wrong = ValueError(
        f"--lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got {text!r}"
    )
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        numbers = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        raise wrong from None
    if (":" in text and len(numbers) != 3) or not all(number.is_finite() for number in numbers):
        raise wrong
    if min(numbers) <= 0 or math.isinf(float(max(numbers))) or float(min(numbers)) == 0.0:
        raise ValueError(f"--lambdas must be positive numbers, got {text!r}")
    if ":" not in text:
        return [float(number) for number in numbers]
    start, stop, step = numbers
    if stop <= start:
        raise ValueError(f"--lambdas START:STOP:STEP needs a STOP above START, got {text!r}")
    if (stop - start) / step > MOST_LAMBDAS:
        raise ValueError(f"--lambdas must be at most {MOST_LAMBDAS} values, got {text!r}")
    count = math.ceil((stop - start) / step)
    return [float(start + i * step) for i in range(count)]
