"""No module imports from a folder below its own: the order of docs/architecture.md, held by reading the sources."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pacbayes"
# The way of the data, as in docs/architecture.md.
ORDER = (
    "_utils",
    "bounds",
    "posteriors",
    "svm",
    "data",
    "ensemble",
    "certificates",
    "estimators",
    "files",
    "report",
    "paper",
    "cli",
)
# bounds/ and posteriors/ are to be usable, and readable, with nothing else; the solvers come when they are asked for.
LEAN = {"bounds": {"numpy", "scipy"}, "posteriors": {"numpy", "scipy"}}
OPTIONAL = {"posteriors": {"casadi", "cvxpy"}}
# Methods that open a folder below, when they are called, by a name of the root: `clf.report(path)`.
DOORS = {"pacbayes.estimators.base": {"model_card", "write_report"}}


def modules() -> dict[str, Path]:
    """Return every module in a folder of the package, by dotted name: all but the root and `python -m pacbayes`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in ("pacbayes", "pacbayes.__main__"):
            found[name] = path
    return found


@cache
def imported(source: str) -> list[tuple[str, bool]]:
    """Return the modules a source imports, wherever it does, and whether when it is loaded itself."""
    tree = ast.parse(source)
    later = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _is_type_checking(outer)
        for inner in ast.walk(outer)
    }
    return [(name, id(node) not in later) for node in ast.walk(tree) for name in _names(node)]


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"relative import in line {node.lineno}"
        assert node.module is not None
        # `from pacbayes.paper import figures` imports a module too; names that are none do no harm here.
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        first = node.args[0]
        text = first.values[0] if isinstance(first, ast.JoinedStr) else first
        return [str(text.value)] if isinstance(text, ast.Constant) else []
    return []


def downward(folder: str, source: str) -> list[str]:
    """Return what a module of `folder` imports from folders below it."""
    places = {name: place for place, name in enumerate(ORDER)}
    found = []
    for name, _ in imported(source):
        top, _, rest = name.partition(".")
        below = rest.split(".")[0]
        if top == "pacbayes" and below in places and places[below] > places[folder]:
            found.append(name)
    return found


def public(source: str) -> list[str]:
    """Return what is taken from the root, which loads every folder and so would hide an import from below."""
    tree = ast.parse(source)
    taken = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "pacbayes"
        for alias in node.names
    ]
    taken += [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pacbayes"
    ]
    return [name for name in taken if name not in ("__version__", *ORDER)]


def test_order_names_every_folder():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ORDER)
    listed = re.findall(r"^\| `(\w+)/` \|", (ROOT / "docs" / "architecture.md").read_text(), flags=re.MULTILINE)
    assert tuple(listed) == ORDER


@pytest.mark.parametrize(
    "source",
    [
        "from pacbayes.report.plots import plot_risks",
        "import pacbayes.cli.app",
        "def late():\n    from pacbayes.report import plots",
        "if TYPE_CHECKING:\n    from pacbayes.paper.runs import Run",
        "from importlib import import_module\nimport_module(f'pacbayes.paper.{name}')",
        "from pacbayes import cli",
    ],
)
def test_a_planted_import_is_found(source):
    assert downward("estimators", source)
    assert not downward("cli", source)


def test_a_planted_public_name_is_found():
    assert public("from pacbayes import load_dataset") == ["load_dataset"]
    assert public("import pacbayes\npacbayes.load_dataset('bupa')") == ["load_dataset"]
    assert not public("import pacbayes\nprint(pacbayes.__version__)")


def test_nothing_is_imported_from_below():
    wrong = {name: downward(name.split(".")[1], path.read_text()) for name, path in modules().items()}
    assert not {name: found for name, found in wrong.items() if found}


def test_only_the_version_and_doors_are_taken_from_the_root():
    taken = {name: set(public(path.read_text())) for name, path in modules().items()}
    assert {name: found for name, found in taken.items() if found} == DOORS


def test_doors_are_closed_until_they_are_used():
    code = "import sys, pacbayes.estimators; print([name for name in sys.modules if 'report' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pacbayes.report" not in done.stdout


@pytest.mark.parametrize("folder", LEAN)
def test_first_folders_need_numpy_and_scipy_only(folder):
    now, ever = set(), set()
    for name, path in modules().items():
        if name.split(".")[1] == folder:
            for module, when_loaded in imported(path.read_text()):
                ever.add(module.split(".")[0])
                now |= {module.split(".")[0]} if when_loaded else set()
    known = set(sys.stdlib_module_names) | {"pacbayes"}
    assert now - known <= LEAN[folder]
    assert ever - known <= LEAN[folder] | OPTIONAL.get(folder, set())


def test_modules_import_each_other_in_one_direction():
    """A cycle, even through imports inside functions, would make one concept of two files."""
    files = modules()
    graph = {}
    for name, path in files.items():
        # A folder's __init__ gathers its names: for the modules inside it is only the way to each other.
        own = name.rpartition(".")[0]
        graph[name] = {module for module, _ in imported(path.read_text()) if module in files and module != own}
    TopologicalSorter(graph).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"pacbayes._utils.arrays": {"pacbayes.bounds.binary_kl"}}).prepare()


def test_no_room_is_crowded():
    """There is one level of rooms; one that a newcomer cannot take in is asking to become two."""
    counts = {}
    for path in modules().values():
        if path.stem != "__init__":
            counts[path.parent.relative_to(PACKAGE)] = counts.get(path.parent.relative_to(PACKAGE), 0) + 1
    assert {str(room): number for room, number in counts.items() if number > 20} == {}
