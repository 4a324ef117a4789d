"""The charts of a report: drawn by the functions of plots.py as SVG in the page's colours, with their numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.words import PLURAL, format_params, format_share, percent_up
from pacbayes.certificates.certify import cut_counts
from pacbayes.certificates.grids import Cuts
from pacbayes.certificates.sentences import MEASURES, format_label
from pacbayes.report.guarantee import bars_of, compared
from pacbayes.report.plots import (
    ACCENT,
    RISK,
    TEST,
    draw_bounds,
    draw_certificate,
    draw_risks,
    plot_target,
)
from pacbayes.report.questions import Coverage
from pacbayes.report.tables import TextTable, format_bound, format_number
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In pixels: wide enough for half a screen, narrow enough for a telephone.
_WIDTH = 460
# Characters of two labels that stand side by side.
_LEGEND = 60
# Beyond this many classifiers not all are listed.
_LISTED = 1_000
# What the page's style calls each colour: it has others on a dark screen.
_NAMES = {"#000000": "text", "#ffffff": "page", ACCENT: "accent", RISK: "risk", TEST: "light"}
# Nothing of the user's own style; text as text; no dollar of a name is mathematics.
_STYLE = {
    "font.size": 12.0,
    "legend.fontsize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "text.parse_math": False,
}
_NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True)
class Chart:
    """A drawing, what it shows in words, and its numbers."""

    ident: str
    title: str
    #: For who cannot see it.
    description: str
    caption: str
    #: What stands inside the SVG element, and its height.
    drawing: str
    height: int
    table: TextTable


def drawn(ident: str, height: int, draw: Callable[["Axes"], Any]) -> str:
    """Return what stands inside the SVG of a picture: its colours are the page's variables, its ids begin with `ident`.

    Examples
    --------
    >>> made = drawn("one", 200, lambda axes: axes.plot([0, 1], [0, 1], color="black", label="a line"))
    >>> "a line</text>" in made, "<style" in made, "stroke: var(--text)" in made
    (True, False, True)
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    written = StringIO()
    with matplotlib.style.context(["default", _STYLE | {"svg.hashsalt": ident}]):
        figure = Figure((_WIDTH / 72, height / 72), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        legend = axes.get_legend() or axes.legend()
        # Below the picture it hides nothing.
        handles = [one for one in legend.legend_handles if one is not None]
        found = [text.get_text() for text in legend.get_texts()]
        columns = 2 if sum(sorted(map(len, found))[-2:]) <= _LEGEND else 1
        figure.legend(handles, found, loc="outside lower left", ncols=columns, frameon=False)
        legend.remove()
        figure.savefig(written, format="svg", transparent=True, metadata=_NOTHING)
    inner = re.search(r"<svg[^>]*>(.*)</svg>", written.getvalue(), re.DOTALL)
    assert inner is not None
    plain = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", inner[1], count=1, flags=re.DOTALL)
    # Text lies between tags, and has neither < nor >.
    return re.sub(r"<[^<>]*>", lambda tag: _of_the_page(tag[0], ident), plain)


def _of_the_page(tag: str, ident: str) -> str:
    """Return a tag with ids of its own, the page's font, and colours by name."""
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{ident}-", tag)
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    for colour, name in _NAMES.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag


def main_chart(view: ReportView) -> Chart:
    """Return the picture of the guarantee: the limit beside others, or the curve of a target."""
    if view.certificate.answered is not None:
        return _coverage_chart(view)
    if view.certificate.reached is not None:
        return _threshold_chart(view)
    bars = compared(view)
    rows = [
        (bar.label, bar.value, "–" if bar.empirical_risk is None else format_share(bar.empirical_risk), bar.note)
        for bar in bars
    ]
    said = "; ".join(
        f"{bar.label}: limit {bar.value}, counted {counted}" for bar, (_, _, counted, _) in zip(bars, rows, strict=True)
    )
    title = "How often it errs, and what simpler methods have"
    table = TextTable("Limits", ("who answers", "errs on at most", "errors counted", "what it is"), rows)
    caption = "Each limit holds alone. None of them covers taking the smallest after looking."
    drawing = drawn("limits", 250, lambda axes: draw_certificate(view, axes))
    return Chart("limits", title, f"Horizontal bars. {said}.", caption, drawing, 250, table)


def _coverage_chart(view: ReportView) -> Chart:
    """Return the errors among answered rows, by how many are answered."""
    found = Coverage.of(view.model, view.voting)
    assert found is not None
    if found.chosen is None:
        used = "No threshold passed: nothing is answered."
    else:
        share, errors = format_share(found.shares[found.chosen]), format_share(found.errors[found.chosen])
        used = f"The threshold in use answers {share} of the validation rows and errs on {errors} of these."
    table = TextTable(
        "Errors among answered rows",
        ("answered", "share", "errors", "share of errors", "upper limit, alone"),
        [
            (str(a), format_share(share), str(k), format_share(error), percent_up(limit))
            for a, share, k, error, limit in zip(
                found.rows, found.shares, found.wrong, found.errors, found.limits, strict=True
            )
        ],
    )
    said = f"Errors among answered validation rows against the share answered, with the target. {used}"
    caption = f"From right to left it answers fewer rows, those it is surer of. {used}"
    drawing = drawn("coverage", 300, lambda axes: plot_target(view.model, axes))
    return Chart("coverage", "What the target leaves answered", said, caption, drawing, 300, table)


def _threshold_chart(view: ReportView) -> Chart:
    """Return recall, precision and false alarms by threshold."""
    fitted, reached = view.model._fitted, view.certificate.reached
    assert isinstance(fitted.plan.thresholds, Cuts)
    assert reached is not None
    counted, values = cut_counts(fitted.plan, fitted.evidence), fitted.plan.thresholds.values
    columns = [[f"{value:.4g}" for value in values.tolist()]]
    for name in MEASURES:
        pairs = zip(*(one.tolist() for one in np.broadcast_arrays(*counted.errors(name))), strict=True)
        shares = [(wrong / rows if name == "fpr" else 1.0 - wrong / rows) if rows else None for rows, wrong in pairs]
        columns.append(["–" if share is None else format_share(share) for share in shares])
    names = ("threshold", *(words for _, words, _ in MEASURES.values()))
    table = TextTable("Observed at each threshold", names, list(zip(*columns, strict=True)))
    of = f"the probability of {format_label(reached.positive)}"
    used = f"The threshold in use is {reached.shown}, of {of}." if reached.passed else "No threshold passed."

    def draw(axes: "Axes") -> None:
        # No name of a class: it may hold what a picture cannot show.
        plot_target(view.model, axes).set_xlabel("threshold of the probability")

    said = f"Recall, precision and false positive rate of the validation rows against the threshold. {used}"
    caption = f"Lines are observed on the validation rows; dashed ones are the targets that were tested. {used}"
    return Chart("target", "What each threshold gives", said, caption, drawn("target", 320, draw), 320, table)


def risks_chart(view: ReportView) -> Chart:
    """Return the weights that predict with the risks of the classifiers."""
    risks, weights, bound = view.classifiers.risks, view.weights, view.certificate.bound
    axis = "regularisation parameter λ" if view.is_path else "rank of the classifier by its risk"
    heaviest, shown = int(np.argmax(weights)), _listed(view)
    counted = f"errors on {view.classifiers.m} validation {PLURAL[view.classifiers.unit]}"
    description = (
        f"The {view.weight_name} of {weights.size} classifiers, the largest {format_number(weights[heaviest])}, at "
        f"{format_number(view.places[heaviest])}; their shares of validation errors, from "
        f"{format_bound(float(risks.min()))} to {format_bound(float(risks.max()))}; and the {view.bound_name}, "
        f"{format_bound(bound)}."
    )
    caption = f"The {view.weight_name} of each classifier (filled) and its {counted}, against the {axis}."
    if shown.size < weights.size:
        caption += f" Of {weights.size} classifiers the table lists {shown.size}, the heaviest."
    title = "Where the weight is, and how often each classifier errs"
    drawing = drawn("risks", 320, lambda axes: draw_risks(view, axes))
    return Chart("risks", title, description, caption, drawing, 320, _risks_table(view, shown))


def _listed(view: ReportView) -> NDArray[np.intp]:
    """Return the classifiers to list, in the order of the axis: the heaviest of very many."""
    heaviest = np.argsort(-view.weights, kind="stable")[:_LISTED]
    return heaviest[np.argsort(view.places[heaviest], kind="stable")]


def _risks_table(view: ReportView, shown: NDArray[np.intp]) -> TextTable:
    params, number = view.classifiers.params, shown.tolist()
    columns = {
        "λ" if view.is_path else "rank": [
            format_number(view.places[i]) if view.is_path else f"{view.places[i]:.0f}" for i in number
        ],
        "classifier": [str(i) for i in number],
        "validation risk": [format_bound(float(view.classifiers.risks[i])) for i in number],
        view.weight_name: [format_number(view.weights[i]) for i in number],
    }
    if view.observed is not None:
        columns["test error"] = [format_bound(float(view.observed.risks[i])) for i in number]
    if not view.is_path and any("candidate" in one or "lambda" in one for one in params):
        # Of several families, or widths, a rank says nothing.
        columns["parameters"] = [format_params(params[i]) for i in number]
    rows = list(zip(*columns.values(), strict=True))
    return TextTable("Risk and weight of each classifier", tuple(columns), rows)


def bounds_chart(view: ReportView) -> Chart:
    """Return the bounds of the five distances; the table has every other guarantee too."""
    bars = bars_of(view)
    caption = f"Every bound holds alone at δ = {view.delta!r}; choosing the smallest after looking is not covered."
    if view.model.hedge_ < 1.0:
        caption += f" The certificates of this model divided δ: {view.divided}. Single distances have all of it."
    if len(view.chosen_among) > 1:
        caption += f" The certificate chose among {len(view.chosen_among)} distances, at a share of δ each."
    rows = [(bar.label, bar.number, format_bound(bar.empirical_risk), format_bound(bar.kl), bar.note) for bar in bars]
    table = TextTable("Bounds", ("guarantee", "bound", "validation risk", "divergence K", "what it is"), rows)
    said = "; ".join(f"{bar.label}: {bar.value}" for bar in bars)
    drawing = drawn("bounds", 280, lambda axes: draw_bounds(view, axes))
    return Chart("bounds", "The five bounds, and what other methods guarantee", said, caption, drawing, 280, table)
