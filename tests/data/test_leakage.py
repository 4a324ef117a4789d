"""A column that alone determines the class, and one that names subjects: warned of where planted, and not elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from pacbayes import CertifiedClassifier, Grid, load_dataset
from pacbayes.data.bundled import DATASETS
from pacbayes.data.leakage import determines_class, evenness_p_value, warn_about_leakage

RNG = np.random.default_rng(0)
ROWS = 400
CODES = RNG.integers(0, 2, ROWS)
HONEST = pd.DataFrame({"a": RNG.normal(CODES, 1.0), "b": RNG.integers(0, 9, ROWS), "c": RNG.choice(list("xyz"), ROWS)})
LEAKS = {
    "the class again": CODES,
    "as text": np.where(CODES == 1, "paid", "due").astype(object),
    "several texts": np.array(["a", "b", "c", "d"], dtype=object)[2 * CODES + RNG.integers(0, 2, ROWS)],
    "a threshold": np.where(CODES == 1, 5.0, 1.0) + RNG.random(ROWS),
    "falling": -3.0 * CODES + RNG.random(ROWS),
    "filled in afterwards": np.where(CODES == 1, RNG.random(ROWS), np.nan),
    "a remark afterwards": np.where(CODES == 1, "fined", None).astype(object),
    "numbers that take turns": 2 * RNG.integers(0, 6, ROWS) + CODES,
    "truth": CODES == 1,
    "a day": pd.to_datetime(np.where(CODES == 1, "2024-06-01", "2024-05-01")),
    "nullable": pd.array(CODES, dtype="Int64"),
    "a category": pd.Categorical(np.where(CODES == 1, "yes", "no")),
}


def said_of(X, codes, train=None, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_leakage(X, codes, np.arange(len(codes)) if train is None else train, **options)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("case", LEAKS)
def test_a_column_that_decides_is_named(case):
    (said,) = said_of(HONEST.assign(leak=LEAKS[case]), CODES)
    assert said.startswith("Column 'leak' alone determines the class of all 400 training rows.")
    assert "recorded after the outcome: then drop it from X. If it is known before, ignore this warning" in said


def test_every_column_that_decides_is_named():
    """Neither gaps at random nor codes of one class each, which may be persons, hide any."""
    rng = np.random.default_rng(2)
    gaps = rng.random(ROWS) < 0.2
    leaks = {name: values for name, values in LEAKS.items() if name != "a day"}
    (said,) = said_of(HONEST.assign(**leaks), CODES)
    assert all(repr(name) in said for name in leaks)
    some = {f"{name}, gaps": pd.Series(values).mask(gaps) for name, values in leaks.items()}
    (said,) = said_of(HONEST.assign(**some), CODES)
    assert said.startswith("Each of the columns 'the class again, gaps', 'as text, gaps', ")
    assert "alone determines the class of all 400 training rows in which it is not missing. " in said
    codes = np.array([f"{code}-{rng.integers(20)}" for code in CODES], dtype=object)
    subject, said = sorted(said_of(HONEST.assign(codes=codes, paid=CODES, fee=LEAKS["a threshold"]), CODES))
    assert subject.startswith("Column 'codes' looks like a person or thing with several rows: 40 values, with one")
    assert subject.endswith("it determines the class: if it was recorded after the outcome, drop it from X.")
    assert said.startswith("Each of the columns 'paid', 'fee' alone determines the class of all 400 training rows.")


@pytest.mark.parametrize("case", ["the class again", "as text", "numbers that take turns", "truth", "a category"])
def test_gaps_do_not_make_a_column_decide(case):
    """One row with another value, beside gaps at random; a tenth of the rows with a value; gaps alone."""
    rng = np.random.default_rng(3)
    values = pd.Series(LEAKS[case]).astype(object)
    one, zero = int(np.flatnonzero(CODES == 1)[0]), int(np.flatnonzero(CODES == 0)[0])
    other = values.mask(rng.random(ROWS) < 0.2)
    other[one] = other[zero] = values[zero]
    few = values.mask(rng.random(ROWS) < 0.9)
    assert said_of(HONEST.assign(other=other, few=few, none=values.mask(values == values)), CODES) == []


@pytest.mark.parametrize("case", [case for case in LEAKS if case != "a threshold" and case != "falling"])
def test_one_row_otherwise_and_it_does_not(case):
    values = pd.Series(LEAKS[case]).copy()
    one, zero = int(np.flatnonzero(CODES == 1)[0]), int(np.flatnonzero(CODES == 0)[0])
    values[one] = values[zero]
    assert said_of(HONEST.assign(leak=values), CODES) == []


def test_only_classes_of_training_rows_are_looked_at():
    leak = HONEST.assign(leak=np.where(np.arange(ROWS) < 250, CODES, 0))
    assert said_of(leak, CODES) == []
    assert len(said_of(leak, CODES, np.arange(250))) == 1
    scrambled = np.where(np.arange(ROWS) < 250, CODES, RNG.permutation(CODES))
    assert said_of(leak, scrambled, np.arange(250)) == said_of(leak, CODES, np.arange(250))


def test_three_classes_in_order_and_many_columns():
    codes = RNG.integers(0, 3, ROWS)
    X = np.column_stack([RNG.normal(size=ROWS), *(codes + RNG.random(ROWS) / 2 for _ in range(5))])
    (said,) = said_of(X, codes)
    assert said.startswith("Each of the columns 1, 2, 3, 4, 5 alone determines")
    # Two of three classes alone are not the class.
    assert said_of(np.column_stack([X[:, 0], codes == 1]), codes) == []


def test_few_rows_and_few_of_the_other_class():
    for rows, other in ((99, 40), (400, 29)):
        codes = (np.arange(rows) < other).astype(int)
        assert not determines_class(codes, codes)
    for rows, other in ((102, 40), (400, 31)):
        codes = (np.arange(rows) < other).astype(int)
        assert determines_class(codes, codes)


def test_columns_that_err_rarely_pass_for_deciding_as_often_as_said():
    """A column that errs on 5 % of rows, 100 rows: fewer than 6 of 1000 (exactly 0.95^100 = 0.0059)."""
    rng, found = np.random.default_rng(1), 0
    for _ in range(4000):
        codes = np.arange(100) % 2
        found += determines_class(codes ^ (rng.random(100) < 0.05), codes)
    # 23.7 are expected of 4000 by (1 - e)^n alone; that values need two rows more makes it none.
    assert found <= 40
    assert not any(determines_class(codes ^ (rng.random(200) < 0.05), codes) for codes in [np.arange(200) % 2] * 200)


def test_rows_of_one_unit_say_the_same():
    """Fifty patients with 24 rows: whatever is the same for all rows of one decides, and means nothing."""
    who = np.repeat(np.arange(50), 24)
    codes = who % 2
    weight = RNG.permutation(50)[who]
    assert said_of(pd.DataFrame({"weight": weight}), codes, units=who, groups=np.arange(1200)) == []
    assert len(said_of(pd.DataFrame({"weight": weight}), codes, groups=np.arange(1200))) == 1
    said = said_of(pd.DataFrame({"who": who, "weight": weight / 2.0}), codes)
    assert len(said) == 1
    assert said[0].startswith("Column 'who' looks like")


SUBJECTS = {
    "visited equally often": ("x", np.tile(np.arange(50), 8)),
    "in any order": ("x", RNG.permutation(np.repeat(RNG.permutation(5000)[:50], 8))),
    "text": ("x", RNG.permutation(np.repeat([f"s{i}" for i in range(50)], 8)).astype(object)),
    "pairs": ("x", RNG.permutation(np.repeat(np.arange(200), 2))),
    "some visits missed": ("x", np.tile(np.arange(60), 8)[RNG.permutation(480)[:ROWS]]),
    "a name": ("patient_id", RNG.integers(0, 60, ROWS)),
    "a name, few again": ("subject", np.concatenate([np.arange(340), np.arange(60)])),
    "as numbers with gaps": ("person", np.where(np.arange(ROWS) == 3, np.nan, RNG.integers(0, 60, ROWS))),
}


@pytest.mark.parametrize("case", SUBJECTS)
def test_subjects_in_any_order_are_named(case):
    name, values = SUBJECTS[case]
    (said,) = said_of(HONEST.assign(**{name: values}), CODES)
    assert said.startswith(f"Column '{name}' looks like a person or thing with several rows: ")
    assert f"use groups=X['{name}'] and drop it from X" in said
    assert said_of(HONEST.assign(**{name: values}), CODES, groups=np.arange(ROWS)) == []
    X = np.column_stack([HONEST["a"], values]) if case != "text" else None
    if X is not None and name == "x":
        assert "Column 1 looks like" in said_of(X, CODES)[0]
        assert "groups=X[:, 1]" in said_of(X, CODES)[0]


def test_subjects_of_one_class_each():
    visits = RNG.integers(1, 16, 60)
    who = np.repeat(np.arange(60), visits)
    codes = RNG.integers(0, 2, 60)[who]
    (said,) = said_of(pd.DataFrame({"x": who, "a": RNG.normal(size=who.size)}), codes)
    assert "60 values, with one class in all training rows of each" in said


MEASURED = {
    "ages": RNG.integers(20, 80, ROWS),
    "ages, normal": RNG.normal(50, 12, ROWS).round(),
    "counts": RNG.poisson(30, ROWS),
    "towns": RNG.choice([f"town {i}" for i in range(60)], ROWS, p=RNG.dirichlet(np.full(60, 0.5))).astype(object),
    "towns, all as large": RNG.choice([f"town {i}" for i in range(60)], ROWS).astype(object),
    "fractions": np.tile(RNG.random(50), 8),
    "hours, each as often": np.tile(np.arange(24), 25)[:ROWS] % 20,
    "all different": RNG.permutation(ROWS),
}


@pytest.mark.parametrize("case", MEASURED)
def test_measurements_are_no_subjects(case):
    assert said_of(HONEST.assign(x=MEASURED[case]), CODES) == []


@pytest.mark.parametrize(("values", "rows"), [(20, 60), (50, 600), (200, 300), (1000, 1500), (1000, 8000)])
def test_independent_draws_are_even_no_more_often_than_said(values, rows):
    """Equal probabilities are the worst case: at the level 1 % not more than 2 %."""
    rng = np.random.default_rng(values)
    draws = rng.multinomial(rows, np.full(values, 1 / values), 1000)
    assert np.mean([evenness_p_value(one[one > 0]) < 0.01 for one in draws]) <= 0.02
    unequal = rng.multinomial(rows, rng.dirichlet(np.full(values, 3.0)), 300)
    assert np.mean([evenness_p_value(one[one > 0]) < 0.01 for one in unequal]) <= 0.02


@pytest.mark.parametrize("mean", [1.05, 1.5, 2.0, 4.0, 20.0])
def test_unequal_probabilities_add_to_the_variance(mean):
    """Mixtures of two Poisson variables that are not zero vary at least as one with the same mean: a brute check."""
    k = np.arange(1, 200)

    def moments(rate):
        weight = np.exp(k * np.log(rate) - rate - np.cumsum(np.log(k))) / -np.expm1(-rate)
        return weight @ k, weight @ (k * k)

    rates = np.geomspace(1e-3, 60.0, 80)
    first, second = np.array([moments(rate) for rate in rates]).T
    one = np.interp(mean, first, rates)
    for _ in range(60):  # the rate with this mean, by bisection
        one *= mean / moments(one)[0]
    least = moments(one)[1]
    for low in np.flatnonzero(first < mean):
        for high in np.flatnonzero(first > mean):
            share = (first[high] - mean) / (first[high] - first[low])
            assert share * second[low] + (1 - share) * second[high] >= least * (1 - 1e-9)


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "bupa-leaky"])
def test_honest_data_sets_are_passed_in_silence(name):
    data = load_dataset(name, as_frame=True)
    codes = data.target.to_numpy()
    for seed in range(5):
        train = np.sort(np.random.default_rng(seed).permutation(codes.size)[: codes.size // 2])
        assert said_of(data.data, codes, train) == []


def test_iris_is_honest_and_bupa_leaky_is_not():
    X, y = load_iris(return_X_y=True)
    assert said_of(np.tile(X, (4, 1)), np.tile(y, 4), units=np.tile(np.arange(150), 4)) == []
    data = load_dataset("bupa-leaky", as_frame=True)
    (said,) = said_of(data.data, data.target.to_numpy())
    assert said.startswith("Column 'drinks' alone determines")


def test_rows_that_are_no_table_are_passed_over():
    for X in (sp.csr_array(CODES[:, None]), [f"text {code}" for code in CODES], np.zeros((ROWS, 2, 2)), [[1], [1, 2]]):
        assert said_of(X, CODES[: len(X) if isinstance(X, list) else ROWS]) == []
    assert len(said_of([[code + 0.25 * (row % 3), 0.5] for row, code in enumerate(CODES)], CODES)) == 1
    lists = pd.DataFrame({"a": [[code] for code in CODES], "b": CODES})
    assert said_of(lists, CODES)[0].startswith("Column 'b' alone")


def test_an_estimator_warns_before_it_is_fitted():
    X = HONEST[["a"]].assign(leak=LEAKS["a threshold"])
    clf = CertifiedClassifier(Grid(LogisticRegression(), {"C": [0.1, 1.0]}), random_state=0)
    with pytest.warns(UserWarning, match="Column 'leak' alone determines the class of all 200 training rows") as caught:
        clf.fit(X, CODES)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    who = np.tile(np.arange(50), 8)
    with pytest.warns(UserWarning, match=r"Column 1 looks like .*groups=X\[:, 1\]"):
        clf.fit(np.column_stack([HONEST["a"], who]), CODES)
    with pytest.warns(UserWarning, match="Column 1 of X identifies the groups"):
        clf.fit(np.column_stack([HONEST["a"], who]), CODES, groups=who + 7)


def test_names_in_any_order_are_suggested_as_groups():
    """1618 restaurants with about 17 rows each passed in silence: 13.6 % errors on random rows, 21.8 % on new names."""
    rng = np.random.default_rng(0)
    who = rng.choice(200, 3000, p=rng.dirichlet(np.ones(200)))
    names = np.array([f"n{i}" for i in range(200)], dtype=object)[who]
    (message,) = said_of(pd.DataFrame({"shop": names}), (who % 2) ^ (rng.random(3000) < 0.2))
    assert message.startswith("Column 'shop' holds ")
    assert "use groups=X['shop']" in message
    assert said_of(pd.DataFrame({"shop": names}), rng.integers(0, 2, 3000)) == []
