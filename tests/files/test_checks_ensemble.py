"""Values of a file that cannot be: refused by name, whichever field is wrong; constructors do not look."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from pacbayes import SVMs, svm_set
from pacbayes.data.division import DISTINCT, EXAMPLE, GROUP, Division
from pacbayes.ensemble import evidence as module
from pacbayes.ensemble.calibration import ANSWERS, DECISIONS, PAIRS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.evidence import Evidence
from pacbayes.ensemble.members import Calibrated, Estimators, Joined
from pacbayes.files.checks import CHECKS
from pacbayes.files.values import ModelDecoder, ModelEncoder

TWO = Calibration(PAIRS, 75, 1.0, np.zeros(2), np.zeros(2))
TREE = DecisionTreeClassifier()
GOOD = {
    "Evidence": Evidence(
        np.array(["no", "yes", "perhaps"]),
        2,
        np.array([[0, 1, 2], [255, 1, 0]], dtype=np.uint8),
        np.array([0, 1, 1], dtype=np.uint8),
        np.array([[2, 1, 0]], dtype=np.uint8),
        np.array([[-np.inf, 0.5, 0.25]]),
        np.array([0, 0, 1]),
    ),
    "CrossValidation": CrossValidation(
        np.arange(3), np.array([[1], [2], [3]]), np.array([9]), None, np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1])
    ),
    "Calibration": Calibration(DECISIONS, 10, 1.0, np.zeros(3), np.zeros(3)),
    "Calibrated": Calibrated(np.array([0, 3]), {0: TWO, 5: TWO}),
    "Estimators": Estimators([TREE], [{}], np.array([0, 1])),
}


def check(value):
    CHECKS[type(value)](value)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("Evidence", {"labels": np.array([["no", "yes"]])}, "one-dimensional"),
        ("Evidence", {"labels": ["no", "yes", "perhaps"]}, "one-dimensional"),
        ("Evidence", {"labels": np.array(["yes", "no", "perhaps"])}, "sorted, different classes"),
        ("Evidence", {"labels": np.array(["no", "no", "perhaps"])}, "sorted, different classes"),
        ("Evidence", {"n_classes": 0}, "from 1 to 3"),
        ("Evidence", {"n_classes": 4}, "from 1 to 3"),
        ("Evidence", {"n_classes": 2.0}, "from 1 to 3"),
        # A truth that is a label, but no class.
        ("Evidence", {"truth": np.array([0, 1, 2], dtype=np.uint8)}, "truth must be classes"),
        ("Evidence", {"truth": np.array([0, 1, 255], dtype=np.uint8)}, "truth must be classes"),
        ("Evidence", {"truth": np.array([0, 1], dtype=np.uint8)}, "truth must be classes"),
        ("Evidence", {"truth": np.array([0, 1, 1])}, "truth must be numbers"),
        ("Evidence", {"answers": np.array([[0, 1, 3], [0, 1, 0]], dtype=np.uint8)}, "must be numbers of labels"),
        ("Evidence", {"answers": np.array([[0, 1, 2], [0, 1, 0]], dtype=np.uint16)}, "must be numbers"),
        ("Evidence", {"answers": np.array([[0, 1, 2], [0, 1, 0]])}, "must be numbers"),
        ("Evidence", {"answers": np.array([0, 1, 2], dtype=np.uint8)}, "must be a table"),
        ("Evidence", {"answers": np.zeros((0, 3), dtype=np.uint8)}, "must be a table"),
        # A rule answers every row.
        ("Evidence", {"said": np.array([[0, 1, 3]], dtype=np.uint8)}, "said must be numbers of labels"),
        ("Evidence", {"said": np.array([[0, 1, 255]], dtype=np.uint8)}, "said must be numbers of labels"),
        ("Evidence", {"said": np.array([[0, 1]], dtype=np.uint8)}, "must be about the same rows"),
        ("Evidence", {"said": np.zeros((0, 3), dtype=np.uint8)}, "must be numbers of labels"),
        ("Evidence", {"said": None}, "scores must have the shape"),
        ("Evidence", {"scores": np.array([[0.0, 1.0, np.nan]])}, "scores must be numbers"),
        ("Evidence", {"scores": np.zeros((2, 3))}, "scores must have the shape"),
        ("Evidence", {"slices": np.array([0, 1])}, "slices must have the shape"),
        ("Evidence", {"slices": np.array([0, 1, -1])}, "slices must be numbers of slices"),
        ("CrossValidation", {"log_losses": None}, "families must be there with log-losses"),
        ("CrossValidation", {"families": None}, "families must be there with log-losses"),
        ("CrossValidation", {"log_losses": np.array([1.0, 2.0])}, "log_losses must have the shape"),
        ("CrossValidation", {"log_losses": np.array([1, 2, 3])}, "log_losses must be an array of float64"),
        ("CrossValidation", {"log_losses": np.array([1.0, np.nan, 3.0])}, "log_losses"),
        ("CrossValidation", {"log_losses": np.array([1.0, np.inf, 3.0])}, "log_losses"),
        ("CrossValidation", {"log_losses": np.array([1.0, -1.0, 3.0])}, "log_losses must not be negative"),
        ("CrossValidation", {"families": np.array([0, 1])}, "families must have the shape"),
        ("CrossValidation", {"families": np.array([0.0, 1.0, 1.0])}, "families must be an array of int64"),
        ("Calibration", {"kind": "odds"}, "kind must be one of"),
        ("Calibration", {"n": 0}, "n must be from 1"),
        ("Calibration", {"n": 5.0}, "n must be from 1"),
        ("Calibration", {"slope": -1.0}, "slope must be a number of at least 0"),
        ("Calibration", {"slope": np.inf}, "slope must be a number of at least 0"),
        ("Calibration", {"shift": np.zeros(1), "bias": np.zeros(1)}, "shift must be about two classes"),
        ("Calibration", {"shift": np.zeros((3, 1))}, "shift must have the shape"),
        ("Calibration", {"shift": np.full(3, 1e300), "slope": 10.0}, "shift must be at most"),
        ("Calibration", {"bias": np.zeros(2)}, "bias must have the shape"),
        ("Calibration", {"bias": np.full(3, np.nan)}, "bias must be finite"),
        ("Calibration", {"bias": np.full(3, 1e301)}, "bias must be at most"),
        ("Calibration", {"pair_slope": 2.0}, "pair_slope must be 1"),
        ("Calibration", {"kind": PAIRS, "pair_slope": -2.0}, "pair_slope must be a number"),
        ("Calibration", {"kind": ANSWERS}, "table belongs to answers"),
        ("Calibration", {"table": np.full((4, 3), 1 / 3)}, "table belongs to answers"),
        ("Calibration", {"kind": ANSWERS, "table": np.full((3, 3), 1 / 3)}, "table must have the shape"),
        ("Calibration", {"kind": ANSWERS, "table": np.full((4, 3), 0.5)}, "table must sum to 1"),
        ("Calibration", {"kind": ANSWERS, "table": np.tile([1.5, -0.5, 0.0], (4, 1))}, "table must hold probabilities"),
        ("Calibrated", {"classes": np.array([1, 0])}, "classes"),
        ("Calibrated", {"classes": np.array([0, 0])}, "classes"),
        ("Calibrated", {"classes": np.array([-1, 0])}, "classes"),
        ("Calibrated", {"classes": np.array([0.0, 1.0])}, "classes"),
        ("Calibrated", {"classes": np.array([0, 1, 2])}, "maps must be for these classes"),
        ("Calibrated", {"maps": {}}, "maps must be by number of a classifier"),
        ("Calibrated", {"maps": [0]}, "maps must be by number of a classifier"),
        ("Calibrated", {"maps": {-1: None}}, "maps must be by number of a classifier"),
        ("Calibrated", {"maps": {True: None}}, "maps must be by number of a classifier"),
        ("Calibrated", {"maps": {0: None}}, "maps must be for these classes"),
        ("Estimators", {"estimators": [], "params": []}, "must be a list of classifiers"),
        ("Estimators", {"estimators": (TREE,)}, "must be a list of classifiers"),
        ("Estimators", {"estimators": ["tree"]}, "must have a method predict"),
        ("Estimators", {"params": []}, "params must be a dict for each"),
        ("Estimators", {"params": [3]}, "params must be a dict for each"),
    ],
)
def test_a_wrong_field_is_refused(kind, changes, message):
    check(GOOD[kind])
    with pytest.raises(ValueError, match=rf"^{kind}.*{message}"):
        check(replace(GOOD[kind], **changes))


def test_decoding_checks_every_value_inside_of_others():
    encoder = ModelEncoder()
    stored = encoder.encode(GOOD["Calibrated"])
    assert len(ModelDecoder(encoder.arrays, []).decode(stored).maps) == 2
    stored["maps"]["pairs"][1][1]["slope"] = -1.0
    with pytest.raises(ValueError, match=r"Calibration\.slope must be a number of at least 0"):
        ModelDecoder(encoder.arrays, []).decode(stored)


def test_a_wrong_number_in_any_block_is_refused(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 3)
    for i in range(4):
        answers = np.zeros((4, 3), dtype=np.uint8)
        answers[i, 1] = 77
        with pytest.raises(ValueError, match="must be numbers of labels"):
            check(Evidence(np.array([0, 1]), 2, answers, np.zeros(3, dtype=np.uint8)))


def test_parts_that_cannot_be_joined_are_refused():
    X, y = load_iris(return_X_y=True)
    machines = svm_set(X, y, [1.0], random_state=0).members
    trees = Estimators([TREE], [{}], machines.classes)
    good = Joined((machines, trees), ("svm", "trees"))
    check(good)
    for changes, message in [
        ({"parts": (machines,), "names": ("svm",)}, r"Joined\.parts must be several sets"),
        ({"parts": [machines, trees]}, r"Joined\.parts must be several sets"),
        ({"parts": (good, trees)}, r"Joined\.parts must be several sets"),
        ({"parts": (machines, SVMs())}, r"Joined\.parts must be several sets"),
        ({"parts": (machines, GOOD["Estimators"])}, r"Joined\.parts must have the same classes"),
        ({"names": ("svm",)}, r"Joined\.names must be a name for each"),
        ({"names": ["svm", "trees"]}, r"Joined\.names must be a name for each"),
        ({"names": ("svm", 3)}, r"Joined\.names must be a name for each"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(replace(good, **changes))


def is_a_division(shared, units, unit, n_train, m, n_rows):
    """By sets, row by row."""
    unit_of = dict(enumerate(range(n_rows) if units is None else units.tolist()))
    rows_of = {number: [row for row in unit_of if unit_of[row] == number] for number in unit_of.values()}
    train, validation = ({unit_of[row] for row in part.tolist()} for part in shared)
    if train & validation or train | validation != set(rows_of) or (len(train), len(validation)) != (n_train, m):
        return False
    trained = sorted(row for number in train for row in rows_of[number])
    counted = sorted(
        row for number in validation for row in (rows_of[number] if unit == GROUP else rows_of[number][:1])
    )
    return (shared[0].tolist(), shared[1].tolist()) == (trained, counted)


@pytest.mark.parametrize("unit", [EXAMPLE, DISTINCT, GROUP])
def test_only_what_divides_all_rows_is_a_division(unit):
    rng, valid = np.random.default_rng(6), 0
    for _ in range(400):
        units = None if unit == EXAMPLE else np.unique(rng.integers(0, 4, 8), return_inverse=True)[1].astype(np.int64)
        number = 8 if units is None else int(units.max()) + 1
        validation = rng.random(number) < 0.5
        sides = [np.flatnonzero(side if units is None else side[units]) for side in (~validation, validation)]
        if unit == DISTINCT:
            sides[1] = np.sort([np.flatnonzero(units == one)[0] for one in np.flatnonzero(validation)]).astype(np.int64)
        if rng.random() < 0.5:  # a row too many, too few or on the other side
            side = rng.integers(0, 2)
            sides[side] = np.setxor1d(sides[side], rng.integers(0, 8, 1))
        n_train, m = number - int(validation.sum()), int(validation.sum())
        right = is_a_division(sides, units, unit, n_train, m, 8)
        with contextlib.nullcontext() if right else pytest.raises(ValueError, match=r"Division\.shared must"):
            check(Division("shared", n_train, m, 8, 0, tuple(sides), unit, units))
        valid += right
    assert 100 < valid < 300
