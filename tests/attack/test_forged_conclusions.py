"""Hostile model files: parts that follow from stored cross-validation, moved to where the validation rows like them."""

import numpy as np
import psutil
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import model, rows
from tests.files.model_files import state_of, write_state

from pacbayes import StochasticClassifier, StochasticSVC, load, save
from pacbayes.bounds import Catoni
from pacbayes.classifiers import SVMClassifier
from pacbayes.files.values import encode

WHOLE = 2**52


def rule(state, voting, name="proposal"):
    """Return one rule of a state."""
    return next(one for one in state["fitted"]["_rules"] if (one["voting"], one["name"]) == (voting, name))


def only(index, number):
    parts = np.zeros(number, dtype=np.int64)
    parts[index] = WHOLE
    return parts


@pytest.fixture(scope="module")
def unlucky():
    """A model whose cross-validation recommends another machine than the validation rows do."""
    X, y = rows(2)
    y = np.where(np.random.default_rng(3).random(60) < 0.3, 1 - y, y)
    for seed in range(50):
        clf = StochasticSVC(np.geomspace(0.01, 30, 8), cv=3, random_state=seed).fit(X, y)
        errors, proposed = clf.classifiers_.errors, int(np.argmax(clf.proposal_["best"]))
        if errors[proposed] > errors.min():
            return clf
    raise AssertionError("there is such a model")


@pytest.mark.parametrize("voting", ["best", "stochastic"])
def test_a_proposal_of_the_best_on_validation_rows_is_refused(voting, unlucky, tmp_path):
    state, errors = state_of(unlucky), unlucky.classifiers_.errors
    best = int(np.argmin(errors))
    rule(state, voting).update(parts=only(best, errors.size), errors=int(errors[best]))
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match=r"must follow from the stored cross-validation"):
        load(tmp_path / "model")


@pytest.mark.parametrize(("moved", "refused"), [(WHOLE // 10**8, True), (1, False)])
@pytest.mark.parametrize("name", ["proposal", "vote s=1"])
def test_weights_of_votes_are_compared_to_nine_digits(name, moved, refused, unlucky, tmp_path):
    """Another machine may round the last bits otherwise."""
    state = state_of(unlucky)
    parts = rule(state, "majority", name)["parts"]
    first, second = np.argsort(parts)[-2:]
    parts[first] += moved
    parts[second] -= moved
    write_state(tmp_path / "model", state)
    if refused:
        with pytest.raises(ValueError, match=r"must follow from the stored cross-validation"):
            load(tmp_path / "model")
    else:
        assert load(tmp_path / "model").certificates_["majority"] == unlucky.certificates_["majority"]


def test_a_rule_more_or_less_is_refused(unlucky, tmp_path):
    state = state_of(unlucky)
    rules = state["fitted"]["_rules"]
    for others in ((*rules, rule(state, "majority", "vote s=1") | {"name": "one more"}), rules[:2] + rules[3:]):
        state["fitted"]["_rules"] = others
        write_state(tmp_path / "model", state)
        with pytest.raises(ValueError, match=r"must follow from the stored cross-validation"):
            load(tmp_path / "model")


def test_the_rules_of_a_given_proposal_follow_from_its_weights(tmp_path):
    state = state_of(model("elsewhere"))
    errors = model("elsewhere").classifiers_.errors
    rule(state, "best").update(parts=only(0, 3), errors=int(errors[0]))
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match=r"must follow from the proposal"):
        load(tmp_path / "model")


def test_a_parameter_of_catoni_from_elsewhere_is_refused(tmp_path):
    X, y = rows(2)
    clf = StochasticSVC([0.1, 1.0], distance="catoni", cv=2, random_state=0).fit(X, y)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == clf.certificates_
    state = state_of(clf)
    state["fitted"]["_distances"] = encode((Catoni(0.123),))
    state["posterior"]["distance"] = "catoni(0.123)"
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match=r"unknown distance .catoni\(0.123\).; known are catoni\("):
        load(tmp_path / "model")


def test_a_distance_that_is_set_after_the_fit_changes_no_saved_certificate(tmp_path):
    clf = StochasticSVC([0.1, 1.0], distance="catoni", cv=2, random_state=0).fit(*rows(2))
    before = clf.certificates_
    save(clf.set_params(distance="kl"), tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == before


def test_a_loaded_model_starts_no_processes(tmp_path):
    X, y = rows(2)
    bagged = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier(), n_estimators=4))
    clf = StochasticClassifier(bagged, {"baggingclassifier__max_samples": [0.5, 1.0]}, cv=None, random_state=0)
    clf.fit(X, y)
    for i in range(2):
        clf.classifiers_[i][-1].n_jobs = 2
    clf.set_params(n_jobs=2, estimator__baggingclassifier__n_jobs=2)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    again.set_params(voting="majority").predict(X)
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert (again.n_jobs, again.estimator[-1].n_jobs, again.classifiers_[0][-1].n_jobs) == (None, None, None)


def test_a_key_that_is_not_of_the_seed_is_refused(unlucky, tmp_path):
    """The draws of another key were never tested."""
    state = state_of(unlucky)
    state["fitted"]["_key"] = encode(bytes(32))
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match="_key must follow from the seed"):
        load(tmp_path / "model")


def test_a_machine_in_a_pipeline_is_checked(tmp_path):
    """Compiled code would read as many rows as there are coefficients."""
    pipe = make_pipeline(StandardScaler(), SVMClassifier(1.0, random_state=0))
    clf = StochasticClassifier(pipe, {"svmclassifier__lam": [0.5, 1.0]}, cv=None, random_state=0).fit(*rows(2))
    clf.classifiers_[1][-1].support_vectors_ = np.zeros((1, 2))
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"SVMClassifier\.support_vectors_ must have the shape"):
        load(tmp_path / "model")
