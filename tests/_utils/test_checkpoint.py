"""Checkpoints: finished units are loaded, damaged ones are computed rerun, other runs are refused."""

import os
import pickle
import shutil
from collections import Counter

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from tests._utils.long_run import RUNS, SETS, X, Y, bits

from pacbayes import CertifiedClassifier, Grid, grid_set, svm_set
from pacbayes._utils.checkpoint import describe_stored_results, open_checkpoint, pickle_codec, resolve_run_seed
from pacbayes.svm import one_vs_one

SMALL = 120
LAMBDAS = np.geomspace(0.01, 100.0, SMALL)


@pytest.fixture(scope="module", autouse=True)
def no_sleep():
    """Make `SlowTree` fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PACBAYES_SLEEP", "0")
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Directories of finished runs, and their results."""
    directories = {kind: tmp_path_factory.mktemp(kind) for kind in SETS}
    return {kind: (directory, bits(RUNS[kind](directory, number=SMALL))) for kind, directory in directories.items()}


def rerun(kind, directory):
    return bits(RUNS[kind](directory, number=SMALL))


@pytest.mark.parametrize(("kind", "suffix"), [("grid", "pickle"), ("svm", "npz")])
def test_finished_run_is_loaded(kind, suffix, finished, monkeypatch):
    directory, expected = finished[kind]
    assert rerun(kind, None) == expected
    names = {path.name for path in directory.iterdir()}
    assert names == {"lock", "manifest.json", *(f"chunk-{k:04d}.{suffix}" for k in range(3))}

    def never(task, shared, i):
        raise AssertionError(i)

    monkeypatch.setattr("pacbayes._utils.units._run_indexed", never)
    assert rerun(kind, directory) == expected


