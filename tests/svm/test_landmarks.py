"""Nyström's features, against scikit-learn's and the kernel; machines on landmarks: what is counted and predicted."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import zero_one_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes import StochasticSVC, load, save, svm_set
from pacbayes.svm import SVMClassifier
from pacbayes.svm import landmarks as module
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.landmarks import TOL, check_components, choose_landmarks, nystroem_map

RBF = Kernel("rbf", 0.2)


def rows_of(seed, n=200, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_products_are_those_of_scikit_learn():
    rows, landmarks = rows_of(0), rows_of(1, 25)
    ours = nystroem_map(landmarks, RBF).features(rows)
    theirs = Nystroem(gamma=0.2, n_components=25).fit(landmarks).transform(rows)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)


def test_the_kernel_is_exact_at_landmarks_and_never_too_large():
    rows, landmarks = rows_of(2), rows_of(3, 25)
    found = nystroem_map(landmarks, RBF)
    features, own = found.features(rows), found.features(landmarks)
    np.testing.assert_allclose(own @ features.T, RBF.between(landmarks, rows), atol=1e-5)
    assert (np.square(features).sum(axis=1) <= 1.0 + 1e-9).all()


def test_weights_and_coefficients_decide_alike():
    rows, found = rows_of(4), nystroem_map(rows_of(5, 40), RBF)
    weights = np.random.default_rng(6).normal(size=(3, found.matrix.shape[1]))
    by_landmarks = found.coefficients(weights) @ RBF.between(found.landmarks, rows)
    np.testing.assert_allclose(by_landmarks, weights @ found.features(rows).T, atol=1e-8)


def test_blocks_change_nothing_that_matters(monkeypatch):
    rows, found = rows_of(7, 300), nystroem_map(rows_of(8, 20), RBF)
    whole = found.features(rows)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 20 * 7)
    np.testing.assert_allclose(found.features(rows), whole, rtol=1e-12, atol=1e-12)


def test_equal_landmarks_are_one():
    landmarks = np.repeat(rows_of(9, 3), 5, axis=0)
    assert nystroem_map(landmarks, RBF).matrix.shape == (15, 3)
    assert np.isfinite(nystroem_map(np.zeros((4, 2)), RBF).matrix).all()


def test_landmarks_are_rows_without_repetition():
    chosen = choose_landmarks(1000, 300, np.random.default_rng(0))
    assert np.unique(chosen).size == 300
    assert (np.diff(chosen) > 0).all()
    assert chosen.max() < 1000
    np.testing.assert_array_equal(choose_landmarks(7, 300, np.random.default_rng(0)), np.arange(7))


@pytest.mark.parametrize("wrong", [True, 2.0, "9", None])
def test_numbers_of_landmarks_that_are_none(wrong):
    with pytest.raises(TypeError, match="n_components must be an integer of at least 1"):
        check_components(wrong)


GRID = np.array([0.02, 0.3, 2.0, 40.0])
CHOICES = {"kernel": "nystroem", "random_state": 1}


def sample(name):
    X, y = load_breast_cancer(return_X_y=True) if name == "two" else load_wine(return_X_y=True)
    return X[:, :9], np.array(["red", "green", "blue"])[y]


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("name", ["two", "three"])
def test_errors_are_what_a_user_recomputes(split, scale, name):
    X, y = sample(name)
    gamma = "sigest" if scale else 1e-3
    found = svm_set(X, y, GRID, split=split, scale=scale, gamma=gamma, n_components=40, **CHOICES)
    assert (found.kkt_violation <= TOL).all()
    assert found.converged.all()
    everything = found.predict(X)
    for i in range(GRID.size):
        one, validation = found[i], found.splits(i)[1]
        assert len(one.support_vectors_) <= 40
        assert found.errors[i] == zero_one_loss(y[validation], one.predict(X[validation]), normalize=False)
        np.testing.assert_array_equal(everything[i], one.predict(X))


def test_with_all_training_rows_as_landmarks_the_machines_are_those_of_svc():
    X, y = sample("two")
    found = svm_set(X, y, GRID, n_components=10**6, **CHOICES)
    train = found.splits(0)[0]
    scaled = StandardScaler().fit(X[train])
    shrink = np.sqrt((train.size - 1) / train.size)
    rows = scaled.transform(X) * shrink
    for i, lam in enumerate(GRID):
        svc = SVC(C=1.0 / lam, gamma=found.params[i]["gamma"], tol=1e-6).fit(rows[train], y[train])
        difference = np.abs(found[i].decision_function(X) - svc.decision_function(rows))
        assert np.quantile(difference, 0.99) < 0.05
        assert np.mean(found[i].predict(X) != svc.predict(rows)) <= 0.01


def test_the_same_for_any_number_of_threads_and_for_a_single_machine():
    X, y = make_classification(3000, 8, flip_y=0.1, random_state=0)
    choices = {"n_components": 60, "hedge": "auto", "cv": 3, **CHOICES}
    one, three = (StochasticSVC(GRID, n_jobs=n, **choices).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.classifiers_.errors, three.classifiers_.errors)
    paths = [model.classifiers_.members.machines[0].paths[0] for model in (one, three)]
    assert paths[0].dual_coef.tobytes() == paths[1].dual_coef.tobytes()
    assert one.certificate_.baselines["hold-out"].note == three.certificate_.baselines["hold-out"].note
    shares = [model.set_params(voting="soft").predict_proba(X).tobytes() for model in (one, three)]
    assert shares[0] == shares[1]


def test_cross_validation_counts_errors_as_new_machines_would():
    X, y = sample("two")
    model = StochasticSVC(GRID, n_components=10**6, cv=4, **CHOICES).fit(X, y)
    exact = StochasticSVC(GRID, kernel="rbf", cv=4, random_state=1).fit(X, y)
    ours, theirs = (one._fitted.plan.cross_validation for one in (model, exact))
    np.testing.assert_array_equal(ours.sizes, theirs.sizes)
    # All training rows are landmarks: the same machines but for the tolerance.
    assert np.abs(ours.errors - theirs.errors).max() <= 1
    assert len(set(ours.errors.sum(axis=1).tolist())) > 1


@pytest.mark.parametrize("split", ["shared", "independent"])
def test_a_saved_model_predicts_the_same(tmp_path, split):
    X, y = sample("three")
    model = StochasticSVC(GRID, n_components=25, split=split, **CHOICES).fit(X, y)
    save(model, tmp_path / "model.pacbayes")
    again = load(tmp_path / "model.pacbayes")
    assert again.get_params()["n_components"] == 25
    assert again.certificate_ == model.certificate_
    for voting in ("stochastic", "majority", "best"):
        expected = model.set_params(voting=voting).predict(X)
        np.testing.assert_array_equal(again.set_params(voting=voting).predict(X), expected)


def test_one_machine_alone():
    X, y = sample("three")
    one = SVMClassifier(0.5, kernel="nystroem", n_components=20, random_state=3).fit(X, y)
    assert one.score(X, y) > 0.9
    np.testing.assert_array_equal(one.fit(X, y).predict(X[:7]), one.predict(X)[:7])


def test_few_rows_of_features_fit_where_a_kernel_matrix_does_not():
    X, y = make_classification(8000, 5, random_state=0)
    with pytest.raises(MemoryError, match="a kernel matrix of 4000 x 4000"):
        svm_set(X, y, GRID, random_state=0, max_bytes=10**8)
    found = svm_set(X, y, GRID, n_components=20, max_bytes=10**8, **CHOICES)
    assert found.m == 4000
    with pytest.raises(MemoryError, match="20 features of 4000 rows"):
        svm_set(X, y, GRID, n_components=20, max_bytes=10**6, **CHOICES)


def hostile_samples():
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)
    yield "four classes", X, y
    yield "few different rows", np.tile(X[:7], (30, 1)), np.tile(y[:7] % 2, 30)
    yield "equal rows, opposite labels", np.tile(X[:9], (20, 1)), np.arange(180) // 9 % 2
    yield "fewer rows than landmarks", X[:24], y[:24] % 2


@pytest.mark.filterwarnings("ignore:Column 1 alone decides")
@pytest.mark.parametrize("case", list(hostile_samples()), ids=lambda case: case[0])
def test_samples_that_leave_few_landmarks_or_many_classes(case):
    _, X, y = case
    model = StochasticSVC(GRID, n_components=100, voting="best", duplicates="keep", **CHOICES).fit(X, y)
    found = model.classifiers_
    train, validation = found.splits(0)
    assert len(found.members.rows) == min(100, train.size)
    for i in range(GRID.size):
        assert found.errors[i] == np.count_nonzero(found[i].predict(X[validation]) != y[validation])
    assert (found.kkt_violation <= TOL).all()
    # The bound is that of what predicts.
    assert model.certificate_.bound >= np.mean(model.predict(X[validation]) != y[validation])
