"""Altered checkpoints: every SHA-256 is right, as somebody who can write a chunk can write the manifest, too."""

import hashlib
import io
import json
import pickle

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import rows

from pacbayes import grid_set, svm_set

LAMBDAS = [0.1, 1.0, 10.0]


def svm(checkpoint):
    return svm_set(*rows(3), LAMBDAS, split="independent", random_state=0, checkpoint=checkpoint)


def grid(checkpoint):
    return grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2]}, *rows(3), random_state=0, checkpoint=checkpoint)


def write_chunk(directory, data):
    """Put other bytes in the place of the first chunk, and their SHA-256 into the manifest."""
    next(directory.glob("chunk-0000.*")).write_bytes(data)
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["chunks"]["0"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (directory / "manifest.json").write_text(json.dumps(manifest))


def with_arrays(directory, change):
    with np.load(directory / "chunk-0000.npz") as file:
        arrays = dict(file.items())
    change(arrays)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_chunk(directory, buffer.getvalue())


def test_errors_of_stored_machines_are_counted_anew(tmp_path):
    """A checkpoint holds classifiers: errors beside them are not believed."""
    true = svm(tmp_path).errors
    assert true.any()

    def none(arrays):
        assert "errors" not in arrays
        arrays["errors"] = np.zeros((len(LAMBDAS), 1), dtype=np.int64)

    with_arrays(tmp_path, none)
    np.testing.assert_array_equal(svm(tmp_path).errors, true)


def test_what_answers_now_is_counted(tmp_path):
    """A machine that somebody changed is certified as it is, not as it was."""
    true = svm(tmp_path).errors
    with_arrays(tmp_path, lambda arrays: arrays.update({"0.coefs": -arrays["0.coefs"]}))
    found, (X, y) = svm(tmp_path), rows(3)
    validation = found.splits(0)[1]
    assert found.errors[0] == np.count_nonzero(found[0].predict(X[validation]) != y[validation]) > true[0]
    np.testing.assert_array_equal(found.errors[1:], true[1:])


def fewer(arrays):
    arrays["converged"] = arrays["converged"][:2]


WRONG = {
    "rows that are not there": lambda arrays: arrays.update({"0.rows": arrays["0.rows"] + 10**6}),
    "rows of validation": lambda arrays: arrays.update({"0.rows": np.arange(arrays["0.rows"].size)}),
    "rows of another number": lambda arrays: arrays.update({"0.rows": arrays["0.rows"][:-1]}),
    "pairs of no class": lambda arrays: arrays.update({"1.pairs": arrays["1.pairs"] + 7}),
    "codes of no class": lambda arrays: arrays.update({"1.codes": arrays["1.codes"] + 7}),
    "coefficients of another shape": lambda arrays: arrays.update({"1.coefs": arrays["1.coefs"].T.copy()}),
    "coefficients of another type": lambda arrays: arrays.update({"1.coefs": arrays["1.coefs"].astype(np.float32)}),
    "a scaling of other columns": lambda arrays: arrays.update({"2.shift": np.zeros(9)}),
    "a kernel that is none": lambda arrays: arrays.update({"kernel": np.array(["rbf", "loud", "rbf"])}),
    "a width that is none": lambda arrays: arrays.update({"gamma": np.full(3, -1.0)}),
    "fewer classifiers": fewer,
    "widths for fewer": lambda arrays: arrays.update({"gamma": arrays["gamma"][:1]}),
    "a part less": lambda arrays: arrays.pop("0.coefs"),
}


@pytest.mark.parametrize("how", WRONG)
def test_machines_that_cannot_be_are_refused(how, tmp_path):
    svm(tmp_path)
    with_arrays(tmp_path, WRONG[how])
    with pytest.raises(ValueError, match=r"chunk-0000\.npz"):
        svm(tmp_path)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("content", [nested(50), [nested(50)] * 2, [], [None] * 2, 7, {"0": 1, "1": 2}])
def test_pickles_of_something_else_are_refused(content, tmp_path):
    grid(tmp_path)
    write_chunk(tmp_path, pickle.dumps(content))
    with pytest.raises(ValueError, match=r"chunk-0000\.pickle"):
        grid(tmp_path)


@pytest.mark.parametrize("run", [svm, grid])
@pytest.mark.parametrize(
    "manifest",
    [
        "[" * 200_000 + "]" * 200_000,
        '{"format": 2, "run": {"random_state": 0, "X": ' + "[" * 200_000 + "]" * 200_000 + '}, "chunks": {}}',
        '{"format": 2, "run": {"random_state": -1}, "chunks": {}}',
        '{"format": 2, "run": {"random_state": true}, "chunks": {}}',
        '{"format": 2, "run": {"random_state": 0}, "chunks": {"first": {"sha256": ""}}}',
    ],
    ids=["nested", "nested inside", "negative seed", "no seed", "no number"],
)
def test_manifests_of_something_else_are_refused(manifest, run, tmp_path):
    run(tmp_path)
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(ValueError, match=r"manifest\.json must be a manifest of format"):
        run(tmp_path)
