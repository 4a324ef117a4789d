"""How large the house is, and how much of it one call walks through: ``python tools/house.py [CHECKOUT]``.

Prints modules and lines of code (without docstrings, comments and blank lines) by room, lines of tests, and how many
modules and functions of the package are entered by a fit, a prediction, a load and a command.
"""

import argparse
import ast
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def code_lines(source: str) -> int:
    """Return the lines of a source that hold code: no docstrings, comments or blank lines."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in skipped for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - docstrings)


def print_size(checkout: Path) -> None:
    """Print modules and lines by room."""
    package = checkout / "src" / "pacbayes"
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0] if path.parent != package else "(root)"
        modules[room] += path.name != "__init__.py" or path.parent == package
        lines[room] += code_lines(path.read_text())
    for room in sorted(modules):
        print(f"{room:14}{modules[room]:5} modules{lines[room]:7} lines of code")
    files = sum(1 for _ in package.rglob("*.py"))
    total = f"{sum(modules.values()):5} modules{sum(lines.values()):7} lines of code"
    print(f"{'all':14}{total} ({files} files with __init__)")
    tests = sum(len(path.read_text().splitlines()) for path in (checkout / "tests").rglob("*.py"))
    print(f"{'tests':14}{tests:20} lines")


def walked(call: Any) -> tuple[int, int]:
    """Return how many modules and functions of the package a call enters."""
    functions: set[Any] = set()

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call" and f"{os.sep}pacbayes{os.sep}" in frame.f_code.co_filename:
            functions.add(frame.f_code)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    named = {code for code in functions if not code.co_name.startswith("<")}
    return len({code.co_filename for code in named}), len(named)


def print_walks() -> None:
    """Print what a fit, a prediction, a load and a command enter; all was imported by a first call of each."""
    from sklearn.datasets import load_breast_cancer

    from pacbayes import CertifiedClassifier, StochasticSVC, load, save
    from pacbayes.cli.app import main

    X, y = load_breast_cancer(return_X_y=True)
    model = StochasticSVC(random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path, page = f"{folder}/model", f"{folder}/report.html"
        save(model, path)

        def command() -> None:
            with contextlib.suppress(SystemExit):
                main(["certify", "--dataset", "wdbc", "--report", page, "--quiet"])

        calls = {
            "CertifiedClassifier().fit": lambda: CertifiedClassifier(random_state=0).fit(X, y),
            "StochasticSVC().fit": lambda: StochasticSVC(random_state=0).fit(X, y),
            "predict": lambda: model.predict(X[:1]),
            "load": lambda: load(path),
            "certify --report": command,
        }
        sys.stdout, printed = io.StringIO(), sys.stdout
        try:
            for call in calls.values():
                call()
            found = {name: walked(call) for name, call in calls.items()}
        finally:
            sys.stdout = printed
    for name, (modules, functions) in found.items():
        print(f"{name:26}{modules:4} modules{functions:5} functions")
    own = sorted(name for name in vars(model) if name.startswith("_"))
    print(f"private attributes of a fitted estimator: {len(own)} ({', '.join(own)})")


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="where to look; this one by default")
    parser.add_argument("--walks", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walks:
        print_walks()
        return 0
    checkout = given.checkout.resolve()
    print_size(checkout)
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    subprocess.run([sys.executable, __file__, "--walks"], env=environment, check=True, cwd=checkout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
