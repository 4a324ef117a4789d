"""`certify --candidates`: all families, some of them, one, a classifier of scikit-learn with its grid."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, in_process
from tests.report.browser_page import Page

from pacbayes import CertifiedClassifier, load, load_dataset

FAMILIES = ["svm", "forest", "boosting", "logistic", "neighbours"]


def patients(number, seed=0):
    """Return a table with text, and with gaps in a column of numbers and in one of text."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.normal(50, 10, number).round(1), "weight": rng.normal(70, 12, number).round(1)})
    table["site"] = rng.choice(["north", "south", "west"], number)
    score = table["age"] + 10 * (table["site"] == "north") + rng.normal(0, 8, number)
    table["ill"] = np.where(score > 55, "yes", "no")
    table.loc[rng.random(number) < 0.1, "age"] = np.nan
    table.loc[rng.random(number) < 0.05, "site"] = None
    return table


@pytest.fixture
def folder(tmp_path):
    patients(160).to_csv(tmp_path / "data.csv", index=False)
    patients(50, seed=1).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def families_of(found):
    """Return the families of all classifiers, in their order."""
    return list(dict.fromkeys(one.get("candidate") for one in found["settings"]["of_classifiers"]))


def test_all_families(capsys):
    found = as_json(["certify", "--dataset", "haberman", "--candidates", "auto"], capsys)
    data = load_dataset("haberman")
    clf = CertifiedClassifier("auto", random_state=0).fit(data.data, np.array(data.target_names)[data.target])
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert {name: one["bound"] for name, one in found["certificates"].items()} == {
        name: one.bound for name, one in clf.certificates_.items()
    }
    assert families_of(found) == FAMILIES
    assert found["settings"]["candidates"] == "auto"
    assert found["settings"]["parameters"]["candidates"] == "auto"
    # Of each family the classifier with the least log-loss has a part in the soft vote.
    assert [one["number"] for one in found["weights"]] == [1] * len(found["weights"])
    names = [one["label"].partition(":")[0] for one in found["weights"]]
    assert len(set(names)) == len(names) == np.count_nonzero(clf.weights_)
    assert set(names) <= set(FAMILIES)


def test_some_families_with_text_and_gaps(folder, capsys):
    outputs = ["--save", folder / "model", "--report", folder / "page.html", "--test", folder / "new.csv"]
    done = in_process(["certify", folder / "data.csv", "--candidates", "svm,forest", *outputs], capsys)
    assert done.code == 0, done.err
    assert "Predicts the class with the highest probability, averaged over 2 of 132 trained classifiers." in done.err
    assert "warning" not in done.err
    model, new = load(folder / "model"), patients(50, seed=1)
    assert model.voting_ == "soft"
    assert done.out.splitlines()[0] == model.certificate_.sentence
    table = [line.split("\t") for line in done.out.split("\n\n")[-1].splitlines()]
    assert sorted(row[0].partition(":")[0] for row in table[1:]) == ["forest", "svm"]
    errors = {row[0]: row[-1] for row in (line.split("\t") for line in done.out.splitlines()) if len(row) == 4}
    rows = new.drop(columns="ill")
    wrong = np.count_nonzero(model.predict(rows) != new["ill"])
    assert errors["soft vote"] == f"{2 * wrong:.1f} % of 50"
    # Page, model and predictions are those of the soft vote.
    page = Page((folder / "page.html").read_text(encoding="utf-8"))
    assert page.text("headline") == model.certificate_.headline
    assert page.text("sentence") == model.certificate_.sentence
    assert page.text("observed").startswith(f"{wrong} errors on 50 test rows")
    predicted = in_process(["predict", folder / "model", folder / "new.csv", "--shares"], capsys)
    assert predicted.code == 0, predicted.err
    lines = list(csv.DictReader(io.StringIO(predicted.out)))
    assert [line["predicted"] for line in lines] == model.predict(rows).tolist()
    shares = [[float(line[f"share of {name}"]) for name in ("no", "yes")] for line in lines]
    np.testing.assert_array_equal(shares, model.predict_proba(rows))
    assert model.certificate_.sentence in predicted.err


@pytest.mark.parametrize("name", ["boosting", "logistic"])
def test_one_family(name, folder, capsys):
    found = as_json(["certify", folder / "data.csv", "--candidates", name], capsys)
    table = patients(160)
    clf = CertifiedClassifier(name, random_state=0).fit(table.drop(columns="ill"), table["ill"].to_numpy(str))
    assert found["certificate"] == " ".join(clf.certificate_.lines)
    assert families_of(found) == [None]
    assert found["settings"]["classifiers"] == len(clf.classifiers_)
    assert found["settings"]["kernel"] is None
    # What the pipeline around it prepares is the same for all, and a label is one line.
    assert all(one["label"].startswith("estimator = ") for one in found["weights"])
    assert all("Pipeline" not in one["label"] and "\n" not in one["label"] for one in found["weights"])


@pytest.mark.parametrize("candidates", ["auto", "svm"])
def test_what_many_columns_leave_out_is_said_and_the_kernel_is_the_one_trained(candidates, tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 1001))).rename(columns=lambda place: f"x{place}")
    table.assign(kind=np.where(table["x0"] > 0, "a", "b")).to_csv(tmp_path / "wide.csv", index=False)
    done = in_process(["certify", tmp_path / "wide.csv", "--candidates", candidates, "--refit", "--json"], capsys)
    settings = json.loads(done.out)["settings"]
    assert settings["kernel"] == "linear"
    noted = [line for line in done.err.splitlines() if "leaves out" in line]
    assert len(noted) == (candidates == "auto")
    for line in noted:
        assert "--candidates auto leaves out forest, boosting, neighbours, because the rows have 1001 columns" in line
        assert "--candidates boosting" in line
        assert "times)" not in line
