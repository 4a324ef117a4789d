"""scikit-learn's own checks, all of them, without expected failures."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pacbayes import StochasticClassifier, StochasticSVC

LAMBDAS = [0.01, 0.1, 1.0, 3.0, 10.0]


@parametrize_with_checks(
    [
        StochasticSVC(LAMBDAS, random_state=0),
        StochasticSVC(LAMBDAS, voting="best", kernel="linear", split="independent", random_state=0),
        StochasticClassifier(
            make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, random_state=0
        ),
        StochasticSVC(LAMBDAS[:2], cv=2, class_share=0.2, random_state=0),
        StochasticClassifier(
            LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, max_error=0.3, voting="majority", random_state=0
        ),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        StochasticSVC(LAMBDAS, voting="majority", distance=["kl", "pinsker"], random_state=0),
        StochasticClassifier(
            KNeighborsClassifier(), {"n_neighbors": [1, 3]}, voting="majority", split="independent", random_state=0
        ),
    ]
)
def test_scikit_learn_checks_of_more_settings(estimator, check):
    check(estimator)
