"""Imports, help pages, exit codes and shares of the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.cli.running import error_of, in_process

import pacbayes.files.model_file
import pacbayes.report.page  # noqa: F401  (patched by name)
from pacbayes.cli.app import DOCS, app, main
from pacbayes.data import DATASETS


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code, *capsys.readouterr()


HELP = [[], ["--version"], *([name, "--help"] for name in ("certify", "predict", "posterior", "bound", "reproduce"))]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"for words in {HELP}: app(args=words or ['--help'], standalone_mode=False)", []),
        ("app(args=['certify', '--lambdas', '1,2'], standalone_mode=False)", ["numpy", "sklearn", "numba", "pandas"]),
    ],
    ids=["help", "certify"],
)
def test_heavy_libraries_are_imported_lazily(code, expected):
    heavy = ["numpy", "sklearn", "numba", "pandas", "matplotlib"]
    code = f"from pacbayes.cli.app import app\n{code}\nimport sys\n" + (
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert eval(result.stderr.splitlines()[-1]) == expected
    assert result.stdout


def test_datasets_lists_bundled_data_with_the_split_sizes_of_the_paper(capsys):
    code, out, err = run(capsys, "datasets")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in lines[1:]] == list(DATASETS)
    spambase = next(line for line in lines if line.startswith("spambase"))
    assert spambase.split()[1:5] == ["4601", "57", "2788/1813", "1840/1840/921"]


def test_interrupt_prints_one_line_that_names_what_was_saved(capsys, tmp_path, monkeypatch):
    """Before, between and after the writes."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    data, model, report = tmp_path / "data.csv", tmp_path / "m.pacbayes", tmp_path / "r.html"
    data.write_text("x,class\n" + "".join(f"{i / 4},{i // 30}\n" for i in range(60)))
    certify = ("certify", str(data), "--lambdas", "0.1,1", "-q", "--save", str(model), "--report", str(report))
    ends = {
        "pacbayes.files.model_file.save": "nothing was written",
        "pacbayes.report.page.render": f"the model is saved in {str(model)!r}",
        "pacbayes.cli.certified.print_certified": f"the model is saved in {str(model)!r}; the report is saved in "
        f"{str(report)!r}",
    }
    for name, saved in ends.items():
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], interrupt)
            code, out, err = run(capsys, *certify)
        assert (code, out) == (130, "")
        assert err.strip() == f"pacbayes: interrupted; {saved}"
    with monkeypatch.context() as patch:
        patch.setattr("pacbayes.paper.workspace.Workspace.run", interrupt)
        code, _, err = run(capsys, "reproduce", "main", "--quick", "--out", str(tmp_path / "results"))
    assert code == 130
    cache = str(tmp_path / "results" / ".cache")
    saved = f"finished work is in {cache!r}; the same command resumes from it"
    assert err.splitlines()[-1] == f"pacbayes: interrupted; {saved}"
    code, _, err = run(capsys, "predict", str(model), str(data), "--voting", "best")
    assert (code, "interrupted" in err) == (0, False)


PAGES = Path(__file__).parents[2] / "docs"


def test_help_assumptions_fits_a_terminal_and_links_to_an_existing_page(capsys):
    code, out, _ = run(capsys, "help", "assumptions")
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    address = out.split("More: ")[1].strip()
    assert address.startswith(f"{DOCS}/")
    assert (PAGES / f"{address.removeprefix(DOCS)[1:-5]}.md").exists()


BOUND = ("bound", "--m", "100", "--kl", "1", "--risk", "0.1")
PLAN = ("plan", "--error", "0.05", "--at-most", "0.08")
NEW = ("m.pacbayes", "new.csv", "--target", "kind")
#: All options that take a share, with the other arguments that their commands require.
CERTIFIED_SHARES = ("delta", "fail-above", "max-error", "recall", "precision", "fpr", "coverage")
SHARES = {
    **{("certify", f"--{name}"): () for name in CERTIFIED_SHARES},
    **{("plan", f"--{name}"): PLAN[1:] for name in ("error", "at-most", "chance", "delta")},
    ("compare", "--delta"): ("predicted.csv", "--target", "kind", "--a", "a", "--b", "b"),
    **{
        ("gate", f"--{name}"): ("rows.csv", "--target", "kind", "--predicted", "a")
        for name in ("at-most", "recall", "precision", "delta")
    },
    ("watch", "--alpha"): NEW,
    ("posterior", "--delta"): ("risks.csv", "--m", "100"),
    ("bound", "--risk"): BOUND[1:],
    ("bound", "--delta"): BOUND[1:],
}


def test_all_share_options_are_tested():
    commands = typer.main.get_command(app).commands
    of_shares = {(name, param.opts[0]) for name, command in commands.items() for param in command.params
                 if param.metavar == "SHARE" and param.name != "hedge"}  # fmt: skip
    assert of_shares == set(SHARES)


@pytest.mark.parametrize(("command", "option"), SHARES)
@pytest.mark.parametrize(("text", "hint"), [("5", "5% or 0.05"), ("-0.1", "5% or .05"), ("few", "5% or .05")])
def test_invalid_shares_are_rejected(command, option, text, hint, capsys):
    error = error_of([command, *SHARES[command, option], option, text], capsys)
    assert f"Invalid value for '{option}': must be a share between 0 and 1, got '{text}'" in error
    assert error.endswith(f"; write {hint}")


@pytest.mark.parametrize("command", [PLAN, BOUND])
def test_shares_and_percentages_are_equivalent(command, capsys):
    def as_percentage(word):
        return f"{float(word) * 100:g}%" if re.fullmatch(r"0\.\d+", word) else word

    plain = in_process([*command, "--delta", "0.007", "--json"], capsys)
    assert plain.code == 0, plain.err
    assert in_process([*map(as_percentage, command), "--delta", "0.7%", "--json"], capsys) == plain
    # Binary division by 100 gives another number.
    assert json.loads(plain.out)["delta"] == 0.007 != 0.7 / 100
