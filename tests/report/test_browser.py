"""The report in chromium, controlled by playwright; skipped without them."""

import os
import re
import shutil

import pytest
from tests.report.models import MODELS, SCRIPT, page_of

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SHOWN = ("posterior", "soft", "long parameters", "threshold", "hostile")
ALIKE = ("hedge 0", "hedge 0.1", "independent", "threshold failed", "prefit")
PAGES = [
    *SHOWN,
    *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name not in (*SHOWN, *ALIKE)),
]
# On the first screen one, and two in the details.
FIRST, ALL = 1, 3
OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
# Text with its own and its background's colour; SVG text is painted by `fill`.
COLOURS = """() => {
  const found = [];
  const opaque = (colour) => !/^rgba\\(.*, 0\\)$|^transparent$/.test(colour);
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !one.checkVisibility() || ["SCRIPT", "title", "desc"].includes(one.tagName)) continue;
    let behind = one;
    while (behind && !opaque(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const style = getComputedStyle(one);
    const colour = one.tagName === "text" ? style.fill : style.color;
    found.push([one.textContent.slice(0, 40), colour, getComputedStyle(behind).backgroundColor]);
  }
  return found;
}"""
# Pairs of texts in a drawing that touch, and texts that leave it.
COLLISIONS = """() => {
  const bad = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.checkVisibility()) continue;
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    boxes.forEach(([text, box], i) => {
      const inside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top;
      if (!inside || box.bottom > frame.bottom) bad.push(text);
      for (const [other, b] of boxes.slice(i + 1)) {
        const apart = box.right <= b.left || b.right <= box.left || box.bottom <= b.top || b.bottom <= box.top;
        if (!apart) bad.push(`${text} / ${other}`);
      }
    });
  }
  return bad;
}"""
# Elements other than the long tables whose contents are wider than they are.
CLIPPED = """() => [...document.querySelectorAll("body, body *:not(svg *):not(option)")]
  .filter((one) => one.checkVisibility() && !one.closest(".tall") && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display !== "inline" && one.clientWidth > 1)
  .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)"""
CONTROLS = "a[href], input, select, summary, [tabindex='0']"


@pytest.fixture(scope="module")
def browser():
    # As root, as in many containers, chromium starts only without its sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Function that opens a page from disk; checks at the end that it logged and requested nothing."""
    opened, complaints, requests = [], [], []

    def open_(name, width=1280, **options):
        file = tmp_path / f"{len(opened)}.html"
        file.write_text(page_of(name), encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        opened.append((page, file.as_uri()))
        return page

    yield open_
    for page, _ in opened:
        page.close()
    assert complaints == []
    assert [url for url in requests if url != "data:,"] == [uri for _, uri in opened]


def test_page_logs_and_requests_nothing(open_page):
    page = open_page("posterior")
    assert page.title() == "Breast cancer"


def test_content_security_policy(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page_of("posterior"), encoding="utf-8")
    page, complaints = browser.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')") == "refused"
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran === undefined")
    assert len([text for text in complaints if "Content Security Policy" in text]) >= 2
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(open_page, scheme):
    page = open_page("posterior", color_scheme=scheme)
    page.evaluate(OPEN)
    found = page.evaluate(COLOURS)
    assert len(found) > 300
    background = luminance(found[0][2])
    assert background > 0.9 if scheme == "light" else background < 0.05
    ratios = {text: contrast(colour, behind) for text, colour, behind in found}
    assert {text: ratio for text, ratio in ratios.items() if ratio < 4.5} == {}


def contrast(one, other):
    """Contrast ratio of WCAG 2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour).groups()]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("details_open", [False, True])
def test_tab_reaches_every_control_in_order(open_page, details_open):
    page = open_page("posterior")
    page.evaluate("(open) => document.querySelectorAll('details').forEach((one) => { one.open = open; })", details_open)
    number = page.evaluate(
        "(which) => { const all = [...document.querySelectorAll(which)].filter((one) => one.checkVisibility());"
        "all.forEach((one, i) => { one.dataset.place = i; }); return all.length; }",
        CONTROLS,
    )
    assert number >= (14 if details_open else 6)
    reached = []
    for _ in range(number):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("Number(document.activeElement.dataset.place ?? -1)"))
    assert reached == list(range(number))
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_accessible_names(open_page):
    page = open_page("posterior")
    assert page.get_by_role("img", name="Error bound, compared with simpler methods").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("table").count() == 2
    page.get_by_text("Numbers", exact=True).first.press("Enter")
    assert page.get_by_role("table", name="Bounds").count() == 1
    page.evaluate(OPEN)
    assert page.get_by_role("img").count() == ALL
    assert page.get_by_role("table").count() == 9


def test_script_stays_text(open_page):
    page = open_page("hostile")
    assert page.get_by_text(SCRIPT).count() >= 2
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overlaps_or_is_clipped(open_page, name, width):
    page = open_page(name, width=width)
    for number in (FIRST, ALL):
        assert page.locator("svg:visible").count() == number
        assert page.evaluate(COLLISIONS) == []
        assert page.evaluate(CLIPPED) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate(OPEN)


@pytest.mark.parametrize("name", PAGES)
def test_print(open_page, name):
    # The width between the margins of a sheet of A4; from a dark screen too the paper stays white.
    page = open_page(name, width=680, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("svg:visible").count() == FIRST
    assert not page.locator("#details").is_visible()
    assert page.evaluate(COLLISIONS) == []
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    folded = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))
    assert 1 <= sheets(folded) <= 2
    page.evaluate(OPEN)
    assert sheets(page.pdf(format="A4")) > sheets(folded)


def sheets(pdf):
    """Count the pages of a PDF."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
