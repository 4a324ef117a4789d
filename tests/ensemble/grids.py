"""Grids of many kinds of classifiers, each with its data."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes._utils.values import fingerprint

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :8]
IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def texts(n=160):
    rng = np.random.default_rng(0)
    words = [["good", "fine", "great", "film"], ["bad", "poor", "dull", "film"]]
    y = rng.integers(0, 2, n)
    return [" ".join(rng.choice(words[c if rng.random() < 0.9 else 1 - c], 4)) for c in y], np.where(y, "neg", "pos")


def scaled(classifier):
    return Pipeline([("scale", StandardScaler()), ("classify", classifier)])


GRIDS = {
    "forests": (RandomForestClassifier(n_estimators=5), {"max_depth": [1, 2, None], "max_features": [1, 3]}, X, Y),
    "logistic": (scaled(LogisticRegression()), {"classify__C": [0.01, 1.0, 100.0]}, IRIS[0], NAMES[IRIS[1]]),
    "boosting": (GradientBoostingClassifier(n_estimators=5, subsample=0.5), {"learning_rate": [0.1, 1.0]}, X, Y),
    "histograms": (HistGradientBoostingClassifier(max_iter=5), {"max_depth": [1, 3]}, X, Y),
    "text": (
        Pipeline([("words", TfidfVectorizer()), ("classify", SGDClassifier())]),
        {"words__ngram_range": [(1, 1), (1, 2)], "classify__alpha": [1e-4, 1e-2]},
        *texts(),
    ),
    "frame": (
        scaled(LogisticRegression()),
        [{"classify__C": [0.1, 1.0]}, {"classify": [SVC(), GaussianNB()]}],
        pd.DataFrame(IRIS[0], columns=list("abcd")),
        pd.Series(NAMES[IRIS[1]]),
    ),
    "sparse": (LogisticRegression(), {"C": [0.1, 1.0]}, sparse.coo_array(np.maximum(IRIS[0] - 2.0, 0.0)), IRIS[1]),
    "mixed": (None, [GaussianNB(), RandomForestClassifier(3), scaled(SVC())], *IRIS),
}


def bits(classifier):
    """Fingerprint of a fitted classifier."""
    if isinstance(classifier, Pipeline):
        # The result of id(), which differs between processes.
        vars(classifier[0]).pop("_stop_words_id", None)
    return fingerprint(classifier)
