"""The table of guarantees, for primary rules, alternatives and posteriors: each is proved or rejected."""

from copy import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, Threshold
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper, hypergeometric_upper

X, Y = load_breast_cancer(return_X_y=True)
GROUPS = np.arange(Y.size) // 3
GRID = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 5]})
DELTA, HEDGE = 0.05, 0.1
THRESHOLD = Threshold(recall=0.8)
FITTED = {}


def fit(groups=None, voting="auto", **choices):
    """A fitted model; fits are shared, since `voting` does not change the plan."""
    if "refit" in choices:
        choices["voting"] = voting
    clf = CertifiedClassifier(GRID, **{"hedge": HEDGE, "delta": DELTA, "cv": 3, "random_state": 0} | choices)
    key = (groups is None, repr(sorted(choices.items())))
    if key not in FITTED:
        FITTED[key] = clf.fit(X, Y, groups=groups)
    return copy(FITTED[key]).set_params(voting=voting)


def claims(clf, voting):
    """Claims of the rules of a voting, by name."""
    certificate = clf.certificates_[voting]
    return {certificate.rule: certificate} | {one.rule: one for one in certificate.alternatives}


def check_bound(claim, m, unit):
    """Exact for rows; for groups a betting bound, here below Chernoff's."""
    if unit == "group":
        chernoff = float(chernoff_upper(np.array([claim.empirical_risk]), m, claim.level)[0])
        assert claim.distance == "bet"
        assert claim.empirical_risk < claim.bound < chernoff
        return
    exact = float(binomial_upper(round(claim.empirical_risk * m), m, claim.level))
    assert claim.bound == pytest.approx(exact, rel=1e-9)


CELLS = [("rows", None, "example"), ("groups", GROUPS, "group")]


@pytest.mark.parametrize(("what", "groups", "unit"), CELLS, ids=[cell[0] for cell in CELLS])
@pytest.mark.parametrize(("voting", "share"), [("soft", 1.0), ("majority", 0.9), ("best", 0.9), ("stochastic", 0.9)])
def test_error_rate_of_a_primary_rule(voting, share, what, groups, unit):
    clf = fit(groups)
    claim = claims(clf, voting)["primary"]
    assert claim.level == pytest.approx(share * DELTA, rel=1e-9)
    assert claim.level <= share * DELTA
    check_bound(claim, clf.certificate_.m, unit)
    assert clf.certificate_.unit == unit


@pytest.mark.parametrize(("what", "groups", "unit"), CELLS, ids=[cell[0] for cell in CELLS])
def test_error_rate_of_an_alternative(what, groups, unit):
    """Alternative votes share the hedge equally."""
    clf = fit(groups)
    found = claims(clf, "majority")
    fixed_rules = {rule.name for rule in clf._fitted.plan.fixed_rules if rule.voting == "majority"} - {"primary"}
    assert fixed_rules
    number = len(found) - 1
    for name in fixed_rules:
        assert found[name].level == pytest.approx(HEDGE * DELTA / number, rel=1e-9)
        check_bound(found[name], clf.certificate_.m, unit)
    assert sum(claim.level for claim in found.values()) <= DELTA


@pytest.mark.parametrize(("what", "groups", "unit"), CELLS, ids=[cell[0] for cell in CELLS])
def test_error_rate_of_a_posterior(what, groups, unit):
    """PAC-Bayes-kl for draws, twice that for their vote."""
    clf = fit(groups)
    assert claims(clf, "stochastic")["posterior"].distance == "kl"
    alone = fit(groups, hedge=1)
    drawn, doubled = (claims(alone, voting)["posterior"] for voting in ("stochastic", "majority"))
    assert doubled.bound == pytest.approx(min(2 * drawn.bound, 1.0), rel=1e-12)
    assert claims(clf, "best")["Occam"].level == pytest.approx(HEDGE * DELTA, rel=1e-9)
    assert "soft" not in alone.certificates_


def test_a_posterior_has_no_metrics():
    """Equal SVMs at a hedge of almost 1: the level of the primary rule is too small."""
    clf = StochasticSVC([1.0, 1.1], hedge=0.999999, metrics=("error",), random_state=0).fit(X, Y)
    certificate = clf.certificates_["stochastic"]
    assert certificate.rule == "posterior"
    assert certificate.metrics == ()
    assert any("Metrics have no bounds" in line for line in certificate.assumptions)


