"""Several rows of one subject are told from measurements, in files of every order."""

import numpy as np
import pandas as pd
import pytest
from tests.data.own_file import checked

from pacbayes import load_dataset
from pacbayes.data.leakage import looks_like_subject_id

RNG = np.random.default_rng(0)
VISITS = RNG.integers(2, 7, 60)
SUBJECTS = {
    "a panel in order": np.repeat(np.sort(RNG.choice(12_000, 327, replace=False)), 8),
    "in any order": np.repeat(RNG.permutation(500)[:60], 4),
    "of different lengths, in any order": np.repeat(RNG.permutation(500)[:60], VISITS),
    "pairs": np.arange(50) // 2,
    "text": np.repeat(np.array([f"patient {i}" for i in RNG.permutation(40)], dtype=object), 3),
    "as floats": np.repeat(RNG.permutation(500)[:60].astype(float), 4),
    "with gaps": np.where(np.arange(240) == 5, np.nan, np.repeat(RNG.permutation(500)[:60], 4)),
    "one subject came again": np.concatenate([np.repeat(RNG.permutation(500)[:60], 4), [1000, 1000]]),
}
MEASURED = {
    "ages in order": np.sort(RNG.integers(20, 80, 300)),
    "ages in falling order": np.sort(RNG.normal(50, 12, 500).round())[::-1],
    "ages in no order": RNG.integers(20, 80, 300),
    "ages sorted within classes": np.concatenate([np.sort(RNG.integers(20, 80, 300)) for _ in range(2)]),
    "classes in order": np.repeat(np.arange(3), 50),
    "fractions in runs": np.repeat(RNG.random(60), 4),
    "a slow sensor": np.cumsum(RNG.choice([-1, 0, 0, 0, 1], 400)),
    "two equal in a row now and then": np.repeat(RNG.permutation(500)[:60], RNG.choice([1, 1, 1, 2], 60)),
    "sorted words": np.sort(RNG.choice([f"w{i:02d}" for i in range(60)], 400).astype(object)),
    "in few rows": np.where(np.arange(960) % 4 == 0, np.repeat(np.arange(120), 8), np.nan),
}


@pytest.mark.parametrize("case", SUBJECTS)
def test_subjects(case):
    assert looks_like_subject_id(SUBJECTS[case], len(SUBJECTS[case])) != ""
    frame = pd.DataFrame({"who": SUBJECTS[case], "a": RNG.random(len(SUBJECTS[case]))})
    for table in (frame, frame.assign(word=np.where(frame.a < 0.5, "x", "y"))):
        with pytest.raises(
            ValueError, match=r"column 'who' has \d+ values in runs of .* rows.*--group who, or .*--keep who"
        ) as caught:
            checked(table)
        # Without it nobody would know of the subjects.
        assert "--drop" not in str(caught.value)
    assert "who" in checked(frame, keep=["who"]).names


@pytest.mark.parametrize("case", MEASURED)
def test_measurements(case):
    assert looks_like_subject_id(MEASURED[case], len(MEASURED[case])) == ""


def test_the_name_decides_where_a_file_is_sorted():
    frame = pd.DataFrame({"a": RNG.random(VISITS.sum()), "patient_id": np.repeat(np.arange(60), VISITS)})
    with pytest.raises(ValueError, match="column 'patient_id' has 60 values in runs of about 4 rows"):
        checked(frame)
    assert checked(frame.rename(columns={"patient_id": "age"})).kinds("number", "boolean") == ("a", "age")


@pytest.mark.parametrize("number", [200, 1000])
def test_false_alarms_in_sorted_tables_are_rare(number):
    """Of tables sorted by a whole number of any spread, none of a thousand is refused."""
    rng = np.random.default_rng(number)
    for _ in range(1000):
        values = np.sort(rng.normal(0, rng.uniform(3, number / 3), number).round())
        assert looks_like_subject_id(values, number) == ""


def test_library_says_what_to_do_with_subjects(tmp_path):
    rows = "".join(f"{i // 4 * 7 % 101},{i % 7},{i % 2}\n" for i in range(160))
    (tmp_path / "own.csv").write_text("nr,a,y\n" + rows, encoding="utf-8")
    with pytest.raises(ValueError, match=r"40 values in runs of 4 rows each.*drop=\['nr'\] and pass .* groups"):
        load_dataset(tmp_path / "own.csv")
    assert load_dataset(tmp_path / "own.csv", keep=["nr"]).feature_names == ["nr", "a"]
