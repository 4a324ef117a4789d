"""A model predicts the same for one table in every container, in which it is fitted and in which it is asked."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier, save
from pacbayes.data.io import open_table
from pacbayes.data.schema import UnseenCategoryWarning

RNG = np.random.default_rng(0)


def holes(column, every=9):
    column = column.astype(object)
    column.iloc[4::every] = None
    return column


def table(rows=240, seed=0):
    """Twelve kinds of columns, and a class that depends on most of them."""
    rng = np.random.default_rng(seed)
    day = pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D"))
    frame = pd.DataFrame(
        {
            "integer": rng.integers(0, 50, rows),
            "float": rng.normal(size=rows).round(3),
            "integer with holes": holes(pd.Series(rng.integers(0, 50, rows))),
            "float with holes": holes(pd.Series(rng.normal(size=rows).round(3))),
            "truth": rng.integers(0, 2, rows).astype(bool),
            "truth with holes": holes(pd.Series(rng.integers(0, 2, rows).astype(bool))),
            "category": rng.choice(["red", "green", "Blue"], rows),
            "category with holes": holes(pd.Series(rng.choice(["P7", "P8", "x"], rows))),
            "code": rng.choice(["01", "02", "x1"], rows),
            "mixed": [str(value) if i % 30 else "?" for i, value in enumerate(rng.integers(0, 40, rows))],
            "day": day.dt.strftime("%Y-%m-%d"),
            "text": [f"{' '.join(rng.choice(['late', 'box', 'fine', 'red'], 5))} {i}" for i in range(rows)],
        }
    )
    labels = np.where((frame["float"] > 0) ^ (frame["category"] == "red"), "yes", "no")
    return frame, labels


def by_file(ending, **options):
    def convert(frame, folder):
        path = folder / f"table{ending}"
        if ending == ".parquet":
            (frame.convert_dtypes(**options) if options else frame.infer_objects()).to_parquet(path)
        else:
            frame.infer_objects().to_csv(path, index=False, **options)
        return open_table(path).read()

    return convert


def polars(frame, folder):
    pytest.importorskip("polars")
    import polars as pl

    return pl.DataFrame({name: column.where(column.notna(), None).tolist() for name, column in frame.items()})


CONTAINERS = {
    "CSV": by_file(".csv"),
    "CSV with semicolons": by_file(".csv", sep=";", decimal=","),
    "TSV": by_file(".tsv", sep="\t"),
    "Parquet": by_file(".parquet"),
    "Parquet of pyarrow": by_file(".parquet", dtype_backend="pyarrow"),
    "objects": lambda frame, folder: frame.astype(object),
    "nullable": lambda frame, folder: frame.convert_dtypes(),
    "pyarrow-backed": lambda frame, folder: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame.convert_dtypes()),
    "polars": polars,
}


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    model = CertifiedClassifier(["logistic", "boosting"], cv=3, random_state=0).fit(X, y)
    return model, table(120, seed=1)[0]


@pytest.mark.parametrize("container", CONTAINERS)
def test_predictions_do_not_depend_on_the_container(container, fitted, tmp_path):
    model, new = fitted
    expected = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict_proba(CONTAINERS[container](new, tmp_path)), expected)


FITTED = ("CSV with semicolons", "Parquet of pyarrow", "nullable")


@pytest.mark.parametrize(
    "container",
    [*FITTED, *(pytest.param(name, marks=pytest.mark.slow) for name in CONTAINERS if name not in FITTED)],
)
def test_nor_do_fits(container, fitted, tmp_path):
    model, new = fitted
    X, y = table()
    other = CertifiedClassifier(["logistic", "boosting"], cv=3, random_state=0)
    other.fit(CONTAINERS[container](X, tmp_path), y)
    assert other.certificate_.bound == model.certificate_.bound
    np.testing.assert_array_equal(other.predict_proba(new), model.predict_proba(new))


PAIRS = [("1", "01"), ("7", "7.0"), ("7", "007"), ("P7", "p7 "), ("True", "TRUE"), ("New York", "new  york")]


@pytest.mark.parametrize("pair", PAIRS)
def test_two_spellings_of_a_class_or_group_are_refused(pair):
    X = pd.DataFrame({"x": RNG.normal(size=80)})
    y = np.array([*pair, "other", "third"] * 20)
    with pytest.raises(ValueError, match="y holds both"):
        CertifiedClassifier("logistic", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="groups holds both"):
        CertifiedClassifier("logistic", random_state=0).fit(X, X["x"] > 0, groups=y)


@pytest.mark.parametrize("pair", [(1, "01"), (1, "1"), (7.5, "7.50"), (True, "True")])
def test_a_number_and_its_text_are_two_spellings(pair):
    X = pd.DataFrame({"x": RNG.normal(size=80)})
    y = pd.Series([*pair, "other", "third"] * 20, dtype=object)
    for labels in (y, y.to_numpy()):
        with pytest.raises(ValueError, match="y holds both"):
            CertifiedClassifier("logistic", random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="groups holds both"):
        CertifiedClassifier("logistic", random_state=0).fit(X, X["x"] > 0, groups=y)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("classes", [[0, 1], [False, True], ["a", "b"]])
def test_classes_keep_their_type_in_nullable_columns(classes, backend):
    X = pd.DataFrame({"x": RNG.normal(size=80)})
    y = pd.Series(classes * 40)
    expected = CertifiedClassifier("logistic", cv=None, random_state=0).fit(X, y)
    model = CertifiedClassifier("logistic", cv=None, random_state=0).fit(X, y.convert_dtypes(dtype_backend=backend))
    assert model.classes_.dtype == expected.classes_.dtype
    assert model.predict(X).tolist() == expected.predict(X).tolist()


@pytest.mark.parametrize("pair", PAIRS)
def test_two_spellings_of_a_category_are_one(pair):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=200), "c": rng.choice([pair[0], "z", "y"], 200)})
    y = (X["c"] == pair[0]) ^ (rng.random(200) < 0.1)
    model = CertifiedClassifier("logistic", cv=3, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenCategoryWarning)
        assert model.predict(X.replace({"c": {pair[0]: pair[1]}})).tolist() == model.predict(X).tolist()


def test_categories_without_a_training_row_are_counted_in_python():
    """A batch in which another word stands for a category had a bound of 104 errors where 501 were wrong."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(["yes", "no"], 400), "x": rng.normal(size=400)})
    y = (X["c"] == "yes") ^ (rng.random(400) < 0.05)
    model = CertifiedClassifier("logistic", cv=3, random_state=0).fit(X, y)
    new = pd.DataFrame({"c": ["ja"] * 30 + ["no"] * 20, "x": 0.5})
    message = r"Column 'c': 30 of 50 examples hold a category that was not in the training data \('ja'\)"
    for method in (model.predict, model.certify_batch):
        with pytest.warns(UnseenCategoryWarning, match=message):
            method(new)


