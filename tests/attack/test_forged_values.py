"""Forged fields of our own values in a model file are rejected, or change no certificate.

In small models of every kind, each field is replaced by values of other types, by impossible numbers, and by arrays of
other shapes, types, orders or lengths, and is removed.  `load` must raise `ValueError`, or return a model whose
certificates have the same numbers, with the exceptions listed here.  A child process loads the file and predicts with
the model: values must be validated before compiled code uses them.
"""

import copy
import json
import math
from dataclasses import fields
from functools import cache
from itertools import islice

import numpy as np
import pytest
from tests.attack.small_models import COLUMNS, CONFIGURED, SVM_MODELS, model
from tests.files.model_files import KIND, Forged, saved

from pacbayes.files import values

KNOWN = {kind.__name__: kind for kind in values.KNOWN_CLASSES}
MODELS = (*SVM_MODELS, *CONFIGURED, "grid", "prefit")

OBSERVED = "a validation prediction or label, from which all numbers are counted"
CHOSEN = "a choice fixed before validation, which the certificate states"
#: Fields that may make a bound smaller.
MAY_BE_SMALLER = {
    "ValidationPredictions.y_pred": OBSERVED,
    "ValidationPredictions.y_true": OBSERVED,
    "ValidationPredictions.slices": OBSERVED,
    "ValidationPredictions.scores": OBSERVED,
    "ValidationPredictions.probabilities": OBSERVED,
    "Plan.delta": CHOSEN,
    "Plan.hedge": CHOSEN,
    "Plan.metrics": CHOSEN,
    "Plan.metrics[]": CHOSEN,
    "Plan.metrics_share": CHOSEN,
    "MetricSpec.name": CHOSEN,
    "MetricSpec.of": CHOSEN,
    "MetricSpec.cost": CHOSEN,
    "MetricSpec.bets": CHOSEN,
    "MetricSpec.bets[]": CHOSEN,
    "Cost.matrix": CHOSEN,
    "Cost.classes": CHOSEN,
    "Cost.classes[]": CHOSEN,
    **{f"{kind}.bet": CHOSEN for kind in ("Draws", "Single", "SoftVote", "Vote")},
    "Plan.decision": CHOSEN,
    "Abstain.max_error": CHOSEN,
    "PredictionSet.coverage": CHOSEN,
    "PredictionSet.by_class": CHOSEN,
    "Threshold.recall": CHOSEN,
    "Threshold.precision": CHOSEN,
    "Threshold.fpr": CHOSEN,
    "Threshold.prefer": CHOSEN,
    "Threshold.cost": CHOSEN,
    "ThresholdGrid.positive": CHOSEN,
    "Plan.refit": CHOSEN,
    "Plan.constant": CHOSEN,
    "Plan.distance": CHOSEN,
    "Plan.distance[]": CHOSEN,
}
#: Fields that may change numbers, but make no bound smaller.
MAY_DIFFER = {
    "Split.units": "units, as long as every classifier has the same validation rows",
    "Split.copies": "a number of duplicates, for display",
    "Plan.majority_class": "the label of the majority-class baseline",
    "Plan.positive": "the positive class, for sentences",
    "Plan.slices[]": "the name of a slice",
    "Plan.cross_validation": "for the holdout baseline, if nothing else follows from it",
    "CrossValidation.errors": "for the holdout baseline, if the primary rules are the same",
    "ConfidenceGrid.values": "thresholds fixed before validation: each is tested",
    "ConfidenceGrid.accepted": "the order in which thresholds are tested",
    "ConfidenceGrid.wrong": "the order in which thresholds are tested",
    "ThresholdGrid.values": "thresholds fixed before validation: each is tested",
    "ThresholdGrid.predicted_positives": "the order in which thresholds are tested",
    "ThresholdGrid.true_positives": "the order in which thresholds are tested",
    "ValidationPredictions.rule_predictions": "the classifier of a draw is not stored; see SOFT_PREDICTIONS",
    "model.posterior[]": "the bound holds for all posteriors, and is evaluated at the stored weights",
}
#: Predictions of a soft vote follow from probabilities, which are not stored.
SOFT_PREDICTIONS = "ValidationPredictions.rule_predictions"
#: Errors and warnings of `predict` that these fields may cause.
PREDICTING = ("ValueError", "NotFittedError", "UnseenCategoryWarning")
#: Fields with which a loaded model may raise one of them.
MAY_NOT_PREDICT = {
    "model.input_attributes": "rows with another number of columns are rejected",
    "model.input_attributes[]": "rows with another number of columns are rejected",
    "Estimators.estimators[]": "another estimator of the same file, which is not fitted",
    "Column.name": "rows without a column of this name are rejected",
    "Column.levels[]": "categories that the file does not name are warned of",
    "KernelSVMs.preprocessor": "another preprocessor of the same file, which may be unfitted or expect other rows",
}

