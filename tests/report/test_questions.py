"""Tables of errors by class and of members below a target, in the words and numbers of the certificate."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from tests.report.browser_page import Page
from tests.report.models import SCRIPT, breast_cancer, by_class, with_target

from pacbayes._utils.words import percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certificate import Certificate
from pacbayes.report import plot_coverage
from pacbayes.report.questions import Coverage, cost_of_parts, part_table
from pacbayes.report.tables import certificate_table
from pacbayes.report.view import ReportView

mpl.use("Agg")


def test_limits_by_class_as_a_table():
    clf, html = by_class()
    table = part_table(ReportView.of(clf))
    limits = clf.certificate_.limits
    expected = [(percent_up(one.bound), str(one.count), str(one.rows)) for one in limits]
    assert [row[1:] for row in table.rows] == expected
    assert [bool(re.search("false (posi|nega)tives", row[0])) for row in table.rows] == [True, True, False, False]
    with_, without = re.search(r"would be (\S+) % instead of (\S+) %", table.caption).groups()
    assert float(with_) <= float(without)
    _, rows = Page(html).table("table-by-class")
    assert [row[1:] for row in rows] == [list(row[1:]) for row in table.rows]
    # Names from the data are escaped.
    assert SCRIPT not in html


@pytest.mark.parametrize(
    ("errors", "cost"), [(10, "; without them the bound would be 16.4 % instead of 16.8 %."), (99, "."), (100, ".")]
)
def test_the_cost_of_limits_by_class_is_named_where_it_is_seen(errors, cost):
    bound = float(binomial_upper(errors, 100, 0.04))
    found = Certificate(bound, None, 0.05, 100, "binomial", errors / 100, 0.0, "it", "Exact.", rule="p", level=0.04)
    assert cost_of_parts(found, 0.2).removeprefix(
        "They take 20.0 % of the probability with which anything here may "
    ) == (f"fail{cost}")


def test_without_a_share_there_is_none():
    assert part_table(ReportView.of(breast_cancer()[0])) is None


def test_certificates_with_a_target():
    clf, _ = with_target()
    view = ReportView.of(clf, breast_cancer()[2])
    table = certificate_table(view)
    answers = table.columns.index("answers")
    vote = next(row for row in table.rows if row[0] == "majority vote")
    assert vote[answers] == f"{100 * clf.certificate_.answered.share:.1f} %"
    assert vote[1] == "5.0 % of its answers"
    assert "whole of delta" in table.caption


def test_the_curve():
    clf, _ = with_target()
    found = Coverage.of(clf, "majority")
    assert np.all(np.diff(found.shares) >= 0)
    assert np.all(found.limits >= found.errors)
    assert found.rows[found.chosen] == clf.certificate_.answered.rows
    axes = plot_coverage(clf)
    assert len(axes.lines) == 4
    assert len(plot_coverage(with_target(0.001)[0]).lines) == 3
    with pytest.raises(ValueError, match="max_error"):
        plot_coverage(breast_cancer()[0])
