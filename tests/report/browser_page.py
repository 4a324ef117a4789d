"""A report as a tree, read by a parser that accepts valid HTML only."""

from xml.etree import ElementTree

import html5lib

HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"


class Page:
    def __init__(self, source):
        self.source = source
        self.root = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True).parse(source)
        self.ids = {}
        for element in self.root.iter():
            if "id" in element.attrib:
                assert element.get("id") not in self.ids
                self.ids[element.get("id")] = element

    def text(self, ident):
        return " ".join("".join(self.ids[ident].itertext()).split())

    def table(self, caption):
        """Return head and rows of the table with that caption's id."""
        found = [one for one in self.root.iter(f"{HTML}table") if one.get("aria-labelledby") == caption]
        rows = [["".join(cell.itertext()) for cell in row] for row in found[0].iter(f"{HTML}tr")]
        assert len({len(row) for row in rows}) == 1
        return rows[0], rows[1:]

    def column(self, caption, name):
        head, rows = self.table(caption)
        return [row[head.index(name)] for row in rows]

    def drawing(self, ident):
        """Return the drawing of a chart, e.g. "risks"."""
        return next(one for one in self.root.iter(f"{SVG}svg") if one.get("aria-labelledby").startswith(f"{ident}-"))

    def texts(self, ident):
        """Return what is written in the drawing of a chart."""
        return ["".join(one.itertext()) for one in self.drawing(ident).iter(f"{SVG}text")]

    def __str__(self):
        return ElementTree.tostring(self.root, encoding="unicode")
