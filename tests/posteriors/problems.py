"""Problems that several tests share."""

import numpy as np

# Two minima on the Gibbs curve under a uniform prior: one classifier of risk a among H - 1 of risk b.
# distance, H, m, a, b, (beta, bound) of both minima; delta = 0.01, the paper's constants.
TWO_MINIMA = [
    ("squared", 10**5, 30, 0.0, 0.3, (30.3117, 0.780684), (44.6017, 0.783508)),
    ("pinsker", 10**6, 50, 0.3, 0.5, (56.8360, 0.768267), (91.3169, 0.758898)),
    ("kl", 10**3, 10, 0.0, 0.2, (26.3936, 0.737616), (np.inf, 0.737036)),
]


def one_against_many(H, a, b):
    return np.concatenate([[a], np.full(H - 1, b)])


def random_problem(rng, largest=30):
    """Risks, sample size, prior and delta of a random problem of at most `largest` classifiers."""
    H, m = int(rng.integers(1, largest + 1)), int(rng.choice([1, 2, 5, 20, 100, 1000, 10**6]))
    low, high = sorted(rng.random(2) ** rng.choice([0.3, 1, 3]))
    risks = rng.uniform(low, high, H)
    if rng.random() < 0.6 and m < 10**6:
        risks = np.rint(risks * m) / m
    prior = None
    if rng.random() < 0.5:
        prior = rng.exponential(size=H) ** rng.integers(1, 12)
        prior[rng.random(H) < 0.1] = 0.0
        prior[rng.integers(H)] += 1e-3
        prior /= prior.sum()
    return risks, m, prior, float(rng.choice([1e-6, 0.01, 0.05, 0.3]))
