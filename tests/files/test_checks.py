"""A value in a file that cannot be is refused by class and field; what a fit computes is not looked at."""

import copy

import numpy as np
import pytest
from tests.attack.small_models import model

from pacbayes.data.tables import TableReading, TextColumn
from pacbayes.ensemble.calibration import ANSWERS, DECISIONS, PAIRS, Calibration
from pacbayes.files.values import ModelDecoder, ModelEncoder
from pacbayes.svm.kernel import Kernel

MAP = Calibration(DECISIONS, 10, 1.0, np.zeros(3), np.zeros(3))
COLUMN = TextColumn(1, ("NA",))
READING = TableReading((COLUMN,), (2,), ("", "?"))
WRONG = [
    (MAP, {"kind": "odds"}, "kind must be one of"),
    (MAP, {"n": 0}, "n must be from 1"),
    (MAP, {"n": 5.0}, "n must be from 1"),
    (MAP, {"slope": -1.0}, "slope must be a number of at least 0"),
    (MAP, {"slope": np.inf}, "slope must be a number of at least 0"),
    (MAP, {"shift": np.zeros(1), "bias": np.zeros(1)}, "shift must be about two classes"),
    (MAP, {"shift": np.zeros((3, 1))}, "shift must have the shape"),
    (MAP, {"shift": np.full(3, 1e300), "slope": 10.0}, "shift must be at most"),
    (MAP, {"bias": np.zeros(2)}, "bias must have the shape"),
    (MAP, {"bias": np.full(3, np.nan)}, "bias must be finite"),
    (MAP, {"bias": np.full(3, 1e301)}, "bias must be at most"),
    (MAP, {"pair_slope": 2.0}, "pair_slope must be 1"),
    (MAP, {"kind": PAIRS, "pair_slope": -2.0}, "pair_slope must be a number"),
    (MAP, {"kind": ANSWERS}, "table belongs to answers"),
    (MAP, {"table": np.full((4, 3), 1 / 3)}, "table belongs to answers"),
    (MAP, {"kind": ANSWERS, "table": np.full((3, 3), 1 / 3)}, "table must have the shape"),
    (MAP, {"kind": ANSWERS, "table": np.full((4, 3), 0.5)}, "table must sum to 1"),
    (MAP, {"kind": ANSWERS, "table": np.tile([1.5, -0.5, 0.0], (4, 1))}, "table must hold probabilities"),
    (COLUMN, {"place": -1}, "place must be from 0"),
    (COLUMN, {"place": True}, "place must be from 0"),
    (COLUMN, {"words": ("NA", 1)}, "words must be a tuple of texts"),
    (COLUMN, {"has_both": 1}, "has_both must be True or False"),
    (READING, {"text": (1,)}, "text must be a tuple of columns"),
    (READING, {"unclear": (-1,)}, "unclear must be a tuple of places"),
    (READING, {"missing": ["?"]}, "missing must be a tuple of texts"),
    (READING, {"spaces": None}, "spaces must be True or False"),
    (READING, {"signs": None}, "signs must say how numbers are written"),
    ("two", {"settings": 1}, "settings must be MachineSettings"),
    ("two", {"kernels": ()}, "kernels must be a tuple of Kernel"),
    ("two", {"kernels": (Kernel("rbf", 1.0),) * 2}, "machines must be some for each kernel"),
    ("two", {"classes": [0, 1]}, "classes must be an array of labels"),
    ("two", {"rows": np.zeros((0, 0))}, "rows must have columns"),
    ("two", {"rows": np.zeros((5, 3))}, "scaling must be for 3 columns"),
    ("two", {"prepare": 1}, "prepare must be a transformer or None"),
]


def from_file(value, wrong):
    """Write a value with some fields changed, and read it."""
    forged, encoder = copy.copy(value), ModelEncoder()
    vars(forged).update(wrong)
    stored = encoder.encode(forged)
    return ModelDecoder(encoder.arrays, encoder.objects).decode(stored)


@pytest.mark.parametrize(("value", "wrong", "message"), WRONG)
def test_a_wrong_field_is_named(value, wrong, message):
    value = model(value)._fitted.members if isinstance(value, str) else value
    assert type(from_file(value, {})) is type(value)
    with pytest.raises(ValueError, match=f"{type(value).__name__}.{message}"):
        from_file(value, wrong)
