"""The three ways of predicting, each against the classifiers of the set asked one by one."""

import hashlib

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from tests.estimators.models import LAMBDAS, fitted, three_classes, two_classes

from pacbayes import StochasticSVC, load, save
from pacbayes._utils.seeds import draw_key
from pacbayes.certificates.voting import BITS, draw_classifiers, integer_weights, majority
from pacbayes.data.rows import row_hashes
from pacbayes.ensemble.members import Coding

# What the training rows proposed predicts with a hedge, the posterior without.
MODELS = [
    pytest.param(kind, data, split, hedge, id=f"{kind}-{data.__name__}-{split}-{hedge}")
    for kind in ("svc", "grid")
    for data in (two_classes, three_classes)
    for split, hedge in (("shared", "auto"), ("shared", 1), ("independent", 1))
    if (kind, split) != ("grid", "independent")
]


def voting(clf, how):
    """The same fitted model with another way of predicting: read when predicting, so that no fit is needed."""
    again = clone(clf)
    again.__dict__ |= clf.__dict__
    return again.set_params(voting=how)


def drawn_by_hand(clf, X):
    """The draws from their definition: BLAKE2b of the row, compared with the cumulated weights."""
    key = draw_key(clf.random_state)
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8, key=key).digest() for row in X + 0.0]
    uniform = np.array([int.from_bytes(digest, "little") / 2**64 for digest in digests])
    return (uniform[:, None] >= np.cumsum(voting(clf, "stochastic").weights_)).sum(axis=1)


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_stochastic_asks_the_drawn_classifier(kind, data, split, hedge):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    which = drawn_by_hand(clf, X)
    everyone = clf.classifiers_.predict(X)
    assert len(set(which.tolist())) > 2
    assert voting(clf, "stochastic").predict(X).tolist() == everyone[which, np.arange(len(X))].tolist()


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_majority_is_the_weighted_vote(kind, data, split, hedge):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    everyone, weights = clf.classifiers_.predict(X), voting(clf, "majority").weights_
    shares = np.stack([weights @ (everyone == label) for label in clf.classes_], axis=1)
    model = voting(clf, "majority")
    assert np.array_equal(model.vote_share(X), shares)
    assert np.array_equal(model.predict_proba(X), shares)
    assert (shares.sum(axis=1) == 1.0).all()
    assert np.array_equal(model.predict(X), clf.classes_[shares.argmax(axis=1)])


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_errors_of_the_vote_are_counted_on_the_validation_rows(kind, data, split, hedge):
    clf, (X, y) = fitted(kind, data, split, hedge), data()
    if split == "independent":  # no row validated all classifiers
        assert clf.vote_errors_ is None
        return
    rows = clf.classifiers_.splits(0)[1]
    everyone, weights = clf.classifiers_.predict(X[rows]), voting(clf, "majority").weights_
    shares = np.stack([weights @ (everyone == label) for label in clf.classes_], axis=1)
    assert clf.vote_errors_ == np.count_nonzero(clf.classes_[shares.argmax(axis=1)] != y[rows])


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_best_is_the_classifier_of_the_best_single_certificate(kind, data, split, hedge):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    if clf.certificates_["best"].rule == "Occam":
        assert clf.classifiers_.errors[clf.best_index_] == clf.classifiers_.errors.min()  # the prior is uniform
    else:
        assert clf.primary_["best"][clf.best_index_] == 1.0
    assert np.array_equal(voting(clf, "best").predict(X), clf.classifiers_.predict(X)[clf.best_index_])


@pytest.mark.parametrize("how", ["stochastic", "majority", "best"])
@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_labels_do_not_depend_on_the_rows_around(kind, data, split, hedge, how):
    X = data()[0]
    model = voting(fitted(kind, data, split, hedge), how)
    labels = model.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(model.predict(X[order]), labels[order])
    assert np.array_equal(model.predict(X[::3]), labels[::3])
    assert all(model.predict(X[[i]])[0] == labels[i] for i in range(0, len(X), 29))
    assert model.predict(np.repeat(X[:1], 5, axis=0)).tolist() == [labels[0]] * 5


def test_draws_follow_the_weights_and_different_keys_are_independent():
    X = np.random.default_rng(1).normal(size=(40_000, 3))
    parts = integer_weights(np.array([0.5, 0.3, 0.0, 0.2]))
    first, second, near = (draw_classifiers(row_hashes(X, draw_key(seed)), parts) for seed in (0, 1, 2))
    for drawn in (first, second, near):
        counts = np.bincount(drawn, minlength=4)
        assert counts[2] == 0
        assert chisquare(counts[[0, 1, 3]], 40_000 * np.array([0.5, 0.3, 0.2])).pvalue > 1e-4
    for one, other in ((first, second), (second, near), (first, near)):
        table = np.histogram2d(one, other, bins=[[0, 1, 3, 4]] * 2)[0]
        assert chi2_contingency(table).pvalue > 1e-4
    # Neighbouring rows are independent too.
    table = np.histogram2d(first[:-1], first[1:], bins=[[0, 1, 3, 4]] * 2)[0]
    assert chi2_contingency(table).pvalue > 1e-4


