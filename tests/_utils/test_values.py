"""Encoding of values as JSON and arrays; fingerprints, equal for equal bits in any process."""

import copy
import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
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

from pacbayes._utils.values import Decoder, Encoder, fingerprint

SOURCES = Path(__file__).parents[2] / "src"
X, Y = load_iris(return_X_y=True)
TABLE = sparse.csr_array(np.maximum(X - 2.0, 0.0))


@dataclass
class Point:
    """Point with a non-negative coordinate."""

    x: float


def check_point(point):
    if not point.x >= 0:
        raise ValueError("Point.x must not be negative")


def plus(x, by):
    return x + by


PLAIN = [
    None,
    *(0, 0.0, -0.0, False, "0", [], (), {}, 10**30, float("nan"), float("inf"), ["ab", "c"], ["a", "bc"]),
    *([["a"], "b"], [["a", "b"]], ("a", "b"), {"a": "b"}, {1: (2.0, [None])}),
    *(np.zeros(4), np.zeros((2, 2)), np.zeros((4, 1)), np.array(0.5), X.astype("f4"), np.array([True])),
    *(np.array(["a", "b"]), np.array(["a", "b"], dtype=object), np.array(["a", 1], dtype=object)),
]  # fmt: skip
DIFFERENT = [
    *PLAIN,
    *(np.float32(0.0), np.float64(0.0), np.int64(0), 0j, b"0", set(), {"a", "b"}, frozenset({"a", "b"})),
    *(np.asfortranarray(X), X, X[:, ::-1]),
    *(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), np.array([(1, 3.0)], dtype=[("a", "i4"), ("b", "f8")])),
    *(TABLE, TABLE.tocsc(), TABLE[:, ::-1], sparse.csr_matrix(TABLE)),
    *(pd.DataFrame(X), pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X + 1)),
    *(pd.Series(Y), pd.Series(Y, dtype="category")),
    *(LogisticRegression(), LogisticRegression(C=2.0), StandardScaler(), LogisticRegression, np.log, np.exp, len),
    *(make_pipeline(StandardScaler(copy=some), LogisticRegression()) for some in (True, False)),
    *(FunctionTransformer(np.log1p), FunctionTransformer(np.log)),
    *(partial(plus, by=1), partial(plus, by=2), np.random.RandomState(0), np.random.RandomState(1)),
    *(np.random.default_rng(0), np.random.default_rng(1), slice(1, 2), range(3), np.dtype("f4")),
]  # fmt: skip


def test_round_trip():
    encoder = Encoder({Point: check_point})
    stored = json.loads(json.dumps(encoder.encode([*PLAIN, Point(0.5), np.float64(0.5)])))
    *plain, point, number = Decoder({Point: check_point}, encoder.arrays).decode(stored)
    assert list(map(fingerprint, plain)) == list(map(fingerprint, PLAIN))
    assert (point, number) == (Point(0.5), 0.5)


@pytest.mark.parametrize("value", [b"", {1}, 0j, np.array([0j]), np.array([object()]), len, LogisticRegression()])
def test_unsupported_values_are_refused(value):
    with pytest.raises(TypeError, match="cannot be written as JSON and arrays"):
        Encoder({}).encode([value])


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"@": "Point", "x": -1.0}, "Point.x must not be negative"),
        ({"@": "Point", "y": 1.0}, "fields y, which this version does not know"),
        ({"@": "Popen"}, "names 'Popen', which is no part"),
        ({"@": None}, "names None"),
        ([{"@": "array", "number": 0}] * 2, "names array 0 twice"),
        ({"@": "array", "number": True}, "names part True"),
        ({"@": "array", "number": -1}, "names part -1"),
        ({"@": "objects", "values": [[]]}, "must hold numbers or text"),
    ],
)
def test_invalid_values_are_refused(stored, message):
    with pytest.raises(ValueError, match=message):
        Decoder({Point: check_point}, [np.zeros(1)]).decode(stored)


def test_fingerprints_differ_for_different_values_only():
    prints = list(map(fingerprint, DIFFERENT))
    assert len(set(prints)) == len(prints)
    forests = [kind(n_estimators=3, random_state=0) for kind in (GradientBoostingClassifier, RandomForestClassifier)]
    for value in [*DIFFERENT, *(forest.fit(X, Y) for forest in forests)]:
        assert fingerprint(value) == fingerprint(copy.deepcopy(value))
        assert fingerprint(value) == fingerprint(pickle.loads(pickle.dumps(value)))


@pytest.mark.parametrize("part", ["ab", ["ab"], ("ab", 1.5), X, LogisticRegression()])
def test_fingerprint_ignores_object_identity(part):
    assert fingerprint([part, part]) == fingerprint([part, pickle.loads(pickle.dumps(part))])


def test_fingerprint_in_another_process():
    # Another process has another order of the set of letters.
    code = "from pacbayes._utils.values import fingerprint; print(fingerprint([set('abcdefghijklmnop'), 'text', 1.5]))"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint([set("abcdefghijklmnop"), "text", 1.5])
