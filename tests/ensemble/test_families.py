"""Several families as one set: predictions, probabilities and folds are those of the parts."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Grid, SVMs
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import SplitOptions, split_rows
from pacbayes.ensemble.calibration import DECISIONS, PAIRS, PROBABILITIES, Calibration
from pacbayes.ensemble.classifier_set import TrainingJob
from pacbayes.ensemble.families import resolve_families
from pacbayes.ensemble.members import Calibrations, Coding, CompositeRows, Estimators, pick_preprocessed
from pacbayes.ensemble.portfolio import Size
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.training import train_families

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["red", "green", "blue"])[Y]
SVMS = SVMs([0.1, 1.0, 10.0], gamma=[0.02, 0.1])
SIGEST_SVMS = SVMs([0.5, 5.0], gamma="sigest", scale=True)
TREES = Grid(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, None]})
LINEAR = make_pipeline(StandardScaler(), LinearSVC(dual=False))


@pytest.fixture(scope="module")
def trained():
    """Four families, trained on half of the rows."""
    data, options = Dataset.from_arrays(X, NAMES), SplitOptions("shared", 0.5, None, "keep")
    candidates = [("svms", SVMS), TREES, ("sigest", SIGEST_SVMS), ("linear", LINEAR)]
    families = resolve_families(candidates, None, Size(90))
    return train_families(families, TrainingJob(data, split_rows(data, options, 1, 0), 1, None, {}))


@pytest.fixture(scope="module")
def members(trained):
    return trained.members


def test_svms_come_first_and_all_others_form_one_part(members):
    assert [type(part) for part in members.parts] == [KernelSVMs, KernelSVMs, Estimators]
    assert [len(part) for part in members.parts] == [6, 2, 5]
    assert len(members) == 13
    names = ["svms"] * 6 + ["sigest"] * 2 + ["grid"] * 4 + ["linear"]
    assert [params["candidate"] for params in members.params] == names
    svm_params = [params for part in members.parts[:2] for params in part.params]
    assert members.params[:8] == [{"candidate": name} | params for name, params in zip(names, svm_params, strict=False)]
    assert members.params[8:12] == [{"candidate": "grid", "max_depth": depth} for depth in (1, 2, 3, None)]
    np.testing.assert_array_equal(members.classes, ["blue", "green", "red"])
    assert members.dropped == []


def test_predictions_are_those_of_the_parts(members):
    coding, rng = Coding(members.classes), np.random.default_rng(0)
    rows = members.preprocess(X)
    assert isinstance(rows, CompositeRows)
    assert len(rows) == len(X)
    table = np.stack([coding.encode(members[i].predict(X)) for i in range(len(members))])
    assert len(np.unique(table, axis=0)) > 5
    for indices in (
        np.arange(13),
        np.array([12]),
        np.array([9, 0, 7, 5, 5, 12]),
        rng.permutation(13),
        np.array([6, 7]),
    ):
        np.testing.assert_array_equal(members.predict(rows, indices, coding), table[indices])
    for assigned in (rng.integers(13, size=len(X)), np.full(len(X), 8), rng.integers(6, 8, size=len(X))):
        expected = table[assigned, np.arange(len(X))]
        np.testing.assert_array_equal(members.predict_assigned(rows, assigned, coding), expected)
    sample = np.array([170, 3, 99])
    for part in (pick_preprocessed(rows, sample), members.preprocess(X[sample])):
        np.testing.assert_array_equal(members.predict(part, np.arange(13), coding), table[:, sample])


def test_mean_probabilities_are_sums_over_the_parts(members):
    rng = np.random.default_rng(1)
    kinds = {1: PAIRS, 4: PAIRS, 7: PAIRS, 9: PROBABILITIES, 12: DECISIONS}
    maps = {
        i: Calibration(kind, 89, rng.uniform(0.5, 2.0), rng.normal(size=3), rng.normal(size=3), 0.5 if i < 8 else 1.0)
        for i, kind in kinds.items()
    }
    soft, weights = Calibrations(np.arange(3), maps), np.zeros(13)
    weights[list(maps)] = [0.25, 0.125, 0.125, 0.25, 0.25]
    rows = members.preprocess(X)
    mean = members.mean_probabilities(rows, weights, soft)
    expected, start = np.zeros((len(X), 3)), 0
    for part, part_rows in zip(members.parts, rows.parts, strict=True):
        part_maps = {i - start: calibration for i, calibration in maps.items() if 0 <= i - start < len(part)}
        part_weights = weights[start : start + len(part)]
        expected += part.mean_probabilities(part_rows, part_weights, Calibrations(soft.classes, part_maps))
        start += len(part)
    np.testing.assert_array_equal(mean, expected)
    # scikit-learn's classifiers by hand.
    tree, linear = members[9], members[12]
    by_hand = 0.25 * maps[9](tree.predict_proba(X)) + 0.25 * maps[12](linear.decision_function(X))
    two = np.where(np.isin(np.arange(13), (9, 12)), weights, 0.0)
    np.testing.assert_array_equal(members.mean_probabilities(rows, two, soft), by_hand)
    # Independent of the batch.
    order = rng.permutation(len(X))
    shuffled = members.mean_probabilities(pick_preprocessed(rows, order), weights, soft)
    np.testing.assert_array_equal(shuffled, mean[order])
    one_by_one = [members.mean_probabilities(members.preprocess(X[[j]]), weights, soft)[0] for j in range(30)]
    np.testing.assert_array_equal(one_by_one, mean[:30])


def test_folds_are_those_of_the_parts(trained):
    folds, fold = trained.folds, np.arange(trained.folds.codes.size) % 4
    assert folds.n_classes == 3
    assert folds.families.tolist() == [0] * 6 + [1] * 2 + [2] * 4 + [3]
    assert folds.candidates(True).tolist() == list(range(13))
    out_of_fold = list(folds.out_of_fold(np.arange(13), fold))
    by_part = [
        member
        for part, size in zip(folds.parts, folds.sizes, strict=True)
        for member in part.out_of_fold(np.arange(size), fold)
    ]
    assert [member.kind for member in out_of_fold] == [PAIRS] * 8 + [PROBABILITIES] * 4 + [DECISIONS]
    for member, expected in zip(out_of_fold, by_part, strict=True):
        np.testing.assert_array_equal(member.y_pred, expected.y_pred)
        np.testing.assert_array_equal(member.scores, expected.scores)
    for member, i in zip(folds.out_of_fold(np.array([6, 7, 9, 12]), fold), (6, 7, 9, 12), strict=True):
        np.testing.assert_array_equal(member.scores, out_of_fold[i].scores)
