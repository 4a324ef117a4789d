"""Certificates in words and as JSON: numbers rounded away from the truth, and what fixed and picked the rule."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from tests.certificates.cases import a_set, certified, fixed_rules

from pacbayes import CertifiedClassifier, Cost
from pacbayes._utils.words import confidence, failure
from pacbayes.certificates import Certificate, Claim
from pacbayes.certificates.certificate import FOUND, PRESPECIFIED, TRAINING, VALIDATION
from pacbayes.certificates.voting import OCCAM, POSTERIOR

OTHER = Claim("posterior", "validation rows", 0.005, 0.2, 0.1, 0.5, "kl", "PAC-Bayes.")
ONE = Certificate(0.1, None, 0.05, 50, "binomial", 0.05, 0.0, "the vote", "Exact.", alternatives=(OTHER,))


def test_the_names_of_what_validation_rows_find():
    assert set(FOUND) == {POSTERIOR, OCCAM}


@pytest.mark.parametrize(
    ("rule", "source", "said"),
    [
        ("primary", TRAINING, "the primary, which the training rows proposed."),
        ("primary", PRESPECIFIED, "the primary, which was proposed beforehand."),
        ("posterior", VALIDATION, "the posterior, which was found on the validation rows."),
        ("vote s=1", VALIDATION, "the vote s=1, whose weights were fixed before any validation row was looked at, and"),
    ],
)
def test_each_has_its_own_words(rule, source, said):
    certificate = replace(ONE, rule=rule, source=source)
    assert f"Of 2 rules one has the smallest bound: {said}" in certificate.explain()
    assert certificate.origin in certificate._repr_html_()


def test_printed_numbers_are_rounded_away_from_the_truth():
    made = Certificate(0.08601, 0.0199, 0.05, 100, "kl", 0.04, 0.1, "the stochastic classifier", "A theorem.")
    assert made.sentence.endswith("errs on at most 8.7 % of new examples.")
    assert "at least 1.9 %" in made.explain()
    assert [confidence(delta) for delta in (0.05, 0.01, 0.001, 0.025)] == ["95 %", "99 %", "99.9 %", "97.5 %"]
    assert confidence(0.1 + 0.2) == "69.9999 %"


@pytest.mark.parametrize(
    ("delta", "sure", "fails"),
    [
        (1e-6, "99.9999 %", "0.0001 %"),
        (1e-7, "1 - 1e-7", "1e-7"),
        (1.21e-9, "1 - 1.3e-9", "1.3e-9"),
        (1e-30, "1 - 1e-30", "1e-30"),
        (1e-300, "1 - 1e-300", "1e-300"),
        (5e-324, "1 - 5e-324", "5e-324"),
        (1 - 2**-53, "0 %", "100 %"),
    ],
)
def test_no_confidence_is_printed_as_certainty(delta, sure, fails):
    assert (confidence(delta), failure(delta)) == (sure, fails)
    written = str(Certificate(0.2, None, delta, 50, "kl", 0.1, 0.0, "the classifier", "PAC-Bayes."))
    assert f"at least {sure}, the classifier" in written


def test_every_limit_that_was_paid_for_is_printed_in_a_line_of_its_own():
    X, y = load_breast_cancer(return_X_y=True)
    asked = ("error", "recall", "precision", Cost([[0, 1], [10, 0]], [0, 1]))
    found = CertifiedClassifier("logistic", metrics=asked, cv=3, random_state=0).fit(X, y).certificate_
    assert len(found.metrics) == 7
    lines = str(found).splitlines()
    assert lines[:3] == list(found.lines)
    for line, limit in zip(lines[3:-1], found.metrics, strict=True):
        assert line.endswith(f"{limit.claim}; {limit.observed}.")
        assert found.explain().splitlines().count(line) == 1


def test_to_dict_is_json():
    prior = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
    found = certified(*fixed_rules(a_set([8, 9, 9, 12, 40], 150), distance=("kl", "linear"), prior=prior))
    for certificate in found.values():
        again = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
        assert again["bound"] == certificate.bound
        assert again["vacuous"] is certificate.vacuous
        assert again["baselines"]["holdout"]["bound"] is None
    assert any("holds alone" in assumption for assumption in found["best"].assumptions)
    assert "price" in found["majority"].theorem


def test_claims_are_compared_by_value():
    one = Claim("primary", "training rows", 0.045, 0.1, 0.05, 0.0, "binomial", "why")
    assert one == Claim("primary", "training rows", 0.045, 0.1, 0.05, 0.0, "binomial", "why")
