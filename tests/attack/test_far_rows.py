"""Kernel values and labels depend on the row alone: far from the origin, near ties, and in batches of every size.

A certificate holds only if `predict` returns for a row what was counted on the validation set, in any batch.  Oracles
are rational arithmetic and the plain loop over all terms.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pacbayes import StochasticSVC, svm_path, svm_set
from pacbayes.svm.kernel import MAX_ABS_VALUE, Kernel, Scaling, clip_rows, fit_scaling, shared_matrix
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair, path_scores
from pacbayes.svm.path import SVMPath

LAMBDAS = np.geomspace(0.03, 3.0, 5)
numbers = st.one_of(
    st.floats(-10.0, 10.0), st.sampled_from([0.0, 1e-200, 1e6, 1e10, -1e10, 1e10 + 1e-5, 1e99, -1e308, 1.7e308])
)


def tables(rows=(2, 40), columns=(1, 9)):
    shapes = st.tuples(st.integers(*rows), st.integers(*columns))
    return hnp.arrays(np.float64, shapes, elements=numbers).map(clip_rows)


@given(tables(), st.sampled_from([1e-200, 1e-20, 0.3, 1e5, 1e300]), st.randoms(use_true_random=False))
def test_kernel_values_depend_on_the_pair_alone(X, gamma, random):
    order = list(range(len(X)))
    random.shuffle(order)
    subset, cut = np.array(order[: 1 + len(X) // 2]), 1 + random.randrange(len(X))
    for kernel in (Kernel("rbf", gamma), Kernel("linear", None)):
        gram = kernel.gram(X)
        assert not np.isnan(gram).any()
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_array_equal(kernel.between(X[:cut], X[subset]), gram[:cut][:, subset])
        np.testing.assert_array_equal(kernel.between(X[subset], X[:cut]), gram[subset][:, :cut])
        np.testing.assert_array_equal(kernel.gram(X[subset]), gram[np.ix_(subset, subset)])
        shared = shared_matrix(X, kernel.name)
        np.testing.assert_array_equal(kernel.gram_from_shared(shared, subset, np.arange(cut)), gram[subset][:, :cut])


def test_kernel_values_do_not_depend_on_the_place_in_a_large_block():
    # More columns than a block, and every remainder of the vector width.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 7)) + 1e5
    for kernel in (Kernel("rbf", 0.3), Kernel("linear", None)):
        gram = kernel.gram(X)
        np.testing.assert_array_equal(kernel.between(X, X), gram)
        for start, stop in [(0, 1), (3, 20), (250, 263), (255, 513), (1, 700)]:
            np.testing.assert_array_equal(kernel.between(X[::50], X[start:stop]), gram[::50, start:stop])


@given(tables(rows=(2, 6)))
def test_distances_do_not_cancel(X):
    distances = shared_matrix(X, "rbf")
    for a, row in zip(distances, X, strict=True):
        for value, other in zip(a, X, strict=True):
            terms = [(Fraction(p) - Fraction(q)) ** 2 for p, q in zip(row.tolist(), other.tolist(), strict=True)]
            exact = sum(terms, Fraction(0))
            # Differences of tiny numbers may have squares below the smallest double.
            error = abs(Fraction(float(value)) - exact)
            assert error <= exact * Fraction(len(terms) + 4, 2**52) + len(terms) * Fraction(1, 2**1074)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(3, 8), st.integers(1, 4)), elements=st.floats(-1.7e308, 1.7e308)),
    st.sampled_from([True, False, "kernlab"]),
)
def test_scaled_rows_are_finite_and_depend_on_the_row_alone(X, scale):
    scaling = fit_scaling(X[:-1], scale)
    rows = scaling(X)
    assert np.abs(rows).max() <= MAX_ABS_VALUE
    for row, alone in zip(rows, X, strict=True):
        np.testing.assert_array_equal(scaling(alone[None])[0], row)
    tiny = Scaling(np.zeros(X.shape[1]), np.full(X.shape[1], 1e-300))
    assert np.isfinite(tiny(X)).all()


def boundary_rows(predict, X, labels):
    """Rows around a decision boundary, one double apart."""
    first, second = X[labels == labels[0]][0], X[labels != labels[0]][0]
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        same = predict((first + middle * (second - first))[None])[0] == labels[0]
        low, high = (middle, high) if same else (low, middle)
    steps = low + np.arange(-30, 30) * np.spacing(low)
    return first + steps[:, None] * (second - first)


# Both numbers of classes and both scalings for every kernel and split; the other two combinations are slow.
PAIRED = [(2, True), (3, False), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((2, False), (3, True)))]


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "nystroem"])
@pytest.mark.parametrize(("classes", "scale"), PAIRED)
def test_labels_are_the_same_in_batches_of_every_size(split, scale, kernel, classes):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(160, 5))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=160), [-0.4, 0.4][: classes - 1])
    choices = {"split": split, "scale": scale, "kernel": kernel, "n_components": 30}
    clf = StochasticSVC(LAMBDAS, hedge="auto", cv=3, random_state=0, **choices).fit(X, y)
    assert ("soft" in clf.certificates_) == (split == "shared")
    svms = clf.classifiers_
    edges = [boundary_rows(svms[i].predict, X, svms[i].predict(X)) for i in range(LAMBDAS.size)]
    rows = np.vstack([X[:20] + 1e10 * (np.arange(20) % 5 == 0)[:, None], np.full((1, 5), -1e300), *edges])
    together = svms.predict(rows)
    shuffled = rng.permutation(len(rows))
    np.testing.assert_array_equal(svms.predict(rows[shuffled]), together[:, shuffled])
    for i in range(LAMBDAS.size):
        np.testing.assert_array_equal(svms[i].predict(rows), together[i])
    for size in (1, 3, 10, 33):
        parts = np.split(rows, np.arange(size, len(rows), size))
        sampled = parts[:: 1 if size > 1 else 5]
        whole = np.hstack(np.split(together, np.arange(size, len(rows), size), axis=1)[:: 1 if size > 1 else 5])
        np.testing.assert_array_equal(np.hstack([svms.predict(part) for part in sampled]), whole)
    for voting in clf.certificates_:
        whole = clf.set_params(voting=voting).predict(rows)
        parts = np.split(rows, np.arange(13, len(rows), 13))
        np.testing.assert_array_equal(np.concatenate([clf.predict(part) for part in parts]), whole)
        np.testing.assert_array_equal(clf.predict(rows[shuffled]), whole[shuffled])
        if voting == "soft":
            # Probabilities of our own SVMs are functions of the row to the last bit.
            shares = clf.predict_proba(rows)
            assert np.isfinite(shares).all()
            np.testing.assert_array_equal(np.concatenate([clf.predict_proba(part) for part in parts]), shares)
            np.testing.assert_array_equal(clf.predict_proba(rows[shuffled]), shares[shuffled])
            np.testing.assert_array_equal(clf.classes_[shares.argmax(axis=1)], whole)
    np.testing.assert_array_equal(whole, together[clf.best_index_])


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("scale", [True, False, "kernlab"])
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), far=st.sampled_from([1e-200, 1.0, 1e5, 1e10, 1e120]))
def test_recounted_errors_equal_the_stored_ones(split, scale, seed, far):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    y = rng.integers(0, rng.integers(2, 4), 90)
    X += far * rng.choice([0.0, 0.0, 0.0, 1.0, -1.0], 90)[:, None]
    svms = svm_set(X, y, LAMBDAS[::2], split=split, scale=scale, random_state=seed, n_jobs=1)
    y_pred = svms.predict(X)
    for i in range(len(svms)):
        rows = svms.splits(i)[1]
        one_by_one = np.concatenate([svms[i].predict(X[row : row + 1]) for row in rows])
        assert svms.errors[i] == np.count_nonzero(one_by_one != y[rows])
        np.testing.assert_array_equal(y_pred[i, rows], one_by_one)


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_fits_ignore_the_floating_point_error_state(split, scale, kernel):
    """Squares of tiny numbers underflow and kernel values of huge distances vanish, as intended."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * 1e-170
    y = rng.integers(0, 2, 60)
    if kernel == "rbf":
        X[:40] *= 1e170
        X[[3, 5, 7]] = [[1e200], [5e-324], [-1.7e308]]
    clf = StochasticSVC([10.0, 100.0], hedge="auto", split=split, scale=scale, kernel=kernel, random_state=0)

    def results():
        clf.fit(X, y)
        yield from (clf.certificates_, clf.predict(X).tolist(), clf.vote_share(X).tolist(), repr(clf))
        for voting in clf.certificates_:
            clf.set_params(voting=voting)
            yield clf.predict_proba(X).tolist() if hasattr(clf, "predict_proba") else clf.predict(X).tolist()
        clf.set_params(voting="stochastic")

    with np.errstate(all="ignore"):
        expected = list(results())
    with np.errstate(all="raise"):
        assert list(results()) == expected


