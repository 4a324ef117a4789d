"""Invalid files and arguments: exit code 2, one error message and no output."""

import io
import json
import re
import subprocess
import sys

import pytest
from tests.cli.bad_files import GOOD, REFUSED, TAKEN
from tests.cli.running import as_process, error_of, in_process

QUICK = ["--lambdas", "0.1,1"]
TREE = "sklearn.tree.DecisionTreeClassifier"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_files_are_rejected(case, tmp_path, capsys):
    write, message = REFUSED[case]
    path = write(tmp_path)
    before = files(tmp_path)
    outputs = ["--save", tmp_path / "model", "--report", tmp_path / "report.html"]
    error_of(["certify", path, *QUICK, *outputs], capsys, message)
    assert files(tmp_path) == before


@pytest.mark.parametrize("case", TAKEN)
def test_valid_files_are_accepted(case, tmp_path, capsys):
    path = TAKEN[case](tmp_path)
    result = in_process(["certify", path, *QUICK, "--json"], capsys)
    assert result.code == 0, result.err
    assert 0.0 < json.loads(result.out)["certificates"]["stochastic"]["bound"] <= 1.0


ARGUMENTS = {
    "--dataset iris": "unknown --dataset 'iris'; known are",
    "{data} --dataset wdbc": "a file and --dataset are mutually exclusive",
    "--target kind": "require a file",
    "{data} --target z": "target must be a column of .*, got 'z'; its columns are 'a', 'b', 'kind'",
    "{data} --report page.PDF": "--report writes an HTML page: its name must end in .html, got 'page.PDF'",
    "{data} --delta 1.5": "'--delta': must be a share between 0 and 1",
    "{data} --prior cross-validation --split independent": "--prior cross-validation is computed on the training rows",
    "{data} --lambdas 1:2": "START:STOP:STEP",
    "{data} --lambdas 1:2:1e-9": "at most 100000 values",
    "{data} --kernel poly": "unknown --kernel 'poly'; known are rbf, linear",
    "{data} --validation-size 1.5": "must be auto, a fraction or a number of rows, got '1.5'",
    "{data} --seed -1": "Invalid value for '--seed'",
    "{data} --jobs 0": "Invalid value for '--jobs'",
    "{data} --candidates magic": "must be auto, some of svm, forest, .*, or the full name of one",
    "{data} --candidates sklearn.os.System": "under sklearn",
    "{data} --candidates logistic --kernel linear": "--lambdas, --kernel and --scale require svm in --candidates",
    "{data} --candidates {tree} --kernel linear": "require svm in --candidates; for {tree}, use --grid",
    "{data} --candidates forrest": "did you mean 'forest'",
    "{data} --candidates svm,{tree}": "must be auto, some of .*, or the full name of one",
    "{data} --candidates svm,svm": "--candidates contains duplicates: got 'svm,svm'",
    "{data} --candidates svm,forest --split independent": "independent requires --candidates svm, .*'svm,forest'",
    "{data} --grid {data}": "for svm, use --lambdas",
    "{data} --candidates logistic --grid {data}": "--grid requires the full name of a classifier",
    "{data} --candidates {tree} --grid {folder}/none.json": "cannot read .*none.json': No such file",
    "{data} --candidates {tree} --grid {data}": "is not JSON",
    "{data} --candidates logistic --checkpoint {data}": "checkpoint must be a directory",
    "{data} --test {folder}/none.csv": "no such file",
    "{data} --primary a": "--primary requires --predictions",
    "{data} --drop a --keep a": "--drop must not name columns of --keep or --categorical, got 'a'",
    "{data} --keep kind": "--keep must name feature columns, got the target 'kind'",
    "{data} --sep a": "sep must be one character",
    "{data} --metrics recal": "did you mean 'recall'",
    "{data} --metrics cost": "--cost FILE",
    "{data} --metrics f1 --group b": r"^pacbayes: with --group, only error rates and costs",
    "{data} --recall 0.6 --positive ye": "the classes no, yes, got 'ye'; did you mean 'yes'?",
    "{data} --precision 0": "--precision must lie strictly between 0 and 1",
    "{data} --recall 0.9 --by-class": "cannot be combined with --recall",
    "{data} --slice none": "--slice must name a column of",
    "{data} --drop z": "--drop must name feature columns",
    "{data} --target kind --drop kind": "must not name the target",
    "{data} --drop a --drop b": "at least one feature",
    "{data} --categorical z": "--categorical must name feature columns",
    "{data} --save {folder}/none/model": "--save: cannot write .*: there is no folder",
    "{data} --report /proc/report.html": "--report: cannot write",
    "{data} --save {data}": "--save: .* is already an input or output of this command",
    "{data} --report {data}": "--report: .* is already an input or output of this command",
    "{data} --test {data}": "--test must be a file other than the data",
    "{data} --save {folder}/out --report {folder}/out": "--report: .* is already an input or output of this command",
    "{data} --speed 9": "[Nn]o such option",
    "{data} more.csv": "unexpected extra argument",
}


GRIDS = {
    '{"depth": [1]}': "--grid names 'depth', which DecisionTreeClassifier does not have; it has",
    '{"max_depth": 3}': "list of at least one value",
    '{"max_depth": []}': "list of at least one value",
    "[1, 2]": "must be an object",
    "[]": "must be an object",
    '{"max_depth": [-1]}': "could not be fitted",
    '{"max_depth": ["deep"]}': "could not be fitted",
    '{"criterion": [{"a": 1}]}': "could not be fitted",
}


