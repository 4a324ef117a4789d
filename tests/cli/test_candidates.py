"""`certify --candidates`: all families, several, one, or a classifier of scikit-learn."""

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
    """Table with a text column, and missing values in a numeric and a text column."""
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


def families_of(output):
    """Families of all classifiers, in their order."""
    return list(dict.fromkeys(entry.get("candidate") for entry in output["settings"]["classifier_parameters"]))


def test_all_families(capsys):
    output = as_json(["certify", "--dataset", "haberman", "--candidates", "auto"], capsys)
    data = load_dataset("haberman")
    clf = CertifiedClassifier("auto", random_state=0).fit(data.data, np.array(data.target_names)[data.target])
    assert output["certificate"] == " ".join(clf.certificate_.text_lines)
    assert {name: entry["bound"] for name, entry in output["certificates"].items()} == {
        name: entry.bound for name, entry in clf.certificates_.items()
    }
    assert families_of(output) == FAMILIES
    assert output["settings"]["candidates"] == "auto"
    assert output["settings"]["parameters"]["candidates"] == "auto"
    # The soft vote has the classifier with the smallest log-loss of each family.
    assert [entry["number"] for entry in output["weights"]] == [1] * len(output["weights"])
    names = [entry["label"].partition(":")[0] for entry in output["weights"]]
    assert len(set(names)) == len(names) == np.count_nonzero(clf.weights_)
    assert set(names) <= set(FAMILIES)


def test_several_families_with_text_and_missing_values(folder, capsys):
    outputs = ["--save", folder / "model", "--report", folder / "page.html", "--test", folder / "new.csv"]
    result = in_process(["certify", folder / "data.csv", "--candidates", "svm,forest", *outputs], capsys)
    assert result.code == 0, result.err
    assert "Predicts the class with the highest probability, averaged over 2 of 132 trained classifiers." in result.err
    assert "warning" not in result.err
    model, new = load(folder / "model"), patients(50, seed=1)
    assert model.voting_ == "soft"
    assert result.out.splitlines()[0] == model.certificate_.sentence
    table = [line.split("\t") for line in result.out.split("\n\n")[-1].splitlines()]
    assert sorted(row[0].partition(":")[0] for row in table[1:]) == ["forest", "svm"]
    errors = {row[0]: row[-1] for row in (line.split("\t") for line in result.out.splitlines()) if len(row) == 4}
    rows = new.drop(columns="ill")
    wrong = np.count_nonzero(model.predict(rows) != new["ill"])
    assert errors["soft vote"] == f"{2 * wrong:.1f} % of 50"
    # Report, model and predictions are those of the soft vote.
    page = Page((folder / "page.html").read_text(encoding="utf-8"))
    assert page.text("headline") == model.certificate_.summary_line
    assert page.text("sentence") == model.certificate_.sentence
    assert page.text("observed").startswith(f"{wrong} errors on 50 test rows")
    predicted = in_process(["predict", folder / "model", folder / "new.csv", "--shares"], capsys)
    assert predicted.code == 0, predicted.err
    lines = list(csv.DictReader(io.StringIO(predicted.out)))
    assert [line["predicted"] for line in lines] == model.predict(rows).tolist()
    shares = [[float(line[f"share of {name}"]) for name in ("no", "yes")] for line in lines]
    np.testing.assert_array_equal(shares, model.predict_proba(rows))
    assert model.certificate_.sentence in predicted.err


def test_wide_data_have_all_families(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 700))).rename(columns=lambda place: f"x{place}")
    table.assign(kind=np.where(table["x0"] > 0, "a", "b")).to_csv(tmp_path / "wide.csv", index=False)
    result = in_process(["certify", tmp_path / "wide.csv", "--candidates", "auto", "--json"], capsys)
    assert sorted(families_of(json.loads(result.out))) == ["boosting", "forest", "logistic", "neighbours", "svm"]
    assert "leaves out" not in result.err
