"""Certificates against a careful manual holdout from the same rows: bounds and test errors on nine data sets.

A fifth of the rows are test rows; the others are split into halves for training and validation, with delta = 0.05 and
hedge=0.1.  Holdout is one classifier, with the fewest errors in 5-fold cross-validation within the training rows (the
middle one of a run of ties), and its Clopper-Pearson bound from the validation rows at the whole of delta.
All numbers are means over 20 seeds; a ratio is that of two bounds from the same rows, averaged over seeds, then over
data sets; +- is the standard error over seeds of that mean, and below it is the ratio of the means of the bounds.
Votes of forests and of assorted classifiers are also shown for even against odd digits, and averaged over the nine data
sets of the SVMs and over the eight of bench_votes.

Run: python benchmarks/bench_tightness.py [--quick] [--only svms|forests|assorted] [--jobs N]
It takes about ten minutes on two cores, with --quick (four small data sets, 5 seeds) one minute.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from bench_votes import DATA as EIGHT
from bench_votes import load
from pacbayes import CertifiedClassifier, ClassifierSet, Grid, StochasticSVC, bound, load_dataset
from pacbayes._utils.seeds import draw_key
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates import best_single, choose_posterior, primary_weights
from pacbayes.certificates.levels import hedged_level, primary_level
from pacbayes.certificates.rules import Rule, Vote
from pacbayes.certificates.voting import integer_weights
from pacbayes.data.rows import row_hashes

DELTA, FOLDS, HEDGE = 0.05, 5, 0.1
DATA = ("wdbc", "ionosphere", "mammographic", "haberman", "bupa", "banknote", "waveform", "spambase", "mushroom")
DIGITS = "digits"
AVERAGED = {"mean of the nine": DATA, "mean of the eight": EIGHT}
QUICK = ("wdbc", "ionosphere", "haberman", "bupa")
SEEDS = 20
VOTINGS = ("best", "majority", "stochastic")


def divided(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return rows to fit with, rows for test errors, and their labels."""
    parts: tuple[Any, Any, Any, Any] = tuple(train_test_split(*loaded(name), test_size=0.2, random_state=seed))
    return parts


def loaded(name: str) -> tuple[Any, Any]:
    if name == DIGITS:
        return load(name)
    data = load_dataset(name)
    return np.asarray(data.data, dtype=np.float64), data.target


