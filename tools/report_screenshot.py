"""Write docs/images/report.png: a report in a browser, its top and its first figures side by side.

    python tools/report_screenshot.py docs/images/report.png
    python tools/report_screenshot.py --review FOLDER

The second writes what a person should look at before a release: the whole page 1280 and 400 pixels wide, light and
dark, and printed.  It needs chromium on the path (Debian: apt-get install chromium).
"""

import argparse
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, PdfMargins, sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC
from pacbayes.report import write_report

# In pixels: each half of the picture, which is the text with its margins, and what is left free below.
_WIDTH, _ROOM = 880, 16
# Enough for a page of few colours, and a third of the bytes.
_COLOURS = 256
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def write_example(path: Path) -> None:
    """Write the report of the picture."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = y.map({0: "malignant", 1: "benign"}).to_numpy()
    X_fit, X_test, y_fit, y_test = train_test_split(X, labels, test_size=0.2, random_state=0)
    clf = StochasticSVC(random_state=0).fit(X_fit, y_fit)
    write_report(
        clf, path, title="Breast cancer, 201 support vector machines", test=(X_test, y_test), data=(X_fit, y_fit)
    )


@contextmanager
def _browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium on the path (Debian: apt-get install chromium)")
    # As root, as in many containers, it starts only without its sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


def _part(page: Page, top: float, bottom: float) -> Image.Image:
    clip: FloatRect = {"x": 0.0, "y": top, "width": _WIDTH, "height": bottom - top}
    return Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))


def screenshot(report: Path, target: Path) -> None:
    """Write the picture of a report: on the right two figures, on the left as much of the top as is not cut."""
    edges = """(which) => [...document.querySelectorAll(which)].map((one) => {
      const box = one.getBoundingClientRect();
      return [box.top + window.scrollY, box.bottom + window.scrollY];
    })"""
    with _browser() as browser:
        page = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        start = page.evaluate(edges, "#risks")[0][0]
        end = page.evaluate(edges, "#figure-bounds figcaption")[0][1]
        height = end - start + _ROOM
        fits = max(bottom for _, bottom in page.evaluate(edges, "#guarantee, .breaks li") if bottom <= height)
        picture = Image.new("RGB", (2 * _WIDTH, round(height)), "white")
        picture.paste(_part(page, 0.0, fits), (0, 0))
        picture.paste(_part(page, start, end + _ROOM), (_WIDTH, 0))
    picture.quantize(_COLOURS).save(target, optimize=True)


def review(report: Path, folder: Path) -> None:
    """Write the whole page in two widths, light and dark, and printed."""
    folder.mkdir(parents=True, exist_ok=True)
    with _browser() as browser:
        for scheme in _SCHEMES:
            for width in (1280, 400):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                page.goto(report.resolve().as_uri())
                page.screenshot(path=folder / f"{scheme}-{width}.png", full_page=True)
                page.close()
        page = browser.new_page()
        page.goto(report.resolve().as_uri())
        margin: PdfMargins = {"top": "15mm", "bottom": "15mm", "left": "15mm", "right": "15mm"}
        page.pdf(path=folder / "printed.pdf", format="A4", margin=margin)


def main() -> None:
    """Read the arguments and write what they ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, nargs="?", help="the picture to write")
    parser.add_argument("--review", type=Path, metavar="FOLDER", help="write the whole page there, in all forms")
    parser.add_argument("--report", type=Path, help="a report that is there already, instead of the example's")
    arguments = parser.parse_args()
    if arguments.target is None and arguments.review is None:
        parser.error("name the picture to write, or a folder with --review")
    with tempfile.TemporaryDirectory() as folder:
        report = arguments.report or Path(folder) / "report.html"
        if arguments.report is None:
            write_example(report)
        if arguments.target is not None:
            screenshot(report, arguments.target)
        if arguments.review is not None:
            review(report, arguments.review)


if __name__ == "__main__":
    main()