@pytest.mark.parametrize("fine", [True, False])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1.0, 1e-150, 1e100, 1e200]))
def test_fast_scores_have_the_signs_of_the_plain_sum(fine, seed, size):
    """Incremental scores (fine grids) and matrix products (coarse grids), on kernel values with many near ties."""
    rng = np.random.default_rng(seed)
    m = 30
    rows = rng.integers(-2, 3, size=(m, 2)).astype(float)
    signs = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    if fine:
        # Consecutive SVMs differ in one variable.
        lambdas = np.linspace(1.0, 0.5, 120)
        steps = rng.random((120, m)) * (rng.integers(m, size=120)[:, None] == np.arange(m))
        duals = signs * (rng.random(m) + np.cumsum(steps, axis=0)) / lambdas[:, None]
        zeros = np.zeros(120)
        path = SVMPath(lambdas, duals, rng.normal(size=120), zeros.astype(int), zeros, zeros == 0.0)
    else:
        path = svm_path(Kernel("rbf", 0.5).gram(rows), signs, np.geomspace(0.01, 10.0, 5))
    lambdas = path.lambdas
    scores = path_scores(path, 1.0)
    assert (scores.changes is not None) == fine
    # Columns whose terms nearly cancel: a decision value of zero up to rounding, on either side of the tie.
    K = Kernel("rbf", 0.5).between(rows, rng.integers(-2, 3, size=(50, 2)).astype(float))
    for j in range(25):
        h, t = rng.integers(lambdas.size), np.argmax(np.abs(path.dual_coef), axis=1)
        t = t[h]
        coef, rest = path.dual_coef[h], np.delete(np.arange(m), t)
        target = -scores.ties[h] * rng.choice([0.0, 1.0, -1.0])
        K[t, j] = (target - path.intercept[h] - coef[rest] @ K[rest, j]) / coef[t]
        K[t, j] += rng.integers(-3, 4) * np.spacing(K[t, j])
    K[:, 40:] *= size
    K[:, 45:] *= 1e100 if size > 1e150 else 1.0
    positive = scores.positive(K)
    for h in range(0, lambdas.size, 7 if fine else 1):
        for j in range(K.shape[1]):
            total = 0.0
            for coef, value in zip(path.dual_coef[h].tolist(), K[:, j].tolist(), strict=True):
                total += coef * value
            assert positive[h, j] == (total + float(path.intercept[h]) >= -scores.ties[h])
    svm = OneVsOnePaths(np.array([0, 1]), (Pair(0, 1, np.arange(m), path, 1.0),)).svm(2)
    np.testing.assert_array_equal(svm.predict(svm.decisions(np.ascontiguousarray(K[svm.support]))), positive[2])
