"""Certificates hold for rows in any container: lists, arrays, data frames, one by one or in batches.

Rows are one of 24 equally likely kinds with known labels: true risks are means over the 24 kinds.
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


def keeps_delta(is_false, fits):
    return compatible(sum(map(is_false, range(fits))), fits, DELTA, 1e-3)


# -- rows of numbers and strings -------------------------------------------------------------------------------------


class ByKind(ClassifierMixin, BaseEstimator):
    """Predicts a fixed label for each kind of row, in any container."""

    classes_ = np.array([0, 1])

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        rows = X.to_numpy(dtype=object) if isinstance(X, pd.DataFrame) else X
        kinds = [KINDS.index((float(row[0]), row[1], bool(row[2]))) for row in rows]
        return np.array([self.labels[kind] for kind in kinds])


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


def with_a_missing_value(clf, kinds):
    """Predict a list of rows together with a row that contains None."""
    return clf.predict([*as_list(kinds), [0.5, "a", None]])[:-1]


PREDICT = {
    "lists": lambda clf, kinds: clf.predict(as_list(kinds)),
    "one by one": lambda clf, kinds: np.concatenate([clf.predict(as_list([kind])) for kind in kinds]),
    "beside a missing value": with_a_missing_value,
    "numpy's flags": lambda clf, kinds: clf.predict(with_numpy_flags(kinds)),
    "array of objects": lambda clf, kinds: clf.predict(as_array(kinds)),
    "data frame": lambda clf, kinds: clf.predict(as_frame(kinds)),
}


def fitted_on_lists(seed):
    rng = np.random.default_rng(seed)
    members = [ByKind(labels.tolist()) for labels in rng.integers(0, 2, (8, len(KINDS)))]
    # The true label is always 0; the second class must occur once.
    kinds, y = rng.integers(len(KINDS), size=M), np.zeros(M, dtype=int)
    y[0] = 1
    choices = {"primary": np.full(8, 0.125), "hedge": 0.0, "delta": DELTA, "voting": "stochastic"}
    return CertifiedClassifier.from_fitted(members, as_list(kinds), y, random_state=seed, **choices)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("container", PREDICT)
@fits(20, 300)
def test_certificates_of_draws_hold_in_every_container(container, fits):
    def is_false(seed):
        clf = fitted_on_lists(seed)
        return PREDICT[container](clf, range(len(KINDS))).mean() > clf.certificate_.bound

    assert keeps_delta(is_false, fits)


# -- preprocessed rows, whose last bits depend on the batch ----------------------------------------------------------


CELLS, NOISE, N_TRAIN, M_VAL = 12, 0.3, 24, 4000


def fit_after_pca(seed):
    """Fit SVMs after PCA of coarse rows: on few training rows, so that they differ, with many validation rows."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, (CELLS, 12)) / 10
    labels = rng.permutation(np.repeat([0, 1], CELLS // 2))
    places = rng.integers(CELLS, size=N_TRAIN + M_VAL)
    y = np.where(rng.random(places.size) < NOISE, 1 - labels[places], labels[places])
    clf = StochasticSVC(
        np.logspace(-3, 1.5, 30), preprocessor=PCA(6, svd_solver="full"), scale=False, hedge=0.0, delta=DELTA,
        validation_size=M_VAL, random_state=seed,
    )  # fmt: skip
    return clf.fit(cells[places], y), cells, labels


@fits(20, 300)
def test_certificates_of_draws_hold_for_preprocessed_rows_one_by_one(fits):
    def is_false(seed):
        clf, cells, labels = fit_after_pca(seed)
        y_pred = np.concatenate([clf.predict(cell[None]) for cell in cells])
        return np.where(y_pred == labels, NOISE, 1 - NOISE).mean() > clf.certificate_.bound

    assert keeps_delta(is_false, fits)


def test_a_soft_vote_does_not_depend_on_the_batch():
    """The last bits of preprocessed rows do: probabilities are rounded before they are compared."""
    for seed in range(8):
        clf, cells, _ = fit_after_pca(seed)
        clf.set_params(voting="soft")
        alone = np.concatenate([clf.predict(cell[None]) for cell in cells])
        assert np.array_equal(clf.predict(cells), alone)
        assert np.array_equal(clf.predict(cells[::-1])[::-1], alone)
        shares = np.concatenate([clf.predict_proba(cell[None]) for cell in cells])
        np.testing.assert_allclose(clf.predict_proba(cells), shares, rtol=0, atol=2.0**-19)


# -- steps that write into their rows --------------------------------------------------------------------------------


class WritesLabels(TransformerMixin, BaseEstimator):
    """Writes the labels into the rows that it is fitted on."""

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
def test_certificates_hold_for_steps_that_write_into_lists(voting, fits):
    def is_false(seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 2)).tolist(), rng.integers(0, 2, 200)  # noise: the true risk is 1/2
        choices = {"voting": voting, "delta": DELTA, "cv": 3, "random_state": seed}
        clf = CertifiedClassifier(Grid(TREES, GRID), **choices).fit(X, y)
        return clf.certificate_.bound < 0.5

    assert keeps_delta(is_false, fits)
