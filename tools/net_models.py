"""Models that `tools/net.py` fits with two checkouts, by public names only: every kind of model and option."""

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
# Types that skops requires to be trusted for models with neighbours.
TRUSTED = [
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._classification.KNeighborsClassifier",
    "sklearn.neighbors._classification.RadiusNeighborsClassifier",
    "sklearn.neighbors._kd_tree.KDTree",
]
TREE = DecisionTreeClassifier(random_state=0)


def cancer() -> tuple[Any, Any]:
    """Two classes, 30 columns of numbers."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.array(["malignant", "benign"])[y]


def moons() -> tuple[Any, Any]:
    """Two classes that overlap."""
    return make_moons(400, noise=0.35, random_state=3)  # type: ignore[no-any-return]


def digits() -> tuple[Any, Any]:
    """Ten classes."""
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


def iris() -> tuple[Any, Any]:
    """Three classes, few rows."""
    return load_iris(return_X_y=True)  # type: ignore[no-any-return]


def coarse() -> tuple[Any, Any]:
    """Columns with few values, many equal rows."""
    X, y = moons()
    return np.round(X), y


def mixed() -> tuple[Any, Any]:
    """Load a data frame with strings and missing values."""
    X, y = moons()
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    table["colour"] = np.where(X[:, 0] > 0.5, "red", np.where(X[:, 1] > 0.2, "green", "blue"))
    table.loc[::7, "a"] = np.nan
    return table, y


def patients(n: int) -> Any:
    """Draw groups of unequal sizes."""
    return np.sort(np.random.default_rng(5).integers(0, n // 4, n))


def sites(n: int) -> Any:
    """Slices."""
    return pd.Series(np.array(["north", "south", "west"])[np.random.default_rng(6).integers(0, 3, n)], name="site")


def columns() -> Any:
    """Preprocessor of the mixed data frame."""
    return make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), ["a", "b"]))


def svc(
    data: Callable[[], tuple[Any, Any]], fit_params: dict[str, Any] | None = None, **params: Any
) -> Callable[[], Any]:
    """Fit and describe a `StochasticSVC`."""

    def run() -> Any:
        X, y = data()
        all_params: dict[str, Any] = {"lambdas": LAMBDAS, "random_state": 0} | params
        model = StochasticSVC(**all_params)
        return describe(model.fit(X, y, **_fit_params(fit_params, len(y))), X)

    return run


def grid(
    data: Callable[[], tuple[Any, Any]],
    estimator: Any = TREE,
    settings: Any = DEPTHS,
    fit_params: dict[str, Any] | None = None,
    **params: Any,
) -> Callable[[], Any]:
    """Fit and describe a `CertifiedClassifier` of a grid."""

    def run() -> Any:
        X, y = data()
        model = CertifiedClassifier(Grid(estimator, settings), random_state=0, **params, cv=3, validation_size=0.5)
        return describe(model.fit(X, y, **_fit_params(fit_params, len(y))), X)

    return run


def _fit_params(fit_params: dict[str, Any] | None, n: int) -> dict[str, Any]:
    return {name: make(n) for name, make in (fit_params or {}).items()}


def families(
    data: Callable[[], tuple[Any, Any]], fit_params: dict[str, Any] | None = None, candidates: Any = None, **params: Any
) -> Callable[[], Any]:
    """Fit and describe a `CertifiedClassifier` of families by name."""

    def run() -> Any:
        X, y = data()
        model = CertifiedClassifier(candidates or ["svm", "logistic"], random_state=0, **params)
        return describe(model.fit(X, y, **_fit_params(fit_params, len(y))), X)

    return run


def last_rows(n: int) -> Any:
    """User-defined split: the last 40 % of the rows are validation rows."""
    return np.arange(n) >= 0.6 * n


def describe(clf: Any, X: Any) -> dict[str, Any]:
    """Collect all public results of a model, fitted and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pacbayes"
        save(clf, path)
        loaded = load(path, trusted=TRUSTED)
    return {"fitted": _results(clf, X), "loaded": _results(loaded, X)}


