"""A report on a fitted model: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacbayes._utils.checks import import_optional
from pacbayes._utils.files import check_can_write, write_file
from pacbayes._utils.words import printable_lines
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.charts import bounds_chart, main_chart, risks_chart
from pacbayes.report.classes import Confusion, uncounted
from pacbayes.report.guarantee import facts, must_hold, observed
from pacbayes.report.questions import part_table
from pacbayes.report.record import data_table, parameter_table, version_table
from pacbayes.report.tables import certificate_table, weight_table
from pacbayes.report.view import ReportView

# Rows of the table of weights.
_MOST_WEIGHTS = 20


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
    """Return the page: first all that is said, then the charts, then the whole of it put together."""
    page: str = _template().render(
        title=title,
        style=_file("report.css"),
        notes=list(notes),
        certificate=view.certificate,
        facts=facts(view),
        observed=observed(view),
        confusion=Confusion.of(view),
        uncounted=uncounted(view),
        main=main_chart(view),
        limits=part_table(view),
        must_hold=must_hold(view),
        assumptions=view.certificate.assumptions,
        details=[bounds_chart(view), risks_chart(view)],
        weights=weight_table(view, most=_MOST_WEIGHTS),
        certificates=certificate_table(view, full=True).transposed,
        record=[data_table(view), parameter_table(view), version_table()],
    )
    # Names from the data may hold characters that HTML does not allow, or that turn a line around.
    return printable_lines(page)


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
