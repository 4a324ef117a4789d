"""What is said before long work starts."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from pacbayes import StochasticSVC
from pacbayes.classifiers.svm import expected_time
from pacbayes.runtime.quiet import quiet

X, Y = make_classification(400, 4, random_state=0)


@pytest.fixture
def small(monkeypatch):
    """Rows count as many from 150 on."""
    monkeypatch.setattr(expected_time, "FEWEST", 150)
    monkeypatch.setattr(expected_time, "TRIAL", 50)


def said(capsys, **choices):
    StochasticSVC([0.1, 1.0], cv=None, random_state=0, **choices).fit(X, Y)
    return capsys.readouterr().err


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_long_work_is_announced(small, monkeypatch, capsys, kernel):
    monkeypatch.setattr(expected_time, "_trial_seconds", lambda *arguments: 25.0)
    text = said(capsys, kernel=kernel)
    # 200 rows are 4 times the trial: 32 times as long.
    assert text.startswith("pacbayes: training 2 support vector machines on 200 rows will take about 13 minutes, ")
    assert ("nystroem" in text) == (kernel == "rbf")
    assert text.count("\n") == 1


def test_short_work_is_not(small, capsys):
    assert said(capsys) == ""


def test_nor_is_what_needs_no_kernel_matrix(small, monkeypatch, capsys):
    monkeypatch.setattr(expected_time, "_trial_seconds", lambda *arguments: 25.0)
    assert said(capsys, kernel="nystroem") == ""


def test_nothing_is_said_nor_tried_in_quiet(small, monkeypatch, capsys):
    monkeypatch.setattr(expected_time, "_trial_seconds", lambda *arguments: pytest.fail("tried"))
    with quiet():
        assert said(capsys) == ""


def test_a_trial_of_one_class_says_nothing():
    rows, codes = np.zeros((20_000, 2)), np.zeros(20_000, dtype=np.int64)
    assert expected_time._trial_seconds(None, rows, codes, np.ones(1), 1) == 0.0


def test_announcing_changes_no_bit(small, monkeypatch):
    loud = StochasticSVC([0.1, 1.0], cv=None, random_state=0).fit(X, Y)
    with quiet():
        still = StochasticSVC([0.1, 1.0], cv=None, random_state=0).fit(X, Y)
    paths = [model.classifiers_.members.machines.paths[0].dual_coef.tobytes() for model in (loud, still)]
    assert paths[0] == paths[1]
