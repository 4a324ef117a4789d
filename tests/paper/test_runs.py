"""Runs: against scikit-learn on the same rows, used again, overlapping where they should be."""

import numpy as np
import pytest
from sklearn.svm import SVC

from pacbayes import load_dataset, svm_set
from pacbayes._utils.seeds import make_rng
from pacbayes.paper import runs
from pacbayes.paper.protocol import COSTS, SCALINGS, SPLIT_SCHEMES, Protocol
from pacbayes.paper.runs import Cache, train

LAMBDAS = np.array([0.1, 1.0, 10.0])


def put_aside(n, size, seed):
    """Return the test rows of a run and the others, as they have always been drawn: the published tables hold them."""
    order = make_rng(seed, 0).permutation(n)
    return np.sort(order[:size]), np.sort(order[size:])


def by_scikit_learn(name, protocol, seed):
    """Errors of the same machines, trained by LIBSVM on rows and width looked up in the set."""
    data = load_dataset(name)
    rows, scale = protocol.prepare(data.data)
    sizes = data.split_sizes
    split = "independent" if protocol.split == "independent" else "shared"
    test, rest = put_aside(len(rows), sizes.test, seed)
    found = svm_set(
        rows[rest], data.target[rest], LAMBDAS, scale=scale, split=split, validation_size=sizes.validation,
        random_state=seed,
    )  # fmt: skip
    errors, test_errors = [], []
    for i, lam in enumerate(LAMBDAS):
        fit, validation = (rest[part] for part in found.splits(i))
        if protocol.split == "overlapping":
            validation = make_rng(seed, 102).choice(rest, sizes.validation, replace=False)
        mean, std = rows[fit].mean(axis=0), rows[fit].std(axis=0, ddof=1)
        scaled = (rows - mean) / std if scale == "kernlab" and (std > 0).all() else rows - mean
        machine = SVC(C=1 / lam, gamma=found.params[i]["gamma"]).fit(scaled[fit], data.target[fit])
        wrong = machine.predict(scaled) != data.target
        errors.append(wrong[validation].sum())
        test_errors.append(wrong[test].sum())
    return np.array(errors), np.array(test_errors)


@pytest.mark.parametrize("split", SPLIT_SCHEMES)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_errors_are_those_of_scikit_learn(tmp_path, split, scaling):
    protocol = Protocol(scaling, split)
    run = train("haberman", LAMBDAS, protocol, 3, Cache(tmp_path), 1)
    errors, test_errors = by_scikit_learn("haberman", protocol, 3)
    # Both solvers stop at a tolerance of 1e-3: a point next to the boundary may fall on either side.
    np.testing.assert_allclose(run.errors, errors, atol=1)
    np.testing.assert_allclose(run.test_errors, test_errors, atol=1)
    assert (run.m, run.m_test) == (122, 62)


def test_a_second_run_computes_nothing(tmp_path, monkeypatch):
    first = [train("haberman", LAMBDAS, Protocol("raw", split), 0, Cache(tmp_path), 1) for split in SPLIT_SCHEMES]
    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == 2  # shared and overlapping samples are counted on the same machines

    def refuse(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(runs, "svm_set", refuse)
    second = [train("haberman", LAMBDAS, Protocol("raw", split), 0, Cache(tmp_path), 1) for split in SPLIT_SCHEMES]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)
    with pytest.raises(AssertionError, match="trained again"):
        train("haberman", LAMBDAS, Protocol("raw", "shared"), 1, Cache(tmp_path), 1)


def test_what_a_key_depends_on(tmp_path):
    raw = Protocol("raw")
    others = (Protocol("min-max"), Protocol("raw", sigma="once"), Protocol("raw", cost=COSTS[1]))
    for lambdas, protocol, seed in [(LAMBDAS, one, 0) for one in (raw, *others)] + [
        (LAMBDAS[:2], raw, 0),
        (LAMBDAS, raw, 1),
    ]:
        train("haberman", lambdas, protocol, seed, Cache(tmp_path), 1)
    assert len(list(tmp_path.iterdir())) == 6

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # an interrupted computation leaves nothing
        Cache(tmp_path).get("a", {}, fail)
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.filterwarnings("ignore:Column 5 alone determines the class")  # a leak is what it is about
def test_overlapping_flatters():
    """Half of the validation examples were trained on, so fewer are wrong where training errors are fewer."""
    data = load_dataset("bupa-leaky")
    differences = []
    for seed in range(5):
        rest = put_aside(len(data.data), 69, seed)[1]
        found = svm_set(data.data[rest], data.target[rest], [0.1], scale=False, validation_size=138, random_state=seed)
        sample = make_rng(seed, 102).choice(rest, 138, replace=False)
        trained = np.isin(sample, rest[found.splits(0)[0]]).mean()
        assert 0.35 < trained < 0.65
        wrong = found.predict(data.data[sample])[0] != data.target[sample]
        differences.append(found.errors[0] - wrong.sum())
    assert np.mean(differences) > 5
