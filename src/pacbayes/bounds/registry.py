"""The distances by name.  A new one is a subclass of `Distance` in a file of its own, such as catoni.py."""

from __future__ import annotations

import re

from pacbayes.bounds.catoni import Catoni
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.paper_distances import CH, KL, Linear, Pinsker, Squared
from pacbayes.numeric.checks import check_choice

#: Catoni's distance without its parameter, which the estimators choose on the training rows.
CATONI = "catoni"
# At most as many digits as a number has that means something.
_WITH_PARAMETER = re.compile(r"catoni\(([0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,3})?)\)")
_REGISTRY: dict[str, Distance] = {}


def register_distance(distance: Distance) -> None:
    """Make a distance available by its name wherever one is asked for.

    Parameters
    ----------
    distance : Distance
        An instance of a subclass; a name that is taken is refused.  One that is handed over itself need not be
        registered, but that a saved model can be loaded again.

    Examples
    --------
    >>> register_distance(KL())
    Traceback (most recent call last):
    ...
    ValueError: a distance named 'kl' is registered already
    """
    if not isinstance(distance, Distance):
        raise TypeError(f"distance must be an instance of Distance with a name, got {distance!r}")
    if isinstance(distance, Catoni):
        raise ValueError(f"{distance!r} need not be registered: its name {distance.name!r} is known")
    if getattr(distance, "name", None) in _REGISTRY:
        raise ValueError(f"a distance named {distance.name!r} is registered already")
    _REGISTRY[_checked(distance).name] = distance


def get_distance(distance: str | Distance) -> Distance:
    """Return the distance with this name; a `Distance` is returned as it is.

    ``"catoni(0.4)"`` is `Catoni` with the parameter 0.4, as its name says.

    Examples
    --------
    >>> get_distance("ch").factor(100), get_distance("catoni(0.4)")
    (199, Catoni(C=0.4))
    """
    if isinstance(distance, Distance):
        return _checked(distance)
    if isinstance(distance, type) and issubclass(distance, Distance):
        raise TypeError(f"distance must be an instance of Distance, got the class {distance.__name__}")
    if distance == CATONI:
        raise ValueError(
            "distance 'catoni' needs its parameter, fixed without looking at the validation errors: Catoni(C), or its "
            "name, such as 'catoni(0.4)'"
        )
    found = _WITH_PARAMETER.fullmatch(distance) if isinstance(distance, str) else None
    return Catoni(float(found[1])) if found else _REGISTRY[check_choice("distance", distance, _REGISTRY)]


def _checked(distance: Distance) -> Distance:
    """Return a distance that is given itself, or raise if it has no name, or that of another."""
    name = getattr(distance, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"distance must be an instance of Distance with a name, got {type(distance).__name__}")
    if name.startswith(CATONI) and type(distance) is not Catoni:
        raise ValueError(f"a distance must not be named {name!r}: names that begin so are those of Catoni(C)")
    if _REGISTRY.get(name, distance) != distance:
        raise ValueError(f"a distance named {name!r} is registered already, and {distance!r} is another")
    return distance


for _distance in (KL(), Pinsker(), CH(), Linear(), Squared()):
    register_distance(_distance)

#: The five distances of the paper; others that come with the library are registered below this line.
DISTANCES = tuple(_REGISTRY)


def log_constant(distance: str | Distance, m: int, constant: str = "exact") -> float:
    r"""Logarithm of the constant :math:`I(m)` of a distance.

    .. math:: I(m) \ge \sup_{0\le l\le 1} \sum_{k=0}^m \binom{m}{k} l^k (1-l)^{m-k} e^{n\phi(k/m,\, l)},
              \qquad n = m \text{, and } 2m - 1 \text{ for ch}.

    Parameters
    ----------
    distance : str or Distance
        One of `DISTANCES`, or a distance itself, such as `pacbayes.bounds.Catoni`, whose constant is one.
    m : int
        Number of validation examples, from 1 to 1e9 and beyond.
    constant : {"exact", "paper"}
        "exact" is the supremum itself, rounded up (by less than 1e-9 or a relative 1e-15), with one exception:

        ======== ============================================================ =======================
        distance value                                                        where it is the supremum
        ======== ============================================================ =======================
        linear   m (1/(e-1) + ln(1 - 1/e)), reached at l = 1/(e-1)            every m
        squared  ln E exp(m (k/m - 1/2)^2), reached at l = 1/2                every m
        pinsker  ln E exp(2m (k/m - 1/2)^2), reached at l = 1/2               every m
        kl       ln xi(m), the same for all l in (0, 1)                       every m
        ch       enclosed by branch and bound on l                            m <= 10 000
        ch       ln xi(m), an upper bound since (2m-1) phi <= m kl            never (m > 10 000)
        ======== ============================================================ =======================

        "paper" is what Sahu and Hemachandra (2019) use: the same for linear, ``ln(2 sqrt(m))`` for squared, pinsker and
        kl, ``ln(0.9334 m)`` for ch.  The last is invalid at m = 1, where a warning is given and the exact one returned.

    Returns
    -------
    float
        Finite for every `m`.

    See Also
    --------
    bound : The bound that these constants are part of.
    pacbayes.bounds.Distance : What a distance is.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] A. Maurer, "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004.
    .. [3] A. A. Fedotov, P. Harremoës and F. Topsøe, "Refinements of Pinsker's inequality", IEEE Transactions on
       Information Theory 49, 2003.

    Examples
    --------
    >>> print(f"{log_constant('kl', 1000):.6f} {log_constant('kl', 1000, constant='paper'):.6f}")
    3.696431 4.147025
    >>> print(f"{log_constant('pinsker', 10**9):.6f}")
    5.477987
    """
    return get_distance(distance).log_constant(m, constant)
