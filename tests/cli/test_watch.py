"""`pacbayes watch`: exit codes, the order of arrival, groups, answers, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process, refused

from pacbayes import Abstain, CertifiedClassifier, Monitor, load, save


def rows(n, seed, noise=0.03, names=("no", "yes")):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return frame.assign(kind=np.where((frame["a"] > 0) ^ (rng.random(n) < noise), *names[::-1]))


def trained(folder, frame, **choices):
    groups = choices.pop("groups", None)
    clf = CertifiedClassifier("logistic", random_state=0, **choices).fit(
        frame[["a", "b"]], frame["kind"], groups=groups
    )
    save(clf, folder / "m.pacbayes")
    return folder / "m.pacbayes"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("model"), rows(500, 0))


def written(tmp_path, frame, name="new.csv"):
    (frame.to_parquet if name.endswith("parquet") else frame.to_csv)(tmp_path / name, index=False)
    return tmp_path / name


def test_no_alarm_is_exit_code_0(model, tmp_path, capsys):
    frame = rows(200, 1)
    done = in_process(["watch", model, written(tmp_path, frame), "--target", "kind"], capsys)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert done.code == 0
    assert done.out.splitlines()[0] == str(expected)
    assert "No alarm does not prove" in done.out
    assert "order in which they arrived" in done.out.splitlines()[1]
    assert len(done.out.splitlines()) == 2


@pytest.mark.parametrize("kind", ["new.csv", "new.parquet"])
def test_an_alarm_is_exit_code_3(kind, model, tmp_path, capsys):
    frame = pd.concat([rows(150, 2), rows(150, 3, 0.4)])
    words = ["watch", model, written(tmp_path, frame, kind), "--target", "kind"]
    done = in_process(words, capsys)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert done.code == 3
    assert done.out.splitlines()[0] == str(expected)
    assert f"The alarm came at row {expected.alarm_at} of the file." in done.err
    values = json.loads(in_process([*words, "--json", "--alpha", "0.2"], capsys).out)
    assert values["alarm_at"] < expected.alarm_at
    assert values["alarm_row"] == values["alarm_at"]
    assert (values["rows"], values["errors"], values["alpha"]) == (300, expected.errors, 0.2)
    assert values["e_value"] == expected.e_values[-1]
    assert values["largest_e_value"] == expected.e_values.max()


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_the_order_of_arrival(kind, model, tmp_path, capsys):
    frame = pd.concat([rows(150, 4), rows(150, 5, 0.4)])
    days = pd.date_range("2023-12-01", periods=300)
    frame["when"] = days.strftime("%Y-%m-%d") if kind == "dates" else np.arange(300) * 7 + 5
    mixed = frame.sample(frac=1.0, random_state=0)
    words = ["watch", model, written(tmp_path, mixed), "--target", "kind", "--order", "when", "--json"]
    done = in_process(words, capsys)
    values = json.loads(done.out)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert values["alarm_at"] == expected.alarm_at
    assert mixed.iloc[values["alarm_row"] - 1]["when"] == frame.iloc[expected.alarm_at - 1]["when"]
    assert "Columns not used" not in done.err
    path = written(tmp_path, mixed.assign(when="soon"))
    assert "--order must name a column of numbers, or of dates such as 2024-05-31, got 'soon'" in refused(
        ["watch", model, path, "--target", "kind", "--order", "when"], capsys
    )


def test_groups(model, tmp_path, capsys):
    by_groups = trained(tmp_path, rows(800, 6), groups=np.arange(800) // 4)
    frame = rows(60, 7, 0.3).assign(who=np.repeat(list("fedcba"), 10))
    path = written(tmp_path, frame)
    done = in_process(["watch", by_groups, path, "--target", "kind", "--group", "who", "--json"], capsys)
    monitor = load(by_groups).monitor().update(frame[["a", "b"]], frame["kind"], groups=frame["who"])
    values = json.loads(done.out)
    assert (values["rows"], values["unit"], values["e_value"]) == (6, "group", monitor.e_values[-1])
    assert values["alarm_row"] is None
    done = in_process(["watch", by_groups, path, "--target", "kind"], capsys)
    assert "--group must name the column of groups" in done.error
    done = in_process(["watch", model, path, "--target", "kind", "--group", "who"], capsys)
    assert "--group is for a model that was certified by groups" in done.error


def test_rows_that_are_not_answered_do_not_count(tmp_path, capsys):
    def unsure(n, seed):
        frame = rows(n, seed)
        return frame.assign(kind=np.where(frame["a"] + 0.5 * frame["b"] > 0, "yes", "no"))[["a", "kind"]].assign(b=0.0)

    path = trained(tmp_path, unsure(800, 8), decision=Abstain(0.06))
    frame, clf = unsure(200, 9), load(path)
    answered = clf.accepts(frame[["a", "b"]])
    assert answered.any()
    assert not answered.all()
    wrong = (clf.predict(frame[["a", "b"]]) != frame["kind"])[answered]
    done = in_process(["watch", path, written(tmp_path, frame), "--target", "kind"], capsys)
    assert f"{(~answered).sum()} of 200 rows are not answered" in done.err
    expected = Monitor(0.06, about="the soft vote, on accepted rows").update_errors(wrong)
    assert str(expected) in done.out
    mixed = frame.assign(when=range(200)).sample(frac=1.0, random_state=0)
    words = ["watch", path, written(tmp_path, mixed), "--target", "kind", "--order", "when", "--json"]
    values = json.loads(in_process(words, capsys).out)
    assert (values["rows"], values["not_answered"]) == (answered.sum(), (~answered).sum())
    assert (values["errors"], values["e_value"]) == (wrong.sum(), expected.e_values[-1])


def test_copies_count_once(tmp_path, capsys):
    path = trained(tmp_path, rows(500, 15), duplicates="together")
    frame = rows(80, 16, 0.1)
    copied = frame.loc[np.repeat(np.arange(80), np.random.default_rng(0).integers(1, 4, 80))]
    model = load(path)
    with pytest.raises(ValueError, match="with duplicates='together' every distinct row counts once"):
        model.monitor()
    said = model.predict(frame[["a", "b"]])
    expected = model.certificate_.monitor().update(y_true=frame["kind"], y_pred=said)
    for table in (copied, pd.concat([frame, copied])):
        done = in_process(["watch", path, written(tmp_path, table), "--target", "kind", "--json"], capsys)
        values = json.loads(done.out)
        assert values["e_value"] == expected.e_values[-1]
        assert (values["rows"], values["unit"]) == (80, "distinct example")
        assert f"{len(table) - 80} of {len(table)} rows are copies of earlier ones" in done.err


def test_few_rows_may_all_be_wrong(model, tmp_path, capsys):
    frame = pd.DataFrame({"a": [2.0], "b": [0.0], "kind": ["no"]})
    done = in_process(["watch", model, written(tmp_path, frame), "--target", "kind", "--json"], capsys)
    assert json.loads(done.out)["errors"] == 1
    done = in_process(["watch", model, written(tmp_path, frame.assign(kind="No")), "--target", "kind"], capsys)
    assert "is any of the true classes" in done.error


def test_rows_behind_the_model_are_refused(model, tmp_path, capsys):
    assert "was fitted with these rows: 500 of 500 rows equal a row behind it; watch rows that arrived" in refused(
        ["watch", model, written(tmp_path, rows(500, 0)), "--target", "kind"], capsys
    )
    some = pd.concat([rows(500, 0)[:30], rows(100, 12)])
    done = in_process(["watch", model, written(tmp_path, some), "--target", "kind"], capsys)
    assert "30 of 130 rows equal a row that" in done.err


def test_what_is_wrong_is_one_line(model, tmp_path, capsys):
    path = written(tmp_path, rows(50, 14))
    for words, message in {
        ("--target", "none"): "--target must name a column of",
        ("--target", "kind", "--alpha", "0"): "--alpha must be strictly between 0 and 1, got 0.0",
        ("--target", "kind", "--order", "none"): "--order must name a column of",
        ("--target", "kind", "--order", "kind"): "must name different columns",
        ("--target", "kind", "--sha256", "0" * 64): "SHA-256",
    }.items():
        assert message in refused(["watch", model, path, *words], capsys)
    gap = rows(50, 14)
    gap.loc[7, "kind"] = None
    done = in_process(["watch", model, written(tmp_path, gap), "--target", "kind"], capsys)
    assert "lacks a value in example 8; every row needs one" in done.error
