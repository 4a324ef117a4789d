"""Every classifier gets rows of its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.data.certified import certified
from tests.ensemble.grids import X, Y

from pacbayes import (
    CertifiedClassifier,
    ClassifierSet,
    Monitor,
    StochasticSVC,
    certify_difference,
    certify_predictions,
    compare_classifiers,
    grid_set,
    svm_set,
    write_report,
)
from pacbayes.data.dataset import check_same_order


def test_classifiers_that_write_into_their_rows_do_not_disturb_the_others():
    pipe = make_pipeline(StandardScaler(copy=False), GaussianNB())
    grid = {"gaussiannb__var_smoothing": [1e-9, 1e-9, 1e-9]}
    before = X.copy()
    classifiers = grid_set(pipe, grid, X, Y, random_state=0)
    np.testing.assert_array_equal(X, before)
    assert len(set(classifiers.errors)) == 1


def test_nor_where_they_predict():
    """The second to be asked was handed what the first had made of the rows, and the user's rows were changed."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) * [1.0, 5.0] + 100.0
    labels = (rows[:, 0] + 0.2 * rows[:, 1] + 0.3 * rng.normal(size=200) > 120.0).astype(int)
    before, grid = rows.copy(), {"logisticregression__C": [0.03, 0.1, 1.0, 10.0]}
    fits = []
    for copy in (True, False):
        pipe = make_pipeline(StandardScaler(copy=copy), LogisticRegression())
        fits.append(certified(pipe, grid, cv=2).fit(rows, labels))
    careful, careless = fits
    assert careless.certificates_ == careful.certificates_
    np.testing.assert_array_equal(careless.classifiers_.predict(rows), careful.classifiers_.predict(rows))
    np.testing.assert_array_equal(careless.vote_share(rows), careful.vote_share(rows))
    for voting in ("stochastic", "majority", "best"):
        said = [clf.set_params(voting=voting).predict(rows) for clf in fits]
        np.testing.assert_array_equal(said[1], said[0])
    estimators = [careless.classifiers_[i] for i in range(4)]
    again = ClassifierSet.from_fitted(estimators, rows, labels)
    np.testing.assert_array_equal(again.errors, (careful.classifiers_.predict(rows) != labels).sum(axis=1))
    compare_classifiers(*estimators[:2], rows, labels)
    np.testing.assert_array_equal(rows, before)


TABLE = pd.DataFrame(X[:60, :2], columns=["a", "b"]).assign(y=np.arange(60) % 2, g=np.arange(60) // 2, w=1.0)
TABLE["late"] = TABLE.index >= 30
BACK = TABLE[::-1]
ROWS = TABLE[["a", "b"]]
BAYES = GaussianNB().fit(ROWS.to_numpy(), TABLE["y"])


def fit(model, y=TABLE["y"], **others):
    return model(random_state=0).fit(ROWS, y, **others)


def bayes(**choices):
    return CertifiedClassifier(GaussianNB(), cv=2, **choices)


def by_slice(**choices):
    return bayes(metrics=("error",), **choices)


def beside(**others):
    """Rows of their own that validate."""
    return {"X_val": ROWS + 0.5, "y_val": TABLE["y"]} | others


@pytest.mark.parametrize(
    ("names", "call"),
    [
        ("X and y", lambda: fit(bayes, BACK["y"])),
        ("X and slices", lambda: fit(by_slice, slices=BACK["g"])),
        ("X and validation", lambda: fit(bayes, validation=BACK["late"])),
        ("X and groups", lambda: fit(lambda **seed: StochasticSVC([1.0], **seed), groups=BACK["g"])),
        ("X_val and y_val", lambda: fit(bayes, **beside(y_val=BACK["y"]))),
        ("X_val and groups_val", lambda: fit(bayes, groups=TABLE["g"], **beside(groups_val=BACK["g"] + 50))),
        ("X_val and y_val", lambda: CertifiedClassifier.from_fitted(BAYES, ROWS, BACK["y"])),
        ("X_val and groups", lambda: CertifiedClassifier.from_fitted(BAYES, ROWS, TABLE["y"], groups=BACK["g"])),
        (r"y_val and predictions\[1\]", lambda: ClassifierSet.from_predictions([TABLE["y"], BACK["y"]], TABLE["y"])),
        ("X and groups", lambda: svm_set(ROWS, TABLE["y"], [1.0], groups=BACK["g"])),
        ("y_true and y_pred", lambda: certify_predictions(TABLE["y"], BACK["y"])),
        ("a and b", lambda: compare_classifiers(TABLE["y"], BACK["y"], None, TABLE["y"])),
        ("wrong_a and wrong_b", lambda: certify_difference(TABLE["late"], BACK["late"])),
        ("y and groups", lambda: compare_classifiers(BAYES, BAYES, ROWS.to_numpy(), TABLE["y"], groups=BACK["g"])),
        ("y_true and y_pred", lambda: Monitor(0.1).update(TABLE["y"], BACK["y"])),
        (r"rows\[0\] and groups", lambda: Monitor(0.1, unit="group").update(*[TABLE["y"]] * 2, groups=BACK["g"])),
        ("X and y_true", lambda: fit(bayes).monitor().update(ROWS + 0.5, BACK["y"])),
        (r"test\[0\] and test\[1\]", lambda: write_report(fit(bayes), "no.html", test=(ROWS + 0.5, BACK["y"]))),
    ],
)
def test_rows_of_one_table_in_two_orders_are_refused(names, call, tmp_path, monkeypatch):
    """An attack had every certificate false: groups of the table beside its rows in another order."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"{names} have the same index in different orders"):
        call()


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        ([0, 1, 2], [0, 1, 2], False),
        ([0, 1, 2], [2, 1, 0], True),
        ([0, 1, 2], [0.0, 2.0, 1.0], True),
        ([0, 1, 2], [1, 2, 3], False),  # as after reset_index of one, or two parts of a table
        ([0, 1, 2], [1, 0], False),  # another error
        (["a", "a", "b"], ["a", "b", "a"], True),
        (["a", "b", None], [None, "a", "b"], True),
        (pd.Index(["a", "b", "c"]), pd.CategoricalIndex(["c", "a", "b"]), True),
        (pd.MultiIndex.from_tuples([(1, "a"), (2, "b")]), pd.MultiIndex.from_tuples([(2, "b"), (1, "a")]), True),
        (pd.MultiIndex.from_tuples([(1, "a"), (2, "b")]), [2, 1], False),
        (pd.date_range("2020", periods=2), pd.date_range("2020", periods=2)[::-1], True),
    ],
)
def test_labels_are_the_same_if_each_occurs_as_often(one, other, refused):
    tables = {"X": pd.DataFrame({"a": range(len(one))}, index=one), "y": pd.Series(range(len(other)), index=other)}
    advice = "use y.loc" if tables["X"].index.is_unique else "take both from one table, in one order, or y.to_numpy"
    if refused:
        with pytest.raises(ValueError, match=advice):
            check_same_order(**tables)
    else:
        check_same_order(**tables)
    check_same_order(X=tables["X"], y=tables["y"].to_numpy(), groups=None, slices=[1, 2])
