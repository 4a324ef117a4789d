"""A schema parses one table in every container to the same values."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pacbayes.data.schema import NumberFormat, Schema, UnsupportedValue
from pacbayes.data.spelling import normalize_spelling

ROWS = 80
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2021-03-01") + pd.to_timedelta(RNG.integers(0, 900, ROWS), unit="D")
WHOLE = RNG.integers(0, 50, ROWS)


def holes(values, every=7):
    return [None if i % every == 3 else value for i, value in enumerate(list(values))]


def sentences():
    words = np.array(["ship", "the", "red", "box", "late", "to", "Bern"])
    return [" ".join(RNG.choice(words, 6)) + f" {i}" for i in range(ROWS)]


#: Twelve kinds of columns: their values, and the kind that a schema finds.
KINDS = {
    "integers": (WHOLE.tolist(), "number"),
    "floats": (RNG.normal(size=ROWS).round(3).tolist(), "number"),
    "integers with missing values": (holes(WHOLE.tolist()), "number"),
    "floats with missing values": (holes(RNG.normal(size=ROWS).round(3).tolist()), "number"),
    "truth values": (RNG.integers(0, 2, ROWS).astype(bool).tolist(), "boolean"),
    "truth values with missing ones": (holes(RNG.integers(0, 2, ROWS).astype(bool).tolist()), "boolean"),
    "categories": (RNG.choice(["red", "green", "blue"], ROWS).tolist(), "category"),
    "categories with missing values": (holes(RNG.choice(["P7", "P8", "NA"], ROWS).tolist()), "category"),
    "codes": (RNG.choice(["01", "02", "x1"], ROWS).tolist(), "category"),
    "numbers with rare strings": ([*map(str, WHOLE[:-3]), "?", "?", "n.a."], "number"),
    "dates": (holes(DAYS.to_pydatetime()), "date"),
    "text": (holes(sentences()), "text"),
}


def nullable(series):
    return series.convert_dtypes()


def arrow_backed(series):
    return series.convert_dtypes(dtype_backend="pyarrow")


def as_strings(series):
    """A column of a text file: strings alone."""
    return series.map(lambda value: None if value is None or value != value else str(value)).astype(object)


def polars(series):
    return pytest.importorskip("polars").DataFrame({"c": list(series.astype(object).where(series.notna(), None))})


CONTAINERS = {
    "NumPy": lambda series: pd.DataFrame({"c": series.infer_objects()}),
    "object": lambda series: pd.DataFrame({"c": series.astype(object)}),
    "strings": lambda series: pd.DataFrame({"c": as_strings(series)}),
    "nullable": lambda series: pd.DataFrame({"c": nullable(series)}),
    "pyarrow-backed": lambda series: pd.DataFrame({"c": arrow_backed(series)}),
    "pyarrow": lambda series: pa.table({"c": pa.Array.from_pandas(series.infer_objects())}),
    "polars": polars,
    "string dtype": lambda series: pd.DataFrame({"c": as_strings(series).astype("string")}),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_has_one_kind_and_one_parse_in_every_container(kind, container):
    values, expected = KINDS[kind]
    series = pd.Series(values, dtype=object)
    reference = Schema.infer(CONTAINERS["object"](series))
    schema = Schema.infer(CONTAINERS[container](series))
    assert schema.columns[0].kind == reference.columns[0].kind == expected
    parsed = reference.parse(CONTAINERS["object"](series))
    for made in (schema.parse(CONTAINERS["object"](series)), reference.parse(CONTAINERS[container](series))):
        pd.testing.assert_frame_equal(made, parsed, check_dtype=False)
    assert schema.find_unseen(CONTAINERS["object"](series)) == {}


@pytest.mark.parametrize(
    "values",
    [
        (1, "01", "1.0", " 1", 1.0, np.int8(1), "1e0"),
        (7, 7.0, "007", "7"),
        ("P7", "p7 ", " P7"),
        (True, "True", "TRUE", np.True_),
        ("New  York", "new york"),
        (2**64 + 1, "18446744073709551617"),
        ("-0", "0", 0.0, "0.00"),
    ],
)
def test_spellings_of_one_value(values):
    assert len({normalize_spelling(value) for value in values}) == 1


@pytest.mark.parametrize(
    "pair", [("1", "10"), ("a", "b"), ("1.5", "15"), (2**53, 2**53 + 1), ("-1", "1"), ("1", "True")]
)
def test_spellings_of_two_values(pair):
    assert normalize_spelling(pair[0]) != normalize_spelling(pair[1])


@pytest.mark.parametrize("missing", [pd.NA, None, np.nan])
def test_missing_values_are_one(missing):
    schema = Schema.infer(pd.DataFrame({"c": ["a", "b", None]}))
    assert schema.parse(pd.DataFrame({"c": pd.Series(["A", missing], dtype=object)}))["c"].isna().tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["2024-05-31", "2024-06-01"], [19874, 19875]),
        (["2024-05-31T06:00:00Z", "2024-06-01 12:00"], [19874.25, 19875.5]),
        (["31.05.2024", "01.06.2024"], [19874, 19875]),
        (["05/31/2024", "06/01/2024"], [19874, 19875]),
        (["31/05/2024", "01/06/2024"], [19874, 19875]),
        (["31-May-2024", "01-Jun-2024"], [19874, 19875]),
    ],
)
def test_formats_of_dates(texts, days):
    schema = Schema.infer(pd.DataFrame({"day": texts}))
    assert schema.columns[0].kind == "date"
    assert schema.parse(pd.DataFrame({"day": [*texts, "soon", None]}))["day"].tolist()[:2] == days
    # A later table may hold moments.
    moments = pd.to_datetime(pd.Series(days, dtype=float), unit="D")
    assert schema.parse(pd.DataFrame({"day": moments}))["day"].tolist() == days


def test_numbers_in_another_format():
    schema = Schema.infer(pd.DataFrame({"c": ["1.234,5", "7", None]}), numbers=NumberFormat(",", "."))
    assert schema.columns[0].kind == "number"
    assert schema.parse(pd.DataFrame({"c": ["2.000", "0,25"]}))["c"].tolist() == [2000.0, 0.25]


def test_strings_in_a_column_of_numbers_are_refused_unless_it_had_some():
    with pytest.raises(ValueError, match="column 'c' must hold numbers, got 'x' in row 1"):
        Schema.infer(pd.DataFrame({"c": [1.0, 2.0]})).parse(pd.DataFrame({"c": ["3", "x"]}))
    mixed = Schema.infer(pd.DataFrame({"c": [*map(str, range(20)), "?"]}))
    np.testing.assert_array_equal(mixed.parse(pd.DataFrame({"c": ["3", "x"]}))["c"], [3.0, np.nan])


@pytest.mark.parametrize("other", ["%d.%m.%Y", "%A"])
def test_a_later_table_in_another_format_is_refused(other):
    days = pd.Series(pd.date_range("2024-01-01", periods=40))
    schema = Schema.infer(pd.DataFrame({"day": days.astype(str), "c": [*map(str, range(39)), "?"]}))
    with pytest.raises(ValueError, match=r"column 'day' must hold dates as the training rows do, but 40 of 40 values"):
        schema.parse(pd.DataFrame({"day": days.dt.strftime(other), "c": "1"}))
    with pytest.raises(ValueError, match=r"column 'c' must hold numbers as the training rows do, but 40 of 40 values"):
        schema.parse(pd.DataFrame({"day": days, "c": "1,5"}))


def test_categories_without_a_training_row_are_counted():
    schema = Schema.infer(pd.DataFrame({"c": ["red", "green", None], "d": ["a", "b", "a"], "x": [1, 2, 3]}))
    new = pd.DataFrame({"x": [0] * 5, "c": ["Red ", "pink", "pink", None, "grey"], "d": [None, *"aabb"]})
    counts = {name: counts.to_dict() for name, counts in schema.find_unseen(new).items()}
    assert counts == {"c": {"pink": 2, "grey": 1}, "d": {"missing": 1}}


def test_categorical_columns_are_categories_whatever_they_hold():
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Categorical([1.0, 2.0])})
    schema = Schema.infer(frame, categorical=["a"])
    assert [column.levels for column in schema.columns] == [("1", "2"), ("1", "2")]


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"x", UnsupportedValue("list<item: string>")])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="column 'c' must hold numbers, dates or strings"):
        Schema.infer(pd.DataFrame({"c": pd.Series([value, value], dtype=object)}))


def test_names_are_matched_and_absent_columns_are_refused():
    schema = Schema.infer(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    assert schema.parse(pd.DataFrame({"b": [1], "c": [0], "a": [3]})).to_numpy().tolist() == [[3.0, 1.0]]
    with pytest.raises(ValueError, match="lacks the columns 'b'"):
        schema.parse(pd.DataFrame({"a": [1.0]}))


def test_an_array_is_read_by_position_and_whole_numbers_are_names():
    schema = Schema.infer(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    assert schema.parse(np.array([[3, "X"]], dtype=object)).to_numpy().tolist() == [[3.0, "x"]]
    years = pd.DataFrame({2020: [1.0, 2.0], 2021: ["x", "y"]})
    schema, new = Schema.infer(years), pd.DataFrame({2021: ["z"], 2020: [1.0]})
    assert schema.parse(new).to_numpy().tolist() == [[1.0, "z"]]
    assert schema.other_columns.find_unseen(new)["2021"].to_dict() == {"z": 1}
    # Rows of other names tell nothing about the categories.
    assert schema.other_columns.find_unseen(pd.DataFrame({"c": ["z"]})) == {}
