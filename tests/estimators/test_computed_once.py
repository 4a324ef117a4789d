"""Values that a fit computes once: kernel values of the training rows and hashes of all rows."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from pacbayes import StochasticSVC
from pacbayes.data import dataset


def record_sizes(monkeypatch, owner, name):
    """List that records the number of rows in each call of a function."""
    sizes, original = [], getattr(owner, name)

    def recording(*args):
        sizes.append(len(next(arg for arg in args if isinstance(arg, np.ndarray))))
        return original(*args)

    monkeypatch.setattr(owner, name, recording)
    return sizes


@pytest.mark.parametrize("voting", ["soft", "stochastic", "majority"])
def test_rows_are_hashed_once(voting, monkeypatch):
    X, y = make_moons(120, noise=0.3, random_state=0)
    sizes = record_sizes(monkeypatch, dataset, "row_hashes")
    model = StochasticSVC([0.1, 1.0], hedge=0.1, voting=voting, random_state=0).fit(X, y)
    assert sizes == [120]
    # The same hashes determine draws and recognise rows of the fit.
    assert model._overlap_with(X).seen == 120


def test_arrays_behind_certificates_are_read_only():
    model = StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0).fit(*make_moons(120, noise=0.3, random_state=0))
    fitted = model._fitted
    arrays = [
        fitted.predictions.y_pred,
        fitted.predictions.y_true,
        fitted.predictions.rule_predictions,
        fitted.plan.fixed_rules[0].weights,
    ]
    for array in [*arrays, model.classes_, model.classifiers_.errors]:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
