"""
Does a bound have a single minimum?
===================================

The paper conjectures that two of its bounds are quasi-convex, so that they have a single minimum. They may have two.
The counterexamples have one classifier of risk a and H - 1 of risk b, under a uniform prior. Then the Gibbs posteriors
lie on a straight line, on which a quasi-convex function has a single minimum.

.. image:: /images/conjecture.svg
   :alt: Four bounds along the line, each with two minima and a maximum between them

Prints both minima and the maximum between them for four distances, the result of the paper's iteration from three
starts, and the certified optimum. With a file name, it draws the curves::

    python examples/conjecture.py docs/images/conjecture.svg
"""

# sphinx_gallery_thumbnail_path = 'images/conjecture.svg'
import math
import sys
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from pacbayes import optimal_posterior
from pacbayes.bounds import get_distance
from pacbayes.posteriors.gibbs import GibbsCurve


class Case(NamedTuple):
    """One classifier of risk `a` among H of risk `b`."""

    distance: str
    H: int
    m: int
    a: float
    b: float
    delta: float = 0.01
    constant: str = "paper"


CASES = [
    Case("squared", 10**5, 30, 0.0, 0.3),
    Case("pinsker", 10**6, 50, 0.3, 0.5),
    Case("ch", 10**6, 50, 0.3, 0.475),
    Case("kl", 10**3, 10, 0.0, 0.2),
]

# The smallest H found with two minima for two risks (delta = 0.05, exact constants); smaller ones may exist.
SMALLEST = [
    Case("squared", 1093, 6, 0.0, 0.57736410, 0.05, "exact"),
    Case("pinsker", 1469, 3, 0.0, 0.57737520, 0.05, "exact"),
    Case("ch", 83, 1, 0.0, 0.382478, 0.05, "exact"),
    Case("kl", 128, 65, 0.0, 2 / 65, 0.05, "exact"),
]


class BoundOnLine:
    """Bound along the line from the prior to the single classifier, by the log-odds z of its weight."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.function = get_distance(case.distance).bound_function(case.m, case.delta, case.constant)
        self.curve = GibbsCurve(np.array([case.a, case.b]), np.log([1 / case.H, 1 - 1 / case.H]))

    def beta(self, z: float) -> float:
        """Inverse temperature of the Gibbs posterior at log-odds z."""
        return (z + math.log(self.case.H - 1)) / (self.case.b - self.case.a)

    def __call__(self, z: float) -> float:
        """Bound at log-odds z."""
        point = self.curve.at(self.beta(z))
        return self.function(point.risk, point.kl)

    def descent(self, z: float) -> float:
        """Ratio minus beta: the bound decreases where it is positive and increases where it is negative."""
        point = self.curve.at(self.beta(z))
        return self.function.ratio(point.risk, point.kl) - point.beta


def stationary_points(case: Case) -> list[tuple[str, float, float]]:
    """Kind, log-odds and bound of all local minima and maxima."""
    line = BoundOnLine(case)
    grid = np.linspace(-math.log(case.H - 1), 12.0, 3_000)
    descent = np.array([line.descent(z) for z in grid])
    points = []
    for i in np.flatnonzero(np.diff(np.sign(descent))):
        z = float(brentq(line.descent, grid[i], grid[i + 1], xtol=1e-13))
        points.append(("minimum" if descent[i] > 0 else "maximum", z, line(z)))
    if descent[-1] > 0:  # decreasing up to the vertex: beta = infinity
        points.append(("minimum", math.inf, line(math.inf)))
    return points


def iteration(case: Case, start: object) -> float:
    """Bound at the end of the paper's fixed-point iteration."""
    risks = np.concatenate([[case.a], np.full(case.H - 1, case.b)])
    options = {"distance": case.distance, "delta": case.delta, "constant": case.constant}
    return optimal_posterior(risks, case.m, method="fixed-point", start=start, tol=1e-12, **options).bound


def report(case: Case) -> None:
    """Print the stationary points of one case, the results of the iteration, and the certified optimum."""
    print(
        f"\n{case.distance}: H = {case.H}, m = {case.m}, risks {case.a:g} (one) and {case.b:g}, delta = {case.delta:g}"
    )
    for kind, z, value in stationary_points(case):
        mass = 1.0 / (1.0 + math.exp(-z))
        print(f"  {kind}  beta {BoundOnLine(case).beta(z):9.4f}  mass on the one {mass:.6f}  bound {value:.9f}")
    near_vertex = np.full(case.H, 0.01 / (case.H - 1))
    near_vertex[0] = 0.99
    for name, start in (("the prior", "prior"), ("random weights", "random"), ("99 % on the one", near_vertex)):
        print(f"  iteration from {name:<16} ends at {iteration(case, start):.6f}")
    risks = np.concatenate([[case.a], np.full(case.H - 1, case.b)])
    best = optimal_posterior(risks, case.m, distance=case.distance, delta=case.delta, constant=case.constant, tol=1e-10)
    print(f"  certified optimum               {best.bound:.6f}  (gap {best.gap:.0e})")


def draw(path: str) -> None:
    """Plot the bound along the line for the four cases, with its stationary points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    for axes, case in zip(figure.subplots(2, 2).flat, CASES, strict=True):
        points = stationary_points(case)
        line = BoundOnLine(case)
        finite = [z for _, z, _ in points if z < math.inf]
        z = np.linspace(min(finite) - 3.0, max(finite) + 3.0, 600)
        axes.plot(z, [line(t) for t in z], color="C0")
        for kind, at, bound in points:
            label = f"β = {line.beta(at):.2f}" if at < math.inf else "β → ∞"
            place = min(at, z[-1])
            axes.plot(place, bound if at < math.inf else line(place), "o" if kind == "minimum" else "x", color="C3")
            offset = (0, -14) if kind == "minimum" else (0, 8)
            axes.annotate(
                label, (place, line(place)), textcoords="offset points", xytext=offset, ha="center", fontsize=8
            )
        axes.margins(y=0.2)
        axes.set_title(f"{case.distance}: H = {case.H:,}, m = {case.m}, risks {case.a:g} and {case.b:g}", fontsize=10)
        axes.set_xlabel("log-odds of the one classifier")
        axes.set_ylabel("bound B")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    print("Two minima under a uniform prior, the paper's constants:")
    for case in CASES:
        report(case)
    print("\nThe smallest H found, delta = 0.05, exact constants:")
    for case in SMALLEST:
        report(case)
    if len(sys.argv) > 1:
        draw(sys.argv[1])
