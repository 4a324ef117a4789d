"""The commands in the README and on the page about the command line run, and print what is said there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.bad_files import good
from tests.cli.running import in_process

from pacbayes import StochasticSVC
from pacbayes.estimators.svc import DEFAULT_LAMBDAS
from pacbayes.paper.protocol import DELTA, LAMBDAS, PROTOCOLS, Protocol

ROOT = Path(__file__).parents[1]


def commands(page):
    """Every command with the lines below it; a line of dots stands for any other lines."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, [line for line in lines if line != "..."]


def test_the_table_is_what_the_command_wrote():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- against: begin -->\n(.*?)<!-- against: end -->", text, flags=re.DOTALL)[1]
    written = (ROOT / "results" / "against.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) > 8
    assert [line for line in rows if line not in written] == []


def test_the_table_follows_from_what_was_measured(tmp_path):
    """Every number stands in a line of results/against.jsonl, which names the commit that computed it."""
    done = subprocess.run(
        [
            *(sys.executable, "benchmarks/bench_against.py", "--report-only", "--keep", "results/against.jsonl"),
            *("--out", str(tmp_path / "against.md")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "against.md").read_text() == (ROOT / "results" / "against.md").read_text()


def test_defaults_that_differ_from_the_papers():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ours, theirs = StochasticSVC().get_params(), Protocol("raw")
    assert ours["lambdas"] is None
    assert (
        f"{len(DEFAULT_LAMBDAS)} values of λ instead of {LAMBDAS.size}, δ = {ours['delta']} instead of {DELTA}" in text
    )
    assert (ours["constant"], ours["split"], theirs.split) == ("exact", "shared", "independent")
    assert "exact constants, one split for all SVMs instead of one for each" in text
    assert PROTOCOLS["wdbc"] == theirs


PAGES = ["README.md", "docs/command-line.md"]
# What takes longer than all other commands together.
LONG = "--candidates forest"


@pytest.mark.parametrize("page", PAGES)
def test_documented_commands(page, tmp_path, monkeypatch, capsys):
    check([one for one in commands(page) if LONG not in one[0]], tmp_path, monkeypatch, capsys)


@pytest.mark.slow
def test_documented_commands_that_take_long(tmp_path, monkeypatch, capsys):
    found = [one for page in PAGES for one in commands(page)]
    assert any(LONG in command for command, _ in found)
    check(found, tmp_path, monkeypatch, capsys)


def check(ran, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = good(300).rename(columns={"kind": "class"})
    frame.to_csv("data.csv", index=False)
    frame[:20].assign(a=frame["a"] + 0.01).to_csv("new.csv", index=False)
    frame[:20].assign(old="no", new=frame["class"]).to_csv("predictions.csv", index=False)
    Path("counts.csv").write_text("true,predicted,count\nno,no,970\nno,yes,10\nyes,yes,20\n", encoding="utf-8")
    Path("risks.csv").write_text("risk\n0.1\n0.2\n", encoding="utf-8")
    Path("errors.csv").write_text("errors\n10\n12\n30\n", encoding="utf-8")
    assert len(ran) >= 6
    for command, lines in ran:
        name, *words = shlex.split(command)
        assert name == "pacbayes"
        done = in_process(words, capsys, as_given=True)
        assert done.code == 0, done.err
        printed = done.out.splitlines() + done.err.splitlines()
        for line in lines:
            if line not in printed:
                pytest.fail(f"`{command}` does not print: {line}")
    assert Path("report.html").stat().st_size > 0
    assert Path("predicted.csv").stat().st_size > 0


def test_the_picture_is_what_its_command_draws(tmp_path):
    """By its words and numbers: another version of matplotlib may draw the same in other strokes."""
    command = [sys.executable, "tools/readme_picture.py", str(tmp_path / "readme.svg")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def words(path):
        return re.findall(r"<text[^>]*>([^<]+)</text>|<!-- ([^>]+) -->", path.read_text(encoding="utf-8"))

    assert words(tmp_path / "readme.svg") == words(ROOT / "docs" / "images" / "readme.svg")
    assert len(words(tmp_path / "readme.svg")) > 20
