r"""The regularised tandem risk :math:`T + \kappa K + c^\top\rho`: its minimum over the simplex, with proof.

With :math:`T = |A^\top \rho|^2` (`TandemFactor`), any vector `u` gives a lower bound: :math:`T \ge 2 u^\top A^\top \rho
- |u|^2`, and what is then left is linear in :math:`\rho` but for :math:`\kappa K`, so for all weights, by Gibbs'
variational principle, equation (tandem-line) of docs/mathematics.md,

.. math:: T + \kappa K + c^\top\rho \ge D(u) = -|u|^2 - \kappa \ln \sum_i \pi_i e^{-(2 (A u)_i + c_i)/\kappa}

D is smooth and strongly concave, without constraints; its gradient is :math:`2 (A^\top \rho(u) - u)` with
:math:`\rho(u)` the Gibbs weights that take the minimum.  These weights are the primal point that belongs to `u`, and
the gap between the two is :math:`|A^\top \rho(u) - u|^2`: exactly zero at the maximum.  It is found by Newton's method,
each step by conjugate gradients, which need products with A and its transpose only; few, as the Hessian is the identity
plus the covariance of the rows of A under :math:`\rho(u)`, of which few directions count.
"""

import math
from typing import NamedTuple

import numpy as np

from pacbayes._utils.arrays import EPS, FloatArray
from pacbayes.posteriors.error_rows import TandemFactor

_MAX_NEWTON, _MAX_CG, _MAX_HALVINGS = 60, 200, 40
# Newton's system is solved to this part of its right side: near the end each step gains that factor, or its square.
_CG_TOLERANCE = 0.05


class DualPoint(NamedTuple):
    """Weights of the distinct classifiers with T and K, and the line that all weights lie above."""

    kappa: float
    #: The point of the dual problem, to start the next one from.
    u: FloatArray
    weights: FloatArray
    tandem: float
    kl: float
    #: T + kappa K + c'rho is at least this, for all weights; without c rounded down.
    line: float
    #: T is at least this, for all weights; rounded down.
    least_tandem: float
    #: Number of products with the factor or its transpose.
    products: int


