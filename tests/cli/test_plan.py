"""`pacbayes plan`: the number, the table around it, the picture, refusals."""

import json

from tests.cli.running import in_process

from pacbayes import rows_needed


def test_the_number_and_the_table(capsys):
    done = in_process(["plan", "--error", "0.05", "--target", "0.08"], capsys)
    rows = rows_needed(0.05, 0.08)
    lines = done.out.splitlines()
    assert done.code == 0
    assert f"{rows} validation rows" in lines[0]
    table = [line.split("\t") for line in lines[2:]]
    assert table[0] == ["target", *(f"chance {c} %" for c in ("50.0", "80.0", "90.0", "95.0"))]
    assert ["8.0 %", *(str(rows_needed(0.05, 0.08, chance=c)) for c in (0.5, 0.8, 0.9, 0.95))] in table
    assert [row[0] for row in table[1:]] == ["6.5 %", "7.25 %", "8.0 %", "9.5 %", "11.0 %"]


def test_json(capsys):
    words = ["plan", "--error", "0", "--target", "0.02", "--chance", "0.7", "--delta", "0.01", "--json"]
    values = json.loads(in_process(words, capsys).out)
    assert values["rows"] == rows_needed(0.0, 0.02, delta=0.01, chance=0.7)
    assert (values["delta"], values["chance"]) == (0.01, 0.7)
    assert {"target": 0.02, "chance": 0.7, "rows": values["rows"]} in values["table"]
    for one in values["table"]:
        assert one["rows"] == rows_needed(0.0, one["target"], delta=0.01, chance=one["chance"])


def test_the_ends_of_the_table(capsys):
    done = in_process(["plan", "--error", "0.4", "--target", "1"], capsys)
    assert done.out.splitlines()[0].startswith("If 40.0 % of new examples are answered wrong, 1 validation rows")
    assert "1.3" not in done.out
    # Half as far takes four times as many rows, too many to say.
    done = in_process(["plan", "--error", "0.001", "--target", "0.00102"], capsys)
    assert done.code == 0
    assert done.out.splitlines()[3].startswith("0.101 %\t")
    assert done.out.splitlines()[3].endswith("\t–")


def test_a_picture(tmp_path, capsys):
    done = in_process(["plan", "--error", "0.05", "--target", "0.08", "--plot", tmp_path / "p.png"], capsys)
    assert done.code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
