"""Members below a target: their limits hold at once, whichever is taken afterwards."""

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.tree import DecisionTreeClassifier
from tests.certificates.cases import a_set, grouped

from pacbayes import CertifiedClassifier, ClassifierSet, Grid
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.certificates.below import members_below
from pacbayes.report.questions import below_table

COSTS = [5.0, 1.0, 3.0, 2.0]


def test_limits_and_order():
    classifiers, prior = a_set([1, 3, 3, 40]), np.array([0.1, 0.2, 0.6, 0.1])
    found = members_below(classifiers, 0.15, None, 0.05, prior)
    limits = [beta.ppf(1 - 0.05 * p, k + 1, 100 - k) for k, p in zip([1, 3, 3], prior[:3], strict=True)]
    assert [one.index for one in found] == np.argsort(limits).tolist()
    assert sorted(one.bound for one in found) == pytest.approx(sorted(limits), rel=1e-6)
    assert found[0].cost is None


def test_the_cheapest_comes_first():
    classifiers = a_set([1, 3, 3, 40])
    assert [one.index for one in members_below(classifiers, 0.2, COSTS, 0.05, None)] == [1, 2, 0]
    assert [one.cost for one in members_below(classifiers, 0.2, COSTS, 0.05, None)] == [1.0, 3.0, 5.0]
    assert members_below(classifiers, 0.001, COSTS, 0.05, None) == []


def test_groups_have_chernoffs_limit():
    found = members_below(grouped(), 0.5, None, 0.05, None)
    expected = chernoff_upper([one.empirical_risk for one in found], 30, 0.05 / 3)
    assert [one.bound for one in found] == pytest.approx(expected, rel=1e-12)
    assert [one.index for one in found] == [1, 0]


def test_shares_are_of_what_was_drawn():
    """Of few large groups in which all rows are wrong a mean over groups says little about rows."""
    rng = np.random.default_rng(0)
    sizes = np.where(rng.random(400) < 0.02, 200, 1)
    groups = np.repeat(np.arange(400), sizes)
    hard = np.repeat(sizes > 1, sizes)
    X = np.column_stack([hard, rng.normal(size=groups.size)])
    y = np.where(hard, rng.integers(0, 2, groups.size), X[:, 1] > 0)
    clf = CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": [2]}),
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    ).fit(X, y, groups=groups)
    one = clf.certified_below(0.5)[0]
    assert one.bound < 0.1 < np.mean(clf.classifiers_[0].predict(X) != y)
    assert str(one).endswith("of the rows of a new group, on average over groups")
    assert below_table(clf, 0.5).caption.endswith("Shares are of the rows of a new group, on average over groups.")
    copies = CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": [2]}),
        duplicates="together",
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    )
    copies.fit(X[:600], y[:600])
    assert str(copies.certified_below(0.9)[0]).endswith("new examples, each counted once however often it is copied")


@pytest.mark.parametrize(
    ("target", "cost", "error", "message"),
    [
        (2, None, ValueError, "target must lie in"),
        ("a", None, TypeError, "target must be a number"),
        (0.1, [1.0], ValueError, "cost must be a number for each of 2"),
        (0.5, [1.0, np.nan], ValueError, "got nan"),
        (0.5, ["a", "b"], TypeError, "cost must be real numbers"),
    ],
)
def test_refusals(target, cost, error, message):
    with pytest.raises(error, match=message):
        members_below(a_set([1, 2]), target, cost, 0.05, None)


def failures(limits, number, H=100, m=80, truth=0.2):
    """How often some classifier of many with the same risk is listed with a limit below it."""
    failed = 0
    for seed in range(number):
        errors = np.random.default_rng([seed, 9]).binomial(m, truth, H)
        failed += bool((limits(errors, m) < truth).any())
    return failed


def test_any_of_them_may_be_taken():
    def certified(errors, m):
        return np.array([one.bound for one in members_below(a_set(errors, m), 1.0, None, 0.1, None)])

    def plain(errors, m):
        return binomial_upper(errors, m, 0.1)

    assert binom.sf(failures(certified, 80) - 1, 80, 0.1) > 1e-4
    assert binom.sf(failures(plain, 80) - 1, 80, 0.1) < 1e-4


def test_recall_of_a_class():
    truth = np.repeat([0, 1], [60, 40])
    said = np.array([np.where(np.arange(100) >= 100 - missed, 0, truth) for missed in (0, 4, 30)])
    classifiers = ClassifierSet.from_predictions(said, truth)
    found = members_below(classifiers, 0.7, None, 0.05, None, "recall", 1)
    assert [one.index for one in found] == [0, 1]
    expected = beta.ppf(0.05 / 3, 36, 5)
    assert found[1].bound == pytest.approx(expected, rel=1e-7)
    assert found[1].bound <= expected
    assert "finds at least 75.1 % of class 1" in str(found[1])
    for risk, label, message in (("f1", 1, "got 'f1'"), ("recall", None, "pos_label must"), ("recall", 7, "classes")):
        with pytest.raises(ValueError, match=message):
            members_below(classifiers, 0.7, None, 0.05, None, risk, label)
