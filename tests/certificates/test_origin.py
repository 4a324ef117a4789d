"""What fixed the weights of the rule that predicts, and what picked it, are told apart in words."""

from dataclasses import replace

import pytest
from tests.estimators.test_from_fitted import from_fitted

from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import OCCAM, POSTERIOR
from pacbayes.certificates.rules.claim import BEFOREHAND, FOUND, TRAINING, VALIDATION, Claim
from pacbayes.certificates.rules.tandem_vote import TANDEM

OTHER = Claim("posterior", "validation rows", 0.005, 0.2, 0.1, 0.5, "kl", "PAC-Bayes.")
ONE = Certificate(0.1, None, 0.05, 50, "binomial", 0.05, 0.0, "the vote", "Exact.", alternatives=(OTHER,))


def test_the_names_of_what_validation_rows_find():
    assert set(FOUND) == {POSTERIOR, OCCAM, TANDEM}


@pytest.mark.parametrize(
    ("rule", "source", "said"),
    [
        ("proposal", TRAINING, "the proposal, which the training rows proposed."),
        ("proposal", BEFOREHAND, "the proposal, which was proposed beforehand."),
        ("posterior", VALIDATION, "the posterior, which was found on the validation rows."),
        ("tandem vote", VALIDATION, "the tandem vote, which was found on the validation rows."),
        ("vote s=1", VALIDATION, "the vote s=1, whose weights were fixed before any validation row was looked at, and"),
    ],
)
def test_each_has_its_own_words(rule, source, said):
    certificate = replace(ONE, rule=rule, source=source)
    assert f"Of 2 rules one has the smallest bound: {said}" in certificate.explain()
    assert certificate.origin in certificate._repr_html_()


def test_of_classifiers_from_elsewhere():
    clf = from_fitted(proposal=2)
    words = {name: one.explain() for name, one in clf.certificates_.items()}
    assert "by the fixed beforehand" not in " ".join(words.values())
    assert clf.certificates_["best"].rule == "proposal"
    assert "the proposal, which was proposed beforehand" in words["best"]