class TandemDual:
    """Minimise T + kappa K + c'rho for one set of error rows and one prior.

    Examples
    --------
    >>> errors = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    >>> point = TandemDual(TandemFactor.of(errors, None, 1.0)).solve(0.1, tol=1e-12)
    >>> point.weights.round(4), round(point.tandem + 0.1 * point.kl - point.line, 9)
    (array([0.2378, 0.3811, 0.3811]), 0.0)
    """

    def __init__(self, factor: TandemFactor) -> None:
        self.factor = factor
        self._A = factor.factor
        self._At = np.ascontiguousarray(self._A.T)
        self._log_mass = factor.log_mass
        # What the logarithms of the prior masses are off by, the sum of the prior by which they are divided included.
        self._mass_error = factor.groups.mass_error + EPS * (64.0 + float(np.abs(self._log_mass).max()))
        self.products = 0

    def solve(
        self, kappa: float, *, linear: FloatArray | None = None, start: FloatArray | None = None, tol: float = 1e-9
    ) -> DualPoint:
        """Return the minimum for ``kappa > 0``, up to a gap of `tol` in the value."""
        before = self.products
        base = self._log_mass if linear is None else self._log_mass - linear / kappa
        u = self._times(np.exp(self._log_mass), self._A) if start is None else start
        w = self._times(u, self._At)
        value, weights = self._value(u, w, base, kappa)
        for _ in range(_MAX_NEWTON):
            residual = self._times(weights, self._A) - u
            gap = float(residual @ residual)
            if gap <= tol:
                break
            step, w_step = self._newton(weights, residual, kappa)
            moved = self._line_search(value, u, w, step, w_step, base, kappa, float(residual @ step))
            if moved is None:  # nothing but rounding is left
                break
            u, w, value, weights = moved
        return self._point(u, base, kappa, before)

    def lines(self, u: FloatArray, kappas: FloatArray) -> FloatArray:
        """Return what T + kappa K is at least for all weights, for many kappa by one `u`; rounded down.

        Equation (tandem-line) holds for every `u`: the solution for one kappa is close to that for its neighbours, and
        their lines cost no more than the logarithm of a sum.
        """
        w = self._times(u, self._At)
        exponents = self._log_mass - (2.0 / kappas)[:, None] * w
        top = exponents.max(axis=1)
        totals = np.exp(exponents - top[:, None]).sum(axis=1)
        values = -float(u @ u) - kappas * (top + np.log(totals))
        return np.asarray(values - self._error(u, w, self._log_mass, kappas))

    def _times(self, vector: FloatArray, matrix: FloatArray) -> FloatArray:
        self.products += 1
        return np.asarray(vector @ matrix)

    def _value(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: float) -> tuple[float, FloatArray]:
        """Return D(u) and the Gibbs weights, given w = A u."""
        exponents = base - (2.0 / kappa) * w
        top = float(exponents.max())
        terms = np.exp(exponents - top)
        total = float(terms.sum())
        return -float(u @ u) - kappa * (top + math.log(total)), terms / total

    def _newton(self, weights: FloatArray, residual: FloatArray, kappa: float) -> tuple[FloatArray, FloatArray]:
        """Solve (I + (2/kappa) A' C A) s = residual, C the weights' covariance, by conjugate gradients; s and A s."""
        factor = 2.0 / kappa
        step, w_step = np.zeros_like(residual), np.zeros_like(weights)
        left, direction = residual.copy(), residual
        square = float(left @ left)
        goal = _CG_TOLERANCE**2 * square
        for _ in range(_MAX_CG):
            image = self._times(direction, self._At)
            spread = weights * (image - float(weights @ image))
            product = direction + factor * self._times(spread, self._A)
            length = square / float(direction @ product)
            step += length * direction
            w_step += length * image
            left -= length * product
            previous, square = square, float(left @ left)
            if square <= goal:
                break
            direction = left + (square / previous) * direction
        return step, w_step

    def _line_search(
        self, value: float, u: FloatArray, w: FloatArray, step: FloatArray, w_step: FloatArray, base: FloatArray,
        kappa: float, slope: float,
    ) -> tuple[FloatArray, FloatArray, float, FloatArray] | None:  # fmt: skip
        """Return the new u, A u, D(u) and weights, the step halved until D rises by a part of what its slope says."""
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved, w_moved = u + length * step, w + length * w_step
            found, weights = self._value(moved, w_moved, base, kappa)
            if found >= value + 0.2 * length * slope:
                return moved, w_moved, found, weights
            length *= 0.5
        return None

    def _point(self, u: FloatArray, base: FloatArray, kappa: float, before: int) -> DualPoint:
        """Return the point at u, everything computed anew, with the line rounded down."""
        w = self._times(u, self._At)
        value, weights = self._value(u, w, base, kappa)
        v = self._times(weights, self._A)
        tandem = float(v @ v)
        positive = np.maximum(weights, np.finfo(np.float64).tiny)
        kl = max(float(weights @ (np.log(positive) - self._log_mass)), 0.0)
        error = float(self._error(u, w, base, np.float64(kappa)))
        square = float(u @ u)
        least = 2.0 * float(w.min()) - square - error
        return DualPoint(kappa, u, weights, tandem, kl, value - error, least, self.products - before)

    def _error(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: FloatArray | np.float64) -> FloatArray:
        """Return a bound of the rounding errors of D(u), for the u at hand, and of how far the factor is from T.

        A row of A has a length of at most one (its square is a risk), so a product with it, a sum in any order, is off
        by at most (r + 2) EPS |u|.  The exponents carry twice this over kappa, the errors of the logarithms of the
        masses, and a few units in the last place of their own size; a sum of terms that are not negative keeps relative
        errors and adds one per term.
        """
        G, r = len(self._A), len(self._At)
        length = math.sqrt(float(u @ u)) * (1.0 + 1e-9)
        product = (r + 2.0) * EPS * length
        size = float(np.abs(base).max()) + (2.0 / kappa) * float(np.abs(w).max())
        exponent = (2.0 / kappa) * product + self._mass_error + 4 * EPS * size
        total = exponent + (G + 8.0) * EPS
        return np.asarray(self.factor.slack + 2.0 * kappa * total + (r + 8.0) * EPS * length * length)
