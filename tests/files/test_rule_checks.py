"""Rules in files: what is stored comes back, and what cannot be is refused."""

import numpy as np
import pytest
from tests.estimators.models import fitted, three_classes, two_classes
from tests.files.model_files import state_of, write_state

from pacbayes import load, save
from pacbayes.bounds.binomial import binomial_upper

VOTINGS = ("stochastic", "majority", "best")


@pytest.mark.parametrize("hedge", [0, 0.1])
@pytest.mark.parametrize("kind", ["svc", "grid"])
def test_rules_come_back(kind, hedge, tmp_path):
    clf, X = fitted(kind, three_classes, hedge=hedge), three_classes()[0]
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.certificates_ == clf.certificates_
    assert again.hedge_ == clf.hedge_ == hedge
    assert hasattr(again, "posterior_") == hasattr(clf, "posterior_") == (hedge > 0)
    assert [(rule.voting, rule.name, rule.errors) for rule in again._rules] == [
        (rule.voting, rule.name, rule.errors) for rule in clf._rules
    ]
    for voting, weights in clf.proposal_.items():
        assert np.array_equal(again.proposal_[voting], weights)
    assert again.vote_errors_ == clf.vote_errors_
    for voting in VOTINGS:
        one, two = (model.set_params(voting=voting) for model in (clf, again))
        assert np.array_equal(one.predict(X), two.predict(X))
        assert np.array_equal(one.vote_share(X), two.vote_share(X))
    clf.set_params(voting="stochastic")


def test_certificates_follow_from_the_errors_that_are_stored(tmp_path):
    clf = fitted("svc", two_classes)
    state = state_of(clf)
    for rule in state["fitted"]["_rules"]:
        if rule["voting"] == "stochastic":
            rule["errors"] += 3
    write_state(tmp_path / "model", state)
    before, after = clf.certificates_["stochastic"], load(tmp_path / "model").certificates_["stochastic"]
    claims = {after.rule: after.bound} | {claim.rule: claim.bound for claim in after.alternatives}
    errors = round(before.empirical_risk * before.m) + 3
    assert claims["proposal"] == binomial_upper(errors, before.m, before.level)


def changes():
    """Yield names and changes of what is stored of a model with rules."""

    def of_rule(voting, name, /, **values):
        def change(fitted):
            for rule in fitted["_rules"]:
                if (rule["voting"], rule["name"]) == (voting, name):
                    rule.update(values)

        return change

    def parts(*values):
        whole = np.zeros(40, dtype=np.int64)
        whole[: len(values)] = values
        return whole

    yield "less than the whole", of_rule("majority", "proposal", parts=parts(2**51))
    yield "negative", of_rule("majority", "proposal", parts=parts(2**52 + 1, -1))
    yield "sum that wraps", of_rule("majority", "proposal", parts=parts(*[2**62] * 4, 2**52))
    yield "wrong length", of_rule("stochastic", "proposal", parts=np.array([2**52]))
    yield "no whole numbers", of_rule("stochastic", "proposal", parts=np.full(40, 1 / 40))
    yield "two classifiers as one", of_rule("best", "proposal", parts=parts(2**51, 2**51))
    yield "errors of another", of_rule("best", "proposal", errors=0, parts=parts(*[0] * 39, 2**52))
    yield "negative errors", of_rule("stochastic", "proposal", errors=-1)
    yield "too many errors", of_rule("stochastic", "proposal", errors=41)
    yield "errors not counted", of_rule("stochastic", "proposal", errors=None)
    yield "more errors than a vote can make", of_rule("majority", "proposal", errors=40)
    yield "a name of another", of_rule("majority", "single", name="proposal")
    yield "the posterior's name", of_rule("majority", "single", name="posterior")
    yield "no name", of_rule("majority", "single", name=[])
    yield "a way that is none", of_rule("majority", "single", voting="loudest")
    yield "no proposal", lambda fitted: fitted.update(_rules=fitted["_rules"][1:])
    yield "no rules", lambda fitted: fitted.update(_rules=())
    yield "no tuple", lambda fitted: fitted.update(_rules=list(fitted["_rules"]))
    yield "rules at hedge 1", lambda fitted: fitted.update(hedge_=1.0)
    yield "a posterior at hedge 0", lambda fitted: fitted.update(hedge_=0.0)
    yield "a hedge that is none", lambda fitted: fitted.update(hedge_=float("nan"))
    yield "a negative hedge", lambda fitted: fitted.update(hedge_=-0.1)
    yield "no cross-validation", lambda fitted: fitted.update(_cross_validated=None)
    for wrong in ((), (1,) * 6, [1] * 7, (1.0,) * 7, (-1,) * 7, (10**6,) * 7, (True,) * 7, 7):
        yield (
            f"errors of votes {wrong}",
            lambda fitted, wrong=wrong: fitted["_cross_validated"].update(errors_of_votes=wrong),
        )


@pytest.mark.parametrize(("name", "change"), [pytest.param(*pair, id=pair[0]) for pair in changes()])
def test_what_cannot_be_is_refused(name, change, tmp_path):
    state = state_of(fitted("svc", two_classes))
    change(state["fitted"])
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(tmp_path / "model")
