"""How connected the package is: modules per folder, fan-out, and the files and folders that one run crosses.

python tools/crossings.py           # the numbers
python tools/crossings.py --way     # every function on the way of `pacbayes certify --report`, by folder
"""

import argparse
import ast
import contextlib
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_breast_cancer

import pacbayes
from pacbayes import StochasticSVC, save
from pacbayes.cli.app import main as run_command

PACKAGE = Path(pacbayes.__file__).parent


def way_of(work: Callable[[], object]) -> list[tuple[Path, str]]:
    """Return the functions of the package that a piece of work calls, in the order of their first calls."""
    functions: dict[tuple[str, str], None] = {}

    def record(frame: FrameType, event: str, _: Any) -> None:
        # What runs when a module is loaded is no part of the way.
        if event == "call" and _is_ours(frame) and not _is_loading(frame):
            functions.setdefault((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            work()
    finally:
        sys.setprofile(before)
    return [(Path(file).relative_to(PACKAGE), name) for file, name in functions]


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(PACKAGE))


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None and _is_ours(frame):
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def crossings(way: list[tuple[Path, str]]) -> str:
    """Return how many files a way crosses, and how often the folder changes on it."""
    changes = sum(one.parent != other.parent for (one, _), (other, _) in pairwise(way))
    return f"{len({file for file, _ in way})} files, {changes} changes of folder"


def fan_out() -> Counter[str]:
    """Return for each module how many others of the package it imports."""
    counts: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        counts[str(path.relative_to(PACKAGE))] = sum(name.startswith("pacbayes") for name in names)
    return counts


def command(*words: str) -> Callable[[], None]:
    """Return a command of the command line as a piece of work."""

    def run() -> None:
        with contextlib.suppress(SystemExit):
            run_command(words)

    return run


def print_structure() -> None:
    """Print modules per folder, lines, file names that occur twice, and the most connected modules."""
    files = list(PACKAGE.rglob("*.py"))
    modules = [path for path in files if path.name != "__init__.py"]
    folders = Counter(str(path.parent.relative_to(PACKAGE)) for path in modules)
    print(", ".join(f"{name} {number}" for name, number in sorted(folders.items())))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    twice = [name for name, number in Counter(path.name for path in modules).items() if number > 1]
    print(f"{len(modules)} modules, {lines} lines; file names that occur twice: {', '.join(twice) or 'none'}")
    print("fan-out:", ", ".join(f"{name} {number}" for name, number in fan_out().most_common(5)))


def main() -> None:
    """Print the numbers, or the way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--way", action="store_true", help="print the functions on the way")
    wants_way = parser.parse_args().way
    with tempfile.TemporaryDirectory() as folder:
        report, file, row = (str(Path(folder, name)) for name in ("report.html", "model", "row.csv"))
        certify = way_of(command("certify", "--dataset", "wdbc", "--report", report))
        if wants_way:
            for part, functions in groupby(certify, key=lambda one: one[0].parent):
                print(f"[{part}]", ", ".join(f"{path.stem}.{name}" for path, name in functions))
            return
        print_structure()
        print("pacbayes certify --report:", crossings(certify))
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        model = StochasticSVC(random_state=0).fit(X, y)
        save(model, file)
        X[:1].to_csv(row, index=False)
        print("pacbayes predict, one row:", crossings(way_of(command("predict", file, row))))
        print("model.predict, one row:", crossings(way_of(lambda: model.predict(X[:1]))))


if __name__ == "__main__":
    main()
