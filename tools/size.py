"""Size of the package and of the call paths through it: ``python tools/size.py [CHECKOUT]``.

Prints modules and lines of code (without docstrings, comments and blank lines) by folder, lines of tests, and the
number of modules and functions that a fit, a prediction, a load and a command enter.
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
    """Count lines of code, without docstrings, comments and blank lines."""
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
    """Print modules and lines by folder."""
    package = checkout / "src" / "pacbayes"
    modules: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        folder = path.relative_to(package).parts[0] if path.parent != package else "(root)"
        modules[folder] += path.name != "__init__.py" or path.parent == package
        lines[folder] += code_lines(path.read_text())
    for folder in sorted(modules):
        print(f"{folder:14}{modules[folder]:5} modules{lines[folder]:7} lines of code")
    files = sum(1 for _ in package.rglob("*.py"))
    total = f"{sum(modules.values()):5} modules{sum(lines.values()):7} lines of code"
    print(f"{'all':14}{total} ({files} files with __init__)")
    tests = sum(len(path.read_text().splitlines()) for path in (checkout / "tests").rglob("*.py"))
    print(f"{'tests':14}{tests:20} lines")


def count_entered(call: Any) -> tuple[int, int]:
    """Count the modules and functions of the package that a call enters."""
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


def print_call_paths() -> None:
    """Print the numbers for a fit, a prediction, a load and a command, each called once before for its imports."""
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
            counts = {name: count_entered(call) for name, call in calls.items()}
        finally:
            sys.stdout = printed
    for name, (modules, functions) in counts.items():
        print(f"{name:26}{modules:4} modules{functions:5} functions")
    private = sorted(name for name in vars(model) if name.startswith("_"))
    print(f"private attributes of a fitted estimator: {len(private)} ({', '.join(private)})")


def main() -> int:
    """Print sizes, and call paths in a process that imports the checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="default: this checkout")
    parser.add_argument("--call-paths", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call_paths:
        print_call_paths()
        return 0
    checkout = options.checkout.resolve()
    print_size(checkout)
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    subprocess.run([sys.executable, __file__, "--call-paths"], env=environment, check=True, cwd=checkout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
