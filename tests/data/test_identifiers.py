"""Row numbers and identifiers are told from measurements."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as toys
from tests.data.own_file import checked

from pacbayes import load_dataset
from pacbayes.data import DATASETS
from pacbayes.data.leakage import ID_LEVEL, looks_like_row_id, looks_like_unsorted_id

RNG = np.random.default_rng(0)
TOYS = ("load_iris", "load_wine", "load_breast_cancer", "load_digits", "load_diabetes", "load_linnerud")
MEASURED = {
    "ages": RNG.integers(0, 90, 200),
    "blood pressures": RNG.normal(120, 15, 60).round(),
    "incomes": RNG.lognormal(10, 1, 500).round(),
    "few rows of a wide range": RNG.choice(100_000, 50, replace=False),
    "one hot": np.eye(50)[3],
    "fractions that rise": np.linspace(0.0, 1.0, 50),
    "a column that rises, with ties": np.arange(50) // 2,
    "few": np.arange(6),
    "in few rows": np.where(np.arange(50) % 4 == 0, np.arange(50), np.nan),
}
IDENTIFIERS = {
    "row numbers": np.arange(60),
    "from one": np.arange(1, 892),
    "shuffled": RNG.permutation(60),
    "falling": np.arange(60)[::-1],
    "as floats": np.arange(60.0),
    "as text": np.array([f"{i:03d}" for i in range(60)], dtype=object),
    "negative": np.arange(60) - 100,
    "rows dropped": np.flatnonzero(RNG.random(500) < 0.3),
    "a shuffled part of a file": RNG.permutation(500)[:200],
    "customer numbers in order": np.cumsum(RNG.integers(1, 10_000, 60)),
    "beyond 2^53": 2**60 + np.arange(60),
    "beyond 64 bits": np.array([2**70 + i for i in range(60)], dtype=object),
    "with gaps": np.where(np.arange(60) == 5, np.nan, np.arange(60)),
    "unsigned": np.arange(60, dtype=np.uint64) + np.uint64(2**63),
    "nine": RNG.permutation(9),
}


@pytest.mark.parametrize("case", MEASURED)
def test_measurements(case):
    assert looks_like_row_id(MEASURED[case], len(MEASURED[case])) == ""


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_identifiers(case):
    values = IDENTIFIERS[case]
    assert looks_like_row_id(values, len(values)) != ""
    frame = pd.DataFrame({"id": values, "a": [0.5, 0.25, 0.75, *[0.1] * (len(values) - 3)]})
    with pytest.raises(ValueError, match=r"column 'id' looks like a row number or an identifier: .*--keep id"):
        checked(frame)
    with pytest.raises(ValueError, match=r"column 'id' looks like a row number or an identifier: .*--keep id"):
        checked(frame.assign(word=["x", "y", *["z"] * (len(values) - 2)]))
    assert checked(frame, keep=["id"]).kinds("number", "boolean") == ("id", "a")


@pytest.mark.parametrize("name", ["id", "ID", "customer", "CustomerID", "patient_no", "nr", "key", "SubjectNr"])
def test_identifiers_in_any_order_by_their_name(name):
    numbers = RNG.choice(1_000_000, 60, replace=False)
    frame = pd.DataFrame({name: numbers, "a": RNG.random(60)})
    with pytest.raises(ValueError, match=rf"column '{name}' looks like .* 60 distinct .*--drop {name}.*--keep {name}"):
        checked(frame)
    assert checked(frame.rename(columns={name: "income"})).kinds("number", "boolean") == ("income", "a")
    nearly = frame.assign(**{name: np.concatenate([numbers[:58], numbers[:2]])})
    with pytest.raises(ValueError, match=rf"column '{name}' looks like .* 58 distinct"):
        checked(nearly)
    repeated = frame.assign(**{name: RNG.integers(0, 40, 60)})
    assert checked(repeated).kinds("number", "boolean") == (name, "a")


def test_long_numbers_of_one_length_are_identifiers():
    drawn = RNG.choice(900_000_000, 40, replace=False)
    assert "all of 9 digits" in looks_like_unsorted_id(drawn // 10 + 100_000_000, 40, named=False)
    assert looks_like_unsorted_id(drawn // 10_000, 40, named=False) == ""
    assert looks_like_unsorted_id(RNG.lognormal(18, 2, 40).round(), 40, named=False) == ""
    assert looks_like_unsorted_id(drawn[:10], 10, named=True) == ""


@pytest.mark.parametrize("name", DATASETS)
def test_no_shipped_data_set_is_refused(name):
    bunch = load_dataset(name, as_frame=True)
    assert checked(bunch.data).kinds("number", "boolean") == tuple(bunch.feature_names)


@pytest.mark.parametrize("name", TOYS)
def test_no_toy_data_set_of_scikit_learn_is_refused(name):
    options = {"scaled": False} if name == "load_diabetes" else {}
    frame = getattr(toys, name)(as_frame=True, **options).frame
    assert checked(frame).kinds("number", "boolean") == tuple(frame.columns)


@pytest.mark.parametrize(("n", "possible"), [(10, 10), (30, 60), (60, 250), (150, 1500)])
def test_false_alarms_are_as_rare_as_said(n, possible):
    """Equally likely values repeat most rarely; with them, chance alone must not refuse more often than said."""
    rng = np.random.default_rng(n)
    drawn = rng.integers(0, possible, (20_000, n))
    alarms = sum(looks_like_row_id(values, n) != "" for values in drawn)
    # Six standard deviations.
    assert alarms <= 20_000 * ID_LEVEL + 6 * np.sqrt(20_000 * ID_LEVEL)


@pytest.mark.parametrize("rows", [6, 20, 60])
def test_a_text_of_its_own_for_each_row(rows):
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(rows)], "a": np.arange(rows) % 2})
    with pytest.raises(ValueError, match=f"column 'name' looks like a name.*{rows} distinct.*--drop name.*--keep name"):
        checked(frame)
    assert checked(frame, keep=["name"]).kinds("category", "text") == ("name",)
    assert checked(frame, categorical=["name"]).kinds("category", "text") == ("name",)
    twice = frame.assign(name=[f"n{i % (rows // 2)}" for i in range(rows)])
    assert checked(twice).kinds("category", "text") == ("name",)


def test_all_wrong_columns_at_once():
    frame = pd.DataFrame(
        {
            "row number": range(60),
            "empty": np.nan,
            "day": [f"2024-01-{i % 28 + 1:02d}" for i in range(60)],
            "mixed": ["?", *(i % 7 for i in range(59))],
            "remark": [f"free text {i}" for i in range(60)],
            "code": [f"c{i}" for i in range(60)],
            "infinite": [np.inf, *[0.5] * 59],
            "good": [i % 7 for i in range(60)],
        }
    )
    with pytest.raises(ValueError, match=r"^4 columns cannot be used: ") as caught:
        checked(frame)
    message = str(caught.value)
    for name in ("row number", "empty", "infinite", "code"):
        assert f"column {name!r} " in message
    assert message.endswith("--drop 'row number' --drop empty --drop code --drop infinite")


def test_library_refuses_keeps_and_drops(tmp_path):
    rows = "".join(f"{i},{i % 7},{i % 2}\n" for i in range(30))
    (tmp_path / "own.csv").write_text("id number,a,y\n" + rows, encoding="utf-8")
    with pytest.raises(ValueError, match=r"drop=\['id number'\], or .*keep=\['id number'\]"):
        load_dataset(tmp_path / "own.csv")
    assert load_dataset(tmp_path / "own.csv", keep=["id number"]).feature_names == ["id number", "a"]
    assert load_dataset(tmp_path / "own.csv", drop=["id number"]).feature_names == ["a"]
    (tmp_path / "own.csv").write_text(",a,y\n" + rows, encoding="utf-8")
    assert load_dataset(tmp_path / "own.csv", drop=["Unnamed: 0"]).feature_names == ["a"]
    assert load_dataset(tmp_path / "own.csv", keep=["Unnamed: 0"]).feature_names == ["Unnamed: 0", "a"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"drop": "a"}, TypeError, "drop must be a list of names of columns, got 'a'"),
        ({"drop": ["z"]}, ValueError, r"drop must name columns of .*, got 'z'; its columns are 'a', 'y'"),
        ({"keep": ["z"]}, ValueError, "keep must name columns of"),
        ({"sep": "ab"}, ValueError, "sep must be one character"),
    ],
)
def test_wrong_options(options, error, message, tmp_path):
    (tmp_path / "own.csv").write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    with pytest.raises(error, match=message):
        load_dataset(tmp_path / "own.csv", **options)


@pytest.mark.parametrize("options", [{"drop": ["mcv"]}, {"keep": ["mcv"]}, {"sep": ";"}, {"skip_unlabelled": True}])
def test_named_data_sets_are_fixed(options):
    with pytest.raises(ValueError, match="are for files only: 'bupa' is fixed"):
        load_dataset("bupa", **options)
