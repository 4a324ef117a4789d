"""`pacbayes certify --predictions`: classifiers given by their predictions."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from tests.cli.running import as_json, error_of, in_process

from pacbayes import ClassifierSet, optimal_posterior


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    predictions = {
        name: np.where(rng.random(n) < rate, (truth + 1) % 3, truth)
        for name, rate in {"forest": 0.05, "network": 0.1, "rule of thumb": 0.3}.items()
    }
    args = np.array(["ant", "bee", "cow"])
    return pd.DataFrame({name: args[codes] for name, codes in predictions.items()} | {"animal": args[truth]})


@pytest.fixture
def path(tmp_path):
    table().to_csv(tmp_path / "predictions.csv", index=False)
    return tmp_path / "predictions.csv"


def errors_of(frame):
    return np.array([(frame[name] != frame["animal"]).sum() for name in frame.columns[:3]])


def test_without_a_primary_classifier(path, capsys):
    output = as_json(["certify", "--predictions", path, "--target", "animal"], capsys)
    frame = table()
    classifiers = ClassifierSet.from_predictions(frame.to_numpy().T[:3], frame["animal"])
    assert output["certificates"]["stochastic"]["bound"] == pytest.approx(
        optimal_posterior(classifiers.risks, classifiers.m).bound, abs=1e-9
    )
    assert output["settings"]["candidates"] == "predictions"
    assert output["settings"]["n_train"] == 0
    assert output["certificates"]["stochastic"]["baselines"]["majority class"]["bound"] is None
    assert output["weights"][0]["label"] == "column = 'forest'"


def test_primary_classifier_is_tested_at_delta(path, capsys):
    output = as_json(["certify", "--predictions", path, "--primary", "network", "--hedge", "0"], capsys)
    errors = errors_of(table())
    expected = beta.ppf(0.95, errors[1] + 1, 200 - errors[1])
    for certificate in output["certificates"].values():
        assert certificate["bound"] == pytest.approx(expected)
        assert certificate["source"] == "fixed before validation"


def test_tables_and_report(path, tmp_path, capsys):
    args = ["certify", "--predictions", path, "--primary", "forest", "--report", tmp_path / "page.html"]
    result = in_process(args, capsys)
    assert result.code == 0, result.err
    assert "200 rows, predictions of 3 classifiers, 3 classes" in result.err
    assert "The true class is the last column, 'animal'" in result.err
    assert "primary classifier" in result.out
    assert "were not used to train, tune or choose anything" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_groups_and_dropped_columns(path, capsys):
    frame = table().assign(who=[f"p{i // 4}" for i in range(200)], row=range(200))
    frame.to_csv(path, index=False)
    args = ["--predictions", path, "--target", "animal", "--drop", "row", "--group", "who"]
    output = as_json(["certify", *args], capsys)
    assert output["settings"]["n_validation"] == 50
    assert output["settings"]["unit"] == "group"
    assert output["settings"]["classifiers"] == 3


REFUSED = {
    "--primary oracle": "--primary must be one of the columns 'forest', 'network', 'rule of thumb', got 'oracle'",
    "--hedge 0.1": "but there is no --primary",
    "--save model": "remove --save",
    "--max-error 0.1 --slice forest": "remove --slice, --max-error",
    "--by-class": "but there is no --primary",
    "other.csv": "remove DATA",
    "--dataset wdbc --test other.csv": "remove --dataset, --test",
    "--candidates forest": "remove --candidates",
    "--voting soft": "--voting soft requires a primary rule",
    "--validation-size 0.3 --jobs 2": "remove --validation-size, --jobs",
    "--drop oracle": "--drop must name columns of .*, got 'oracle'",
    "--target oracle": "target must be a column",
    "--report {path}": "is already an input or output of this command",
}


@pytest.mark.parametrize("args", REFUSED)
def test_inapplicable_options_are_rejected(args, path, capsys):
    target = [] if "--target" in args else ["--target", "animal"]
    result = in_process(["certify", "--predictions", path, *target, *args.format(path=path).split()], capsys)
    assert result.code == 2
    assert re.search(REFUSED[args], result.error), result.error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(forest=np.nan), "has 200 missing predictions, the first in row 1"),
        (lambda frame: frame.assign(forest=0.5), "has none of the classes 'ant', 'bee', 'cow', but '0.5'"),
        (lambda frame: frame.assign(forest="owl"), "has none of the classes"),
        (lambda frame: frame[["animal"]], "at least one feature and a class column"),
        (lambda frame: frame.assign(animal="ant"), "class"),
    ],
)
def test_invalid_tables(change, message, path, capsys):
    change(table()).to_csv(path, index=False)
    assert message in error_of(["certify", "--predictions", path, "--target", "animal"], capsys)
