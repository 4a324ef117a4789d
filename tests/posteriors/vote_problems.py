"""Error rows that several tests of votes share: random ones, and those of forests on real data."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

from pacbayes import load_dataset


def random_rows(rng, H, m):
    """Errors on rows of different difficulty, which classifiers of different quality share."""
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
    prior = None
    if rng.random() < 0.5:
        prior = rng.exponential(size=H) ** rng.integers(1, 12)
        prior[rng.random(H) < 0.1] = 0.0
        prior[rng.integers(H)] += 1e-3
        prior /= prior.sum()
    return errors, m, prior, float(rng.choice([1e-6, 0.01, 0.05, 0.3]))


def tandem_parts(weights, errors, prior):
    """T, K and G in plain floating point."""
    p = np.full(len(weights), 1 / len(weights)) if prior is None else prior / prior.sum()
    inside = weights > 0
    K = float((weights[inside] * np.log(weights[inside] / p[inside])).sum())
    erring = weights @ errors
    return float((erring**2).mean()), K, float(erring.mean())


@cache
def forest_rows(name, trees=100):
    """Errors of the trees of a forest, grown on half of the rows, on the other half."""
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "digits":
        X, y = load_digits(return_X_y=True)
        y = y % 2
    else:
        data = load_dataset(name)
        X, y = data.data, data.target
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    forest = RandomForestClassifier(trees, random_state=0, n_jobs=1).fit(X[train], y[train])
    return np.array([tree.predict(X[test]) != y[test] for tree in forest.estimators_])
