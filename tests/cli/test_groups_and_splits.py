"""`pacbayes certify` with --group, --duplicates and --validation."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, error_of, in_process
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


def test_group_option_equals_groups_of_fit(files, capsys):
    X, y, groups = sample(60)
    output, stderr = as_json(["certify", files / "data.csv", "--group", "patient", *QUICK], capsys, with_remarks=True)
    clf = CertifiedClassifier(SVMs([0.1, 1.0, 10.0]), random_state=0).fit(X, np.where(y, "yes", "no"), groups=groups)
    assert output["certificate"] == " ".join(clf.certificate_.text_lines)
    assert output["certificates"]["best"]["bound"] == clf.certificates_["best"].bound
    assert (
        output["data"]["options"]["group"],
        output["data"]["groups"],
        output["settings"]["duplicates_in_training"],
    ) == ("patient", 60, 0)
    assert (output["settings"]["unit"], output["settings"]["n_validation"]) == ("group", 30)
    assert output["certificates"]["stochastic"]["unit"] == "group"
    assert output["data"]["numeric"] == ["a", "b", "c"]
    assert "Column 'patient' has 60 groups and is not used as a feature." in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv", "--group", "nobody"], "--group must name a column of .*, got 'nobody'"),
        (["data.csv", "--group", "ill", "--target", "ill"], "--group must not name the target or .*, got 'ill'"),
        (["data.csv", "--group", "patient", "--drop", "patient"], "--group must not name .*, got 'patient'"),
        (["gaps.csv", "--group", "patient"], "column 'patient' of .* has no value in row 3"),
    ],
)
def test_invalid_groups(files, capsys, arguments, message):
    frame = pd.read_csv(files / "data.csv")
    frame.loc[2, "patient"] = None
    frame.to_csv(files / "gaps.csv", index=False)
    result = in_process(["certify", files / arguments[0], *arguments[1:]], capsys)
    assert result.code == 2
    assert re.search(message, result.error)


@pytest.fixture
def halves(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=120), "kind": rng.choice(["x", "y"], 120)})
    frame["class"] = np.where(frame["a"] + rng.normal(scale=0.3, size=120) > 0, "yes", "no")
    frame[:70].to_csv(tmp_path / "early.csv", index=False)
    frame[70:].to_csv(tmp_path / "late.csv", index=False)
    frame.assign(part=["train"] * 70 + ["Validation"] * 50).to_csv(tmp_path / "both.csv", index=False)
    return tmp_path


def test_validation_file_and_column_are_equivalent(halves, capsys):
    first = in_process(["certify", halves / "early.csv", "--validation", halves / "late.csv", "--json"], capsys)
    options = ["certify", halves / "both.csv", "--target", "class", "--validation-column", "part", "--json"]
    second = in_process(options, capsys)
    by_file, by_column = json.loads(first.out), json.loads(second.out)
    assert by_file["certificates"] == by_column["certificates"]
    assert by_file["settings"]["n_validation"] == 50
    assert "50 validation rows, from" in first.err
    assert "50 validation rows, from column 'part'; the others are for training." in second.err
    assert "The rows were split by the user" in by_file["certificates"]["soft"]["assumptions"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["early.csv", "--validation", "early.csv"], "70 of 70 rows equal a row of the training set"),
        (
            ["early.csv", "--validation", "late.csv", "--validation-size", "0.3"],
            "--validation-size cannot be combined with",
        ),
        (["both.csv", "--target", "class", "--validation-column", "kind"], "must contain true and false"),
        (["both.csv", "--target", "class", "--validation-column", "parts"], "did you mean 'part'"),
        (["both.csv", "--target", "class", "--validation-column", "class"], "a column of another option"),
        (["both.csv", "--target", "class", "--validation", "late.csv"], "but has no 'part'"),
        (["--dataset", "wdbc", "--validation", "late.csv"], "require a file"),
        (["--predictions", "both.csv", "--target", "class", "--validation", "late.csv"], "remove --validation"),
    ],
)
def test_invalid_user_splits(halves, capsys, monkeypatch, options, message):
    monkeypatch.chdir(halves)
    assert message in error_of(["certify", *options], capsys)


def certified_rows(path, **choices):
    from pacbayes.cli.data import Choices, read_data

    return read_data(path, None, Choices("class", **choices))


def test_masks_and_slices_stay_aligned_without_unlabelled_rows(tmp_path):
    """Misaligned masks and slices made bounds false in 30 of 30 samples."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200).round(6), "site": rng.choice(["n", "s"], 200)})
    frame["part"] = rng.choice(["train", "val"], 200)
    frame["class"] = rng.choice(["yes", "no"], 200)
    frame.loc[rng.choice(60, 30, replace=False), "class"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    kept = frame[frame["class"].notna()]
    output = certified_rows(
        tmp_path / "gaps.csv", skip_unlabelled=True, slice="site", validation_column="part", drop=("site",)
    )
    np.testing.assert_array_equal(output.X["a"], kept["a"])
    np.testing.assert_array_equal(output.slices, kept["site"])
    np.testing.assert_array_equal(output.validation, kept["part"] == "val")
    frame[:120].to_csv(tmp_path / "first.csv", index=False)
    frame[120:].to_csv(tmp_path / "second.csv", index=False)
    output = certified_rows(
        tmp_path / "first.csv", skip_unlabelled=True, validation=tmp_path / "second.csv", drop=("site", "part")
    )
    assert output.validation.sum() == frame["class"][120:].notna().sum()
    np.testing.assert_array_equal(output.X["a"][output.validation], frame["a"][120:][frame["class"][120:].notna()])


@pytest.mark.parametrize(("ours", "theirs"), [(7, 7.0), ("Anna", "anna"), ("7", "7 "), ("A B", "A  B")])
def test_two_spellings_of_a_group_are_rejected(tmp_path, capsys, ours, theirs):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"who": [ours, "x"] * 20, "a": rng.normal(size=40), "class": ["yes", "no", "no", "yes"] * 10})
    rows.to_csv(tmp_path / "one.csv", index=False)
    rows.assign(who=[theirs, "y"] * 20, a=rows["a"] + 1).to_csv(tmp_path / "two.csv", index=False)
    args = ["certify", tmp_path / "one.csv", "--group", "who", "--validation", tmp_path / "two.csv"]
    assert "if they are one group, write them alike" in error_of(args, capsys)
