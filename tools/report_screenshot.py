"""Write docs/images/report.png: the first screen of a report in a browser.

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

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, FloatRect, PdfMargins, sync_playwright

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.report import write_report

# Width and bottom margin of the picture, in pixels.
_WIDTH, _MARGIN = 1280, 16
# A palette reduces the file to a third.
_COLOURS = 256
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def write_example(path: Path) -> None:
    """Write the report of `pacbayes certify --dataset wdbc`."""
    data = load_dataset("wdbc", as_frame=True)
    labels = np.asarray(data.target_names)[data.target]
    clf = CertifiedClassifier(random_state=0).fit(data.data, labels)
    notes = [f"Breast Cancer Wisconsin (Diagnostic): {len(labels)} examples, {data.data.shape[1]} columns."]
    write_report(clf, path, title="Is it malignant?", data=(data.data, labels), notes=notes)


@contextmanager
def _browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium on the path (Debian: apt-get install chromium)")
    # As root, for example in containers, chromium starts only without its sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


def screenshot(report: Path, target: Path) -> None:
    """Write a screenshot of the top of a report, including the plot and the confusion matrix."""
    with _browser() as browser:
        page = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        bottom = page.evaluate("document.querySelector('.columns').getBoundingClientRect().bottom")
        clip: FloatRect = {"x": 0.0, "y": 0.0, "width": _WIDTH, "height": bottom + _MARGIN}
        picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    picture.quantize(_COLOURS).save(target, optimize=True)


def review(report: Path, folder: Path) -> None:
    """Write screenshots of the whole page in two widths, light and dark, and a PDF."""
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
    """Write the requested pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, nargs="?", help="picture to write")
    parser.add_argument("--review", type=Path, metavar="FOLDER", help="write pictures of the whole page to this folder")
    parser.add_argument("--report", type=Path, help="existing report to use instead of the example")
    arguments = parser.parse_args()
    if arguments.target is None and arguments.review is None:
        parser.error("a picture to write or --review FOLDER is required")
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
