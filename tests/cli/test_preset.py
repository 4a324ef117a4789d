"""`pacbayes certify --preset paper`: the paper's stochastic SVM on a file, and --constant and --scale."""

import json

import pytest
from tests.cli.running import in_process

from pacbayes import StochasticSVC, load_dataset
from pacbayes.paper.protocol import LAMBDAS

# The paper's grid at every hundredth value.
FEW = ["--lambdas", "0.1:20:1"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import pandas as pd

    data = load_dataset("haberman")
    path = tmp_path_factory.mktemp("data") / "data.csv"
    pd.DataFrame(data.data, columns=["age", "year", "nodes"]).assign(y=data.target).to_csv(path, index=False)
    return str(path)


def certified(capsys, *arguments):
    done = in_process(["certify", *arguments, "--json"], capsys, as_given=True)
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("split", ["independent", "shared"])
def test_the_preset_is_paper_settings(file, capsys, split):
    data = load_dataset("haberman")
    scheme = [] if split == "independent" else ["--split", "shared"]
    ours = certified(capsys, file, "--target", "y", "--preset", "paper", *FEW, *scheme)
    clf = StochasticSVC.paper_settings(lambdas=LAMBDAS[::100], split=split, random_state=0)
    clf.fit(data.data, data.target)
    assert ours["posterior"]["bound"] == clf.posterior_.bound
    assert ours["posterior"]["delta"] == 0.01
    assert clf.posterior_.constant == "paper"


def test_other_options_override_the_preset(file, capsys):
    ours = certified(
        capsys, file, "--preset", "paper", *FEW, "--delta", "0.05", "--distance", "linear", "--scale", "false"
    )
    data = load_dataset("haberman")
    clf = StochasticSVC.paper_settings(
        lambdas=LAMBDAS[::100], delta=0.05, distance="linear", scale=False, random_state=0
    )
    assert ours["posterior"]["bound"] == clf.fit(data.data, data.target).posterior_.bound


def test_constant_and_scale_without_the_preset(file, capsys):
    independent = [file, "--candidates", "svm", "--split", "independent", *FEW]
    exact, paper = (certified(capsys, *independent, "--constant", name) for name in ("exact", "paper"))
    assert exact["posterior"]["bound"] < paper["posterior"]["bound"]
    shared = [file, "--candidates", "svm", *FEW]
    weights = [certified(capsys, *shared, "--scale", scale)["weights"] for scale in ("kernlab", "true", "false")]
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--preset", "papers"], "unknown --preset"),
        (["--preset", "paper", "--recall", "0.9"], "--recall cannot be combined with --preset paper"),
        (["--preset", "paper", "--slice", "age"], "--slice cannot be combined with --preset paper"),
        (["--preset", "paper", "--candidates", "forest"], "--candidates cannot be combined with --preset paper"),
        (["--constant", "paper"], "--constant paper requires"),
        (["--candidates", "svm", "--split", "independent", "--constant", "best"], "constant"),
        (["--candidates", "svm", "--scale", "yes"], "--scale must be"),
        (["--candidates", "forest", "--scale", "true"], "--scale require svm"),
    ],
)
def test_what_does_not_fit(file, arguments, error, capsys):
    done = in_process(["certify", file, *arguments], capsys, as_given=True)
    assert done.code == 2
    assert error in done.error
