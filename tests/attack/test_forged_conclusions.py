"""What a file says that follows from something else in it: computed anew, or refused where it does not follow."""

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
from pacbayes.files.objects import dump_objects
from pacbayes.svm import SVMClassifier
from pacbayes.svm.kernel import Kernel, Scaling

WHOLE = 2**52


def rule(forged, voting, name="primary"):
    """Return the place of one rule."""
    fixed_rules = forged["plan.fixed_rules"]["values"]
    kind = {"soft": "SoftVote", "stochastic": "Draws", "majority": "Vote", "best": "Single"}[voting]
    number = next(i for i, one in enumerate(fixed_rules) if (one[KIND], one["name"]) == (kind, name))
    return f"plan.fixed_rules.{number}"


def only(index, number):
    parts = np.zeros(number, dtype=np.int64)
    parts[index] = WHOLE
    return parts


def refused(forged, tmp_path, match):
    with pytest.raises(ValueError, match=match):
        load(forged.write(tmp_path / "model"))


@pytest.fixture(scope="module")
def unlucky():
    """A model whose cross-validation recommends another machine than the validation rows do."""
    X, y = rows(2)
    y = np.where(np.random.default_rng(3).random(60) < 0.3, 1 - y, y)
    for seed in range(50):
        clf = StochasticSVC(np.geomspace(0.01, 30, 8), hedge=0.1, cv=3, random_state=seed).fit(X, y)
        errors, proposed = clf.classifiers_.errors, int(np.argmax(clf.primary_["best"]))
        if errors[proposed] > errors.min():
            return clf
    raise AssertionError("there is such a model")


# -- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["best", "stochastic", "soft"])
def test_a_proposal_of_the_best_on_validation_rows_is_refused(voting, unlucky, tmp_path):
    forged, errors = Forged.of(unlucky), unlucky.classifiers_.errors
    best, place = int(np.argmin(errors)), rule(forged, voting)
    said, number = forged["predictions.rule_predictions"], int(place.split(".")[-1])
    said[number] = forged["predictions.y_pred"][best]
    forged[f"{place}.weights"], forged["predictions.rule_predictions"] = only(best, errors.size), said
    if voting == "soft":
        pairs = forged.json(f"{place}.soft.maps")["pairs"]
        pairs[:] = [pair for pair in pairs if pair[0] == best]
        assert len(pairs) == 1
    refused(forged, tmp_path, r"must follow from the stored cross-validation")


