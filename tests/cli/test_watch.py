"""`pacbayes watch`: exit codes, order of arrival, groups, abstentions, duplicates, invalid input."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import error_of, in_process

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


def test_exit_code_0_without_an_alarm(model, tmp_path, capsys):
    frame = rows(200, 1)
    result = in_process(["watch", model, written(tmp_path, frame), "--target", "kind"], capsys)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert result.code == 0
    assert result.out.splitlines()[0] == str(expected)
    assert "No alarm does not prove" in result.out
    assert "order of arrival" in result.out.splitlines()[1]
    assert len(result.out.splitlines()) == 2


@pytest.mark.parametrize("kind", ["new.csv", "new.parquet"])
def test_exit_code_3_with_an_alarm(kind, model, tmp_path, capsys):
    frame = pd.concat([rows(150, 2), rows(150, 3, 0.4)])
    args = ["watch", model, written(tmp_path, frame, kind), "--target", "kind"]
    result = in_process(args, capsys)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert result.code == 3
    assert result.out.splitlines()[0] == str(expected)
    assert f"The alarm was raised at row {expected.alarm_at} of the file." in result.err
    values = json.loads(in_process([*args, "--json", "--alpha", "0.2"], capsys).out)
    assert values["alarm_at"] < expected.alarm_at
    assert values["alarm_row"] == values["alarm_at"]
    assert (values["rows"], values["errors"], values["alpha"]) == (300, expected.errors, 0.2)
    assert values["e_value"] == expected.e_values[-1]
    assert values["largest_e_value"] == expected.e_values.max()


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_order_option(kind, model, tmp_path, capsys):
    frame = pd.concat([rows(150, 4), rows(150, 5, 0.4)])
    days = pd.date_range("2023-12-01", periods=300)
    frame["when"] = days.strftime("%Y-%m-%d") if kind == "dates" else np.arange(300) * 7 + 5
    mixed = frame.sample(frac=1.0, random_state=0)
    args = ["watch", model, written(tmp_path, mixed), "--target", "kind", "--order", "when", "--json"]
    result = in_process(args, capsys)
    values = json.loads(result.out)
    expected = load(model).monitor().update(frame[["a", "b"]], frame["kind"])
    assert values["alarm_at"] == expected.alarm_at
    assert mixed.iloc[values["alarm_row"] - 1]["when"] == frame.iloc[expected.alarm_at - 1]["when"]
    assert "Columns not used" not in result.err
    path = written(tmp_path, mixed.assign(when="soon"))
    assert "--order must name a column of numbers, or of dates such as 2024-05-31, got 'soon'" in error_of(
        ["watch", model, path, "--target", "kind", "--order", "when"], capsys
    )


def test_groups(model, tmp_path, capsys):
    by_groups = trained(tmp_path, rows(800, 6), groups=np.arange(800) // 4)
    frame = rows(60, 7, 0.3).assign(who=np.repeat(list("fedcba"), 10))
    path = written(tmp_path, frame)
    result = in_process(["watch", by_groups, path, "--target", "kind", "--group", "who", "--json"], capsys)
    monitor = load(by_groups).monitor().update(frame[["a", "b"]], frame["kind"], groups=frame["who"])
    values = json.loads(result.out)
    assert (values["rows"], values["unit"], values["e_value"]) == (6, "group", monitor.e_values[-1])
    assert values["alarm_row"] is None
    assert "--group is required: the model was certified by groups" in error_of(
        ["watch", by_groups, path, "--target", "kind"], capsys
    )
    assert "--group requires a model certified by groups" in error_of(
        ["watch", model, path, "--target", "kind", "--group", "who"], capsys
    )


def test_abstentions_do_not_count(tmp_path, capsys):
    def unsure(n, seed):
        frame = rows(n, seed)
        return frame.assign(kind=np.where(frame["a"] + 0.5 * frame["b"] > 0, "yes", "no"))[["a", "kind"]].assign(b=0.0)

    path = trained(tmp_path, unsure(800, 8), decision=Abstain(0.06))
    frame, clf = unsure(200, 9), load(path)
    answered = clf.accepts(frame[["a", "b"]])
    assert answered.any()
    assert not answered.all()
    wrong = (clf.predict(frame[["a", "b"]]) != frame["kind"])[answered]
    result = in_process(["watch", path, written(tmp_path, frame), "--target", "kind"], capsys)
    assert f"The model abstains on {(~answered).sum()} of 200 rows" in result.err
    expected = Monitor(0.06, about="the soft vote, on accepted rows").update_errors(wrong)
    assert str(expected) in result.out
    mixed = frame.assign(when=range(200)).sample(frac=1.0, random_state=0)
    args = ["watch", path, written(tmp_path, mixed), "--target", "kind", "--order", "when", "--json"]
    values = json.loads(in_process(args, capsys).out)
    assert (values["rows"], values["abstained"]) == (answered.sum(), (~answered).sum())
    assert (values["errors"], values["e_value"]) == (wrong.sum(), expected.e_values[-1])


def test_duplicates_count_once(tmp_path, capsys):
    path = trained(tmp_path, rows(500, 15), duplicates="together")
    frame = rows(80, 16, 0.1)
    copied = frame.loc[np.repeat(np.arange(80), np.random.default_rng(0).integers(1, 4, 80))]
    model = load(path)
    with pytest.raises(ValueError, match="with duplicates='together' every distinct row counts once"):
        model.monitor()
    y_pred = model.predict(frame[["a", "b"]])
    expected = model.certificate_.monitor().update(y_true=frame["kind"], y_pred=y_pred)
    for table in (copied, pd.concat([frame, copied])):
        result = in_process(["watch", path, written(tmp_path, table), "--target", "kind", "--json"], capsys)
        values = json.loads(result.out)
        assert values["e_value"] == expected.e_values[-1]
        assert (values["rows"], values["unit"]) == (80, "distinct example")
        assert f"{len(table) - 80} of {len(table)} rows are duplicates of earlier ones" in result.err


def test_few_rows_that_are_all_wrong(model, tmp_path, capsys):
    frame = pd.DataFrame({"a": [2.0], "b": [0.0], "kind": ["no"]})
    result = in_process(["watch", model, written(tmp_path, frame), "--target", "kind", "--json"], capsys)
    assert json.loads(result.out)["errors"] == 1
    assert "is any of the true classes" in error_of(
        ["watch", model, written(tmp_path, frame.assign(kind="maybe")), "--target", "kind"], capsys
    )


def test_rows_of_the_fit_are_rejected(model, tmp_path, capsys):
    assert "was fitted with these rows: 500 of 500 rows equal a row behind it; watch rows that arrived" in error_of(
        ["watch", model, written(tmp_path, rows(500, 0)), "--target", "kind"], capsys
    )
    some = pd.concat([rows(500, 0)[:30], rows(100, 12)])
    result = in_process(["watch", model, written(tmp_path, some), "--target", "kind"], capsys)
    assert "30 of 130 rows equal a row that" in result.err


def test_invalid_arguments(model, tmp_path, capsys):
    path = written(tmp_path, rows(50, 14))
    for args, message in {
        ("--target", "none"): "--target must name a column of",
        ("--target", "kind", "--alpha", "0"): "--alpha must be strictly between 0 and 1, got 0.0",
        ("--target", "kind", "--order", "none"): "--order must name a column of",
        ("--target", "kind", "--order", "kind"): "must name different columns",
        ("--target", "kind", "--sha256", "0" * 64): "SHA-256",
    }.items():
        assert message in error_of(["watch", model, path, *args], capsys)
    gap = rows(50, 14)
    gap.loc[7, "kind"] = None
    assert "lacks a value in example 8; every row requires a value" in error_of(
        ["watch", model, written(tmp_path, gap), "--target", "kind"], capsys
    )
