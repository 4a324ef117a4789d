"""What an independent review found: certificates that could be made to say too much."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import StochasticClassifier, StochasticSVC, load, optimal_posterior, save
from pacbayes.certificates.certificate import Baseline
from pacbayes.certificates.certify import best_single, certify
from pacbayes.report.subject import Subject

ABSENT = Baseline(None, None, "not asked for")
ERRORS = np.array([8, 9, 30])


def test_a_posterior_of_another_level_is_refused():
    with pytest.raises(ValueError, match=r"computed at delta = 0\.01 or less, got 0\.5"):
        certify(
            optimal_posterior(ERRORS / 100, 100, delta=0.5),
            ERRORS,
            delta=0.01,
            prior=None,
            hold_out=ABSENT,
            constant=ABSENT,
        )


def test_a_posterior_of_other_errors_is_refused():
    posterior = optimal_posterior(ERRORS / 100, 100)
    with pytest.raises(ValueError, match="must belong to these errors"):
        certify(posterior, ERRORS * 3, delta=0.05, prior=None, hold_out=ABSENT, constant=ABSENT)
    with pytest.raises(ValueError, match="must belong to these errors"):
        certify(posterior, ERRORS, delta=0.05, prior=np.array([0.01, 0.01, 0.98]), hold_out=ABSENT, constant=ABSENT)


def test_a_classifier_without_prior_weight_is_never_the_best():
    assert best_single(np.array([0, 30]), 30, 0.05, np.array([0.0, 1.0])).index == 1


@pytest.mark.parametrize("changed", [{"bound": 0.001}, {"m": 10**6}])
def test_a_file_with_an_altered_posterior_is_refused(tmp_path, changed):
    model = StochasticSVC([0.1, 1.0], random_state=0).fit(*load_breast_cancer(return_X_y=True))
    save(model, tmp_path / "good")
    load(tmp_path / "good")
    model.posterior_ = replace(model.posterior_, **changed)
    save(model, tmp_path / "bad")
    with pytest.raises(ValueError, match="must"):
        load(tmp_path / "bad")


def test_a_failed_fit_leaves_no_certificate():
    X, y = load_breast_cancer(return_X_y=True)
    model = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="class"):
        model.fit(X[:80], ["zero"] * 79 + ["one"])
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("model", [
    StochasticClassifier(DecisionTreeClassifier(), {"max_depth": [1, 2]}),
    StochasticSVC([0.1, 1.0], split="independent"),
])  # fmt: skip
def test_a_checkpoint_goes_on_without_a_seed(tmp_path, model):
    X, y = load_breast_cancer(return_X_y=True)
    model.set_params(checkpoint=str(tmp_path))
    first = model.fit(X, y).classifiers_.errors
    np.testing.assert_array_equal(model.fit(X, y).classifiers_.errors, first)


def test_the_report_prepares_test_rows_once():
    X, y = load_wine(return_X_y=True)
    model = StochasticSVC([0.1, 1.0, 50.0], prepare=StandardScaler(), random_state=0).fit(X, y)
    tested = Subject.checked(model, (X, y), None).tested
    np.testing.assert_array_equal(tested.errors, (model.classifiers_.predict(X) != y).sum(axis=1))
