"""Drawings as inline SVG: scales with readable ticks, and elements that take their colours from the page's CSS.

Elements are built as a tree and written by the standard library, which escapes whatever text they are given.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """From data to pixels, linear or logarithmic.

    Examples
    --------
    >>> round(Scale(0.1, 10.0, 0.0, 200.0, logarithmic=True)(1.0), 9)
    100.0
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Return where a value lies; values beyond the ends lie at the ends."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Return at most so many round numbers within the scale, as far as there are any.

        Examples
        --------
        >>> Scale(0.0, 0.23, 0, 1).ticks(5), Scale(0.02, 30.0, 0, 1, logarithmic=True).ticks(6)
        ([0.0, 0.05, 0.1, 0.15, 0.2], [0.1, 1.0, 10.0])
        """
        ticks = _log_ticks(self.low, self.high, most) if self.logarithmic else []
        return ticks if len(ticks) >= 2 else _linear_ticks(self.low, self.high, most)


def scale_over(values: Sequence[float], start: float, end: float, *, logarithmic: bool = False) -> Scale:
    """Return the scale that just holds the values, widened where they are all the same.

    Examples
    --------
    >>> scale_over([3.0, 3.0], 0, 1)
    Scale(low=2.5, high=3.5, start=0, end=1, logarithmic=False)
    """
    low, high = min(values), max(values)
    if logarithmic and high < low * (1 + 1e-9):
        low, high = low / 2.0, high * 2.0
    elif not logarithmic and high - low < 1e-12 * max(abs(low), 1.0):
        low, high = low - 0.5, high + 0.5
    return Scale(low, high, start, end, logarithmic)


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    exponent = math.floor(math.log10((high - low) / most))
    for factor in (1, 2, 5, 10, 20, 50):
        step = factor * 10.0**exponent
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            break
    # From the decimals of the step: 3 * 0.1 is to be 0.3.
    return [round(k * step, max(0, -exponent)) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1,)):
        ticks = [float(f"{factor}e{k}") for k in range(first, last + 1) for factor in factors]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


class Canvas:
    """A drawing of fixed size; every element has a CSS class, none a colour of its own."""

    def __init__(self, width: int, height: int, kind: str) -> None:
        self.root = ElementTree.Element("svg", {"class": kind, "viewBox": f"0 0 {width} {height}", "role": "img"})

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a straight line."""
        self._add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Draw a filled rectangle."""
        self._add("rect", kind, x=x, y=y, width=max(width, 0.0), height=height)

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """Draw a filled circle."""
        self._add("circle", kind, cx=x, cy=y, r=radius)

    def polyline(self, points: Sequence[Point], kind: str) -> None:
        """Draw a line through points."""
        self._add("polyline", kind, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))

    def stems(self, points: Sequence[Point], foot: float, kind: str) -> None:
        """Draw a vertical line from each point down to the foot, all of them in one element."""
        self._add("path", kind, d="".join(f"M{x:.1f} {foot:.1f}V{y:.1f}" for x, y in points))

    def text(self, x: float, y: float, content: str, kind: str = "label", anchor: str = "start") -> None:
        """Write a line of text; `anchor` is start, middle or end."""
        self._add("text", kind, x=x, y=y, **{"text-anchor": anchor}).text = content

    def x_axis(self, scale: Scale, y: float, labels: dict[float, str], title: str = "") -> None:
        """Draw a horizontal axis with its ticks, and its title below."""
        self.line(scale.start, y, scale.end, y, "axis")
        for value, label in labels.items():
            self.line(scale(value), y, scale(value), y + 4, "axis")
            self.text(scale(value), y + 20, label, anchor="middle")
        if title:
            self.text((scale.start + scale.end) / 2, y + 37, title, anchor="middle")

    def y_axis(self, scale: Scale, left: float, right: float, labels: dict[float, str], title: str) -> None:
        """Draw grid lines with their labels on the left, and the title above."""
        for value, label in labels.items():
            self.line(left, scale(value), right, scale(value), "grid")
            self.text(left - 6, scale(value) + 4, label, anchor="end")
        self.text(left, scale.end - 12, title, "label strong")

    def svg(self, ident: str, title: str, description: str) -> str:
        """Return the drawing, named and described for who cannot see it."""
        self.root.set("aria-labelledby", f"{ident}-title {ident}-desc")
        for place, (name, content) in enumerate((("title", title), ("desc", description))):
            element = ElementTree.Element(name, {"id": f"{ident}-{name}"})
            element.text = content
            self.root.insert(place, element)
        return ElementTree.tostring(self.root, encoding="unicode")

    def _add(self, tag: str, kind: str, **attributes: float | str) -> ElementTree.Element:
        written = {name: value if isinstance(value, str) else f"{value:.1f}" for name, value in attributes.items()}
        return ElementTree.SubElement(self.root, tag, {"class": kind} | written)
