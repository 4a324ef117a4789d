"""`load_dataset`: what it returns and what it refuses."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.data.own_file import write

from pacbayes import load_dataset
from pacbayes.data import DATASETS


@pytest.mark.parametrize("name", ["spambase", "wdbc", "bupa"])
def test_frame_of_a_named_data_set(name):
    arrays, frames = load_dataset(name), load_dataset(name, as_frame=True)
    assert arrays.frame is None
    assert isinstance(frames.data, pd.DataFrame)
    assert isinstance(frames.target, pd.Series)
    np.testing.assert_array_equal(frames.data.to_numpy(), arrays.data)
    np.testing.assert_array_equal(frames.target.to_numpy(), arrays.target)
    assert frames.data.columns.tolist() == arrays.feature_names
    assert frames.frame.columns.tolist() == [*arrays.feature_names, "target"]
    assert frames.frame.shape == (len(arrays.target), len(arrays.feature_names) + 1)


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


def test_long_lists_of_columns_are_cut(tmp_path):
    names = [f"x{i}" for i in range(50)]
    path = write(tmp_path / "own.csv", ",".join(names) + "\n" + ",".join("1" * 50) + "\n")
    with pytest.raises(ValueError, match="'x11' and 38 more"):
        load_dataset(path, target="y")


def test_importing_the_package_stays_light():
    code = (
        "import sys, pacbayes; heavy = {'sklearn', 'pandas', 'pyarrow', 'numpy', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy; pacbayes.load_dataset;"
        "heavy = {'sklearn', 'pandas', 'pyarrow'} & set(sys.modules); assert not heavy, heavy;"
        "pacbayes.load_dataset('bupa'); assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
