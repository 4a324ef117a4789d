"""Reports of every kind of model: voting, families, decisions, refits, groups."""

import re
from copy import copy

import numpy as np
import pytest
from tests.estimators.models import fitted, two_classes
from tests.report.browser_page import Page
from tests.report.models import MODELS, SCRIPT, constant_grid, logistic, model, page_of, rows, svms

from pacbayes import optimal_posterior
from pacbayes._utils.words import percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.report import report_html

# Notes below the headline or the certificates.
SEEN = {
    "soft": r"^Predicts the class with the highest probability, averaged over \d+ of 12 trained classifiers\.",
    "hedge 0": r"drawn at random with fixed weights\..*validation rows were only used to count its errors",
    "hedge 0.1": "The primary rule, fixed on the training rows, has 90.0 % of delta; rules chosen on the validation",
    "posterior": "% errors on 150 validation rows, averaged.*bound of the majority vote is twice",
    "metrics": r"\d+ errors on 227 validation rows\. Majority-class baseline",
    "one classifier": r"^Predicts with a single classifier\.",
    "threshold": r"Predicts 'malignant' if its probability, .*, is at least 0\.\d+.*Only the soft vote predicts",
    "abstain": r"\d+ errors? on \d+ accepted of \d+ .*\. The acceptance rate on new examples is not.*all of delta",
    "nothing accepted": r"Predicts by a weighted majority vote of .* classifiers\. Each",
    "refit": "The model was refitted on all rows. A prediction is covered if .* before the refit",
    "groups": r"% errors per validation group, averaged over \d+ groups",
    "rare": r"\d+ errors on \d+ validation rows\. Each.*Not better than the majority-class baseline: the soft",
    "prefit": r"^Predicts with a single classifier\.",
}


def as_columns(page, table):
    """Columns of a table by header, from its first column on."""
    return {name: cells for name, *cells in page.table(f"table-{table}")[1]}


@pytest.mark.parametrize("name", MODELS)
def test_page_of_every_certificate(name):
    clf, page = model(name), Page(page_of(name))
    certificate = clf.certificate_
    assert page.text("headline") == " ".join(certificate.summary_line.split())
    assert page.text("sentence") == " ".join(certificate.sentence.split())
    assert re.search(SEEN.get(name, ""), f"{page.text('facts')} {page.text('table-certificates-note')}")
    assert ("not-beaten" in page.ids) == bool(certificate.worse_than_baseline)
    assert [one.text for one in page.ids["assumptions"]] == list(certificate.assumptions)
    head, _ = page.table("table-certificates")
    place = list(clf.certificates_).index(clf.voting_) + 1
    assert [i for i, text in enumerate(head) if text.endswith("(this model)")] == [place]
    cells = as_columns(page, "certificates")
    for i, one in enumerate(clf.certificates_.values()):
        assert 0.0 <= float(cells["bound B"][i]) - one.bound < 1e-5
        assert cells["rule"][i] == one.rule
        assert cells["source"][i] == one.theorem
        assert cells["alternatives"][i] == ("; ".join(map(str, one.alternatives)) or "none")
        source = one.source.replace("rows", "set").replace("beforehand", "before validation")
        assert cells["chosen on"][i].startswith(source)
        # Levels are short, and never too small.
        assert len(cells["level"][i]) <= 8
        assert one.level <= float(cells["level"][i]) <= one.level * 1.001


@pytest.mark.parametrize("voting", ["soft", "stochastic", "majority", "best"])
def test_several_families(voting):
    clf, (X, y) = copy(model("soft")), rows()[1]
    clf.voting = voting
    page = Page(report_html(clf, test=(X, y)))
    assert page.text("headline") == clf.certificates_[voting].summary_line
    errors = int(np.count_nonzero(clf.predict(X) != y))
    assert page.text("observed").startswith(f"{errors} errors on 114 test rows")
    assert ("highest probability" in page.text("facts")) == (voting == "soft")
    for way, cell in zip(clf.certificates_, as_columns(page, "certificates")["test error"], strict=False):
        wrong = np.count_nonzero(copy(clf).set_params(voting=way).predict(X) != y)
        assert cell == f"{100 * wrong / 114:.1f} % of 114"
    assert f"bound of {clf.certificate_.holds_for.removesuffix(' with its key')}" in page.texts("weights")
    # SVMs of one width share a line, the largest weight first.
    head, cells = page.table("table-weights")
    assert all(re.match("svms: lambda = .*gamma", row[0]) for row in cells if " to " in row[0])
    shares = [float(row[head.index("weight")].removesuffix(" %")) for row in cells]
    assert shares == sorted(shares, reverse=True)
    assert ("prior weight" in page.text("table-weights-note")) == (voting != "soft")


def test_vote_of_independent_splits_has_no_error_count():
    """No row is a validation row of all classifiers: there is a bound but no error count."""
    page = Page(page_of("independent"))
    assert as_columns(page, "certificates")["validation error"][1] == "–"
    assert "the classifiers share no validation set" in page.text("errors")
    assert "table-confusion" not in page.ids
    assert "in an independent split for each classifier" in as_columns(page, "record-1")["training rows"][0]
    assert page.column("table-certificate", "error rate at most")[1] == "not available"
    assert page.table("table-bounds")[1][-1][2] == "–"


