"""A certificate from a confusion matrix: the same bits as from rows, whatever their number."""

import math
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pacbayes import Cost, certify_counts, certify_predictions

METRICS = ("error", "recall", "precision", "f1", "specificity", "youden", "balanced_error")
NAMES = np.array(["a", "b", "c", "d", "e"])


def random_table(rng):
    """A confusion matrix of two to five classes, none of which lacks rows and predictions, and its rows."""
    k = int(rng.integers(2, 6))
    table = rng.poisson(rng.choice([0.3, 2.0, 30.0]), (k, k)) + np.diag(rng.integers(1, 40, k))
    y_true, y_pred = (np.repeat(NAMES[codes.ravel()], table.ravel()) for codes in np.indices(table.shape))
    order = rng.permutation(y_true.size)
    return table, y_true[order], y_pred[order]


def test_same_bits_as_from_rows_on_500_random_tables():
    rng = np.random.default_rng(20)
    for _ in range(500):
        table, y_true, y_pred = random_table(rng)
        k = len(table)
        cost = Cost(rng.uniform(0.0, 3.0, (k, k)) * (1.0 - np.eye(k)), NAMES[:k])
        options = {
            "metrics": tuple(METRICS[i] if i < len(METRICS) else cost for i in rng.permutation(len(METRICS) + 1)[:3]),
            "delta": float(rng.choice([0.01, 0.05])),
            "pos_label": str(rng.choice(NAMES[:k])) if rng.random() < 0.5 else None,
        }
        order = rng.permutation(k)
        counted = certify_counts(table[np.ix_(order, order)], classes=NAMES[order], **options)
        by_rows = certify_predictions(y_true, y_pred, **options)
        assert replace(counted, assumptions=counted.assumptions[:-1]) == by_rows


def test_a_billion_rows_take_milliseconds():
    table = [[900_000_000, 20_000_000], [1_000_000, 79_000_000]]
    certify_counts(table, classes=[0, 1])
    start = time.perf_counter()
    found = certify_counts(table, classes=[0, 1], metrics=("recall", "f1", "balanced_error"))
    assert time.perf_counter() - start < 0.5
    assert found.m == 10**9
    assert 0.021 < found.bound < 0.02102
    assert 0.9874 < found.metrics[1].bound < 0.9875


def test_what_counts_cannot_show_is_an_assumption():
    text = certify_counts([[50, 1], [2, 47]], classes=["no", "yes"]).explain()
    for words in ("duplicates", "group", "training"):
        assert words in text.splitlines()[-1]


def test_a_class_without_rows_counts_as_a_class():
    """It was fixed beforehand: its bounds take a share, and prove nothing."""
    found = certify_counts([[50, 0, 0], [2, 47, 0], [0, 0, 0]], classes=["a", "b", "c"], metrics=("recall",))
    assert [(one.of, one.rows) for one in found.metrics] == [("a", 50), ("b", 49), ("c", 0)]
    two = certify_counts([[50, 0], [2, 47]], classes=["a", "b"], metrics=("recall",))
    assert found.metrics[0].bound < two.metrics[0].bound
    assert found.bound == two.bound


def test_a_data_frame_must_be_in_the_order_of_the_classes():
    y_true, y_pred = pd.Series(list("aabbb"), name="true"), pd.Series(list("ababb"), name="predicted")
    table = pd.crosstab(y_true, y_pred)
    assert certify_counts(table, classes=["a", "b"]).m == 5
    with pytest.raises(ValueError, match="reindex"):
        certify_counts(table, classes=["b", "a"])
    with pytest.raises(ValueError, match="as its columns"):
        certify_counts(table[["b", "a"]], classes=["a", "b"])


@pytest.mark.parametrize(
    ("confusion", "options", "error", "message"),
    [
        ([[1, 2, 3], [4, 5, 6]], {}, ValueError, "for each of 2 classes"),
        ([[1, -2], [3, 4]], {}, ValueError, "nonnegative"),
        ([[2**62, 2**62], [2**62, 2**62]], {}, ValueError, "from 1 to"),
        (np.ma.array([[1, 2], [3, 4]], mask=[[True, False], [False, False]]), {}, ValueError, "masked"),
        ([[5, 1], [1, 5]], {"classes": ["a", "a"]}, ValueError, "unique"),
        ([[5, 1], [1, 5]], {"classes": ["a", None]}, ValueError, "classes"),
        ([[5, 1], [1, 5]], {"metrics": (Cost([[0, 1], [1, 0]], [0, 1]),)}, ValueError, "contain every class"),
        ([[5, 1], [1, 5]], {"delta": 1.0}, ValueError, "delta"),
    ],
)
def test_invalid_input_is_refused(confusion, options, error, message):
    with pytest.raises(error, match=message):
        certify_counts(confusion, **{"classes": ["a", "b"]} | options)


def test_the_largest_number_of_rows():
    found = certify_counts([[2**53 - 1, 1], [0, 0]], classes=["a", "b"])
    assert found.m == 2**53
    assert math.ldexp(1.0, -53) < found.bound < 1e-8
