"""Checks of values from files: invalid fields are rejected, with class and field."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import model

from pacbayes import SVMs
from pacbayes.data.schema import Column, Schema
from pacbayes.data.split import DISTINCT, EXAMPLE, GROUP, Split
from pacbayes.ensemble.calibration import DECISIONS, LABELS, PAIRS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations, CompositeMembers, Estimators
from pacbayes.ensemble.validation import ValidationPredictions
from pacbayes.files.checks import validate_value
from pacbayes.svm.kernel import Kernel

TWO_CLASSES = Calibration(PAIRS, 75, 1.0, np.zeros(2), np.zeros(2))
TREE = DecisionTreeClassifier()
SVM_SET = model("two")._fitted.members
TREE_SET = Estimators([TREE], [{}], SVM_SET.classes)
COLUMN = Column("land", "category", True, ("NA",), levels=("de", "na"))


def bytes_of(*values):
    return np.array(values, dtype=np.uint8)


VALUES = (
    ValidationPredictions(
        np.array(["no", "yes", "perhaps"]),
        2,
        bytes_of([0, 1, 2], [255, 1, 0]),
        bytes_of(0, 1, 1),
        bytes_of([2, 1, 0]),
        np.array([[-np.inf, 0.5, 0.25]]),
        np.array([0, 0, 1]),
    ),
    CrossValidation(
        np.arange(3),
        np.array([[1], [2], [3]]),
        np.array([9]),
        (0,) * 7,
        np.array([1.0, 2.0, 3.0]),
        np.array([0, 1, 1]),
    ),
    Calibration(DECISIONS, 10, 1.0, np.zeros(3), np.zeros(3)),
    Calibration(LABELS, 10, 1.0, np.zeros(3), np.zeros(3), table=np.full((4, 3), 1 / 3)),
    Calibrations(np.array([0, 3]), {0: TWO_CLASSES, 5: TWO_CLASSES}),
    TREE_SET,
    CompositeMembers((SVM_SET, TREE_SET), ("svm", "trees")),
    SVM_SET,
    COLUMN,
    Schema((COLUMN,), ("", "?")),
)
WRONG = {
    "ValidationPredictions": {
        "labels": [np.array([["no", "yes"]]), ["no", "yes"], np.array(["yes", "no"]), np.array(["no", "no"])],
        "n_classes": [0, 4, 2.0],
        # True labels that are not classes.
        "y_true": [bytes_of(0, 1, 2), bytes_of(0, 1, 255), bytes_of(0, 1), np.array([0, 1, 1])],
        "y_pred": [
            *(bytes_of([0, 1, 3], [0, 1, 0]), bytes_of([0, 1, 2], [0, 1, 0]).astype(np.uint16)),
            *(np.array([[0, 1, 2], [0, 1, 0]]), bytes_of(0, 1, 2), np.zeros((0, 3), dtype=np.uint8)),
        ],
        # Rules predict every row.
        "rule_predictions": [
            *(bytes_of([0, 1, 3]), bytes_of([0, 1, 255]), bytes_of([0, 1]), np.zeros((0, 3), dtype=np.uint8)),
        ],
        "scores": [np.array([[0.0, 1.0, np.nan]]), np.zeros((2, 3))],
        "slices": [np.array([0, 1]), np.array([0, 1, -1])],
    },
    "CrossValidation": {
        "errors": [np.array([[1], [2], [10]]), np.array([[-1], [2], [3]]), np.array([[1], [2]])],
        "errors_of_votes": [(), (1,) * 6, [1] * 7, (1.0,) * 7, (-1,) * 7, (10,) * 7, (True,) * 7, 7],
        "log_losses": [
            *map(np.array, ([1.0, 2.0], [1, 2, 3], [1.0, np.nan, 3.0], [1.0, np.inf, 3.0], [-1.0, 2.0, 3.0])),
        ],
    },
    "Calibration": {
        "kind": ["odds", None],
        "n": [0, 5.0],
        "slope": [-1.0, np.inf, np.nan],
        "shift": [np.zeros(1), np.zeros((3, 1)), np.full(3, 1e301)],
        "table": [np.full((3, 3), 1 / 3), np.full((4, 3), 0.5), np.tile([1.5, -0.5, 0.0], (4, 1))],
    },
    "Calibrations": {
        "classes": [np.array([1, 0]), np.array([0, 0]), np.array([-1, 0]), np.array([0.0, 1.0])],
        "maps": [
            *({}, [0], {-1: TWO_CLASSES}, {True: TWO_CLASSES}, {0: None}, {0: replace(TWO_CLASSES, shift=np.zeros(3))}),
        ],
    },
    "Estimators": {"estimators": [[], (TREE,), ["tree"]], "params": [[], [3]]},
    "CompositeMembers": {
        "parts": [[SVM_SET, TREE_SET], (SVM_SET, SVMs()), (SVM_SET, replace(TREE_SET, classes=np.array([7, 8])))],
        "names": [("svm",), ["svm", "trees"], ("svm", 3)],
    },
    "KernelSVMs": {
        "settings": [1],
        "kernels": [(), (Kernel("linear", None),)],
        "svms": [(), SVM_SET.svms * 2],
        "classes": [[0, 1], np.zeros((2, 1)), SVM_SET.classes[:1]],
        "preprocessor": [1],
    },
    "Column": {"name": [1], "kind": ["label", None], "words": [("NA", 1)], "has_missing": [1], "levels": [["a"]]},
    "Schema": {"columns": [["x"], ("x",)], "missing": ["NA", (1,)], "numbers": [None, "."]},
}  # fmt: skip


def test_invalid_fields_are_rejected_by_name():
    for value in VALUES:
        validate_value(value)
        kind = type(value).__name__
        for field, several in WRONG[kind].items():
            if getattr(value, field) is None:
                continue
            for wrong in several:
                # For inconsistent fields, either may be named.
                with pytest.raises(ValueError, match=rf"^{kind}\.\w+ is not"):
                    validate_value(replace(value, **{field: wrong}))


def is_partition(shared, units, unit, n_train, m, n_rows):
    """Reference implementation with sets."""
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
def test_only_partitions_are_accepted_as_splits(unit):
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
        right = is_partition(sides, units, unit, n_train, m, 8)
        with contextlib.nullcontext() if right else pytest.raises(ValueError, match=r"Split\.shared is not"):
            validate_value(Split("shared", n_train, m, 8, 0, tuple(sides), unit, units))
        valid += right
    assert 100 < valid < 300


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "loud"},
        {"kind": "independent"},
        {"unit": GROUP},
        {"units": np.zeros(8, dtype=np.int64)},
        {"n_train": 5, "m": 3},
        {"seed": -1},
        {"shared": None},
        {"shared": (np.arange(4), np.arange(5, 9))},
        {"kind": "independent", "shared": None, "n_train": 0, "m": 8},
        {"unit": GROUP, "units": np.array([0, 0, 0, 2, 2, 2, 3, 3])},
    ],
)
def test_invalid_splits(wrong):
    good = Split("shared", 4, 4, 8, 0, (np.arange(4), np.arange(4, 8)))
    validate_value(good)
    with pytest.raises(ValueError, match=r"Split\.\w+ is not"):
        validate_value(replace(good, **wrong))
