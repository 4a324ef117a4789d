"""Equal models make equal files, independent of shared objects and processes."""

import pickle
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.attack.small_models import CONFIGURED, ENSEMBLES, SVM_MODELS
from tests.attack.small_models import model as small_model
from tests.estimators.models import three_classes

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, SVMs, load, save

TRUSTED = ["sklearn.", "tests.", "builtins.frozenset"]


class Sharing(ClassifierMixin, BaseEstimator):
    """Nearest-mean classifier with shared, unordered, binary and random attributes."""

    def __init__(self, shrink=0.0, words=(), n_jobs=None):
        self.shrink, self.words, self.n_jobs = shrink, words, n_jobs

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_ = np.stack([(1 - self.shrink) * X[codes == k].mean(axis=0) for k in range(self.classes_.size)])
        self.also_, self.scales_ = self.means_, [self.means_.std(axis=0)] * 2
        self.names_ = [f"class {k}" for k in range(self.classes_.size)]
        self.by_name_ = dict(zip(self.names_, self.means_, strict=True))
        self.seen_, self.fixed_ = set(self.words), frozenset(self.words)
        self.raw_, self.kind_, self.rng_ = self.means_.tobytes(), self.means_.dtype, np.random.RandomState(0)
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2 / self.scales_[0]).sum(axis=2).argmin(axis=1)]


def grid(estimator, **params):
    return lambda **more: CertifiedClassifier(Grid(estimator, params), cv=3, random_state=0, **more)


KINDS = {
    "paper's machines": lambda **more: StochasticSVC([0.1, 1.0], split="independent", random_state=0, **more),
    "machines": lambda **more: CertifiedClassifier(SVMs([0.1, 1.0], gamma=[0.1, 1.0]), cv=3, random_state=0, **more),
    "landmarks": lambda **more: StochasticSVC(
        [0.1, 1.0], kernel="nystroem", n_components=20, hedge=0.1, cv=3, random_state=0, **more
    ),
    "forests": grid(RandomForestClassifier(3, n_jobs=1), max_depth=[1, 2]),
    "boosting": grid(GradientBoostingClassifier(n_estimators=2), max_depth=[1, 2]),
    "histograms": grid(HistGradientBoostingClassifier(categorical_features=[3], max_iter=2), max_depth=[1, 2]),
    "committees": grid(
        VotingClassifier([("ada", AdaBoostClassifier(n_estimators=2)), ("bayes", GaussianNB())]),
        voting=["hard", "soft"],
    ),
    "neighbours": grid(KNeighborsClassifier(), n_neighbors=[1, 3]),
    "pipelines": grid(make_pipeline(StandardScaler(), LogisticRegression()), logisticregression__C=[0.1, 1.0]),
    "of a user": grid(Sharing(words=("a", "b", "c"), n_jobs=1), shrink=[0.0, 0.1]),
}


def digest(model):
    """SHA-256 and bytes of the file of a model."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        return save(model, path), path.read_bytes()


def loaded(model):
    with TemporaryDirectory() as folder:
        save(model, folder + "/model")
        return load(folder + "/model", trusted=TRUSTED)


@cache
def plain(kind):
    """Fitted model, and the digest of its file."""
    model = KINDS[kind]().fit(*three_classes())
    return model, digest(model)


pytestmark = pytest.mark.filterwarnings("ignore:to load this model")


@pytest.mark.parametrize("kind", KINDS)
def test_after_checkpoint_and_load(kind, tmp_path):
    model, expected = plain(kind)
    for _ in range(2):  # the first fit trains, the second resumes
        assert digest(KINDS[kind](checkpoint=tmp_path).fit(*three_classes())) == expected
    restored, X = loaded(model), three_classes()[0]
    assert digest(restored) == expected
    assert np.array_equal(restored.predict(X), model.predict(X))
    # Query counts of neighbour trees are not part of a model.
    assert digest(restored) == digest(model) == expected


@pytest.mark.parametrize("kind", ["machines", "forests", "of a user"])
def test_other_processes(kind):
    with joblib.parallel_config("loky", n_jobs=2):
        assert digest(KINDS[kind]().fit(*three_classes())) == plain(kind)[1]
    # The number of workers is not part of a model.
    assert digest(KINDS[kind](n_jobs=2).fit(*three_classes())) == plain(kind)[1]


@pytest.mark.parametrize("name", [*SVM_MODELS, *CONFIGURED, *ENSEMBLES])
def test_after_load_with_every_guarantee(name):
    assert digest(loaded(small_model(name))) == digest(small_model(name))


def test_prefit():
    """Classifiers that share a part, and unpickled copies that do not."""
    X, y = three_classes()
    scaler = StandardScaler().fit(X[::2])
    words = [{8, 0}, {0, 8}]  # in different orders
    fitted = [make_pipeline(scaler, GaussianNB().fit(scaler.transform(X[::2]), y[::2])) for _ in range(2)]
    fitted += [Sharing(words=unordered).fit(X[::2], y[::2]) for unordered in words]
    unpickled = [pickle.loads(pickle.dumps(one)) for one in [*fitted[:2], *fitted[:1:-1]]]
    one, other = (
        CertifiedClassifier.from_fitted(models, X[1::2], y[1::2], random_state=0) for models in (fitted, unpickled)
    )
    assert list(words[0]) != list(words[1])
    assert digest(one) == digest(other) == digest(loaded(one))
