"""Random problems, and attacks on the certificates of their solutions."""

import warnings
from functools import cache

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from pacbayes import load_dataset

# Two minima on the Gibbs curve under a uniform prior: one classifier of risk a among H - 1 of risk b.
# distance, H, m, a, b, (beta, bound) of both minima; delta = 0.01, the paper's constants.
TWO_MINIMA = [
    ("squared", 10**5, 30, 0.0, 0.3, (30.3117, 0.780684), (44.6017, 0.783508)),
    ("pinsker", 10**6, 50, 0.3, 0.5, (56.8360, 0.768267), (91.3169, 0.758898)),
    ("kl", 10**3, 10, 0.0, 0.2, (26.3936, 0.737616), (np.inf, 0.737036)),
]


def one_against_many(H, a, b):
    return np.concatenate([[a], np.full(H - 1, b)])


def random_prior(rng, H):
    """None for the uniform prior, or weights of very different sizes, some zero."""
    if rng.random() < 0.5:
        return None
    prior = rng.exponential(size=H) ** rng.integers(1, 12)
    prior[rng.random(H) < 0.1] = 0.0
    prior[rng.integers(H)] += 1e-3
    return prior / prior.sum()


def random_problem(rng, largest=30):
    """Risks, sample size, prior and delta of a random problem of at most `largest` classifiers."""
    H, m = int(rng.integers(1, largest + 1)), int(rng.choice([1, 2, 5, 20, 100, 1000, 10**6]))
    low, high = sorted(rng.random(2) ** rng.choice([0.3, 1, 3]))
    risks = rng.uniform(low, high, H)
    if rng.random() < 0.6 and m < 10**6:
        risks = np.rint(risks * m) / m
    return risks, m, random_prior(rng, H), float(rng.choice([1e-6, 0.01, 0.05, 0.3]))


def random_rows(rng, H, m):
    """Errors of classifiers of different quality on shared rows of different difficulty."""
    difficulty = rng.beta(*rng.choice([[0.3, 1.2], [1.0, 3.0], [0.1, 0.1], [2.0, 2.0]]), m)
    return rng.random((H, m)) < np.clip(difficulty * rng.uniform(0.2, 1.8, (H, 1)), 0, 1)


def random_vote(rng, largest=40):
    """Error rows, sample size, prior and delta of a random problem of at most `largest` classifiers."""
    H, m = int(rng.integers(1, largest + 1)), int(rng.choice([1, 2, 5, 20, 60, 200, 800]))
    errors = random_rows(rng, H, m)
    if rng.random() < 0.2:
        errors[rng.integers(H)] = False
    if rng.random() < 0.2:
        errors = errors[rng.integers(0, H, H)]
    return errors, m, random_prior(rng, H), float(rng.choice([1e-6, 0.01, 0.05, 0.3]))


def random_weights(rng, H, prior=None, concentration=1.0):
    """Random weights on the support of the prior."""
    weights = rng.dirichlet(np.full(H, concentration))
    if prior is not None:
        weights = np.where(prior > 0, weights + 1e-12, 0.0)
    return weights / weights.sum()


def tandem_parts(weights, errors, prior):
    """T, K and G in plain floating point."""
    p = np.full(len(weights), 1 / len(weights)) if prior is None else prior / prior.sum()
    inside = weights > 0
    K = float((weights[inside] * np.log(weights[inside] / p[inside])).sum())
    erring = weights @ errors
    return float((erring**2).mean()), K, float(erring.mean())


@cache
def forest_rows(name, trees=100):
    """Errors of the trees of a forest, trained on half of the rows, on the other half."""
    if name in ("wdbc", "digits"):
        X, y = (load_breast_cancer if name == "wdbc" else load_digits)(return_X_y=True)
        y = y % 2
    else:
        data = load_dataset(name)
        X, y = data.data, data.target
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    forest = RandomForestClassifier(trees, random_state=0, n_jobs=1).fit(X[train], y[train])
    return np.array([tree.predict(X[test]) != y[test] for tree in forest.estimators_])


def attacks(value_and_gradient, H, prior, rng, maxiter):
    """Yield weights that might beat a certificate: vertices, random ones, exponentiated gradient and SLSQP."""
    p = np.full(H, 1 / H) if prior is None else prior
    inside = p > 0
    yield from (vertex for vertex, allowed in zip(np.eye(H), inside, strict=True) if allowed)
    starts = [p] + [rng.dirichlet(np.full(H, a)) * inside + 1e-9 * p for a in (0.1, 1.0)]
    starts = [s / s.sum() for s in starts]
    yield from starts
    for q in starts:  # projected gradient, in the geometry of the simplex, with a step that only shrinks
        value, gradient = value_and_gradient(q)
        step = 1.0 / (1e-9 + np.ptp(gradient[inside]))
        for _ in range(maxiter):
            moved = q * np.exp(-step * np.maximum(gradient - gradient[q > 0].min(), 0.0)) * inside
            moved /= moved.sum()
            new, new_gradient = value_and_gradient(moved)
            if new < value:
                q, value, gradient = moved, new, new_gradient
            else:
                step *= 0.5
        yield q
    for q in starts if H > 1 else ():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = minimize(
                value_and_gradient, q, jac=True, method="SLSQP", bounds=[(0.0, float(a)) for a in inside],
                constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
                options={"maxiter": maxiter, "ftol": 1e-13},
            )  # fmt: skip
        found = np.maximum(result.x, 0) * inside
        if np.isfinite(found).all() and found.sum() > 0:
            yield found / found.sum()
