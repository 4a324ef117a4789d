"""Parallel work by other joblib backends."""

import threading
import warnings

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend
from sklearn import config_context, get_config
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grids import X, Y, bits

from pacbayes import grid_set
from pacbayes._utils.units import run_units


class Listing(ThreadingBackend):
    """Backend without result generators, like multiprocessing."""

    supports_return_generator = False


register_parallel_backend("listing", Listing)


def test_same_bits_by_a_backend_without_generators(tmp_path):
    arguments = (DecisionTreeClassifier(), {"min_samples_leaf": list(range(1, 121))}, X, Y)
    expected = bits(list(grid_set(*arguments, split="independent", random_state=5)))
    for checkpoint in (None, tmp_path, tmp_path):
        with parallel_config(backend="listing", n_jobs=2):
            two = grid_set(*arguments, split="independent", random_state=5, checkpoint=checkpoint)
        assert bits(list(two)) == expected


@pytest.mark.parametrize("backend", ["threading", "listing"])
def test_threads_do_not_change_warning_filters(backend):
    """Filters belong to the process: threads that set and restore them would lose some."""
    filters, main = warnings.filters, threading.current_thread()

    def look(common, i):
        return threading.current_thread() is not main, warnings.filters is filters, get_config()["assume_finite"]

    with parallel_config(backend=backend, n_jobs=2), config_context(assume_finite=True):
        assert run_units(look, None, 40, "looks", None) == [(True, True, True)] * 40
    assert warnings.filters is filters