class Trap:
    """Creates a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "swapped", "a pickle that runs code"])
def test_only_a_damaged_chunk_is_computed_again(finished, tmp_path, damage):
    shutil.copytree(finished["grid"][0], tmp_path / "run")
    chunk, other = (tmp_path / "run" / f"chunk-000{k}.pickle" for k in (1, 0))
    data = chunk.read_bytes()
    flipped = data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]
    trap = pickle.dumps([Trap(tmp_path / "sprung")])
    if damage == "gone":
        chunk.unlink()
    else:
        chunk.write_bytes({"cut": data[:-7], "flipped": flipped, "swapped": other.read_bytes()}.get(damage, trap))
    untouched = {path: path.stat().st_mtime_ns for path in chunk.parent.glob("chunk-*") if path != chunk}
    with pytest.warns(UserWarning, match=r"chunk-0001.* is damaged .*trained again"):
        assert rerun("grid", chunk.parent) == finished["grid"][1]
    assert untouched == {path: path.stat().st_mtime_ns for path in untouched}
    assert rerun("grid", chunk.parent) == finished["grid"][1]
    assert not (tmp_path / "sprung").exists()


def changed(kind, directory, **change):
    arguments = {"X": X, "y": Y, "split": "independent", "random_state": 4, "checkpoint": directory}
    if kind == "svm":
        return svm_set(**(arguments | {"lambdas": LAMBDAS} | change))
    arguments |= {"estimator": DecisionTreeClassifier(), "param_grid": {"min_samples_leaf": range(1, SMALL + 1)}}
    return grid_set(**(arguments | change))


CHANGES = [
    ("svm", {"X": np.nextafter(X, np.inf)}, r"X \([0-9a-f]{12}\.\.\. there, [0-9a-f]{12}\.\.\. here\)\. Use"),
    ("svm", {"validation_size": 0.4}, r"validation_size \(0\.5 there, 0\.4 here\)"),
    ("svm", {"duplicates": "together", "random_state": 6}, r"duplicates \('keep' there, 'together' here\); random_st"),
    ("svm", {"lambdas": np.geomspace(0.1, 1.0, SMALL)}, "lambdas"),
    ("svm", {"gamma": 0.1}, r"gamma \('sigest' there"),
    ("grid", {"y": 1 - Y}, r"y \("),
    ("grid", {"estimator": DecisionTreeClassifier(max_depth=2)}, "estimator and param_grid"),
    ("grid", {"param_grid": {"min_samples_leaf": range(1, 9)}}, r"number of classifiers \(120 there, 8 here\)"),
]  # fmt: skip


def test_other_run_is_refused(tmp_path, monkeypatch):
    for kind in SETS:
        changed(kind, tmp_path / kind)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    for kind, change, message in CHANGES:
        with pytest.raises(ValueError, match=f"it differs in: {message}"):
            changed(kind, tmp_path / kind, **change)
    with pytest.raises(ValueError, match=r"function \(svm_set there, grid_set here\)"):
        changed("grid", tmp_path / "svm")
    monkeypatch.setattr(sklearn, "__version__", "9.9")
    with pytest.raises(ValueError, match=r"in: version of sklearn \(.* there, 9\.9 here\)"):
        changed("svm", tmp_path / "svm")
    assert files == {path: path.read_bytes() for path in files}


def test_without_random_state_the_stored_seed_is_used(tmp_path):
    first, second = (changed("grid", tmp_path / "run", random_state=None) for _ in range(2))
    assert bits(first) == bits(second) != bits(changed("grid", None, random_state=None))
    for number, candidates in enumerate(["svm", Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]})]):
        model = CertifiedClassifier(candidates, voting="stochastic", cv=2, checkpoint=str(tmp_path / str(number)))
        before = model.fit(X, Y).classifiers_.errors
        np.testing.assert_array_equal(model.fit(X, Y).classifiers_.errors, before)


def test_second_process_is_refused(tmp_path):
    used = pytest.raises(BlockingIOError, match="in use by another process")
    with open_checkpoint(tmp_path, pickle_codec(callable, "classifiers")), used:
        RUNS["grid"](tmp_path)


NESTED = "[" * 200_000 + "]" * 200_000
MANIFESTS = {
    **{text: text for text in ("", "{", "[]", "3", '{"format": 1, "run": {}, "chunks": {}}')},
    "a list": '{"format": 3, "run": [], "chunks": {}}',
    "nested": NESTED,
    "nested inside": f'{{"format": 3, "run": {{"random_state": 0, "X": {NESTED}}}, "chunks": {{}}}}',
    "another type": '{"format": 3, "run": {"random_state": 0, "X": []}, "chunks": {}}',
    "a negative seed": '{"format": 3, "run": {"random_state": -1}, "chunks": {}}',
    "no seed": '{"format": 3, "run": {"random_state": true}, "chunks": {}}',
    "no SHA-256": '{"format": 3, "run": {"random_state": 1}, "chunks": {"0": "ab"}}',
    "no number": '{"format": 3, "run": {"random_state": 0}, "chunks": {"first": {"sha256": ""}}}',
}


@pytest.mark.parametrize("how", MANIFESTS)
def test_invalid_manifest_is_refused(tmp_path, how):
    (tmp_path / "manifest.json").write_text(MANIFESTS[how])
    with pytest.raises(ValueError, match=r"manifest\.json must be a manifest of format 3"):
        RUNS["grid"](tmp_path)
    assert (tmp_path / "manifest.json").read_text() == MANIFESTS[how]


def test_unpicklable_estimator_is_refused(tmp_path):
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows), GaussianNB())
    with pytest.raises(TypeError, match="checkpoint must be None for estimators that cannot be pickled"):
        grid_set(pipe, [{}], X, Y, checkpoint=tmp_path)
    assert len(grid_set(pipe, [{}], X, Y)) == 1


class ChangingClassifier(ClassifierMixin, BaseEstimator):
    """Classifier whose predictions change between two runs."""

    shift = 0.0

    def __init__(self, t=0.0):
        self.t = t

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] + self.shift > self.t).astype(int)


@pytest.mark.filterwarnings("ignore:Column 0 alone determines")
def test_errors_are_counted_from_current_predictions(tmp_path, monkeypatch):
    """Errors stored by an earlier version of the code certified 11.1 % for an error rate of 14.8 %."""
    rows = np.random.default_rng(0).normal(size=(400, 2))
    labels = (rows[:, 0] > 0).astype(int)
    choices = {"random_state": 0, "voting": "stochastic", "cv": 3, "validation_size": 0.5}
    model = CertifiedClassifier(Grid(ChangingClassifier(), {"t": [-0.1, 0.0, 0.1]}), checkpoint=tmp_path, **choices)
    first = model.fit(rows, labels).certificate_
    assert model.fit(rows, labels).certificate_ == first
    monkeypatch.setattr(ChangingClassifier, "shift", 0.3)
    now, errors = model.fit(rows, labels).certificate_, model.classifiers_.errors
    # Predictions in cross-validation are of training rows, and may be stored.
    np.testing.assert_array_equal(errors, model.set_params(checkpoint=None).fit(rows, labels).classifiers_.errors)
    assert now != first


def test_family_stores_widths_and_folds(tmp_path, monkeypatch):
    expected = bits(RUNS["family"](None))
    assert describe_stored_results(tmp_path, "!") == ""
    assert bits(RUNS["family"](tmp_path)) == expected
    parts = Counter(path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("chunk-*"))
    # Two trees and their cross-validation; five widths, each on all rows and without each of three folds.
    assert parts == {".": 2, "folds": 2, "svm/folds-0": 15, "svm/widths": 5}
    assert describe_stored_results(tmp_path, "!") == f"28 of 28 classifiers are stored in {str(tmp_path)!r}!"
    trained, solve = [], one_vs_one.solve_path
    monkeypatch.setattr(one_vs_one, "solve_path", lambda *some, **more: trained.append(1) or solve(*some, **more))
    assert bits(RUNS["family"](tmp_path)) == expected
    assert trained == []
    # Delete a width without a fold, a width, and a tree.
    for name in ("svm/folds-0/chunk-0007.npz", "svm/widths/chunk-0002.npz", "chunk-0001.pickle"):
        (tmp_path / name).unlink()
    with pytest.warns(UserWarning, match="is damaged") as warned:
        assert bits(RUNS["family"](tmp_path)) == expected
    assert (len(warned), len(trained)) == (3, 2)
    for change, message in (({"seed": 5}, r"random_state \(4 there, 5 here\)"), ({"cv": 2}, "fold")):
        with pytest.raises(ValueError, match=f"holds another run; .*{message}"):
            RUNS["family"](tmp_path, **change)
    (tmp_path / "manifest.json").unlink()
    assert resolve_run_seed(None, tmp_path) == 4
