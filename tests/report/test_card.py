"""Model cards: the usual headings, what the fit knows and nothing else, as Markdown and as JSON."""

import json
import re
from copy import copy

import pytest
import sklearn
from tests.estimators.models import fitted, three_classes, two_classes
from tests.report.browser_page import Page
from tests.report.models import (
    abstaining,
    breast_cancer,
    by_class,
    controlling,
    grouped,
    hostile,
    many_classes,
    rare,
    refitted,
    several_families,
    threshold,
    with_target,
)

from pacbayes import StochasticSVC, model_card
from pacbayes.report import report_html
from pacbayes.report.classes import Confusion
from pacbayes.report.guarantee import must_hold
from pacbayes.report.record import versions
from pacbayes.report.view import ReportView

HEADINGS = [
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
]
MODELS = {
    "soft": lambda: several_families()[0],
    "posterior": lambda: breast_cancer()[0],
    "independent": lambda: fitted("svc", two_classes, "independent"),
    "grid": lambda: fitted("grid", three_classes),
    "limits": lambda: by_class()[0],
    "threshold": threshold,
    "abstain": abstaining,
    "answers nothing": lambda: with_target(0.001)[0],
    "refit": refitted,
    "groups": grouped,
    "rare": rare,
    "many classes": many_classes,
}


@pytest.mark.parametrize("format", ["markdown", "json"])
def test_names_neither_control_a_terminal_nor_turn_a_line_around(format):
    clf, _ = controlling()
    card = clf.model_card(format)
    assert sorted({one for one in card if not one.isprintable() and one != "\n"}) == []
    assert "yes\\" in card
    if format == "json":
        assert json.loads(card)["factors"]["slices"] == ["l\x1bm", "n\u2069"]


@pytest.mark.parametrize("name", MODELS)
def test_headings_and_sentence(name):
    clf = MODELS[name]()
    card = clf.model_card()
    assert card == model_card(clf)
    assert card.splitlines()[0] == f"# Model card: {type(clf).__name__}"
    assert re.findall(r"^## (.*)$", card, flags=re.MULTILINE) == HEADINGS
    assert f"- **Guarantee**: {clf.certificate_.sentence}\n" in card or name == "limits"
    for blank in ("Primary uses", "Primary users", "Uses out of scope", "License", "Recommendations"):
        assert f"- **{blank}**: *[to be filled in by the owner]*" in card


@pytest.mark.parametrize("name", MODELS)
def test_json_says_the_same(name):
    clf = MODELS[name]()
    found = json.loads(clf.model_card(format="json"), parse_constant=pytest.fail)
    assert list(found) == [heading.lower().replace(" ", "_") for heading in HEADINGS]
    assert found["metrics"]["guarantee"] == clf.certificate_.sentence
    assert found["metrics"]["delta"] == clf.delta_
    stated = name not in ("threshold", "answers nothing")
    assert found["metrics"].get("limit") == (clf.certificate_.bound if stated else None)
    assert found["intended_use"] == {"primary_uses": None, "primary_users": None, "uses_out_of_scope": None}
    blanks = [value for part in found.values() for value in part.values()].count(None)
    assert clf.model_card().count("*[to be filled in by the owner]*") == blanks >= 10
    assert found["evaluation_data"].get("validation_rows", clf.certificate_.m) == clf.certificate_.m


@pytest.mark.parametrize("name", ["soft", "threshold", "abstain", "refit", "groups", "rare"])
def test_no_number_is_invented(name):
    """Every number is one of the certificate, of the counts, of the settings or of the versions."""
    clf = MODELS[name]()
    view, certificate = ReportView.of(clf), clf.certificate_
    known = [certificate.explain(), certificate.sentence, str(certificate.bound), str(certificate.delta), repr(clf)]
    known.append(str(clf.hedge_))
    known += [str(versions()), str(len(clf.classifiers_)), str(clf.n_features_in_), str(clf.classes_)]
    known += [str(clf.weights_[clf.weights_ > 0].size), str(clf.best_index_), str(must_hold(view))]
    confusion = Confusion.of(view)
    known += [str(confusion.by_class.rows), str(confusion.table.rows), str(confusion.sizes.sum())]
    known += [str(one.to_dict()) for one in (certificate.answered, certificate.reached) if one is not None]
    known += [f"{100 * view.validation_risk(view.voting):.1f}", str(round(certificate.empirical_risk * certificate.m))]
    if certificate.answered is not None:
        known.append(f"{100 * certificate.answered.share:.1f}")
    splits = clf.classifiers_.splits
    known += [str(number) for number in (splits.m, splits.n_train, splits.n_rows)]
    number = r"\d+(?:\.\d+)*(?:e-?\d+)?"
    allowed = {found for text in known for found in re.findall(number, text)}
    assert [one for one in re.findall(number, clf.model_card()) if one not in allowed] == []


def test_after_a_refit_all_rows_trained_and_the_baseline_is_compared():
    clf = refitted()
    found = json.loads(clf.model_card("json"))
    assert len(clf._fitted.refit.members) == 4
    assert found["training_data"]["training_rows"] == 569
    assert found["training_data"]["training_rows_of_the_certified_classifier"] == 285
    assert found["evaluation_data"]["validation_rows"] == 284
    shown = dict(Page(report_html(clf)).table("table-record-1")[1])["training rows"]
    assert shown == "285 (of the certified classifier; the refit: all 569)"
    always = found["caveats_and_recommendations"]["always_the_same_answer"]
    assert always.startswith("at most 38.8 % (33.8 % of the validation rows): majority class of the training rows (1);")
    assert always.endswith("counts only answers that are covered")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("soft", "; its bound is above that of this model"),
        ("abstain", "counts only examples that it answers"),
        ("threshold", "not compared"),
        ("rare", "That is no better than the majority class of the training rows ('ok'): error rate at most"),
    ],
)
def test_the_majority_class_is_compared_where_the_bounds_are_of_the_same_examples(name, said):
    found = json.loads(MODELS[name]().model_card("json"))
    assert said in found["caveats_and_recommendations"]["always_the_same_answer"]
    assert "training_rows_of_the_certified_classifier" not in found["training_data"]


def test_names_from_the_data_are_no_markup():
    clf, _ = hostile()
    card = clf.model_card()
    assert "<script" not in card.replace("\\<", "")
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {4, 5}
    json.loads(clf.model_card(format="json"))


def test_the_certificate_is_that_of_the_voting():
    clf = copy(several_families()[0])
    for voting, certificate in clf.certificates_.items():
        clf.voting = voting
        assert json.loads(clf.model_card("json"))["metrics"]["limit"] == certificate.bound


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="unknown format 'yaml'; known are markdown, json"):
        breast_cancer()[0].model_card(format="yaml")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        StochasticSVC().model_card()
    with pytest.raises(TypeError, match="model must be a StochasticSVC or CertifiedClassifier, got str"):
        model_card("svc")
