"""Fingerprints: equal for equal bits in any process, different for everything that differs."""

import copy
import itertools
import os
import pickle
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pacbayes._utils.values import fingerprint

SOURCES = Path(__file__).parents[2] / "src"
X, Y = load_iris(return_X_y=True)
TABLE = sparse.csr_array(np.maximum(X - 2.0, 0.0))


def plus(x, by):
    return x + by


DIFFERENT = [
    None,
    *(0, 0.0, -0.0, False, np.float32(0.0), np.float64(0.0), np.int64(0), 0j, "0", b"0", (), [], {}, set()),
    *(float("nan"), float("inf"), ["ab", "c"], ["a", "bc"], [["a"], "b"], [["a", "b"]], ("a", "b")),
    *({"a": "b"}, {"a", "b"}, frozenset({"a", "b"})),
    *(np.zeros(4), np.zeros((2, 2)), np.zeros((4, 1)), np.asfortranarray(X), X, X[:, ::-1], X.astype("f4")),
    *(np.array(["a", "b"]), np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)),
    *(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), np.array([(1, 3.0)], dtype=[("a", "i4"), ("b", "f8")])),
    *(TABLE, TABLE.tocsc(), TABLE[:, ::-1], sparse.csr_matrix(TABLE)),
    *(pd.DataFrame(X), pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X + 1)),
    *(pd.Series(Y), pd.Series(Y, dtype="category")),
    *(LogisticRegression(), LogisticRegression(C=2.0), StandardScaler(), LogisticRegression, np.log, np.exp, len),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(copy=False), LogisticRegression()),
    *(FunctionTransformer(np.log1p), FunctionTransformer(lambda x: x + 1), FunctionTransformer(lambda x: x + 2)),
    *(partial(plus, by=1), partial(plus, by=2), np.random.RandomState(0), np.random.RandomState(1)),
    *(np.random.default_rng(0), np.random.default_rng(1), slice(1, 2), range(3), np.dtype("f4")),
]  # fmt: skip


def test_different_values_differ():
    for (i, a), (j, b) in itertools.combinations(enumerate(fingerprint(value) for value in DIFFERENT), 2):
        assert a != b, (DIFFERENT[i], DIFFERENT[j])


def test_copies_agree():
    fitted = [
        GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, Y),
        RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y),
    ]
    for value in [*DIFFERENT, *fitted]:
        expected = fingerprint(value)
        assert expected == fingerprint(copy.deepcopy(value))
        if not isinstance(value, FunctionTransformer):
            assert expected == fingerprint(pickle.loads(pickle.dumps(value)))
    text = "".join(["a", "b"])
    assert fingerprint(["ab", "ab"]) == fingerprint([text, "ab"])


def test_one_bit_of_a_fitted_forest_shows():
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y)
    before = fingerprint(forest)
    forest.estimators_[1].tree_.threshold[0] = np.nextafter(forest.estimators_[1].tree_.threshold[0], np.inf)
    assert fingerprint(forest) != before


def test_same_in_another_process():
    code = (
        "from sklearn.ensemble import RandomForestClassifier\n"
        "from pacbayes._utils.values import fingerprint\n"
        "print(fingerprint([RandomForestClassifier(3, max_features=0.5), set('abcdefghijklmnop'), 'text', 1.5]))"
    )
    # In another process the letters come in another order, of which there are too many to meet the same one.
    values = [RandomForestClassifier(3, max_features=0.5), set("abcdefghijklmnop"), "text", 1.5]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint(values)


def test_cycles_end_and_locks_are_refused():
    one, two = [1], [2]
    one.append(one)
    two.append(two)
    assert fingerprint(one) != fingerprint(two)
    with pytest.raises(TypeError, match="has no fingerprint, because it cannot be pickled"):
        fingerprint(threading.Lock())
