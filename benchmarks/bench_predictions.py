"""Cost of stored predictions: ``python benchmarks/bench_predictions.py``.

Small trees on simulated rows as prefit classifiers: 1990 of them with 100 000 validation rows, and 201 with 1 000 000.
Prints the memory that is checked beforehand (three bytes per prediction), and time and memory of predicting the
validation rows, optimising the posterior, certifying, saving and loading.  Memory is the largest during a step beyond
that at its start.  Each size runs in its own process; two cores, about three minutes.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

SIZES = ((1990, 100_000), (201, 1_000_000))


def resident() -> float:
    """Measure the current memory of the process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measured(name: str, work: Callable[[], Any]) -> Any:
    """Run some work; print its time and its peak memory beyond that at the start."""
    before, began = resident(), time.perf_counter()
    # Reset the peak (Linux).
    Path("/proc/self/clear_refs").write_text("5")
    result = work()
    seconds = time.perf_counter() - began
    lines = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
    print(f"  {name:22}{seconds:8.2f} s {most - before:8.0f} MB")
    return result


def run(number: int, n: int) -> None:
    """Print the cost of the predictions of so many classifiers for so many rows."""
    from pacbayes import load, save
    from pacbayes.certificates.certify import certify
    from pacbayes.certificates.plan import Plan
    from pacbayes.certificates.posteriors import fit_posteriors, predict_validation
    from pacbayes.certificates.primary import prefit_rules
    from pacbayes.data.dataset import Dataset
    from pacbayes.data.split import make_prefit_split
    from pacbayes.ensemble.members import Estimators
    from pacbayes.estimators.classifier import CertifiedClassifier
    from pacbayes.estimators.fitted import Fitted

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X @ [1.0, 0.5, 0.25, 0.0] + rng.normal(size=n) > 0.0).astype(np.int64)
    few = rng.integers(0, n, size=(number, 300))
    trees = [DecisionTreeClassifier(max_depth=3, random_state=i).fit(X[rows], y[rows]) for i, rows in enumerate(few)]
    print(f"{number} classifiers, {n} rows: {number * n / 1e6:.0f} MB stored, {3 * number * n / 1e6:.0f} MB checked")
    data = Dataset.from_arrays(X, y)
    members = Estimators(trees, [{"number": i} for i in range(number)], data.classes, prefit=True)
    split = make_prefit_split(data, "keep")
    plan = Plan(split, hedge=0.1, fixed_rules=prefit_rules(np.full(number, 1.0 / number), number))
    predictions = measured("predict", lambda: predict_validation(members, plan, data))
    posteriors = measured("optimise", lambda: fit_posteriors(plan, predictions))
    certificates = measured("certify", lambda: dict(certify(plan, predictions, posteriors)))
    model = CertifiedClassifier(None, cv=None, voting="majority")._set_fitted(
        Fitted(members, plan, predictions, posteriors)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        measured("save", lambda: save(model, path))
        print(f"  {'the file':22}{path.stat().st_size / 1e6:18.0f} MB")
        loaded = measured("load", lambda: load(path, max_bytes=10**11))
    assert loaded.certificates_["majority"].bound == certificates["majority"].bound
    print(f"  {certificates['majority']}")


def main() -> None:
    """Run every size in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", nargs=2, type=int, metavar=("CLASSIFIERS", "ROWS"), help="this size only")
    options = parser.parse_args()
    if options.size is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(*options.size)
        return
    for number, n in SIZES:
        subprocess.run([sys.executable, __file__, "--size", str(number), str(n)], check=True)


if __name__ == "__main__":
    main()