nan, inf = math.nan, math.inf
REPLACEMENTS = (
    *(None, True, 0, 1, -1, 7, 2**31, 2**62, 10**30, 0.5, -0.5, 1e-300, nan, inf, "", "text", [], [1], (), ("a",)),
    *({}, {KIND: "dict", "pairs": []}, {KIND: "Popen"}, {KIND: "Kernel", "name": "rbf", "gamma": 0.5}),
    *({KIND: "object", "number": 0}, {KIND: "array", "number": 0}, {KIND: "array", "number": 10**9}),
    *(np.zeros(0), np.array(0.5), np.array([1]), np.array(["shared"]), np.zeros((2, 2))),
)


def other_arrays(old):
    """Yield arrays with other types, shapes, orders, lengths and values."""
    with np.errstate(all="ignore"):
        types = ["f4", "f8", ">f8", "i4", "i8", ">i8", "u1", "u2", "?", "c16", "U5"]
        if old.dtype.kind != "U":
            yield from (old.astype(name) for name in types if np.dtype(name) != old.dtype)
        if old.ndim:
            shapes = (old.reshape(shape) for shape in ((-1,), (1, -1), (-1, 1)))
            yield from (new for new in shapes if new.ndim != old.ndim)
            yield from (old[:0], old[:1], old[:-1], old[1:], np.concatenate([old, old]), old[::-1])
            yield np.roll(old, 1, axis=-1)
        if old.ndim == 2:
            yield from (np.asfortranarray(old), old.T, old[:, :0], old[:, :-1], np.hstack([old, old]))
            yield np.roll(old, 1, axis=0)
        if old.dtype.kind not in "biuf" or old.size == 0:
            return
        for value in (0, 1, -1, 2, 30, 255, 2**31, 2**40, 2**62, *((nan, inf, 1e300, 0.5) * (old.dtype.kind == "f"))):
            filled = np.full(old.shape, value).astype(old.dtype)
            yield filled
            for place in {0, old.size - 1}:
                new = old.copy().reshape(-1)
                new[place] = filled.reshape(-1)[0]
                yield new.reshape(old.shape)


def changes(forged, place):
    """Yield changes of one place of a file, each with a description."""
    old = forged[place]
    new = [*REPLACEMENTS]
    if isinstance(old, str):
        new += ("shared", "independent", "example", "group", "linear", "given", "paper", "best", "primary", "kl")
    elif isinstance(old, np.ndarray):
        new += [np.array(array, order="K") for array in other_arrays(old)]
    elif type(old) in (int, float):
        new += [old + 1, old - 1, 2 * old, -old, old / 2, float(old)]
    for value in new:
        yield described(value), lambda forged, value=value: forged.__setitem__(place, value)
    yield "removed", lambda forged: forged.__delitem__(place)
    if isinstance(old, dict) and old[KIND] in KNOWN:
        yield "an extra field", lambda forged: forged.json(place).__setitem__("more", 1)


def described(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of {value.shape}, {value.reshape(-1)[:4].tolist()}"
    return repr(value)


def fields_of(value, owner="", place=""):
    """Yield the places of all nested values, each after its field: ``Plan.delta``."""
    if place:
        yield owner, place
    kind = value.get(KIND) if isinstance(value, dict) else None
    dot = f"{place}." if place else ""
    if isinstance(value, list) or kind == "tuple":
        entries = value if isinstance(value, list) else value["values"]
        inner = [(f"{owner}[]", number, item) for number, item in enumerate(entries)]
    elif kind == "dict":
        inner = [(f"{owner}[]" if place else f"model.{name}", name, item) for name, item in value["pairs"]]
    elif kind in KNOWN:
        inner = [(f"{kind}.{name}", name, item) for name, item in value.items() if name != KIND]
    else:
        return
    for name, key, item in inner:
        # Parameters are only read, and checked, when a model is fitted again.
        if name not in ("model.params", "model.class", "Estimators.params[]", "Estimators.dropped[]"):
            yield from fields_of(item, name, f"{dot}{key}")


@cache
def places_of(*names):
    """Find the first place of each field in several models, with the model."""
    seen, places = set(), []
    for name in names:
        forged = Forged(file_of(name))
        for owner, place in fields_of(forged.values):
            if variant(forged, owner, place) not in seen:
                seen.add(variant(forged, owner, place))
                places.append((name, owner, place))
    return places


def variant(forged, owner, place):
    """Key of the places at which the same changes are tried."""
    value = forged[place]
    return (owner, *((value.dtype, value.ndim) if isinstance(value, np.ndarray) else (type(value), value is None)))


@cache
def file_of(name):
    """The file of a small model, as bytes."""
    return saved(model(name))


def test_every_field_of_every_value_is_changed():
    names = {owner for name in MODELS for owner, _ in fields_of(Forged(file_of(name)).values)}
    assert {f"{kind}.{field.name}" for kind, known in KNOWN.items() for field in fields(known)} <= names
    assert {*MAY_BE_SMALLER, *MAY_DIFFER, *MAY_NOT_PREDICT} <= names


# Every fourth change of a field, each field beginning with another one; all of them are slow.
EVERY = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])


