"""Validation predictions: impossible values are refused, counts equal a loop, each row is predicted once."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grouped import is_rounded_up
from tests.ensemble.told import told

from pacbayes import CertifiedClassifier, Grid
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import DISTINCT, GROUP, plan_split, validation_split
from pacbayes.ensemble import validation as module
from pacbayes.ensemble.members import Estimators, smallest_code_dtype
from pacbayes.ensemble.validation import Counted, ValidationPredictions, observe, risks_of_errors, risks_of_losses

N, MEMBERS = 60, 5
RNG = np.random.default_rng(0)
# Groups of one to nine rows, in no order; and rows of which some are copies.
GROUPS = RNG.permutation(np.repeat(np.arange(12), [1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 9]))
COPIES = np.unique(RNG.integers(0, 40, N), return_inverse=True)[1].astype(np.int64)


def divided(kind, unit="example", units=None):
    return plan_split(N, kind=kind, validation_size=0.5, seed=3, unit=unit, units=units)


DIVISIONS = {
    "shared": divided("shared"),
    "independent": divided("independent"),
    "all validate": validation_split(N),
    "groups": divided("shared", GROUP, GROUPS),
    "groups, independent": divided("independent", GROUP, GROUPS),
    "groups, all validate": validation_split(N, GROUP, GROUPS),
    "copies": divided("shared", DISTINCT, COPIES),
    "copies, independent": divided("independent", DISTINCT, COPIES),
}


def drawn(split, n_labels=4, n_classes=3, number=MEMBERS, seed=0):
    """Random answers where rows validate, and no answer elsewhere."""
    rng, kept = np.random.default_rng(seed), smallest_code_dtype(n_labels)
    columns = split.validating
    answers = np.full((number, columns.size), np.iinfo(kept).max, dtype=kept)
    for i, line in enumerate(answers):
        mine = np.isin(columns, split(i)[1])
        line[mine] = rng.integers(n_labels, size=mine.sum())
    truth = rng.integers(n_classes, size=columns.size).astype(kept)
    return ValidationPredictions(np.arange(n_labels), n_classes, answers, truth)


# -- counts ----------------------------------------------------------------------------------------------------------


def errors_by_hand(predictions, split, i):
    """The validation rows of a classifier, which of them it gets wrong, and the exact mean over what was drawn."""
    columns = {row: place for place, row in enumerate(split.validating.tolist())}
    rows = split(i)[1]
    wrong = np.array([predictions.y_pred[i, columns[row]] != predictions.y_true[columns[row]] for row in rows])
    if split.unit != GROUP:
        return wrong, Fraction(int(wrong.sum()), rows.size)
    groups = split.units[rows]
    shares = [Fraction(int(wrong[groups == one].sum()), int((groups == one).sum())) for one in np.unique(groups)]
    return wrong, sum(shares) / len(shares)


@pytest.mark.parametrize("block", [7, 1 << 22])
@pytest.mark.parametrize("name", DIVISIONS)
def test_counts_are_those_of_a_loop(name, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    split = DIVISIONS[name]
    for n_labels in (4, 300):
        predictions = drawn(split, n_labels)
        counted = predictions.count(split)
        assert (counted.sizes is not None) == (split.unit == GROUP)
        for i in range(MEMBERS):
            wrong, exact = errors_by_hand(predictions, split, i)
            assert counted.total[i] == wrong.sum()
            assert is_rounded_up(counted.risks[i], exact)
            units = wrong.size if split.unit != GROUP else np.unique(split.units[split(i)[1]]).size
            assert counted.m == units == split.m


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 13, 1 << 20]))
def test_tandem_risks_are_those_of_a_loop(number, n, seed, own_rows, block):
    rng = np.random.default_rng(seed)
    validates = rng.random((number, n)) < 0.5 if own_rows else np.ones((number, n), dtype=bool)
    answers = np.where(validates, rng.integers(3, size=(number, n)), 255).astype(np.uint8)
    predictions = ValidationPredictions(np.arange(3), 3, answers, rng.integers(3, size=n).astype(np.uint8))
    wrong = (answers != predictions.y_true) & validates
    np.testing.assert_array_equal(predictions.wrong(), wrong)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PAIRS_BLOCK", block)
        found = predictions.tandem_risks
    for i in range(number):
        for j in range(number):
            both, size = int((wrong[i] & wrong[j]).sum()), int((validates[i] & validates[j]).sum())
            assert is_rounded_up(found[i, j], Fraction(both, size) if size else Fraction(1))


# -- asked once ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", DIVISIONS)
def test_everybody_is_asked_about_his_rows_once_and_about_no_other(name, n_jobs):
    split = DIVISIONS[name]
    table, members, X = told(classifiers=MEMBERS, n=N)
    data = Dataset.checked(X, np.random.default_rng(1).choice(["b", "c"], size=N))
    predictions = observe(members, data, split, n_jobs)
    columns = split.validating
    np.testing.assert_array_equal(predictions.labels[predictions.y_true], data.labels[columns])
    for i, one in enumerate(members.estimators):
        rows = split(i)[1]
        assert sorted(one.asked) == rows.tolist()
        mine = np.isin(columns, rows)
        np.testing.assert_array_equal(predictions.labels[predictions.y_pred[i, mine]], table[i, rows])
        assert (predictions.y_pred[i, ~mine] == predictions.absent).all()


class Noting(DecisionTreeClassifier):
    """Notes which rows, known by their first column, it is asked about; and all that any of its kind is."""

    everybody: list = []  # noqa: RUF012  # shared on purpose

    def fit(self, X, y):
        self.asked_ = []
        return super().fit(X, y)

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int).tolist()
        self.asked_ += rows
        Noting.everybody += rows
        return super().predict(X)


def noted_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(120.0), rng.normal(size=(120, 2))])
    return X, (X[:, 1] + 0.5 * rng.normal(size=120) > 0).astype(int)


@pytest.mark.parametrize("choices", [{}, {"hedge": 1, "cv": None}, {"metrics": ("error",)}, {"voting": "stochastic"}])
def test_a_fit_asks_about_a_validation_row_once(choices):
    """Its probes, whether answers depend on the rows around, are about training rows."""
    X, y = noted_rows()
    Noting.everybody.clear()
    clf = CertifiedClassifier(
        Grid(Noting(), {"max_depth": [1, 2, 3, None]}), random_state=0, **{"cv": 3, "validation_size": 0.5} | choices
    ).fit(X, y)
    validation = clf.classifiers_.splits(0)[1].tolist()
    for one in clf.classifiers_:
        asked = Counter(one.asked_)
        assert [asked[row] for row in validation] == [1] * len(validation)
    # Nor is anybody else asked, such as those that are trained on folds.
    everybody = Counter(Noting.everybody)
    assert [everybody[row] for row in validation] == [4] * len(validation)


def test_one_answer_for_all_rows_is_refused():
    class Hasty:
        def predict(self, X):
            return np.array(["b"])

    data = Dataset.checked(np.zeros((4, 1)), np.array(["b", "c", "b", "c"]))
    with pytest.raises(ValueError, match=r"shape \(4,\), got shape \(1,\)"):
        observe(Estimators([Hasty()], [{}], data.classes), data, validation_split(4))


@pytest.mark.parametrize("largest", [1, 3])
def test_the_loss_of_a_group_is_the_mean_of_its_rows_rounded_up(largest):
    losses = np.random.default_rng(1).integers(0, largest + 1, N) / largest
    means = module.unit_losses(losses, validation_split(N, GROUP, GROUPS))
    for group, mean in enumerate(means.tolist()):
        values = [Fraction(loss) for loss in losses[group == GROUPS].tolist()]
        exact = sum(values) / len(values)
        assert exact <= Fraction(mean) <= exact * (1 + Fraction(1, 2**50))
    assert means.size == 12


@given(st.integers(1, 10**7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_risk_is_the_smallest_double_not_below_the_quotient(case):
    m, k = case
    risk = float(risks_of_errors(np.array([k]), m)[0])
    assert Fraction(risk) >= Fraction(k, m)
    assert k == 0 or Fraction(float(np.nextafter(risk, 0.0))) < Fraction(k, m)
    assert 0.0 <= risk <= 1.0
    assert (risk == 0.0) == (k == 0)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_mean_loss_is_never_below_the_exact_mean(losses):
    risk = Fraction(float(risks_of_losses(np.array([losses]))[0]))
    exact = sum(map(Fraction, losses)) / len(losses)
    assert exact <= risk <= min(1, exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1070))
    assert (risk == 0) == (exact == 0)


def test_risks_of_groups_are_the_exact_means_rounded_up():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes = rng.integers(1, 60, rng.integers(1, 30))
        errors = rng.integers(0, sizes + 1, (2, sizes.size))
        m = int(rng.integers(1, sizes.size + 1))
        found = Counted(errors, sizes, m)
        for risk, row in zip(found.risks, errors, strict=True):
            exact = sum(Fraction(int(k), int(s)) for k, s in zip(row, sizes, strict=True)) / m
            assert is_rounded_up(risk, exact)
