"""Wrong arguments that no other test gives: each is named in the error, with its value, before any work."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier, ClassifierSet, grid_set, optimal_posterior, svm_set
from pacbayes.bounds import Catoni
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
FITTED = LogisticRegression().fit(X[:30], Y[:30])
LOSSES = ClassifierSet.from_losses(RNG.random((3, 20)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grid_set(None, [FITTED], X, Y, n_iter=2), ValueError, "n_iter must be None where"),
        (lambda: grid_set(LinearRegression(), {}, X, Y), ValueError, r"estimator must be a classifier, got LinearReg"),
        (lambda: svm_set(X, Y, [1.0], gamma=True), TypeError, "gamma must be one of 'widths', .*, got True"),
        (lambda: svm_set(X, Y, [1.0], gamma=[0.1, "1"]), TypeError, "gamma must be one of 'widths', .*, got '1'"),
        (lambda: SVMClassifier(gamma="widths").fit(X, Y), ValueError, "one machine has one width"),
        (lambda: SVMClassifier(scale="auto").fit(X, Y), ValueError, "one machine has one width and one scaling"),
        (lambda: svm_set(X, Y, [1.0], validation_size=True), TypeError, "validation_size must be a fraction"),
        (lambda: svm_set(X, Y, [1.0], validation_size="half"), TypeError, "validation_size must .* got 'half'"),
        (lambda: SVMClassifier().fit(X, np.zeros(60)), ValueError, "at least two classes, got class 0.0 only"),
        (lambda: ClassifierSet.from_fitted(FITTED, X, Y), TypeError, "the single LogisticRegression"),
        (lambda: CertifiedClassifier.from_fitted(3, X, Y), TypeError, "must be a fitted classifier, or a list of such"),
        (lambda: CertifiedClassifier(LogisticRegression()).fit(X[:1], Y[:1]), ValueError, "1 sample"),
        (lambda: CertifiedClassifier(LogisticRegression()).fit(X, []), ValueError, None),
        (lambda: LOSSES.counted, ValueError, "made from losses: it holds risks, not counted errors"),
        (lambda: optimal_posterior([0.1], 10, method="ccp", distance="linear"), ValueError, "is for distance 'kl'"),
        (lambda: optimal_posterior([0.1], 10, method="ccp", n_init=0), ValueError, "n_init must be at least 1, got 0"),
        (lambda: optimal_posterior([0.1], 10, method="ccp", n_init=1.5), TypeError, "n_init must be an integer"),
        (lambda: optimal_posterior([0.1], 10, method="ccp", n_init=2, start=[1.0]), ValueError, "need start='random'"),
        (lambda: optimal_posterior([0.1], 10, method="ipopt", distance=Catoni(1.0)), ValueError, "five distances"),
    ],
)  # fmt: skip
def test_the_error_names_it(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "part": [None, *["u", "v"] * 29, "u"], "kind": Y}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hedge", "some"], "--hedge must be auto or a number from 0 to 1, got 'some'"),
        (["--hedge", "1.5"], "--hedge must be auto or a number from 0 to 1, got '1.5'"),
        (["--hedge", "0.5", "--split", "independent"], "--hedge below 1 is for --split shared"),
        (["--slice", "part"], "lacks a value in example 1"),
        (["--categorical", "c"], "--categorical must name columns of the features, got 'c'"),
    ],
)
def test_the_command_names_the_option(table, options, message, capsys):
    done = in_process(["certify", table, "--target", "kind", *options], capsys)
    assert done.code == 2
    assert message in done.error
    assert done.out == ""


def test_commands_that_are_given_something_else(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("risk,prior\n0.1,\n0.2,1\n")
    done = in_process(["posterior", table, "--column", "risk", "--prior", "prior", "--m", "10"], capsys)
    assert done.code == 2
    assert "column 'prior' of" in done.error
    assert "lacks a value in row 1" in done.error
