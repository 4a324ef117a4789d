"""Every field of every value in a model file may be anything: it is refused, or changes nothing that matters.

Of all small models, each field is replaced by values of other types, by numbers that cannot be, by arrays of another
shape, type, order or length, and is left out.  `load` must raise `ValueError`, or give a model whose certificates have
the same numbers, but for the fields that are listed here with the reason.  The file is loaded in a process of its own,
which predicts with the model, too: compiled code must never see what it would stumble over.
"""

import copy
import json
import math
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
from tests.attack.small_models import ASKED, COLUMNS, MACHINES, model
from tests.files.model_files import KIND, Forged, saved

from pacbayes.files import values

KNOWN = {kind.__name__: kind for kind in values.KNOWN}
MODELS = (*MACHINES, *ASKED, "grid", "elsewhere")

OBSERVED = "what was observed, from which all numbers are counted: nothing else in a file says it"
CHOSEN = "what was chosen beforehand; the certificate says it, and nothing else in a file does"
#: Fields that may make a bound smaller.
MAY_BE_SMALLER = {
    "ValidationPredictions.y_pred": OBSERVED,
    "ValidationPredictions.y_true": OBSERVED,
    "ValidationPredictions.slices": OBSERVED,
    "ValidationPredictions.scores": OBSERVED,
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
    "Threshold.recall": CHOSEN,
    "Threshold.precision": CHOSEN,
    "Threshold.fpr": CHOSEN,
    "Threshold.prefer": CHOSEN,
    "ThresholdGrid.positive": CHOSEN,
    "Plan.refit": CHOSEN,
    "Plan.constant": CHOSEN,
    "Plan.distance": CHOSEN,
    "Plan.distance[]": CHOSEN,
}
#: Fields that may change numbers, but no bound to a smaller one.
MAY_DIFFER = {
    "Split.units": "what belongs together, where all classifiers are still validated by the same rows",
    "Split.copies": "a count of copies, which is shown beside the bound",
    "Plan.majority_class": "the most frequent training label, of which a baseline is shown beside the bound",
    "Plan.positive": "the class whose misses the words are about",
    "Plan.slices[]": "the name of a slice",
    "Plan.cross_validation": "of a holdout baseline, where nothing else follows from it",
    "CrossValidation.errors": "of a holdout baseline, where the proposals stay the same",
    "ConfidenceGrid.values": "thresholds may be any that were fixed beforehand: each is tested",
    "ConfidenceGrid.answered": "they say in which order thresholds are tested",
    "ConfidenceGrid.wrong": "they say in which order thresholds are tested",
    "ThresholdGrid.values": "thresholds may be any that were fixed beforehand: each is tested",
    "ThresholdGrid.answered": "they say in which order thresholds are tested",
    "ThresholdGrid.hits": "they say in which order thresholds are tested",
    "ValidationPredictions.rule_predictions": "a draw is one of its classifiers' predictions; see SOFT_SAID",
    "model.posterior[]": "a bound holds for all weights at once, and is that of the weights as they are",
}
#: What a soft vote said takes the rows to be known: with other probabilities any class may be the most probable.
SOFT_SAID = "ValidationPredictions.rule_predictions"
#: Fields with which a model may refuse to predict, with a `ValueError`.
MAY_NOT_PREDICT = {
    "model.noted": "rows of another width are refused",
    "model.noted[]": "rows of another width are refused",
    "Estimators.estimators[]": "another estimator of the same file, which is not fitted",
    "KernelSVMs.preprocessor": "other rows are asked for",
}

nan, inf = math.nan, math.inf
ANYTHING = (
    *(None, True, 0, 1, -1, 7, 2**31, 2**62, 10**30, 0.5, -0.5, 1e-300, nan, inf, "", "text", [], [1], (), ("a",)),
    *({}, {KIND: "dict", "pairs": []}, {KIND: "Popen"}, {KIND: "Kernel", "name": "rbf", "gamma": 0.5}),
    *({KIND: "object", "number": 0}, {KIND: "array", "number": 0}, {KIND: "array", "number": 10**9}),
    *(np.zeros(0), np.array(0.5), np.array([1]), np.array(["shared"]), np.zeros((2, 2))),
)


def other_arrays(old):
    """Yield arrays that are almost one: of other types, shapes, orders, lengths and values."""
    with np.errstate(all="ignore"):
        types = ["f4", "f8", ">f8", "i4", "i8", ">i8", "u1", "u2", "?", "c16", "U5"]
        if old.dtype.kind != "U":
            yield from (old.astype(name) for name in types if np.dtype(name) != old.dtype)
        if old.ndim:
            shapes = (old.reshape(shape) for shape in ((-1,), (1, -1), (-1, 1)))
            yield from (one for one in shapes if one.ndim != old.ndim)
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
    """Yield functions that change one place of a file, each with what it makes of it."""
    old = forged[place]
    new = [*ANYTHING]
    if isinstance(old, str):
        new += ("shared", "independent", "example", "group", "linear", "given", "paper", "best", "primary", "kl")
    elif isinstance(old, np.ndarray):
        new += [np.array(one, order="K") for one in other_arrays(old)]
    elif type(old) in (int, float):
        new += [old + 1, old - 1, 2 * old, -old, old / 2, float(old)]
    for value in new:
        yield _shown(value), lambda forged, value=value: forged.__setitem__(place, value)
    yield "left out", lambda forged: forged.__delitem__(place)
    if isinstance(old, dict) and old[KIND] in KNOWN:
        yield "one field more", lambda forged: forged.json(place).__setitem__("more", 1)


