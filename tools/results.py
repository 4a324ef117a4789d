"""Make the pages of results/ anew from their CSV files, and the claims from the other tables: nothing is trained.

python tools/results.py [FOLDER]

What it writes is what `pacbayes reproduce --full` wrote, unless a text of the code or a digit of a file has changed.
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
    """Return the page of a table from its CSV file, as of a reproduction with the paper's counts."""
    text = partial(load_text(name), Workspace.at(folder / ".cache", full=True))
    return render(name, (folder / f"{name}.csv").read_text(encoding="utf-8"), text)


def claims_table(folder: Path) -> str:
    """Return the CSV file of the claims from those of the other tables."""

    def read(name: str) -> list[Row]:
        return from_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))

    return to_csv(judge(read))


def main() -> None:
    """Write what differs, and say what that is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    # The page of the claims is made of their table: that comes first.
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
