"""Pages, tables and plots of soft votes, and of models with several families or widths."""

from copy import copy

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.naive_bayes import GaussianNB
from tests.estimators.models import two_classes
from tests.report.browser_page import Page
from tests.report.models import breast_cancer, several_families

from pacbayes import Abstain, CertifiedClassifier, StochasticSVC, SVMs
from pacbayes.report import plot_coverage, plot_risks, report_html
from pacbayes.report.tables import weight_groups, weight_table
from pacbayes.report.view import ReportView

mpl.use("Agg")
FAMILIES = {"machines", "trees", "bayes"}


@pytest.fixture(scope="module")
def clf():
    return several_families()[0]


@pytest.fixture(scope="module")
def page():
    return Page(several_families()[1])


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_the_first_sentence_is_about_the_soft_vote(clf, page):
    assert clf.voting == "auto"
    assert page.text("headline") == clf.certificates_["soft"].headline
    assert page.text("sentence") == clf.certificates_["soft"].sentence
    said = page.text("facts")
    number = np.count_nonzero(clf.weights_)
    assert f"{number} of 12 classifiers say how probable each class is" in said
    assert "at random" not in said
    X, y = breast_cancer()[2]
    errors = np.count_nonzero(clf.predict(X) != y)
    assert page.text("observed").startswith(f"On 114 test rows it erred {errors} times")


def test_tables_list_it_among_the_ways_of_predicting(clf, page):
    head, rows = page.table("table-certificates")
    ways = ["soft vote (this model)", "stochastic classifier", "majority vote", "best single classifier", "always 1"]
    assert head[1:] == ways
    cells = {name: values for name, *values in rows}
    assert [float(value) for value in cells["bound B"][:4]] == [one.bound for one in clf.certificates_.values()]
    X, y = breast_cancer()[2]
    for place, voting in enumerate(clf.certificates_):
        wrong = np.count_nonzero(copy(clf).set_params(voting=voting).predict(X) != y)
        assert cells["test errors"][place] == f"{100 * wrong / 114:.1f} % of 114"


def test_its_bar_is_the_certificate_of_the_model(clf, page):
    names, bounds = (page.column("table-bounds", name) for name in ("guarantee", "bound"))
    place = names.index("soft vote, proposal")
    assert float(bounds[place]) == pytest.approx(clf.certificate_.bound, abs=1.1e-5)


def test_weights_are_those_of_the_soft_vote(clf, page):
    head, rows = page.table("table-risks")
    assert head == ["rank", "classifier", "validation risk", "weight", "test error", "parameters"]
    for _, i, _, weight, _, params in rows:
        assert float(weight) == pytest.approx(clf.weights_[int(i)], rel=1e-3)
        assert params.partition(":")[0] == clf.classifiers_.params[int(i)]["candidate"]
    assert {row[-1].partition(":")[0] for row in rows} == FAMILIES
    assert "bound of the soft vote" in page.texts("risks")
    labels = page.column("table-weights", "classifier")
    shown = [float(text.removesuffix(" %")) for text in page.column("table-weights", "weight")]
    # One of each family, the heaviest first.
    heaviest = np.argsort(-clf.weights_)[: len(labels)]
    assert [label.partition(":")[0] for label in labels] == [clf.classifiers_.params[i]["candidate"] for i in heaviest]
    np.testing.assert_allclose(shown, 100 * clf.weights_[heaviest], atol=0.051)
    caption = page.text("table-weights-note")
    assert f"The other {12 - np.count_nonzero(clf.weights_)} have none." in caption
    assert "prior weight" not in caption


def test_plots(clf, ax):
    plot_risks(clf, ax)
    assert ax.get_xlabel() == "rank by validation risk"
    (bound,) = (one for one in ax.lines if one.get_label() == "bound of the soft vote")
    assert bound.get_ydata()[0] == clf.certificate_.bound
    area = ax.figure.axes[1].collections[0].get_paths()[0].vertices
    assert area[:, 1].max() == pytest.approx(clf.weights_.max())


