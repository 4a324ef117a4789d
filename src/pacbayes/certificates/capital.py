"""The compiled part of watching: what eight bets have won after every loss, rounded down.

Importing this module imports numba; `watching` does so when it is first called.  It is not compiled with fastmath: the
capital after a row has the same bits however the rows before it were handed over.
"""

from pacbayes.numeric.rounding import EPS
from pacbayes.runtime.compiled import compiled

# No capital is larger: it may be lowered at any time, and infinity would not come back.
_MOST = 1e300
# A step has at most nine roundings, each of half an EPS (see docs/mathematics.md); the sum over bets has eleven.
_DOWN = 1.0 - 8.0 * EPS


@compiled()
def follow(losses, seen, capital, lose, win, evidence):
    """Move the capital of every bet over losses in [0, 1], after `seen` others, and note the evidence after each.

    `lose` and `win` are by what each bet multiplies its capital at the losses 0 and 1; between them, linearly.
    """
    for i in range(losses.size):
        t = seen + i + 1.0
        new, x, total = 1.0 / (t * (t + 1.0)), losses[i], 0.0
        for k in range(capital.size):
            capital[k] = min((capital[k] + new) * (lose[k] + x * (win[k] - lose[k])) * _DOWN, _MOST)
            total += capital[k]
        evidence[i] = (total / capital.size + 1.0 / (t + 1.0)) * _DOWN
