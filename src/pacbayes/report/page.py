"""A report on a fitted model: one HTML file that needs nothing else, its charts drawn by plots.py as SVG inside it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes._utils.checks import import_optional
from pacbayes._utils.files import check_can_write, write_file
from pacbayes._utils.words import PLURAL, format_params, format_share, percent_up, printable_lines
from pacbayes.certificates.grids import Cuts
from pacbayes.certificates.sentences import format_label
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report import plots, tables
from pacbayes.report.guarantee import Confusion, compared, facts, most, must_hold, observed, uncounted
from pacbayes.report.record import data_table, parameter_table, version_table
from pacbayes.report.tables import TextTable, format_bound, format_number
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows of the table of weights.
_MOST_WEIGHTS = 20
# Of a chart, in pixels: wide enough for half a screen, narrow enough for a telephone.
_WIDTH = 460
# Characters of two labels that stand side by side.
_LEGEND = 60
# Beyond this many classifiers not all are listed.
_LISTED = 1_000
#: The charts: their titles, their heights in pixels, and what draws them.
_CHARTS: dict[str, tuple[str, int, Callable[[ReportView, Axes], Any]]] = {
    "limits": ("How often it errs, and what simpler methods have", 250, plots.plot_certificate),
    "coverage": ("What the target leaves answered", 300, plots.plot_target),
    "target": ("What each threshold gives", 320, plots.plot_target),
    "bounds": ("The five bounds, and what other methods guarantee", 280, plots.plot_bounds),
    "risks": ("Where the weight is, and how often each classifier errs", 320, plots.plot_risks),
}
# What the page's style calls each colour: it has others on a dark screen.
_NAMES = {"#000000": "text", "#ffffff": "page", plots.ACCENT: "accent", plots.RISK: "risk", plots.TEST: "light"}
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


def write_report(
    model: CertifiedModel,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    test: Any = None,
    data: Any = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write a report on a fitted model: what is guaranteed, which errors it makes, what must hold; the rest is folded.

    One HTML file that opens from disk, loads nothing, runs nothing and prints on two pages.  It holds names of classes
    and columns, but no rows of the data.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
        Fitted.  The certificate on top is that of its `voting`.
    path : str or path
        Replaced in one step if it exists.
    title : str, optional
        Heading of the page; by default it names the estimator.
    test : pair (X_test, y_test), optional
        Rows that `model` was not fitted with, for test errors.
    data : pair (X, y), optional
        What `model` was fitted with, for its fingerprint and the sizes of the classes.
    notes : sequence of str
        What the reader should know about the data, such as the name of the file; below the heading, a paragraph each.

    Returns
    -------
    Path
        Where it was written.

    See Also
    --------
    StochasticSVC : A model to report on.
    CertifiedClassifier : Another one.
    model_card : The same in Markdown or JSON, to be completed by its owner.
    save : Keep the model itself.

    Notes
    -----
    It needs Jinja and matplotlib: ``pip install jinja2 matplotlib``.

    Examples
    --------
    >>> import tempfile
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import write_report
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [0, 1] * 30
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(clf, folder + "/report.html", data=(X, y)).read_text(encoding="utf-8")
    >>> "errs on at most" in page
    True
    """
    check_can_write("path", path)
    write_file(path, report_html(model, title=title, test=test, data=data, notes=notes).encode("utf-8"))
    return Path(path)


