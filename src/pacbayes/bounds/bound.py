"""The PAC-Bayesian bound of a posterior, rounded up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, SMALLEST, FloatArray, default_errstate, round_up
from pacbayes._utils.checks import (
    check_choice,
    check_distribution,
    check_in_range,
    check_level,
    check_number,
    check_risks,
    check_sample_size,
    min_sample_size,
)
from pacbayes.bounds.binary_kl import upper_root
from pacbayes.bounds.chi_square import CHI2, DIVERGENCES, ChiSquareBound
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.distances import get_distance

# NumPy's pairwise sum of an aligned contiguous array of up to 2^27 terms has a relative error of at most 20 EPS; each
# term carries a few roundings.
_SUM_ULPS = 40.0
_USAGE = "bound takes weights and risks (and prior), or risk and one of kl and chi2 (and n_draws)"


def average_risk(weights: FloatArray, risks: FloatArray, total: float) -> float:
    """Average risk L = sum(weights * risks) / total, rounded up.

    Examples
    --------
    >>> round(average_risk(np.array([0.5, 0.5]), np.array([0.1, 0.3]), 1.0), 12)
    0.2
    """
    weighted = float((weights * risks).sum())
    if weighted == 0.0 and not np.any((weights > 0.0) & (risks > 0.0)):
        return 0.0  # exactly zero: the kl ratio is infinite there, and finite at the smallest positive risk
    return min(weighted / total * (1.0 + _SUM_ULPS * EPS) + weights.size * SMALLEST, float(risks.max()))


def kullback_leibler(weights: FloatArray, total: float, prior: FloatArray | None, prior_total: float) -> float:
    r"""Kullback-Leibler divergence :math:`K = \sum_i q_i \ln(q_i/p_i)` of the normalised distributions, rounded up.

    None is the uniform prior.  Zero weights contribute nothing; a positive weight at zero prior makes the divergence
    infinite.

    Examples
    --------
    >>> print(f"{kullback_leibler(np.array([1.0, 0.0]), 1.0, None, 1.0):.6f}")
    0.693147
    """
    if prior is not None and bool(np.any((prior == 0.0) & (weights > 0.0))):
        return math.inf
    # The smallest subnormal replaces zero: its logarithm is finite and is multiplied by the weight zero.
    logs = np.log(np.maximum(weights, SMALLEST))
    if prior is None:
        value = float((weights * logs).sum())
        size = abs(value)
    else:
        prior_logs = np.log(np.maximum(prior, SMALLEST))
        value = float((weights * (logs - prior_logs)).sum())
        size = -float((weights * np.minimum(logs, 0.0)).sum()) - float((weights * np.minimum(prior_logs, 0.0)).sum())
    log_prior_total = math.log(weights.size) if prior is None else math.log(prior_total)
    kl = value / total - math.log(total) + log_prior_total
    # Both totals are sums of weights too, with relative errors of the same size.
    error = _SUM_ULPS * EPS * (size / total + abs(log_prior_total) + 2.0)
    return max(kl + error, 0.0)


def chi_square_divergence(weights: FloatArray, total: float, prior: FloatArray | None, prior_total: float) -> float:
    r"""Chi-square divergence :math:`\sum_i q_i^2/p_i - 1` of the normalised distributions, rounded up.

    None is the uniform prior.

    Examples
    --------
    >>> print(f"{chi_square_divergence(np.array([1.0, 0.0]), 1.0, None, 1.0):.6f}")
    1.000000
    """
    if prior is not None and bool(np.any((prior == 0.0) & (weights > 0.0))):
        return math.inf
    if prior is None:
        value, scale = float(np.square(weights).sum()), float(weights.size)
    else:
        with np.errstate(over="ignore"):
            value, scale = float((weights * (weights / np.maximum(prior, SMALLEST))).sum()), prior_total
    # Squares below the smallest float are lost, but not next to the largest weight.
    k2 = value / total * (scale / total)
    return max(k2 * (1.0 + _SUM_ULPS * EPS) + weights.size * SMALLEST - 1.0, 0.0)


def average_risk_upper(risk: float, n_draws: int | None, delta: float, share: float) -> tuple[float, float]:
    r"""Upper confidence bound on the average empirical risk, and the rest of delta.

    The risks of `n` independent draws lie in [0, 1] and have mean `L`, so their average exceeds the upper kl root at
    :math:`\ln(1/\delta')/n` of `L` only with probability :math:`\delta'`: equation (draws) of docs/mathematics.md.

    Examples
    --------
    >>> average, level = average_risk_upper(0.1, 1000, 0.05, 0.1)
    >>> print(f"{average:.4f} {level:.4f}")
    0.1337 0.0450
    """
    average = float(check_in_range("risk", risk, 0.0, 1.0))
    if n_draws is None:
        return average, delta
    if not 0.0 < check_number("draws_share", share, "a number between 0 and 1") < 1.0:
        raise ValueError(f"draws_share must be strictly between 0 and 1, got {share!r}")
    x = round_up(-math.log(share * delta) / check_sample_size(n_draws), 8)
    return min(upper_root(average, x).rounded, 1.0), delta * (1.0 - share) * (1.0 - 4 * EPS)


def check_divergence(name: str, value: float) -> float:
    """Raise if a divergence is not a number of at least 0."""
    number = check_number(name, value, "a number of at least 0")
    if not number >= 0.0:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return number


def bound_function(
    distance: str | Distance, m: int, delta: float, constant: str, divergence: str
) -> BoundFunction | ChiSquareBound:
    """Create the bound as a function of the empirical risk and of the divergence."""
    if divergence == CHI2:
        return ChiSquareBound(get_distance(distance), m, delta, constant)
    return get_distance(distance).bound_function(m, delta, constant)


def bound(
    weights: ArrayLike | None = None,
    risks: ArrayLike | None = None,
    m: int | ArrayLike | None = None,
    *,
    risk: float | None = None,
    kl: float | None = None,
    chi2: float | None = None,
    n_draws: int | None = None,
    draws_share: float = 0.1,
    distance: str | Distance = "kl",
    delta: float = 0.05,
    prior: ArrayLike | None = None,
    constant: str = "exact",
    divergence: str = "kl",
) -> float:
    r"""PAC-Bayesian upper bound on the true risk of a posterior, from its weights or from its risk and divergence.

    With probability at least :math:`1 - \delta` over the `m` validation examples, the true risk of the stochastic
    classifier is at most

    .. math:: B(q) = f(L, K), \qquad L = \sum_i q_i \hat l_i, \quad K = \sum_i q_i \ln\frac{q_i}{p_i},

    for all posteriors `q` simultaneously, provided that no classifier depends on the examples that its risk was
    measured on, and that the prior does not depend on these examples either.  With
    :math:`x = (K + \ln I(m) - \ln\delta)/m`:

    ======== ============================================================
    distance B
    ======== ============================================================
    linear   :math:`L + x`
    squared  :math:`L + \sqrt{x}`
    pinsker  :math:`L + \sqrt{x/2}`
    kl       the largest `r` with :math:`kl(L, r) \le x`
    ch       :math:`L + \sqrt{r_{CH}(x)}`, `x` with :math:`2m - 1` for `m`
    ======== ============================================================

    With the chi-square divergence, :math:`x = \sqrt{(1 + \chi^2) I_2(m)/\delta}`, equation (chi2) of
    docs/mathematics.md.

    Parameters
    ----------
    weights : array_like of shape (H,), optional
        The posterior `q`.  Weights whose sum differs from 1 by at most 1e-8 (1e-4 in single precision) are normalised;
        a larger difference is an error.
    risks : array_like of shape (H,), optional
        Empirical risks in [0, 1], each measured on `m` examples.
    m : int or array_like of int, shape (H,)
        Number of validation examples behind each risk: one number for all, or one per classifier.  If they differ, the
        smallest is used, for which the bound remains valid (equation (least-m) of docs/mathematics.md).
    risk, kl, chi2 : float, optional
        Instead of `weights`, `risks` and `prior`: the average empirical risk `L` of the posterior and one of its
        divergences from the prior, `K` or :math:`\chi^2 = \sum_i q_i^2/p_i - 1`, for example for Gaussian weights of a
        network.
    n_draws : int, optional
        `risk` is the average of `n_draws` independent draws from the posterior, made after it was fixed, instead of
        `L` itself: for example the mean empirical risk of as many drawn networks.  It is replaced by an upper
        confidence bound on `L`, equation (draws) of docs/mathematics.md; the divergence must be exact.
    draws_share : float
        The share of `delta` for `n_draws`.
    distance : str or Distance
        One of `DISTANCES`, "refined-pinsker" (`pacbayes.bounds.RefinedPinsker`), the name of another registered
        distance, or an instance such as `pacbayes.bounds.Catoni`.
    delta : float
        The bound fails with probability at most `delta`.
    prior : array_like of shape (H,), optional
        The prior `p`, uniform by default; normalised like `weights`.
    constant : {"exact", "paper"}
        The constant :math:`I(m)`; see `log_constant`.
    divergence : {"kl", "chi2"}
        The divergence from the prior: Kullback-Leibler, or chi-square (Renyi's of order 2) for the distances linear,
        squared and kl.  The chi-square bound grows with :math:`\delta^{-1/4}` (squared) or :math:`\delta^{-1/2}`
        (linear) and is larger for small `delta`.  Fix the divergence before validation.

    Returns
    -------
    float
        Rounded up: never below the bound of the normalised inputs in real arithmetic.  Not clipped: all bounds but kl
        can exceed 1.  If a weight is positive where the prior is zero, 1 for kl and infinity for the other four.

    See Also
    --------
    optimal_posterior : The posterior with the smallest bound.
    log_constant : The constant :math:`I(m)`.
    kl_roots : The kl bound as a function of risk and threshold.
    pacbayes.bounds.Distance : How to add a distance.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] M. Seeger, "PAC-Bayesian generalisation error bounds for Gaussian process classification", Journal of Machine
       Learning Research 3, 2002.
    .. [3] A. Maurer, "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004.
    .. [4] L. Begin, P. Germain, F. Laviolette and J.-F. Roy, "PAC-Bayesian bounds based on the Renyi divergence",
       AISTATS, 2016.

    Examples
    --------
    >>> from pacbayes import bound
    >>> print(f"{bound([0.5, 0.5], [0.10, 0.12], m=500):.4f}")
    0.1663
    >>> print(f"{bound([0.5, 0.5], [0.10, 0.12], m=500, distance='linear'):.4f}")
    0.2393
    >>> print(f"{bound(risk=0.11, kl=0.0, m=500):.4f} {bound(risk=0.11, kl=0.0, m=500, n_draws=1000):.4f}")
    0.1663 0.2074
    >>> print(f"{bound([0.5, 0.5], [0.10, 0.12], m=500, divergence='chi2'):.4f}")
    0.1501
    """
    if m is None:
        raise TypeError("bound requires m, the number of validation examples")
    chosen = CHI2 if chi2 is not None else check_choice("divergence", divergence, DIVERGENCES)
    with default_errstate():
        if risk is kl is chi2 is None:
            if weights is None or risks is None or n_draws is not None:
                raise TypeError(_USAGE)
            risks = check_risks(risks)
            function = bound_function(distance, min_sample_size(m, risks.size), delta, constant, chosen)
            weights, total = check_distribution("weights", weights, risks.size)
            prior_total = 1.0
            if prior is not None:
                prior, prior_total = check_distribution("prior", prior, risks.size)
            of_weights = chi_square_divergence if chosen == CHI2 else kullback_leibler
            return function(average_risk(weights, risks, total), of_weights(weights, total, prior, prior_total))
        number = kl if chosen == "kl" else chi2
        if risk is None or number is None or not weights is risks is prior is None or None not in (kl, chi2):
            raise TypeError(_USAGE)
        average, level = average_risk_upper(risk, n_draws, check_level(delta), draws_share)
        function = bound_function(distance, check_sample_size(m), level, constant, chosen)
        return function(average, check_divergence(chosen, number))
