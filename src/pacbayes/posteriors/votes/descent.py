r"""Weights with a small bound where no proof is to be had: a descent by convex problems.

Two bounds are minimised in this way: Chebyshev-Cantelli's, and the tandem bound of classifiers with rows of their own.

For a fixed :math:`\mu` the former is, but for a positive factor and a constant,

.. math:: h_\mu(T, K, G) = T^+(T, 2K) - 2\mu\, g(G, K),

with g the lower root :math:`G^-` for :math:`\mu \ge 0` and the upper root :math:`G^+` for :math:`\mu < 0`; the latter
is that with :math:`\mu = 0`.

The upper roots are concave functions and the lower root is a convex one (the argument of `votes.tandem`, and the same
for the smallest `r`), so :math:`h_\mu` is concave: it lies below its tangent plane.  Where T is a difference of two
sums of squares (`TandemFactor.concave`), so does its concave part.  The weights that minimise what is left, a problem
:math:`T + \kappa K + c^\top\rho` of `TandemDual`, therefore have a smaller :math:`h_\mu` than those where the plane
touches, and the best mu for them makes the bound smaller still.  The bound never rises; it ends at a stationary point,
one for each start.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pacbayes.bounds.binary_kl import lower_root
from pacbayes.bounds.distance import BoundFunction
from pacbayes.numeric.arrays import FloatArray
from pacbayes.posteriors.votes.tandem_dual import TandemDual
from pacbayes.posteriors.votes.vote_bounds import VoteProblem

# The share of the tolerance to which an inner problem is solved.
_INNER = 1e-3


class State(NamedTuple):
    """Weights of the distinct classifiers, their T, K and G, and their bound."""

    weights: FloatArray
    tandem: float
    kl: float
    gibbs: float
    bound: float
    #: Where Chebyshev-Cantelli's inequality is taken; 0 for the tandem bound.
    mu: float


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, after how many inner problems, and whether the bound had stopped falling."""

    state: State
    steps: int
    converged: bool


class VoteDescent:
    """Descents for one problem, from weights of the distinct classifiers."""

    def __init__(self, problem: VoteProblem) -> None:
        self.problem = problem
        self.dual = TandemDual(problem.factor)

    def run(self, weights: FloatArray, tol: float, max_iter: int) -> Descent:
        """Go down from `weights` until a step gains less than a hundredth of `tol`, or for `max_iter` steps."""
        state = self._state(weights)
        u: FloatArray | None = None
        for step in range(max_iter):
            slopes = self._slopes(state)
            if slopes is None:
                return Descent(state, step, True)
            kappa, gamma = slopes
            linear = gamma * self.problem.factor.risks + self.problem.factor.tangent(state.weights)
            point = self.dual.solve(kappa, linear=linear, start=u, tol=_INNER * tol)
            u = point.u
            new = self._state(point.weights)
            if not new.bound < state.bound - 0.01 * tol:
                return Descent(min(state, new, key=lambda found: found.bound), step + 1, True)
            state = new
        return Descent(state, max_iter, False)

    def _state(self, weights: FloatArray) -> State:
        """Return T, K, G and the bound of weights of the distinct classifiers, without directed rounding."""
        factor = self.problem.factor
        tandem, gibbs = factor.value(weights), min(float(weights @ factor.risks), 1.0)
        logs = np.log(np.maximum(weights, np.finfo(np.float64).tiny)) - factor.log_mass
        kl = max(float(weights @ logs), 0.0)
        bound, mu = self.problem.bound_of(tandem, kl, gibbs, gibbs)
        return State(weights, tandem, kl, gibbs, bound, 0.0 if mu is None else mu)

    def _slopes(self, state: State) -> tuple[float, float] | None:
        """Return kappa and gamma, the slopes of h in K and G as multiples of that in T; None where nothing descends."""
        pairs, singles = self.problem.pairs, self.problem.singles
        in_tandem, in_pair = pairs.partials(state.tandem, 2.0 * state.kl)
        if state.mu == -math.inf or not 0.0 < in_tandem < math.inf:
            return None  # the bound is 1 here, or no two classifiers of the vote err together
        if state.mu >= 0.0:
            in_gibbs, in_kl = lower_slopes(singles, state.gibbs, state.kl)
        else:
            in_gibbs, in_kl = singles.partials(state.gibbs, state.kl)
        kappa = (2.0 * in_pair - 2.0 * state.mu * in_kl) / in_tandem
        gamma = -2.0 * state.mu * in_gibbs / in_tandem
        return (kappa, gamma) if 0.0 < kappa < math.inf and math.isfinite(gamma) else None


def lower_slopes(function: BoundFunction, risk: float, kl: float) -> tuple[float, float]:
    r"""Return the partial derivatives of the lower kl root in the risk L and the divergence K.

    From :math:`kl(L, r) = x`: :math:`dr = [(\mathrm{logit}\,L - \mathrm{logit}\,r)\,dL - dx]\, r (1-r)/(L-r)`.

    Examples
    --------
    >>> from pacbayes.bounds import get_distance
    >>> in_risk, in_kl = lower_slopes(get_distance("kl").bound_function(100), 0.2, 1.0)
    >>> print(f"{in_risk:.6f} {in_kl:.6f}")
    0.663554 -0.006583
    """
    root = lower_root(risk, function.threshold(kl))
    if root == 0.0 or not root < risk < 1.0:
        return 0.0, 0.0
    factor = root * (1.0 - root) / (risk - root)
    logits = math.log(risk / root) + math.log((1.0 - root) / (1.0 - risk))
    return logits * factor, -factor / function.factor
