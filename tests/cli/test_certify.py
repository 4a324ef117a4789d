"""`pacbayes certify`: the numbers of the library, where a person or a pipe expects them."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from tests.cli.bad_files import good
from tests.cli.running import as_json, in_process, refused
from tests.data.test_preparing import mixed
from tests.report.browser_page import Page

from pacbayes import DISTANCES, CertifiedClassifier, StochasticSVC, SVMs, load, optimal_posterior
from pacbayes._utils.words import percent_up
from pacbayes.cli.model import parse_lambdas

QUICK = ["--lambdas", "0.05:0.5:0.05"]


@pytest.fixture
def files(tmp_path):
    good(200).to_csv(tmp_path / "data.csv", index=False)
    good(260)[200:].to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.fixture
def mixed_file(tmp_path):
    _, X, y = mixed(200)
    X.assign(kind=y).to_csv(tmp_path / "mixed.csv", index=False)
    return tmp_path / "mixed.csv"


def quick(**params):
    """What `certify` fits with QUICK."""
    return CertifiedClassifier(SVMs(parse_lambdas(QUICK[1])), random_state=0, **params)


def test_without_arguments_it_is_a_soft_vote_of_machines_on_wdbc(capsys):
    found = as_json(["certify"], capsys)
    X, y = load_breast_cancer(return_X_y=True)
    clf = CertifiedClassifier("svm", random_state=0).fit(X, np.array(["malignant", "benign"])[y])
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert list(found["certificates"]) == ["soft", "stochastic", "majority", "best"]
    assert found["settings"]["voting"] == clf.voting_ == "soft"
    for voting, certificate in clf.certificates_.items():
        assert found["certificates"][voting]["bound"] == certificate.bound
    assert found["data"]["classes"] == ["malignant", "benign"]
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    assert [one["distance"] for one in found["bounds"]] == list(DISTANCES)
    for one in found["bounds"]:
        assert one["bound"] == pytest.approx(optimal_posterior(risks, m, distance=one["distance"]).bound, rel=1e-9)
    assert sum(carrier["weight"] for carrier in found["weights"]) == pytest.approx(1.0)
    assert sum(carrier["number"] for carrier in found["weights"]) == np.count_nonzero(clf.weights_)


def test_tables_to_stdout_and_everything_else_to_stderr(files, capsys):
    done = in_process(["certify", files / "data.csv", *QUICK, "--test", files / "new.csv"], capsys)
    guarantee, *parts = done.out.split("\n\n")
    tables = [[line.split("\t") for line in part.splitlines()] for part in parts]
    assert [table[0][0] for table in tables] == ["classifier", "bound", "classifier"]
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    assert [row[0] for row in tables[1][1:]] == [*DISTANCES, "Occam", "holdout"]
    assert tables[0][0][-1] == "test error"
    ways = ["soft vote", "stochastic classifier", "majority vote", "best single classifier", "majority class ('yes')"]
    assert [row[0] for row in tables[0][1:]] == ways
    assert "The rule with the smallest bound predicts." in done.err
    assert "Predicts the class with the highest probability, averaged over all 45 classifiers." in done.err
    assert guarantee.startswith("With 95 % confidence, the error rate of this classifier on new examples is at most")
    assert "Fix distance and delta before validation" in done.err
    assert "The class is the last column, 'kind'" in done.err


def test_every_option_reaches_the_estimator(files, capsys):
    words = "--delta 0.1 --candidates svm --split independent --validation-size 70 --seed 5 --kernel linear --jobs 1"
    found = as_json(["certify", files / "data.csv", *QUICK, *words.split()], capsys)
    clf = StochasticSVC(
        parse_lambdas(QUICK[1]), kernel="linear", split="independent", validation_size=70, delta=0.1, random_state=5
    ).fit(good(200)[["a", "b"]], good(200)["kind"])
    assert found["certificates"]["stochastic"]["bound"] == clf.certificate_.bound
    assert found["certificates"]["stochastic"]["baselines"]["holdout"]["bound"] is None
    words = ["certify", files / "data.csv", *QUICK, "--hedge", "1", "--distance", "kl", "--distance", "linear"]
    two = as_json(words, capsys)
    assert "smallest of 2" in two["certificates"]["stochastic"]["theorem"]


def test_catoni_and_a_prior_from_the_training_part(files, capsys):
    choice = ["--distance", "catoni", "--prior", "cross-validation"]
    found = as_json(["certify", files / "data.csv", *QUICK, *choice], capsys)
    clf = quick(distance="catoni", prior="cross-validation").fit(good(200)[["a", "b"]], good(200)["kind"])
    assert found["settings"]["distance"] == list(clf.distances_) == [found["posterior"]["distance"]]
    assert found["posterior"]["bound"] == clf.posterior_.bound
    again = as_json(["certify", files / "data.csv", *QUICK, "--distance", clf.distances_[0], *choice[2:]], capsys)
    assert again["posterior"]["bound"] == clf.posterior_.bound
    assert as_json(["certify", files / "data.csv", *QUICK, "--hedge", "0"], capsys)["posterior"] is None


def test_mixed_columns_are_learnt_on_the_training_part(mixed_file, capsys):
    done = in_process(["certify", mixed_file, *QUICK], capsys)
    assert "2 numeric columns ('x', 'age'), 1 categorical ('colour'); " in done.err
    assert "Learnt on the training part only: medians for missing numbers, one column per category" in done.err
    prepare, X, y = mixed(200)
    clf = quick(preprocessor=prepare).fit(X, y)
    found = as_json(["certify", mixed_file, *QUICK], capsys)
    for voting, certificate in clf.certificates_.items():
        assert found["certificates"][voting]["bound"] == certificate.bound


def test_mixed_columns_with_independent_splits_are_refused(mixed_file, capsys):
    assert "for columns of numbers without missing values, unlike 'colour', 'age': leave them out" in refused(
        ["certify", mixed_file, "--candidates", "svm", "--split", "independent"], capsys
    )


def test_other_estimators(mixed_file, tmp_path, capsys):
    name = "sklearn.ensemble.HistGradientBoostingClassifier"
    (tmp_path / "grid.json").write_text('{"max_iter": [3, 5]}', encoding="utf-8")
    words = ["certify", mixed_file, "--candidates", name, "--grid", tmp_path / "grid.json"]
    found = as_json([*words, "--save", tmp_path / "model"], capsys)
    assert (found["settings"]["classifiers"], found["settings"]["candidates"]) == (2, name)
    done = in_process(["predict", tmp_path / "model", mixed_file, "--trust"], capsys)
    _, X, _ = mixed(200)
    assert done.out.splitlines()[1:] == load(tmp_path / "model", trusted=["sklearn."]).predict(X).tolist()


def test_categories_by_request_and_texts_for_missing_values(tmp_path, capsys):
    frame = good(200).assign(code=["?", "7", "x", "7"] * 50)[["code", "a", "kind"]]
    frame.to_csv(tmp_path / "data.csv", index=False)
    words = ["certify", tmp_path / "data.csv", *QUICK]
    assert as_json([*words, "--categorical", "code"], capsys)["data"]["missing"] == {}
    found = as_json([*words, "--categorical", "code", "--missing", "?"], capsys)
    assert found["data"]["missing"] == {"code": 50}
    assert as_json([*words, "--drop", "code"], capsys)["data"]["numeric"] == ["a"]


def test_a_closed_pipe_costs_no_model(files):
    command = [sys.executable, "-m", "pacbayes", "certify", str(files / "data.csv"), *QUICK, "--candidates", "svm"]
    command += ["--save", str(files / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        process.wait(120)
    assert (files / "model").exists()


def test_checkpoint_is_used_again(files, capsys):
    words = ["certify", files / "data.csv", *QUICK, "--candidates", "svm", "--split", "independent"]
    words += ["--checkpoint", files / "kept"]
    first = as_json(words, capsys)
    stamps = {path: path.stat().st_mtime_ns for path in (files / "kept").glob("chunk*")}
    assert stamps
    assert as_json(words, capsys) == first
    assert {path: path.stat().st_mtime_ns for path in (files / "kept").glob("chunk*")} == stamps


def test_report_tells_the_same(files, capsys):
    odd = good(400).rename(columns={"a": "<script>alert(1)</script>"})
    odd[:200].to_csv(files / "odd.csv", index=False)
    odd[200:].to_csv(files / "odd new.csv", index=False)
    report = files / "report.html"
    words = ["certify", files / "odd.csv", *QUICK, "--report", report, "--test", files / "odd new.csv"]
    done = in_process(words, capsys)
    page = Page(report.read_text(encoding="utf-8"))
    bounds = [line.split("\t")[2] for line in done.out.splitlines() if "\tstochastic classifier\t" in line]
    shown = dict(zip(page.column("table-bounds", "guarantee"), page.column("table-bounds", "bound"), strict=True))
    assert [percent_up(float(shown[f"stochastic classifier, {name}"])) for name in DISTANCES] == bounds
    assert percent_up(float(page.column("table-certificates", "soft vote (this model)")[3])) in page.text("headline")
    assert page.text("sentence") == done.out.splitlines()[0]
    facts = dict(page.table("table-record-1")[1])
    assert "<script>alert(1)</script>" in facts["column names"]
    assert len(facts["SHA-256 of the rows"]) == 64
    assert " on 200 test rows" in page.text("observed")
    assert str(files / "odd.csv") in page.source
    # Its reader has no options to give.
    assert "--target" not in page.source


@pytest.mark.parametrize("voting", ["majority", "best"])
def test_voting_is_what_is_certified_saved_and_reported(files, voting, capsys):
    words = ["certify", files / "data.csv", *QUICK, "--voting", voting]
    outputs = ["--save", files / "model", "--report", files / "page.html"]
    done = in_process([*words, *outputs], capsys)
    assert done.code == 0, done.err
    clf = load(files / "model")
    assert clf.voting == voting
    assert done.out.splitlines()[0] == clf.certificate_.sentence
    assert clf.certificate_.sentence != clf.certificates_["stochastic"].sentence
    page = Page((files / "page.html").read_text(encoding="utf-8"))
    assert page.text("headline") == clf.certificate_.headline
    assert page.text("sentence") == clf.certificate_.sentence
    assert ("majority vote of" if voting == "majority" else "Predicts with") in page.text("facts")
    assert "at random by" not in done.err
    found = as_json(words, capsys)
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert found["settings"]["voting"] == voting
    wrong = in_process(["certify", files / "data.csv", "--voting", "majorty"], capsys)
    assert "--voting must be a str among" in wrong.error


def test_a_class_that_only_the_test_examples_have(files, capsys):
    new = good(260)[200:]
    new.loc[new.index[:7], "kind"] = "perhaps"
    new.to_csv(files / "new.csv", index=False)
    words = ["certify", files / "data.csv", *QUICK, "--test", files / "new.csv"]
    said = "7 of 60 test examples have a class that the data lacks ('perhaps'): each counts as an error."
    assert said in in_process(words, capsys).err
    assert said in as_json(words, capsys)["remarks"]


@pytest.mark.parametrize("option", ["target", "drop", "group", "slice", "keep", "categorical"])
def test_a_misspelt_column_is_recognised(files, option, capsys):
    done = in_process(["certify", files / "data.csv", f"--{option}", "Knid"], capsys)
    assert done.error.endswith("; did you mean 'kind'?")


def test_test_examples_that_are_the_data(files, capsys):
    data = good(200)
    data.sample(frac=1.0, random_state=0).to_csv(files / "copy.csv", index=False)
    done = in_process(["certify", files / "data.csv", *QUICK, "--test", files / "copy.csv"], capsys)
    assert done.error.endswith(
        "--test must hold examples other than the data, but 200 of 200 rows equal a row of the data"
    )
    good(260)[:200].to_csv(files / "part.csv", index=False)
    good(260)[180:].to_csv(files / "some.csv", index=False)
    found = as_json(["certify", files / "part.csv", *QUICK, "--test", files / "some.csv"], capsys)
    assert any("20 of 80 rows equal a row of the data" in one for one in found["remarks"])