def _results(clf: Any, X: Any) -> dict[str, Any]:
    results = {
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
            results[voting] = (certificate.to_dict(), certificate.explain())  # this fit cannot predict by this rule
            continue
        results[voting] = {
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
    return results


def _batch(clf: Any, X: Any) -> Any:
    """Bound for a batch of new rows, or the error message."""
    try:
        return str(clf.certify_batch(np.asarray(X)[:40] * 1.001 if np.asarray(X).dtype.kind == "f" else X))
    except ValueError as error:
        return str(error)


def _posterior(clf: Any) -> Any:
    found = clf.__dict__.get("posterior_") if clf.hedge_ == 0.0 else clf.posterior_
    return None if found is None else (found.weights, found.bound, found.kl, found.lower_bound, found.distance)


def describe_set(classifiers: Any, X: Any = None) -> dict[str, Any]:
    """Collect the public results of a set of classifiers."""
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


def _prefit() -> tuple[list[Any], Any, Any]:
    X, y, X_val, y_val = _halves(iris)
    logistic = LogisticRegression(max_iter=1000, random_state=0)
    models = [GaussianNB(), logistic, KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)]
    return [model.fit(X, y) for model in models], X_val, y_val


def from_fitted(**params: Any) -> Callable[[], Any]:
    """Certify and describe prefit classifiers."""

    def run() -> Any:
        models, X_val, y_val = _prefit()
        return describe(CertifiedClassifier.from_fitted(models, X_val, y_val, random_state=0, **params), X_val)

    return run


def from_predictions() -> Any:
    """Set of classifiers from predictions."""
    models, X_val, y_val = _prefit()
    y_pred = np.array([model.predict(X_val) for model in models])
    return describe_set(ClassifierSet.from_predictions(y_pred, y_val))


def from_losses() -> Any:
    """Set of classifiers from losses between 0 and 1."""
    return describe_set(ClassifierSet.from_losses(np.random.default_rng(0).random((7, 90)) ** 3))


def compare() -> Any:
    """Differences between classifiers on new rows."""
    X, y, X_new, y_new = _halves(moons)
    a = StochasticSVC(LAMBDAS, voting="majority", random_state=0).fit(X, y)
    b = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    by_rows = certify_difference(a.predict(X_new) != y_new, b.predict(X_new) != y_new, 0.01)
    return compare_classifiers(a, b, X_new, y_new).to_dict(), by_rows.to_dict()


def svms(**params: Any) -> Callable[[], Any]:
    """Describe a set of SVMs."""
    return lambda: describe_set(svm_set(*moons(), LAMBDAS, random_state=0, **params), moons()[0][:50])


def vote_of_grid() -> Any:
    """Optimal vote over a grid."""
    classifiers = grid_set(TREE, DEPTHS, *moons(), random_state=0)
    assert classifiers.error_rows is not None
    vote = optimal_vote(classifiers.error_rows, classifiers.m)
    return describe_set(classifiers), (vote.weights, vote.bound)


def vote_of_independent_splits() -> Any:
    """Optimal vote over SVMs with independent splits."""
    classifiers = svm_set(*moons(), LAMBDAS[:5], split="independent", random_state=0)
    error_rows = classifiers.error_rows
    assert error_rows is not None
    vote = optimal_vote(error_rows, error_rows.shape[1], validated=classifiers.validated_rows)
    return vote.weights, vote.bound


def prior_of_params(params: list[dict[str, Any]]) -> Any:
    """Prior that depends on the settings only: less weight for small lambdas."""
    weights = np.array([setting["lambda"] for setting in params]) ** 0.5
    return weights / weights.sum()


def prior_of_training_rows(params: list[dict[str, Any]], X: Any, y: Any) -> Any:
    """Prior that depends on the training rows."""
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
    "svc, independent, three classes": svc(iris, split="independent", prior=prior_of_params),
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
    "svc, prior of training rows": svc(cancer, prior=prior_of_training_rows),
    "svc, prepared": svc(mixed, preprocessor=columns()),
    "svc, prepared by PCA": svc(digits, preprocessor=PCA(10, random_state=0), scale=False),
    # families by name
    "auto": families(moons, candidates="auto"),
    "auto, three classes, refit": families(iris, candidates="auto", refit=True),
    "auto, mixed columns": families(mixed, candidates=["forest", "boosting"]),
    "families": families(cancer),
    "families, groups": families(moons, GROUPS),
    "families, a split of one's own": families(moons, {"validation": last_rows}),
    "families, threshold": families(moons, decision=Threshold(recall=0.7), pos_label=1),
    "families, abstain": families(moons, decision=Abstain(0.1)),
    "families, metrics": families(moons, metrics=("recall", "precision", "f1", "balanced_error"), pos_label=1),
    "families, cost": families(moons, GROUPS, metrics=(Cost([[0, 1], [5, 0]], [0, 1]),)),
    "families, catoni, hedge .1": families(moons, distance="catoni", hedge=0.1),
    # grids
    "grid": grid(cancer),
    "grid, hedge 0": grid(moons, hedge=0),
    "grid, hedge 1": grid(moons, hedge=1),
    "grid, ten classes": grid(digits),
    "grid, groups": grid(moons, fit_params=GROUPS),
    "grid, copies together": grid(coarse, duplicates="together"),
    "grid, by class and in slices": grid(moons, fit_params=SLICES, metrics=("error",)),
    "grid, target": grid(moons, decision=Abstain(0.12)),
    "grid, labels that are no class": grid(moons, OUTLIERS, {"radius": [0.05, 0.1, 0.2, 0.4, 0.8]}),
    "grid, a list of estimators": grid(
        iris, None, [make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB(), KNeighborsClassifier(), TREE]
    ),
    "grid, data frame": grid(mixed, make_pipeline(columns(), TREE), {"decisiontreeclassifier__max_depth": [1, 2, 4]}),
    "grid, sparse rows": grid(lambda: (sp.csr_array(digits()[0]), digits()[1])),
    # prefit
    "from_fitted": from_fitted(),
    "from_fitted, one proposed": from_fitted(primary=1, voting="best"),
    "from_fitted, a vote proposed, by class": from_fitted(primary=[0.1, 0.4, 0.4, 0.1], metrics=("error",)),
    "from_predictions": from_predictions,
    "from_losses": from_losses,
    "compare": compare,
    # sets
    "svm_set": svms(),
    "svm_set, independent": svms(split="independent"),
    "grid_set, independent": lambda: describe_set(
        grid_set(TREE, DEPTHS, *moons(), split="independent", random_state=0)
    ),
    "votes of sets": vote_of_grid,
    "votes of sets, independent": vote_of_independent_splits,
}
