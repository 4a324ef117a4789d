"""Rules in files: what is stored comes back, what cannot be is refused, and files from before there were rules load."""

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import fitted, three_classes, two_classes
from tests.estimators.persistence.model_files import state_of, write_state

from pacbayes import StochasticClassifier, StochasticSVC, load, save
from pacbayes.certificates.binomial import binomial_upper

VOTINGS = ("stochastic", "majority", "best")
FORMAT_3 = Path(__file__).parent / "format_3"
# What the version that wrote these files said of its models: the bounds by voting, the lower limit, the classifier of
# hold-out, the best one, and labels by voting.
BEFORE = {
    "shared": (
        [0.4730168401695442, 0.9460336803390884, 0.4350668158184222],
        0.0,
        "classifier 35 (lambda = 0.602089, gamma = 0.722292), chosen among 50 of 60 by 3-fold cross-validation",
        0,
        ["caccbbaa", "caccbbba", "caccbbba"],
    ),
    "groups": (
        [0.6121443640191527, 1.0, 0.5500838838031613],
        0.04205429145180208,
        "classifier 0 (lambda = 0.1, gamma = 0.802898), chosen among all 3 by 3-fold cross-validation",
        0,
        ["aaccabab", "aaccabbb", "aaccabbb"],
    ),
    "trees": (
        [0.3499229376008543, 0.6998458752017086, 0.26792495409685096],
        0.025135408137264132,
        "classifier 1 (max_depth = 2), chosen among all 3 by 3-fold cross-validation",
        2,
        ["cacccbbb", "cacccbbb", "cacccbbb"],
    ),
}


def rows():
    """Return the rows those models were fitted with, their labels and groups."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2)).round(3)
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.4)]
    y[rng.random(90) < 0.1] = "a"
    return X, y, np.arange(90) // 2


def fitted_again(name):
    """Return the same model, fitted by this version."""
    X, y, groups = rows()
    if name == "shared":
        lambdas = np.geomspace(0.01, 10, 60)
        return StochasticSVC(lambdas, cv=3, distance=["kl", "pinsker"], hedge=1, random_state=1).fit(X, y)
    if name == "groups":
        return StochasticSVC([0.1, 1.0, 10.0], cv=3, hedge=1, random_state=1).fit(X, y, groups=groups)
    grid, prior = {"max_depth": [1, 2, 3]}, [0.2, 0.3, 0.5]
    return StochasticClassifier(
        DecisionTreeClassifier(), grid, voting="majority", prior=prior, hedge=1, random_state=2
    ).fit(X, y)


@pytest.mark.parametrize("name", BEFORE)
def test_files_of_format_3_have_all_of_delta_for_the_posterior(name):
    clf = load(FORMAT_3 / f"{name}.pacbayes")
    bounds, lower, hold_out, best, said = BEFORE[name]
    assert [certificate.bound for certificate in clf.certificates_.values()] == pytest.approx(bounds, rel=1e-12)
    assert clf.certificates_["stochastic"].lower == pytest.approx(lower)
    assert clf.certificates_["best"].baselines["hold-out"].note.startswith(hold_out)
    assert (clf.hedge_, clf.best_index_, clf.proposal_) == (1.0, best, {})
    assert {certificate.alternatives for certificate in clf.certificates_.values()} == {()}
    new = np.random.default_rng(6).normal(size=(8, 2)).round(3)
    assert ["".join(clf.set_params(voting=voting).predict(new)) for voting in VOTINGS] == said


@pytest.mark.parametrize("name", BEFORE)
def test_hedge_1_is_what_there_was_before_to_the_last_bit(name, tmp_path):
    before, now = load(FORMAT_3 / f"{name}.pacbayes"), fitted_again(name)
    assert now.certificates_ == before.certificates_
    assert np.array_equal(now.posterior_.weights, before.posterior_.weights)
    assert now.posterior_.delta == before.posterior_.delta
    assert now._key == before._key
    assert now.best_index_ == before.best_index_
    X = np.random.default_rng(7).normal(size=(200, 2))
    # The rules are compared on the stored machines: compiled arithmetic is not that of every processor to the last bit,
    # and which label a machine gives a row on its boundary is no matter of the hedge.
    now.classifiers_ = before.classifiers_
    assert np.array_equal(now.vote_share(X), before.vote_share(X))
    for voting in VOTINGS:
        assert np.array_equal(now.set_params(voting=voting).predict(X), before.set_params(voting=voting).predict(X))
    save(now, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == before.certificates_


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


@pytest.mark.parametrize("errors", [(0, 1, 2, 3, 4, 5, 6), None])
def test_the_errors_of_votes_are_kept(errors, tmp_path):
    clf = copy(fitted("svc", two_classes))
    clf._cross_validated = replace(clf._cross_validated, errors_of_votes=errors)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model")._cross_validated.errors_of_votes == errors


def test_the_strength_that_files_had_before_is_in_the_vote(tmp_path):
    clf = fitted("svc", two_classes)
    state = state_of(clf)
    state["fitted"]["_cross_validated"].pop("errors_of_votes")
    state["fitted"]["_cross_validated"]["strength"] = 2.0
    write_state(tmp_path / "model", state)
    loaded = load(tmp_path / "model")
    assert loaded._cross_validated.errors_of_votes is None
    np.testing.assert_array_equal(loaded.proposal_["majority"], clf.proposal_["majority"])
    assert loaded.certificates_["majority"].bound == clf.certificates_["majority"].bound


def test_more_rules_in_a_file_make_no_level_larger(tmp_path):
    """Levels are not stored but follow from the number of rules: somebody who adds one takes from the others."""
    clf = fitted("svc", two_classes)
    state = state_of(clf)
    votes = [rule for rule in state["fitted"]["_rules"] if rule["voting"] == "majority"]
    state["fitted"]["_rules"] = (*state["fitted"]["_rules"], votes[-1] | {"name": "one more"})
    write_state(tmp_path / "model", state)
    again = load(tmp_path / "model").certificates_["majority"]
    levels = [again.level, *(claim.level for claim in again.alternatives)]
    assert len(levels) == len(clf.certificates_["majority"].alternatives) + 2
    assert sum(levels) <= 0.05
