"""`pacbayes certify --group` and `--duplicates`."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process
from tests.ensemble.grouped import sample

from pacbayes import CertifiedClassifier, SVMs, load

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


def as_json(arguments, capsys):
    done = in_process([*arguments, "--json"], capsys)
    assert done.code == 0, done.err
    return json.loads(done.out), done.err


def test_a_column_of_groups_is_the_groups_of_fit(files, capsys):
    X, y, groups = sample(60)
    found, said = as_json(["certify", files / "data.csv", "--group", "patient", *QUICK], capsys)
    clf = CertifiedClassifier(SVMs([0.1, 1.0, 10.0]), random_state=0).fit(X, np.where(y, "yes", "no"), groups=groups)
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert found["certificates"]["best"]["bound"] == clf.certificates_["best"].bound
    assert (found["data"]["group"], found["data"]["groups"], found["settings"]["copies"]) == ("patient", 60, 0)
    assert (found["settings"]["unit"], found["settings"]["validation_examples"]) == ("group", 30)
    assert found["certificates"]["stochastic"]["unit"] == "group"
    assert found["data"]["numeric"] == ["a", "b", "c"]
    assert "Column 'patient' names 60 groups and is not a feature." in said


def test_model_report_and_test_file_go_with_it(files, capsys):
    arguments = ["certify", files / "data.csv", "--group", "patient", "--test", files / "new.csv", *QUICK]
    outputs = ["--save", files / "model", "--report", files / "report.html"]
    done = in_process([*arguments, *outputs], capsys)
    assert done.code == 0, done.err
    assert "30 validation groups" in done.err
    assert "of the rows of a new group, on average over groups" in (files / "report.html").read_text()
    assert load(files / "model").certificate_.unit == "group"
    predicted = in_process(["predict", files / "model", files / "new.csv"], capsys)
    assert predicted.code == 0, predicted.err
    assert "on average over groups" in predicted.err


def test_copies_are_warned_of_and_kept_together(files, capsys):
    found, said = as_json(["certify", files / "copies.csv", *QUICK], capsys)
    assert "look like copies made after sampling" in said
    assert found["settings"]["copies"] > 0
    found, said = as_json(["certify", files / "copies.csv", "--duplicates", "together", *QUICK], capsys)
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
def test_what_is_wrong_is_said_in_one_line(files, capsys, arguments, message):
    frame = pd.read_csv(files / "data.csv")
    frame.loc[2, "patient"] = None
    frame.to_csv(files / "gaps.csv", index=False)
    done = in_process(["certify", files / arguments[0], *arguments[1:]], capsys)
    assert done.code == 2
    assert re.search(message, done.error)


@pytest.mark.parametrize("asked", [["--by-class"], ["--slice", "a"], ["--limits", "recall,f1"]], ids=" ".join)
@pytest.mark.parametrize("given", ["rows", "predictions"])
def test_limits_by_class_are_refused_in_words_of_options(files, capsys, given, asked):
    pd.read_csv(files / "data.csv").assign(one="no").to_csv(files / "answers.csv", index=False)
    data = [files / "data.csv"] if given == "rows" else ["--predictions", files / "answers.csv", "--target", "ill"]
    done = in_process(["certify", *data, "--group", "patient", *asked], capsys)
    assert (done.code, done.out) == (2, "")
    if given == "predictions" and "--slice" in asked:
        assert "leave out --slice" in done.error
        return
    assert done.error == (
        "pacbayes: --limits (and --by-class, --slice, --cost) are not for --group, whose rows are not independent: of "
        "costs alone limits are proved, for classifiers that are trained here"
    )


def test_a_cost_has_a_limit_with_groups(files, capsys):
    (files / "costs.csv").write_text("true,no,yes\nno,0,1\nyes,5,0\n", encoding="utf-8")
    found, _ = as_json(
        ["certify", files / "data.csv", "--group", "patient", "--cost", files / "costs.csv", *QUICK], capsys
    )
    (limit,) = found["certificates"]["soft"]["limits"]
    assert limit["name"] == "cost"
    assert 0 < limit["bound"] < 5


def test_groups_of_examples_without_a_class_go_with_them(files, capsys):
    frame = pd.read_csv(files / "data.csv")
    frame.loc[::7, "ill"] = None
    frame[["ill", "a", "b", "c", "patient"]].to_csv(files / "gaps.csv", index=False)
    options = ["--group", "patient", "--target", "ill", "--skip-unlabelled", *QUICK]
    found, _ = as_json(["certify", files / "gaps.csv", *options], capsys)
    kept = frame.dropna()
    clf = CertifiedClassifier(SVMs([0.1, 1.0, 10.0]), random_state=0)
    clf.fit(kept[["a", "b", "c"]], kept["ill"].to_numpy(str), groups=kept["patient"])
    assert found["certificates"]["best"]["bound"] == clf.certificates_["best"].bound
