"""How a table was read: what a fit sees, what a file stores, what a hostile file may not say."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pacbayes import StochasticSVC, load, save
from pacbayes.data.tables import TableReading, TextColumn


@pytest.mark.parametrize(
    ("column", "text", "unclear"),
    [
        ([1, 2], False, False),
        ([1.5, np.nan], False, False),
        ([True, False], False, False),
        (pd.array([1, None], dtype="Int64"), False, False),
        (pd.Series([True, None], dtype=object), False, False),
        (pd.Categorical([1, 2]), False, False),
        (pd.Series([None, None], dtype=object), False, False),
        (["a", "b"], True, False),
        (["1", "01"], True, False),
        (pd.Series(["a", None], dtype="string"), True, False),
        (pd.Categorical(["a", "b"]), True, False),
        (pd.Series(["a", 1], dtype=object), False, True),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), False, True),
        (pd.Series([b"a", b"b"], dtype=object), False, True),
    ],
)
def test_kinds_of_columns(column, text, unclear):
    reading = TableReading.of(pd.DataFrame({"x": [0.0, 1.0], "c": column}))
    assert reading == TableReading((TextColumn(1),) if text else (), (1,) if unclear else ())


def test_rows_of_other_kinds():
    assert TableReading.of(np.ones((3, 2))) == TableReading()
    assert TableReading.of(sp.csr_array(np.eye(3))) == TableReading()
    assert TableReading.of([[1.0, "a"], [2.0, "b"]]) == TableReading((TextColumn(1),))
    assert TableReading.of(np.array([["1", "a"], ["2", " b"]])).text == (TextColumn(0), TextColumn(1))
    for rows in (["a", "b"], [[1], [1, 2]], np.ones((2, 2, 2))):
        assert TableReading.of(rows) is None


def with_reading(clf, reading):
    """Return a fitted model that says its table was read like this; no constructor looks at it."""
    object.__setattr__(clf._fitted.plan, "reading", reading)
    return clf


def forged(kind, **values):
    """Return what its constructor would refuse."""
    made = object.__new__(kind)
    vars(made).update(values)
    return made


def test_a_file_gives_it_back(tmp_path):
    X = pd.DataFrame({"x": [float(i) for i in range(60)], "y": [i % 7 for i in range(60)]})
    reading = TableReading((TextColumn(1, ("NA",), True),), (0,), ("", "999"), False, True)
    save(with_reading(StochasticSVC([1.0], random_state=0).fit(X, [0, 1] * 30), reading), tmp_path / "m")
    assert load(tmp_path / "m")._fitted.plan.reading == reading


def column(**change):
    return forged(TextColumn, **{"place": 0, "words": (), "has_both": False} | change)


@pytest.mark.parametrize(
    "change",
    [
        {"text": ["x"]},
        {"text": ("x",)},
        {"unclear": (0.0,)},
        {"missing": "NA"},
        {"missing": (1,)},
        {"as_written": 1},
        {"spaces": None},
        {"text": (column(place=True),)},
        {"text": (column(words=(1,)),)},
        None,
    ],
)
def test_what_cannot_be_is_refused(change, tmp_path):
    clf = StochasticSVC([1.0], random_state=0).fit([[float(i), i % 3] for i in range(60)], [0, 1] * 30)
    save(with_reading(clf, forged(TableReading, **vars(TableReading()))), tmp_path / "m")
    load(tmp_path / "m")
    reading = {"text": ()} if change is None else forged(TableReading, **vars(TableReading()) | change)
    save(with_reading(clf, reading), tmp_path / "m")
    with pytest.raises(ValueError, match="not a model saved by pacbayes"):
        load(tmp_path / "m")
