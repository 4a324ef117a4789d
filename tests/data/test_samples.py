"""Every classifier gets rows of its own."""

import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.classifiers.grid.grids import X, Y

from pacbayes import grid_set


def test_classifiers_that_write_into_their_rows_do_not_disturb_the_others():
    pipe = make_pipeline(StandardScaler(copy=False), GaussianNB())
    grid = {"gaussiannb__var_smoothing": [1e-9, 1e-9, 1e-9]}
    before = X.copy()
    classifiers = grid_set(pipe, grid, X, Y, test=(X, Y), random_state=0)
    np.testing.assert_array_equal(X, before)
    assert len(set(classifiers.errors)) == len(set(classifiers.test_errors)) == 1
