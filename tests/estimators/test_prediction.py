"""Votings against the predictions of the single classifiers, and keyed draws."""

import hashlib

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import StochasticSVC, load, save
from pacbayes._utils.seeds import draw_key
from pacbayes.certificates.voting import BITS, draw_classifiers, integer_weights, majority
from pacbayes.data.rows import row_hashes
from pacbayes.ensemble.members import Coding

# Primary rules predict with a hedge of "auto", and the posterior with a hedge of 1.
MODELS = [
    pytest.param(kind, data, split, hedge, id=f"{kind}-{data.__name__}-{split}-{hedge}")
    for kind in ("svc", "grid")
    for data in (two_classes, three_classes)
    for split, hedge in (("shared", "auto"), ("shared", 1), ("independent", 1))
    if (kind, split) != ("grid", "independent")
]


def voting(clf, how):
    """The same fitted model with another voting."""
    model = clone(clf)
    model.__dict__ |= clf.__dict__
    return model.set_params(voting=how)


def draws_by_hand(clf, X):
    """Draws by definition: BLAKE2b of the row, compared with the cumulative weights."""
    key = draw_key(clf.random_state)
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8, key=key).digest() for row in X + 0.0]
    uniform = np.array([int.from_bytes(digest, "little") / 2**64 for digest in digests])
    return (uniform[:, None] >= np.cumsum(voting(clf, "stochastic").weights_)).sum(axis=1)


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_stochastic_predicts_with_the_drawn_classifier(kind, data, split, hedge):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    drawn = draws_by_hand(clf, X)
    predictions = clf.classifiers_.predict(X)
    assert len(set(drawn.tolist())) > 2
    assert voting(clf, "stochastic").predict(X).tolist() == predictions[drawn, np.arange(len(X))].tolist()


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_majority_is_the_weighted_vote(kind, data, split, hedge):
    clf, (X, y) = fitted(kind, data, split, hedge), data()
    predictions, weights = clf.classifiers_.predict(X), voting(clf, "majority").weights_
    shares = np.stack([weights @ (predictions == label) for label in clf.classes_], axis=1)
    model = voting(clf, "majority")
    assert np.array_equal(model.vote_share(X), shares)
    assert np.array_equal(model.predict_proba(X), shares)
    assert (shares.sum(axis=1) == 1.0).all()
    assert np.array_equal(model.predict(X), clf.classes_[shares.argmax(axis=1)])
    validation = clf.classifiers_.splits(0)[1]
    # Independent splits have no common validation rows.
    errors = None if split == "independent" else np.count_nonzero(model.predict(X[validation]) != y[validation])
    assert clf.vote_errors_ == errors


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_best_is_the_certified_classifier(kind, data, split, hedge):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    if clf.certificates_["best"].rule == "Occam":
        assert clf.classifiers_.errors[clf.best_index_] == clf.classifiers_.errors.min()  # the prior is uniform
    else:
        assert clf.primary_["best"][clf.best_index_] == 1.0
    assert np.array_equal(voting(clf, "best").predict(X), clf.classifiers_.predict(X)[clf.best_index_])


@pytest.mark.parametrize("how", ["stochastic", "majority", "best"])
@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_predictions_do_not_depend_on_the_batch(kind, data, split, hedge, how):
    X = data()[0]
    model = voting(fitted(kind, data, split, hedge), how)
    labels = model.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(model.predict(X[order]), labels[order])
    assert np.array_equal(model.predict(X[::3]), labels[::3])
    assert all(model.predict(X[[i]])[0] == labels[i] for i in range(0, len(X), 29))
    assert model.predict(np.repeat(X[:1], 5, axis=0)).tolist() == [labels[0]] * 5


