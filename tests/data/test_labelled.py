"""Every classifier gets rows of its own."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.classifiers.grids import X, Y

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, compare_classifiers, grid_set


def test_classifiers_that_write_into_their_rows_do_not_disturb_the_others():
    pipe = make_pipeline(StandardScaler(copy=False), GaussianNB())
    grid = {"gaussiannb__var_smoothing": [1e-9, 1e-9, 1e-9]}
    before = X.copy()
    classifiers = grid_set(pipe, grid, X, Y, random_state=0)
    np.testing.assert_array_equal(X, before)
    assert len(set(classifiers.errors)) == 1


@pytest.mark.parametrize("split", ["shared", "independent"])
def test_nor_where_they_predict(split):
    """The second to be asked was handed what the first had made of the rows, and the user's rows were changed."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) * [1.0, 5.0] + 100.0
    labels = (rows[:, 0] + 0.2 * rows[:, 1] + 0.3 * rng.normal(size=200) > 120.0).astype(int)
    before, grid = rows.copy(), {"logisticregression__C": [0.03, 0.1, 1.0, 10.0]}
    fits = []
    for copy in (True, False):
        pipe = make_pipeline(StandardScaler(copy=copy), LogisticRegression())
        fits.append(
            CertifiedClassifier(
                Grid(pipe, grid), split=split, cv=2, random_state=0, voting="stochastic", validation_size=0.5
            ).fit(rows, labels)
        )
    careful, careless = fits
    assert careless.certificates_ == careful.certificates_
    np.testing.assert_array_equal(careless.classifiers_.predict(rows), careful.classifiers_.predict(rows))
    np.testing.assert_array_equal(careless.vote_share(rows), careful.vote_share(rows))
    for voting in ("stochastic", "majority", "best"):
        said = [clf.set_params(voting=voting).predict(rows) for clf in fits]
        np.testing.assert_array_equal(said[1], said[0])
    estimators = [careless.classifiers_[i] for i in range(4)]
    again = ClassifierSet.from_fitted(estimators, rows, labels)
    np.testing.assert_array_equal(again.errors, (careful.classifiers_.predict(rows) != labels).sum(axis=1))
    compare_classifiers(*estimators[:2], rows, labels)
    np.testing.assert_array_equal(rows, before)
