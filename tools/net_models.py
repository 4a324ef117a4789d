"""The models that `tools/net.py` fits with two checkouts: one of every kind that a user can ask for.

Only public names are used, so that the same file runs with both.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import (
    Abstain,
    CertifiedClassifier,
    ClassifierSet,
    Cost,
    Grid,
    StochasticSVC,
    Threshold,
    certify_difference,
    compare_classifiers,
    grid_set,
    load,
    optimal_posterior,
    optimal_vote,
    save,
    svm_set,
)
from pacbayes.bounds import Catoni

LAMBDAS = np.logspace(-2, 2, 21)
DEPTHS = {"max_depth": [1, 2, 3, 4, 6, None]}
# What skops asks for where neighbours are stored.
TRUSTED = [
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._classification.KNeighborsClassifier",
    "sklearn.neighbors._classification.RadiusNeighborsClassifier",
    "sklearn.neighbors._kd_tree.KDTree",
]
TREE = DecisionTreeClassifier(random_state=0)


def cancer() -> tuple[Any, Any]:
    """Return two classes, 30 columns of numbers."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.array(["malignant", "benign"])[y]


def moons() -> tuple[Any, Any]:
    """Return two classes that overlap."""
    return make_moons(400, noise=0.35, random_state=3)  # type: ignore[no-any-return]


def digits() -> tuple[Any, Any]:
    """Return ten classes."""
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


def iris() -> tuple[Any, Any]:
    """Return three classes, few rows."""
    return load_iris(return_X_y=True)  # type: ignore[no-any-return]


def coarse() -> tuple[Any, Any]:
    """Return rows of few values, many of them equal."""
    X, y = moons()
    return np.round(X), y


def mixed() -> tuple[Any, Any]:
    """Return a data frame with text, categories and gaps."""
    X, y = moons()
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    table["colour"] = np.where(X[:, 0] > 0.5, "red", np.where(X[:, 1] > 0.2, "green", "blue"))
    table.loc[::7, "a"] = np.nan
    return table, y


def patients(n: int) -> Any:
    """Return a group for every row, of unequal sizes."""
    return np.sort(np.random.default_rng(5).integers(0, n // 4, n))


def sites(n: int) -> Any:
    """Return a slice for every row."""
    return pd.Series(np.array(["north", "south", "west"])[np.random.default_rng(6).integers(0, 3, n)], name="site")


def columns() -> Any:
    """Return what makes numbers of the mixed table."""
    return make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), ["a", "b"]))


def svc(data: Callable[[], tuple[Any, Any]], given: dict[str, Any] | None = None, **choices: Any) -> Callable[[], Any]:
    """Return what fits a `StochasticSVC` and describes it; `given` is handed to `fit`."""

    def made() -> Any:
        X, y = data()
        settings: dict[str, Any] = {"lambdas": LAMBDAS, "random_state": 0} | choices
        model = StochasticSVC(**settings)
        return described(model.fit(X, y, **_given(given, len(y))), X)

    return made


def grid(
    data: Callable[[], tuple[Any, Any]],
    estimator: Any = TREE,
    settings: Any = DEPTHS,
    given: dict[str, Any] | None = None,
    **choices: Any,
) -> Callable[[], Any]:
    """Return what fits a `CertifiedClassifier` and describes it."""

    def made() -> Any:
        X, y = data()
        model = CertifiedClassifier(Grid(estimator, settings), random_state=0, **choices, cv=3, validation_size=0.5)
        return described(model.fit(X, y, **_given(given, len(y))), X)

    return made


def _given(given: dict[str, Any] | None, n: int) -> dict[str, Any]:
    return {name: make(n) for name, make in (given or {}).items()}


def usual(
    data: Callable[[], tuple[Any, Any]], given: dict[str, Any] | None = None, candidates: Any = None, **choices: Any
) -> Callable[[], Any]:
    """Return what fits a `CertifiedClassifier` with its families by name and describes it."""

    def made() -> Any:
        X, y = data()
        model = CertifiedClassifier(candidates or ["svm", "logistic"], random_state=0, **choices)
        return described(model.fit(X, y, **_given(given, len(y))), X)

    return made


def last_rows(n: int) -> Any:
    """Return a split of one's own: the last 40 % of the rows validate."""
    return np.arange(n) >= 0.6 * n


