"""The charts of a report, each drawn twice, wide and narrow, with the numbers behind it as a table."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.target import format_target
from pacbayes.certificates.voting import POSTERIOR
from pacbayes.numeric.words import PLURAL, format_params, format_share, percent_up
from pacbayes.posteriors.problem import Problem
from pacbayes.report.guarantee import bars_of
from pacbayes.report.questions import Coverage
from pacbayes.report.svg import Canvas, Scale, scale_over
from pacbayes.report.tables import TextTable, format_bound, format_down, format_gap, format_number
from pacbayes.report.view import ReportView

# Pixels; the page shows the narrow one on a telephone, so that letters keep their size.
_WIDE, _NARROW = 760, 350
_LEFT, _RIGHT, _BAR_LEFT = 64, 14, 16
# Up to this many classifiers each is marked; beyond the second number not all are drawn.
_MARKED, _DRAWN = 60, 2_000
_CURVE_POINTS = 120
# Where the chart of a target stands.
_FOOT = 270.0


@dataclass(frozen=True)
class Chart:
    """A drawing in two widths, what its lines are, and its numbers."""

    ident: str
    title: str
    caption: str
    #: CSS class and meaning of each line or area.
    legend: tuple[tuple[str, str], ...]
    drawings: tuple[str, str]
    table: TextTable


def _drawn(
    ident: str, title: str, description: str, height: int, draw: Callable[[Canvas, int], None]
) -> tuple[str, str]:
    """Return a drawing in both widths."""
    drawings = []
    for kind, width in (("wide", _WIDE), ("narrow", _NARROW)):
        canvas = Canvas(width, height, kind)
        draw(canvas, width)
        drawings.append(canvas.svg(f"{ident}-{kind}", title, description))
    return drawings[0], drawings[1]


def _percents(scale: Scale, most: int) -> dict[float, str]:
    """Return ticks of a scale of shares, as percentages."""
    return {tick: f"{100 * tick:.10g} %" for tick in scale.ticks(most)}


def risks_chart(view: ReportView) -> Chart:
    """Return the weights that predict above the risks of the classifiers."""
    places, risks, weights = view.places, view.classifiers.risks, view.weights
    shown = _shown(view)
    tested = None if view.observed is None else view.observed.risks
    bound = view.certificate.bound
    axis = "regularisation parameter λ" if view.is_path else "rank of the classifier by its risk"

    def draw(canvas: Canvas, width: int) -> None:
        ticks = 7 if width == _WIDE else 4
        x = scale_over(places[shown].tolist(), _LEFT + 8, width - _RIGHT - 8, logarithmic=view.is_path)
        weight = Scale(0.0, float(weights.max()), 120.0, 26.0)
        canvas.y_axis(weight, _LEFT, width - _RIGHT, _percents(weight, 4), view.weight_name)
        canvas.stems([(x(places[i]), weight(weights[i])) for i in shown], 120.0, "weight")
        canvas.line(_LEFT, 120.0, width - _RIGHT, 120.0, "axis")
        curves = [("risk", risks)] if tested is None else [("test", tested), ("risk", risks)]
        top = max(bound, *(float(values.max()) for _, values in curves))
        share = Scale(0.0, top, 370.0, 166.0)
        canvas.y_axis(share, _LEFT, width - _RIGHT, _percents(share, 6), "share of errors")
        canvas.line(_LEFT, share(bound), width - _RIGHT, share(bound), "bound")
        for kind, values in curves:
            points = [(x(places[i]), share(values[i])) for i in shown]
            canvas.polyline(points, kind)
            for point in points if len(points) <= _MARKED else []:
                canvas.dot(*point, 2.5, kind)
        canvas.line(_LEFT, 370.0, width - _RIGHT, 370.0, "axis")
        canvas.x_axis(x, 370.0, {tick: f"{tick:g}" for tick in _whole(x, ticks, view.is_path)}, axis)

    sample = (
        ""
        if shown.size == weights.size
        else (f" Of {weights.size} classifiers, {shown.size} are drawn: the heaviest, and others evenly spread.")
    )
    counted = PLURAL[view.classifiers.unit]
    legend = [("weight", view.weight_name), ("risk", f"errors on {view.classifiers.m} validation {counted}")]
    if view.observed is not None:
        legend.append(("test", f"errors on {view.observed.rows} test rows"))
    legend.append(("bound", view.bound_name))
    heaviest = int(np.argmax(weights))
    description = (
        f"Above, the {view.weight_name} of {weights.size} classifiers; the largest is "
        f"{format_number(weights[heaviest])}, at {format_number(places[heaviest])}. Below, their shares of validation "
        f"errors, from {format_bound(float(risks.min()))} to {format_bound(float(risks.max()))}, and the "
        f"{view.bound_name}, {format_bound(bound)}."
    )
    title = "Where the weight is, and how often each classifier errs"
    drawings = _drawn("risks", title, description, 412, draw)
    caption = f"Above, the weight of each classifier; below, its errors; both against the {axis}.{sample}"
    return Chart("risks", title, caption, tuple(legend), drawings, _risks_table(view, shown, tested))


def _whole(x: Scale, most: int, is_path: bool) -> list[float]:
    """Return the ticks of the axis; ranks are whole."""
    return [tick for tick in x.ticks(most) if is_path or tick == round(tick)]


def _shown(view: ReportView) -> NDArray[np.intp]:
    """Return the classifiers to draw, in the order of the axis."""
    order = np.argsort(view.places, kind="stable")
    if order.size <= _DRAWN:
        return order
    spread = np.linspace(0, order.size - 1, _DRAWN // 2).astype(np.intp)
    heavy = np.argsort(-view.weights[order], kind="stable")[: _DRAWN // 2]
    return order[np.union1d(spread, heavy)]


def _risks_table(view: ReportView, shown: NDArray[np.intp], tested: NDArray[np.float64] | None) -> TextTable:
    params, number = view.classifiers.params, shown.tolist()
    columns = {
        "λ" if view.is_path else "rank": [
            format_number(view.places[i]) if view.is_path else f"{view.places[i]:.0f}" for i in number
        ],
        "classifier": [str(i) for i in number],
        "validation risk": [format_bound(float(view.classifiers.risks[i])) for i in number],
        view.weight_name: [format_number(view.weights[i]) for i in number],
    }
    if tested is not None:
        columns["test error"] = [format_bound(float(tested[i])) for i in number]
    if not view.is_path and any("candidate" in one or "lambda" in one for one in params):
        # Of several families, or widths, a rank says nothing.
        columns["parameters"] = [format_params(params[i]) for i in number]
    rows = list(zip(*columns.values(), strict=True))
    return TextTable("Risk and weight of each classifier", tuple(columns), rows)


def bounds_chart(view: ReportView) -> Chart:
    """Return the bounds of all distances, and what other methods guarantee, as bars."""
    bars, row, top = bars_of(view), 38, 10
    grouped = view.certificate.unit == "group"
    axis = "mean share of errors in new groups" if grouped else "share of errors on new examples"

    def draw(canvas: Canvas, width: int) -> None:
        largest = max(min(bar.bound, 1.0) for bar in bars if bar.bound is not None)
        share = Scale(0.0, max(largest, 1e-3), _BAR_LEFT, width - 74.0)
        foot = top + row * len(bars)
        for tick in share.ticks(6 if width == _WIDE else 4):
            canvas.line(share(tick), top, share(tick), foot, "grid")
        for number, bar in enumerate(bars):
            y = top + row * number
            canvas.text(_BAR_LEFT, y + 12, bar.label, "label strong" if bar.own else "label")
            if bar.bound is None:
                canvas.text(_BAR_LEFT, y + 28, bar.value)
                continue
            end = share(min(bar.bound, 1.0))
            canvas.rectangle(_BAR_LEFT, y + 17, end - _BAR_LEFT, 14, "bar-own" if bar.own else "bar")
            if bar.empirical_risk is not None:
                canvas.rectangle(_BAR_LEFT, y + 17, share(bar.empirical_risk) - _BAR_LEFT, 14, "bar-risk")
            canvas.text(end + 6, y + 29, bar.value, "label strong" if bar.own else "label")
        canvas.x_axis(share, foot + 4, _percents(share, 6 if width == _WIDE else 4), axis)

    said = "; ".join(f"{bar.label}: {bar.value}" for bar in bars)
    title = "The five bounds, and what other methods guarantee"
    doubled = (
        ", except for the majority vote: there it is the share of the vote's own errors, while the bound is twice the "
        "stochastic classifier's"
        if view.model.certificates_["majority"].rule == POSTERIOR
        else ""
    )
    caption = (
        f"Every bar is a guarantee at δ = {view.delta!r} that holds alone. The inner part of a bar is the share of "
        "validation errors it is computed from" + doubled + ". Choosing the smallest after looking is not covered."
    )
    if view.model.hedge_ < 1.0:
        caption += (
            f" The certificates of this model divided δ: {view.divided}. The bars of single distances have all of it."
        )
    if len(view.chosen_among) > 1:
        caption += (
            f" The certificate chose among {len(view.chosen_among)} distances at a share of δ each, which makes "
            "that choice part of the guarantee; the bars of single distances are at the whole δ."
        )
    legend = (("bar-own", "the certificate of this model"), ("bar", "bound"), ("bar-risk", "validation risk"))
    rows = [(bar.label, bar.number, format_bound(bar.empirical_risk), format_bound(bar.kl), bar.note) for bar in bars]
    table = TextTable("Bounds", ("guarantee", "bound", "validation risk", "divergence K", "what it is"), rows)
    drawings = _drawn("bounds", title, said, top + row * len(bars) + 46, draw)
    return Chart("bounds", title, caption, legend, drawings, table)


def gibbs_chart(view: ReportView) -> Chart:
    """Return the bound along the curve of Gibbs posteriors, with the certified minimum."""
    best, m = view.posterior, view.classifiers.m
    assert best.beta is not None
    finite = best.beta if 0.0 < best.beta < np.inf else 1.0
    grid = np.geomspace(min(0.1, finite / 10.0), max(100.0 * m, 10.0 * finite), _CURVE_POINTS)
    # The digits the table shows, so that its bounds are those of the temperatures beside them.
    betas = np.array([float(f"{beta:.4g}") for beta in grid])
    values = {}
    for name in view.chosen_among:
        problem = Problem.checked(view.classifiers.risks, m, view.distance(name), best.delta, view.prior, best.constant)
        values[name] = [problem.at(problem.curve.at(float(beta)))[1] for beta in betas]

    def draw(canvas: Canvas, width: int) -> None:
        x = scale_over(betas.tolist(), _LEFT + 8, width - _RIGHT - 8, logarithmic=True)
        # Above 100 % nobody looks, unless everything is there.
        top = 1.0 if best.bound < 1.0 else np.inf
        heights = [best.bound, *(min(value.bound, top) for curve in values.values() for value in curve)]
        y = Scale(*_roomy(min(heights), max(heights), top), 250.0, 26.0)
        canvas.y_axis(y, _LEFT, width - _RIGHT, _percents(y, 6), "bound B")
        canvas.line(_LEFT, 250.0, width - _RIGHT, 250.0, "axis")
        canvas.x_axis(
            x, 250.0, {tick: f"{tick:g}" for tick in x.ticks(7 if width == _WIDE else 4)}, "inverse temperature β"
        )
        for number, curve in enumerate(values.values()):
            canvas.polyline(
                [(x(beta), y(value.bound)) for beta, value in zip(betas.tolist(), curve, strict=True)],
                f"curve curve-{number % 5}",
            )
        canvas.dot(x(min(max(best.beta or 0.0, x.low), x.high)), y(best.bound), 5, "minimum")

    where = f"β = {format_number(best.beta)}, B = {format_bound(best.bound, 6)}"
    description = f"The bound B against the inverse temperature β, with its certified minimum at {where}."
    legend = [(f"curve curve-{number % 5}", name) for number, name in enumerate(values)]
    legend.append(("minimum", f"certified minimum: {where}"))
    table = TextTable(
        "The bound along the curve",
        ("distance", "β", "validation risk L", "divergence K", "bound B"),
        [
            (name, format_number(beta), format_bound(value.risk), format_bound(value.kl), format_bound(value.bound))
            for name, curve in values.items()
            for beta, value in zip(betas.tolist(), curve, strict=True)
        ],
    )
    title = "The certified minimum"
    drawings = _drawn("gibbs", title, description, 292, draw)
    return Chart("gibbs", title, _gibbs_caption(view), tuple(legend), drawings, table)


def _roomy(low: float, high: float, top: float) -> tuple[float, float]:
    # A curve that hardly moves is to look like it.
    room = max(0.1 * (high - low), 0.01)
    return max(low - room, 0.0), min(high + room, top)


def _gibbs_caption(view: ReportView) -> str:
    best = view.posterior
    assert best.beta is not None
    ends = {0.0: "at the left end, the prior itself", np.inf: "at the right end: only those of least risk have weight"}
    place = ends.get(best.beta, f"at β = {format_number(best.beta)}")
    return (
        "Every optimal posterior lies on one curve: weights p·exp(−β·risk), from the prior (β = 0) to the classifiers "
        f"of least risk (β = ∞). The minimum is {place}. No posterior whatever, on this curve or off it, has a bound "
        f"below {format_down(best.lower_bound)}: the gap to this one is at most {format_gap(best.gap)}."
    )


def coverage_chart(view: ReportView) -> Chart | None:
    """Return the curve of a model with a target, None without one."""
    found = Coverage.of(view.model, view.voting)
    if found is None:
        return None
    top = min(1.0, max(3.0 * found.target, 1.1 * float(found.errors.max())))

    def draw(canvas: Canvas, width: int) -> None:
        x = Scale(0.0, 1.0, _LEFT, width - _RIGHT - 8)
        y = Scale(0.0, top, _FOOT, 26.0)
        canvas.y_axis(y, _LEFT, width - _RIGHT, _percents(y, 6), "share of errors")
        canvas.line(_LEFT, y(found.target), width - _RIGHT, y(found.target), "bound")
        canvas.polyline([(x(a), y(e)) for a, e in zip(found.shares, found.limits, strict=True) if e <= top], "test")
        canvas.polyline([(x(a), y(e)) for a, e in zip(found.shares, found.errors, strict=True)], "risk")
        canvas.line(_LEFT, _FOOT, width - _RIGHT, _FOOT, "axis")
        canvas.x_axis(x, _FOOT, _percents(x, 6 if width == _WIDE else 4), "share of validation rows answered")
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
    return Chart("coverage", title, caption, tuple(legend), _drawn("coverage", title, said, 312, draw), table)
