"""The chart of a target: errors among answered validation rows against the share answered."""

from pacbayes.certificates.questions.answered import format_target
from pacbayes.numeric.words import format_share, percent_up
from pacbayes.report.html.charts import LEFT, RIGHT, WIDE, Chart, drawn, percents
from pacbayes.report.html.svg import Canvas, Scale
from pacbayes.report.questions import Coverage
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

_FOOT = 270.0


def coverage_chart(view: ReportView) -> Chart | None:
    """Return the curve of a model with a target, None without one."""
    found = Coverage.of(view.model, view.voting)
    if found is None:
        return None
    top = min(1.0, max(3.0 * found.target, 1.1 * float(found.errors.max())))

    def draw(canvas: Canvas, width: int) -> None:
        x = Scale(0.0, 1.0, LEFT, width - RIGHT - 8)
        y = Scale(0.0, top, _FOOT, 26.0)
        canvas.y_axis(y, LEFT, width - RIGHT, percents(y, 6), "share of errors")
        canvas.line(LEFT, y(found.target), width - RIGHT, y(found.target), "bound")
        canvas.polyline([(x(a), y(e)) for a, e in zip(found.shares, found.limits, strict=True) if e <= top], "test")
        canvas.polyline([(x(a), y(e)) for a, e in zip(found.shares, found.errors, strict=True)], "risk")
        canvas.line(LEFT, _FOOT, width - RIGHT, _FOOT, "axis")
        canvas.x_axis(x, _FOOT, percents(x, 6 if width == WIDE else 4), "share of validation rows answered")
        if found.chosen is not None:
            canvas.dot(x(found.shares[found.chosen]), y(found.errors[found.chosen]), 5, "minimum")

    legend = [
        ("risk", "errors among answered validation rows"),
        ("test", "their upper limit, each alone at the whole of δ"),
        ("bound", f"the target, {format_target(found.target)}"),
    ]
    if found.chosen is None:
        used = "No threshold passed: nothing is answered."
    else:
        share, errors = format_share(found.shares[found.chosen]), format_share(found.errors[found.chosen])
        legend.append(("minimum", f"the threshold in use: answers {share}, errs on {errors} of these"))
        used = f"The threshold in use answers {share} of the validation rows and errs on {errors} of these."
    title = "What a target leaves answered"
    caption = (
        "From right to left the model answers fewer rows, those it is surer of. Thresholds were tested against the "
        "target one after the other, from one that the training rows recommended to looser ones, up to the first that "
        f"failed. {used}"
    )
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
    return Chart("coverage", title, caption, tuple(legend), drawn("coverage", title, said, 312, draw), table)