@EVERY
@pytest.mark.parametrize("kind", [*KNOWN, "model"])
def test_forged_fields_are_rejected_or_change_no_certificate(kind, every, child, tmp_path):
    path, faults = tmp_path / "model", []
    for number, (name, owner, place) in enumerate(places_of(*MODELS)):
        if not owner.startswith(f"{kind}."):
            continue
        contents, columns = file_of(name), -COLUMNS if name == "text" else COLUMNS
        expected = numbers(child.load(Forged(contents).write(path), columns))
        for how, change in islice(changes(Forged(contents), place), number % every, None, every):
            forged = Forged(contents)
            change(forged)
            fault = fault_of(owner, child.load(forged.write(path), columns), expected)
            if fault:
                faults.append((name, owner, place, how, fault))
    assert not faults, "\n".join(map(str, faults))


# -- SVMs that skops restores without their constructors -------------------------------------------------------------

SVM_FIELDS = {
    "": ("_labels", "support_vectors_", "n_features_in_", "classes_", "gamma_", "_svm", "_scaling", "_kernel"),
    "_svm": ("codes", "pairs", "support", "coefs", "intercepts", "kernel_sizes"),
    "_scaling": ("shift", "width"),
    "_kernel": ("name", "gamma"),
}


@EVERY
@pytest.mark.parametrize("part", SVM_FIELDS)
def test_forged_fields_of_an_svm_are_rejected_or_change_no_certificate(part, every, child, tmp_path):
    path, faults = tmp_path / "model", []
    path.write_bytes(file_of("independent"))
    expected = numbers(child.load(path, COLUMNS))
    for number, field in enumerate(SVM_FIELDS[part]):
        old = checkpoint_subdirectory(model("independent"), part).__dict__[field]
        values = [value for value in REPLACEMENTS if not isinstance(value, dict)]
        values += [np.array(array, order="K") for array in other_arrays(old)] if isinstance(old, np.ndarray) else []
        for value in values[number % every :: every]:
            forged = copy.deepcopy(model("independent"))
            checkpoint_subdirectory(forged, part).__dict__[field] = value
            path.write_bytes(saved(forged))
            result = child.load(path, COLUMNS)
            # Predictions of every classifier are checked.
            rejected = (
                "refused",
                "raised by predict: ValueError",
                "raised by predict: TypeError: classifier 0.predict",
            )
            if not result.startswith(rejected) and not (result.startswith("ok ") and numbers(result) == expected):
                faults.append((part, field, described(value), result))
    assert not faults, "\n".join(map(str, faults))


def checkpoint_subdirectory(clf, part):
    """The first SVM of a model, or one of its parts."""
    svm = clf.classifiers_[0]
    return getattr(svm, part) if part else svm


def numbers(result):
    assert result.startswith("ok "), result
    return json.loads(result[3:])


def fault_of(owner, result, expected):
    """Describe the fault of a loaded file; None if there is none."""
    if result.startswith("refused"):
        return None
    if not result.startswith("ok "):
        errors = tuple(f"raised by predict: {name}" for name in PREDICTING)
        return None if owner in MAY_NOT_PREDICT and result.startswith(errors) else result
    loaded = numbers(result)
    if loaded == expected or owner in MAY_BE_SMALLER:
        return None
    if owner not in MAY_DIFFER:
        return "other numbers"
    bounds = {place: x for place, x in expected.items() if place.endswith(".bound") and "baselines" not in place}
    if owner == SOFT_PREDICTIONS:
        bounds = {place: x for place, x in bounds.items() if not place.startswith("soft.")}
    smaller = [place for place, x in bounds.items() if loaded.get(place, 1.0) < x]
    return f"smaller {smaller}" if smaller else None
