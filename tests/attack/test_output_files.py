"""Output files: full disks, class names that are spreadsheet formulas, and long labels."""

import csv
import os

import numpy as np
import pytest
from tests.cli.running import in_process

from pacbayes._utils.files import write_file


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_the_certificate_is_printed_with_a_full_disk(tmp_path, capsys):
    done = in_process(["certify", "--lambdas", "1,2", "--save", "/dev/full", "--json"], capsys)
    assert '"bound"' in done.out
    assert done.code == 2
    assert done.error == "pacbayes: --save: cannot write '/dev/full': No space left on device"
    # The report is written nevertheless.
    report = tmp_path / "report.html"
    done = in_process(["certify", "--lambdas", "1,2", "--save", "/dev/full", "--report", report], capsys)
    assert "on new examples is at most" in done.out
    assert "/dev/full" in done.error
    assert report.exists()


def test_an_error_of_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model'"):
        write_file(tmp_path / "model", b"text")
    assert list(tmp_path.iterdir()) == []


def test_predicted_formulas_are_escaped(tmp_path, capsys):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 2))
    lines = [f"{a},{b},{'=1+1' if a > 0 else '@x'}" for a, b in values]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,class", *lines]) + "\n")
    model, out = tmp_path / "model", tmp_path / "out.csv"
    assert in_process(["certify", tmp_path / "data.csv", "--lambdas", "1,2", "--save", model], capsys).code == 0
    assert in_process(["predict", model, tmp_path / "data.csv", "--shares", "--out", out], capsys).code == 0
    with out.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["predicted", "share of =1+1", "share of @x"]
    assert {row[0] for row in rows[1:]} == {"'=1+1", "'@x"}
