"""Regenerate the pages of results/ from their CSV files, and the claims from the other tables, without training.

python tools/results.py [FOLDER]

The pages equal those of `pacbayes reproduce --full`, unless a text in the code or a CSV file has changed.
"""

import sys
from functools import partial
from pathlib import Path

from pacbayes.paper.claims import judge
from pacbayes.paper.output import Row, from_csv, render, to_csv
from pacbayes.paper.tables import DESCRIPTIONS, load_text
from pacbayes.paper.workspace import Workspace

ROOT = Path(__file__).parents[1]


def page(folder: Path, name: str) -> str:
    """Render the page of a table from its CSV file, as in a full reproduction."""
    text = partial(load_text(name), Workspace.at(folder / ".cache", full=True))
    return render(name, (folder / f"{name}.csv").read_text(encoding="utf-8"), text)


def claims_table(folder: Path) -> str:
    """Compute the CSV file of the claims from those of the other tables."""

    def read(name: str) -> list[Row]:
        return from_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))

    return to_csv(judge(read))


def main() -> None:
    """Write the files that change, and print their paths."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    # First, since the page of the claims is rendered from this table.
    _write(folder / "claims.csv", claims_table(folder))
    for name in DESCRIPTIONS:
        _write(folder / f"{name}.md", page(folder, name))
    if folder == ROOT / "results":
        _write(ROOT / "docs" / "claims.md", page(folder, "claims"))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path)


if __name__ == "__main__":
    main()
