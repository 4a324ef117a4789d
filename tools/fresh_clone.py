"""Clone this repository into a temporary folder and run `make demo` and `make test` there, with an empty pip cache.

    python tools/fresh_clone.py [TARGET ...]      targets of make; by default demo and test

Only commits are cloned.  The folder is deleted unless a target fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Files that targets must produce.
PRODUCTS = {"demo": "demo/report.html"}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run a command in a folder and exit if it fails."""
    print(f"$ {' '.join(command)}", flush=True)
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, check=False)
    print(f"  exit {done.returncode} after {time.monotonic() - start:.0f} s", flush=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}; see {folder}")


def main() -> None:
    """Clone, run the targets, check their products."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*", default=["demo", "test"])
    targets = parser.parse_args().targets
    folder = Path(tempfile.mkdtemp(prefix="pacbayes-fresh-"))
    clone = folder / "clone"
    # Without the active environment and caches.
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment |= {
        "PIP_CACHE_DIR": str(folder / "pip-cache"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(folder / "numba-cache"),
    }
    run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], folder, environment)
    for target in targets:
        run(["make", target], clone, environment)
        product = PRODUCTS.get(target)
        if product is not None and not (clone / product).stat().st_size > 0:
            sys.exit(f"make {target} left an empty {product}; see {clone}")
    shutil.rmtree(folder)
    print(f"make {' and '.join(targets)}: passed on a fresh clone")


if __name__ == "__main__":
    main()
