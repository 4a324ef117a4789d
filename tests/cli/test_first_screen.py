"""What a newcomer sees: four lines without a word of theory, the class that is missed, and where more is found."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

from pacbayes import certify_predictions

THEORY = re.compile(
    r"\b(keys?|hedge|proposal|proposed|rules?|levels?|Occam|posterior|prior|delta|PAC)\b", re.IGNORECASE
)
ASKED = ["--candidates", "logistic", "-q"]


@pytest.fixture
def rare(tmp_path):
    """Return a file in which one in fifteen is late, and hardly anything tells which."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    late = rng.random(400) < np.where(frame["a"] > 1.2, 0.3, 0.04)
    frame.assign(arrives=np.where(late, "late", "punctual")).to_csv(tmp_path / "rare.csv", index=False)
    return tmp_path / "rare.csv"


def test_four_lines_and_no_theory(capsys):
    done = in_process(["certify", "--dataset", "wdbc", *ASKED], capsys, as_given=True)
    first, second, last = done.out.splitlines()
    assert re.fullmatch(
        r"With 95 % confidence, the error rate of this classifier on new examples is at most \d\.\d %\.", first
    )
    baseline = r"Majority-class baseline \('benign'\): at most 38\.8 %\."
    assert re.fullmatch(rf"\d+ errors on 284 validation rows\. {baseline}", second)
    assert "--details" in last
    assert "pacbayes help assumptions" in last
    assert not THEORY.search(done.out)
    assert max(map(len, (first, second, last))) <= 100


def test_the_class_that_matters_is_always_spoken_of(capsys, rare):
    done = in_process(["certify", rare, "--positive", "punctual", *ASKED], capsys, as_given=True)
    assert re.search(r"Class 'punctual': \d+ of \d+ validation rows misclassified\.", done.out)
    assert "Class 'late'" not in done.out
    wrong = in_process(["certify", rare, "--positive", "tardy", *ASKED], capsys, as_given=True)
    assert "--positive must be one of the classes late, punctual, got 'tardy'" in wrong.error


def test_limits_and_test_files_that_were_asked_for_are_on_the_first_screen(rare, capsys, tmp_path):
    frame = pd.read_csv(rare)
    (frame.sample(60, random_state=0).assign(a=lambda rows: rows["a"] + 0.01)).to_csv(tmp_path / "t.csv", index=False)
    asked = ["certify", rare, "--metrics", "recall", "--test", tmp_path / "t.csv", *ASKED]
    done = in_process(asked, capsys, as_given=True)
    assert re.search(r"It erred on \d+ of 60 test examples\.", done.out)
    assert "recall of class" in done.out


def test_a_class_that_is_missed_has_a_next_step(rare, capsys):
    done = in_process(["certify", rare, *ASKED], capsys, as_given=True)
    rows = int(re.search(r"Class 'late': \d+ of (\d+) validation rows", done.out)[1])
    advice = next(line for line in done.out.splitlines() if line.startswith("To find more of them"))
    # 0.05 ** (1 / 14) = 0.807, and 29 rows are needed for 0.9.
    assert rows == 14
    assert advice == (
        "To find more of them: --positive late --recall 0.8 (a recall of 0.9 takes at least 29 validation rows of "
        "class 'late', there are 14)."
    )
    # And it reaches what it promises; more than is promised it does not.
    again = ["certify", rare, *ASKED, *advice.split()[5:9]]
    assert in_process(again, capsys, as_given=True).code == 0
    again[-1] = "0.9"
    failed = in_process(again, capsys, as_given=True)
    assert failed.code == 3
    assert failed.out.startswith("No threshold could be certified")


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        (29, "To find more of them: --positive late --recall 0.9."),
        (28, "To find more of them: --positive late --recall 0.8 (a recall of 0.9 takes at least 29 validation rows"),
        (12, "To find more of them: --positive late --recall 0.7 (a recall of 0.9 takes at least 29 validation rows"),
        (5, "To find more of them: --positive late --recall 0.5 (a recall of 0.9 takes at least 29 validation rows"),
        (4, "To find more of them takes more data: a recall of 0.9 takes at least 29 validation rows"),
    ],
)
def test_only_a_recall_that_the_rows_can_show_is_advised(rows, advice, tmp_path, capsys):
    """Of 300 validation rows so many are late, and nothing tells which."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"]).assign(tests=np.arange(600) >= 300)
    late = np.isin(np.arange(600), [*range(20), *range(300, 300 + rows)])
    frame.assign(arrives=np.where(late, "late", "punctual")).to_csv(tmp_path / "data.csv", index=False)
    done = in_process(["certify", tmp_path / "data.csv", "--validation-column", "tests", *ASKED], capsys, as_given=True)
    assert f"Class 'late': {rows} of {rows} validation rows misclassified." in done.out
    assert any(line.startswith(advice) for line in done.out.splitlines()), done.out


def test_wrong_turns_name_the_right_one(tmp_path, capsys, rare):
    done = in_process(["certify", rare, "--validation", "0.3"], capsys, as_given=True)
    assert "--validation-size 0.3" in done.error
    frame = pd.read_csv(rare)[["arrives", "a"]]
    frame.to_csv(tmp_path / "last.csv", index=False)
    assert (
        "name the column of classes by --target COLUMN" in in_process(["certify", tmp_path / "last.csv"], capsys).error
    )


def test_probabilities_are_no_labels():
    y = np.repeat([0, 1], 20)
    with pytest.raises(ValueError, match="convert probabilities to classes"):
        certify_predictions(y, np.where(np.arange(40) < 2, 1.0, 0.3))
    with pytest.raises(ValueError, match="y_true must hold labels, not fractions"):
        certify_predictions(np.full(40, 0.3), y)
