"""The slider's numbers: never below the smallest bound, and as near to it as a reader can see."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.models import breast_cancer, constant_grid

from pacbayes import DISTANCES, optimal_posterior
from pacbayes.report.view import ReportView
from pacbayes.report.what_if import N_SOLVED, deltas_around, what_if


def view_of(risks, m, prior=None, delta=0.05):
    """Return a view of nothing but risks: the slider looks at nothing else."""
    return ReportView(
        model=None, observed=None, data=None, classifiers=SimpleNamespace(risks=np.array(risks), m=m),
        posterior=SimpleNamespace(constant="exact", distance="kl"), prior=prior, delta=delta, chosen_among=("kl",),
        is_shared=True, is_path=False, places=np.array([]),
    )  # fmt: skip


def compare(view):
    """Hold every number against the proved minimum at its level; return the largest excess."""
    found, worst = what_if(view), 0.0
    for delta, row in zip(found.deltas, found.bounds, strict=True):
        for distance, shown in zip(found.distances, row, strict=True):
            best = optimal_posterior(
                view.classifiers.risks, view.classifiers.m, distance=distance, delta=delta, prior=view.prior
            )
            assert shown >= best.lower_bound
            worst = max(worst, shown - best.bound)
    return worst


def test_all_sixty_levels_of_a_fitted_model():
    assert compare(ReportView.of(breast_cancer()[0])) < 1e-6


@pytest.mark.parametrize("model", [{"n": 40}, {"n": 400, "number": 1}, {"n": 8, "delta": 1e-6}])
def test_small_and_hopeless_models(model):
    assert compare(ReportView.of(constant_grid(**model))) < 1e-5


@settings(max_examples=10, deadline=None)
@given(st.integers(5, 400), st.data())
def test_any_risks(m, data):
    errors = data.draw(st.lists(st.integers(0, m), min_size=1, max_size=6))
    prior = np.array(data.draw(st.lists(st.floats(1e-9, 1.0), min_size=len(errors), max_size=len(errors))))
    assert compare(view_of(np.array(errors) / m, m, prior / prior.sum())) < 1e-3


def test_where_the_best_posterior_jumps():
    """A prior weight of 1e-12 on risk 0: at one level of the slider the whole posterior leaps there from risk 0.3."""
    view = view_of([0.0, 0.3], 40, np.array([1e-12, 1.0 - 1e-12]))
    risks = [view.best_posterior("kl", delta).empirical_risk for delta in deltas_around(0.05)]
    assert np.abs(np.diff(risks)).max() > 0.29
    assert compare(view) < 1e-3


def test_few_searches(monkeypatch):
    view = ReportView.of(breast_cancer()[0])
    solved = []
    original = ReportView.best_posterior
    monkeypatch.setattr(ReportView, "best_posterior", lambda *names: solved.append(names[1:]) or original(*names))
    what_if(view)
    assert len(solved) <= (N_SOLVED + 1) * len(DISTANCES)


@given(st.floats(1e-12, 1 - 1e-12))
def test_levels_of_the_slider(delta):
    deltas = deltas_around(delta)
    assert len(deltas) == 60
    assert delta in deltas
    assert all(0 < a < b < 1 for a, b in pairwise(deltas))
