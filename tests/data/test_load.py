"""`load_dataset`: what it returns and what it refuses."""

import numpy as np
import pytest
from tests.data.own_file import write

from pacbayes import load_dataset
from pacbayes.data import DATASETS


def test_csv_with_the_class_last(tmp_path):
    path = write(tmp_path / "own.csv", "a,b,kind\n1,2.5,yes\n3,4,no\n5,0.1,yes\n")
    bunch = load_dataset(str(path))
    np.testing.assert_array_equal(bunch.data, [[1, 2.5], [3, 4], [5, 0.1]])
    assert bunch.data.dtype == np.float64
    assert bunch.target.tolist() == ["yes", "no", "yes"]
    assert bunch.target_names.tolist() == ["no", "yes"]
    assert bunch.feature_names == ["a", "b"]
    assert bunch.split_sizes is None
    assert bunch.filename == str(path)
    assert "3 examples, 2 features, 2 classes in column 'kind'" in bunch.DESCR


def test_csv_with_another_class_column(tmp_path):
    path = write(tmp_path / "own.csv", "a, y, b\n1, 2, True\n3, 1, False\n")
    bunch = load_dataset(path, target="y", as_frame=True)
    assert bunch.feature_names == ["a", "b"]
    assert bunch.target.tolist() == [2, 1]
    assert bunch.target.name == "y"
    assert bunch.target_names.tolist() == ["1", "2"]
    assert bunch.frame.columns.tolist() == ["a", "b", "y"]
    assert bunch.data["b"].tolist() == [1.0, 0.0]


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown data set 'iris'") as caught:
        load_dataset("iris")
    assert all(name in str(caught.value) for name in DATASETS)


def test_a_path_object_is_always_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from pathlib import Path

    with pytest.raises(FileNotFoundError, match="no such file: 'bupa'"):
        load_dataset(Path("bupa"))


@pytest.mark.parametrize("name", ["missing.csv", "folder/missing"])
def test_missing_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="missing"):
        load_dataset(name)


@pytest.mark.parametrize("name", [None, 3, b"bupa", ["bupa"]])
def test_wrong_type_of_name(name):
    with pytest.raises(TypeError, match="name must be"):
        load_dataset(name)


def test_wrong_target(tmp_path):
    path = write(tmp_path / "own.csv", "a,b,y\n1,2,0\n3,4,1\n")
    with pytest.raises(ValueError, match=r"a column of .*own.csv', got 'z'; its columns are 'a', 'b', 'y'"):
        load_dataset(path, target="z")
    with pytest.raises(TypeError, match="target must be the name of a column, got 2"):
        load_dataset(path, target=2)
    with pytest.raises(ValueError, match=r"target is for files only.*'bupa' is fixed, got target='selector'"):
        load_dataset("bupa", target="selector")
