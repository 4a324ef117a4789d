"""HTML reports on fitted models: a single file with embedded SVG charts."""

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
from pacbayes._utils.files import check_writable, write_file
from pacbayes._utils.words import PLURAL, escape_lines, format_share, percent_up
from pacbayes.certificates.decisions import ThresholdResult
from pacbayes.certificates.sentences import format_label
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.thresholds import ThresholdGrid
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report import plots, tables
from pacbayes.report.guarantee import (
    Confusion,
    compare_with_baselines,
    describe_test_errors,
    format_baseline,
    result_sentences,
    summarise_assumptions,
    why_no_confusion,
)
from pacbayes.report.record import column_table, data_table, header_fields, parameter_table, version_table
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Maximum number of rows of the table of weights.
_MAX_WEIGHT_ROWS = 20
# Chart width in pixels: half a desktop screen, or the full width of a phone.
_WIDTH = 460
#: Charts by id: title, height in pixels, plot function.
_CHARTS: dict[str, tuple[str, int, Callable[[ReportView, Axes], Any]]] = {
    "certificate": ("Error bound, compared with simpler methods", 250, plots.plot_certificate),
    "coverage": ("Error rate by acceptance rate", 300, plots.plot_decision),
    "threshold": ("Recall, precision and false positive rate by threshold", 320, plots.plot_decision),
    "sets": ("Sizes of the prediction sets", 280, plots.plot_decision),
    "bounds": ("PAC-Bayes bounds and baselines", 280, plots.plot_bounds),
    "weights": ("Weights and error rates of the classifiers", 320, plots.plot_risks),
}
# CSS variables of the colours; the dark theme redefines them.
_CSS_VARIABLES = {"#000000": "text", "#ffffff": "page", plots.ACCENT: "accent", plots.RISK: "risk", plots.TEST: "light"}
# Overrides the user's matplotlib style.  Text is not converted to paths, nor dollar signs to mathematics.
_STYLE = {
    "font.size": 12.0,
    "legend.fontsize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "text.parse_math": False,
}
# Omit metadata, so that equal plots give identical files.
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def write_report(
    model: CertifiedModel,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    test: Any = None,
    data: Any = None,
    notes: Sequence[str] = (),
    owner: str | None = None,
) -> Path:
    """Write an HTML report on a fitted model: guarantee, validation errors, assumptions and details.

    The report is a single file without scripts and external resources.  It contains the names of classes and columns,
    but no rows of the data.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
        Fitted model.  The report starts with the certificate of its `voting`.
    path : str or path
        Path of the report.  An existing file is replaced atomically.
    title : str, optional
        Heading of the report; names the estimator by default.
    test : pair (X_test, y_test), optional
        Test set, to report test errors.  It must not overlap with the rows of the fit.
    data : pair (X, y), optional
        The rows of the fit, to report their fingerprints and class counts.
    notes : sequence of str
        Notes about the data, such as the file name, each shown as a paragraph.
    owner : str, optional
        Person or team responsible for the model, shown in the header of the report.

    Returns
    -------
    Path
        Path of the report.

    See Also
    --------
    StochasticSVC : The paper's estimator.
    CertifiedClassifier : Certified classifier of any candidates.
    model_card : Model card in Markdown or JSON, to be completed by the owner.
    save : Save a fitted model.

    Notes
    -----
    Requires Jinja and matplotlib: ``pip install jinja2 matplotlib``.

    Examples
    --------
    >>> import tempfile
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report import write_report
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [0, 1] * 30
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(clf, folder + "/report.html", data=(X, y)).read_text(encoding="utf-8")
    >>> "error rate at most" in page
    True
    """
    check_writable("path", path)
    write_file(path, report_html(model, title=title, test=test, data=data, notes=notes, owner=owner).encode("utf-8"))
    return Path(path)