@pytest.mark.parametrize(("moved", "wrong"), [(WHOLE // 10**8, True), (1, False)])
@pytest.mark.parametrize(("voting", "name"), [("majority", "primary"), ("majority", "vote s=1"), ("soft", "primary")])
def test_weights_of_votes_are_compared_to_nine_digits(voting, name, moved, wrong, unlucky, tmp_path):
    """Another machine may round the last bits otherwise."""
    forged = Forged.of(unlucky)
    place = rule(forged, voting, name) + ".weights"
    parts = forged[place]
    first, second = np.argsort(parts)[-2:]
    parts[first] += moved
    parts[second] -= moved
    forged[place] = parts
    if wrong:
        refused(forged, tmp_path, r"must follow from the stored cross-validation")
    else:
        again = load(forged.write(tmp_path / "model"))
        assert again.certificates_[voting] == unlucky.certificates_[voting]


def test_a_rule_more_or_less_is_refused(unlucky, tmp_path):
    for change in ("more", "less"):
        forged = Forged.of(unlucky)
        rules, said = forged["plan.fixed_rules"]["values"], forged["predictions.rule_predictions"]
        number = int(rule(forged, "majority", "vote s=1").split(".")[-1])
        if change == "more":
            weights = forged.encoded(forged[f"plan.fixed_rules.{number}.weights"])
            rules.append(rules[number] | {"name": "one more", "weights": weights})
            said = np.vstack([said, said[number]])
        else:
            del rules[number]
            said = np.delete(said, number, axis=0)
        forged["predictions.rule_predictions"] = said
        refused(forged, tmp_path, r"must follow from the stored cross-validation")


# -- what was observed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["majority", "best"])
def test_errors_of_a_planned_rule_cannot_be_hidden(voting, unlucky, tmp_path):
    """What a vote or one classifier said follows from the answers."""
    forged = Forged.of(unlucky)
    said, number = forged["predictions.rule_predictions"], int(rule(forged, voting).split(".")[-1])
    assert (said[number] != forged["predictions.y_true"]).any()
    said[number] = forged["predictions.y_true"]
    forged["predictions.rule_predictions"] = said
    refused(forged, tmp_path, r"ValidationPredictions\.rule_predictions must follow from the answers")


def test_nor_those_of_draws_where_all_classifiers_err(unlucky, tmp_path):
    forged = Forged.of(unlucky)
    said, truth = forged["predictions.rule_predictions"], forged["predictions.y_true"]
    assert (forged["predictions.y_pred"] != truth).all(axis=0).any()
    said[int(rule(forged, "stochastic").split(".")[-1])] = truth
    forged["predictions.rule_predictions"] = said
    refused(forged, tmp_path, r"ValidationPredictions\.rule_predictions must follow from the answers")


@pytest.mark.parametrize("name", ["independent", "groups apart", "two", "elsewhere"])
def test_an_error_cannot_be_hidden_as_a_row_that_does_not_validate(name, tmp_path):
    """Rows that a classifier gets wrong are marked as not its own, and as many others as right answers of it."""
    forged = Forged.of(model(name))
    answers, truth = forged["predictions.y_pred"], forged["predictions.y_true"]
    absent = np.iinfo(answers.dtype).max
    line = next(line for line in answers if ((line != truth) & (line != absent)).any())
    wrong = np.flatnonzero((line != truth) & (line != absent))
    free = np.flatnonzero(line == absent)[: wrong.size]
    line[wrong] = absent
    line[free] = truth[free]
    forged["predictions.y_pred"] = answers
    refused(forged, tmp_path, r"ValidationPredictions\.y_pred must be of the rows that validate each")


def test_nor_by_another_division(tmp_path):
    """The rows that validate follow from the seed."""
    forged = Forged.of(model("independent"))
    forged["plan.split.seed"] += 1
    refused(forged, tmp_path, r"ValidationPredictions\.y_pred must be of the rows that validate each")


def test_a_soft_vote_says_classes_that_were_learnt(tmp_path):
    """Of a class that no training row has it has no probability."""
    X, y = rows(3)
    clf = StochasticSVC([0.1, 1.0], hedge=0.1, cv=2, random_state=0)
    train = clf.fit(X, y).classifiers_.splits(0)[0]
    y = np.where(np.isin(np.arange(60), train) & (y == 2), 0, y)
    clf.fit(X, y)
    forged = Forged.of(clf)
    assert forged["plan.fixed_rules.0.soft.classes"].tolist() == [0, 1]
    said, truth = forged["predictions.rule_predictions"], forged["predictions.y_true"]
    assert (truth == 2).any()
    said[0] = truth
    forged["predictions.rule_predictions"] = said
    refused(forged, tmp_path, r"ValidationPredictions\.rule_predictions must follow from the answers")
    # Nor can the class be made one that was.
    forged = Forged.of(clf)
    forged["plan.fixed_rules.0.soft.classes"] = np.array([0, 3])
    refused(forged, tmp_path, r"Calibrated\.classes must be those of the machines")


# -- distances, keys, processes --------------------------------------------------------------------------------------


def test_a_parameter_of_catoni_from_elsewhere_is_refused(tmp_path):
    X, y = rows(2)
    clf = StochasticSVC([0.1, 1.0], distance="catoni", cv=2, random_state=0).fit(X, y)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == clf.certificates_
    forged = Forged.of(clf)
    forged["posterior.1"] = "catoni(0.123)"
    refused(forged, tmp_path, r"unknown distance .catoni\(0.123\).; known are catoni\(")


def test_a_loaded_model_starts_no_processes(tmp_path):
    X, y = rows(2)
    bagged = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier(), n_estimators=4))
    grid = Grid(bagged, {"baggingclassifier__max_samples": [0.5, 1.0]})
    clf = CertifiedClassifier(grid, cv=None, random_state=0).fit(X, y)
    for i in range(2):
        clf.classifiers_[i][-1].n_jobs = 2
    clf.set_params(n_jobs=2, candidates__estimator__baggingclassifier__n_jobs=2)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    again.set_params(voting="majority").predict(X)
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    unfitted = again.candidates.estimator[-1]
    assert (again.n_jobs, unfitted.n_jobs, again.classifiers_[0][-1].n_jobs) == (None, None, None)


# -- machines that skops has made ------------------------------------------------------------------------------------


def test_a_machine_in_a_pipeline_is_checked(tmp_path):
    """Compiled code would read as many rows as there are coefficients."""
    pipe = make_pipeline(StandardScaler(), SVMClassifier(1.0, random_state=0))
    grid = Grid(pipe, {"svmclassifier__lam": [0.5, 1.0]})
    clf = CertifiedClassifier(grid, cv=None, random_state=0).fit(*rows(2))
    clf.classifiers_[1][-1].support_vectors_ = np.zeros((1, 2))
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"SVMClassifier\.support_vectors_ must have the shape"):
        load(tmp_path / "model")


KERNELS = [("gamma", np.array([1.0, 2.0])), ("gamma", -1.0), ("gamma", "text"), ("name", "loud")]


@pytest.mark.parametrize(("field", "value"), KERNELS)
def test_a_kernel_that_no_constructor_has_seen_is_checked(field, value, tmp_path):
    """Skops makes objects without their constructors, and values may name what it has made."""
    kernel = Kernel("rbf", 1.0)
    object.__setattr__(kernel, field, value)
    forged = Forged.of(model("two"))
    forged.objects = dump_objects([kernel])
    forged["members.kernels.0"] = {KIND: "object", "number": 0}
    refused(forged, tmp_path, r"Kernel\.\w+ must be")


@pytest.mark.parametrize("shift", [np.zeros(2, dtype=object), np.zeros((2, 1)), np.array(["a", "b"])])
def test_nor_is_a_scaling(shift, tmp_path):
    scaling = Scaling(np.zeros(2), np.ones(2))
    object.__setattr__(scaling, "shift", shift)
    forged = Forged.of(model("two"))
    forged.objects = dump_objects([scaling])
    forged["members.scaling"] = {KIND: "object", "number": 0}
    refused(forged, tmp_path, r"Scaling\.\w+ must")
