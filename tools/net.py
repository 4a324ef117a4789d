"""Whether two checkouts make the same models: some fifty fits with each, compared to the last bit.

    python tools/net.py COMMIT              the working tree against a commit
    python tools/net.py COMMIT --only svc   those whose names begin so

Nothing that a user sees may differ: bounds, rules, levels, weights, limits by class, answers and labels of rows, words,
before a model is saved and after it is loaded.  What differs is named by where it stands, and the exit code is 1.
Each checkout runs its own list of models, `tools/net_models.py`: a model that is in one list only is named and is no
difference.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# In version 0.2 certificates said the limits of errors twice, here and in `limits`.
TWICE = "by_class"


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it to the last bit: numbers as hexadecimal text."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items() if name != TWICE}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), plain(value.tolist())]
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def print_models(checkout: Path, only: str) -> None:
    """Print what each model of a checkout shows, a line each; a model that raises shows its error."""
    # First of all: the environment, and the place of this file, may name the sources of another checkout.
    sys.path[:0] = [str(checkout / "src"), str(checkout / "tools")]
    import net_models
    import pacbayes

    for module in (net_models, pacbayes):
        assert Path(str(module.__file__)).is_relative_to(checkout), f"{module.__file__} is not of {checkout}"
    for name, make in net_models.MODELS.items():
        if name.startswith(only):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    seen = make()
                except Exception as error:  # an error in one checkout and none in the other is a difference too
                    seen = f"{type(error).__name__}: {error}"
            print(json.dumps([name, plain(seen)]), flush=True)


def models_of(checkout: Path, only: str) -> dict[str, Any]:
    """Return what the models show that a checkout makes."""
    places = [str(checkout / "src"), str(checkout / "tools")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--print", str(checkout), "--only", only]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=checkout)
    return dict(map(json.loads, done.stdout.splitlines()))


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Yield where two values differ, and in what."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one | other:
            yield from differences(one.get(name, "(absent)"), other.get(name, "(absent)"), f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, its, f"{place}/{number}")
    elif one != other:
        yield f"{place}: {one!r:.200} became {other!r:.200}"


def compare(commit: str, only: str) -> int:
    """Print what became of each model, and return how many differ."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", before, commit], cwd=ROOT, check=True)
        try:
            was, now = models_of(before, only), models_of(ROOT, only)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", before], cwd=ROOT, check=True)
    changed = 0
    for name in was.keys() ^ now.keys():
        print(f"{'gone' if name in was else 'new':10}{name}")
    for name in [name for name in was if name in now]:
        found = list(differences(was[name], now[name]))
        changed += bool(found)
        failed = isinstance(now[name], str)
        print(f"{'different' if found else 'an error' if failed else 'equal':10}{name}")
        for line in found[:5]:
            print(f"          {line}")
        if failed:
            print(f"          {now[name]}")
    both = len(was.keys() & now.keys())
    print(f"{both - changed} of {both} equal to the last bit")
    return changed


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the commit to compare with")
    parser.add_argument("--only", default="", metavar="BEGINNING", help="models whose names begin so")
    parser.add_argument("--print", type=Path, metavar="CHECKOUT", help="print the models of a checkout alone")
    given = parser.parse_args()
    if given.print:
        print_models(given.print, given.only)
        return 0
    if given.commit is None:
        parser.error("name a commit")
    return int(compare(given.commit, given.only) > 0)


if __name__ == "__main__":
    sys.exit(main())
