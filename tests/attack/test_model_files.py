"""Hostile model files: parts that do not fit together, numbers that cannot be, types in the wrong place.

Every file here has the right digest, as somebody who can write a file can write that, too.  Each must either be refused
with a `ValueError` or load to a model that predicts; it must not crash, stop or fill the process.  What could do that
is loaded in a process of its own.
"""

import io
import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attack.small_models import COLUMNS, MACHINES, file_of, model, nodes_of, rows, with_parts
from tests.files.model_files import read, rewrite, state_of, write_state

from pacbayes import load
from pacbayes.classifiers.svm.kernel import Kernel
from pacbayes.classifiers.svm.path_scores import decisions_of_one, path_scores

# -- parts that do not fit together ----------------------------------------------------------------------------------


def parts_of(value, place=()):
    """Yield the places of everything in a state: dict keys and list numbers from the outside in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for name, part in inner:
        yield (*place, name)
        yield from parts_of(part, (*place, name))


def at(value, place):
    for name in place:
        value = value[name]
    return value


def put(value, place, new):
    """Return the state with something else in one place."""
    if not place:
        return new
    first, *rest = place
    if isinstance(value, tuple):
        return tuple(put(part, rest, new) if i == first else part for i, part in enumerate(value))
    value[first] = put(value[first], rest, new)
    return value


SCALARS = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 2, 3, 7, 2**31, 2**62, 10**30, 0.0, -1.0, 0.5, 1e308, 5e-324, math.nan, math.inf),
        *("", "text", "shared", "linear", "rbf", [], {}, (), b"", [[[[[]]]]], {"pacbayes:type": "Kernel"}),
    ]
)


@st.composite
def arrays_like(draw, old):
    """An array that is almost the one in its place: other values, other shape or another type."""
    new = np.array(old)
    kind = draw(st.sampled_from(["fill", "one", "shuffle", "type", "shape", "order", "length"]))
    if kind == "type":
        return new.astype(draw(st.sampled_from(["f4", "f8", "i4", "i8", "u8", "?", "c16", "U5", "S3", ">f8", ">i8"])))
    if kind == "shape":
        return new.reshape(draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (1, 1, -1)])))
    if kind == "order":
        return np.asfortranarray(new) if draw(st.booleans()) else new[::-1].copy() if new.ndim else new
    if kind == "length" and new.ndim:
        return draw(st.sampled_from([new[:0], new[:1], new[:-1], np.concatenate([new, new])]))
    if kind == "shuffle":
        return np.random.default_rng(draw(st.integers(0, 9))).permutation(new.ravel()).reshape(new.shape)
    if new.dtype.kind not in "biuf" or new.size == 0:
        return new
    with np.errstate(all="ignore"):
        value = draw(st.sampled_from([0, 1, -1, 3, 29, 10**6, 2**40, 2**62, math.nan, math.inf, 1e300]))
        filled = np.full(new.shape, value).astype(new.dtype) if math.isfinite(value) or new.dtype.kind == "f" else new
    if kind == "fill":
        return filled
    flat = new.ravel()
    flat[draw(st.integers(0, flat.size - 1))] = filled.ravel()[0]
    return flat.reshape(new.shape)


def settled(number):
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=checks)


# How many changes are tried, quickly and for long.
NUMBERS = [25, pytest.param(400, marks=pytest.mark.slow)]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", MACHINES)
def test_any_part_of_machines_may_be_anything(name, number, child, tmp_path):
    settled(number)(given(data=st.data())(change_a_part))(name, child, tmp_path)


def change_a_part(name, child, tmp_path, data):
    state = state_of(model(name))
    inside = [place for place in parts_of(state) if place[0] != "params"]
    place = data.draw(st.sampled_from(inside))
    old = at(state, place)
    changes = SCALARS | arrays_like(old) if isinstance(old, np.ndarray) and old.dtype != object else SCALARS
    state = put(state, place, data.draw(changes))
    write_state(tmp_path / "model", state)
    said = child.answer(tmp_path / "model", COLUMNS)
    assert said.startswith(("ok", "refused")), (place, said)


@pytest.mark.parametrize("name", ["two", pytest.param("three", marks=pytest.mark.slow), "independent"])
def test_every_part_of_machines_may_be_missing(name, child, tmp_path):
    whole = state_of(model(name))
    for place in parts_of(whole):
        if place[0] == "params" or not isinstance(at(whole, place[:-1]), dict):
            continue
        state = state_of(model(name))
        del at(state, place[:-1])[place[-1]]
        write_state(tmp_path / "model", state)
        said = child.answer(tmp_path / "model", COLUMNS)
        assert said.startswith(("ok", "refused")), (place, said)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["two", "independent"])
def test_any_node_of_a_schema_may_be_anything(name, number, child, tmp_path):
    settled(number)(given(data=st.data())(change_a_node))(name, child, tmp_path)


def change_a_node(name, child, tmp_path, data):
    path = tmp_path / "model"
    path.write_bytes(file_of(name))
    contents = read(path)[1]
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        tree = json.loads(archive.read("schema.json"))
    nodes = list(nodes_of(tree))
    node, other = (nodes[data.draw(st.integers(0, len(nodes) - 1))] for _ in range(2))
    change = data.draw(st.sampled_from(["number", "content", "loader", "type", "swap", "drop", "literal"]))
    if change == "number":
        node["__id__"] = other.get("__id__")
    elif change == "content":
        node["content"] = json.loads(json.dumps(other.get("content")))  # it may hold the node itself
    elif change == "loader":
        node["__loader__"] = other["__loader__"]
    elif change == "type":
        node["__module__"], node["__class__"] = other["__module__"], other["__class__"]
    elif change == "swap":
        node.clear()
        node.update(json.loads(json.dumps(other)))
    elif change == "drop":
        node.pop(data.draw(st.sampled_from(sorted(node))))
    elif "content" in node:
        node["content"] = data.draw(st.sampled_from(["-1", "1e999", "NaN", "[[]]", "10000000000", "null", '"x"', "{"]))
    rewrite(path, change=lambda old: with_parts(old, {"schema.json": json.dumps(tree)}))
    said = child.answer(path, COLUMNS)
    assert said.startswith(("ok", "refused", "raised by predict")), said


@pytest.mark.parametrize("name", MACHINES)
def test_without_a_change_everything_comes_back(name, tmp_path):
    (tmp_path / "model").write_bytes(file_of(name))
    again, clf, X = load(tmp_path / "model"), model(name), rows(2)[0]
    assert again.certificates_ == clf.certificates_
    assert np.array_equal(again.classifiers_.risks, clf.classifiers_.risks)
    assert np.array_equal(again.predict(X), clf.predict(X))


def test_compiled_code_is_handed_no_wrong_shapes():
    """Wherever they come from: the chunks of a checkpoint are not checked as a model is."""
    with pytest.raises(ValueError, match="equally many columns, got 3 and 1"):
        Kernel("rbf", 1.0).between(np.zeros((2, 3)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="a row for each of 4 coefficients, got 2"):
        decisions_of_one(np.ones(4), 0.0, np.ones((2, 5)), 0, 5)
    path = model("two").classifiers_.members.machines.pairs[0].path
    with pytest.raises(ValueError, match="a row for each of 30 coefficients, got 1"):
        path_scores(path, 1.0).positive(np.ones((1, 5)))


def test_rows_of_a_pair_that_are_all_the_first_crash_nothing(child, tmp_path):
    """The kernel has one row then, and compiled code would read as many as there are coefficients."""
    for name in ("two", "three"):
        state = state_of(model(name))
        pair = state["fitted"]["classifiers_"]["_members"]["machines"]["pairs"][0]
        pair["rows"] = np.zeros_like(pair["rows"])
        write_state(tmp_path / "model", state)
        assert "Pair.rows must be sorted, different" in child.answer(tmp_path / "model", COLUMNS)


@pytest.mark.parametrize("wrong", [0.0, False, None, "0"])
def test_classes_of_a_pair_are_whole_numbers(wrong, child, tmp_path):
    """What is equal to a class is not yet an index: such a file was taken, and predicting failed."""
    state = state_of(model("two"))
    state["fitted"]["classifiers_"]["_members"]["machines"]["pairs"][0]["first"] = wrong
    write_state(tmp_path / "model", state)
    assert "Machines.pairs must be all pairs of the classes" in child.answer(tmp_path / "model", COLUMNS)