def _shown(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of {value.shape}, {value.reshape(-1)[:4].tolist()}"
    return repr(value)


def owned(value, owner="", place=""):
    """Yield the places of all that values are made of, each after the field that it is: ``Plan.delta``."""
    if place:
        yield owner, place
    kind = value.get(KIND) if isinstance(value, dict) else None
    dot = f"{place}." if place else ""
    if isinstance(value, list) or kind == "tuple":
        entries = value if isinstance(value, list) else value["values"]
        inner = [(f"{owner}[]", number, one) for number, one in enumerate(entries)]
    elif kind == "dict":
        inner = [(f"{owner}[]" if place else f"model.{name}", name, one) for name, one in value["pairs"]]
    elif kind in KNOWN:
        inner = [(f"{kind}.{name}", name, one) for name, one in value.items() if name != KIND]
    else:
        return
    for name, key, one in inner:
        # Parameters are read when a model is fitted again, and looked at there.
        if name not in ("model.params", "model.class", "Estimators.params[]", "Estimators.dropped[]"):
            yield from owned(one, name, f"{dot}{key}")


@cache
def places_of(*names):
    """Return the first place of each field, in any of some models, with the model."""
    seen, found = set(), []
    for name in names:
        forged = Forged(file_of(name))
        for owner, place in owned(forged.values):
            if _sort_of(forged, owner, place) not in seen:
                seen.add(_sort_of(forged, owner, place))
                found.append((name, owner, place))
    return found


def _sort_of(forged, owner, place):
    """What is the same for two places at which the same changes are to be tried."""
    value = forged[place]
    return (owner, *((value.dtype, value.ndim) if isinstance(value, np.ndarray) else (type(value), value is None)))


@cache
def file_of(name):
    """Return the bytes of a small model's file."""
    return saved(model(name))


def test_every_field_of_every_value_is_changed():
    found = {owner for name in MODELS for owner, _ in owned(Forged(file_of(name)).values)}
    assert {f"{kind}.{field.name}" for kind, known in KNOWN.items() for field in fields(known)} <= found
    assert {*MAY_BE_SMALLER, *MAY_DIFFER, *MAY_NOT_PREDICT} <= found


@pytest.mark.parametrize("kind", [*KNOWN, "model"])
def test_a_field_of_any_value_is_changed(kind, child, tmp_path):
    change_all([one for one in places_of(*MODELS) if one[1].startswith(f"{kind}.")], child, tmp_path / "model")


def change_all(places, child, path):
    """Try all changes of some places."""
    wrong = []
    for name, owner, place in places:
        contents, columns = file_of(name), -COLUMNS if name == "text" else COLUMNS
        honest = numbers(child.answer(Forged(contents).write(path), columns))
        for how, change in changes(Forged(contents), place):
            forged = Forged(contents)
            change(forged)
            fault = fault_of(owner, child.answer(forged.write(path), columns), honest)
            if fault:
                wrong.append((name, owner, place, how, fault))
    assert wrong == []


# -- machines that skops makes, without their constructors -----------------------------------------------------------

MACHINE = {
    "": ("_labels", "support_vectors_", "n_features_in_", "classes_", "gamma_", "_machine", "_scaling", "_kernel"),
    "_machine": ("codes", "pairs", "support", "coefs", "intercepts", "kernel_sizes"),
    "_scaling": ("shift", "width"),
    "_kernel": ("name", "gamma"),
}


@pytest.mark.parametrize("part", MACHINE)
def test_a_field_of_a_single_machine_is_changed(part, child, tmp_path):
    path, wrong = tmp_path / "model", []
    path.write_bytes(file_of("independent"))
    honest = numbers(child.answer(path, COLUMNS))
    for field in MACHINE[part]:
        old = part_of(model("independent"), part).__dict__[field]
        values = [one for one in ANYTHING if not isinstance(one, dict)]
        values += [np.array(one, order="K") for one in other_arrays(old)] if isinstance(old, np.ndarray) else []
        for value in values:
            forged = copy.deepcopy(model("independent"))
            part_of(forged, part).__dict__[field] = value
            path.write_bytes(saved(forged))
            said = child.answer(path, COLUMNS)
            # What a classifier says is looked at, whoever it is.
            checked = ("refused", "raised by predict: ValueError", "raised by predict: TypeError: classifier 0.predict")
            if not said.startswith(checked) and not (said.startswith("ok ") and numbers(said) == honest):
                wrong.append((part, field, _shown(value), said))
    assert wrong == []


def part_of(clf, part):
    """Return the first machine of a model, or one of its parts."""
    machine = clf.classifiers_[0]
    return getattr(machine, part) if part else machine


def numbers(said):
    assert said.startswith("ok "), said
    return json.loads(said[3:])


def fault_of(owner, said, honest):
    """Return what is wrong with what became of a file; None where nothing is."""
    if said.startswith("refused"):
        return None
    if not said.startswith("ok "):
        refused = tuple(f"raised by predict: {name}" for name in ("ValueError", "NotFittedError"))
        allowed = owner in MAY_NOT_PREDICT and said.startswith(refused)
        return None if allowed else said
    found = numbers(said)
    if found == honest or owner in MAY_BE_SMALLER:
        return None
    if owner not in MAY_DIFFER:
        return "other numbers"
    bounds = {place: one for place, one in honest.items() if place.endswith(".bound") and "baselines" not in place}
    if owner == SOFT_SAID:
        bounds = {place: one for place, one in bounds.items() if not place.startswith("soft.")}
    smaller = [place for place, one in bounds.items() if found.get(place, 1.0) < one]
    return f"smaller {smaller}" if smaller else None
