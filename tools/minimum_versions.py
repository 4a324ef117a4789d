"""Print the oldest versions that pyproject.toml allows, as constraints for pip: ``python tools/minimum_versions.py``.

Development tools (pytest, ruff, mypy) are left at their newest versions.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# Indirect dependencies whose newer versions make the oldest direct ones warn on import.
BESIDE = {"click": "8.1.8"}
# Extras for users.
EXTRAS = ("distributed", "parquet", "report", "solvers")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def minimum_versions(project: Path = PROJECT) -> dict[str, str]:
    """Oldest version of each package in pyproject.toml."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    optional = table["optional-dependencies"]
    requirements = [*table["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    versions = {}
    for requirement in requirements:
        match = REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        versions[match["name"]] = match["version"]
    return versions


if __name__ == "__main__":
    for name, version in sorted((minimum_versions() | BESIDE).items()):
        print(f"{name}=={version}")
