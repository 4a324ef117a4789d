"""What rules say of validation rows is what predicting with their weights says, whatever the size of the blocks."""

import numpy as np
import pytest
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import StochasticSVC
from pacbayes._utils.seeds import draw_key
from pacbayes.certificates import voting as voting_module
from pacbayes.certificates.rules import Draws, Single, Vote
from pacbayes.certificates.voting import integer_weights, parts_of_one
from pacbayes.data.rows import row_hashes
from pacbayes.ensemble.members import Coding


@pytest.mark.parametrize("kind", ["svc", "grid"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_each_rule_says_what_its_weights_predict(kind, data, monkeypatch):
    clf, X = fitted(kind, data), data()[0]
    members, coding, hashes = clf.classifiers_.members, Coding(clf.classes_), row_hashes(X, draw_key(0))
    number, prepared = len(members), members.prepared(X)
    answers = members.answers(prepared, np.arange(number), coding)
    rng = np.random.default_rng(0)
    parts = [integer_weights(rng.dirichlet(np.ones(number))) for _ in range(4)]
    rules = [Vote(str(i), one) for i, one in enumerate(parts)]
    rules += [Draws("draws", parts[0]), Single("one", parts_of_one(number - 1, number))]
    expected = [rule.predict(members, prepared, lambda: hashes, coding) for rule in rules]
    assert len({tuple(one) for one in expected}) > 2
    for most in (voting_module._ANSWERS, 50 * number, 1):
        monkeypatch.setattr(voting_module, "_ANSWERS", most)
        for rule, said in zip(rules, expected, strict=True):
            assert np.array_equal(rule.of_answers(answers, coding.labels, lambda: hashes), said)


@pytest.mark.parametrize("voting", ["soft", "stochastic", "majority", "best"])
def test_what_predicts_made_the_errors_behind_its_certificate(voting):
    X, y = two_classes()
    clf = StochasticSVC([0.01, 0.1, 1.0, 10.0], hedge=0.1, voting=voting, random_state=1).fit(X, y)
    validation = clf.classifiers_.splits(0)[1]
    errors = np.count_nonzero(clf.predict(X[validation]) != y[validation])
    assert clf.certificate_.rule == "proposal"
    assert clf.certificate_.empirical_risk == pytest.approx(errors / validation.size)
    assert np.array_equal(clf.weights_, clf.proposal_[voting])


def test_copies_count_once():
    X, y = two_classes()
    X, y = np.repeat(X[:200], 3, axis=0), np.repeat(y[:200], 3)
    clf = StochasticSVC([0.1, 1.0], duplicates="together", hedge=0.1, random_state=0).fit(X, y)
    assert clf.classifiers_.m == 100
    validation = clf.classifiers_.splits(0)[1]
    assert validation.size == 100
    vote = clf.set_params(voting="majority").predict(X[validation])
    assert clf.vote_errors_ == np.count_nonzero(vote != y[validation])
    proposed = [clf.certificates_["majority"], *clf.certificates_["majority"].alternatives]
    risk = next(claim.empirical_risk for claim in proposed if claim.rule == "proposal")
    assert round(risk * 100) == np.count_nonzero(vote != y[validation])
