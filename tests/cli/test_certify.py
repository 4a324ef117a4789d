"""`pacbayes certify`: the same numbers as in Python, on stdout, in JSON and in reports."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from tests.cli.bad_files import good
from tests.cli.running import as_json, error_of, in_process
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
    """The estimator that `certify` fits with QUICK."""
    return CertifiedClassifier(SVMs(parse_lambdas(QUICK[1])), random_state=0, **params)


def test_default_is_a_soft_vote_on_wdbc(capsys):
    output = as_json(["certify"], capsys)
    X, y = load_breast_cancer(return_X_y=True)
    clf = CertifiedClassifier("svm", random_state=0).fit(X, np.array(["malignant", "benign"])[y])
    assert output["certificate"] == " ".join(clf.certificate_.text_lines)
    assert list(output["certificates"]) == ["soft", "stochastic", "majority", "best"]
    assert output["settings"]["voting"] == clf.voting_ == "soft"
    for voting, certificate in clf.certificates_.items():
        assert output["certificates"][voting]["bound"] == certificate.bound
    assert output["data"]["classes"] == ["malignant", "benign"]
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    assert [entry["distance"] for entry in output["bounds"]] == list(DISTANCES)
    for entry in output["bounds"]:
        assert entry["bound"] == pytest.approx(optimal_posterior(risks, m, distance=entry["distance"]).bound, rel=1e-9)
    assert sum(carrier["weight"] for carrier in output["weights"]) == pytest.approx(1.0)
    assert sum(carrier["number"] for carrier in output["weights"]) == np.count_nonzero(clf.weights_)


def test_tables_go_to_stdout_and_notes_to_stderr(files, capsys):
    result = in_process(["certify", files / "data.csv", *QUICK, "--test", files / "new.csv"], capsys)
    guarantee, *parts = result.out.split("\n\n")
    tables = [[line.split("\t") for line in part.splitlines()] for part in parts]
    assert [table[0][0] for table in tables] == ["classifier", "bound", "classifier"]
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    assert [row[0] for row in tables[1][1:]] == [*DISTANCES, "Occam", "holdout"]
    assert tables[0][0][-1] == "test error"
    ways = ["soft vote", "stochastic classifier", "majority vote", "best single classifier", "majority class ('yes')"]
    assert [row[0] for row in tables[0][1:]] == ways
    assert "Predictions use the rule with the smallest bound." in result.err
    assert "Predicts the class with the highest probability, averaged over all 45 classifiers." in result.err
    assert guarantee.startswith("With 95 % confidence, the error rate of this classifier on new examples is at most")
    assert "Fix distance and delta before validation" in result.err
    assert "The class is the last column, 'kind'" in result.err


def test_every_option_reaches_the_estimator(files, capsys):
    args = "--delta 0.1 --candidates svm --split independent --validation-size 70 --seed 5 --kernel linear --jobs 1"
    output = as_json(["certify", files / "data.csv", *QUICK, *args.split()], capsys)
    clf = StochasticSVC(
        parse_lambdas(QUICK[1]), kernel="linear", split="independent", validation_size=70, delta=0.1, random_state=5
    ).fit(good(200)[["a", "b"]], good(200)["kind"])
    assert output["certificates"]["stochastic"]["bound"] == clf.certificate_.bound
    assert output["certificates"]["stochastic"]["baselines"]["holdout"]["bound"] is None
    args = ["certify", files / "data.csv", *QUICK, "--hedge", "1", "--distance", "kl", "--distance", "linear"]
    two = as_json(args, capsys)
    assert "smallest of 2" in two["certificates"]["stochastic"]["theorem"]


def test_catoni_and_cross_validation_prior(files, capsys):
    choice = ["--distance", "catoni", "--prior", "cross-validation"]
    output = as_json(["certify", files / "data.csv", *QUICK, *choice], capsys)
    clf = quick(distance="catoni", prior="cross-validation").fit(good(200)[["a", "b"]], good(200)["kind"])
    assert output["settings"]["distance"] == list(clf.distances_) == [output["posterior"]["distance"]]
    assert output["posterior"]["bound"] == clf.posterior_.bound
    repeated = as_json(["certify", files / "data.csv", *QUICK, "--distance", clf.distances_[0], *choice[2:]], capsys)
    assert repeated["posterior"]["bound"] == clf.posterior_.bound
    assert as_json(["certify", files / "data.csv", *QUICK, "--hedge", "0"], capsys)["posterior"] is None


def test_mixed_columns_are_preprocessed_on_training_rows(mixed_file, capsys):
    result = in_process(["certify", mixed_file, *QUICK], capsys)
    assert "2 numeric columns ('x', 'age'), 1 categorical ('colour'); " in result.err
    assert "Fitted on the training rows only: medians for missing numbers; 'colour': one column for each" in result.err
    prepare, X, y = mixed(200)
    clf = quick(preprocessor=prepare).fit(X, y)
    output = as_json(["certify", mixed_file, *QUICK], capsys)
    for voting, certificate in clf.certificates_.items():
        assert output["certificates"][voting]["bound"] == certificate.bound


def test_independent_splits_reject_mixed_columns(mixed_file, capsys):
    assert "requires numeric columns without missing values, unlike 'colour', 'age': use --drop" in error_of(
        ["certify", mixed_file, "--candidates", "svm", "--split", "independent"], capsys
    )


def test_scikit_learn_classifier_with_grid(mixed_file, tmp_path, capsys):
    name = "sklearn.ensemble.HistGradientBoostingClassifier"
    (tmp_path / "grid.json").write_text('{"max_iter": [3, 5]}', encoding="utf-8")
    args = ["certify", mixed_file, "--candidates", name, "--grid", tmp_path / "grid.json"]
    output = as_json([*args, "--save", tmp_path / "model"], capsys)
    assert (output["settings"]["classifiers"], output["settings"]["candidates"]) == (2, name)
    result = in_process(["predict", tmp_path / "model", mixed_file, "--trust"], capsys)
    _, X, _ = mixed(200)
    assert result.out.splitlines()[1:] == load(tmp_path / "model", trusted=["sklearn."]).predict(X).tolist()


def test_report_agrees_with_the_output(files, capsys):
    odd = good(400).rename(columns={"a": "<script>alert(1)</script>"})
    odd[:200].to_csv(files / "odd.csv", index=False)
    odd[200:].to_csv(files / "odd new.csv", index=False)
    report = files / "report.html"
    args = ["certify", files / "odd.csv", *QUICK, "--report", report, "--test", files / "odd new.csv"]
    result = in_process(args, capsys)
    page = Page(report.read_text(encoding="utf-8"))
    bounds = [line.split("\t")[2] for line in result.out.splitlines() if "\tstochastic classifier\t" in line]
    shown = dict(
        zip(page.column("table-bounds", "bound"), page.column("table-bounds", "error rate at most"), strict=True)
    )
    assert [shown[name] for name in DISTANCES] == bounds
    assert percent_up(float(page.column("table-certificates", "soft vote (this model)")[3])) in page.text("headline")
    assert page.text("sentence") == result.out.splitlines()[0]
    facts = dict(page.table("table-record-1")[1])
    assert "<script>alert(1)</script>" in facts["column names"]
    assert len(facts["SHA-256 of the rows"]) == 64
    assert " on 200 test rows" in page.text("observed")
    assert str(files / "odd.csv") in page.source
    # Readers of the report have no command line.
    assert "--target" not in page.source


@pytest.mark.parametrize("voting", ["majority"])
def test_voting_option_is_certified_saved_and_reported(files, voting, capsys):
    args = ["certify", files / "data.csv", *QUICK, "--voting", voting]
    outputs = ["--save", files / "model", "--report", files / "page.html"]
    result = in_process([*args, *outputs], capsys)
    assert result.code == 0, result.err
    clf = load(files / "model")
    assert clf.voting == voting
    assert result.out.splitlines()[0] == clf.certificate_.sentence
    assert clf.certificate_.sentence != clf.certificates_["stochastic"].sentence
    page = Page((files / "page.html").read_text(encoding="utf-8"))
    assert page.text("headline") == clf.certificate_.summary_line
    assert page.text("sentence") == clf.certificate_.sentence
    assert ("majority vote of" if voting == "majority" else "Predicts with") in page.text("facts")
    assert "at random by" not in result.err
    output = as_json(args, capsys)
    assert output["certificate"] == " ".join(clf.certificate_.text_lines)
    assert output["settings"]["voting"] == voting
    wrong = in_process(["certify", files / "data.csv", "--voting", "majorty"], capsys)
    assert "--voting must be a str among" in wrong.error


def test_classes_that_only_test_rows_have(files, capsys):
    new = good(260)[200:]
    new.loc[new.index[:7], "kind"] = "perhaps"
    new.to_csv(files / "new.csv", index=False)
    args = ["certify", files / "data.csv", *QUICK, "--test", files / "new.csv"]
    remark = "7 of 60 test rows have a class that is not in the data ('perhaps'): each counts as an error."
    assert remark in in_process(args, capsys).err
    assert remark in as_json(args, capsys)["remarks"]


@pytest.mark.parametrize("option", ["target", "drop", "group", "slice", "keep", "categorical"])
def test_suggestion_for_a_misspelt_column(files, option, capsys):
    result = in_process(["certify", files / "data.csv", f"--{option}", "Knid"], capsys)
    assert result.error.endswith("; did you mean 'kind'?")


def test_test_rows_that_equal_the_data(files, capsys):
    data = good(200)
    data.sample(frac=1.0, random_state=0).to_csv(files / "copy.csv", index=False)
    result = in_process(["certify", files / "data.csv", *QUICK, "--test", files / "copy.csv"], capsys)
    assert result.error.endswith("--test must contain new rows, but 200 of 200 rows equal a row of the data")
    good(260)[:200].to_csv(files / "part.csv", index=False)
    good(260)[180:].to_csv(files / "some.csv", index=False)
    output = as_json(["certify", files / "part.csv", *QUICK, "--test", files / "some.csv"], capsys)
    assert any("20 of 80 rows equal a row of the data" in entry for entry in output["remarks"])
