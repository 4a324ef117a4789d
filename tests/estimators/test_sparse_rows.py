"""All sparse formats of SciPy, as matrices and as arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
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


def convert(X, name, kind):
    return getattr(sp, f"{name}_{kind}")(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_formats_give_the_same_model(name, kind):
    X, y = dense()
    rows = convert(X, name, kind)
    # With few validation rows the posterior is wide, so that rows are picked for several trees.
    model = CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4, 5]}),
        validation_size=20,
        random_state=0,
        voting="stochastic",
        cv=3,
    )
    expected, clf = model.fit(sp.csr_array(X), y), clone(model).fit(rows, y)
    assert clf.certificates_ == expected.certificates_
    for voting in VOTINGS:
        labels = expected.set_params(voting=voting).predict(X)
        assert np.array_equal(clf.set_params(voting=voting).predict(rows), labels)
    assert np.array_equal(clf.vote_share(rows), expected.vote_share(X))
    classifiers = grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2]}, rows, y, random_state=0)
    assert np.array_equal(classifiers.predict(rows), classifiers.predict(X))
    prefit = ClassifierSet.from_fitted(list(classifiers), rows, y)
    assert prefit.errors.tolist() == (classifiers.predict(X) != y).sum(axis=1).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_preprocessor(name, kind):
    X, y = dense()
    rows = convert(X, name, kind)
    model = StochasticSVC([0.1, 1.0, 10.0], preprocessor=TruncatedSVD(4, random_state=0), random_state=0)
    expected = model.fit(sp.csr_array(X), y).predict(sp.csr_array(X))
    assert np.array_equal(clone(model).fit(rows, y).predict(rows), expected)


def test_sparse_vectors_are_rejected():
    X, y = dense()
    clf = by_draws(Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}))
    vector = sp.coo_array(np.ones(12))
    for call in (lambda: clf.fit(vector, y), lambda: clf.fit(X, y).predict(vector)):
        with pytest.raises(ValueError, match=r"X must be two-dimensional, got a sparse array of shape \(12,\)"):
            call()


@pytest.mark.parametrize("check", [check_estimator_sparse_matrix, check_estimator_sparse_array])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_scikit_learn_checks_for_any_seed(check, seed):
    """The seed determines the classifier that predicts a row, and so whether rows are picked."""
    for voting in VOTINGS:
        grid = {"n_neighbors": [1, 3, 5]}
        check(
            "grid",
            CertifiedClassifier(
                Grid(KNeighborsClassifier(), grid), voting=voting, cv=None, random_state=seed, validation_size=0.5
            ),
        )
    check("svc", StochasticSVC([0.1, 1.0, 10.0], random_state=seed))
