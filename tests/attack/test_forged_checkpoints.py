"""Forged checkpoints, with a matching SHA-256 in the manifest."""

import hashlib
import io
import json
import os
import pickle
import shutil

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import rows

from pacbayes import CertifiedClassifier, SVMs, grid_set, svm_set

LAMBDAS = [0.1, 1.0, 10.0]


def svm(checkpoint):
    return svm_set(*rows(3), LAMBDAS, split="independent", random_state=0, checkpoint=checkpoint)


def grid(checkpoint):
    return grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2]}, *rows(3), random_state=0, checkpoint=checkpoint)


def family(checkpoint):
    """SVMs of two widths, with their folds."""
    model = CertifiedClassifier([("svm", SVMs(LAMBDAS, gamma=[0.1, 1.0]))], cv=2, checkpoint=checkpoint, random_state=0)
    return model.fit(*rows(3))


RUNS = {"svm": svm, "grid": grid, "family": family}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Directories of finished runs."""
    directories = {kind: tmp_path_factory.mktemp(kind) for kind in RUNS}
    for kind, run in RUNS.items():
        run(directories[kind])
    return directories


@pytest.fixture
def resume(finished, tmp_path):
    """Resume a finished run with a changed first chunk."""

    def run(kind, change, part="."):
        shutil.copytree(finished[kind], tmp_path / "run")
        (chunk,) = (tmp_path / "run" / part).glob("chunk-0000.*")
        data = change if isinstance(change, bytes) else change_of(chunk, change)
        chunk.write_bytes(data)
        manifest = json.loads((chunk.parent / "manifest.json").read_text())
        manifest["chunks"]["0"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        (chunk.parent / "manifest.json").write_text(json.dumps(manifest))
        return RUNS[kind](tmp_path / "run")

    return run


def change_of(path, change):
    """Change a chunk and return its bytes."""
    chunk, file = Chunk(path), io.BytesIO()
    change(chunk)
    np.savez(file, *chunk.arrays, np.frombuffer(json.dumps(chunk.values).encode(), dtype=np.uint8))
    return file.getvalue()


class Chunk:
    """Values and arrays of a chunk: ``chunk["0.svm.coefs"]`` is an array, or a JSON value."""

    def __init__(self, path):
        with np.load(path) as file:
            *self.arrays, values = (file[f"arr_{place}"] for place in range(len(file.files)))
        self.values = json.loads(values.tobytes())

    def _entry(self, place):
        *outer, name = (int(part) if part.isdecimal() else part for part in place.split("."))
        holder = self.values
        for part in outer:
            holder = holder[part]
        return holder, name

    def __getitem__(self, place):
        holder, name = self._entry(place)
        value = holder[name]
        return self.arrays[value["number"]] if isinstance(value, dict) and value.get("@") == "array" else value

    def __setitem__(self, place, value):
        holder, name = self._entry(place)
        if isinstance(value, np.ndarray):
            self.arrays.append(value)
            value = {"@": "array", "number": len(self.arrays) - 1}
        holder[name] = value


def changed(place, change):
    """Make a change of one place of a chunk."""
    return lambda chunk: chunk.__setitem__(place, change(chunk[place]))


def test_errors_of_a_changed_svm_are_recounted(resume):
    """No errors are stored."""
    true, (X, y) = svm(None).errors, rows(3)
    svms = resume("svm", changed("0.svm.coefs", np.negative))
    validation = svms.splits(0)[1]
    assert svms.errors[0] == np.count_nonzero(svms[0].predict(X[validation]) != y[validation]) > true[0]
    np.testing.assert_array_equal(svms.errors[1:], true[1:])


SVM_FORGERIES = {
    "rows out of range": changed("0.support", lambda rows: rows + 10**6),
    "validation rows": changed("0.support", lambda rows: np.arange(rows.size)),
    "fewer rows": changed("0.support", lambda rows: rows[:-1]),
    "pairs of unknown classes": changed("1.svm.pairs", lambda pairs: pairs + 7),
    "codes of unknown classes": changed("1.svm.codes", lambda codes: codes + 7),
    "transposed coefficients": changed("1.svm.coefs", lambda coefs: coefs.T.copy()),
    "coefficients of another type": changed("1.svm.coefs", lambda coefs: coefs.astype(np.float32)),
    "an array referenced twice": changed("1.svm.coefs", lambda coefs: {"@": "array", "number": 0}),
    "a scaling of other columns": lambda chunk: chunk.__setitem__("2.scaling.shift", chunk["0.support"]),
    "an unknown kernel": changed("1.kernel.name", lambda name: "loud"),
    "a negative width": changed("1.kernel.gamma", lambda gamma: -1.0),
    "a kernel instead of a scaling": lambda chunk: chunk.__setitem__("2.scaling", chunk["2.kernel"]),
    "an unknown class": changed("1.kernel", lambda kernel: {"@": "Popen", "args": "true"}),
    "fewer classifiers": lambda chunk: chunk.values.pop(),
    "a missing part": lambda chunk: chunk.values[0]["svm"].pop("coefs"),
}


@pytest.mark.parametrize("how", SVM_FORGERIES)
def test_forged_svms_are_rejected(how, resume):
    with pytest.raises(ValueError, match=r"chunk-0000\.npz"):
        resume("svm", SVM_FORGERIES[how])


PREDICTIONS, DECISIONS = "0.values.0", "0.values.1"
FAMILY_FORGERIES = {
    "SVMs with fewer rows": ("widths", changed("0.pairs.values.0.rows", lambda rows: rows[:-1])),
    "SVMs for other lambdas": ("widths", changed("0.pairs.values.0.path.lambdas", lambda lambdas: 2 * lambdas)),
    "predictions instead of SVMs": ("widths", changed("0", lambda svms: {"@": "tuple", "values": [1, 2]})),
    "predictions of fewer rows": ("folds-0", changed(PREDICTIONS, lambda y_pred: y_pred[:, :1])),
    "predictions of unknown classes": ("folds-0", changed(PREDICTIONS, lambda y_pred: y_pred + 7)),
    "predictions of another type": ("folds-0", changed(PREDICTIONS, lambda y_pred: y_pred.astype(float))),
    "decision values of one row": ("folds-0", changed(DECISIONS, lambda decisions: decisions[:, :1])),
    "infinite decision values": ("folds-0", changed(DECISIONS, lambda decisions: decisions + np.float32(np.inf))),
    "no decision values": ("folds-0", changed(DECISIONS, lambda decisions: None)),
}


@pytest.mark.parametrize("how", FAMILY_FORGERIES)
def test_a_forged_family_is_rejected(how, resume):
    part, change = FAMILY_FORGERIES[how]
    with pytest.raises(ValueError, match=r"chunk-0000\.npz|Pair.rows|SVMPath.lambdas"):
        resume("family", change, f"svm/{part}")


class Trap:
    """Creates a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("packed", [False, True], ids=["alone", "in an archive"])
@pytest.mark.parametrize(("kind", "part"), [("svm", "."), ("family", "svm/widths"), ("family", "svm/folds-0")])
def test_a_pickle_instead_of_svms_is_not_read(kind, part, packed, resume, tmp_path):
    trap, file = np.array([Trap(tmp_path / "sprung")], dtype=object), io.BytesIO()
    if packed:
        np.savez(file, trap, allow_pickle=True)
    else:
        pickle.dump(trap.tolist(), file)
    with pytest.raises(ValueError, match=r"chunk-0000.* cannot be used"):
        resume(kind, file.getvalue(), part)
    assert not (tmp_path / "sprung").exists()