def report_html(
    model: CertifiedModel,
    *,
    title: str | None = None,
    test: Any = None,
    data: Any = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page that `write_report` writes, with the same parameters.

    See Also
    --------
    pacbayes.write_report : Writes it to a file.
    pacbayes.model_card : The same in Markdown, or as JSON.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> report_html(clf, title="Tea & cake").splitlines()[0]
    '<!DOCTYPE html>'
    """
    if isinstance(notes, str):
        raise TypeError(f"notes must be a sequence of strings, got the string {notes!r}")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {title!r}")
    check_can_render()
    return render(ReportView.of(model, test, data), title or f"Certificate of a {type(model).__name__}", notes)


def render(view: ReportView, title: str, notes: Sequence[str]) -> str:
    """Put the page together from sentences, charts and tables."""
    page: str = _template().render(
        title=title,
        style=_file("report.css"),
        notes=list(notes),
        certificate=view.certificate,
        facts=facts(view),
        observed=observed(view),
        confusion=Confusion.of(view),
        uncounted=uncounted(view),
        main=_main_chart(view),
        limits=tables.part_table(view),
        must_hold=must_hold(view),
        details=[_bounds_chart(view), _risks_chart(view)],
        weights=tables.weight_table(view, most=_MOST_WEIGHTS),
        certificates=tables.certificate_table(view, full=True).transposed,
        record=[data_table(view), parameter_table(view), version_table()],
    )
    # Names from the data may hold characters that HTML does not allow, or that turn a line around.
    return printable_lines(page)


def drawn(ident: str, height: int, draw: Callable[[Axes], Any]) -> str:
    """Inner SVG of a picture: its colours are the page's variables, its ids begin with `ident`.

    Equal numbers give equal bytes.

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
        texts = [text.get_text() for text in legend.get_texts()]
        columns = 2 if sum(sorted(map(len, texts))[-2:]) <= _LEGEND else 1
        handles = [handle for handle in legend.legend_handles if handle is not None]
        figure.legend(handles, texts, loc="outside lower left", ncols=columns, frameon=False)
        legend.remove()
        figure.savefig(written, format="svg", transparent=True, metadata=_NOTHING)
    svg = written.getvalue()
    inner = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    plain = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", inner, count=1, flags=re.DOTALL)
    # Text lies between tags, and has neither < nor >.
    return re.sub(r"<[^<>]*>", lambda tag: _of_the_page(tag[0], ident), plain)


def _of_the_page(tag: str, ident: str) -> str:
    """Return a tag with ids of its own, the page's font, and colours by name."""
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{ident}-", tag)
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    for colour, name in _NAMES.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag


def _chart(view: ReportView, ident: str, caption: str, table: TextTable) -> dict[str, Any]:
    """Return a picture with its title, what it shows in words, and its numbers for who cannot see it."""
    title, height, plot = _CHARTS[ident]
    drawing = drawn(ident, height, lambda axes: plot(view, axes))
    return {"ident": ident, "title": title, "caption": caption, "height": height, "drawing": drawing, "table": table}


def _main_chart(view: ReportView) -> dict[str, Any]:
    """Return the picture of the guarantee: the limit beside others, or the curve of a target."""
    if view.certificate.answered is not None:
        return _coverage_chart(view)
    if view.certificate.reached is not None:
        return _threshold_chart(view)
    rows = [
        (label, most(bar), "–" if bar.empirical_risk is None else format_share(bar.empirical_risk), bar.note)
        for label, bar in compared(view).items()
    ]
    table = TextTable("Limits", ("who answers", "errs on at most", "errors counted", "what it is"), rows)
    caption = "Each limit holds alone. None of them covers taking the smallest after looking."
    return _chart(view, "limits", caption, table)


def _coverage_chart(view: ReportView) -> dict[str, Any]:
    """Return the errors among answered rows, by how many are answered."""
    curve = plots.coverage(view)
    used = "No threshold passed: nothing is answered."
    if curve.chosen is not None:
        share, errors = format_share(curve.shares[curve.chosen]), format_share(curve.errors[curve.chosen])
        used = f"The threshold in use answers {share} of the validation rows and errs on {errors} of these."
    rows = [
        (str(n), format_share(share), str(k), format_share(error), percent_up(limit))
        for share, error, limit, n, k in zip(*curve[:5], strict=True)
    ]
    columns = ("answered", "share", "errors", "share of errors", "upper limit, alone")
    caption = f"From right to left it answers fewer rows, those it is surer of. {used}"
    return _chart(view, "coverage", caption, TextTable("Errors among answered rows", columns, rows))


def _threshold_chart(view: ReportView) -> dict[str, Any]:
    """Return recall, precision and false alarms by threshold."""
    cuts, reached = view.plan.thresholds, view.certificate.reached
    assert isinstance(cuts, Cuts)
    assert reached is not None
    columns = {"threshold": [f"{value:.4g}" for value in cuts.values.tolist()]}
    for _, words, shares in plots.shares_at_thresholds(view):
        columns[words] = ["–" if np.isnan(share) else format_share(share) for share in shares.tolist()]
    of = f"the probability of {format_label(reached.positive)}"
    used = f"The threshold in use is {reached.shown}, of {of}." if reached.passed else "No threshold passed."
    caption = f"Lines are observed on the validation rows; dashed ones are the targets that were tested. {used}"
    table = TextTable("Observed at each threshold", tuple(columns), list(zip(*columns.values(), strict=True)))
    return _chart(view, "target", caption, table)


def _bounds_chart(view: ReportView) -> dict[str, Any]:
    """Return the bounds of the distances; the table has the baselines too."""
    table = tables.bounds_table(view, full=True)
    return _chart(view, "bounds", table.caption, replace(table, title="Bounds", caption=""))


def _risks_chart(view: ReportView) -> dict[str, Any]:
    """Return the weights that predict with the risks of the classifiers: of very many the table lists the heaviest."""
    classifiers, weights, name = view.classifiers, view.weights, view.weight_name
    axis = "regularisation parameter λ" if view.is_path else "rank of the classifier by its risk"
    caption = (
        f"The {name} of each classifier (filled) and its errors on {classifiers.m} validation "
        f"{PLURAL[classifiers.unit]}, against the {axis}; dashed is the {view.bound_name}, "
        f"{format_bound(view.certificate.bound)}."
    )
    heaviest = np.argsort(-weights, kind="stable")[:_LISTED]
    shown = heaviest[np.argsort(view.places[heaviest], kind="stable")].tolist()
    if len(shown) < weights.size:
        caption += f" Of {weights.size} classifiers the table lists {len(shown)}, the heaviest."
    # Of several families, or widths, a rank says nothing.
    named = not view.is_path and any("candidate" in one or "lambda" in one for one in classifiers.params)
    rows = []
    for i in shown:
        place = format_number(view.places[i]) if view.is_path else f"{view.places[i]:.0f}"
        row = {"λ" if view.is_path else "rank": place, "classifier": str(i)}
        row |= {"validation risk": format_bound(float(classifiers.risks[i])), name: format_number(weights[i])}
        if view.observed is not None:
            row["test error"] = format_bound(float(view.observed.risks[i]))
        rows.append(row | {"parameters": format_params(classifiers.params[i])} if named else row)
    return _chart(view, "risks", caption, TextTable.of("Risk and weight of each classifier", rows))


def _file(name: str) -> str:
    return files("pacbayes.report").joinpath("template", name).read_text(encoding="utf-8")


def check_can_render() -> None:
    """Raise before any work if Jinja, which puts the page together, or matplotlib, which draws, is not installed.

    Examples
    --------
    >>> check_can_render()
    """
    import_optional("jinja2", "a report")
    import_optional("matplotlib", "a report")


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_file("report.html.jinja"))
