"""Pages, tables and plots of models that share delta between proposals and posterior, or have no posterior."""

import matplotlib
import pytest
from tests.estimators.models import fitted, two_classes
from tests.report.browser_page import Page
from tests.report.models import by_class

from pacbayes.report import plot_bounds, plot_gibbs_curve, plot_risks, report_html
from pacbayes.report.guarantee import who_answers
from pacbayes.report.tables import certificate_table, weight_table
from pacbayes.report.view import ReportView

VOTINGS = ("soft", "stochastic", "majority", "best")


@pytest.mark.parametrize("hedge", [0, 0.1])
@pytest.mark.parametrize("voting", VOTINGS)
def test_the_page_says_which_rule_predicts(voting, hedge):
    clf = fitted("svc", two_classes, hedge=hedge)
    try:
        page = Page(report_html(clf.set_params(voting=voting)))
        certificate = clf.certificate_
        assert page.text("headline") == certificate.headline
        assert page.text("sentence") == certificate.sentence
        _, rows = page.table("table-certificates")
        facts = {row[0]: row[1:] for row in rows}
        assert facts["which rule"] == [*(one.rule for one in clf.certificates_.values()), "–"]
        assert facts["recommended by"][:4] == [f"the {one.source}" for one in clf.certificates_.values()]
        for column, one in zip(facts["other rules"], clf.certificates_.values(), strict=False):
            assert all(str(claim) in column for claim in one.alternatives)
        own = page.column("table-bounds", "guarantee")
        assert f"{certificate.holds_for.removeprefix('the ').removesuffix(' with its key')}, proposal" in own
        assert ("draws of this key" in page.text("assumptions")) == (voting == "stochastic")
    finally:
        clf.set_params(voting="stochastic")


@pytest.mark.parametrize("hedge", [0, 0.1])
def test_tables_and_words(hedge):
    clf = fitted("grid", two_classes, hedge=hedge)
    view = ReportView.of(clf)
    caption = certificate_table(view).caption
    assert ("100.0 % was for what" in caption) == (hedge == 0)
    assert ("90.0 % was for what" in caption) == (hedge == 0.1)
    assert "twice the stochastic" not in caption
    assert "of the weight." in weight_table(view).caption
    assert "chosen at random by fixed weights" in who_answers(view)
    assert sum(view.weights) == 1.0


@pytest.mark.parametrize("hedge", [0, 0.1])
def test_plots(hedge):
    matplotlib.use("Agg")
    clf = fitted("svc", two_classes, hedge=hedge)
    twin = plot_risks(clf).figure.axes[1]
    assert twin.get_ylabel() == "weight"
    assert len(plot_bounds(clf).patches) == 10
    # Of a model without posterior: the one that would have been best at the whole of delta.
    view = ReportView.of(clf)
    assert view.posterior.delta == pytest.approx(0.005 if hedge else 0.05)
    assert plot_gibbs_curve(clf).get_xlabel() == "inverse temperature β"


def test_levels_are_short_and_never_too_small():
    view = ReportView.of(by_class()[0])
    table = certificate_table(view, full=True)
    place = table.columns.index("its share of δ")
    for row, one in zip(table.rows, view.model.certificates_.values(), strict=False):
        assert len(row[place]) <= 8
        assert one.level <= float(row[place]) <= one.level * 1.001
