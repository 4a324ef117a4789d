"""Output of commands: guarantee, main assumption, remarks, JSON, unknown categories, classifier names."""

import hashlib
import json

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.cli.bad_files import good
from tests.cli.running import in_process
from tests.estimators.models import two_classes
from tests.report.browser_page import Page

from pacbayes import CertifiedClassifier, Grid, SVMs, load_dataset
from pacbayes._utils.values import fingerprint
from pacbayes.cli.remarks import grid_remarks
from pacbayes.report.view import ReportView

QUICK = ["--lambdas", "0.1,1"]
SENTENCE = "With 95 % confidence, the error rate of this classifier on new examples is at most "
ASSUMED = "Assumes that the rows are independent draws from the distribution of new examples."


@pytest.fixture
def data(tmp_path):
    good(200).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_json_output_is_pure(data, capfd):
    # capfd also captures output that libraries write without Python's streams.
    output = json.loads(in_process(["certify", data, *QUICK, "--json"], capfd).out)
    assert output["certificate"].startswith(SENTENCE)
    assert output["assumption"] == ASSUMED


def test_json_has_settings_and_fingerprints(data, capsys):
    output = json.loads(in_process(["certify", data, "--json"], capsys).out)
    settings = output["settings"]
    assert (settings["candidates"], settings["voting"]) == ("svm", "soft")
    assert (settings["n_train"], settings["n_validation"]) == (100, 100)
    assert settings["parameters"] | {"cv": "auto", "voting": "auto", "prior": "uniform"} == settings["parameters"]
    bunch = load_dataset(data, as_frame=True)
    clf = CertifiedClassifier("svm", random_state=0).fit(bunch.data, bunch.target)
    assert settings["classifier_parameters"] == clf.classifiers_.params
    assert len({entry["gamma"] for entry in settings["classifier_parameters"]}) == 5
    assert {"pacbayes", "Python", "numpy", "scipy", "scikit-learn", "numba"} <= set(output["versions"])
    digests = output["data"]["sha256"]
    assert digests["file"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert digests["rows"] == fingerprint([(name, np.ascontiguousarray(column)) for name, column in bunch.data.items()])
    assert digests["labels"] == fingerprint(bunch.target.to_numpy(dtype="U3"))
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace("yes", "jes", 1), encoding="utf-8")
    other = json.loads(in_process(["certify", data, *QUICK, "--json"], capsys).out)["data"]["sha256"]
    assert other["rows"] == digests["rows"]
    assert other["labels"] != digests["labels"]


def test_remark_on_weight_at_the_end_of_the_grid(tmp_path, capsys):
    """On wdbc, 52 % of the weight is on the widest kernel."""
    output = in_process(["certify", "--hedge", "1", "--report", tmp_path / "report.html", "--json"], capsys)
    (remark,) = json.loads(output.out)["remarks"]
    assert remark.startswith("52 % of the weight is at the smallest of 5 values of gamma (0.002804);")
    assert "the certificate does not cover a grid chosen after seeing these results" in remark
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert remark in page.text("notes")
    # Bundled data sets have class names.
    assert page.column("table-classes", "class") == ["benign", "malignant"]


def test_grid_remarks_of_several_families():
    """Each family has its own grid; the remark is on the share of the total weight."""

    def remarks(first, depths):
        trees = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": depths})
        clf = CertifiedClassifier([("first", first), ("trees", trees)], random_state=0).fit(*two_classes())
        assert clf.voting_ == "soft"
        return [entry.partition(";")[0] for entry in grid_remarks(ReportView.from_model(clf))]

    (low,) = remarks(SVMs([0.4, 1.0, 10.0, 100.0, 1000.0], gamma="sigest"), [1, 2, 3, 4, 5])
    assert low.endswith("% of the weight is at the smallest of 5 values of lambda of first (0.4)")
    (deep,) = remarks(DummyClassifier(), [2, 20, 21, 22, 23])
    assert deep == "100 % of the weight is at the smallest of 5 values of max_depth of trees (2)"
    assert remarks(DummyClassifier(), [23, 22, 21, 20, 2]) == [deep]
    # No remark in the middle of a grid, for few values, and for strings.
    assert remarks(DummyClassifier(), [1, 2, 20, 21, 22]) == remarks(DummyClassifier(), [2, 20]) == []
    assert remarks(Grid(DummyClassifier(), {"strategy": ["prior", "most_frequent"]}), [1, 2, 20, 21, 22]) == []


def test_unknown_categories_are_counted(tmp_path, capsys):
    """In a pipeline; test_predict_blocks.py tests SVMs."""
    rng = np.random.default_rng(0)
    frame = good(200).assign(colour=rng.choice(["red", "green"], 200), size=rng.choice(["S", "L"], 200))
    frame[["colour", "size", "a", "kind"]].to_csv(tmp_path / "data.csv", index=False)
    args = ["certify", tmp_path / "data.csv", "--candidates", "logistic", "--save", tmp_path / "model", "-q"]
    assert in_process(args, capsys).code == 0
    new = frame[:10].assign(colour=["mauve", "teal", "mauve", None, *["red"] * 6])
    new[["colour", "size", "a", "kind"]].to_csv(tmp_path / "new.csv", index=False)
    result = in_process(["predict", tmp_path / "model", tmp_path / "new.csv"], capsys)
    message = "Column 'colour': 4 of 10 examples hold a category that was not in the training data"
    assert f"{message} ('mauve', 'teal', 'missing')." in result.err.splitlines()
    assert "'size'" not in result.err
