"""`pacbayes reproduce --quick`: a small version of everything, through the command line."""

import csv

import pytest

from pacbayes.cli.app import main
from pacbayes.paper import runs
from pacbayes.paper.tables import DESCRIPTIONS

FIGURES = {
    "constants-linear", "constants-squared", "risk-curves-independent", "risk-curves-shared", "risk-curves-overlapping",
    "no-best-lambda", "robustness", "posterior-over-lambda", "gibbs-curve", "bound-and-classifiers",
}  # fmt: skip


def reproduce(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *arguments])
    assert ended.value.code == 0


def read(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_everything_quickly_and_a_second_time_from_the_cache(tmp_path, capsys, monkeypatch):
    reproduce("--quick", "--out", str(tmp_path), "--jobs", "2")
    written = {path.name for path in tmp_path.iterdir()} - {".cache"}
    assert written == {f"{n}.{ending}" for n in DESCRIPTIONS for ending in ("md", "csv")} | {
        f"{n}.svg" for n in FIGURES
    }
    printed = capsys.readouterr()
    assert len(printed.out.split()) == len(written)
    assert "main: " in printed.err
    check_main(read(tmp_path, "main"))
    check_solvers(read(tmp_path, "fp-vs-solver"), read(tmp_path, "ccp"), read(tmp_path, "support-kl"))
    assert {row["holds"] for row in read(tmp_path, "claims")} == {"yes", "no"}
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != ".cache"}

    def refuse(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(runs, "svm_set", refuse)
    reproduce("main", "fp-vs-solver", "ccp", "support-kl", "risk-curves", "--quick", "--out", str(tmp_path))
    changed = [name for name, content in first.items() if (tmp_path / name).read_bytes() != content]
    assert changed == []


def test_one_data_set(tmp_path, capsys):
    reproduce("main", "starts", "--dataset", "haberman", "--split", "shared", "--seeds", "1", "--out", str(tmp_path))
    assert "training takes about 1 s on two cores" in capsys.readouterr().err
    assert {row["dataset"] for row in read(tmp_path, "main")} == {"haberman"}
    (row,) = [r for r in read(tmp_path, "main") if (r["distance"], r["constant"]) == ("kl", "paper")]
    assert int(row["H"]) == 1990
    assert all(row["converged"] == row["starts"] for row in read(tmp_path, "starts"))


@pytest.mark.parametrize(
    "arguments", [["main", "--dataset", "iris"], ["claims", "--dataset", "wdbc"], ["--dataset", "wdbc", "outline"]]
)
def test_data_sets_that_do_not_fit(arguments, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *arguments, "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "--dataset" in capsys.readouterr().err


def check_main(rows):
    splits = {row["split"] for row in rows}
    assert splits == {"independent", "shared", "overlapping"}
    for row in rows:
        assert float(row["largest_gap"]) <= 1e-9
        assert 0.0 < float(row["bound"]) < 1.0
        if row["paper_bound"]:
            assert float(row["difference"]) == pytest.approx(float(row["bound"]) - float(row["paper_bound"]), abs=1e-7)
    by_key = {(r["dataset"], r["split"], r["distance"], r["constant"]): float(r["bound"]) for r in rows}
    for (dataset, split, distance, constant), value in by_key.items():
        if constant == "exact":
            assert value <= by_key[dataset, split, distance, "paper"]


def check_solvers(fixed, procedure, support):
    for row in fixed:
        assert float(row["fixed_point"]) >= float(row["lower_bound"])
        assert float(row["ipopt"]) >= float(row["lower_bound"])
        assert abs(float(row["fixed_point"]) - float(row["certified"])) < 1e-7
    for row in procedure:
        if row["paper_low"]:
            assert float(row["start_mean"]) - float(row["paper_mean"]) < 1e-3  # as printed it hardly moves
            assert float(row["one-sided_high"]) - float(row["certified"]) < 1e-5
    table = [row for row in support if row["kind"] == "table"]
    assert all(int(row["H_star_0.0001"]) <= int(row["H_star_1e-06"]) <= int(row["H"]) for row in table)
