"""The errors of rules are those that predicting with their weights makes, whatever the size of the blocks."""

import numpy as np
import pytest
from tests.estimators.models import fitted, three_classes, two_classes

import pacbayes.estimators.prediction.testing as testing_module
from pacbayes import StochasticSVC
from pacbayes.certificates.posterior_choice import integer_weights
from pacbayes.certificates.rules.rule import Rule, parts_of_one
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.draws import draw_classifiers
from pacbayes.estimators.prediction.voters import majority


@pytest.mark.parametrize("kind", ["svc", "grid"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_each_rule_errs_where_its_predictions_do(kind, data, monkeypatch):
    clf, (X, y) = fitted(kind, data), data()
    number, voters, codes = len(clf.classifiers_), clf._voters(), np.searchsorted(clf.classes_, y)
    rng = np.random.default_rng(0)
    parts = [integer_weights(rng.dirichlet(np.ones(number))) for _ in range(4)]
    rules = [Rule("majority", str(i), one) for i, one in enumerate(parts)]
    rules += [Rule("stochastic", "draws", parts[0]), Rule("best", "one", parts_of_one(number - 1, number))]
    said = [majority(voters, X, one) for one in parts]
    said += [voters.predict_assigned(X, draw_classifiers(X, parts[0], clf._key))]
    said += [np.searchsorted(clf.classes_, clf.classifiers_[number - 1].predict(X))]
    expected = [int(np.count_nonzero(one != codes)) for one in said]
    for most in (testing_module._ANSWERS, 50 * number, 1):
        monkeypatch.setattr(testing_module, "_ANSWERS", most)
        found = testing_module.tested(
            rules, voters, AskedRows(X), codes, clf._key, lambda wrong: int(wrong.sum()), None
        )
        assert [rule.errors for rule in found] == expected
        if len(X) > 200 and most == 1:
            break
    assert len(set(expected)) > 2


@pytest.mark.parametrize("voting", ["stochastic", "majority", "best"])
def test_what_predicts_made_the_errors_behind_its_certificate(voting):
    X, y = two_classes()
    clf = StochasticSVC([0.01, 0.1, 1.0, 10.0], voting=voting, random_state=1).fit(X, y)
    validation = clf.classifiers_.splits(0)[1]
    errors = np.count_nonzero(clf.predict(X[validation]) != y[validation])
    assert clf.certificate_.rule == "proposal"
    assert clf.certificate_.empirical_risk == pytest.approx(errors / validation.size)
    assert np.array_equal(clf.weights_, clf.proposal_[voting])


def test_copies_count_once():
    X, y = two_classes()
    X, y = np.repeat(X[:200], 3, axis=0), np.repeat(y[:200], 3)
    clf = StochasticSVC([0.1, 1.0], duplicates="together", random_state=0).fit(X, y)
    assert clf.classifiers_.m == 100
    assert all(rule.errors <= 100 for rule in clf._rules)
    validation = clf.classifiers_.splits(0)[1]
    assert validation.size == 100
    vote = clf.set_params(voting="majority").predict(X[validation])
    assert clf.vote_errors_ == np.count_nonzero(vote != y[validation])
