"""Independent references in arbitrary precision; nothing here uses pacbayes."""

import mpmath as mp

mp.mp.dps = 60


def kl(p, r):
    """Binary kl of two mpf, with log1p so that numbers near 1e-300 keep their digits."""
    total = mp.mpf(0)
    if p > 0:
        total += p * mp.log(p / r) if r > 0 else mp.inf
    if p < 1:
        total += (1 - p) * (mp.log1p(-p) - mp.log1p(-r)) if r < 1 else mp.inf
    return total


def kl_upper(p, x):
    """Upper root by Newton's method in r from above, where kl - x is convex and increasing."""
    p, x = mp.mpf(p), mp.mpf(x)
    if p == 1 or x == 0:
        return p
    if p == 0:
        return -mp.expm1(-x)
    r = min(p + mp.sqrt(x / 2), 1 - (1 - p) * mp.exp(-(x - p * mp.log(p)) / (1 - p)))
    if r == 1:  # closer to one than the working precision
        return r
    for _ in range(100):
        step = (kl(p, r) - x) * r * (1 - r) / (r - p)
        if step <= r * mp.eps * 16:  # from above every true step is positive: what is left is rounding
            break
        r -= step
    return r


def kl_lower(p, x):
    """Lower root, that of the mirrored problem."""
    return 1 - kl_upper(1 - mp.mpf(p), x)


def catoni_upper(C, L, x):
    """The largest risk within x of L in Catoni's distance."""
    C = mp.mpf(C)
    return (1 - mp.exp(-C * mp.mpf(L) - mp.mpf(x))) / (1 - mp.exp(-C))


def ch_polynomial(d):
    return d**2 + mp.mpf(2) / 9 * d**4 + mp.mpf(16) / 135 * d**6


def ch_root(R):
    """Root by Newton's method from above."""
    R = mp.mpf(R)
    t = R
    for _ in range(200):
        step = (t + mp.mpf(2) / 9 * t**2 + mp.mpf(16) / 135 * t**3 - R) / (
            1 + mp.mpf(4) / 9 * t + mp.mpf(16) / 45 * t**2
        )
        if step <= t * mp.eps * 16:
            break
        t -= step
    return t


PHI = {
    "kl": kl,
    "pinsker": lambda a, b: 2 * (a - b) ** 2,
    "squared": lambda a, b: (a - b) ** 2,
    "linear": lambda a, b: b - a,
    "ch": lambda a, b: ch_polynomial(a - b),
}


def moment(distance, m, risk):
    """E exp(n phi(k/m, risk)) by the plain sum."""
    n, risk = (2 * m - 1 if distance == "ch" else m), mp.mpf(risk)
    return mp.fsum(
        mp.binomial(m, k) * risk**k * (1 - risk) ** (m - k) * mp.exp(n * PHI[distance](mp.mpf(k) / m, risk))
        for k in range(m + 1)
    )


def log_constant(distance, m, kind):
    """ln I(m) by its definition; not for ch, exact, whose supremum has no closed form."""
    if distance == "linear":
        return m * (1 / (mp.e - 1) + mp.log(1 - 1 / mp.e))
    if kind == "paper":
        return mp.log(4 * m * (1 - mp.exp(-ch_polynomial(mp.mpf(1) / 2))) if distance == "ch" else 2 * mp.sqrt(m))
    if distance == "ch":
        raise ValueError("the supremum of ch has no closed form")
    # kl: any risk in (0, 1) will do.
    return mp.log(moment(distance, m, mp.mpf(1) / 2))


def risk_and_divergence(weights, risks, prior=None):
    """L and K of the distributions after normalisation in real arithmetic."""
    q = [mp.mpf(float(w)) for w in weights]
    p = [mp.mpf(1)] * len(q) if prior is None else [mp.mpf(float(w)) for w in prior]
    total_q, total_p = mp.fsum(q), mp.fsum(p)
    q, p = [w / total_q for w in q], [w / total_p for w in p]
    L = mp.fsum(w * mp.mpf(float(risk)) for w, risk in zip(q, risks, strict=True))
    K = mp.fsum(w * mp.log(w / v) for w, v in zip(q, p, strict=True) if w > 0)
    return L, K


def bound_from(distance, L, K, m, delta, log_i):
    """B = f(L, K) for a given ln I."""
    x = max((K + log_i - mp.log(mp.mpf(delta))) / (2 * m - 1 if distance == "ch" else m), mp.mpf(0))
    return {
        "linear": lambda: L + x,
        "squared": lambda: L + mp.sqrt(x),
        "pinsker": lambda: L + mp.sqrt(x / 2),
        "ch": lambda: L + mp.sqrt(ch_root(x)),
        "kl": lambda: kl_upper(L, x),
    }[distance]()
