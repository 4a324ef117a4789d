"""The ledger: its rule, its file, what it refuses, and that it tells no more than an outcome."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from datetime import datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import factorial
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from pacbayes import CertifiedClassifier, Ledger
from pacbayes.certificates.ledger import Budget, Statement

M = 500
IDS = np.arange(M)
Y = np.array(["no", "yes"])[np.random.default_rng(0).integers(0, 2, M)]


def wrong(k, start=0):
    """Predictions with k errors."""
    y_pred = Y.copy()
    places = (start + np.arange(k)) % M
    y_pred[places] = np.where(Y[places] == "no", "yes", "no")
    return y_pred


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


# -- the rule ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "share"),
    [("", "1/2"), ("p", "1/4"), ("ppp", "1/16"), ("fffp", "1/40"), ("f" * 19, "1/420"), ("fpf", "1/36")],
)
def test_levels_of_the_rule(outcomes, share):
    budget = Budget(0.05)
    for outcome in outcomes:
        budget = budget.after(outcome == "p")
    level = 0.05 * float(Fraction(share))
    assert level * (1.0 - 1e-12) < budget.level < level


def test_told_counts_divide_the_budget():
    assert Budget(0.05).after(False, 501).left == pytest.approx(0.025 / 501)
    assert [Statement(at_most=0.1).n_possible_counts(3), Statement(recall=0.5, pos_label=1).n_possible_counts(3)] == [
        4,
        10,
    ]
    assert (
        Statement(at_most=0.1, precision=0.5, pos_label=1).n_possible_counts(10**6)
        == (10**6 + 1) ** 2 * (10**6 + 2) // 2
    )


def test_an_attempt_passes_where_the_exact_bound_does(path):
    """25 errors of 500: at the first attempt 7.29 %, after a pass 7.64 %."""
    first = beta.ppf(1 - 0.025, 26, 475)
    ledger = Ledger(path)
    assert ledger.attempt(Y, wrong(25), rows=IDS, at_most=float(first) + 1e-4).passed
    second = beta.ppf(1 - 0.0125, 26, 475)
    assert (round(first, 4), round(second, 4)) == (0.0729, 0.0764)
    assert not ledger.attempt(Y, wrong(25, 30), rows=IDS, at_most=float(second) - 1e-4)
    assert [one.level for one in ledger.attempts] == pytest.approx([0.025, 0.0125])


def test_recall_and_precision(path):
    hits, rows = int((Y == "yes").sum()) - 4, int((Y == "yes").sum())
    y_pred = Y.copy()
    y_pred[np.flatnonzero(Y == "yes")[:4]] = "no"
    y_pred[np.flatnonzero(Y == "no")[:9]] = "yes"
    lower = {"recall": beta.ppf(0.025, hits, rows - hits + 1), "precision": beta.ppf(0.025, hits, 9 + 1)}
    for name, bound in lower.items():
        for margin, passed in ((-1e-4, True), (1e-4, False)):
            one = Ledger(path.with_name(f"{name}{passed}.json"))
            found = one.attempt(Y, y_pred, rows=IDS, pos_label="yes", **{name: float(bound) + margin})
            assert found.passed is passed
    both = {name: float(bound) - 1e-4 for name, bound in lower.items()}
    assert Ledger(path).attempt(Y, y_pred, rows=IDS, pos_label="yes", at_most=0.06, **both)
    both["precision"] += 2e-4
    assert not Ledger(path.with_name("other.json")).attempt(Y, y_pred, rows=IDS, pos_label="yes", **both)


# -- all strategies of small samples -----------------------------------------------------------------------------------


def choices_of(samples, mixed):
    """Statements with the counts of each sample, and whether they are false; the first two kinds are positive."""
    m, kinds = samples[0].sum(), [one for one in itertools.product([0, 1], repeat=4) if any(one)]
    # The last of the three statements is false, and as close to the truth as can be.
    for kind in np.array(kinds):
        for share in (0.4, 0.7, kind.mean() - 1e-9):
            yield Statement(at_most=share), [{"at_most": (int(k), m)} for k in samples @ kind], kind.mean() > share
    for kind in np.array([[1, 0], [0, 1], [1, 1]]) if mixed else ():
        rows, recall = samples[:, :2].sum(axis=1), 1.0 - kind.mean()
        pairs = [(int(n - k), int(n)) for n, k in zip(rows, samples[:, :2] @ kind, strict=True)]
        for share in (0.2, recall + 1e-9):
            yield Statement(recall=share, pos_label=1), [{"recall": pair} for pair in pairs], recall < share
        # Two parts, of which the first alone is false.
        both = [{"recall": pair, "at_most": (n - hits, m)} for pair, (hits, n) in zip(pairs, pairs, strict=True)]
        yield Statement(recall=recall + 1e-9, at_most=0.7, pos_label=1), both, True


def largest_false_pass(m, delta, level_of=lambda one: one.level, after=Budget.after, told=False, mixed=False):
    """Largest probability of a false pass over all strategies of three attempts, for rows of four equally likely kinds.

    A classifier errs on all rows of some kinds.  A strategy chooses the next classifier and its statement by the
    outcomes so far.
    """
    samples = np.array([n for n in itertools.product(range(m + 1), repeat=4) if sum(n) == m])
    weight = factorial(m) / np.prod(factorial(samples), axis=1) / 4.0**m
    statements, counts, is_false = zip(*choices_of(samples, mixed), strict=True)
    false = np.array(is_false)
    errors = np.array([[one["at_most"][0] if "at_most" in one else 0 for one in row] for row in counts])

    @cache
    def passing(level):
        """Which samples pass, by choice."""
        return np.array(
            [
                [proved(statement, tuple(one.items()), level) for one in row]
                for statement, row in zip(statements, counts, strict=True)
            ]
        )

    @cache
    def proved(statement, one, level):
        return statement.is_proved(dict(one), level)

    def best(inside, budget, attempts):
        passed = passing(level_of(budget))
        value = (passed & false[:, None]) @ (weight * inside)
        if attempts > 1:
            for i in range(len(errors)):
                outcomes = errors[i] if told else passed[i]
                for outcome in np.unique(outcomes[inside]):
                    part = inside & (outcomes == outcome)
                    is_pass = bool(passed[i][part][0])
                    if not (is_pass and false[i]):
                        value[i] += best(part, after(budget, is_pass, m + 1 if told else 1), attempts - 1)
        return float(value.max())

    return best(np.ones(len(samples), dtype=bool), Budget(delta), 3)


@pytest.mark.parametrize("delta", [0.05, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("m", [3, 4, 5, 6])
def test_no_strategy_of_three_attempts_exceeds_delta(m, delta):
    assert 0.0 < largest_false_pass(m, delta) <= delta
    if m < 5:
        assert largest_false_pass(m, delta, told=True) <= delta
        assert largest_false_pass(m, delta, mixed=True) <= delta


@pytest.mark.parametrize(
    ("m", "delta", "level_of", "after", "told"),
    [
        (4, 0.5, lambda one: 0.5, lambda one, passed, values: one, False),
        (5, 0.5, lambda one: one.level, lambda one, passed, values: one.after(True) if passed else one, False),
        (3, 0.7, lambda one: 0.99 * one.left, lambda one, passed, values: one if passed else Budget(0.01), True),
    ],
    ids=["whole delta each time", "failures cost nothing", "told counts cost nothing"],
)
def test_a_planted_fault_of_the_rule_is_found(m, delta, level_of, after, told):
    assert largest_false_pass(m, delta, level_of, after, told) > delta


# -- the outcome, and nothing else -------------------------------------------------------------------------------------


def test_no_count_is_stored_or_printed(path):
    found = Ledger(path).attempt(Y, wrong(137), rows=IDS, at_most=0.1, name="v1")
    assert not re.search(r"(?<!\d)(137|363|0\.274|27\.4)(?!\d)", f"{found!r} {found} {found.to_dict()} {vars(found)}")
    entry = json.loads(path.read_text())["attempts"][0]
    assert entry["told"] is None
    assert 137 not in [value for value in entry.values() if isinstance(value, int)]
    assert set(entry) == {"number", "time", "name", "statement", "passed", "level", "left", "rows", "told",
                          "predictions", "rows_sha256", "previous", "sha256"}  # fmt: skip
    assert (found.left, entry["rows"]) == (pytest.approx(0.025), M)


def test_labels_enter_the_file_by_outcomes_alone(path, monkeypatch):
    """Else others could test guesses of the labels, such as the predictions with one error."""
    monkeypatch.setattr("pacbayes.certificates.ledger.datetime", SimpleNamespace(now=lambda _: datetime(2026, 1, 1)))
    files = []
    for y_true in (Y, wrong(3)):
        path.unlink(missing_ok=True)
        Ledger(path).attempt(y_true, Y, rows=IDS, at_most=0.05)
        files.append(path.read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("occurs", [True, False])
def test_refusals_do_not_tell_which_labels_occur(path, occurs):
    """Else, of many rare classes, one without rows could be looked up, and a classifier that is wrong on it passes."""
    y_true = np.where(IDS < 1, "rare", Y) if occurs else Y
    found = Ledger(path).attempt(y_true, np.where(IDS < 9, "rare", Y), rows=IDS, recall=0.5, pos_label="rare")
    assert (found.passed, found.left) == (False, pytest.approx(0.025))
    with pytest.raises(ValueError, match="one of the predictions"):
        Ledger(path).attempt(y_true, Y, rows=IDS, recall=0.5, pos_label="rare")
    model = SimpleNamespace(predict=lambda X: Y, classes_=["no", "yes", "rare"])
    assert not Ledger(path).attempt(y_true, model, rows=IDS, recall=0.5, pos_label="rare")
    model.classes_ = ["no", "yes"]
    with pytest.raises(ValueError, match="the classes of the classifier"):
        Ledger(path).attempt(y_true, model, rows=IDS, recall=0.5, pos_label="rare")
    with pytest.raises(TypeError, match=r"like those of y_true \(object\)"):
        Ledger(path).attempt(y_true, np.zeros(M), rows=IDS, at_most=0.5)


def test_telling_states_its_price_first(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="divides the remaining delta by 501"):
            Ledger(path).attempt(Y, wrong(7), rows=IDS, at_most=0.1, tell=True)
    assert not path.exists()
    with pytest.warns(UserWarning, match="501"):
        found = Ledger(path).attempt(Y, wrong(7), rows=IDS, at_most=0.1, tell=True)
    assert found.told == {"at_most": (7, M)}
    assert "7 errors on 500 rows" in str(found)
    assert found.left == pytest.approx(0.025 / 501)
    again = Ledger(path).attempt(Y, wrong(7), rows=IDS, at_most=0.1)
    assert (again.told, again.repeated) == (found.told, True)


class Raises(LogisticRegression):
    """A classifier that fails on the validation rows with a message about them."""

    def predict(self, X):
        raise RuntimeError(f"row {int(np.argmax(X[:, 0]))} is the largest")


def test_a_classifier_that_fails_on_the_rows_fails_without_a_message(path):
    X = np.random.default_rng(1).normal(size=(M, 2))
    found = Ledger(path).attempt(Y, Raises(), rows=X, at_most=0.1)
    assert not found.passed
    assert "largest" not in path.read_text() + str(found)
    other = Ledger(path).attempt(Y, Raises(), rows=X, at_most=0.1)
    assert [one.passed for one in Ledger(path).attempts] == [False, False]
    assert not other.repeated
    with pytest.warns(UserWarning, match="501"):
        assert Ledger(path).attempt(Y, Raises(), rows=X, at_most=0.1, tell=True).told == {"at_most": (M, M)}


def test_a_classifier_of_other_labels_is_refused_and_costs_nothing(path):
    X = np.random.default_rng(1).normal(size=(M, 2))
    codes = LogisticRegression().fit(X, np.arange(M) % 2)
    with pytest.raises(TypeError, match="classes_ of the classifier must be labels like those of y_true"):
        Ledger(path).attempt(Y, codes, rows=X, at_most=0.9)
    assert not path.exists()


def test_a_repeated_attempt_returns_its_outcome_and_costs_nothing(path):
    ledger, order = Ledger(path), np.random.default_rng(2).permutation(M)
    first = ledger.attempt(Y, wrong(20), rows=IDS, at_most=0.05, name="v1")
    repeated = ledger.attempt(Y[order], wrong(20)[order], rows=IDS[order], at_most=0.05, name="v1 in another order")
    assert (repeated.repeated, repeated.passed, repeated.level) == (True, first.passed, first.level)
    assert len(ledger.attempts) == 1
    assert not ledger.attempt(Y, wrong(20, 1), rows=IDS, at_most=0.05).repeated
    assert not ledger.attempt(Y, wrong(20), rows=IDS, at_most=0.06).repeated
    assert len(ledger.attempts) == 3


# -- rows --------------------------------------------------------------------------------------------------------------


def test_added_rows_are_recognised_and_other_rows_refused(path):
    ledger = Ledger(path)
    ledger.attempt(Y[:400], Y[:400], rows=IDS[:400], at_most=0.05)
    ledger.attempt(Y, Y, rows=IDS, at_most=0.05)
    assert [one.rows for one in ledger.attempts] == [400, 500]
    with pytest.raises(ValueError, match="100 of 500 are missing"):
        ledger.attempt(Y[:400], Y[:400], rows=IDS[:400], at_most=0.05)
    with pytest.raises(ValueError, match="500 of 500 are missing"):
        ledger.attempt(Y, Y, rows=IDS + 1000, at_most=0.05)
    assert len(ledger.attempts) == 2


def test_equal_rows_of_features_are_different_draws(path):
    X, y = np.zeros((60, 1)), np.arange(60) % 2
    ledger = Ledger(path)
    ledger.attempt(y[:40], y[:40], rows=X[:40], at_most=0.2)
    assert ledger.attempt(y, y, rows=pd.DataFrame(X), at_most=0.2).rows == 60


def test_rows_that_trained_the_model_are_refused(path):
    (X, y), (X_new, y_new) = ((X, (X @ [1.0, 1.0, 1.0] > 0).astype(int)) for X in np.random.default_rng(3).normal(
        size=(2, 200, 3)))  # fmt: skip
    model = CertifiedClassifier("logistic", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not used for training"):
        Ledger(path).attempt(y, model, rows=X, at_most=0.3)
    assert not path.exists()
    found = Ledger(path).attempt(y_new, model, rows=X_new, at_most=0.2)
    assert found.passed
    assert Ledger(path).attempt(y_new, model.predict(X_new), rows=X_new, at_most=0.2).repeated
    groups = np.arange(200) // 2
    grouped = CertifiedClassifier("logistic", random_state=0).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="independent rows"):
        Ledger(path).attempt(y_new, grouped, rows=X_new, at_most=0.2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rows": None}, ValueError, "rows must be the features or identifiers"),
        ({"rows": IDS // 2}, ValueError, "duplicate identifiers"),
        ({"rows": IDS[:-1]}, ValueError, "one entry for each of 500"),
        ({"groups": IDS // 2}, ValueError, "independent rows"),
        ({"at_most": None}, ValueError, "at least one of at_most, recall or precision"),
        ({"at_most": 1.0}, ValueError, "strictly between 0 and 1"),
        ({"at_most": "5%"}, TypeError, "at_most"),
        ({"recall": 0.5}, ValueError, "pos_label"),
        ({"pos_label": "yes"}, ValueError, "pos_label"),
        ({"recall": 0.5, "pos_label": "maybe"}, ValueError, "one of the predictions"),
        ({"recall": 0.5, "pos_label": pd.Timestamp(0)}, TypeError, "pos_label must be a string"),
        ({"y_pred": Y[:-1]}, ValueError, "y_pred"),
        ({"y_pred": np.zeros(M)}, (TypeError, ValueError), "y_pred"),
        ({"y_true": Y[:, None]}, ValueError, "y_true"),
        ({"name": 7}, TypeError, "name"),
    ],
)
def test_invalid_input_is_refused_and_costs_nothing(path, options, error, message):
    with pytest.raises(error, match=message):
        Ledger(path).attempt(**{"y_true": Y, "y_pred": Y, "rows": IDS, "at_most": 0.05} | options)
    assert not path.exists()


# -- the file ----------------------------------------------------------------------------------------------------------


def test_the_delta_of_a_file_stays(path):
    assert Ledger(path).attempts == ()
    assert Ledger(path, delta=0.01).left == 0.01
    Ledger(path, delta=0.01).attempt(Y, wrong(9), rows=IDS, at_most=0.05)
    assert Ledger(path).attempts[0].delta == 0.01
    with pytest.raises(ValueError, match=r"was started with delta=0\.01"):
        Ledger(path, delta=0.05).attempt(Y, Y, rows=IDS, at_most=0.05)
    with pytest.raises(ValueError, match="delta"):
        Ledger(path, delta=1.5)


EDITS = {
    "an outcome": lambda c: c["attempts"][0].update(passed=True),
    "a name": lambda c: c["attempts"][1].update(name="other"),
    "an attempt removed": lambda c: c["attempts"].pop(1),
    "attempts swapped": lambda c: c["attempts"].reverse(),
    "delta": lambda c: c.update(delta=0.2),
    "a level": lambda c: c["attempts"][2].update(level=0.04),
    "rows": lambda c: c["rows"].pop(),
    "no attempts": lambda c: c.update(attempts=[]),
    "another format": lambda c: c.update(format="pacbayes ledger 2"),
    "a missing entry": lambda c: c["attempts"][0].pop("told"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_is_noticed(path, edit):
    ledger = Ledger(path)
    for k in (40, 41, 3):
        ledger.attempt(Y, wrong(k), rows=IDS, at_most=0.05)
    content = json.loads(path.read_text())
    EDITS[edit](content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="is not a valid ledger file"):
        ledger.attempt(Y, Y, rows=IDS, at_most=0.05)
    with pytest.raises(ValueError, match="is not a valid ledger file"):
        _ = ledger.left


def test_another_file_is_not_overwritten(path):
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="is not a valid ledger file"):
        Ledger(path).attempt(Y, Y, rows=IDS, at_most=0.05)
    assert path.read_text() == "[1, 2]"


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_two_names_of_one_file(path):
    """A symbolic link is followed; hard links would become two ledgers at the next attempt."""
    Ledger(path).attempt(Y, wrong(9), rows=IDS, at_most=0.05)
    link, other = path.with_name("link.json"), path.with_name("other.json")
    link.symlink_to(path.name)
    assert Ledger(link).attempt(Y, wrong(8), rows=IDS, at_most=0.05).number == 2
    assert (link.is_symlink(), len(Ledger(path).attempts)) == (True, 2)
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(ValueError, match="2 names"):
            Ledger(name).attempt(Y, Y, rows=IDS, at_most=0.05)
    other.unlink()
    assert Ledger(path).attempt(Y, Y, rows=IDS, at_most=0.05).number == 3


def test_line_ends_of_windows_and_unusual_values(path):
    Ledger(path).attempt(Y, wrong(9), rows=IDS, at_most=np.float32(0.05), name="\ud800")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert Ledger(path).attempt(Y, wrong(8), rows=IDS, at_most=Fraction(1, 20)).statement.at_most == 0.05
    assert [one.name for one in Ledger(path).attempts] == ["?", "attempt 2"]


@pytest.mark.parametrize("size", [0, 1, 100, -2])
def test_a_file_without_its_end_is_refused_and_kept(path, size):
    Ledger(path).attempt(Y, wrong(9), rows=IDS, at_most=0.05)
    path.write_bytes(part := path.read_bytes()[:size])
    with pytest.raises(ValueError, match="is not a valid ledger file"):
        Ledger(path).attempt(Y, Y, rows=IDS, at_most=0.05)
    assert path.read_bytes() == part


WRITER = """
import sys
import numpy as np
from pacbayes import Ledger
path, first, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
y = np.zeros(60, dtype=int)
for i in range(first, first + number):
    y_pred = y.copy()
    y_pred[[i % 60, (7 * i + 1) % 60, (i // 60 + i + 2) % 60]] = 1
    Ledger(path).attempt(y, y_pred, rows=np.arange(60), at_most=0.05, name=str(i))
    print(i, flush=True)
"""


def writer(path, first, number):
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_lose_no_attempt(path):
    both = [writer(path, 0, 15), writer(path, 100, 15)]
    ends = [one.communicate(timeout=240) for one in both]
    assert [one.returncode for one in both] == [0, 0], ends
    names = [int(one.name) for one in Ledger(path).attempts]
    assert sorted(names) == [*range(15), *range(100, 115)]


@pytest.mark.skipif(os.name != "posix", reason="kills by a signal")
def test_a_kill_during_an_append_leaves_a_whole_ledger(path):
    """Every outcome that was shown is recorded, and the next process goes on."""
    rng, shown, first = np.random.default_rng(5), set(), 0
    for _ in range(2):
        process = writer(path, first, 10**6)
        assert process.stdout is not None
        shown.add(int(process.stdout.readline()))
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        shown |= {int(line) for line in process.stdout.read().splitlines() if line}
        process.communicate()
        recorded = {int(one.name) for one in Ledger(path).attempts}
        assert shown <= recorded
        assert len(recorded - shown) <= 4
        first = max(recorded) + 1
    writer(path, first, 1).communicate(timeout=240)
    assert int(Ledger(path).attempts[-1].name) == first
    assert sorted(one.name for one in Path(path).parent.iterdir()) == ["ledger.json", "ledger.json.lock"]