def test_distances_and_priors():
    clf, page = model("five distances"), Page(page_of("five distances"))
    bounds = as_columns(page, "bounds")
    assert float(bounds["kl"][1].removesuffix(" %")) < 100 * clf.certificate_.bound
    assert bounds["holdout"][1] == "–"
    assert "divides delta among 5 distances" in page.text("figure-bounds")
    clf = svms([0.1, 1.0, 10.0], prior=[0.5, 0.5, 0.0], cv=None)
    page = Page(report_html(clf))
    shown = dict(zip(*(page.column("table-weights", name) for name in ("lambda", "prior weight")), strict=True))
    known = {"0.1": "50.0 %", "1": "50.0 %", "0.1 to 1": "100.0 %", "10": "0.0 %", "0.1 to 10": "100.0 %"}
    assert {} != shown.items() <= known.items()
    expected = optimal_posterior(clf.classifiers_.risks, clf.classifiers_.m, prior=[0.5, 0.5, 0.0]).bound
    assert as_columns(page, "bounds")["kl"][1] == percent_up(expected)
    # Without a posterior they have the constant of the fit.
    clf = copy(fitted("svc", two_classes, hedge=0))
    assert Page(report_html(clf.set_params(constant="paper"))).table("table-bounds") == Page(page_of("hedge 0")).table(
        "table-bounds"
    )


@pytest.mark.parametrize("distance", ["kl", "squared"])
def test_vacuous(distance):
    # The kl bound is close to 1, the squared one larger.
    clf = constant_grid(n=8, delta=1e-6, distance=distance)
    assert clf.certificate_.vacuous == (distance == "squared")
    page = Page(report_html(clf))
    assert page.text("headline") == "No useful guarantee"
    assert page.column("table-certificate", "error rate at most")[0] == "100.0 %"


def test_abstention():
    clf, (X, y) = model("target"), rows()[1]
    page, result = Page(report_html(clf, test=(X, y))), clf.certificate_.decision
    cells = page.table("table-coverage")[1]
    new, labels = (values[clf.classifiers_.splits(0)[1]] for values in rows()[0])
    assert [int(cells[-1][0]), int(cells[-1][2])] == [len(labels), np.count_nonzero(clf.predict(new) != labels)]
    assert [str(result.accepted), str(result.errors)] in [[row[0], row[2]] for row in cells]
    assert all(bound == percent_up(float(binomial_upper(int(k), int(n), 0.05))) for n, _, k, _, bound in cells)
    accepted = clf.accepts(X)
    errors = int(np.count_nonzero((clf.predict(X) != y)[accepted]))
    assert f"It accepted {accepted.sum()} of 114 test rows" in page.text("observed")
    assert f"({errors} errors)" in page.text("observed")
    assert "threshold in use" in page.texts("coverage")
    assert "bound of the majority vote on accepted rows" in page.texts("weights")
    columns = as_columns(page, "certificates")
    assert columns["error rate at most"][1] == "5.0 % of accepted rows"
    assert (columns["acceptance rate"][1], columns["acceptance rate"][-1]) == (
        f"{100 * result.acceptance_rate:.1f} %",
        "100.0 %",
    )


def test_abstention_on_all_rows():
    page = Page(report_html(model("nothing accepted"), test=rows()[1]))
    assert page.text("headline") == "Accepts nothing: 0.1 % was not certified"
    assert "No threshold passed" in page.text("figure-coverage")
    assert "threshold in use" not in page.texts("coverage")
    assert "It accepted 0 of 114 test rows (0.0 %)" in page.text("observed")
    assert "The classifier abstains on all rows." in page.text("errors")
    assert as_columns(page, "certificates")["test error"][1] == "none accepted"


@pytest.mark.parametrize("name", ["threshold", "threshold failed"])
def test_thresholds(name):
    reached, page = model(name).certificate_.decision, Page(page_of(name))
    head, cells = page.table("table-threshold")
    assert head == ["threshold", "recall", "precision", "false positive rate"]
    at = next(row for row in cells if row[0] == reached.formatted_threshold)
    assert at[1:] == [f"{100 * share:.1f} %" for share in (reached.recall, reached.precision, reached.fpr)]
    assert ("threshold in use" in page.texts("threshold")) == reached.passed == (name == "threshold")


def test_after_a_refit_the_test_rows_show_covered_errors():
    clf, (X, y) = model("refit"), two_classes()
    page, wrong = Page(report_html(clf, test=(1.3 * X, y))), clf.predict(1.3 * X) != y
    covered = int(np.count_nonzero(wrong & clf.covered(1.3 * X)))
    assert page.text("observed").startswith(f"{wrong.sum()} errors on ")
    assert f"{covered} of them covered" in page.text("observed")
    assert page.column("table-certificate", "classifier")[0] == "this model, wrong and covered"
    shown = as_columns(page, "record-1")["training rows"]
    assert shown == ["285 (certified classifier), 569 (refit)"]


def test_bounds_on_metrics():
    found, page = model("metrics").certificate_, Page(page_of("metrics"))
    cells = page.table("table-by-class")[1]
    assert [row[1:] for row in cells] == [
        [percent_up(one.bound), str(one.count), str(one.rows)] for one in found.metrics
    ]
    assert [bool(re.search("false (posi|nega)tives", row[0])) for row in cells] == [True, True, False, False]
    assert SCRIPT not in page.source
    assert "table-by-class" not in Page(page_of("posterior")).ids
    # They use a fifth of the rule's level.
    errors = round(found.empirical_risk * found.m)
    without, bound = (percent_up(float(binomial_upper(errors, found.m, found.level / part))) for part in (0.8, 1.0))
    assert f"without them the overall bound would be {without} instead of {bound}." in page.text("metrics")
    clf = logistic(metrics=("recall", "f1"))
    page = Page(report_html(clf))
    assert [row[1] for row in page.table("table-by-class")[1]] == [one.claim for one in clf.certificate_.metrics]
    assert "Bounds on further metrics" in page.text("metrics")
