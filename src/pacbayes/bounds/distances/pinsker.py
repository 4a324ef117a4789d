"""Pinsker's approximation of the binary kl divergence."""

from pacbayes.bounds.distances.squared import Squared


class Pinsker(Squared):
    r""":math:`\phi(\hat l, l) = 2 (l - \hat l)^2 \le kl(\hat l, l)`: the bound is :math:`L + \sqrt{x/2}`.

    Examples
    --------
    >>> import math
    >>> print(f"{math.exp(Pinsker().exact_log_constant(1840)):.6f}")
    8.863891
    """

    name = "pinsker"
    c = 2.0
