"""Shares on the command line: .05 and 5% are the same, 5 is neither."""

import json
import re

import pytest
import typer
from tests.cli.bad_files import good
from tests.cli.running import in_process, refused

from pacbayes.cli.app import app

BOUND = ("bound", "--m", "100", "--kl", "1", "--risk", "0.1")
PLAN = ("plan", "--error", "0.05", "--target", "0.08")
NEW = ("m.pacbayes", "new.csv", "--target", "kind")
#: Every option that takes a share, with what else its command needs.
SHARES = {
    **{("certify", f"--{name}"): () for name in ("delta", "max-error", "recall", "precision", "fpr")},
    **{("plan", f"--{name}"): PLAN[1:] for name in ("error", "target", "chance", "delta")},
    ("compare", "--delta"): ("said.csv", "--target", "kind", "--a", "a", "--b", "b"),
    ("watch", "--alpha"): NEW,
    ("posterior", "--delta"): ("risks.csv", "--m", "100"),
    ("bound", "--risk"): BOUND[1:],
    ("bound", "--delta"): BOUND[1:],
}


def test_these_are_all_options_that_take_a_share():
    commands = typer.main.get_command(app).commands
    of_shares = {(name, one.opts[0]) for name, command in commands.items() for one in command.params
                 if one.metavar == "SHARE" and one.name != "hedge"}  # fmt: skip
    assert of_shares == set(SHARES)


@pytest.mark.parametrize(("command", "option"), SHARES)
@pytest.mark.parametrize(("text", "hint"), [("5", "5% or 0.05"), ("-0.1", "5% or .05"), ("few", "5% or .05")])
def test_what_is_no_share_is_refused_before_any_work(command, option, text, hint, capsys):
    error = refused([command, *SHARES[command, option], option, text], capsys)
    assert f"Invalid value for '{option}': must be a share between 0 and 1, got '{text}'" in error
    assert error.endswith(f"; write {hint}")


@pytest.mark.parametrize("command", [PLAN, BOUND])
def test_percentages_are_the_same_shares(command, capsys):
    def as_percentage(word):
        return f"{float(word) * 100:g}%" if re.fullmatch(r"0\.\d+", word) else word

    plain = in_process([*command, "--delta", "0.007", "--json"], capsys)
    assert plain.code == 0, plain.err
    assert in_process([*map(as_percentage, command), "--delta", "0.7%", "--json"], capsys) == plain
    # Division by 100 in binary would be another number.
    assert json.loads(plain.out)["delta"] == 0.007 != 0.7 / 100


def test_certify_takes_percentages(tmp_path, capsys):
    good(300).to_csv(tmp_path / "data.csv", index=False)
    asked = ["--max-error", "12.5%", "--delta", "10%", "--hedge", "4%", "--validation-size", "40%", "--json"]
    done = in_process(["certify", tmp_path / "data.csv", "--candidates", "logistic", *asked], capsys)
    found = json.loads(done.out)
    assert found["certificates"]["soft"]["answered"]["target"] == 0.125
    assert found["settings"]["parameters"]["delta"] == 0.1
    assert found["settings"]["parameters"]["validation_size"] == 0.4
    assert found["settings"]["parameters"]["hedge"] == 0.04
