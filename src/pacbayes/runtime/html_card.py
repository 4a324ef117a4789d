"""How a result shows itself in a notebook: a small card of HTML that needs nothing else, everything in it escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from pacbayes.numeric.words import printable_lines

# Colours are those of the page around it, light or dark.
_BOX = "border:1px solid;border-radius:.4em;padding:.6em 1em;margin:.3em 0;max-width:46em;overflow-wrap:anywhere"
_HEAD = "font-weight:bold;font-size:1.15em"
_NAME = "text-align:left;vertical-align:top;white-space:nowrap;font-weight:normal;opacity:.75;padding:.1em 1em .1em 0"
_CELL = "text-align:left;vertical-align:top;padding:.1em 0"


def card(title: str, sentences: Sequence[str] = (), facts: Mapping[str, str] | None = None) -> str:
    """Return a card: a title, sentences below it, and a table of names and values, folded below sentences.

    Examples
    --------
    >>> print(card("A < B", (), {"m": "284"}))  # doctest: +ELLIPSIS
    <div style="..."><div style="...">A &lt; B</div><table ...>284</td></tr></table></div>
    """
    text = "".join(f'<p style="margin:.4em 0">{escape(sentence)}</p>' for sentence in sentences)
    rows = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in (facts or {}).items()
    )
    table = f'<table style="border-collapse:collapse;margin:.4em 0 0">{rows}</table>' if rows else ""
    if sentences and table:
        table = f"<details><summary>Details</summary>{table}</details>"
    return printable_lines(f'<div style="{_BOX}"><div style="{_HEAD}">{escape(title)}</div>{text}{table}</div>')
