"""scikit-learn's estimator checks, without expected failures."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, SVMs

LAMBDAS = [0.01, 0.1, 1.0, 3.0, 10.0]
# Candidates with decision values of pairs, probabilities, and decision values of classes.
ASSORTED = [
    ("svms", SVMs([0.1, 1.0], gamma=[0.1, 1.0])),
    ("trees", Grid(DecisionTreeClassifier(), {"max_depth": [2, 4]})),
    ("linear", LinearSVC()),
]


@parametrize_with_checks(
    [
        CertifiedClassifier("svm", random_state=0),
        CertifiedClassifier(ASSORTED, random_state=0),
        StochasticSVC(LAMBDAS, random_state=0),
        StochasticSVC(LAMBDAS, voting="best", kernel="linear", split="independent", random_state=0),
        CertifiedClassifier(
            Grid(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}),
            voting="stochastic",
            cv=3,
            random_state=0,
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        CertifiedClassifier(ASSORTED, voting="majority", cv=2, random_state=0),
        CertifiedClassifier(ASSORTED, voting="best", cv=2, random_state=0),
        StochasticSVC(LAMBDAS[:2], cv=2, hedge="auto", metrics=("error",), random_state=0),
        CertifiedClassifier(Grid(LogisticRegression(), {"C": [0.1, 1.0]}), cv=2, decision=Abstain(0.3), random_state=0),
        CertifiedClassifier(random_state=0),
        *(CertifiedClassifier(name, random_state=0) for name in ("forest", "boosting", "logistic", "neighbours")),
        CertifiedClassifier([SVMs(), "logistic"], voting="stochastic", random_state=0),
        StochasticSVC(LAMBDAS, voting="soft", hedge="auto", random_state=0),
        StochasticSVC(LAMBDAS, voting="majority", distance=["kl", "pinsker"], random_state=0),
        CertifiedClassifier(
            Grid(KNeighborsClassifier(), {"n_neighbors": [1, 3]}),
            voting="majority",
            random_state=0,
        ),
    ]
)
def test_scikit_learn_checks_of_more_settings(estimator, check):
    check(estimator)
