"""`pacbayes certify --group` and `--duplicates`."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, in_process
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
def test_what_is_wrong_is_said_in_one_line(files, capsys, arguments, message):
    frame = pd.read_csv(files / "data.csv")
    frame.loc[2, "patient"] = None
    frame.to_csv(files / "gaps.csv", index=False)
    done = in_process(["certify", files / arguments[0], *arguments[1:]], capsys)
    assert done.code == 2
    assert re.search(message, done.error)
