"""Checkpoints: what is refused and why, what is done again, and that nothing else is."""

import json
import os
import pickle
import shutil

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from tests._utils.long_run import RUNS, SETS, X, Y, bits

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, grid_set, svm_set
from pacbayes._utils.checkpoint import kept_in, open_checkpoint, pickled, seed_of_run
from pacbayes.svm import machines as machines_module

SMALL = 120
SUFFIX = {"grid": "pickle", "svm": "npz"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Directories of finished runs, and what they gave."""
    found = {}
    for kind, run in SETS.items():
        directory = tmp_path_factory.mktemp(kind)
        found[kind] = directory, bits(run(directory, number=SMALL))
    return found


@pytest.fixture(params=list(SETS))
def run(request, finished, tmp_path):
    """A copy of a finished directory, the run that made it and what it gave."""
    directory, expected = finished[request.param]
    shutil.copytree(directory, tmp_path / "run")
    return request.param, tmp_path / "run", expected


def again(kind, directory):
    return RUNS[kind](directory, number=SMALL)


def test_same_with_and_without(run):
    kind, directory, expected = run
    assert bits(RUNS[kind](None, number=SMALL)) == expected
    names = {path.name for path in directory.iterdir()}
    assert names == {"lock", "manifest.json", *(f"chunk-{k:04d}.{SUFFIX[kind]}" for k in range(3))}
    manifest = json.loads((directory / "manifest.json").read_text())
    assert set(manifest["chunks"]) == {"0", "1", "2"}
    assert all(len(chunk["sha256"]) == 64 for chunk in manifest["chunks"].values())


def test_finished_work_is_not_done_again(run, monkeypatch):
    kind, directory, expected = run

    def never(task, shared, i):
        raise AssertionError(i)

    monkeypatch.setattr("pacbayes._utils.units._numbered", never)
    assert bits(again(kind, directory)) == expected


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "gone", "swapped"])
def test_damaged_chunk_is_done_again_alone(run, damage):
    kind, directory, expected = run
    chunk, other = (directory / f"chunk-000{k}.{SUFFIX[kind]}" for k in (1, 0))
    data = bytearray(chunk.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    if damage == "gone":
        chunk.unlink()
    else:
        chunk.write_bytes({"cut": data[:-7], "emptied": b"", "swapped": other.read_bytes()}.get(damage, data))
    untouched = {path: path.stat().st_mtime_ns for path in directory.glob("chunk-*") if path != chunk}
    with pytest.warns(UserWarning, match=r"chunk-0001.* was damaged .*trained again"):
        assert bits(again(kind, directory)) == expected
    assert untouched == {path: path.stat().st_mtime_ns for path in untouched}
    assert bits(again(kind, directory)) == expected


def test_altered_pickle_is_not_read(finished, tmp_path):
    shutil.copytree(finished["grid"][0], tmp_path / "run")

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    (tmp_path / "run" / "chunk-0002.pickle").write_bytes(pickle.dumps([Trap()]))
    with pytest.warns(UserWarning, match="chunk-0002"):
        assert bits(again("grid", tmp_path / "run")) == finished["grid"][1]
    assert not (tmp_path / "sprung").exists()


def changed(kind, directory, change):
    arguments = {"X": X, "y": Y, "split": "independent", "random_state": 4, "checkpoint": directory}
    if kind == "svm":
        return svm_set(**(arguments | {"lambdas": np.geomspace(0.01, 100.0, SMALL)} | change))
    arguments |= {"estimator": DecisionTreeClassifier(), "param_grid": {"min_samples_leaf": range(1, SMALL + 1)}}
    return grid_set(**(arguments | change))


OTHERS = [
    ({"X": np.nextafter(X, np.inf)}, r"are: X \([0-9a-f]{12}\.\.\. there, [0-9a-f]{12}\.\.\. here\)\. Give"),
    ({"y": 1 - Y}, r"are: y \("),
    ({"validation_size": 0.4}, r"are: validation_size \(0\.5 there, 0\.4 here\)"),
    ({"random_state": 5}, r"are: random_state \(4 there, 5 here\)"),
    ({"duplicates": "together", "random_state": 6}, r"are: duplicates \('keep' there, 'together' here\); random_state"),
]


@pytest.mark.parametrize("kind", SETS)
def test_another_run_is_refused(kind, tmp_path, monkeypatch):
    changed(kind, tmp_path, {})
    files = {path: path.read_bytes() for path in tmp_path.iterdir() if path.name != "lock"}
    own = {
        "svm": [
            ({"lambdas": np.geomspace(0.1, 1.0, SMALL)}, "are: lambdas"),
            ({"gamma": 0.1}, r"gamma \('sigest' there"),
        ],
        "grid": [
            ({"estimator": DecisionTreeClassifier(max_depth=2)}, "are: estimator and param_grid"),
            ({"param_grid": {"min_samples_leaf": range(2, SMALL + 2)}}, "are: estimator and param_grid"),
            ({"param_grid": {"min_samples_leaf": range(1, 9)}}, r"number of classifiers \(120 there, 8 here\)"),
            ({"sample_weight": np.ones(len(Y))}, r"are: sample_weight \(None there"),
        ],
    }[kind]
    for change, message in OTHERS + own:
        with pytest.raises(ValueError, match=message):
            changed(kind, tmp_path, change)
    monkeypatch.setattr(sklearn, "__version__", "9.9")
    with pytest.raises(ValueError, match=r"are: version of sklearn \(.* there, 9\.9 here\)"):
        changed(kind, tmp_path, {})
    assert files == {path: path.read_bytes() for path in tmp_path.iterdir() if path.name != "lock"}
    other = "svm" if kind == "grid" else "grid"
    with pytest.raises(ValueError, match=rf"function \({kind}_set there, {other}_set here\)"):
        changed(other, tmp_path, {})


def test_without_random_state_the_run_goes_on_with_its_seed(tmp_path):
    first, second = (changed("grid", tmp_path, {"random_state": None}) for _ in range(2))
    fresh = changed("grid", None, {"random_state": None})
    assert bits(first) == bits(second) != bits(fresh)


@pytest.mark.parametrize("model", [
    CertifiedClassifier(Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}), voting="stochastic", cv=3),
    StochasticSVC([0.1, 1.0], split="independent"),
])  # fmt: skip
def test_without_random_state_an_estimator_goes_on_too(tmp_path, model):
    data = load_breast_cancer(return_X_y=True)
    model.set_params(checkpoint=str(tmp_path))
    first = model.fit(*data).classifiers_.errors
    np.testing.assert_array_equal(model.fit(*data).classifiers_.errors, first)


def test_two_at_once(tmp_path):
    with (
        open_checkpoint(tmp_path, pickled(callable, "classifiers")),
        pytest.raises(BlockingIOError, match=f"in use by process {os.getpid()}"),
    ):
        RUNS["grid"](tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "3", '{"format": 1, "run": {}, "chunks": {}}', '{"format": 3, "run": [], "chunks": {}}'),
        '{"format": 3, "run": {"random_state": 1}, "chunks": {"0": "ab"}}',
        '{"format": 3, "run": {"random_state": "a"}, "chunks": {}}',
    ],
)
def test_manifest_of_something_else(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=r"manifest\.json must be a manifest of format 3"):
        RUNS["grid"](tmp_path)
    assert (tmp_path / "manifest.json").read_text() == text


def test_places_that_will_not_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="checkpoint must be a directory that can be written"):
        RUNS["grid"](tmp_path / "file")
    with pytest.raises(NotADirectoryError, match="checkpoint must be a directory that can be written"):
        RUNS["grid"](tmp_path / "file" / "below")
    with pytest.raises(TypeError, match="checkpoint must be the path of a directory or None, got 3"):
        RUNS["grid"](3)
    with pytest.raises(TypeError, match="checkpoint must be the path of a directory or None, got 3"):
        RUNS["family"](3)


def test_disk_that_is_full(tmp_path, monkeypatch):
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 5:  # manifest and its directory, chunk and its directory, manifest
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        again("grid", tmp_path)
    monkeypatch.setattr(os, "fsync", fsync)
    assert not list(tmp_path.glob("*.part"))
    assert bits(again("grid", tmp_path)) == bits(again("grid", None))


def test_what_cannot_be_pickled_is_refused_first(tmp_path):
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows), GaussianNB())
    with pytest.raises(TypeError, match="checkpoint must be None for estimators that cannot be pickled"):
        grid_set(pipe, {"gaussiannb__var_smoothing": [1e-9]}, X, Y, checkpoint=tmp_path)
    assert len(grid_set(pipe, {"gaussiannb__var_smoothing": [1e-9]}, X, Y)) == 1


def test_left_out_classifiers_are_stored_too(tmp_path):
    grid = {"max_depth": [1, -1, 2]}
    for _ in range(2):
        with pytest.warns(UserWarning, match="1 of 3 classifiers could not be fitted"):
            kept = grid_set(
                DecisionTreeClassifier(), grid, X, Y, error_score="drop", random_state=0, checkpoint=tmp_path
            )
        assert [one["params"]["max_depth"] for one in kept.dropped] == [-1]
    with pytest.raises(ValueError, match=r"classifier 1 with {'max_depth': -1} could not be fitted"):
        grid_set(DecisionTreeClassifier(), grid, X, Y, random_state=0, checkpoint=tmp_path)


class ByTheClock(ClassifierMixin, BaseEstimator):
    """Answers otherwise after a while, by the same name."""

    shift = 0.0

    def __init__(self, t=0.0):
        self.t = t

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] + self.shift > self.t).astype(int)


@pytest.mark.filterwarnings("ignore:Column 0 alone decides")
@pytest.mark.parametrize("split", ["shared", "independent"])
def test_stored_classifiers_are_counted_as_they_answer_now(split, tmp_path, monkeypatch):
    """Errors from the checkpoint, counted with code that was edited since, certified 11.1 % of what erred on 14.8 %."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    grid = {"t": [-0.1, 0.0, 0.1]}
    model = CertifiedClassifier(
        Grid(ByTheClock(), grid),
        split=split,
        checkpoint=tmp_path / "run",
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    )
    first = model.fit(X, y).certificate_
    assert model.fit(X, y).certificate_ == first
    monkeypatch.setattr(ByTheClock, "shift", 0.3)
    now, errors = model.fit(X, y).certificate_, model.classifiers_.errors
    # What they said in folds is of training rows, and may be of yesterday.
    np.testing.assert_array_equal(errors, model.set_params(checkpoint=None).fit(X, y).classifiers_.errors)
    assert now != first


# -- a whole family, with its folds ----------------------------------------------------------------------------------


def stored(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("chunk-*"))


def test_a_family_keeps_each_width_and_each_fold(tmp_path):
    expected = bits(RUNS["family"](None))
    assert bits(RUNS["family"](tmp_path)) == expected
    parts = {path.rpartition("/")[0]: 0 for path in stored(tmp_path)}
    for path in stored(tmp_path):
        parts[path.rpartition("/")[0]] += 1
    # Two trees and what they said in folds; five widths, and these without each of three folds.
    assert parts == {"": 2, "folds": 2, "svm/folds-0": 15, "svm/machines": 5}


def test_a_family_goes_on_from_any_unit(tmp_path, monkeypatch):
    expected = bits(RUNS["family"](tmp_path))
    trained = []
    solve = machines_module.solve_path
    monkeypatch.setattr(
        machines_module, "solve_path", lambda *given, **more: trained.append(1) or solve(*given, **more)
    )
    assert bits(RUNS["family"](tmp_path)) == expected
    assert trained == []
    # Lost: a width without a fold, a width, and a tree.
    for name in ("svm/folds-0/chunk-0007.npz", "svm/machines/chunk-0002.npz", "chunk-0001.pickle"):
        (tmp_path / name).unlink()
    with pytest.warns(UserWarning, match="was damaged") as warned:
        assert bits(RUNS["family"](tmp_path)) == expected
    assert len(warned) == 3
    assert len(trained) == 2
    assert bits(RUNS["family"](tmp_path)) == expected
    assert len(trained) == 2


def test_another_family_is_refused(tmp_path):
    RUNS["family"](tmp_path)
    with pytest.raises(ValueError, match=r"holds another run; .*random_state \(4 there, 5 here\)"):
        RUNS["family"](tmp_path, seed=5)
    with pytest.raises(ValueError, match=r"holds another run; .*fold"):
        RUNS["family"](tmp_path, cv=2)


def test_what_is_kept_of_a_family(tmp_path):
    RUNS["family"](tmp_path)
    assert kept_in(tmp_path, "") == f"28 of 28 classifiers are kept in {str(tmp_path)!r}"
    assert seed_of_run(None, tmp_path) == 4
    (tmp_path / "manifest.json").unlink()
    assert seed_of_run(None, tmp_path) == 4


def test_one_width_has_its_units_too(tmp_path):
    given = {"hedge": 0.1, "cv": 3, "random_state": 0}
    alone = StochasticSVC([0.1, 1.0], **given).fit(X, Y)
    for _ in range(2):
        model = StochasticSVC([0.1, 1.0], checkpoint=tmp_path, **given).fit(X, Y)
        np.testing.assert_array_equal(model.classifiers_.errors, alone.classifiers_.errors)
        assert model.certificate_.bound == alone.certificate_.bound
    assert len(stored(tmp_path)) == 4
