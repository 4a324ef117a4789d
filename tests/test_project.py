"""Versions, dependencies and workflows are consistent."""

import re
import tomllib
from pathlib import Path

import pytest
from tools.minimum_versions import minimum_versions

import pacbayes

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_version_of_the_citation():
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)[1] == (
        pacbayes.__version__
    )


def test_single_source_of_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/pacbayes/__init__.py"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_make_targets_only(workflow):
    commands = re.findall(r"^\s*- run: (.*)$", workflow.read_text(), flags=re.MULTILINE)
    assert commands
    assert "run: |" not in workflow.read_text()
    for command in commands:
        make, target, *variables = command.split()
        assert make == "make"
        assert target in targets()
        assert all(variable.startswith("PYTHON=") for variable in variables)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_actions_by_commit(workflow):
    """A tag can be moved to other code, a commit cannot."""
    used = re.findall(r"^.*\buses: *(.*)$", workflow.read_text(), flags=re.MULTILINE)
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_documented_make_targets_exist():
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "docs" / "releasing.md"):
        named = set(re.findall(r"`make ([a-z-]+)", page.read_text()))
        assert named <= targets(), page


def test_supported_python_versions_are_tested():
    """Newer versions may be tested before they are supported."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    promised = [one.rpartition(" ")[2] for one in classifiers if re.search(r"Python :: 3\.\d+$", one)]
    tested = re.search(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "tests.yml").read_text())[1]
    assert promised
    assert promised == re.findall(r"[\d.]+", tested)[: len(promised)]


def test_every_dependency_has_a_minimum_version(tmp_path):
    minimum = minimum_versions()
    assert {"numpy", "scipy", "scikit-learn", "skops", "casadi"} <= set(minimum)
    # Earlier versions run code from a forged file.
    assert tuple(map(int, minimum["skops"].split("."))) >= (0, 12)
    loose = tmp_path / "pyproject.toml"
    loose.write_text(
        '[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\n'
        + "\n".join(f"{extra} = []" for extra in ("distributed", "parquet", "report", "solvers"))
    )
    with pytest.raises(ValueError, match="'numpy' is not of the form name>=version"):
        minimum_versions(loose)


def test_conda_recipe_has_the_same_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0].splitlines()
    needed = sorted(one.replace(">=", " >=") for one in project["dependencies"])
    assert [line.strip().removeprefix("- ") for line in run[1:]] == needed
    assert f"version: {pacbayes.__version__}\n" in recipe
    (script,) = project["scripts"].items()
    assert f"- {script[0]} = {script[1]}\n" in recipe
    assert f"license: {project['license']}\n" in recipe
