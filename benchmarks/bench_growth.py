"""Growth of time and memory of `CertifiedClassifier().fit` with the rows: "auto" on simulated data with ten columns.

Each size runs in its own process; memory is its peak, without that of Python and its libraries.  The exponent is that
of the time between successive sizes.  `--text` adds a column with thousands of values, like the tail numbers of
flights, and missing values.  `--predictions` measures `certify_predictions` instead: by rows, by groups of about 20
rows, by three slices, and with bounds on recall and precision.  `--columns` and `--classes` are for wide data, and many
classes on the same rows.

Run: python benchmarks/bench_growth.py [--rows 1000 10000 100000 1000000] [--columns N] [--classes N]
                                       [--text | --predictions]
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

COLUMNS = 10


def measure(n: int, text: bool, columns: int, classes: int) -> None:
    """Fit in this process, and print what it took."""
    from pacbayes import CertifiedClassifier

    several = {} if classes == 2 else {"n_classes": classes, "n_informative": 9, "n_clusters_per_class": 1}
    settings = {"n_features": columns, "n_informative": 6, "flip_y": 0.1} | several
    X, y = make_classification(n, random_state=0, **settings)
    if text:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(X).rename(columns=lambda place: f"x{place}")
        X["x0"] = X["x0"].where(rng.random(n) > 0.1)
        X["tail"] = np.char.add("N", rng.zipf(1.3, n).clip(max=4000).astype(str))
    CertifiedClassifier("svm", random_state=0).fit(np.eye(60)[:, :2], np.arange(60) % 2)  # compiled, loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = CertifiedClassifier(random_state=0).fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    families = sorted({params["candidate"] for params in clf.classifiers_.params})
    result = {"seconds": seconds, "megabytes": used / 1024, "bound": clf.certificate_.bound, "m": clf.certificate_.m}
    result["processor"] = processor
    print(json.dumps(result | {"classifiers": len(clf.classifiers_), "families": families}))


def measure_predictions(rows: list[int]) -> None:
    """Print what certifying a tenth of errors takes."""
    from pacbayes import certify_predictions

    rng = np.random.default_rng(0)
    print("| rows | certified | seconds | exponent |\n|---|---|---|---|")
    for name in ("rows", "groups", "slices", "metrics"):
        last = None
        for n in rows:
            y_true = (rng.random(n) < 0.3).astype(np.int64)
            y_pred = np.where(rng.random(n) < 0.1, 1 - y_true, y_true)
            asked = {
                "rows": {},
                "groups": {"groups": rng.integers(0, n // 20, n)},
                "slices": {"metrics": ("error",), "slices": np.array(["a", "b", "c"])[rng.integers(0, 3, n)]},
                "metrics": {"metrics": ("recall", "precision")},
            }[name]
            certify_predictions(y_true[:1000], y_pred[:1000])
            start = time.perf_counter()
            certify_predictions(y_true, y_pred, **asked)
            seconds = time.perf_counter() - start
            exponent = "" if last is None else f"{math.log(seconds / last[1]) / math.log(n / last[0]):.2f}"
            last = n, seconds
            print(f"| {n:,} | {name} | {seconds:.3f} | {exponent} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--text", action="store_true", help="with a column of thousands of values, and missing values")
    parser.add_argument("--predictions", action="store_true", help="certify_predictions instead of fit")
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size is not None:
        measure(options.size, options.text, options.columns, options.classes)
        return
    if options.predictions:
        measure_predictions(options.rows)
        return
    print(
        "| rows | validation rows | classifiers | seconds (processor) | exponent | memory | bound |\n"
        "|---|---|---|---|---|---|---|"
    )
    last = None
    for n in options.rows:
        command = [sys.executable, __file__, "--size", str(n), *(["--text"] if options.text else [])]
        command += ["--columns", str(options.columns), "--classes", str(options.classes)]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        exponent = "" if last is None else f"{math.log(result['seconds'] / last[1]) / math.log(n / last[0]):.2f}"
        last = n, result["seconds"]
        cells = [f"{n:,}", f"{result['m']:,}", f"{result['classifiers']} of {', '.join(result['families'])}"]
        cells += [
            f"{result['seconds']:.1f} ({result['processor']:.1f})",
            exponent,
            f"{result['megabytes']:,.0f} MB",
            f"{100 * result['bound']:.2f} %",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