def test_draws_at_the_edges_of_the_parts():
    parts = np.array([0, 5, 0, 2**BITS - 5])
    uniform = np.array([0, 4, 5, 2**BITS - 1], dtype=np.uint64) << np.uint64(64 - BITS)
    assert draw_classifiers(uniform, parts).tolist() == [1, 1, 3, 3]


def test_a_dependence_between_keys_would_be_seen():
    hashes = row_hashes(np.random.default_rng(1).normal(size=(4000, 3)), draw_key(0))
    drawn = draw_classifiers(hashes, integer_weights(np.full(3, 1 / 3)))
    other = np.where(np.random.default_rng(2).random(4000) < 0.1, drawn, np.random.default_rng(3).permutation(drawn))
    assert chi2_contingency(np.histogram2d(drawn, other, bins=3)[0]).pvalue < 1e-4


def test_none_draws_the_key_once_in_fit():
    X, y = two_classes()
    model = StochasticSVC(LAMBDAS[::8], validation_size=40, cv=None)
    first = model.fit(X, y)._fitted.plan.key
    assert np.array_equal(model.predict(X), model.predict(X))
    assert model.fit(X, y)._fitted.plan.key != first


def test_negative_zero_and_other_types_are_the_same_row():
    X = np.array([[0.0, -0.0, 1.5], [-0.0, 2.0, 0.25]])
    key = draw_key(5)
    expected = row_hashes(X, key).tolist()
    assert row_hashes(np.abs(X), key).tolist() == expected
    assert row_hashes(X.astype(np.float32), key).tolist() == expected
    assert row_hashes(np.asfortranarray(X), key).tolist() == expected
    assert row_hashes(X.astype(object), key).tolist() == expected
    assert row_hashes(X.tolist(), key).tolist() == expected
    assert len(set(expected)) == 2
    clf, rows = fitted("svc", two_classes), two_classes()[0].copy()
    rows[:, 0] = 0.0
    flipped = rows.copy()
    flipped[:, 0] = -0.0
    assert np.array_equal(clf.predict(rows), clf.predict(flipped))


class Counted:
    """Members with given class numbers, shape (H, n), which count who was asked about which row."""

    def __init__(self, codes):
        self.codes, self.asked = codes, np.zeros(codes.shape, dtype=int)

    def predict(self, X, which, coding):
        self.asked[np.ix_(which, X[:, 0])] += 1
        return self.codes[np.ix_(which, X[:, 0])]


@pytest.mark.parametrize("alpha", [0.05, 1.0, 1e6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_is_left_out_only_where_it_cannot_change_the_vote(alpha, n_classes):
    rng = np.random.default_rng(4)
    for size in (1, 2, 3, 64):
        weights = np.full(size, 1 / size) if alpha > 1 else rng.dirichlet(np.full(size, alpha))
        parts = integer_weights(weights)
        members = Counted(rng.integers(0, n_classes, (size, 300)))
        said = majority(members, np.arange(300)[:, None], parts, Coding(np.arange(n_classes)))
        # Whole numbers below 2^53: every sum is exact.
        heard = parts[:, None, None] * (members.codes[:, :, None] == np.arange(n_classes))
        assert np.array_equal(said, heard.sum(axis=0).argmax(axis=1))
        assert members.asked.max() == 1
        votes = (heard * members.asked[:, :, None]).sum(axis=0)
        left, top = 2**BITS - votes.sum(axis=1), np.sort(votes, axis=1)
        assert ((left == 0) | (top[:, -1] - top[:, -2] > left)).all()


def test_agreement_is_decided_by_half_of_the_weight():
    parts = integer_weights(np.full(64, 1 / 64))
    members = Counted(np.ones((64, 10), dtype=int))
    majority(members, np.arange(10)[:, None], parts, Coding(np.arange(2)))
    assert members.asked.sum(axis=0).max() == 33


def test_a_parameter_set_after_fit_changes_no_answer(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 100.0, 0.01] + 5.0
    y = (X[:, 2] + 1e-4 * X[:, 1] > 5.0).astype(int)
    clf = StochasticSVC([0.1, 1.0], preprocessor=StandardScaler(), scale=False, random_state=0).fit(X, y)
    said = clf.predict(X)
    clf.set_params(preprocessor=None)
    assert np.array_equal(clf.predict(X), said)
    save(clf, tmp_path / "model.pacbayes")
    assert np.array_equal(load(tmp_path / "model.pacbayes").predict(X), said)