@pytest.mark.parametrize("grid", GRIDS)
def test_invalid_grids(grid, data, tmp_path, capsys):
    path = tmp_path / "grid.json"
    path.write_text(grid, encoding="utf-8")
    args = ["certify", data, "--candidates", TREE, "--grid", path, "--quiet"]
    error_of(args, capsys, GRIDS[grid])


TESTS = {
    "a,b\n1,2\n": "must have the class in a column 'kind'",
    "a,kind\n1,yes\n": "does not have the columns 'b'",
    "a,b,kind\n1,2,3\n": "must contain classes such as (yes|no), got 3",
    "a,b,kind\nx,2,yes\n": "column 'a' of .* must contain numbers, got 'x' in row 1",
    "a,b,kind\n,2,yes\n": "column 'a' of .* has no value in row 1",
    "a,b,kind\ninf,2,yes\n": "finite",
    "a,b,kind\n1,2,\n": "needs a class",
}


@pytest.mark.parametrize("text", TESTS)
def test_invalid_test_files(text, data, tmp_path, capsys):
    path = tmp_path / "test.csv"
    path.write_text(text, encoding="utf-8")
    error_of(["certify", data, "--target", "kind", *QUICK, "--test", path], capsys, TESTS[text])


OTHERS = {
    "fly": "[Nn]o such command",
    "predict {folder}/none {data}": "no such model: .*none'; pacbayes certify --save MODEL writes one",
    "predict {data} {data}": "is not a model saved by pacbayes",
    "predict {data}": "[Mm]issing argument",
    "posterior {data}": "[Mm]issing option '--m'",
    "posterior {data} --m 0": "m must be at least 1",
    "posterior {data} --m kind": "must be numeric",
    "bound --m rows --risk 0.1 --kl 1": "--m must be an integer without a file, got 'rows'",
    "posterior {data} --m 10": "--column must name a column of .*, got 'risk'; its columns are 'a', 'b', 'kind'",
    "posterior {data} --m 10 --column b": r"risks must lie in \[0, 1\]",
    "posterior {data} --m 5 --column b --counts": "must contain integers from 0 to the number of validation rows",
    "posterior {data} --m 10 --column b --counts --prior a": "prior must be finite and non-negative",
    "posterior {data} --m 10 --column b --counts --method magic": "magic",
    "bound --m 10": "or both --risk and --kl",
    "bound --risk 0.1 --kl 1": "[Mm]issing option '--m'",
    "bound --m 10 --risk 0.1 --kl nan": "--kl must be at least 0",
    "bound --m 10 --risk 0.1 --kl 1 --constant new": "unknown --constant 'new'",
    "bound {data} --m 10 --risk 0.1": "a file cannot be combined with --risk and --kl",
    "plan --error 0.05 --at-most 0.04": "--at-most must be above --error = 0.05, and at most 1, got 0.04",
    "plan --error 0.05 --at-most 0.1 --plot p.txt": "--plot must end in",
    "reproduce nonsense": "unknown NAME 'nonsense'; known are datasets, constants, main",
    "reproduce datasets --split none": "unknown --split 'none'; known are independent, shared",
    "reproduce datasets --seeds 0": "'--seeds'",
    "reproduce datasets --out {data}": "good.csv",
    "help nonsense": "[Nn]o such command",
}


COMMANDS = {f"certify {arguments}": message for arguments, message in ARGUMENTS.items()} | OTHERS


@pytest.mark.parametrize("arguments", COMMANDS)
def test_invalid_arguments(arguments, data, tmp_path, capsys):
    before = files(tmp_path)
    args = [word.format(data=data, folder=tmp_path, tree=TREE) for word in arguments.split()]
    error_of(args, capsys, COMMANDS[arguments].replace("{tree}", TREE))
    assert files(tmp_path) == before


def test_internal_error_is_one_line_with_exit_code_1(capsys, monkeypatch):
    monkeypatch.setattr("pacbayes.cli.data.read_data", lambda *args: {}["key"])
    result = in_process(["certify"], capsys)
    assert result.code == 1
    assert "internal error: KeyError: 'key'. Please report it" in result.error


# In a subprocess: behaviour at the end of a process.


def test_stdout_on_a_full_disk(data):
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = as_process("certify", data, *QUICK, "--quiet", stdout=full)
    assert result.code == 2
    assert "No space left on device" in result.error


def test_closed_pipe():
    command = [sys.executable, "-m", "pacbayes", "datasets"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_ascii_streams(tmp_path, monkeypatch, capsys):
    path = tmp_path / "größe.csv"
    path.write_text(GOOD.replace("yes", "größer"), encoding="utf-8")

    def printed(*arguments):
        """Output of a command with the streams of PYTHONIOENCODING=ascii."""
        with monkeypatch.context() as patch:
            for name in ("stdout", "stderr"):
                errors = "strict" if name == "stdout" else "backslashreplace"
                patch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors))
            assert in_process(arguments, capsys).code == 0
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
                yield stream.buffer.getvalue().decode()

    out, err = printed("certify", path, *QUICK, "--save", tmp_path / "model")
    assert "majority vote" in out
    assert "gr??er" in err
    out, _ = printed("predict", tmp_path / "model", path)
    assert "größer" in out.splitlines()
    result = as_process("certify", tmp_path / "größer.csv", PYTHONIOENCODING="ascii")
    assert re.search("no such file: '.*gr..er.csv'", result.error)
