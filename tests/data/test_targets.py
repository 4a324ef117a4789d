"""Labels of a file."""

import numpy as np
import pandas as pd
import pytest

from pacbayes.data.targets import check_classes, parse_labels


@pytest.mark.parametrize(
    ("texts", "labels", "kind"),
    [
        (["1", "2", "1"], [1, 2, 1], "i"),
        (["1.0", "2.0"], [1, 2], "i"),
        (["0.5", "2"], [0.5, 2.0], "f"),
        (["True", "false"], [True, False], "b"),
        (["a", " b"], ["a", "b"], "U"),
        (["1", "x"], ["1", "x"], "U"),
        ([str(2**63 + 1), "3"], [2**63 + 1, 3], "u"),
    ],
)
def test_labels_are_numbers_where_all_are(texts, labels, kind):
    found = parse_labels(pd.Series(texts, name="y", dtype=object), "data.csv")
    assert found.tolist() == labels
    assert found.dtype.kind == kind


@pytest.mark.parametrize("pair", [("1", "01"), ("7", "7.0"), ("P7", "p7 "), ("True", "TRUE"), ("new york", "New York")])
def test_two_spellings_of_a_class_are_refused(pair):
    with pytest.raises(ValueError, match=r"column 'y' of 'data\.csv' holds both"):
        parse_labels(pd.Series([*pair, "z"], name="y", dtype=object), "data.csv")


def test_classes():
    check_classes(np.array(["a", "b"]), "y")
    check_classes(np.arange(100) % 100, "y")
    with pytest.raises(ValueError, match="at most 100 classes, but it holds 101 different values in 101 rows"):
        check_classes(np.arange(101), "y")