def test_a_threshold_uses_all_of_delta():
    clf = fit(decision=THRESHOLD)
    certificate = clf.certificate_
    assert (clf.voting_, clf.hedge_) == ("soft", 0.0)
    assert (certificate.level, certificate.rule, certificate.bound) == (DELTA, "primary", 1.0)
    assert (certificate.metrics, certificate.alternatives, certificate.baselines) == ((), (), {})
    assert certificate.decision.passed
    assert all(one.decision is None for voting, one in clf.certificates_.items() if voting != "soft")
    with pytest.raises(ValueError, match="cannot be monitored"):
        clf.monitor()
    with pytest.raises(ValueError, match="with_class_shares requires a bound"):
        certificate.with_class_shares({0: 0.5, 1: 0.5})


@pytest.mark.parametrize(("what", "groups", "unit"), CELLS, ids=[cell[0] for cell in CELLS])
@pytest.mark.parametrize("voting", ["soft", "majority", "best"])
def test_a_refit_has_the_bound_of_the_certified_rule(voting, what, groups, unit):
    refitted, alone = (fit(groups, voting=voting, refit=refit).certificate_ for refit in (True, False))
    assert (refitted.bound, refitted.level, refitted.rule) == (alone.bound, alone.level, alone.rule)
    assert "on which the refitted and the certified model agree" in str(refitted)


# New rows.
NEW = X + 0.001


def check_batch(clf, share):
    """Compare with the bound from the errors of the rule that predicts, at its share of delta, also with metrics."""
    batch, rows = clf.certify_batch(NEW), clf.classifiers_.splits(0)[1]
    errors = int((clf.predict(X[rows]) != Y[rows]).sum())
    assert (batch.rows, batch.m, batch.errors, batch.delta) == (Y.size, rows.size, errors, DELTA)
    assert share * DELTA * (1 - 1e-9) <= batch.level <= share * DELTA
    assert batch.wrong == hypergeometric_upper(errors, rows.size, Y.size, batch.level)


@pytest.mark.parametrize("metrics", [(), ("error",)])
@pytest.mark.parametrize(("voting", "share"), [("soft", 1.0), ("majority", 0.9), ("best", 0.9), ("stochastic", 0.9)])
def test_batches_of_a_primary_rule(voting, share, metrics):
    clf = fit(metrics=metrics, voting=voting)
    assert clf.certificate_.rule == "primary"
    check_batch(clf, share)


@pytest.mark.parametrize("metrics", [(), ("error",)])
def test_batches_of_an_alternative(metrics):
    """At a hedge of almost 1 a vote and the Occam bound are the smallest, each at its share."""
    clf = fit(hedge=0.999999, voting="majority", metrics=metrics)
    found = claims(clf, "majority")
    assert clf.certificate_.rule in {rule.name for rule in clf._fitted.plan.fixed_rules} - {"primary"}
    check_batch(clf, 0.999999 / (len(found) - 1))
    clf = fit(hedge=0.999999, voting="best", metrics=metrics)
    assert clf.certificate_.rule == "Occam"
    check_batch(clf, 0.999999 / 4)


def test_batches_of_the_best_single_classifier():
    """At the prior weight of the classifier."""
    prior = [0.1, 0.2, 0.3, 0.4]
    clf = fit(hedge=1, voting="best", prior=prior)
    check_batch(clf, prior[clf.best_index_])


@pytest.mark.parametrize(
    ("parameters", "groups", "message"),
    [
        (
            {"hedge": 1, "voting": "stochastic"},
            None,
            "the weights of the posterior, which were optimised on the validation rows",
        ),
        (
            {"hedge": 1, "voting": "majority"},
            None,
            "the weights of the posterior, which were optimised on the validation rows",
        ),
        ({}, GROUPS, "rows of a group are dependent"),
        ({"voting": "best", "hedge": 1}, GROUPS, "rows of a group are dependent"),
        ({"duplicates": "together"}, None, "counts duplicates once"),
        ({"decision": Abstain(0.08)}, None, r"only Abstain\(max_error=0\.08\) is certified"),
        ({"decision": THRESHOLD}, None, r"only Threshold\(recall=0\.8\) is certified"),
    ],
)
def test_batches_without_a_proof_are_rejected(parameters, groups, message):
    clf = fit(groups, **parameters)
    with pytest.raises(ValueError, match=message):
        clf.certify_batch(NEW)


def test_batches_are_rejected_with_independent_splits():
    clf = StochasticSVC([1.0], split="independent", voting="best", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="with split='independent'"):
        clf.certify_batch(NEW)