def of_estimator(clf: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    """Return each way's bound and test error, and holdout's."""
    held = clf.certificates_["best"].baselines["holdout"].bound
    chosen = clf.classifiers_[int(np.argmax(clf.primary_["best"]))]
    found = {"holdout": held, "holdout test": float(np.mean(chosen.predict(X_test) != y_test))}
    for voting in VOTINGS:
        found[voting] = clf.certificates_[voting].bound
        found[f"{voting} test"] = float(np.mean(clf.set_params(voting=voting).predict(X_test) != y_test))
    return found


def svms(name: str, seed: int) -> dict[str, float]:
    """Bounds and test errors of 201 SVMs, with a hedge and, for comparison, without a primary rule."""
    X, X_test, y, y_test = divided(name, seed)
    clf = StochasticSVC(delta=DELTA, hedge=HEDGE, cv=FOLDS, random_state=seed, n_jobs=1).fit(X, y)
    found = of_estimator(clf, X_test, y_test)
    for label, choices in HEDGE_1.items():
        alone = StochasticSVC(delta=DELTA, hedge=1, cv=FOLDS, random_state=seed, n_jobs=1, **choices).fit(X, y)
        found[label] = alone.certificates_["stochastic"].bound
        if label == "hedge=1, kl":
            found["hedge=1, Occam"] = alone.certificates_["best"].bound
            found["hedge=1, 2B"] = alone.certificates_["majority"].bound
    return found


#: The stochastic classifier at hedge=1: what PAC-Bayes alone guarantees.
HEDGE_1: dict[str, dict[str, Any]] = {
    "hedge=1, kl": {},
    "hedge=1, catoni": {"distance": "catoni", "prior": "cross-validation"},
}


def forest(name: str, seed: int) -> dict[str, float]:
    """Bounds and test errors of the trees of a forest, with primary rules by out-of-bag errors."""
    X, X_test, y, y_test = divided(name, seed)
    classes, codes = np.unique(y, return_inverse=True)
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    train, validation = order[: len(y) - len(y) // 2], order[len(y) - len(y) // 2 :]
    grown = RandomForestClassifier(100, oob_score=True, random_state=seed, n_jobs=1).fit(X[train], codes[train])
    trees, number = grown.estimators_, len(grown.estimators_)
    errors = np.array(
        [
            train.size * np.mean(tree.predict(X[train[out]]) != codes[train[out]])
            for tree, out in zip(trees, out_of_bag(grown, train.size), strict=True)
        ]
    )
    primary = primary_weights(np.arange(number), errors, number)
    rules = [*primary, Vote("uniform", integer_weights(np.full(number, 1.0 / number)))]
    names = [(rule.voting, rule.name) for rule in rules]

    def counted(rows: Any, truth: Any) -> tuple[ClassifierSet, dict[tuple[str, str], int]]:
        """Count the errors of every rule on rows; return them with the set of trees."""
        classifiers = ClassifierSet.from_fitted(trees, rows, truth.astype(float))
        predictions = classifiers.predictions
        hashes = row_hashes(rows, draw_key(seed))
        rule_predictions = [rule.combine(predictions.y_pred, predictions.labels, lambda: hashes) for rule in rules]
        return classifiers, {
            name: int(np.sum(one != predictions.y_true)) for name, one in zip(names, rule_predictions, strict=True)
        }

    classifiers, wrong = counted(X[validation], codes[validation])
    bounds = claims(primary, classifiers, wrong)
    _, wrong_in_test = counted(X_test, np.searchsorted(classes, y_test))
    on_test = {name: count / len(y_test) for name, count in wrong_in_test.items()}
    found = {
        "holdout": float(binomial_upper(wrong["best", "primary"], classifiers.m, DELTA)),
        "holdout test": on_test["best", "primary"],
        "uniform": float(binomial_upper(wrong["majority", "uniform"], classifiers.m, DELTA)),
        "uniform test": on_test["majority", "uniform"],
    }
    for voting in VOTINGS:
        found[voting] = min(bounds[voting].values())
    won = min(bounds["majority"], key=lambda name: bounds["majority"][name])
    found["majority test"] = on_test.get(("majority", won), np.nan)
    return found


def claims(
    primary: Sequence[Rule], classifiers: ClassifierSet, wrong: dict[tuple[str, str], int]
) -> dict[str, dict[str, float]]:
    """Bounds of all rules by voting: of the primary rule, and of those that share the hedge.

    As the estimators have them, without the vote of the tandem bound; they choose primary rules by cross-validation.
    """
    risks, m = classifiers.risks, classifiers.m
    share = hedged_level(DELTA, HEDGE, 1)
    posterior = choose_posterior(risks, m, distance="kl", delta=share, prior=None, constant="exact")
    ladder = [rule.name for rule in primary if rule.voting == "majority" and rule.name != "primary"]
    each = hedged_level(DELTA, HEDGE, len(ladder) + 1)

    def exact_bound(voting: str, name: str, level: float) -> float:
        return float(binomial_upper(wrong[voting, name], m, level))

    found = {voting: {"primary": exact_bound(voting, "primary", primary_level(DELTA, HEDGE))} for voting in VOTINGS}
    found["stochastic"]["posterior"] = posterior.bound
    found["best"]["Occam"] = best_single(classifiers.error_counts, share, None).bound
    found["majority"] |= {name: exact_bound("majority", name, each) for name in ladder}
    found["majority"]["posterior"] = min(2.0 * bound(posterior.weights, risks, m, delta=each), 1.0)
    return found


def out_of_bag(grown: RandomForestClassifier, n: int) -> Iterator[Any]:
    """Yield for each tree the training rows that are not in its bootstrap sample."""
    for sampled in grown.estimators_samples_:
        yield np.setdiff1d(np.arange(n), sampled)


def assorted() -> list[Any]:
    """Return 30 classifiers of many kinds."""
    scaled: Callable[..., Any] = make_pipeline
    return [
        *(scaled(StandardScaler(), LogisticRegression(C=C, max_iter=2000)) for C in (0.01, 0.1, 1.0, 10.0)),
        *(scaled(StandardScaler(), SVC(C=C)) for C in (0.1, 1.0, 10.0, 100.0)),
        *(scaled(StandardScaler(), SVC(C=C, kernel="linear")) for C in (0.01, 1.0)),
        *(scaled(StandardScaler(), KNeighborsClassifier(k)) for k in (1, 3, 5, 9, 15)),
        *(DecisionTreeClassifier(max_depth=depth) for depth in (1, 2, 4, 8)),
        *(RandomForestClassifier(30, max_features=share) for share in (0.2, 0.5, 1.0)),
        *(ExtraTreesClassifier(30, max_features=share) for share in (0.2, 0.5, 1.0)),
        *(HistGradientBoostingClassifier(max_iter=40, max_depth=depth) for depth in (2, 4)),
        scaled(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)),
        scaled(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.9)),
        GaussianNB(var_smoothing=1e-3),
    ]


