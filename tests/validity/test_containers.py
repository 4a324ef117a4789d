"""A certificate is about a row, not about the list, array or data frame in which it comes, nor about others.

Rows are one of 24 kinds, each as likely as another, and the true label is known, so true risks are means over 24.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import compatible, fits

from pacbayes import CertifiedClassifier, Grid, StochasticSVC

DELTA, M = 0.05, 300
KINDS = [(number, letter, flag) for number in (0.5, 1.0, 2.25) for letter in "abcd" for flag in (False, True)]


def hold(is_false, fits):
    return compatible(sum(map(is_false, range(fits))), fits, DELTA, 1e-3)


# -- rows of numbers and text ----------------------------------------------------------------------------------------


class ByKind(ClassifierMixin, BaseEstimator):
    """Answers with a label for each kind of row that was fixed beforehand, in whatever container the row comes."""

    classes_ = np.array([0, 1])

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        rows = X.to_numpy(dtype=object) if isinstance(X, pd.DataFrame) else X
        found = [KINDS.index((float(row[0]), row[1], bool(row[2]))) for row in rows]
        return np.array([self.labels[kind] for kind in found])


def as_list(kinds):
    return [list(KINDS[kind]) for kind in kinds]


def as_frame(kinds):
    return pd.DataFrame(as_list(kinds), columns=["number", "letter", "flag"])


def as_array(kinds):
    table = np.empty((len(kinds), 3), dtype=object)
    table[:] = as_list(kinds)
    return table


def with_numpy_flags(kinds):
    return [[number, letter, np.bool_(flag)] for number, letter, flag in as_list(kinds)]


def beside_a_gap(clf, kinds):
    """Ask about rows as a list together with one that has None in it."""
    return clf.predict([*as_list(kinds), [0.5, "a", None]])[:-1]


ASKED = {
    "lists": lambda clf, kinds: clf.predict(as_list(kinds)),
    "one by one": lambda clf, kinds: np.concatenate([clf.predict(as_list([kind])) for kind in kinds]),
    "beside a gap": beside_a_gap,
    "numpy's flags": lambda clf, kinds: clf.predict(with_numpy_flags(kinds)),
    "array of objects": lambda clf, kinds: clf.predict(as_array(kinds)),
    "data frame": lambda clf, kinds: clf.predict(as_frame(kinds)),
}


def fitted_on_lists(seed):
    rng = np.random.default_rng(seed)
    members = [ByKind(labels.tolist()) for labels in rng.integers(0, 2, (8, len(KINDS)))]
    # The true label is always 0; the second class must occur, and one row of it is no matter.
    drawn, y = rng.integers(len(KINDS), size=M), np.zeros(M, dtype=int)
    y[0] = 1
    choices = {"primary": np.full(8, 0.125), "hedge": 0.0, "delta": DELTA, "voting": "stochastic"}
    return CertifiedClassifier.from_fitted(members, as_list(drawn), y, random_state=seed, **choices)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("asked", ASKED)
@fits(20, 300)
def test_certificates_of_draws_hold_in_every_container(asked, fits):
    def is_false(seed):
        clf = fitted_on_lists(seed)
        return ASKED[asked](clf, range(len(KINDS))).mean() > clf.certificate_.bound

    assert hold(is_false, fits)


# -- prepared rows, whose last bits depend on the batch --------------------------------------------------------------


CELLS, NOISE, TRAINED, VALIDATED = 12, 0.3, 24, 4000


def draws_and_truth(seed):
    """Return a model behind PCA on coarse rows: few train, so that the machines differ, and many validate."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, (CELLS, 12)) / 10
    labels = rng.permutation(np.repeat([0, 1], CELLS // 2))
    drawn = rng.integers(CELLS, size=TRAINED + VALIDATED)
    y = np.where(rng.random(drawn.size) < NOISE, 1 - labels[drawn], labels[drawn])
    clf = StochasticSVC(
        np.logspace(-3, 1.5, 30), preprocessor=PCA(6, svd_solver="full"), scale=False, hedge=0.0, delta=DELTA,
        validation_size=VALIDATED, random_state=seed,
    )  # fmt: skip
    return clf.fit(cells[drawn], y), cells, labels


@fits(20, 300)
def test_certificates_of_draws_hold_for_prepared_rows_asked_one_by_one(fits):
    def is_false(seed):
        clf, cells, labels = draws_and_truth(seed)
        said = np.concatenate([clf.predict(cell[None]) for cell in cells])
        return np.where(said == labels, NOISE, 1 - NOISE).mean() > clf.certificate_.bound

    assert hold(is_false, fits)


def test_nor_does_a_soft_vote_depend_on_the_rows_around():
    """The last bits of prepared rows do: probabilities are rounded before they are compared."""
    for seed in range(8):
        clf, cells, _ = draws_and_truth(seed)
        clf.set_params(voting="soft")
        alone = np.concatenate([clf.predict(cell[None]) for cell in cells])
        assert np.array_equal(clf.predict(cells), alone)
        assert np.array_equal(clf.predict(cells[::-1])[::-1], alone)
        shares = np.concatenate([clf.predict_proba(cell[None]) for cell in cells])
        np.testing.assert_allclose(clf.predict_proba(cells), shares, rtol=0, atol=2.0**-19)


# -- steps that write into their rows --------------------------------------------------------------------------------


class WritesLabels(TransformerMixin, BaseEstimator):
    """Writes what it learns into the rows that it is fitted with."""

    def fit(self, X, y):
        for row, label in zip(X, y, strict=True):
            row[0] = float(label)
        return self

    def transform(self, X):
        return np.array(X, dtype=float)


TREES = make_pipeline(WritesLabels(), DecisionTreeClassifier(random_state=0))
GRID = {"decisiontreeclassifier__max_depth": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize("voting", ["soft", "stochastic"])
@fits(10, 60)
def test_certificates_hold_of_steps_that_write_into_lists(voting, fits):
    def is_false(seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 2)).tolist(), rng.integers(0, 2, 200)  # nothing can be learnt: the truth is 1/2
        choices = {"voting": voting, "delta": DELTA, "cv": 3, "random_state": seed}
        clf = CertifiedClassifier(Grid(TREES, GRID), **choices).fit(X, y)
        return clf.certificate_.bound < 0.5

    assert hold(is_false, fits)
