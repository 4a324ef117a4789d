"""Compare the models of two checkouts: some fifty fits with each, equal to the last bit or listed.

    python tools/net.py COMMIT              the working tree against a commit
    python tools/net.py COMMIT --only svc   models whose names start with svc
    python tools/net.py COMMIT --numbers    numbers only: sentences may differ, fields are mapped by `RENAMED`

Compared are bounds, rules, levels, weights, metrics, predictions and sentences, before a model is saved and after it is
loaded.  Each difference is printed with its path, and the exit code is 1.  Each checkout runs its own list of models,
`tools/net_models.py`; a model that is in one list only is printed and is not a difference.
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
#: Fields of version 0.2 and their names in version 0.3, from the table in CHANGELOG.md.  What a certificate with
#: `Abstain` or `Threshold` requires was called "target" in both.
RENAMED = {
    "answered": "decision",
    "answers": "accepts",
    "beats_constant": "beats_baseline",
    "constant": "majority_class",
    "hits": "true_positives",
    "hold-out": "holdout",
    "limits": "metrics",
    "max_error": "required",
    "most frequent class": "majority class",
    # "answered" was a field of thresholds, too.
    "predicted_positives": "decision",
    "proposal": "primary",
    "reached": "decision",
    "rows": "accepted",
    "share": "acceptance_rate",
    "smallest_target": "smallest_max_error",
    "target": "required",
}


def plain(value: Any) -> Any:
    """Convert a value to JSON without loss: floats become hexadecimal strings."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), plain(value.tolist())]
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def numbers(value: Any) -> Any:
    """Rename fields by `RENAMED`, drop empty ones, and replace sentences (strings with a space) by an ellipsis."""
    if isinstance(value, dict):
        return {RENAMED.get(name, name): numbers(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [numbers(inner) for inner in value]
    if isinstance(value, str):
        return "..." if " " in value else RENAMED.get(value, value)
    return value


def print_models(checkout: Path, only: str) -> None:
    """Print one line of JSON for each model of a checkout; a model that raises is its error message."""
    # The environment, and the folder of this script, may lead to the sources of another checkout.
    sys.path[:0] = [str(checkout / "src"), str(checkout / "tools")]
    import net_models
    import pacbayes

    for module in (net_models, pacbayes):
        assert Path(str(module.__file__)).is_relative_to(checkout), f"{module.__file__} is not in {checkout}"
    for name, fit in net_models.MODELS.items():
        if name.startswith(only):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    result = fit()
                except Exception as error:  # an error in one checkout only is a difference too
                    result = f"{type(error).__name__}: {error}"
            print(json.dumps([name, plain(result)]), flush=True)


def fit_models(checkout: Path, only: str) -> dict[str, Any]:
    """Fit the models of a checkout in a process of its own."""
    paths = [str(checkout / "src"), str(checkout / "tools")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--print", str(checkout), "--only", only]
    process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=checkout)
    return dict(map(json.loads, process.stdout.splitlines()))


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each difference between two values, with both."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            yield from differences(before.get(name, "(absent)"), after.get(name, "(absent)"), f"{path}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{path}/{i}")
    elif before != after:
        yield f"{path}: {before!r:.200} became {after!r:.200}"


def compare(commit: str, only: str, numbers_only: bool) -> int:
    """Print the differences of every model and return the number of models that differ."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", base, commit], cwd=ROOT, check=True)
        try:
            before, after = fit_models(base, only), fit_models(ROOT, only)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", base], cwd=ROOT, check=True)
    changed = 0
    for name in before.keys() ^ after.keys():
        print(f"{'gone' if name in before else 'new':10}{name}")
    for name in [name for name in before if name in after]:
        pair = (before[name], after[name])
        lines = list(differences(*map(numbers, pair) if numbers_only else pair))
        changed += bool(lines)
        failed = isinstance(after[name], str)
        print(f"{'different' if lines else 'an error' if failed else 'equal':10}{name}")
        for line in lines[:5]:
            print(f"          {line}")
        if failed:
            print(f"          {after[name]}")
    both = len(before.keys() & after.keys())
    print(f"{both - changed} of {both} equal to the last bit")
    return changed


def main() -> int:
    """Compare, or print the models of one checkout; the exit code is 1 if models differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the commit to compare with")
    parser.add_argument("--only", default="", metavar="PREFIX", help="models whose names start with PREFIX")
    parser.add_argument("--numbers", action="store_true", help="ignore sentences and map renamed fields")
    parser.add_argument("--print", type=Path, metavar="CHECKOUT", help="print the models of one checkout")
    options = parser.parse_args()
    if options.print:
        print_models(options.print, options.only)
        return 0
    if options.commit is None:
        parser.error("a commit is required")
    return int(compare(options.commit, options.only, options.numbers) > 0)


if __name__ == "__main__":
    sys.exit(main())
