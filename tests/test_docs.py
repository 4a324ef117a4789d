"""The reference is complete, and the documentation builds without warnings."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import pacbayes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOLDERS = ("bounds", "posteriors", "ensemble", "svm", "certificates", "estimators", "files", "report", "data")
NEEDED = ("sphinx", "myst_nb", "sphinx_gallery", "numpydoc", "furo", "sphinx_copybutton", "sphinx-mathjax-offline")
# Functions without references.
UNPUBLISHED = ("load", "save", "write_report")


def documented() -> dict[str, set[str]]:
    """Names on the API pages, by module."""
    names: dict[str, set[str]] = {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        module = ""
        for kind, name in re.findall(r"^\.\. (currentmodule|auto\w+|py:data):: (\S+)", page.read_text(), re.MULTILINE):
            if kind == "currentmodule":
                module = name
            else:
                names.setdefault(module, set()).add(name)
    return names


def test_every_public_name_is_in_the_reference():
    assert documented()["pacbayes"] == set(pacbayes.__all__)


@pytest.mark.parametrize("name", [name for name in pacbayes.__all__ if callable(getattr(pacbayes, name))])
def test_docstrings_have_see_also_references_and_examples(name):
    public = getattr(pacbayes, name)
    text = inspect.getdoc(public)
    # The order of numpydoc.
    expected = ["See Also", "References", "Examples"] if name not in UNPUBLISHED else ["See Also", "Examples"]
    sections = re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", text, flags=re.MULTILINE)
    assert [section for section in sections if section in ("See Also", "References", "Examples")] == expected
    for other in re.findall(r"^([\w.]+) : ", text.partition("See Also\n")[2].partition("\n\n")[0], flags=re.MULTILINE):
        home, _, own = (other if "." in other else f"pacbayes.{other}").rpartition(".")
        assert hasattr(import_module(home), own), other
        assert own != name
    # NumPy's type aliases would fill a screen.
    assert not re.search(r"_NestedSequence|numpy\.ndarray\[", str(inspect.signature(public)))


def test_install_instructions_do_not_use_an_index():
    """There is no release on an index yet: a checkout is installed as '.'."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *DOCS.rglob("*.rst"), *(ROOT / "src").rglob("*.py")]
    assert [page.name for page in pages if re.search(r"pip install '?pacbayes", page.read_text())] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_public_name_of_a_folder_is_in_the_reference(folder):
    names = set(import_module(f"pacbayes.{folder}").__all__)
    reference = documented()
    assert names <= reference["pacbayes"] | reference.get(f"pacbayes.{folder}", set())
    assert reference.get(f"pacbayes.{folder}", set()) <= names


def test_equations_in_the_code_are_labelled_in_the_mathematics():
    labels = re.findall(r"\\tag\{([a-z-]+)\}", (DOCS / "mathematics.md").read_text())
    assert len(labels) == len(set(labels))
    named = {label for module in (ROOT / "src").rglob("*.py") for label in equations(module.read_text())}
    # Unused labels are not allowed.
    assert named == set(labels)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_labelled_equations_have_one_line(page):
    # Sphinx puts equations with two backslashes into a split environment, which does not allow labels.
    for equation in re.findall(r"\$\$(.*?)\$\$", page.read_text(encoding="utf-8"), re.DOTALL):
        assert "\\tag" not in equation or r"\\" not in equation, equation


def equations(text: str) -> list[str]:
    """Labels in phrases such as "equation (gibbs)", across line breaks of comments."""
    return re.findall(r"[Ee]quation\s+(?:#\s+)?\(([a-z-]+)\)", text)


def test_equations_are_found_across_lines():
    assert equations("by equation (corner), as\n    # Equation\n    # (tangents) says; equation (12)") == [
        "corner",
        "tangents",
    ]


def test_every_page_is_linked_from_the_index():
    listed = {name for page in ("index.md", "api/index.md") for name in _toctree(DOCS / page)}
    files = (*DOCS.glob("*.md"), *DOCS.glob("api/*.*"), *DOCS.glob("notebooks/*.ipynb"))
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in files}
    # claims.md is included in a page of the results.
    assert pages - {"index", "claims"} == {name for name in listed if not name.startswith("generated/")}


def _toctree(page: Path) -> list[str]:
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    names = [line for block in blocks for line in block.split("\n") if line and not line.startswith(":")]
    return [str((page.parent / name).relative_to(DOCS)) for name in names]


@pytest.mark.slow
@pytest.mark.skipif(any(find_spec(name) is None for name in NEEDED), reason="needs Sphinx: pip install '.[docs]'")
def test_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    result = subprocess.run([*command, str(DOCS), str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "index.html").exists()
    # Pages load nothing from other hosts.
    for page in (tmp_path / "out").rglob("*.html"):
        assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//", page.read_text()), page
