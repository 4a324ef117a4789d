"""The command line itself: what it loads, what it says, how it fails."""

import subprocess
import sys

import pytest

import pacbayes.files.model_file
import pacbayes.report.page  # noqa: F401  (patched by name)
from pacbayes.cli.app import main
from pacbayes.data import DATASETS


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code, *capsys.readouterr()


HELP = [[], ["--version"], *([name, "--help"] for name in ("certify", "predict", "posterior", "bound", "reproduce"))]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (f"for words in {HELP}: app(args=words or ['--help'], standalone_mode=False)", []),
        ("app(args=['certify', '--lambdas', '1,2'], standalone_mode=False)", ["numpy", "sklearn", "numba", "pandas"]),
    ],
    ids=["help", "certify"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code, wanted):
    heavy = ["numpy", "sklearn", "numba", "pandas", "matplotlib"]
    code = f"from pacbayes.cli.app import app\n{code}\nimport sys\n" + (
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert eval(done.stderr.splitlines()[-1]) == wanted
    assert done.stdout


def test_datasets_lists_every_one_with_the_papers_counts(capsys):
    code, out, err = run(capsys, "datasets")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in lines[1:]] == list(DATASETS)
    spambase = next(line for line in lines if line.startswith("spambase"))
    assert spambase.split()[1:5] == ["4601", "57", "2788/1813", "1840/1840/921"]


def test_an_interrupt_is_one_line_that_says_what_was_kept(capsys, tmp_path, monkeypatch):
    """Before, in the middle of, and after what is written."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    data, model, report = tmp_path / "data.csv", tmp_path / "m.pacbayes", tmp_path / "r.html"
    data.write_text("x,class\n" + "".join(f"{i / 4},{i // 30}\n" for i in range(60)))
    certify = ("certify", str(data), "--lambdas", "0.1,1", "-q", "--save", str(model), "--report", str(report))
    ends = {
        "pacbayes.files.model_file.save": "nothing was written",
        "pacbayes.report.page.render": f"the model is saved in {str(model)!r}",
        "pacbayes.cli.certified.print_certified": f"the model is saved in {str(model)!r}; the report is in "
        f"{str(report)!r}",
    }
    for name, kept in ends.items():
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], interrupt)
            code, out, err = run(capsys, *certify)
        assert (code, out) == (130, "")
        assert err.strip() == f"pacbayes: interrupted; {kept}"
    with monkeypatch.context() as patch:
        patch.setattr("pacbayes.paper.workspace.Workspace.run", interrupt)
        code, _, err = run(capsys, "reproduce", "main", "--quick", "--out", str(tmp_path / "results"))
    assert code == 130
    cache = str(tmp_path / "results" / ".cache")
    kept = f"what was computed is kept in {cache!r}, the same command continues from there"
    assert err.splitlines()[-1] == f"pacbayes: interrupted; {kept}"
    code, _, err = run(capsys, "predict", str(model), str(data), "--voting", "best")
    assert (code, "interrupted" in err) == (0, False)
