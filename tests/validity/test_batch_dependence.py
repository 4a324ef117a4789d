"""Predictions that depend on the other rows of a batch void the guarantee, by simulation."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import DELTA, compatible, fits

from pacbayes import CertifiedClassifier, Grid, svm_set
from pacbayes.certificates import Plan, best_single, certify, fit_posteriors
from pacbayes.data.preprocessing import apply_preprocessor
from pacbayes.data.rows import find_batch_dependence
from pacbayes.ensemble.portfolio import SPARSE, Size, make_named_family, select_portfolio
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.ensemble.validation import collect_predictions

N = 320
VOTINGS = ("stochastic", "majority", "best")


def count_failures(failures_of, fits):
    """Number of certificates that fail, by way of predicting."""
    return np.sum([failures_of(seed) for seed in range(fits)], axis=0)


def failures(weights, best, certificates, y_pred, risk):
    """Whether the risk of each way of predicting is above its bound; `y_pred` are labels 0 and 1 by classifier."""
    risks = [weights @ risk(y_pred), risk((weights @ y_pred > 0.5).astype(int)), risk(y_pred[best])]
    return [risk > certificates[voting].bound for risk, voting in zip(risks, VOTINGS, strict=True)]


# -- a preprocessor that depends on the batch ------------------------------------------------------------------------
#
# A row is one of 440 categories, 40 frequent ones with label 1 and 400 rare ones with label 0.  A transformer replaces
# them by their counts in the batch.  New rows come in batches as large as the validation set.

CATEGORIES = np.repeat([1.0, 0.1], [40, 400]) / 80


class Frequencies(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        _, places, counts = np.unique(X[:, 0], return_inverse=True, return_counts=True)
        return counts[places][:, None].astype(float)


def categories(n, rng):
    codes = rng.choice(CATEGORIES.size, n, p=CATEGORIES)
    return codes[:, None].astype(float), (codes < 40).astype(int)


NEW = [categories(N // 2, np.random.default_rng([2, k])) for k in range(20)]
NEW_LABELS = np.concatenate([labels for _, labels in NEW])


def failures_of_frequencies(seed):
    X, y = categories(N, np.random.default_rng([seed, 5]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Frequencies predicts differently")
        classifiers = svm_set(X, y, [0.1, 1.0, 10.0], gamma=1.0, preprocessor=Frequencies(), random_state=seed)
    plan = Plan(classifiers.splits, delta=DELTA)
    posteriors = fit_posteriors(plan, classifiers.predictions)
    certificates = certify(plan, classifiers.predictions, posteriors)
    best = best_single(classifiers.error_counts, DELTA, None).index
    y_pred = np.concatenate([classifiers.predict(rows) for rows, _ in NEW], axis=1)
    risk = lambda labels: (labels != NEW_LABELS).mean(axis=-1)  # noqa: E731
    return failures(posteriors.posterior.weights, best, certificates, y_pred, risk)


@pytest.mark.filterwarnings("ignore:Column 0 alone determines the class")  # of each category, as drawn above
@fits(25, 300)
def test_separate_batches_of_training_and_validation_rows_keep_delta(fits):
    assert compatible(max(count_failures(failures_of_frequencies, fits)), fits, p=1e-3)


@pytest.mark.filterwarnings("ignore:Column 0 alone determines the class")  # of each category, as drawn above
@fits(25, 300)
def test_one_batch_of_training_and_validation_rows_is_caught(fits, monkeypatch):
    def train_in_one_batch(family, data, train):
        fitted = clone(family.preprocessor).fit(data.rows[train], data.labels[train])
        return apply_preprocessor(fitted, data.rows)[train], fitted

    def predict_in_one_batch(members, data, *arguments):
        together = replace(data, rows=apply_preprocessor(members.preprocessor, data.rows))
        return collect_predictions(replace(members, preprocessor=None), together, *arguments)

    monkeypatch.setattr(SvmFamily, "preprocess", train_in_one_batch)
    monkeypatch.setattr("pacbayes.ensemble.classifier_set.collect_predictions", predict_in_one_batch)
    stochastic, _, best = count_failures(failures_of_frequencies, fits)
    assert not compatible(min(stochastic, best), fits, p=1e-6)


# -- classifiers that depend on the batch ----------------------------------------------------------------------------
#
# A row is one of 21 numbers, and its label is 1 with a probability that increases with it.  New rows come one by one.
# True risks are sums over the 21 numbers.

POINTS = np.linspace(-3.0, 3.0, 21)[:, None]
MASS = np.exp(-(POINTS[:, 0] ** 2) / 2) / np.exp(-(POINTS[:, 0] ** 2) / 2).sum()
ONES = 1 / (1 + np.exp(-3 * POINTS[:, 0]))


class BatchScaler(TransformerMixin, BaseEstimator):
    """Subtracts the mean of the batch."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - X.mean(axis=0)


def true_risk(labels):
    return np.where(labels == 1, 1 - ONES, ONES) @ MASS


def failures_one_by_one(scaler, seed):
    rng = np.random.default_rng([seed, 3])
    places = rng.choice(21, N, p=MASS)
    X, y = POINTS[places], (rng.random(N) < ONES[places]).astype(int)
    trees = make_pipeline(scaler, DecisionTreeClassifier())
    grid = {"decisiontreeclassifier__max_depth": [1, 2, 4]}
    clf = CertifiedClassifier(
        Grid(trees, grid), delta=DELTA, cv=None, random_state=seed, voting="stochastic", validation_size=0.5
    ).fit(X, y)
    y_pred = np.concatenate([clf.classifiers_.predict(point[None]) for point in POINTS], axis=1)
    return failures(clf.posterior_.weights, clf.best_index_, clf.certificates_, y_pred, true_risk)


@fits(25, 300)
def test_batch_invariant_classifiers_keep_delta(fits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed = count_failures(lambda seed: failures_one_by_one(StandardScaler(), seed), fits)
    assert compatible(max(failed), fits, p=1e-3)


@fits(25, 300)
def test_batch_dependent_classifiers_are_caught_and_every_fit_warns(fits):
    def fit_with_warning(seed):
        with pytest.warns(UserWarning, match="BatchScaler predicts differently, or fails, for single rows"):
            return failures_one_by_one(BatchScaler(), seed)

    stochastic, _, best = count_failures(fit_with_warning, fits)
    assert not compatible(min(stochastic, best), fits, p=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_named_families_do_not_depend_on_the_batch(sparse):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(120, 6)), 1)
    rows = csr_array(X) if sparse else X
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    size = Size(120, 6, sparse=sparse)
    for name in SPARSE if sparse else select_portfolio(size)[1:]:
        for estimator in make_named_family(name, None, size):
            assert find_batch_dependence(estimator.fit(rows, y), rows[:50]) is None, estimator