def report_html(
    model: CertifiedModel,
    *,
    title: str | None = None,
    test: Any = None,
    data: Any = None,
    notes: Sequence[str] = (),
    owner: str | None = None,
) -> str:
    """HTML report as a string, with the parameters of `write_report`.

    See Also
    --------
    pacbayes.write_report : Write the report to a file.
    pacbayes.model_card : Model card in Markdown or JSON.

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
    view = ReportView.from_model(model, test, data, owner=owner)
    return render(view, title or f"Certificate of a {type(model).__name__}", notes)


def render(view: ReportView, title: str, notes: Sequence[str]) -> str:
    """Render the template with sentences, charts and tables."""
    page: str = _template().render(
        title=title,
        style=_read_template_file("report.css"),
        head=header_fields(view),
        notes=list(notes),
        certificate=view.certificate,
        facts=result_sentences(view),
        observed=describe_test_errors(view),
        confusion=Confusion.from_view(view),
        why_no_confusion=why_no_confusion(view),
        main=_main_chart(view),
        metric_bounds=tables.metric_table(view),
        assumptions=summarise_assumptions(view),
        details=[_bounds_chart(view), _weights_chart(view)],
        certificates=tables.certificate_table(view, full=True).transposed,
        columns=column_table(view),
        record=[data_table(view), parameter_table(view), version_table()],
    )
    # Names from the data may contain characters that are invalid in HTML or change the text direction.
    return escape_lines(page)


def render_svg(ident: str, height: int, draw: Callable[[Axes], Any]) -> str:
    """Content of an SVG chart, with CSS variables as colours and ids that start with `ident`.

    The output is deterministic.

    Examples
    --------
    >>> svg = render_svg("line", 200, lambda axes: axes.set_xlabel("error rate"))
    >>> "error rate</text>" in svg, "<style" in svg, "stroke: var(--text)" in svg
    (True, False, True)
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    buffer = StringIO()
    with matplotlib.style.context(["default", _STYLE | {"svg.hashsalt": ident}]):
        figure = Figure((_WIDTH / 72, height / 72), layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = buffer.getvalue()
    content = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    content = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", content, count=1, flags=re.DOTALL)
    # Replace in tags only; the text between them contains neither < nor >.
    return re.sub(r"<[^<>]*>", lambda tag: _adapt_tag(tag[0], ident), content)


def _adapt_tag(tag: str, ident: str) -> str:
    """Make ids unique, and use the font and the colours of the page."""
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{ident}-", tag)
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    for colour, name in _CSS_VARIABLES.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag


def _make_chart(view: ReportView, ident: str, caption: str, table: TextTable) -> dict[str, Any]:
    """Chart with title, caption, and a table of its numbers for accessibility."""
    title, height, plot = _CHARTS[ident]
    drawing = render_svg(ident, height, lambda axes: plot(view, axes))
    return {"ident": ident, "title": title, "caption": caption, "height": height, "drawing": drawing, "table": table}


def _main_chart(view: ReportView) -> dict[str, Any]:
    """Chart of the guarantee: the bound with its baselines, or the curve of a decision."""
    if view.certificate.abstains:
        return _coverage_chart(view)
    if isinstance(view.certificate.decision, ThresholdResult):
        return _threshold_chart(view)
    if isinstance(view.certificate.decision, SetResult):
        return _sets_chart(view, view.certificate.decision)
    rows = [
        (
            label,
            format_baseline(baseline),
            "–" if baseline.empirical_risk is None else format_share(baseline.empirical_risk),
            baseline.note,
        )
        for label, baseline in compare_with_baselines(view).items()
    ]
    table = TextTable("Bounds", ("classifier", "error rate at most", "validation error", "description"), rows)
    caption = "Each bound is valid on its own. Picking the smallest afterwards is not covered."
    return _make_chart(view, "certificate", caption, table)


def _coverage_chart(view: ReportView) -> dict[str, Any]:
    """Chart of the error rate of accepted rows by acceptance rate."""
    curve = plots.coverage(view)
    used = "No threshold passed: the classifier abstains on all rows."
    if curve.chosen is not None:
        share, errors = format_share(curve.shares[curve.chosen]), format_share(curve.errors[curve.chosen])
        used = f"The threshold in use accepts {share} of the validation rows, with an error rate of {errors}."
    rows = [
        (str(n), format_share(share), str(k), format_share(error), percent_up(bound))
        for share, error, bound, n, k in zip(*curve[:5], strict=True)
    ]
    columns = ("accepted", "acceptance rate", "errors", "error rate", "upper confidence bound")
    caption = f"From right to left, fewer rows are accepted, those with higher confidence. {used}"
    return _make_chart(view, "coverage", caption, TextTable("Errors among accepted rows", columns, rows))


def _threshold_chart(view: ReportView) -> dict[str, Any]:
    """Chart of recall, precision and false positive rate by threshold."""
    grid, result = view.plan.thresholds, view.certificate.decision
    assert isinstance(grid, ThresholdGrid)
    assert isinstance(result, ThresholdResult)
    columns = {"threshold": [f"{value:.4g}" for value in grid.values.tolist()]}
    for _, words, shares in plots.shares_at_thresholds(view):
        columns[words] = ["–" if np.isnan(share) else format_share(share) for share in shares.tolist()]
    of = f"the probability of {format_label(result.positive)}"
    used = (
        f"The threshold in use is {result.formatted_threshold}, for {of}." if result.passed else "No threshold passed."
    )
    caption = f"Solid lines are validation results, dashed lines the requirements. {used}"
    table = TextTable("Validation results by threshold", tuple(columns), list(zip(*columns.values(), strict=True)))
    return _make_chart(view, "threshold", caption, table)


def _sets_chart(view: ReportView, result: SetResult) -> dict[str, Any]:
    """Chart of the sizes of the prediction sets; its table has size and coverage by class."""
    columns = (f"validation {PLURAL[view.plan.split.unit]}", "set has the class", "coverage", "mean size of the set")
    rows = []
    for name, n, k, size in zip(result.classes, result.rows, result.covered, result.mean_sizes, strict=True):
        share = format_share(k / n) if n else "–"
        rows.append((format_label(name), str(n), str(k), share, "–" if size is None else f"{size:.2f}"))
    caption = "The coverage is guaranteed; sizes, and the coverage of a single class, are observations."
    if result.decision.by_class:
        caption = "The coverage of every class is guaranteed; sizes are observations."
    return _make_chart(view, "sets", caption, TextTable("Prediction sets by class", ("class", *columns), rows))


def _bounds_chart(view: ReportView) -> dict[str, Any]:
    """Chart of the bounds of the distances; its table includes the baselines."""
    table = tables.bounds_table(view)
    return _make_chart(view, "bounds", table.caption, replace(table, caption=""))


def _weights_chart(view: ReportView) -> dict[str, Any]:
    """Chart of the weights and risks of all classifiers; its table lists those with the largest weights."""
    axis = "regularisation parameter λ" if view.is_path else "rank by validation error"
    caption = (
        f"The {view.weight_name} (filled) and validation error (line) of each classifier, by {axis}. The dashed line "
        f"is the {view.bound_name}, {percent_up(min(view.certificate.bound, 1.0))}."
    )
    return _make_chart(view, "weights", caption, tables.weight_table(view, max_rows=_MAX_WEIGHT_ROWS))


def _read_template_file(name: str) -> str:
    return files("pacbayes.report").joinpath("template", name).read_text(encoding="utf-8")


def check_can_render() -> None:
    """Raise if Jinja or matplotlib is not installed.

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
    return environment.from_string(_read_template_file("report.html.jinja"))
