"""Units of work by other backends of joblib; Dask has a file of its own."""

import numpy as np
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend
from sklearn.tree import DecisionTreeClassifier
from tests.classifiers.grid.grids import X, Y, bits

from pacbayes import grid_set


class Listing(ThreadingBackend):
    """A backend that gives its results all at once, as multiprocessing does."""

    supports_return_generator = False


def test_same_bits_by_a_backend_without_generators(tmp_path):
    grid, arguments = {"min_samples_leaf": list(range(1, 121))}, {"split": "independent", "random_state": 5}
    one = grid_set(DecisionTreeClassifier(), grid, X, Y, **arguments)
    register_parallel_backend("listing", Listing)
    for checkpoint in (None, tmp_path, tmp_path):
        with parallel_config(backend="listing", n_jobs=2):
            two = grid_set(DecisionTreeClassifier(), grid, X, Y, checkpoint=checkpoint, **arguments)
        np.testing.assert_array_equal(one.errors, two.errors)
        assert bits(list(one)) == bits(list(two))
