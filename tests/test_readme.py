"""Commands in the README and on the command-line page run, and print the documented output."""

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
    """Every command with its documented output; a line of dots stands for omitted lines."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, [line for line in lines if line != "..."]


def test_comparison_table_is_in_the_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- against: begin -->\n(.*?)<!-- against: end -->", text, flags=re.DOTALL)[1]
    written = (ROOT / "results" / "against.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 7
    assert [line for line in rows if line not in written] == []


def test_results_follow_from_the_measurements(tmp_path):
    """results/against.md is generated from results/against.jsonl."""
    result = subprocess.run(
        [
            *(sys.executable, "benchmarks/bench_against.py", "--report-only", "--keep", "results/against.jsonl"),
            *("--out", str(tmp_path / "against.md")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "against.md").read_text() == (ROOT / "results" / "against.md").read_text()


def test_documented_differences_from_the_paper():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ours, theirs = StochasticSVC().get_params(), Protocol("raw")
    assert ours["lambdas"] is None
    assert (
        f"{len(DEFAULT_LAMBDAS)} values of λ instead of {LAMBDAS.size}, δ = {ours['delta']} instead of {DELTA}" in text
    )
    assert (ours["constant"], ours["split"], theirs.split) == ("exact", "shared", "independent")
    assert "exact constants, one split for all SVMs instead of one for each" in text
    assert PROTOCOLS["wdbc"] == theirs


# Slower than all other commands together; tests of the paper reproduce more.
LONG = re.compile("--candidates forest|reproduce .*--quick")
PAGE = "docs/command-line.md"


def run(command, lines, capsys, candidates=()):
    """Run a command, pacbayes in this process, and compare its output; `candidates` replace the default ones."""
    words, _, file = command.partition(" > ")
    if words.startswith("pacbayes "):
        args = shlex.split(words)[1:]
        if args[:2] == ["certify", "data.csv"] and not {"--candidates", "--preset"} & set(args):
            args += candidates
        result = in_process(args, capsys, as_given=True)
        assert result.code == 0, result.err
        out, err = result.out, result.err
    else:
        # The interpreter of the tests may not be the first python on the path.
        shell = words.replace("python -c", f"{shlex.quote(sys.executable)} -c")
        out, err = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True).stdout, ""
    if file:
        Path(file).write_text(out, encoding="utf-8")
    printed = out.splitlines() + err.splitlines()
    for line in lines:
        if line not in printed:
            pytest.fail(f"`{command}` does not print: {line}")


@pytest.mark.parametrize("pattern", [LONG, pytest.param(re.compile("^$"), marks=pytest.mark.slow)])
def test_readme_commands(pattern, tmp_path, monkeypatch, capsys):
    """Every command of the README runs as printed, in this order, on files that earlier ones made."""
    monkeypatch.chdir(tmp_path)
    for command, lines in commands("README.md"):
        if not pattern.search(command):
            run(command, lines, capsys)
    assert Path("report.html").stat().st_size > 0
    assert Path("predicted.csv").read_text().startswith("class,predicted\n")


def test_documented_commands(tmp_path, monkeypatch, capsys):
    quick = [one for one in commands(PAGE) if not LONG.search(one[0])]
    check_commands(quick, tmp_path, monkeypatch, capsys, candidates=["--candidates", "logistic"])


@pytest.mark.slow
def test_slow_documented_commands(tmp_path, monkeypatch, capsys):
    documented = list(commands(PAGE))
    assert any(LONG.search(command) for command, _ in documented)
    check_commands(documented, tmp_path, monkeypatch, capsys)


def check_commands(documented, tmp_path, monkeypatch, capsys, candidates=()):
    """Run commands and compare their output; `candidates` replace the default ones for the file `data.csv`."""
    monkeypatch.chdir(tmp_path)
    frame = good(300).rename(columns={"kind": "class"})
    frame.to_csv("data.csv", index=False)
    frame[:20].assign(a=frame["a"] + 0.01).to_csv("new.csv", index=False)
    frame[:20].assign(old="no", new=frame["class"]).to_csv("predictions.csv", index=False)
    Path("counts.csv").write_text("true,predicted,count\nno,no,970\nno,yes,10\nyes,yes,20\n", encoding="utf-8")
    Path("risks.csv").write_text("risk\n0.1\n0.2\n", encoding="utf-8")
    Path("errors.csv").write_text("errors\n10\n12\n30\n", encoding="utf-8")
    assert len(documented) >= 6
    for command, lines in documented:
        run(command, lines, capsys, candidates)
    assert Path("report.html").stat().st_size > 0
    assert Path("predicted.csv").stat().st_size > 0


@pytest.mark.slow
def test_figure_is_reproducible(tmp_path):
    """Compare the text, because paths depend on the version of matplotlib."""
    command = [sys.executable, "tools/readme_picture.py", str(tmp_path / "readme.svg")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

    def args(path):
        return re.findall(r"<text[^>]*>([^<]+)</text>|<!-- ([^>]+) -->", path.read_text(encoding="utf-8"))

    assert args(tmp_path / "readme.svg") == args(ROOT / "docs" / "images" / "readme.svg")
    assert len(args(tmp_path / "readme.svg")) > 20
