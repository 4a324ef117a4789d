"""Sparse rows in every format of SciPy, as matrices and as arrays, are the same rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator_sparse_array, check_estimator_sparse_matrix
from tests.estimators.models import by_draws

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, StochasticSVC, grid_set

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
KINDS = ["matrix", "array"]
VOTINGS = ("stochastic", "majority", "best")


def dense(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12)) * (rng.random((n, 12)) < 0.4)
    return X, (X[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)


def as_format(X, name, kind):
    return getattr(sp, f"{name}_{kind}")(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_formats_make_no_difference(name, kind):
    X, y = dense()
    rows = as_format(X, name, kind)
    # A wide posterior: a few validation rows do not tell the trees apart, so that rows must be picked.
    model = CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}),
        validation_size=20,
        random_state=0,
        voting="stochastic",
        cv=3,
    )
    expected, found = model.fit(sp.csr_array(X), y), clone(model).fit(rows, y)
    assert found.certificates_ == expected.certificates_
    for voting in VOTINGS:
        labels = expected.set_params(voting=voting).predict(X)
        assert np.array_equal(found.set_params(voting=voting).predict(rows), labels)
    assert np.array_equal(found.vote_share(rows), expected.vote_share(X))
    classifiers = grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2]}, rows, y, random_state=0)
    assert np.array_equal(classifiers.predict(rows), classifiers.predict(X))
    again = ClassifierSet.from_fitted(list(classifiers), rows, y)
    assert again.errors.tolist() == (classifiers.predict(X) != y).sum(axis=1).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_rows_to_be_prepared(name, kind):
    X, y = dense()
    rows = as_format(X, name, kind)
    model = StochasticSVC([0.1, 1.0, 10.0], preprocessor=TruncatedSVD(4, random_state=0), random_state=0)
    expected, found = model.fit(sp.csr_array(X), y).predict(sp.csr_array(X)), clone(model).fit(rows, y).predict(rows)
    assert np.array_equal(found, expected)


class NeedsRows(LogisticRegression):
    """Picks rows itself, as few formats allow."""

    def predict(self, X):
        return super().predict(X[np.arange(X.shape[0])])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_classifiers_of_a_set_get_rows_that_can_be_picked(name, kind):
    X, y = dense()
    fitted = [NeedsRows(C=C).fit(X, y) for C in (0.1, 1.0)]
    classifiers = ClassifierSet.from_fitted(fitted, as_format(X, name, kind), y)
    assert np.array_equal(classifiers.predict(as_format(X, name, kind)), classifiers.predict(X))


def test_a_sparse_vector_is_no_table():
    X, y = dense()
    clf = by_draws(Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}))
    vector = sp.coo_array(np.ones(12))
    with pytest.raises(ValueError, match=r"X must be two-dimensional, got a sparse array of shape \(12,\)"):
        clf.fit(vector, y)
    with pytest.raises(ValueError, match=r"X must be two-dimensional, got a sparse array of shape \(12,\)"):
        clf.fit(X, y).predict(vector)


@pytest.mark.parametrize("check", [check_estimator_sparse_matrix, check_estimator_sparse_array])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_scikit_learn_checks_whatever_is_drawn(check, seed):
    """Which classifier a row is answered by, and so whether rows are picked, depends on the random state."""
    for voting in VOTINGS:
        grid = {"n_neighbors": [1, 3, 5]}
        check(
            "grid",
            CertifiedClassifier(
                Grid(KNeighborsClassifier(), grid), voting=voting, cv=None, random_state=seed, validation_size=0.5
            ),
        )
    check("machines", StochasticSVC([0.1, 1.0, 10.0], random_state=seed))
