"""The page "The paper in code" has every item of the paper's source, an example for each, and runs."""

import csv
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.running import in_process
from tools.paper_notebook import NOTEBOOK, PAGE, notebook

ITEMS = PAGE.parent / "paper-items.csv"


LINES = re.compile(r"\blines? (\d[\d, and]*)")


def missing(page, items):
    """Items that the page does not name with their line, and paragraphs with items that no example follows."""
    paragraphs = [part for part in re.split(r"\n\n(?=[^`>])|\n(?=```(?:python|console))", page) if part.strip()]
    lines = [{n for where in LINES.findall(text) for n in re.findall(r"\d+", where)} for text in paragraphs]
    absent = [
        item
        for item in items
        if not any(
            item["line"] in numbers and (not item["label"] or f"`{item['label']}`" in text)
            for text, numbers in zip(paragraphs, lines, strict=True)
        )
    ]
    following = [text.lstrip() for text in [*paragraphs[1:], ""]]
    without = [
        text
        for text, numbers, after in zip(paragraphs, lines, following, strict=True)
        if numbers and not after.startswith("```")
    ]
    return absent, without


def read_items():
    with ITEMS.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_item_has_a_place_and_an_example():
    items = read_items()
    assert len(items) == 135
    absent, without = missing(PAGE.read_text(encoding="utf-8"), items)
    assert absent == []
    assert without == []


def test_a_missing_item_or_example_is_noticed():
    page, items = PAGE.read_text(encoding="utf-8"), read_items()
    assert [item["label"] for item in missing(page.replace("`eqn:hatkK2`", ""), items)[0]] == ["eqn:hatkK2"]
    assert [item["line"] for item in missing(page.replace("(line 167)", ""), items)[0]] == ["167"]
    assert len(missing(re.sub(r"```console\n.*?```\n", "", page, flags=re.DOTALL), items)[1]) > 5


@pytest.mark.slow
def test_every_command_runs(tmp_path, monkeypatch, capsys):
    commands = re.findall(r"^\$ pacbayes (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 10
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = in_process(shlex.split(command), capsys, as_given=True)
        assert done.code == 0, done.err
    assert Path("results/main.md").stat().st_size > 0


def test_the_notebook_is_the_page():
    assert NOTEBOOK.read_text(encoding="utf-8") == notebook(PAGE.read_text(encoding="utf-8"))