def described(clf: Any, X: Any) -> dict[str, Any]:
    """Return all that a user can see of a fitted model, before and after it is saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pacbayes"
        save(clf, path)
        again = load(path, trusted=TRUSTED)
    return {"fitted": _seen(clf, X), "loaded": _seen(again, X)}


def _seen(clf: Any, X: Any) -> dict[str, Any]:
    found = {
        "hedge": clf.hedge_,
        "prior": clf.prior_,
        "primary": clf.primary_,
        "posterior": _posterior(clf),
        "best": (clf.best_index_, clf.best_params_),
        "constant": clf.majority_class_,
        "risks": clf.classifiers_.risks,
        "m": clf.classifiers_.m,
        "vote risk": clf.vote_risk_,
        "cross-validation": clf.cv_results_ if hasattr(clf, "cv_results_") else None,
    }
    for voting, certificate in clf.certificates_.items():
        clf.set_params(voting=voting)
        if not hasattr(clf, "voting_"):
            found[voting] = (certificate.to_dict(), certificate.explain())  # another way predicts after this fit
            continue
        found[voting] = {
            "certificate": certificate.to_dict(),
            "words": certificate.explain(),
            "weights": clf.weights_,
            "predicted": clf.predict(X),
            "shares": clf.vote_share(X),
            "answers": clf.accepts(X),
            "probabilities": clf.predict_proba(X) if hasattr(clf, "predict_proba") else None,
            "covered": clf.covered(X),
            "batch": _batch(clf, X),
        }
    return found


def _batch(clf: Any, X: Any) -> Any:
    """Bound of the errors in a batch of new rows, or why none is proved."""
    try:
        return str(clf.certify_batch(np.asarray(X)[:40] * 1.001 if np.asarray(X).dtype.kind == "f" else X))
    except ValueError as error:
        return str(error)


def _posterior(clf: Any) -> Any:
    one = clf.__dict__.get("posterior_") if clf.hedge_ == 0.0 else clf.posterior_
    return None if one is None else (one.weights, one.bound, one.kl, one.lower_bound, one.distance)


def set_seen(classifiers: Any, X: Any = None) -> dict[str, Any]:
    """Return what a user can see of a set of classifiers."""
    posterior = optimal_posterior(classifiers.risks, classifiers.m)
    return {
        "params": classifiers.params,
        "risks": classifiers.risks,
        "errors": classifiers.errors,
        "m": classifiers.m,
        "posterior": (posterior.weights, posterior.bound),
        "predicted": None if X is None else classifiers.predict(X),
    }


def _halves(data: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any, Any, Any]:
    X, y = data()
    order = np.random.default_rng(1).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    return X[first], y[first], X[second], y[second]


def _finished() -> tuple[list[Any], Any, Any]:
    X, y, X_val, y_val = _halves(iris)
    models = [GaussianNB(), LogisticRegression(max_iter=1000), KNeighborsClassifier(), DecisionTreeClassifier()]
    return [one.set_params(random_state=0).fit(X, y) if "random_state" in one.get_params() else one.fit(X, y)
            for one in models], X_val, y_val  # fmt: skip


def from_fitted(**choices: Any) -> Callable[[], Any]:
    """Return what certifies finished classifiers."""

    def made() -> Any:
        models, X_val, y_val = _finished()
        return described(CertifiedClassifier.from_fitted(models, X_val, y_val, random_state=0, **choices), X_val)

    return made


def from_predictions() -> Any:
    """Return a set made of predictions, with a vote over it."""
    models, X_val, y_val = _finished()
    said = np.array([one.predict(X_val) for one in models])
    classifiers = ClassifierSet.from_predictions(said, y_val)
    return set_seen(classifiers)


def from_losses() -> Any:
    """Return a set made of losses between 0 and 1."""
    return set_seen(ClassifierSet.from_losses(np.random.default_rng(0).random((7, 90)) ** 3))


def compared() -> Any:
    """Return differences of classifiers on new rows."""
    X, y, X_new, y_new = _halves(moons)
    a = StochasticSVC(LAMBDAS, voting="majority", random_state=0).fit(X, y)
    b = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    by_rows = certify_difference(a.predict(X_new) != y_new, b.predict(X_new) != y_new, 0.01)
    return compare_classifiers(a, b, X_new, y_new).to_dict(), by_rows.to_dict()


def machines(**choices: Any) -> Callable[[], Any]:
    """Return what makes a set of machines alone."""
    return lambda: set_seen(svm_set(*moons(), LAMBDAS, random_state=0, **choices), moons()[0][:50])


def votes() -> Any:
    """Return the best vote over a grid."""
    found = grid_set(TREE, DEPTHS, *moons(), random_state=0)
    assert found.error_rows is not None
    vote = optimal_vote(found.error_rows, found.m)
    return set_seen(found), (vote.weights, vote.bound)


def votes_of_own_rows() -> Any:
    """Return the best vote over machines that each have a split of their own."""
    found = svm_set(*moons(), LAMBDAS[:5], split="independent", random_state=0)
    assert found.error_rows is not None
    vote = optimal_vote(found.error_rows, found.error_rows.shape[1], validated=found.validated_rows)
    return vote.weights, vote.bound


def independent_lambdas(params: list[dict[str, Any]]) -> Any:
    """Return a prior of the settings alone: small lambdas have less weight."""
    weights = np.array([one["lambda"] for one in params]) ** 0.5
    return weights / weights.sum()


def by_training_rows(params: list[dict[str, Any]], X: Any, y: Any) -> Any:
    """Return a prior that looks at the training rows."""
    weights = 1.0 + np.arange(len(params)) * (np.unique(y, return_counts=True)[1].min() / len(y))
    return weights / weights.sum()


OUTLIERS = RadiusNeighborsClassifier(outlier_label=-1)
GROUPS, SLICES = {"groups": patients}, {"slices": sites}

MODELS: dict[str, Callable[[], Any]] = {
    # support vector machines
    "svc": svc(cancer),
    "svc, 201 lambdas": svc(moons, lambdas=None),
    "svc, hedge 0": svc(cancer, hedge=0),
    "svc, hedge 1": svc(cancer, hedge=1),
    "svc, hedge .5, delta .01": svc(moons, hedge=0.5, delta=0.01),
    "svc, no folds": svc(moons, cv=None),
    "svc, independent": svc(moons, split="independent", hedge=1),
    "svc, independent, three classes": svc(iris, split="independent", prior=independent_lambdas),
    "svc, ten classes": svc(digits),
    "svc, ten classes, hedge 1": svc(digits, hedge=1),
    "svc, linear": svc(cancer, kernel="linear"),
    "svc, nystroem": svc(digits, kernel="nystroem", n_components=40),
    "svc, groups": svc(moons, GROUPS),
    "svc, groups, hedge 1": svc(moons, GROUPS, hedge=1),
    "svc, copies together": svc(coarse, duplicates="together"),
    "svc, by class": svc(moons, metrics=("error",), hedge="auto"),
    "svc, by class and in slices": svc(iris, SLICES, metrics=("error",), hedge="auto"),
    "svc, by class, hedge .9": svc(moons, metrics=("error",), hedge=0.9),
    "svc, target": svc(moons, max_error=0.1, hedge="auto"),
    "svc, target, ten classes": svc(digits, max_error=0.05, hedge="auto"),
    "svc, all distances": svc(moons, distance=["kl", "pinsker", "squared", "linear", "ch"], hedge=1),
    "svc, catoni, prior of folds": svc(moons, distance="catoni", prior="cross-validation", hedge=1),
    "svc, paper's constant": svc(moons, constant="paper", hedge=1, distance=["kl", Catoni(0.4)]),
    "svc, prior of training rows": svc(cancer, prior=by_training_rows),
    "svc, prepared": svc(mixed, preprocessor=columns()),
    "svc, prepared by PCA": svc(digits, preprocessor=PCA(10, random_state=0), scale=False),
    # families by name, and what else can be certified
    "auto": usual(moons, candidates="auto"),
    "auto, three classes, refit": usual(iris, candidates="auto", refit=True),
    "auto, mixed columns": usual(mixed, candidates=["forest", "boosting"]),
    "families": usual(cancer),
    "families, groups": usual(moons, GROUPS),
    "families, a split of one's own": usual(moons, {"validation": last_rows}),
    "families, threshold": usual(moons, decision=Threshold(recall=0.7), pos_label=1),
    "families, abstain": usual(moons, decision=Abstain(0.1)),
    "families, metrics": usual(moons, metrics=("recall", "precision", "f1", "balanced_error"), pos_label=1),
    "families, cost": usual(moons, GROUPS, metrics=(Cost([[0, 1], [5, 0]], [0, 1]),)),
    "families, catoni, hedge .1": usual(moons, distance="catoni", hedge=0.1),
    # grids
    "grid": grid(cancer),
    "grid, hedge 0": grid(moons, hedge=0),
    "grid, hedge 1": grid(moons, hedge=1),
    "grid, ten classes": grid(digits),
    "grid, groups": grid(moons, given=GROUPS),
    "grid, copies together": grid(coarse, duplicates="together"),
    "grid, by class and in slices": grid(moons, given=SLICES, metrics=("error",)),
    "grid, target": grid(moons, decision=Abstain(0.12)),
    "grid, labels that are no class": grid(moons, OUTLIERS, {"radius": [0.05, 0.1, 0.2, 0.4, 0.8]}),
    "grid, a list of estimators": grid(
        iris, None, [make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB(), KNeighborsClassifier(), TREE]
    ),
    "grid, data frame": grid(mixed, make_pipeline(columns(), TREE), {"decisiontreeclassifier__max_depth": [1, 2, 4]}),
    "grid, sparse rows": grid(lambda: (sp.csr_array(digits()[0]), digits()[1])),
    # from elsewhere
    "from_fitted": from_fitted(),
    "from_fitted, one proposed": from_fitted(primary=1, voting="best"),
    "from_fitted, a vote proposed, by class": from_fitted(primary=[0.1, 0.4, 0.4, 0.1], metrics=("error",)),
    "from_predictions": from_predictions,
    "from_losses": from_losses,
    "compare": compared,
    # sets alone
    "svm_set": machines(),
    "svm_set, independent": machines(split="independent"),
    "grid_set, independent": lambda: set_seen(grid_set(TREE, DEPTHS, *moons(), split="independent", random_state=0)),
    "votes of sets": votes,
    "votes of sets, independent": votes_of_own_rows,
}
