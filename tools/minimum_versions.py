"""Print the oldest versions that pyproject.toml allows, as constraints for pip: ``python tools/minimum_versions.py``.

Tools that only developers run (pytest, ruff, mypy and the like) are left at their newest: nobody who installs the
library has them.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# What the oldest of these were released beside, where newer ones make them warn when they are imported.
BESIDE = {"click": "8.1.8"}
# The extras that belong to the library.
EXTRAS = ("distributed", "parquet", "report", "solvers")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def minimum_versions(project: Path = PROJECT) -> dict[str, str]:
    """Return for each package the lower limit that stands in pyproject.toml."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    requirements = [*table["dependencies"], *(one for extra in EXTRAS for one in table["optional-dependencies"][extra])]
    found = {}
    for requirement in requirements:
        match = REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        found[match["name"]] = match["version"]
    return found


if __name__ == "__main__":
    for name, version in sorted((minimum_versions() | BESIDE).items()):
        print(f"{name}=={version}")