def kinds(name: str, seed: int) -> dict[str, float]:
    """Bounds and test errors of 30 assorted classifiers."""
    X, X_test, y, y_test = divided(name, seed)
    grid = [clone(one) for one in assorted()]
    choices: dict[str, Any] = {"delta": DELTA, "hedge": HEDGE, "validation_size": 0.5, "cv": FOLDS}
    return of_estimator(CertifiedClassifier(Grid(None, grid), random_state=seed, **choices).fit(X, y), X_test, y_test)


Task = Callable[[str, int], dict[str, float]]


def run(task: Task, names: tuple[str, ...], quick: bool, jobs: int) -> Any:
    """Return the means over seeds by data set: of everything found, and of ratios of bounds to holdout's."""
    pairs = [(name, seed) for name in names for seed in range(5 if quick else SEEDS)]
    results = Parallel(n_jobs=jobs)(delayed(task)(*pair) for pair in pairs)
    means: dict[str, dict[str, float]] = {}
    for name in names:
        mine = [found for (of, _), found in zip(pairs, results, strict=True) if of == name]
        columns = {key: float(np.nanmean([found[key] for found in mine])) for key in mine[0]}
        for key in mine[0]:
            for other in ("holdout", "uniform"):
                if not key.endswith(" test") and other in mine[0]:
                    ratios = np.array([found[key] / found[other] for found in mine])
                    columns[f"{key} / {other}"] = float(ratios.mean())
                    columns[f"{key} / {other} error"] = float(ratios.std(ddof=1) / np.sqrt(ratios.size))
        means[name] = columns
    return means


def print_table(
    title: str,
    means: dict[str, dict[str, float]],
    percents: list[str],
    ratios: list[str],
    averaged: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Print the data sets, and of all of them, or of each group in `averaged`, the means."""
    print(f"\n### {title}\n")
    print("| data | " + " | ".join([*(f"{name} %" for name in percents), *ratios]) + " |")
    print("|---" * (1 + len(percents) + len(ratios)) + "|")
    keys = (*percents, *ratios)
    for name, one in means.items():
        print_row(name, one, percents, ratios)
    for label, names in (averaged or {"mean": tuple(means)}).items():
        group = [means[name] for name in names]
        print_row(f"**{label}**", {key: float(np.mean([one[key] for one in group])) for key in keys}, percents, ratios)
        if ratios:
            print_row("+-", {key: standard_error(group, key) for key in ratios}, [""] * len(percents), ratios)
            of_means = {key: ratio_of_means(group, *key.split(" / ")) for key in ratios}
            print_row("ratio of means", of_means, [""] * len(percents), ratios)


def print_row(name: str, one: dict[str, float], percents: list[str], ratios: list[str]) -> None:
    cells = [*(f"{100 * one[key]:.2f}" if key else "" for key in percents), *(f"{one[key]:.3f}" for key in ratios)]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def standard_error(group: list[dict[str, float]], key: str) -> float:
    return float(np.sqrt(sum(one[f"{key} error"] ** 2 for one in group))) / len(group)


def ratio_of_means(group: list[dict[str, float]], above: str, below: str) -> float:
    return sum(one[above] for one in group) / sum(one[below] for one in group)


def show_svms(quick: bool, jobs: int) -> None:
    found = run(svms, QUICK if quick else DATA, quick, jobs)
    ways = ["holdout", *VOTINGS]
    print_table("201 SVMs: bounds", found, ways, [f"{way} / holdout" for way in VOTINGS])
    print_table("the same: test errors", found, [f"{way} test" for way in ways], [])
    alone = ["hedge=1, kl", "hedge=1, Occam", "hedge=1, 2B", "hedge=1, catoni"]
    print_table("without a proposal (hedge=1)", found, alone, [f"{way} / holdout" for way in alone])


def show_forests(quick: bool, jobs: int) -> None:
    columns = ["uniform", "holdout", "majority", "uniform test", "holdout test", "majority test"]
    show_votes("forests of 100 trees", forest, columns, ["majority / uniform", "majority / holdout"], quick, jobs)


def show_assorted(quick: bool, jobs: int) -> None:
    columns = ["holdout", "majority", "holdout test", "majority test"]
    show_votes("30 assorted classifiers", kinds, columns, ["majority / holdout", "best / holdout"], quick, jobs)


def show_votes(title: str, task: Task, columns: list[str], ratios: list[str], quick: bool, jobs: int) -> None:
    found = run(task, QUICK if quick else (*DATA, DIGITS), quick, jobs)
    print_table(title, found, columns, ratios, None if quick else AVERAGED)


PARTS = {"svms": show_svms, "forests": show_forests, "assorted": show_assorted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four small data sets, 5 seeds")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part of it; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    print(f"delta = {DELTA}")
    for part in options.only or PARTS:
        PARTS[part](options.quick, options.jobs)


if __name__ == "__main__":
    main()
