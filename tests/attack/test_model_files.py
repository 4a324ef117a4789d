"""Forged model files: changed skops schemas, and arrays of wrong shapes for compiled code.

Every file has the right digest, which an attacker can compute.  It must be rejected with a `ValueError`, or load to a
model that predicts, without a crash, a hang or exhausted memory: files are loaded in a child process.  Fields of our
own values are changed in test_forged_values.py.
"""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attack.small_models import COLUMNS, model, nodes_of, with_parts
from tests.files.model_files import Forged

from pacbayes.svm.kernel import Kernel
from pacbayes.svm.one_vs_one import binary_decisions, path_scores


@pytest.mark.parametrize("number", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_any_change_of_a_schema_is_harmless(number, child, tmp_path):
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    runner = settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=checks)
    runner(given(data=st.data())(change_a_node))(child, tmp_path)


def change_a_node(child, tmp_path, data):
    forged = Forged.of(model("independent"))
    with zipfile.ZipFile(io.BytesIO(forged.objects)) as archive:
        tree = json.loads(archive.read("schema.json"))
    nodes = list(nodes_of(tree))
    node, other = (nodes[data.draw(st.integers(0, len(nodes) - 1))] for _ in range(2))
    change = data.draw(st.sampled_from(["number", "content", "loader", "type", "swap", "drop", "literal"]))
    if change == "number":
        node["__id__"] = other.get("__id__")
    elif change == "content":
        node["content"] = json.loads(json.dumps(other.get("content")))  # may contain the node itself
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
    forged.objects = with_parts(forged.objects, {"schema.json": json.dumps(tree)})
    result = child.load(forged.write(tmp_path / "model"), COLUMNS)
    assert result.startswith(("ok", "refused", "raised by predict")), result


def test_compiled_code_checks_shapes():
    """Independent of the source: chunks of a checkpoint are checked less than models."""
    with pytest.raises(ValueError, match="the same number of columns, got 3 and 1"):
        Kernel("rbf", 1.0).between(np.zeros((2, 3)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="4 rows, one per coefficient, got 2"):
        binary_decisions(np.ones(4), 0.0, np.ones((2, 5)))
    path = model("two").classifiers_.members.svms[0].pairs[0].path
    with pytest.raises(ValueError, match="30 rows, one per coefficient, got 1"):
        path_scores(path, 1.0).positive(np.ones((1, 5)))
