"""`pacbayes certify --group` and `--duplicates`."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, in_process, refused
from tests.ensemble.grouped import sample

from pacbayes import CertifiedClassifier, SVMs

QUICK = ["--lambdas", "0.1,1,10"]


@pytest.fixture
def files(tmp_path):
    X, y, groups = sample(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(patient=groups, ill=np.where(y, "yes", "no"))
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame[:50].assign(a=frame["a"] + 0.01).to_csv(tmp_path / "new.csv", index=False)
    frame.drop(columns="patient").to_csv(tmp_path / "rows.csv", index=False)
    pd.concat([frame.drop(columns="patient")] * 5).to_csv(tmp_path / "copies.csv", index=False)
    return tmp_path


def test_a_column_of_groups_is_the_groups_of_fit(files, capsys):
    X, y, groups = sample(60)
    found, said = as_json(["certify", files / "data.csv", "--group", "patient", *QUICK], capsys, with_remarks=True)
    clf = CertifiedClassifier(SVMs([0.1, 1.0, 10.0]), random_state=0).fit(X, np.where(y, "yes", "no"), groups=groups)
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert found["certificates"]["best"]["bound"] == clf.certificates_["best"].bound
    assert (found["data"]["read"]["group"], found["data"]["groups"], found["settings"]["copies"]) == ("patient", 60, 0)
    assert (found["settings"]["unit"], found["settings"]["validation_examples"]) == ("group", 30)
    assert found["certificates"]["stochastic"]["unit"] == "group"
    assert found["data"]["numeric"] == ["a", "b", "c"]
    assert "Column 'patient' names 60 groups and is not a feature." in said


def test_copies_are_warned_of_and_kept_together(files, capsys):
    found, said = as_json(["certify", files / "copies.csv", *QUICK], capsys, with_remarks=True)
    assert "look like copies made after sampling" in said
    assert found["settings"]["copies"] > 0
    words = ["certify", files / "copies.csv", "--duplicates", "together", *QUICK]
    found, said = as_json(words, capsys, with_remarks=True)
    assert "copies made after sampling" not in said
    assert (found["settings"]["copies"], found["settings"]["unit"]) == (0, "distinct example")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv", "--group", "nobody"], "--group must name a column of .*, got 'nobody'"),
        (["data.csv", "--group", "ill", "--target", "ill"], "--group must not name the target or .*, got 'ill'"),
        (["data.csv", "--group", "patient", "--duplicates", "together"], "--duplicates together is not for --group"),
        (["data.csv", "--duplicates", "drop"], "--duplicates must be a str among"),
        (["data.csv", "--group", "patient", "--drop", "patient"], "--group must not name .*, got 'patient'"),
        (["gaps.csv", "--group", "patient"], "column 'patient' of .* lacks a value in example 3"),
    ],
)
def test_wrong_groups_are_told_in_one_line(files, capsys, arguments, message):
    frame = pd.read_csv(files / "data.csv")
    frame.loc[2, "patient"] = None
    frame.to_csv(files / "gaps.csv", index=False)
    done = in_process(["certify", files / arguments[0], *arguments[1:]], capsys)
    assert done.code == 2
    assert re.search(message, done.error)


@pytest.fixture
def halves(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=120), "kind": rng.choice(["x", "y"], 120)})
    frame["class"] = np.where(frame["a"] + rng.normal(scale=0.3, size=120) > 0, "yes", "no")
    frame[:70].to_csv(tmp_path / "early.csv", index=False)
    frame[70:].to_csv(tmp_path / "late.csv", index=False)
    frame.assign(part=["train"] * 70 + ["Validation"] * 50).to_csv(tmp_path / "both.csv", index=False)
    return tmp_path


def test_a_file_and_a_column_say_the_same(halves, capsys):
    first = in_process(["certify", halves / "early.csv", "--validation", halves / "late.csv", "--json"], capsys)
    given = ["certify", halves / "both.csv", "--target", "class", "--validation-column", "part", "--json"]
    second = in_process(given, capsys)
    one, other = json.loads(first.out), json.loads(second.out)
    assert one["certificates"] == other["certificates"]
    assert one["settings"]["validation_examples"] == 50
    assert "50 examples count errors" in first.err
    assert "column 'part' says" in second.err
    assert "The user divided the rows" in one["certificates"]["soft"]["assumptions"][0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["early.csv", "--validation", "early.csv"], "70 of 70 rows equal a row of the training set"),
        (["early.csv", "--validation", "none.csv"], "no such file"),
        (["early.csv", "--validation", "late.csv", "--validation-size", "0.3"], "leave no choice to"),
        (["both.csv", "--target", "class", "--validation-column", "kind"], "must hold true and false"),
        (["both.csv", "--target", "class", "--validation-column", "parts"], "did you mean 'part'"),
        (["both.csv", "--target", "class", "--validation-column", "class"], "nothing else"),
        (["both.csv", "--target", "class", "--validation", "late.csv"], "but lacks 'part'"),
        (["--dataset", "wdbc", "--validation", "late.csv"], "are for a file"),
        (["--predictions", "both.csv", "--target", "class", "--validation", "late.csv"], "leave out --validation"),
    ],
)
def test_wrong_divisions_are_told_in_one_line(halves, capsys, monkeypatch, given, said):
    monkeypatch.chdir(halves)
    assert said in refused(["certify", *given], capsys)


def certified_rows(path, **choices):
    from pacbayes.cli.data import Choices, read_data

    return read_data(path, None, Choices("class", **choices))


def test_what_is_known_of_examples_stays_with_them_where_some_have_no_class(tmp_path):
    """An attack found masks and slices moved against the rows: limits were false in 30 of 30 samples."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200).round(6), "site": rng.choice(["n", "s"], 200)})
    frame["part"] = rng.choice(["train", "val"], 200)
    frame["class"] = rng.choice(["yes", "no"], 200)
    frame.loc[rng.choice(60, 30, replace=False), "class"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    kept = frame[frame["class"].notna()]
    found = certified_rows(
        tmp_path / "gaps.csv", skip_unlabelled=True, slice="site", validation_column="part", drop=("site",)
    )
    np.testing.assert_array_equal(found.X["a"], kept["a"])
    np.testing.assert_array_equal(found.slices, kept["site"])
    np.testing.assert_array_equal(found.validation, kept["part"] == "val")
    frame[:120].to_csv(tmp_path / "first.csv", index=False)
    frame[120:].to_csv(tmp_path / "second.csv", index=False)
    found = certified_rows(
        tmp_path / "first.csv", skip_unlabelled=True, validation=tmp_path / "second.csv", drop=("site", "part")
    )
    assert found.validation.sum() == frame["class"][120:].notna().sum()
    np.testing.assert_array_equal(found.X["a"][found.validation], frame["a"][120:][frame["class"][120:].notna()])


@pytest.mark.parametrize(("ours", "theirs"), [(7, 7.0), ("Anna", "anna"), ("7", "7 "), ("A B", "A  B")])
def test_one_group_written_in_two_ways_is_refused(tmp_path, capsys, ours, theirs):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"who": [ours, "x"] * 20, "a": rng.normal(size=40), "class": ["yes", "no", "no", "yes"] * 10})
    rows.to_csv(tmp_path / "one.csv", index=False)
    rows.assign(who=[theirs, "y"] * 20, a=rows["a"] + 1).to_csv(tmp_path / "two.csv", index=False)
    words = ["certify", tmp_path / "one.csv", "--group", "who", "--validation", tmp_path / "two.csv"]
    assert "look like one group: write them alike" in in_process(words, capsys).error
