"""`pacbayes compare`: columns of predictions, saved models, groups, invalid input."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.bad_files import good
from tests.cli.running import error_of, in_process

from pacbayes import StochasticSVC, certify_difference, save


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.choice(["no", "yes"], 120)
    other = np.where(truth == "no", "yes", "no")
    frame = pd.DataFrame({"class": truth, "old": np.where(rng.random(120) < 0.3, other, truth)})
    frame["new"] = np.where(rng.random(120) < 0.02, other, truth)
    path = tmp_path / "predicted.csv"
    frame.to_csv(path, index=False)
    return frame, path


def test_columns(table, capsys):
    frame, path = table
    difference = certify_difference(
        frame["old"] != frame["class"], frame["new"] != frame["class"], names=("old", "new")
    )
    args = ["compare", path, "--target", "class", "--a", "old", "--b", "new"]
    result = in_process(args, capsys)
    assert result.code == 0
    assert result.out.splitlines()[0] == str(difference)
    assert "lower than that of old" in str(difference)
    assert "independent draws" in result.out.splitlines()[1]
    assert f"only old\t{difference.only_a}" in result.out
    values = json.loads(in_process([*args, "--json", "--delta", "0.2"], capsys).out)
    assert values["upper"] < difference.upper
    assert values["better"] == "new"
    assert values["text"].startswith("With 80 % confidence")


def test_saved_models(tmp_path, capsys):
    frame = good(160)
    clf = StochasticSVC([0.1, 1.0], random_state=0, voting="best").fit(frame[["a", "b"]][:100], frame["kind"][:100])
    save(clf, tmp_path / "m.pacbayes")
    new = frame[100:].assign(old="no")
    new.to_csv(tmp_path / "new.csv", index=False)
    args = ["compare", tmp_path / "new.csv", "--target", "kind", "--a", "old", "--model-b", tmp_path / "m.pacbayes"]
    values = json.loads(in_process([*args, "--json"], capsys).out)
    y_pred = clf.predict(new[["a", "b"]])
    assert values["both"] + values["only_b"] == int((y_pred != new["kind"].to_numpy()).sum())
    assert values["names"] == ["old", "m.pacbayes"]


def test_invalid_arguments(table, tmp_path, capsys):
    _, path = table
    for args, message in {
        ("--target", "class", "--a", "old"): "exactly one of --b COLUMN and --model-b MODEL is required",
        (
            "--target",
            "class",
            "--a",
            "old",
            "--model-a",
            "x",
            "--b",
            "new",
        ): "exactly one of --a COLUMN and --model-a MODEL is required",
        ("--target", "class", "--a", "old", "--b", "old"): "must name different columns",
        ("--target", "none", "--a", "old", "--b", "new"): "--target must name a column of",
        ("--target", "class", "--a", "old", "--b", "none"): "--b must name a column of",
        ("--target", "class", "--a", "old", "--b", "new", "--delta", "2"): "'--delta': must be a share between 0 and 1",
    }.items():
        assert message in error_of(["compare", path, *args], capsys)
    (tmp_path / "gap.csv").write_text("y,p,q\na,a,\nb,b,b\n", encoding="utf-8")
    assert "has no value in row 1" in error_of(
        ["compare", tmp_path / "gap.csv", "--target", "y", "--a", "p", "--b", "q"], capsys
    )
    (tmp_path / "else.csv").write_text("y,p,q\na,a,1\nb,b,2\n", encoding="utf-8")
    assert "no prediction of --b is one of the true classes" in error_of(
        ["compare", tmp_path / "else.csv", "--target", "y", "--a", "p", "--b", "q"], capsys
    )


def trained(tmp_path, **choices):
    frame = good(160)
    clf = StochasticSVC([0.1, 1.0], random_state=0, **choices).fit(frame[["a", "b"]][:100], frame["kind"][:100])
    save(clf, tmp_path / "m.pacbayes")
    return frame.assign(old="no")


def words_for(path, tmp_path):
    return ["compare", path, "--target", "kind", "--a", "old", "--model-b", tmp_path / "m.pacbayes"]


def test_rows_of_the_fit_are_rejected(tmp_path, capsys):
    frame = trained(tmp_path)
    for copy in (frame[:100], frame[:100].sample(frac=1.0, random_state=0), frame[:50], frame[:120]):
        copy.to_csv(tmp_path / "copy.csv", index=False)
        assert "was fitted with these rows" in error_of(words_for(tmp_path / "copy.csv", tmp_path), capsys)
    frame[80:].to_csv(tmp_path / "some.csv", index=False)
    result = in_process(words_for(tmp_path / "some.csv", tmp_path), capsys)
    assert result.code == 0
    assert "20 of 80 rows equal a row that" in result.err
    frame[100:].to_csv(tmp_path / "new.csv", index=False)
    result = in_process(words_for(tmp_path / "new.csv", tmp_path), capsys)
    assert "equal a row" not in result.err
    assert result.out.splitlines()[1].startswith("Assumes that the rows are independent draws")
    assert "neither model was trained, tuned or chosen with these rows" in result.out.splitlines()[1]


def test_groups(table, tmp_path, capsys):
    frame, path = table
    frame = frame.assign(who=np.arange(120) // 4)
    frame.to_csv(path, index=False)
    args = ["compare", path, "--target", "class", "--a", "old", "--b", "new"]
    wrong = [frame[name] != frame["class"] for name in ("old", "new")]
    difference = certify_difference(*wrong, names=("old", "new"), groups=frame["who"])
    result = in_process([*args, "--group", "who"], capsys)
    assert result.out.splitlines()[0] == str(difference)
    assert "the groups are independent draws" in result.out
    assert "chosen with rows of these groups." in result.out
    values = json.loads(in_process([*args, "--group", "who", "--json"], capsys).out)
    assert (values["groups"], values["upper"], values["m"]) == (30, difference.upper, 120)
    assert "--target, --a, --b, --group must name different columns" in error_of([*args, "--group", "new"], capsys)
    frame.assign(who=frame["who"].where(frame.index != 4)).to_csv(path, index=False)
    assert "has no value in row 5; every row requires a value" in error_of([*args, "--group", "who"], capsys)


def test_model_certified_by_groups_requires_groups(tmp_path, capsys):
    frame = good(160).assign(who=np.arange(160) // 4, old="no")
    clf = StochasticSVC([0.1, 1.0], random_state=0)
    save(clf.fit(frame[["a", "b"]][:100], frame["kind"][:100], groups=frame["who"][:100]), tmp_path / "m.pacbayes")
    frame[100:].to_csv(tmp_path / "new.csv", index=False)
    args = words_for(tmp_path / "new.csv", tmp_path)
    error = error_of(args, capsys)
    assert "--group is required: " in error
    assert "m.pacbayes' was certified by groups" in error
    result = in_process([*args, "--group", "who", "--json"], capsys)
    assert json.loads(result.out)["groups"] == 15
    assert "not used" not in result.err


def test_model_that_abstains_is_rejected(tmp_path, capsys):
    trained(tmp_path, hedge=0.1, max_error=0.3)[100:].to_csv(tmp_path / "new.csv", index=False)
    assert "abstains on some rows (--max-error)" in error_of(words_for(tmp_path / "new.csv", tmp_path), capsys)
