"""Make the notebook of the page "The paper in code": `python tools/paper_notebook.py`."""

import doctest
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
PAGE, NOTEBOOK = DOCS / "paper-in-code.md", DOCS / "notebooks" / "the-paper-in-code.ipynb"
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", flags=re.DOTALL | re.MULTILINE)


def cells(page: str) -> list[tuple[str, str]]:
    r"""Split a page into cells ("markdown" or "code") in order: examples without prompts and outputs.

    Examples
    --------
    >>> cells("# A\n```python\n>>> 1 + 1\n2\n```\nB\n```console\n$ pacbayes datasets\n```\n")
    [('markdown', '# A'), ('code', '1 + 1'), ('markdown', 'B'), ('code', '!pacbayes datasets')]
    """
    rows: list[tuple[str, str]] = []
    parts = _BLOCK.split(page)
    for text, language, source in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True):
        if text.strip():
            # Links of the page are relative to docs/; what is no page of the documentation is only named.
            text = re.sub(r"\[([^\]]+)\]\((?:\.\./)?([\w./-]+\.csv|results/[\w./-]+)\)", r"\1 (`\2`)", text)
            moved = re.sub(r"\]\((?!http|#|notebooks/)", "](../", text.strip())
            rows.append(("markdown", moved.replace("](notebooks/", "](")))
        if language == "python":
            examples = doctest.DocTestParser().get_examples(source)
            rows.append(("code", "".join(example.source for example in examples).rstrip()))
        elif language:
            rows.append(
                ("code", "\n".join("!" + command for command in re.findall(r"^\$ (.*)$", source, re.MULTILINE)))
            )
    return rows


def notebook(page: str) -> str:
    """Notebook of a page, as JSON without outputs."""
    made: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells(page)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
        made.append(cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
