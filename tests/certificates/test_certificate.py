"""Sentences and JSON of certificates: conservative rounding, and the origin of the rule that predicts."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.certificates.cases import a_set, certified, fixed_rules

from pacbayes._utils.words import format_confidence, format_delta
from pacbayes.certificates import Certificate, Claim
from pacbayes.certificates.certificate import PRESPECIFIED, TRAINING, VALIDATION

CLAIM = Claim("posterior", "validation rows", 0.005, 0.2, 0.1, 0.5, "kl", "PAC-Bayes.")
CERTIFICATE = Certificate(0.1, None, 0.05, 50, "binomial", 0.05, 0.0, "the vote", "Exact.", alternatives=(CLAIM,))


@pytest.mark.parametrize(
    ("rule", "source", "origin"),
    [
        ("primary", TRAINING, "fixed on the training rows"),
        ("primary", PRESPECIFIED, "fixed before validation"),
        ("posterior", VALIDATION, "optimised on the validation rows"),
        ("Occam", VALIDATION, "optimised on the validation rows"),
        ("vote s=1", VALIDATION, "fixed before validation, chosen on the validation rows"),
    ],
)
def test_the_origin_of_the_rule_is_reported(rule, source, origin):
    certificate = replace(CERTIFICATE, rule=rule, source=source)
    assert f"Of 2 rules, the one with the smallest bound: {rule}, {origin}." in certificate.explain()
    assert certificate.origin in certificate._repr_html_()


@pytest.mark.parametrize(
    ("unit", "start", "rows"),
    [
        ("example", "the error rate of the vote on new examples is at most 10.1 %.", "rows"),
        (
            "distinct example",
            "the error rate of the vote on new examples, duplicates counted once, is at most 10.1 %.",
            "distinct rows",
        ),
        ("group", "the per-group error rate of the vote, averaged over new groups, is at most 10.1 %.", "groups"),
    ],
)
def test_the_guarantee_names_the_sampling_unit(unit, start, rows):
    first, *_, last = str(replace(CERTIFICATE, unit=unit)).splitlines()
    assert first == f"With 95 % confidence, {start}"
    assert last == f"Assumes that {rows} are independent (see explain())."


def test_numbers_are_rounded_conservatively():
    certificate = Certificate(0.08601, 0.0199, 0.05, 100, "kl", 0.04, 0.1, "the stochastic classifier", "A theorem.")
    assert certificate.sentence.endswith("the stochastic classifier on new examples is at most 8.7 %.")
    assert "Simultaneous lower bound: 1.9 %." in certificate.explain()
    assert [format_confidence(delta) for delta in (0.05, 0.01, 0.001, 0.025)] == ["95 %", "99 %", "99.9 %", "97.5 %"]
    assert format_confidence(0.1 + 0.2) == "69.9999 %"


@pytest.mark.parametrize(
    ("delta", "formatted", "complement"),
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
def test_no_confidence_is_printed_as_certainty(delta, formatted, complement):
    assert (format_confidence(delta), format_delta(delta)) == (formatted, complement)
    text = str(Certificate(0.2, None, delta, 50, "kl", 0.1, 0.0, "the classifier", "PAC-Bayes."))
    assert f"With {formatted} confidence, the error rate" in text


def test_to_dict_is_json():
    prior = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
    certificates = certified(*fixed_rules(a_set([8, 9, 9, 12, 40], 150), distance=("kl", "linear"), prior=prior))
    for certificate in certificates.values():
        values = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
        assert values["bound"] == certificate.bound
        assert values["vacuous"] is certificate.vacuous
        assert values["baselines"]["holdout"]["bound"] is None
    assert any("holds on its own" in assumption for assumption in certificates["best"].assumptions)
    assert "price" in certificates["majority"].theorem
