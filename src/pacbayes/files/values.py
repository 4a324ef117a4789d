"""Fitted models as plain values: dicts, lists, strings, numbers and arrays, and back."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from pacbayes.bounds.distance import Distance
from pacbayes.bounds.registry import get_distance
from pacbayes.certificates.questions.by_class import PartErrors
from pacbayes.certificates.questions.selective import ThresholdCounts, Thresholds
from pacbayes.certificates.rules.rule import Rule
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.members import EstimatorMembers
from pacbayes.classifiers.packed_errors import PackedErrors
from pacbayes.classifiers.svm.independent import IndependentMembers, Trained
from pacbayes.classifiers.svm.kernel import Kernel, Scaling
from pacbayes.classifiers.svm.machines import Machines, OneMachine, Pair
from pacbayes.classifiers.svm.path import SVMPath
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.svm_classifier import SvmTrainingTask
from pacbayes.data.division import Splits
from pacbayes.data.tables import TableReading, TextColumn
from pacbayes.estimators.questions.asked import Asked
from pacbayes.numeric.checks import check_choice

_TYPES: tuple[type, ...] = (
    Asked,
    ClassifierSet,
    CrossValidation,
    EstimatorMembers,
    GroupErrors,
    IndependentMembers,
    Kernel,
    Machines,
    OneMachine,
    PackedErrors,
    Pair,
    PartErrors,
    Rule,
    SvmTrainingTask,
    SVMPath,
    Scaling,
    SharedMembers,
    Splits,
    TableReading,
    TextColumn,
    ThresholdCounts,
    Thresholds,
    Trained,
)
# The classes a file may name; nothing else is ever made from one.
KNOWN: dict[str, type] = {known.__name__: known for known in _TYPES}
_MARK = "pacbayes:type"
_BYTES = "bytes"
_DISTANCE = "Distance"


def encode(value: Any) -> Any:
    """Return a value with the classes of this library as marked dicts of their fields; other objects stay.

    Examples
    --------
    >>> encode(Kernel("rbf", 0.5))
    {'pacbayes:type': 'Kernel', 'name': 'rbf', 'gamma': 0.5}
    """
    if type(value) in _TYPES:
        return {_MARK: type(value).__name__} | {name: encode(inner) for name, inner in vars(value).items()}
    if isinstance(value, Distance):
        return {_MARK: _DISTANCE, "name": _known_name(value)}
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is bytes:
        # skops would give them a new name each time.
        return {_MARK: _BYTES, "hex": value.hex()}
    if isinstance(value, dict):
        return {name: encode(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([encode(inner) for inner in value]) if type(value) in (list, tuple) else value
    return value


def decode(value: Any) -> Any:
    """Return what `encode` was given, or raise `ValueError` for a class or fields this version does not know.

    Examples
    --------
    >>> decode({"pacbayes:type": "Kernel", "name": "rbf", "gamma": 0.5})
    Kernel(name='rbf', gamma=0.5)
    >>> decode({"pacbayes:type": "Popen"})
    Traceback (most recent call last):
    ValueError: the file names 'Popen', which is no part of a saved model
    """
    if isinstance(value, dict):
        inner = {name: decode(part) for name, part in value.items() if name != _MARK}
        return _made(value[_MARK], inner) if _MARK in value else inner
    if type(value) in (list, tuple):
        return type(value)([decode(part) for part in value])
    return value


def check_names(kind: type, inner: dict[str, Any]) -> dict[str, Any]:
    """Return attributes to be set, or raise if one would take the place of a method."""
    plain = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    for name in inner:
        if not isinstance(name, str) or (hasattr(kind, name) and name not in plain):
            raise ValueError(f"the file's {kind.__name__} has an attribute {name!r}, which is no part of a saved model")
    return inner


def _known_name(distance: Distance) -> str:
    """Return the name by which a distance will be found again, or raise: a file holds no code."""
    try:
        if get_distance(distance.name) == distance:
            return distance.name
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"distance {distance!r} cannot be saved, for a file holds no code: make it known by its name with "
        "pacbayes.bounds.register_distance, here and where the model is loaded"
    )


def _made(name: Any, inner: dict[str, Any]) -> Any:
    if name == _BYTES:
        return bytes.fromhex(inner["hex"])
    if name == _DISTANCE:
        return get_distance(check_choice("distance", inner["name"], (inner["name"],)))
    if not isinstance(name, str) or name not in KNOWN:
        raise ValueError(f"the file names {name!r}, which is no part of a saved model")
    kind = KNOWN[name]
    if is_dataclass(kind) and set(inner) != {field.name for field in fields(kind)}:
        found = ", ".join(sorted(map(str, inner)))
        raise ValueError(f"the file's {name} has the fields {found}, which this version does not know")
    check_names(kind, inner)
    # No constructor runs: a class is its fields, filled in as they were.
    made: Any = object.__new__(kind)
    made.__dict__.update(inner)
    return made
