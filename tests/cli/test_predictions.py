"""`pacbayes certify --predictions`: classifiers that are known by their answers alone."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from tests.cli.running import as_json, in_process, refused

from pacbayes import ClassifierSet, optimal_posterior


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    answers = {
        name: np.where(rng.random(n) < rate, (truth + 1) % 3, truth)
        for name, rate in {"forest": 0.05, "network": 0.1, "rule of thumb": 0.3}.items()
    }
    words = np.array(["ant", "bee", "cow"])
    return pd.DataFrame({name: words[codes] for name, codes in answers.items()} | {"animal": words[truth]})


@pytest.fixture
def path(tmp_path):
    table().to_csv(tmp_path / "predictions.csv", index=False)
    return tmp_path / "predictions.csv"


def errors_of(frame):
    return np.array([(frame[name] != frame["animal"]).sum() for name in frame.columns[:3]])


def test_without_a_proposal(path, capsys):
    found = as_json(["certify", "--predictions", path, "--target", "animal"], capsys)
    frame = table()
    classifiers = ClassifierSet.from_predictions(frame.to_numpy().T[:3], frame["animal"])
    assert found["certificates"]["stochastic"]["bound"] == pytest.approx(
        optimal_posterior(classifiers.risks, classifiers.m).bound, abs=1e-9
    )
    assert found["settings"]["candidates"] == "predictions"
    assert found["settings"]["training_examples"] == 0
    assert found["certificates"]["stochastic"]["baselines"]["majority class"]["bound"] is None
    assert found["weights"][0]["label"] == "column = 'forest'"


def test_a_proposal_is_tested_at_most_of_delta(path, capsys):
    found = as_json(["certify", "--predictions", path, "--primary", "network", "--hedge", "0"], capsys)
    errors = errors_of(table())
    expected = beta.ppf(0.95, errors[1] + 1, 200 - errors[1])
    for certificate in found["certificates"].values():
        assert certificate["bound"] == pytest.approx(expected)
        assert certificate["source"] == "fixed before validation"


def test_tables_and_report(path, tmp_path, capsys):
    words = ["certify", "--predictions", path, "--primary", "forest", "--report", tmp_path / "page.html"]
    done = in_process(words, capsys)
    assert done.code == 0, done.err
    assert "200 examples, predictions of 3 classifiers, 3 classes" in done.err
    assert "The true class is the last column, 'animal'" in done.err
    assert "primary classifier" in done.out
    assert "were not used to train, tune or choose anything" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_numbers_and_other_separators(tmp_path, capsys):
    frame = table().apply(lambda column: column.map({"ant": 0, "bee": 1, "cow": 2})).astype({"forest": float})
    frame.to_csv(tmp_path / "numbers.csv", index=False, sep=";")
    found = as_json(["certify", "--predictions", tmp_path / "numbers.csv", "--target", "animal", "--sep", ";"], capsys)
    assert found["certificates"]["best"]["empirical_risk"] == pytest.approx(errors_of(table()).min() / 200)


def test_groups_and_columns_left_out(path, capsys):
    frame = table().assign(who=[f"p{i // 4}" for i in range(200)], row=range(200))
    frame.to_csv(path, index=False)
    words = ["--predictions", path, "--target", "animal", "--drop", "row", "--group", "who"]
    found = as_json(["certify", *words], capsys)
    assert found["settings"]["validation_examples"] == 50
    assert found["settings"]["unit"] == "group"
    assert found["settings"]["classifiers"] == 3


REFUSED = {
    "--primary oracle": "--primary must be one of the columns 'forest', 'network', 'rule of thumb', got 'oracle'",
    "--hedge 0.1": "but there is no --primary",
    "--save model": "leave out --save",
    "--max-error 0.1 --slice forest": "leave out --slice, --max-error",
    "--by-class": "but there is no --primary",
    "other.csv": "leave out DATA",
    "--dataset wdbc --test other.csv": "leave out --dataset, --test",
    "--candidates forest": "leave out --candidates",
    "--candidates sklearn.tree.DecisionTreeClassifier --grid g.json": "leave out --candidates, --grid",
    "--voting soft": "--voting soft needs a primary rule",
    "--candidates svm --split independent": "leave out --split, --candidates",
    "--validation-size 0.3 --jobs 2": "leave out --validation-size, --jobs",
    "--keep forest --missing ?": "leave out --keep, --missing",
    "--duplicates together": "leave out --duplicates",
    "--prior cross-validation": "leave out --prior",
    "--distance catoni": r"as in --distance='catoni\(0.4\)'",
    "--drop oracle": "--drop must name columns of .*, got 'oracle'",
    "--group oracle": "--group must name columns of .*, got 'oracle'",
    "--target oracle": "target must be a column",
    "--report {path}": "is a file of this command already",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words, path, capsys):
    target = [] if "--target" in words else ["--target", "animal"]
    done = in_process(["certify", "--predictions", path, *target, *words.format(path=path).split()], capsys)
    assert done.code == 2
    assert re.search(REFUSED[words], done.error), done.error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(forest=np.nan), "lacks a prediction in 200 examples, the first being 1"),
        (lambda frame: frame.assign(forest=0.5), "holds none of the classes 'ant', 'bee', 'cow', but '0.5'"),
        (lambda frame: frame.assign(forest="ANT"), "holds none of the classes"),
        (lambda frame: frame[["animal"]], "at least one feature and a class column"),
        (lambda frame: frame.assign(animal="ant"), "class"),
    ],
)
def test_tables_that_are_refused(change, message, path, capsys):
    change(table()).to_csv(path, index=False)
    assert message in refused(["certify", "--predictions", path, "--target", "animal"], capsys)


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_without_a_true_class_are_left_out_as_the_error_advises(numbers, tmp_path, capsys):
    frame = table()
    if numbers:
        frame = frame.replace({"ant": "01", "bee": "02", "cow": "03"})
    complete, lacking = frame.drop(index=[3, 50]), frame.copy()
    lacking.loc[[3, 50], "animal"] = None
    complete.to_csv(tmp_path / "complete.csv", index=False)
    lacking.assign(patient=np.arange(200) // 2).to_csv(tmp_path / "lacking.csv", index=False)
    command = ["--predictions", tmp_path / "lacking.csv", "--target", "animal"]
    assert "or leave such examples out with --skip-unlabelled" in in_process(["certify", *command], capsys).error
    done = in_process(["certify", *command, "--skip-unlabelled", "--drop", "patient"], capsys)
    assert "2 examples without a class left out" in done.err
    expected = as_json(["certify", "--predictions", tmp_path / "complete.csv", "--target", "animal"], capsys)
    found = as_json(["certify", *command, "--skip-unlabelled", "--drop", "patient"], capsys)
    assert found["certificates"] == expected["certificates"]
    found = as_json(["certify", *command, "--skip-unlabelled", "--group", "patient"], capsys)
    assert found["certificates"]["best"]["unit"] == "group"
