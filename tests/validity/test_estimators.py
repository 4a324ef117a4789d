"""Certificates of the estimators hold, by simulation with known true risks; planted faults are detected.

All rows of a group are copies of one point.  The label of a group is that of its quadrant or, in 15 % of groups, the
other; a tenth of its rows has flipped labels.  Groups with the other label have nine rows, the rest one to five, so
that the mean over groups differs from the share of rows.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import (
    CLEAN,
    DELTA,
    LAMBDAS,
    POINTS,
    compatible,
    failures,
    fits,
    largest,
    sample,
    svc,
    true_risk,
)

from pacbayes import CertifiedClassifier, Grid, SVMs
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.data.split import Split, split_rows

OF_GROUP, OF_ROW = 0.15, 0.1
# The share of rows without the quadrant's label: mean over groups, and among all rows.
OF_GROUPS = OF_GROUP * (1 - OF_ROW) + (1 - OF_GROUP) * OF_ROW
WEIGHT = OF_GROUP * 9 / (OF_GROUP * 9 + (1 - OF_GROUP) * 3)
OF_ROWS = WEIGHT * (1 - OF_ROW) + (1 - WEIGHT) * OF_ROW
FEW = (0.01, 0.1, 1.0, 10.0)


def rows(n, classes, rng):
    return sample(n, classes, rng), {}


def in_groups(rng, number=80):
    points, wrong = rng.integers(0, 400, number), rng.random(number) < OF_GROUP
    groups = np.repeat(np.arange(number), np.where(wrong, 9, rng.integers(1, 6, number)))
    y = (CLEAN[2][points] ^ wrong)[groups] ^ (rng.random(groups.size) < OF_ROW)
    order = rng.permutation(groups.size)
    return (POINTS[points][groups][order], y[order]), {"groups": groups[order]}


def without_groups(rng):
    return in_groups(rng)[0], {}


def copied(times, rng):
    # Jitter makes all originals distinct, as duplicates="together" assumes, without a visible effect on classifiers.
    X, y = sample(120, 2, rng)
    X = X + 1e-7 * rng.random(X.shape)
    order = rng.permutation(np.repeat(np.arange(y.size), times(y, rng)))
    return (X[order], y[order]), {}


five_times = partial(copied, lambda y, rng: np.full(y.size, 5))
#: The number of copies depends on the row alone: one for the label 0, else up to nine.
oversampled = partial(copied, lambda y, rng: np.where(y == 0, 1, rng.integers(1, 10, y.size)))


def in_time(rng):
    """Old rows are squeezed, with noisy labels; validation rows are drawn as new ones."""
    X, y = sample(240, 2, rng)
    old = np.arange(240) < 120
    X[old, 0] = X[old, 0] / 2
    y[old] = np.where(rng.random(120) < 0.2, 1 - y[old], y[old])
    return (X, y), {"validation": ~old}


def by_labels(rng):
    """The planted fault: validation rows that a classifier of the other half gets wrong are left out."""
    X, y = sample(240, 2, rng)
    half = rng.random(240) < 0.5
    keep = ~half | (GaussianNB().fit(X[~half], y[~half]).predict(X) == y)
    return (X[keep], y[keep]), {"validation": half[keep]}


def classifier(candidates, seed, **choices):
    return CertifiedClassifier(candidates, **({"delta": DELTA, "cv": 3, "random_state": seed} | choices))


def assorted(seed, **choices):
    """SVMs of five widths, two estimators with probabilities, and a grid."""
    trees = Grid(DecisionTreeClassifier(), {"max_depth": [2, 5]})
    return classifier([SVMs(FEW), GaussianNB(), LogisticRegression(), trees], seed, **choices)


def widths(seed, **choices):
    """SVMs of five widths, which all vote."""
    return classifier(SVMs(FEW), seed, **choices)


def grid(seed):
    trees = Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 6, 8, 12, None]})
    return classifier(trees, seed, cv=None)


def two_kinds(seed):
    return classifier([SVMs(LAMBDAS[::3], gamma=[2.0, 8.0]), DecisionTreeClassifier(max_depth=4)], seed)


def make_user_split(seed):
    return classifier([GaussianNB(), DecisionTreeClassifier(random_state=0)], seed)


def near(params, X_train, y_train):
    """Prior for SVMs with a lambda near the error rate of the nearest neighbour."""
    score = KNeighborsClassifier(1).fit(X_train[::2], y_train[::2]).score(X_train[1::2], y_train[1::2])
    distance = np.abs(np.log([setting["lambda"] for setting in params]) - np.log(2 * (1 - score) + 1e-3))
    return np.exp(-distance) / np.exp(-distance).sum()


independent, together = partial(svc, split="independent"), partial(svc, duplicates="together")
standard, groups_risk = partial(rows, 160, 2), partial(true_risk, noise=OF_GROUPS)
CASES = {
    "rows": (svc, standard, true_risk),
    "rows, independent": (independent, standard, true_risk),
    "rows, a grid": (grid, standard, true_risk),
    "a prior of training rows and three distances": (
        partial(svc, prior=near, distance=["kl", "pinsker", "ch"]), standard, true_risk
    ),
    "groups": (svc, in_groups, groups_risk),
    "groups, independent": (independent, in_groups, groups_risk),
    "groups, a soft vote": (two_kinds, in_groups, groups_risk),
    "duplicates": (together, five_times, true_risk),
    "duplicates, independent": (partial(together, split="independent"), five_times, true_risk),
    "oversampled": (together, oversampled, true_risk),
    "a split in time": (make_user_split, in_time, true_risk),
}  # fmt: skip


@fits(20, 300)
@pytest.mark.parametrize("case", CASES)
def test_failures_are_compatible_with_delta(case, fits):
    make, draw, risk = CASES[case]
    counts, _ = failures(make, draw, fits, risk)
    assert max(counts.values()) <= largest(fits), counts


# The number of rows and the validation size; "tiny" is the smallest possible.
SIZES = {"standard": (160, 0.5), "tiny": (20, 5), "large": (3000, "auto")}
MODELS = {"assorted": assorted, "widths": widths, "svms": partial(svc, cv=3)}


def check_hedged(make, hedge, size, classes, fits):
    n, validation_size = SIZES[size]
    model = partial(MODELS[make], hedge=hedge, validation_size=validation_size)
    counts, rules = failures(model, partial(rows, n, classes), fits, partial(true_risk, classes=classes))
    assert max(counts.values()) <= largest(fits), counts
    assert (("soft", "primary") in rules) == (hedge < 1)


@pytest.mark.parametrize(
    ("make", "hedge", "size", "classes"),
    [
        ("assorted", 0.02, "standard", 2),
        ("assorted", 0, "tiny", 5),
        ("widths", 0.02, "standard", 5),
        ("svms", 0.1, "standard", 2),
        ("svms", 0.1, "tiny", 5),
        ("svms", 1, "tiny", 2),
    ],
)
def test_hedged_rules_keep_delta(make, hedge, size, classes):
    check_hedged(make, hedge, size, classes, 15)


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLEAN)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("hedge", [0, 0.02, 1])
@pytest.mark.parametrize("make", MODELS)
def test_hedged_rules_keep_delta_in_many_fits(make, hedge, size, classes):
    check_hedged(make, hedge, size, classes, 25 if size == "large" else 200)


# -- planted faults --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [svc, independent])
def test_validation_rows_used_in_training_are_caught(make, monkeypatch):
    def leak(*arguments):
        split = split_rows(*arguments)
        if split.shared is not None:
            # Bypass the constructor, which rejects rows on both sides.
            object.__setattr__(split, "shared", (np.arange(split.n_rows), split.shared[1]))
        return split

    original = Split.__call__

    def leak_each(self, i):
        train, validation = original(self, i)
        return (train, validation) if self.shared is not None else (np.arange(self.n_rows), validation)

    monkeypatch.setattr("pacbayes.estimators.recipe.split_rows", leak)
    monkeypatch.setattr(Split, "__call__", leak_each)
    counts, _ = failures(make, standard, 20)
    assert min(counts["stochastic"], counts["best"]) > largest(20), counts


@pytest.mark.filterwarnings("ignore:.* validation rows have a duplicate")
@pytest.mark.parametrize(
    ("draw", "risk"),
    [
        (five_times, true_risk),
        (without_groups, groups_risk),
        (without_groups, partial(true_risk, noise=OF_ROWS)),
    ],
    ids=["duplicates", "groups, mean over groups", "groups, share of rows"],
)
def test_rows_of_one_origin_on_both_sides_are_caught(draw, risk):
    """The certificate fails against any definition of the risk."""
    counts, _ = failures(svc, draw, 20, risk)
    assert min(counts["stochastic"], counts["best"]) > largest(20), counts


def test_a_split_that_depends_on_labels_is_caught():
    counts, _ = failures(make_user_split, by_labels, 20)
    assert min(counts[voting] for voting in ("stochastic", "majority", "best")) > largest(20), counts


def test_rows_of_groups_counted_as_draws_are_caught():
    """A fixed rule: the Clopper-Pearson bound on its rows fails, the Chernoff bound on its groups holds."""
    runs, m, rng = 1000, 30, np.random.default_rng(5)
    as_rows = as_groups = 0
    for _ in range(runs):
        (X, y), params = in_groups(rng, m)
        wrong = y != (X[:, 0] * X[:, 1] > 0)
        shares = np.bincount(params["groups"], wrong) / np.bincount(params["groups"])
        as_rows += binomial_upper(np.count_nonzero(wrong), wrong.size, DELTA) < OF_ROWS
        as_groups += chernoff_upper(min(shares.mean() * (1 + 1e-12), 1.0), m, DELTA) < OF_GROUPS
    assert as_rows > largest(runs)
    assert compatible(as_groups, runs)


def certified_in_order(order, fits):
    """Number of failures with a shuffled table, and its groups in some order."""
    count = 0
    for seed in range(fits):
        rng = np.random.default_rng([seed, 42])
        (X, y), params = in_groups(rng)
        # No two rows are equal, but features identify patients.
        table = pd.DataFrame(X + 1e-6 * rng.random(X.shape), columns=["a", "b"]).assign(y=y, patient=params["groups"])
        rows = table.sample(frac=1, random_state=seed)
        tree = classifier(DecisionTreeClassifier(random_state=0), seed, voting="best")
        tree.fit(rows[["a", "b"]], rows["y"], groups=order(table["patient"], rows.index))
        count += groups_risk(tree.predict(pd.DataFrame(POINTS, columns=["a", "b"]))) > tree.certificate_.bound
    return count


def test_groups_of_an_unshuffled_table_are_rejected():
    """With groups=df.patient and X=df.sample(frac=1), paired by position, 8 of 8 certificates were false."""
    with pytest.raises(ValueError, match=r"X and groups have the same index .* use groups.loc\[X.index\], or groups"):
        certified_in_order(lambda patient, index: patient, 1)
    by_position = certified_in_order(lambda patient, index: patient.to_numpy(), 20)
    assert binom.sf(by_position - 1, 20, DELTA) < 1e-4
    assert compatible(certified_in_order(lambda patient, index: patient.loc[index], 20), 20)
