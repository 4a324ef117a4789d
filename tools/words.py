"""Count words that the vocabulary of CONTRIBUTING.md replaces, and draw names and sentences for a reader to judge.

``python tools/words.py [CHECKOUT]`` counts in src, docs and README; ``--draw`` prints thirty names and sentences,
drawn with a fixed seed from the package, its pages and its messages.
"""

import argparse
import ast
import random
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED, NUMBER = 44, 30
#: Counted patterns by name.
PATTERNS = {
    **{word: rf"\b{word}\b" for word in ("said", "heard", "asked", "answers", "machines", "split", "elsewhere")},
    "limit, limits": r"\blimits?\b",
    "Return what/which/whether": r"\bReturn (?:what|which|whether)\b",
    **{word: rf"\b{word}\b" for word in ("holdout", "leakage", "duplicates")},
    "confidence bound": r"\bconfidence bounds?\b",
}


def texts(checkout: Path) -> list[Path]:
    """List the files of the package, the pages and README."""
    return [
        *sorted((checkout / "src").rglob("*.py")),
        *sorted((checkout / "docs").rglob("*.md")),
        checkout / "README.md",
    ]


def count(checkout: Path) -> dict[str, int]:
    """Count each pattern, case-insensitively and in parts of names."""
    whole = "\n".join(path.read_text(encoding="utf-8") for path in texts(checkout)).replace("_", " ")
    return {name: len(re.findall(pattern, whole, re.IGNORECASE)) for name, pattern in PATTERNS.items()}


def names(checkout: Path) -> list[str]:
    """List modules, classes, functions, parameters and constants of the package."""
    lines: set[str] = set()
    for path in (checkout / "src" / "pacbayes").rglob("*.py"):
        module = path.relative_to(checkout / "src").with_suffix("").as_posix().replace("/", ".")
        lines.add(f"module {module}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                lines.add(f"class {node.name} in {module}")
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                arguments = ", ".join(argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
                lines.add(f"function {node.name}({arguments}) in {module}")
    return sorted(lines)


def sentences(checkout: Path) -> list[str]:
    """List first lines of docstrings, comments, messages and sentences of the pages."""
    lines: set[str] = set()
    for path in texts(checkout):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
            lines |= {" ".join(line.split()) for line in re.findall(r"[A-Z][^.|#>\n]{40,200}\.(?=\s)", prose)}
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node)):
                lines.add(doc.partition("\n\n")[0].replace("\n", " "))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                lines |= {node.value} if len(node.value.split()) > 7 else set()
        lines |= {line.strip("# ") for line in re.findall(r"^\s*# [A-Z].{30,}\.$", text, re.MULTILINE)}
    return sorted(lines)


def main() -> None:
    """Print counts, or draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="default: this checkout")
    parser.add_argument("--draw", action="store_true", help=f"draw {NUMBER} names and {NUMBER} sentences")
    options = parser.parse_args()
    if not options.draw:
        for name, number in count(options.checkout).items():
            print(f"{name:28}{number:6}")
        return
    for title, pool in (("Names", names(options.checkout)), ("Sentences", sentences(options.checkout))):
        print(f"{title} ({NUMBER} of {len(pool)}, seed {SEED})")
        for number, line in enumerate(random.Random(SEED).sample(pool, NUMBER), start=1):
            print(textwrap.fill(line, 118, initial_indent=f"{number:3}. ", subsequent_indent="     "))


if __name__ == "__main__":
    main()
