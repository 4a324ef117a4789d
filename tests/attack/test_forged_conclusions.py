"""Stored values that follow from others are rejected if they do not: rules, predictions, splits, parameters."""

import numpy as np
import psutil
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import model, rows
from tests.files.model_files import KIND, Forged

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, load, save
from pacbayes.certificates.voting import single_weight
from pacbayes.svm import SVMClassifier

TOTAL = 2**52


def rule(forged, voting, name="primary"):
    """The place of a fixed rule."""
    fixed_rules = forged["plan.fixed_rules"]["values"]
    kind = {"soft": "SoftVote", "stochastic": "Draws", "majority": "Vote", "best": "Single"}[voting]
    number = next(i for i, fixed in enumerate(fixed_rules) if (fixed[KIND], fixed["name"]) == (kind, name))
    return f"plan.fixed_rules.{number}"


def assert_rejected(forged, tmp_path, match):
    with pytest.raises(ValueError, match=match):
        load(forged.write(tmp_path / "model"))


@pytest.fixture(scope="module")
def unlucky():
    """A model whose primary SVM does not have the fewest validation errors."""
    X, y = rows(2)
    y = np.where(np.random.default_rng(3).random(60) < 0.3, 1 - y, y)
    for seed in range(50):
        clf = StochasticSVC(np.geomspace(0.01, 30, 8), hedge=0.1, cv=3, random_state=seed).fit(X, y)
        errors, primary = clf.classifiers_.errors, int(np.argmax(clf.primary_["best"]))
        if errors[primary] > errors.min():
            return clf
    raise AssertionError("no such model")


# -- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["best", "stochastic", "soft"])
def test_a_primary_rule_chosen_on_validation_rows_is_rejected(voting, unlucky, tmp_path):
    forged, errors = Forged.of(unlucky), unlucky.classifiers_.errors
    best, place = int(np.argmin(errors)), rule(forged, voting)
    y_pred, number = forged["predictions.rule_predictions"], int(place.split(".")[-1])
    y_pred[number] = forged["predictions.y_pred"][best]
    forged[f"{place}.weights"], forged["predictions.rule_predictions"] = single_weight(best, errors.size), y_pred
    if voting == "soft":
        pairs = forged.json(f"{place}.soft.maps")["pairs"]
        pairs[:] = [pair for pair in pairs if pair[0] == best]
        assert len(pairs) == 1
    assert_rejected(forged, tmp_path, r"must follow from the stored cross-validation")


@pytest.mark.parametrize(("change", "rejected"), [(TOTAL // 10**8, True), (1, False)])
@pytest.mark.parametrize(("voting", "name"), [("majority", "primary"), ("majority", "vote s=1"), ("soft", "primary")])
def test_weights_of_votes_are_compared_to_nine_digits(voting, name, change, rejected, unlucky, tmp_path):
    """Other computers may round the last bits differently."""
    forged = Forged.of(unlucky)
    place = rule(forged, voting, name) + ".weights"
    weights = forged[place]
    first, second = np.argsort(weights)[-2:]
    weights[first] += change
    weights[second] -= change
    forged[place] = weights
    if rejected:
        assert_rejected(forged, tmp_path, r"must follow from the stored cross-validation")
    else:
        loaded = load(forged.write(tmp_path / "model"))
        assert loaded.certificates_[voting] == unlucky.certificates_[voting]


@pytest.mark.parametrize("change", ["added", "removed"])
def test_added_and_removed_rules_are_rejected(change, unlucky, tmp_path):
    forged = Forged.of(unlucky)
    rules, y_pred = forged["plan.fixed_rules"]["values"], forged["predictions.rule_predictions"]
    number = int(rule(forged, "majority", "vote s=1").split(".")[-1])
    if change == "added":
        weights = forged.encoded(forged[f"plan.fixed_rules.{number}.weights"])
        rules.append(rules[number] | {"name": "added", "weights": weights})
        y_pred = np.vstack([y_pred, y_pred[number]])
    else:
        del rules[number]
        y_pred = np.delete(y_pred, number, axis=0)
    forged["predictions.rule_predictions"] = y_pred
    assert_rejected(forged, tmp_path, r"must follow from the stored cross-validation")


# -- predictions and splits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["majority", "best", "stochastic"])
def test_predictions_of_a_rule_without_errors_are_rejected(voting, unlucky, tmp_path):
    """Predictions of a rule follow from those of the classifiers: no draw is right where all classifiers are wrong."""
    forged = Forged.of(unlucky)
    y_pred, y_true = forged["predictions.rule_predictions"], forged["predictions.y_true"]
    assert (forged["predictions.y_pred"] != y_true).all(axis=0).any()
    y_pred[int(rule(forged, voting).split(".")[-1])] = y_true
    forged["predictions.rule_predictions"] = y_pred
    assert_rejected(forged, tmp_path, r"ValidationPredictions\.rule_predictions must follow from predictions")


@pytest.mark.parametrize("name", ["independent", "groups, independent", "two", "prefit"])
def test_errors_marked_as_training_rows_are_rejected(name, tmp_path):
    """The wrong predictions of a classifier become training rows, and as many training rows correct predictions."""
    forged = Forged.of(model(name))
    y_pred, y_true = forged["predictions.y_pred"], forged["predictions.y_true"]
    absent = np.iinfo(y_pred.dtype).max
    line = next(line for line in y_pred if ((line != y_true) & (line != absent)).any())
    wrong = np.flatnonzero((line != y_true) & (line != absent))
    free = np.flatnonzero(line == absent)[: wrong.size]
    line[wrong] = absent
    line[free] = y_true[free]
    forged["predictions.y_pred"] = y_pred
    assert_rejected(forged, tmp_path, r"ValidationPredictions\.y_pred must be of the validation rows of each")


def test_another_seed_of_the_split_is_rejected(tmp_path):
    """Validation rows follow from the seed."""
    forged = Forged.of(model("independent"))
    forged["plan.split.seed"] += 1
    assert_rejected(forged, tmp_path, r"ValidationPredictions\.y_pred must be of the validation rows of each")


# -- parameters and processes ----------------------------------------------------------------------------------------


def test_a_loaded_model_starts_no_processes(tmp_path):
    X, y = rows(2)
    bagged = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier(), n_estimators=4))
    grid = Grid(bagged, {"baggingclassifier__max_samples": [0.5, 1.0]})
    clf = CertifiedClassifier(grid, cv=None, random_state=0).fit(X, y)
    for i in range(2):
        clf.classifiers_[i][-1].n_jobs = 2
    clf.set_params(n_jobs=2, candidates__estimator__baggingclassifier__n_jobs=2)
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    loaded.set_params(voting="majority").predict(X)
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    unfitted = loaded.candidates.estimator[-1]
    assert (loaded.n_jobs, unfitted.n_jobs, loaded.classifiers_[0][-1].n_jobs) == (None, None, None)


# -- objects that skops restores without their constructors ----------------------------------------------------------


def test_an_svm_in_a_pipeline_is_checked(tmp_path):
    """Compiled code reads a support vector for every coefficient."""
    pipe = make_pipeline(StandardScaler(), SVMClassifier(1.0, random_state=0))
    grid = Grid(pipe, {"svmclassifier__lam": [0.5, 1.0]})
    clf = CertifiedClassifier(grid, cv=None, random_state=0).fit(*rows(2))
    clf.classifiers_[1][-1].support_vectors_ = np.zeros((1, 2))
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"SVMClassifier\.support_vectors_ must have the shape"):
        load(tmp_path / "model")
