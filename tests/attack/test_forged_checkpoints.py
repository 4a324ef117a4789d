"""Altered checkpoints: every SHA-256 is right, as somebody who can write a chunk can write the manifest, too."""

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
    """Two widths of machines, with their folds."""
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
def again(finished, tmp_path):
    """A function that goes on from a finished run whose first chunk of a part is changed."""

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
    """Return the bytes of a chunk, changed."""
    chunk, file = Chunk(path), io.BytesIO()
    change(chunk)
    np.savez(file, *chunk.arrays, np.frombuffer(json.dumps(chunk.values).encode(), dtype=np.uint8))
    return file.getvalue()


class Chunk:
    """Values and arrays of a unit, to be changed: ``chunk["0.machine.coefs"]`` is an array, or what JSON holds."""

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
    """What changes one part of a unit."""
    return lambda chunk: chunk.__setitem__(place, change(chunk[place]))


def test_what_answers_now_is_counted(again):
    """A machine that somebody changed is certified as it is, not as it was: no errors are stored."""
    true, (X, y) = svm(None).errors, rows(3)
    found = again("svm", changed("0.machine.coefs", np.negative))
    validation = found.splits(0)[1]
    assert found.errors[0] == np.count_nonzero(found[0].predict(X[validation]) != y[validation]) > true[0]
    np.testing.assert_array_equal(found.errors[1:], true[1:])


WRONG = {
    "rows that are not there": changed("0.support", lambda rows: rows + 10**6),
    "rows of validation": changed("0.support", lambda rows: np.arange(rows.size)),
    "rows of another number": changed("0.support", lambda rows: rows[:-1]),
    "pairs of no class": changed("1.machine.pairs", lambda pairs: pairs + 7),
    "codes of no class": changed("1.machine.codes", lambda codes: codes + 7),
    "coefficients of another shape": changed("1.machine.coefs", lambda coefs: coefs.T.copy()),
    "coefficients of another type": changed("1.machine.coefs", lambda coefs: coefs.astype(np.float32)),
    "coefficients by their number twice": changed("1.machine.coefs", lambda coefs: {"@": "array", "number": 0}),
    "a scaling of other columns": lambda chunk: chunk.__setitem__("2.scaling.shift", chunk["0.support"]),
    "a kernel that is none": changed("1.kernel.name", lambda name: "loud"),
    "a width that is none": changed("1.kernel.gamma", lambda gamma: -1.0),
    "a kernel instead of a scaling": lambda chunk: chunk.__setitem__("2.scaling", chunk["2.kernel"]),
    "another class": changed("1.kernel", lambda kernel: {"@": "Popen", "args": "true"}),
    "fewer classifiers": lambda chunk: chunk.values.pop(),
    "a part less": lambda chunk: chunk.values[0]["machine"].pop("coefs"),
}


@pytest.mark.parametrize("how", WRONG)
def test_machines_that_cannot_be_are_refused(how, again):
    with pytest.raises(ValueError, match=r"chunk-0000\.npz"):
        again("svm", WRONG[how])


ANSWERS, DECISIONS = "0.values.0", "0.values.1"
WRONG_FAMILY = {
    "machines of fewer rows": ("machines", changed("0.pairs.values.0.rows", lambda rows: rows[:-1])),
    "machines of other lambdas": ("machines", changed("0.pairs.values.0.path.lambdas", lambda lambdas: 2 * lambdas)),
    "answers instead of machines": ("machines", changed("0", lambda machines: {"@": "tuple", "values": [1, 2]})),
    "answers of fewer rows": ("folds-0", changed(ANSWERS, lambda answers: answers[:, :1])),
    "answers of no class": ("folds-0", changed(ANSWERS, lambda answers: answers + 7)),
    "answers of another type": ("folds-0", changed(ANSWERS, lambda answers: answers.astype(float))),
    "decisions of one row": ("folds-0", changed(DECISIONS, lambda decisions: decisions[:, :1])),
    "decisions that are infinite": ("folds-0", changed(DECISIONS, lambda decisions: decisions + np.float32(np.inf))),
    "no decisions": ("folds-0", changed(DECISIONS, lambda decisions: None)),
}


@pytest.mark.parametrize("how", WRONG_FAMILY)
def test_a_family_that_cannot_be_is_refused(how, again):
    part, change = WRONG_FAMILY[how]
    with pytest.raises(ValueError, match=r"chunk-0000\.npz|Pair.rows|SVMPath.lambdas"):
        again("family", change, f"svm/{part}")


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("packed", [False, True], ids=["alone", "in an archive"])
@pytest.mark.parametrize(("kind", "part"), [("svm", "."), ("family", "svm/machines"), ("family", "svm/folds-0")])
def test_a_pickle_among_machines_is_not_read(kind, part, packed, again, tmp_path):
    trap, file = np.array([Trap(tmp_path / "sprung")], dtype=object), io.BytesIO()
    if packed:
        np.savez(file, trap, allow_pickle=True)
    else:
        pickle.dump(trap.tolist(), file)
    with pytest.raises(ValueError, match=r"chunk-0000.* cannot be used"):
        again(kind, file.getvalue(), part)
    assert not (tmp_path / "sprung").exists()


NESTED = json.loads("[" * 50 + "]" * 50)
