r"""Synthetic risks that stand for the paper's nine data sets.

The paper has one SVM for each regularisation parameter :math:`\lambda` of its grid, each with its own split, so that
the validation risks rise with :math:`\lambda` and scatter.  A profile is a line with normal scatter, cut to [0, 1/2]
and rounded to whole errors:

.. math:: \hat l(\lambda) \approx \text{least} + \text{slope}\,(\lambda - 0.1) + \text{noise} \cdot N(0, 1).

The three numbers of each were chosen by hand and by a least-squares search so that four bounds are near the paper's:
that of the optimal kl posterior for H = 50 and 1990, the mean of its convex-concave column (H = 50), and where its
solver failed, the bound it printed at H = 1990.  Banknote and Mushroom have no errors for the smallest
:math:`\lambda`, as there.  They are for tests and benchmarks of solvers; they say nothing about the data sets.
"""

from dataclasses import dataclass

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice

#: The paper's grid, 0.1, 0.11, ..., 19.99.
LAMBDAS = np.round(0.1 + 0.01 * np.arange(1990), 2)


@dataclass(frozen=True)
class Profile:
    """What the risks of one data set look like."""

    #: Validation size, as in the paper.
    m: int
    #: Risk at the smallest lambda, before the scatter.
    least: float
    #: Its rise for a unit of lambda.
    slope: float
    #: Standard deviation of the scatter.
    noise: float
    #: Seed of the scatter.
    seed: int


PROFILES = {
    "spambase": Profile(1840, 0.14, 0.013, 0.014, 0),
    "bupa": Profile(138, 0.10, 0.043, 0.018, 1),
    "mammographic": Profile(332, 0.16, 0.0077, 0.0074, 2),
    "wdbc": Profile(227, 0.05, 0.0041, 0.0018, 3),
    "banknote": Profile(549, 0.0, 0.0008, 0.0001, 4),
    "mushroom": Profile(2257, 0.0, 5.5e-5, 1e-5, 5),
    "ionosphere": Profile(140, 0.023, 0.022, 0.0023, 6),
    "waveform": Profile(1323, 0.0388, 0.0009, 0.0037, 7),
    "haberman": Profile(122, 0.19, 0.0066, 0.0066, 8),
}


def profile_risks(name: str, H: int = 1990) -> tuple[FloatArray, int]:
    """Return the risks of the first `H` classifiers of a profile and its validation size.

    Parameters
    ----------
    name : str
        One of `PROFILES`.
    H : int
        Number of classifiers, at most 1990: always the first of the grid, as in the paper.

    Returns
    -------
    risks : ndarray of shape (H,)
        Multiples of 1/m.
    m : int
        Validation size.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> risks, m = profile_risks("wdbc", H=50)
    >>> posterior = optimal_posterior(risks, m, delta=0.01, constant="paper")
    >>> print(f"{posterior.bound:.3f}")  # the paper: 0.128
    0.130
    """
    profile = PROFILES[check_choice("name", name, PROFILES)]
    if isinstance(H, bool) or not isinstance(H, int):
        raise TypeError(f"H must be an integer, got {H!r}")
    if not 1 <= H <= LAMBDAS.size:
        raise ValueError(f"H must be from 1 to {LAMBDAS.size}, got {H}")
    # All are drawn for every H, so that a smaller set is the beginning of a larger one.
    scatter = np.random.default_rng(profile.seed).standard_normal(LAMBDAS.size)
    risks = profile.least + profile.slope * (LAMBDAS - 0.1) + profile.noise * scatter
    return np.rint(np.clip(risks, 0.0, 0.5) * profile.m)[:H] / profile.m, profile.m
