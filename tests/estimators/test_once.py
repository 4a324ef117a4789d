"""What a fit does once: the kernel matrix of the training rows, and the hashes of all rows."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from pacbayes import StochasticSVC
from pacbayes.data import dataset
from pacbayes.ensemble import svm_folds as folds
from pacbayes.svm.kernel import Kernel


def counting(monkeypatch, owner, name):
    """Return the list of the numbers of rows with which a function is called from now on."""
    sizes, original = [], getattr(owner, name)

    def counted(*arguments):
        sizes.append(len(next(one for one in arguments if isinstance(one, np.ndarray))))
        return original(*arguments)

    monkeypatch.setattr(owner, name, counted)
    return sizes


@pytest.mark.parametrize("data", [make_moons(120, noise=0.3, random_state=0), load_iris(return_X_y=True)])
def test_the_kernel_matrix_serves_training_and_all_folds(data, monkeypatch):
    alone, shared = counting(monkeypatch, Kernel, "gram"), counting(monkeypatch, folds, "shared_matrix")
    model = StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0).fit(*data)
    n, codes = model.classifiers_.splits.n_train, np.unique(data[1])
    # All folds share their distances; machines on all rows have one matrix for each pair of classes.
    assert shared == [n]
    assert len(alone) == codes.size * (codes.size - 1) // 2
    assert sum(alone) == (codes.size - 1) * n


@pytest.mark.parametrize("voting", ["soft", "stochastic", "majority"])
def test_rows_are_hashed_once(voting, monkeypatch):
    X, y = make_moons(120, noise=0.3, random_state=0)
    sizes = counting(monkeypatch, dataset, "row_hashes")
    model = StochasticSVC([0.1, 1.0], hedge=0.1, voting=voting, random_state=0).fit(X, y)
    assert sizes == [120]
    # The draws of the proposal are those of the same hashes, and rows are known again by them.
    assert model._overlap_with(X).seen == 120


def test_nobody_writes_into_what_a_certificate_rests_on():
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
