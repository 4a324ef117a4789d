"""Model cards as Markdown and JSON: usual headings, facts of the fit only."""

import json
import re

import pytest
from tests.report.browser_page import Page
from tests.report.models import MODELS, controlling, model, page_of

from pacbayes import model_card

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


@pytest.mark.parametrize("format", ["markdown", "json"])
def test_control_characters_in_names_are_escaped(format):
    clf = controlling()
    card = clf.model_card(format)
    assert sorted({one for one in card if not one.isprintable() and one != "\n"}) == []
    assert "yes\\" in card
    if format == "json":
        assert json.loads(card)["factors"]["slices"] == ["l\x1bm", "n\u2069"]


@pytest.mark.parametrize("name", MODELS)
def test_markdown_and_json_have_the_same_contents(name):
    clf = model(name)
    card, found = model_card(clf), json.loads(clf.model_card(format="json"), parse_constant=pytest.fail)
    assert card.splitlines()[0] == f"# Model card: {type(clf).__name__}"
    assert re.findall(r"^## (.*)$", card, flags=re.MULTILINE) == HEADINGS
    assert list(found) == [heading.lower().replace(" ", "_") for heading in HEADINGS]
    assert f"- **Guarantee**: {clf.certificate_.sentence}\n" in card
    assert found["metrics"]["guarantee"] == clf.certificate_.sentence
    assert found["metrics"]["delta"] == clf.delta_
    stated = name not in (
        "threshold",
        "threshold failed",
        "nothing accepted",
        "cost threshold",
        "sets",
        "sets by class",
    )
    assert found["metrics"].get("bound") == (clf.certificate_.bound if stated else None)
    assert found["intended_use"] == {"primary_uses": None, "primary_users": None, "out_of_scope_uses": None}
    for blank in ("Primary uses", "Primary users", "Out-of-scope uses", "License", "Recommendations"):
        assert f"- **{blank}**: *[to be filled in by the owner]*" in card
    blanks = [value for part in found.values() for value in part.values()].count(None)
    assert card.count("*[to be filled in by the owner]*") == blanks >= 10
    assert found["evaluation_data"].get("validation_rows", clf.certificate_.m) == clf.certificate_.m


@pytest.mark.parametrize("name", ["soft", "threshold", "abstain", "refit", "groups", "rare"])
def test_numbers_are_those_of_the_model(name):
    """Every number is in the certificate, its report, the settings or the rows."""
    clf = model(name)
    certificate, splits = clf.certificate_, clf.classifiers_.splits
    known = [certificate.explain(), str(certificate.bound), str(certificate.delta), repr(clf), str(clf.hedge_)]
    known += [str(number) for number in (splits.m, splits.n_train, splits.n_rows, len(clf.classifiers_))]
    page = Page(page_of(name))
    tables = [page.table(f"table-{one}")[1] for one in ("classes", "confusion", "record-1", "record-2", "record-3")]
    known += [str(tables), page.text("facts"), page.text("must-hold"), page.text("head")]
    known += [str(page.table("table-columns")[1])] if "table-columns" in page.ids else []
    number = r"\d+(?:\.\d+)*(?:e-?\d+)?"
    allowed = {found for text in known for found in re.findall(number, text)}
    assert [one for one in re.findall(number, clf.model_card()) if one not in allowed] == []


def test_card_of_a_refit():
    clf = model("refit")
    found = json.loads(clf.model_card("json"))
    assert len(clf._fitted.refit.members) == 4
    assert found["training_data"]["training_rows"] == 569
    assert found["training_data"]["training_rows_of_the_certified_classifier"] == 285
    always = found["caveats_and_recommendations"]["majority_class_baseline"]
    assert always.startswith("at most 38.8 % (33.8 % errors on the validation rows): majority-class baseline (1);")
    assert always.endswith("is for covered predictions only")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("soft", "; its bound is above that of this model"),
        ("abstain", "is for accepted predictions only"),
        ("threshold", "not compared"),
        ("rare", "No better than the majority-class baseline ('ok'): at most"),
    ],
)
def test_comparison_with_the_majority_class(name, said):
    found = json.loads(model(name).model_card("json"))
    assert said in found["caveats_and_recommendations"]["majority_class_baseline"]
    assert "training_rows_of_the_certified_classifier" not in found["training_data"]


def test_markup_in_names_is_escaped():
    clf = model("hostile")
    card = clf.model_card()
    assert "<script" not in card.replace("\\<", "")
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {4, 5}
    json.loads(clf.model_card(format="json"))
