"""First screen of `certify`: four lines without jargon, a missed class, the next step."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

THEORY = re.compile(
    r"\b(keys?|hedge|proposal|proposed|rules?|levels?|Occam|posterior|prior|delta|PAC)\b", re.IGNORECASE
)
OPTIONS = ["--candidates", "logistic", "-q"]


@pytest.fixture
def rare(tmp_path):
    """File with a rare class that is hard to predict."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    late = rng.random(400) < np.where(frame["a"] > 1.2, 0.3, 0.04)
    frame.assign(arrives=np.where(late, "late", "punctual")).to_csv(tmp_path / "rare.csv", index=False)
    return tmp_path / "rare.csv"


def test_three_lines_without_jargon(capsys):
    result = in_process(["certify", "--dataset", "wdbc", *OPTIONS], capsys, as_given=True)
    first, second, last = result.out.splitlines()
    assert re.fullmatch(
        r"With 95 % confidence, the error rate of this classifier on new examples is at most \d\.\d %\.", first
    )
    baseline = r"Majority-class baseline \('benign'\): at most 38\.8 %\."
    assert re.fullmatch(rf"\d+ errors on 284 validation rows\. {baseline}", second)
    assert "--details" in last
    assert "pacbayes help assumptions" in last
    assert not THEORY.search(result.out)
    assert max(map(len, (first, second, last))) <= 100


def test_misses_of_the_positive_class_are_always_reported(capsys, rare):
    result = in_process(["certify", rare, "--positive", "punctual", *OPTIONS], capsys, as_given=True)
    assert re.search(r"Class 'punctual': \d+ of \d+ validation rows misclassified\.", result.out)
    assert "Class 'late'" not in result.out
    wrong = in_process(["certify", rare, "--positive", "tardy", *OPTIONS], capsys, as_given=True)
    assert "--positive must be one of the classes late, punctual, got 'tardy'" in wrong.error


def test_requested_metrics_and_test_error_are_on_the_first_screen(rare, capsys, tmp_path):
    frame = pd.read_csv(rare)
    (frame.sample(60, random_state=0).assign(a=lambda rows: rows["a"] + 0.01)).to_csv(tmp_path / "t.csv", index=False)
    options = ["certify", rare, "--metrics", "recall", "--test", tmp_path / "t.csv", *OPTIONS]
    result = in_process(options, capsys, as_given=True)
    assert re.search(r"\d+ errors on 60 test rows\.", result.out)
    assert "recall of class" in result.out


def test_suggested_recall_is_certified(rare, capsys):
    result = in_process(["certify", rare, *OPTIONS], capsys, as_given=True)
    rows = int(re.search(r"Class 'late': \d+ of (\d+) validation rows", result.out)[1])
    advice = next(line for line in result.out.splitlines() if line.startswith("For a higher recall"))
    # 0.05 ** (1 / 14) = 0.807; a recall of 0.9 requires 29 rows.
    assert rows == 14
    assert advice == (
        "For a higher recall: --positive late --recall 0.8 (0.9 requires at least 29 validation rows of class 'late'; "
        "there are 14)."
    )
    # The suggested recall passes, and a larger one fails.
    followed = ["certify", rare, *OPTIONS, *advice.split()[4:8]]
    assert in_process(followed, capsys, as_given=True).code == 0
    followed[-1] = "0.9"
    failed = in_process(followed, capsys, as_given=True)
    assert failed.code == 3
    assert failed.out.startswith("No threshold could be certified")


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        (29, "For a higher recall: --positive late --recall 0.9."),
        (28, "For a higher recall: --positive late --recall 0.8 (0.9 requires at least 29 validation rows"),
        (12, "For a higher recall: --positive late --recall 0.7 (0.9 requires at least 29 validation rows"),
        (5, "For a higher recall: --positive late --recall 0.5 (0.9 requires at least 29 validation rows"),
        (4, "A higher recall requires more data: at least 29 validation rows of class 'late'; there are 4"),
    ],
)
def test_suggested_recall_is_within_reach(rows, advice, tmp_path, capsys):
    """The features are noise; `rows` of 300 validation rows are late."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"]).assign(tests=np.arange(600) >= 300)
    late = np.isin(np.arange(600), [*range(20), *range(300, 300 + rows)])
    frame.assign(arrives=np.where(late, "late", "punctual")).to_csv(tmp_path / "data.csv", index=False)
    result = in_process(
        ["certify", tmp_path / "data.csv", "--validation-column", "tests", *OPTIONS], capsys, as_given=True
    )
    assert f"Class 'late': {rows} of {rows} validation rows misclassified." in result.out
    assert any(line.startswith(advice) for line in result.out.splitlines()), result.out
