"""What is printed where: the guarantee and its main assumption, remarks, JSON, new categories, names of classifiers."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.cli.bad_files import good
from tests.cli.running import in_process
from tests.estimators.models import two_classes
from tests.report.browser_page import Page

from pacbayes import CertifiedClassifier, Grid, SVMs, load_dataset
from pacbayes._utils.values import fingerprint
from pacbayes.report.record import grid_remarks
from pacbayes.report.view import ReportView

QUICK = ["--lambdas", "0.1,1"]
SENTENCE = "With 95 % confidence, the error rate of this classifier on new examples is at most "
ASSUMED = "Assumes that the rows are independent draws from the distribution of new examples."


@pytest.fixture
def data(tmp_path):
    good(200).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_json_is_nothing_but_json(data, capfd):
    # By descriptors: what a library writes past Python's streams would be in the way, too.
    found = json.loads(in_process(["certify", data, *QUICK, "--json"], capfd).out)
    assert found["certificate"].startswith(SENTENCE)
    assert found["assumption"] == ASSUMED


def test_json_holds_resolved_settings_and_fingerprints(data, capsys):
    found = json.loads(in_process(["certify", data, "--json"], capsys).out)
    settings = found["settings"]
    assert (settings["candidates"], settings["voting"]) == ("svm", "soft")
    assert (settings["training_examples"], settings["validation_examples"]) == (100, 100)
    assert settings["parameters"] | {"cv": 5, "voting": "auto", "prior": "uniform"} == settings["parameters"]
    frame = good(200)
    clf = CertifiedClassifier("svm", random_state=0).fit(frame[["a", "b"]], frame["kind"])
    assert settings["of_classifiers"] == clf.classifiers_.params
    assert len({one["gamma"] for one in settings["of_classifiers"]}) == 5
    assert {"pacbayes", "Python", "numpy", "scipy", "scikit-learn", "numba"} <= set(found["versions"])
    digests = found["data"]["sha256"]
    assert digests["file"] == hashlib.sha256(data.read_bytes()).hexdigest()
    bunch = load_dataset(data, as_frame=True)
    assert digests["rows"] == fingerprint(bunch.data)
    assert digests["labels"] == fingerprint(bunch.target.to_numpy(dtype="U3"))
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace("yes", "jes", 1), encoding="utf-8")
    other = json.loads(in_process(["certify", data, *QUICK, "--json"], capsys).out)["data"]["sha256"]
    assert other["rows"] == digests["rows"]
    assert other["labels"] != digests["labels"]


def test_remark_where_most_weight_is_at_an_end_of_the_grid(tmp_path, capsys):
    """52 % of the weight on wdbc is on the widest kernel."""
    found = in_process(["certify", "--hedge", "1", "--report", tmp_path / "report.html", "--json"], capsys)
    (remark,) = json.loads(found.out)["remarks"]
    assert remark.startswith("52 % of the weight is at the smallest of 5 values of gamma (0.002804);")
    assert "the certificate does not cover a grid chosen after seeing these results" in remark
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert remark in page.text("notes")
    # Classes by their names, where the data set has some.
    assert page.column("table-classes", "class") == ["benign", "malignant"]


def test_remarks_on_several_families():
    """Each has a grid of its own; what counts is the share of the whole weight."""

    def remarks(first, depths):
        trees = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": depths})
        clf = CertifiedClassifier([("first", first), ("trees", trees)], random_state=0).fit(*two_classes())
        assert clf.voting_ == "soft"
        return [one.partition(";")[0] for one in grid_remarks(ReportView.of(clf))]

    (low,) = remarks(SVMs([0.4, 1.0, 10.0, 100.0, 1000.0], gamma="sigest"), [1, 2, 3, 4, 5])
    assert low.endswith("% of the weight is at the smallest of 5 values of lambda of first (0.4)")
    (deep,) = remarks(DummyClassifier(), [2, 20, 21, 22, 23])
    assert deep == "100 % of the weight is at the smallest of 5 values of max_depth of trees (2)"
    assert remarks(DummyClassifier(), [23, 22, 21, 20, 2]) == [deep]
    # In the middle, of too few values, and of words there is nothing to say.
    assert remarks(DummyClassifier(), [1, 2, 20, 21, 22]) == remarks(DummyClassifier(), [2, 20]) == []
    assert remarks(Grid(DummyClassifier(), {"strategy": ["prior", "most_frequent"]}), [1, 2, 20, 21, 22]) == []


def test_categories_never_seen_in_training_are_counted(tmp_path, capsys):
    """In pipelines too; of machines the test of predictions in blocks asks."""
    rng = np.random.default_rng(0)
    frame = good(200).assign(colour=rng.choice(["red", "green"], 200), size=rng.choice(["S", "L"], 200))
    frame[["colour", "size", "a", "kind"]].to_csv(tmp_path / "data.csv", index=False)
    words = ["certify", tmp_path / "data.csv", "--candidates", "logistic", "--save", tmp_path / "model", "-q"]
    assert in_process(words, capsys).code == 0
    new = frame[:10].assign(colour=["mauve", "teal", "mauve", None, *["red"] * 6])
    new[["colour", "size", "a", "kind"]].to_csv(tmp_path / "new.csv", index=False)
    done = in_process(["predict", tmp_path / "model", tmp_path / "new.csv"], capsys)
    said = "Column 'colour': 4 of 10 examples hold a category that was not in the training data"
    assert f"{said} ('mauve', 'teal', 'missing')." in done.err.splitlines()
    assert "'size'" not in done.err


def test_posterior_keeps_the_names_in_its_file(tmp_path, capsys):
    path = tmp_path / "risks.csv"
    path.write_text("model,risk,code\nforest,0.1,7\nboosting,0.2,8\n,0.3,9\n", encoding="utf-8")
    words = ["posterior", path, "--m", 100]
    rows = [line.split("\t") for line in in_process(words, capsys).out.splitlines()]
    assert [row[0] for row in rows] == ["classifier", "forest", "boosting", ""]
    assert json.loads(in_process([*words, "--json"], capsys).out)["names"] == ["forest", "boosting", ""]
    rows = [line.split("\t") for line in in_process([*words, "--names", "code"], capsys).out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["7", "8", "9"]
    done = in_process([*words, "--names", "none"], capsys)
    assert "--names must name a column of" in done.error
    pd.DataFrame({"risk": [0.1, 0.2]}, index=["first", "second"]).to_csv(path)
    rows = [line.split("\t") for line in in_process(words, capsys).out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["first", "second"]


def test_what_posterior_prints_is_what_bound_reads(tmp_path, capsys):
    (tmp_path / "risks.csv").write_text("name,risk\na,0.1\nb,0.2\n", encoding="utf-8")
    found = json.loads(in_process(["posterior", tmp_path / "risks.csv", "--m", 100, "--json"], capsys).out)
    (tmp_path / "weights.tsv").write_text(in_process(["posterior", tmp_path / "risks.csv", "--m", 100], capsys).out)
    done = in_process(["bound", tmp_path / "weights.tsv", "--m", 100, "--distance", "kl", "--json"], capsys)
    assert json.loads(done.out)["bounds"]["kl"] == pytest.approx(found["bound"], rel=1e-12)


def test_predict_says_the_guarantee_on_stdout_where_that_is_free(data, tmp_path, capsys):
    in_process(["certify", data, *QUICK, "--save", tmp_path / "model", "-q"], capsys)
    out = tmp_path / "predicted.csv"
    done = in_process(["predict", tmp_path / "model", data, "--out", out, "-q"], capsys)
    assert done.out.splitlines()[0].startswith(SENTENCE)
    assert done.out.splitlines()[1] == ASSUMED
    assert done.err == ""
    assert out.read_text(encoding="utf-8").startswith("predicted\n")
    piped = in_process(["predict", tmp_path / "model", data], capsys)
    assert piped.out == out.read_text(encoding="utf-8")
    assert SENTENCE in piped.err
