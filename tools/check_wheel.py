"""Test the wheel in an empty environment outside the checkout: ``python tools/check_wheel.py dist``.

Runs the demo and all examples of docstrings, and prints import times.  The checkout is not on the path, so that a file
missing in the wheel is an error.  The Python that runs this script is the one tested: ``make wheel PYTHON=python3.13``.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

# Extras and packages that the examples of docstrings need.
EXTRAS = "report,parquet,solvers"
RUNNER = ("pytest", "hypothesis")


def run(command: list[str], folder: Path) -> None:
    """Run a command in a folder, without environment variables that may refer to the checkout."""
    print(f"$ {' '.join(command)}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    subprocess.run(command, cwd=folder, env=environment, check=True)


def print_import_time(python: str, folder: Path) -> None:
    """Print the import times of the package and of its estimators, without the start of Python."""
    times = []
    for line in ("pass", "import pacbayes", "from pacbayes import StochasticSVC"):
        runs = []
        for _ in range(3):
            start = time.perf_counter()
            run([python, "-c", line], folder)
            runs.append(time.perf_counter() - start)
        times.append(min(runs))
    print(f"import pacbayes {times[1] - times[0]:.3f} s; its estimators {times[2] - times[0]:.2f} s", flush=True)


def check(dist: Path) -> None:
    """Check the wheel in a folder."""
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="pacbayes-wheel-") as name:
        folder = Path(name)
        venv.create(folder / "environment", with_pip=True)
        bin_folder = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
        python = str(bin_folder / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, f"pacbayes[{EXTRAS}] @ {wheel.resolve().as_uri()}", *RUNNER], folder)
        run([python, "-m", "pacbayes", "--version"], folder)
        print_import_time(python, folder)
        run([python, "-m", "pacbayes", "certify", "--dataset", "wdbc", "--report", "report.html"], folder)
        if not (folder / "report.html").stat().st_size:
            sys.exit("the demo left an empty report.html")
        options = ["-q", "-p", "no:cacheprovider", "-W", "error", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE"]
        run([python, "-m", "pytest", *options, "--doctest-modules", "--pyargs", "pacbayes"], folder)
    print(f"Python {sys.version.split()[0]}: {wheel.name} and {sdist.name}: installed, demo and examples run")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dist", type=Path)
    check(parser.parse_args().dist)
