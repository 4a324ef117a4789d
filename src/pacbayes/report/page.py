"""A fitted estimator as one HTML page: the certificate, the tables and a picture, nothing fetched from elsewhere."""

import io
import os
from collections.abc import Sequence
from html import escape

import pacbayes
from pacbayes.classifiers.file_write import write_file
from pacbayes.estimators.base import CertifiedClassifier
from pacbayes.report.plots import plot_risks
from pacbayes.report.tables import (
    Observed,
    TextTable,
    bounds_table,
    carriers,
    carriers_table,
    certificate_table,
    five_bounds,
)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
.certificate { font-size: 1.3rem; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { caption-side: bottom; text-align: left; font-size: 0.9rem; padding-top: 0.4rem; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #8888; }
figure { margin: 1rem 0; background: #fff; } svg { max-width: 100%; height: auto; }
"""


def check_can_draw() -> None:
    """Raise before any work if matplotlib, which draws the picture, is not installed."""
    try:
        import matplotlib  # noqa: F401  (only whether it is there)
    except ImportError as error:
        raise ImportError("a report needs matplotlib: pip install 'pacbayes[report]'") from error


def write_report(
    model: CertifiedClassifier,
    path: str | os.PathLike[str],
    *,
    title: str = "A certified classifier",
    notes: Sequence[str] = (),
    observed: Observed | None = None,
) -> None:
    """Write a self-contained HTML page about a fitted estimator; the file is there whole or not at all.

    Parameters
    ----------
    model : StochasticSVC or StochasticClassifier
        Fitted.
    path : str or path
        Replaced in one step if it exists.
    title : str
        Shown on top.
    notes : sequence of str
        What the reader should know about the data, one paragraph each.
    observed : Observed, optional
        Errors on test rows, shown beside the certificates.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pacbayes import StochasticSVC
    >>> from pacbayes.report.page import write_report
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(clf, folder + "/report.html", title="<b> is text")
    ...     print("<h1>&lt;b&gt; is text</h1>" in Path(folder, "report.html").read_text(encoding="utf-8"))
    True
    """
    certificate = model.certificates_["stochastic"]
    tables = [
        certificate_table(model, observed),
        bounds_table(model, five_bounds(model)),
        carriers_table(model, carriers(model)),
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="certificate">{escape(str(certificate))}</p>',
        *(f"<p>{escape(note)}</p>" for note in notes),
        *(_table(table) for table in tables),
        f"<figure>{_picture(model)}</figure>",
        "<h2>What this rests on</h2>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in certificate.assumptions) + "</ul>",
        f"<p>Written by pacbayes {escape(pacbayes.__version__)}.</p>",
    ]
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
    )
    write_file(path, (page + "\n".join(body) + "\n</body></html>\n").encode("utf-8", "replace"))


def _table(table: TextTable) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return (
        f"<h2>{escape(table.title)}</h2>\n<table><caption>{escape(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _picture(model: CertifiedClassifier) -> str:
    """Return the risks with the posterior as SVG, drawn without any display."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    FigureCanvasSVG(figure)
    plot_risks(model, figure.subplots())
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    # Without the XML declaration, which has no place inside a page.
    return svg[svg.index("<svg") :]
