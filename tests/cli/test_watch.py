"""`pacbayes watch`: exit codes, order of arrival, groups, abstentions, duplicates, invalid input."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import error_of, in_process

from pacbayes import Abstain, CertifiedClassifier, Monitor, load, save
from pacbayes.report.timeline import Timeline


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
    assert "Without an alarm, the certificate may" in result.out
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
    assert result.out.splitlines()[1] == f"The alarm was raised at row {expected.alarm_at} of the file."
    assert result.out.splitlines()[2].startswith("Next step: do not rely on the certificate")
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
    assert "--order must name a column of numbers or of dates such as 2024-05-31, got 'soon'" in error_of(
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
    # Groups of dependent rows, for a certificate about rows: each counts once, against the same bound.
    by_rows = load(model)
    shares = pd.Series(by_rows.predict(frame[["a", "b"]]) != frame["kind"]).groupby(frame["who"], sort=False).mean()
    timeline = Timeline(by_rows.certificate_.monitor(), "group")
    timeline.update(shares.to_numpy())
    result = in_process(["watch", model, path, "--target", "kind", "--group", "who"], capsys)
    assert result.out.splitlines()[0] == str(timeline)
    assert "Every group counts once" in result.out.splitlines()[-1]
    assert timeline.rows == 6


def year(folder, n_files=8, late=6):
    """Files of a week each, with 60 rows; from week `late` on, the model fails at one site."""
    folder.mkdir()
    frames = []
    for week in range(n_files):
        frame = rows(60, 300 + week, 0.02)
        frame["site"] = np.where(np.arange(60) % 3 == 0, "north", "south")
        wrong = (frame["site"] == "north") & (week >= late)
        frame["kind"] = np.where(wrong ^ (frame["kind"] == "yes"), "yes", "no")
        frame["day"] = (np.datetime64("2024-01-01") + 7 * week + np.arange(60) // 10).astype(str)
        frame.sample(frac=1.0, random_state=week).to_csv(folder / f"w{week + 1}.csv", index=False)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def test_a_folder_is_read_in_order(model, tmp_path, capsys):
    frame = year(tmp_path / "2024", 12, 9)
    args = ["watch", model, tmp_path / "2024", "--target", "kind", "--order", "day"]
    result = in_process([*args, "--slice", "site", "--plot", tmp_path / "year.svg"], capsys)
    order = pd.concat([pd.read_csv(tmp_path / "2024" / f"w{week + 1}.csv") for week in range(12)])
    order = order.sort_values("day", kind="stable")
    expected = load(model).monitor().update(order[["a", "b"]], order["kind"])
    assert result.code == 3
    assert str(expected) in result.out
    weeks, slices = (part.splitlines() for part in result.out.split("\n\n")[:2])
    assert [line.split("\t")[0] for line in weeks[1:]] == np.arange("2024-01-01", "2024-03-25", 7, "M8[D]").astype(
        str
    ).tolist()
    assert [line.split("\t")[1] for line in weeks[1:]] == ["60"] * 12
    assert weeks[-2].endswith("\talarm")
    assert weeks[-1].endswith("\tafter the alarm")
    assert float(weeks[-1].split("\t")[5]) == pytest.approx(expected.e_values[-1], rel=1e-2)
    assert slices[1].split("\t")[0] == "north"
    assert slices[0].split("\t")[-1] == "error rate since 2024-03-04"
    assert slices[1].split("\t")[4] == "60"
    assert "The error rate most likely rose in week 2024-03-04." in result.out
    assert "Next step: do not rely on the certificate" in result.out
    assert f"{tmp_path / '2024' / 'w11.csv'} (2024-03-1" in result.out
    assert "Rows of one day may depend on each other" in result.err
    assert "--group day" in result.err
    assert b"<svg" in (tmp_path / "year.svg").read_bytes()
    values = json.loads(in_process([*args, "--by", "file", "--json"], capsys).out)
    assert [period["rows"] for period in values["periods"]] == [60] * 12
    assert values["since"] == str(tmp_path / "2024" / "w10.csv")
    assert values["alarm_file"] == str(tmp_path / "2024" / "w11.csv")
    found = frame[frame["day"] == values["alarm_time"]]
    assert len(found) == 10
    named = pd.read_csv(values["alarm_file"]).iloc[values["alarm_row"] - 1]
    assert named["a"] == order.iloc[expected.alarm_at - 1]["a"]


def test_days_as_groups(model, tmp_path, capsys):
    frame = year(tmp_path / "2024")
    args = ["watch", model, tmp_path / "2024", "--target", "kind", "--order", "day", "--group", "day"]
    result = in_process([*args, "--by", "month", "--slice", "site"], capsys)
    by_rows = load(model)
    shares = pd.Series(by_rows.predict(frame[["a", "b"]]) != frame["kind"]).groupby(frame["day"]).mean()
    timeline = Timeline(by_rows.certificate_.monitor(), "group")
    timeline.update(shares.to_numpy())
    assert result.out.splitlines()[0].split("\t")[:2] == ["month", "groups"]
    assert [line.split("\t")[1] for line in result.out.splitlines()[1:3]] == ["27", "21"]
    assert str(timeline) in result.out
    assert "may depend" not in result.err
    assert "north" in result.out
    values = json.loads(in_process([*args, "--json"], capsys).out)
    assert values["e_value"] == timeline.e_value
    if timeline.alarm:
        assert values["alarm_group"] == shares.index[timeline.alarm_at - 1]


def test_files_in_another_order(model, tmp_path, capsys):
    year(tmp_path / "2024", 2)
    first, second = (tmp_path / "2024" / name for name in ("w1.csv", "w2.csv"))
    result = in_process(["watch", model, first, second, "--target", "kind"], capsys)
    assert result.out.splitlines()[0].startswith("file\trows")
    assert [line.split("\t")[0] for line in result.out.splitlines()[1:3]] == [str(first), str(second)]
    numbers = written(tmp_path, rows(20, 50).assign(day=range(20)), "numbers.csv")
    (tmp_path / "empty").mkdir()
    for args, message in {
        (second, first, "--order", "day"): "must be sorted by --order",
        (first, numbers, "--order", "day"): "must be numeric in all files",
        (first, first): "is given twice",
        (tmp_path / "empty",): "has no CSV, TSV or Parquet file",
        (first, "--by", "week"): "--by week requires --order COLUMN with dates",
        (first, "--by", "year"): "unknown --by 'year'; known are file, day, week, month",
        (numbers, "--order", "day", "--group", "day"): "requires --order COLUMN with dates",
        (first, tmp_path / "none.csv"): "no such file",
    }.items():
        assert message in error_of(["watch", model, *args, "--target", "kind"], capsys)


MEASURED = """
import resource, sys
from pacbayes.cli.app import app
try:
    app(sys.argv[1:])
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="units of memory differ")
@pytest.mark.parametrize("args", [(), ("--order", "day", "--slice", "site"), ("--order", "day", "--group", "day")])
def test_memory_does_not_grow_with_the_files(model, tmp_path, args):
    """A million rows in 50 files take as much memory as 100 000 in five."""
    frame = rows(20_000, 60, 0.0).assign(site=np.arange(20_000) % 5)
    peaks = []
    for number in (5, 50):
        folder = tmp_path / str(number)
        folder.mkdir()
        for k in range(number):
            frame.assign(day=str(np.datetime64("2024-01-01") + k)).to_csv(folder / f"{k}.csv", index=False)
        command = [sys.executable, "-c", MEASURED, "watch", model, folder, "--target", "kind", *args]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        peaks.append(int(done.stdout.splitlines()[-1]) / 1024)
    print(f"{args}: {peaks[0]:.0f} MB for 5 files, {peaks[1]:.0f} MB for 50")
    assert peaks[1] < peaks[0] + 30


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
    halves = [written(tmp_path, part, f"{name}.csv") for name, part in (("1", copied[:90]), ("2", copied[90:]))]
    values = json.loads(in_process(["watch", path, *halves, "--target", "kind", "--json"], capsys).out)
    assert (values["e_value"], values["rows"]) == (expected.e_values[-1], 80)
    assert "was certified with --duplicates together" in error_of(
        ["watch", path, *halves, "--target", "kind", "--group", "a"], capsys
    )


def test_few_rows_that_are_all_wrong(model, tmp_path, capsys):
    frame = pd.DataFrame({"a": [2.0], "b": [0.0], "kind": ["no"]})
    result = in_process(["watch", model, written(tmp_path, frame), "--target", "kind", "--json"], capsys)
    assert json.loads(result.out)["errors"] == 1
    assert "is one of the true classes" in error_of(
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
    assert "has no value in row 8; every row requires a value" in error_of(
        ["watch", model, written(tmp_path, gap), "--target", "kind"], capsys
    )
