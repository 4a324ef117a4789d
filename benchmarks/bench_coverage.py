"""Answering only where sure: which score of confidence orders rows best, and how many rows a target leaves answered.

Run with `python benchmarks/bench_coverage.py [--quick]`; `--divisions N` for other than ten divisions of each data set,
`--data NAME ...` and `--model NAME ...` for some of them, `--only targets` or `--only scores` for one table.

One table has what targets leave answered, and the errors among these.  The other has, for nine data sets, the area
under the curve of errors over the share answered (test rows in the order of a score, means over divisions; the smaller
the better).  "used" is the score that the estimators use: by how much the mean calibrated probability of the label, in
the proposed soft vote, is ahead of the best other one.  "votes" is the same of the weight behind the labels.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, load_dataset
from pacbayes.ensemble.calibration import mean_margins

DATA = ("wdbc", "ionosphere", "mammographic", "haberman", "banknote", "bupa", "waveform", "spambase", "mushroom")
# Data set, target, model.
TARGETS = (("spambase", 0.03), ("haberman", 0.05), ("wdbc", 0.05), ("waveform", 0.05))


def forest(seed: int, **options: Any) -> CertifiedClassifier:
    """Forests of 100 trees, with two sizes of their leaves."""
    sizes = {"min_samples_leaf": [1, 2]}
    forests = Grid(RandomForestClassifier(100), sizes)
    return CertifiedClassifier(forests, voting="majority", validation_size=0.5, cv=3, random_state=seed, **options)


def trees(seed: int, **options: Any) -> CertifiedClassifier:
    """One hundred random trees, which vote."""
    tree = DecisionTreeClassifier(max_features="sqrt", splitter="random", min_samples_leaf=2)
    seeds = {"random_state": list(range(100))}
    many = Grid(tree, seeds)
    return CertifiedClassifier(many, voting="majority", validation_size=0.5, cv=3, random_state=seed, **options)


def machines(seed: int, **options: Any) -> StochasticSVC:
    """Support vector machines for 201 values of lambda."""
    return StochasticSVC(voting="majority", random_state=seed, **options)


MODELS: dict[str, Callable[..., Any]] = {"forests": forest, "100 trees": trees, "svm": machines}


def divided(name: str, seed: int) -> list[Any]:
    """Return rows and labels for fitting and for testing, three quarters and one."""
    data = load_dataset(name)
    return list(train_test_split(data.data, data.target, test_size=0.25, random_state=seed))


def area(score: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    """Return the mean, over shares answered, of the errors among answered rows; rows of equal score count alike."""
    _, places = np.unique(-score, return_inverse=True)
    rows, errors = np.bincount(places), np.bincount(places, weights=wrong)
    spread = np.repeat(errors / rows, rows)
    return float((np.cumsum(spread) / np.arange(1, spread.size + 1)).mean())


def areas(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return the areas of the score that is used, and of votes, for the labels that the vote predicts."""
    labels = model.predict(X)
    codes, everyone = np.searchsorted(model.classes_, labels), np.arange(len(labels))
    used = model._fitted.confidence("majority", X)
    votes = mean_margins(model.vote_share(X))[everyone, codes]
    return area(used, labels != y), area(votes, labels != y)


def print_scores(names: Sequence[str], models: Sequence[str], divisions: int) -> None:
    print("area under errors over share answered, in percent: used / votes")
    print("data set".ljust(14) + "".join(name.rjust(18) for name in models))
    ratios: dict[str, list[float]] = {name: [] for name in models}
    for data in names:
        cells = []
        for name, make in ((name, MODELS[name]) for name in models):
            found = []
            for seed in range(divisions):
                X, X_test, y, y_test = divided(data, seed)
                found.append(areas(make(seed, hedge=0).fit(X, y), X_test, y_test))
            used, votes = np.mean(found, axis=0)
            if votes > 0.0:
                ratios[name].append(used / votes)
            cells.append(f"{100 * used:.2f} / {100 * votes:.2f}")
        print(data.ljust(14) + "".join(cell.rjust(18) for cell in cells), flush=True)
    print("mean ratio".ljust(14) + "".join(f"{np.mean(ratios[name]):.2f}".rjust(18) for name in models))


def print_targets(names: Sequence[str], models: Sequence[str], divisions: int) -> None:
    print("\ndata set, target, model: share of test rows answered, errors among these (means over divisions with any)")
    for data, target in [one for one in TARGETS if one[0] in names]:
        for name, make in ((name, MODELS[name]) for name in models):
            shares, errors = [], []
            for seed in range(divisions):
                X, X_test, y, y_test = divided(data, seed)
                asked: dict[str, Any] = {"max_error": target} if make is machines else {"decision": Abstain(target)}
                model = make(seed, hedge=0, **asked).fit(X, y)
                answered = model.accepts(X_test)
                shares.append(answered.mean())
                errors += [(model.predict(X_test) != y_test)[answered].mean()] if answered.any() else []
            wrong = f"{100 * np.mean(errors):.2f} %" if errors else "none"
            nothing = sum(share == 0.0 for share in shares)
            said = f"answered {100 * np.mean(shares):.1f} %, errors {wrong}, nothing answered in {nothing}"
            print(f"{data}, {target}, {name}: {said} of {divisions}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one division")
    parser.add_argument("--divisions", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA, help="these data sets")
    parser.add_argument("--model", nargs="+", choices=list(MODELS), default=list(MODELS), help="these models")
    parser.add_argument("--only", choices=("targets", "scores"), help="one of the tables")
    chosen = parser.parse_args()
    number = 1 if chosen.quick else chosen.divisions
    if chosen.only != "scores":
        print_targets(chosen.data, chosen.model, number)
    if chosen.only != "targets":
        print_scores(chosen.data, chosen.model, number)