@pytest.mark.parametrize("voting", ["stochastic", "majority", "best"])
def test_other_ways_of_predicting_with_several_families(clf, voting, ax):
    other = copy(clf)
    other.voting = voting
    page = Page(report_html(other))
    assert page.text("headline") == clf.certificates_[voting].headline
    assert page.text("sentence") == clf.certificates_[voting].sentence
    assert "how probable" not in page.text("facts")
    plot_risks(other, ax)
    who = clf.certificates_[voting].holds_for.removesuffix(" with its key")
    assert any(one.get_label() == f"bound of {who}" for one in ax.lines)
    assert weight_table(ReportView.of(other)).columns[0] == "classifier"


def test_neighbours_are_of_one_width_and_of_one_family(clf):
    params = clf.classifiers_.params
    view = ReportView.of(copy(clf).set_params(voting="majority"))
    groups = weight_groups(view)
    assert sorted(i for group in groups for i in group.members) == list(range(12))
    assert any(group.number > 1 for group in groups)
    for group in groups:
        common = [{name: value for name, value in params[i].items() if name != "lambda"} for i in group.members]
        assert all(one == common[0] for one in common)
        assert group.number == 1 or "lambda = " in group.label


def test_those_without_weight_are_no_neighbours_of_those_with_weight(clf):
    """Of machines that err as often one alone has a part in the soft vote."""
    for group in weight_groups(ReportView.of(clf)):
        assert group.number == 1 or group.weight == 0.0


def test_widths_of_machines_alone():
    """Several widths are no path: a lambda stands for as many machines as there are widths."""
    machines = SVMs([0.1, 1.0, 10.0], gamma=[0.01, 0.05])
    clf = CertifiedClassifier(machines, random_state=0).fit(*two_classes())
    view = ReportView.of(clf)
    assert not view.is_path
    assert view.places.tolist() != [one["lambda"] for one in clf.classifiers_.params]
    page = Page(report_html(clf))
    assert page.table("table-risks")[0][-1] == "parameters"
    assert all("gamma = " in label for label in page.column("table-weights", "classifier"))
    one_width = ReportView.of(CertifiedClassifier(SVMs([0.1, 1.0], gamma="sigest"), random_state=0).fit(*two_classes()))
    assert one_width.is_path
    assert one_width.places.tolist() == [0.1, 1.0]
    assert weight_table(one_width).columns[:2] == ("lambda", "machines")


def test_a_path_with_a_soft_vote():
    clf = StochasticSVC([0.1, 1.0, 10.0], hedge="auto", voting="soft", random_state=0).fit(*two_classes())
    page = Page(report_html(clf))
    assert page.text("headline") == clf.certificates_["soft"].headline
    assert page.text("sentence") == clf.certificates_["soft"].sentence
    _, rows = page.table("table-risks")
    np.testing.assert_allclose([float(row[3]) for row in rows], clf.weights_, rtol=1e-3)


def test_a_target_of_the_way_that_predicts(ax):
    clf = CertifiedClassifier(["logistic", GaussianNB()], target=Abstain(0.05), random_state=0).fit(*two_classes())
    assert clf.voting_ == "soft"
    plot_coverage(clf, ax)
    page = Page(report_html(clf))
    assert page.text("headline") == clf.certificate_.headline
    assert page.text("sentence") == clf.certificate_.sentence
    assert "bound of the soft vote, among its answers" in page.texts("risks")
    answered = clf.certificate_.answered
    rows = page.table("table-coverage")[1]
    assert [str(answered.rows), str(answered.errors)] in [[row[0], row[2]] for row in rows]


def test_where_there_is_no_soft_vote():
    X, y = two_classes()
    drawn = CertifiedClassifier(GaussianNB(), hedge=1, random_state=0).fit(X, y)
    elsewhere = CertifiedClassifier.from_fitted([GaussianNB().fit(X[:200], y[:200])], X[200:], y[200:], random_state=0)
    for clf, voting in ((drawn, "stochastic"), (elsewhere, "best")):
        page = Page(report_html(clf))
        assert clf.voting_ == voting
        assert page.text("headline") == clf.certificates_[voting].headline
        assert page.text("sentence") == clf.certificates_[voting].sentence
        assert "soft vote" not in page.source