def test_draws_follow_the_weights_and_keys_are_independent():
    X = np.random.default_rng(1).normal(size=(40_000, 3))
    parts = integer_weights(np.array([0.5, 0.3, 0.0, 0.2]))
    first, second, near = (draw_classifiers(row_hashes(X, draw_key(seed)), parts) for seed in (0, 1, 2))
    for drawn in (first, second, near):
        counts = np.bincount(drawn, minlength=4)
        assert counts[2] == 0
        assert chisquare(counts[[0, 1, 3]], 40_000 * np.array([0.5, 0.3, 0.2])).pvalue > 1e-4
    for a, b in ((first, second), (second, near), (first, near)):
        table = np.histogram2d(a, b, bins=[[0, 1, 3, 4]] * 2)[0]
        assert chi2_contingency(table).pvalue > 1e-4
    # Neighbouring rows are independent too.
    table = np.histogram2d(first[:-1], first[1:], bins=[[0, 1, 3, 4]] * 2)[0]
    assert chi2_contingency(table).pvalue > 1e-4


def test_dependent_draws_are_detected():
    hashes = row_hashes(np.random.default_rng(1).normal(size=(4000, 3)), draw_key(0))
    drawn = draw_classifiers(hashes, integer_weights(np.full(3, 1 / 3)))
    other = np.where(np.random.default_rng(2).random(4000) < 0.1, drawn, np.random.default_rng(3).permutation(drawn))
    assert chi2_contingency(np.histogram2d(drawn, other, bins=3)[0]).pvalue < 1e-4


def test_hashes_of_equal_rows():
    X = np.array([[0.0, -0.0, 1.5], [-0.0, 2.0, 0.25]])
    key = draw_key(5)
    expected = row_hashes(X, key).tolist()
    for rows in (np.abs(X), X.astype(np.float32), np.asfortranarray(X), X.astype(object), X.tolist()):
        assert row_hashes(rows, key).tolist() == expected
    assert len(set(expected)) == 2
    clf, rows = fitted("svc", two_classes), two_classes()[0].copy()
    rows[:, 0] = 0.0
    flipped = rows.copy()
    flipped[:, 0] = -0.0
    assert np.array_equal(clf.predict(rows), clf.predict(flipped))


class RecordingMembers:
    """Members with fixed predictions, shape (H, n), that count how often each is used."""

    def __init__(self, codes):
        self.codes, self.used = codes, np.zeros(codes.shape, dtype=int)

    def predict(self, X, indices, coding):
        self.used[np.ix_(indices, X[:, 0])] += 1
        return self.codes[np.ix_(indices, X[:, 0])]


@pytest.mark.parametrize("alpha", [0.05, 1.0, 1e6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_are_skipped_only_if_they_cannot_change_the_vote(alpha, n_classes):
    rng = np.random.default_rng(4)
    for size in (1, 2, 3, 64):
        weights = np.full(size, 1 / size) if alpha > 1 else rng.dirichlet(np.full(size, alpha))
        parts = integer_weights(weights)
        members = RecordingMembers(rng.integers(0, n_classes, (size, 300)))
        codes = majority(members, np.arange(300)[:, None], parts, Coding(np.arange(n_classes)))
        # Sums of integers below 2^53 are exact.
        weights_by_class = parts[:, None, None] * (members.codes[:, :, None] == np.arange(n_classes))
        assert np.array_equal(codes, weights_by_class.sum(axis=0).argmax(axis=1))
        assert members.used.max() == 1
        votes = (weights_by_class * members.used[:, :, None]).sum(axis=0)
        left, top = 2**BITS - votes.sum(axis=1), np.sort(votes, axis=1)
        assert ((left == 0) | (top[:, -1] - top[:, -2] > left)).all()


def test_parameters_set_after_fit_do_not_change_predictions(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 100.0, 0.01] + 5.0
    y = (X[:, 2] + 1e-4 * X[:, 1] > 5.0).astype(int)
    clf = StochasticSVC([0.1, 1.0], preprocessor=StandardScaler(), scale=False, random_state=0).fit(X, y)
    labels = clf.predict(X)
    clf.set_params(preprocessor=None)
    assert np.array_equal(clf.predict(X), labels)
    save(clf, tmp_path / "model.pacbayes")
    assert np.array_equal(load(tmp_path / "model.pacbayes").predict(X), labels)