def test_a_file_with_two_spellings_in_other_files_is_read_as_one(tmp_path, capsys):
    X, y = table()
    frame = X.infer_objects().assign(kind=y)
    frame.to_csv(tmp_path / "data.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    words = ["certify", tmp_path / "data.csv", "--candidates", "logistic", "--save", tmp_path / "m", "--json"]
    done = in_process(words, capsys)
    assert done.code == 0, done.err
    assert json.loads(done.out)["data"]["dates"] == ["day"]
    new = table(60, seed=1)[0]
    new.insert(0, "number", [f"n{i}" for i in range(60)])
    new.to_csv(tmp_path / "new.csv", index=False)
    new.assign(category=new["category"].str.upper()).to_parquet(tmp_path / "new.parquet")
    outputs = []
    predict = ["predict", tmp_path / "m", "--id", "number", "--shares"]
    # In a file of the model's format, a point could separate thousands.
    assert "give '.' as decimal if it is a point here" in in_process([*predict, tmp_path / "new.csv"], capsys).err
    for name in ("new.csv", "new.parquet"):
        done = in_process([*predict, tmp_path / name, "--decimal", "."], capsys)
        assert done.code == 0, done.err
        outputs.append(done.out)
    assert outputs[0] == outputs[1]
    written = pd.read_csv(io.StringIO(outputs[0]))
    assert written.columns.tolist() == ["number", "predicted", "share of no", "share of yes"]
    assert written["number"].tolist() == new["number"].tolist()


def test_models_of_tables_are_saved(fitted, tmp_path):
    from pacbayes import load

    model, new = fitted
    again = load(tmp_path / "m", sha256=save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
