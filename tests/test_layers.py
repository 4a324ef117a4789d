"""No module imports from a lower layer of docs/architecture.md."""

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
# Layers of docs/architecture.md.
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
# Dependencies of the first layers; solvers are imported on request.
LEAN = {"bounds": {"numpy", "scipy"}, "posteriors": {"numpy", "scipy"}}
OPTIONAL = {"posteriors": {"casadi", "cvxpy"}}
# Methods that import from a lower layer, through the root, when they are called: `clf.report(path)`.
LAZY_IMPORTS = {"pacbayes.estimators.base": {"model_card", "write_report"}}


def modules() -> dict[str, Path]:
    """All modules in folders of the package, by dotted name."""
    paths = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in ("pacbayes", "pacbayes.__main__"):
            paths[name] = path
    return paths


@cache
def imported(source: str) -> list[tuple[str, bool]]:
    """Modules that a source imports anywhere, and whether at import time."""
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
        # The names may be modules, as in `from pacbayes.paper import figures`; others are harmless here.
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        first = node.args[0]
        text = first.values[0] if isinstance(first, ast.JoinedStr) else first
        return [str(text.value)] if isinstance(text, ast.Constant) else []
    return []


def imports_from_below(folder: str, source: str) -> list[str]:
    """Imports of a module in `folder` from lower layers."""
    places = {name: place for place, name in enumerate(ORDER)}
    imports = []
    for name, _ in imported(source):
        top, _, rest = name.partition(".")
        below = rest.split(".")[0]
        if top == "pacbayes" and below in places and places[below] > places[folder]:
            imports.append(name)
    return imports


def imports_from_root(source: str) -> list[str]:
    """Names imported from the root, which could hide an import from a lower layer."""
    tree = ast.parse(source)
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "pacbayes"
        for alias in node.names
    ]
    names += [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pacbayes"
    ]
    return [name for name in names if name not in ("__version__", *ORDER)]


def test_every_folder_has_a_layer():
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
def test_planted_import_is_found(source):
    assert imports_from_below("estimators", source)
    assert not imports_from_below("cli", source)


def test_planted_public_name_is_found():
    assert imports_from_root("from pacbayes import load_dataset") == ["load_dataset"]
    assert imports_from_root("import pacbayes\npacbayes.load_dataset('bupa')") == ["load_dataset"]
    assert not imports_from_root("import pacbayes\nprint(pacbayes.__version__)")


def test_no_import_from_a_lower_layer():
    wrong = {name: imports_from_below(name.split(".")[1], path.read_text()) for name, path in modules().items()}
    assert not {name: imports for name, imports in wrong.items() if imports}


def test_imports_from_the_root():
    names = {name: set(imports_from_root(path.read_text())) for name, path in modules().items()}
    assert {name: imports for name, imports in names.items() if imports} == LAZY_IMPORTS


def test_report_is_imported_lazily():
    code = "import sys, pacbayes.estimators; print([name for name in sys.modules if 'report' in name])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pacbayes.report" not in result.stdout


@pytest.mark.parametrize("folder", LEAN)
def test_first_layers_depend_on_numpy_and_scipy_only(folder):
    now, ever = set(), set()
    for name, path in modules().items():
        if name.split(".")[1] == folder:
            for module, when_loaded in imported(path.read_text()):
                ever.add(module.split(".")[0])
                now |= {module.split(".")[0]} if when_loaded else set()
    known = set(sys.stdlib_module_names) | {"pacbayes"}
    assert now - known <= LEAN[folder]
    assert ever - known <= LEAN[folder] | OPTIONAL.get(folder, set())


def test_no_import_cycles():
    """Including imports inside functions."""
    files = modules()
    graph = {}
    for name, path in files.items():
        # Modules import each other through the __init__ of their folder, which is not a cycle.
        own = name.rpartition(".")[0]
        graph[name] = {module for module, _ in imported(path.read_text()) if module in files and module != own}
    TopologicalSorter(graph).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(graph | {"pacbayes._utils.arrays": {"pacbayes.bounds.binary_kl"}}).prepare()


def test_size_of_folders():
    """A folder with more than 20 modules should be split."""
    counts = {}
    for path in modules().values():
        if path.stem != "__init__":
            counts[path.parent.relative_to(PACKAGE)] = counts.get(path.parent.relative_to(PACKAGE), 0) + 1
    assert {str(room): number for room, number in counts.items() if number > 20} == {}
