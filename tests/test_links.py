"""Links in Markdown files lead to existing files and headings; files and names in backticks exist."""

import re
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
PLACES = (ROOT, ROOT / "docs", ROOT / "docs" / "api", ROOT / "results", ROOT / "src" / "pacbayes" / "data" / "shipped")
PAGES = sorted(page for place in PLACES for page in place.glob("*.md"))
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
# Files and dotted names in backticks; hidden files are created at run time.
FILE = re.compile(r"`((?:src|tests|docs|results|tools|benchmarks|examples|pacbayes)/(?!\.)[\w./-]+)`")
NAME = re.compile(r"`(pacbayes(?:\.\w+)+)`")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*(\S+)", flags=re.MULTILINE)


def prose(text: str) -> str:
    """Text without code, in which brackets are not links."""
    text = re.sub(r"^(```+|~~~+|:::+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def links(text: str) -> list[str]:
    """Targets of relative links and images."""
    targets = LINK.findall(prose(text)) + REFERENCE.findall(prose(text))
    return [target for target in targets if not re.match(r"[a-z][a-z0-9+.-]*:", target)]


def slugs(text: str) -> set[str]:
    """Anchors of headings: lower case, without punctuation, spaces as hyphens."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def source(file: Path) -> Path:
    """Source file of a gallery page; other files are returned unchanged."""
    if file.parent != ROOT / "docs" / "generated" / "gallery":
        return file
    return ROOT / "examples" / ("GALLERY_HEADER.rst" if file.stem == "index" else f"{file.stem}.py")


def dead(page: Path, text: str) -> list[str]:
    """Dead links of a page."""
    broken = []
    for target in links(text):
        name, _, anchor = unquote(target).partition("#")
        file = source((page.parent / name).resolve()) if name else page
        inside = file.is_relative_to(ROOT)
        known = slugs(file.read_text()) if anchor and inside and file.suffix == ".md" and file.exists() else {anchor}
        if not (inside and file.exists() and (not anchor or anchor in known)):
            broken.append(target)
    return broken


def test_pages_are_found():
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "docs/index.md", "docs/mathematics.md", "results/README.md"} <= names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[here](docs/mathematics.md)", []),
        ("[here](docs/mathematics.md#the-constants)", []),
        ("[here](docs/mathematics.md#no-such-heading)", ["docs/mathematics.md#no-such-heading"]),
        ("![picture](docs/images/none.svg)", ["docs/images/none.svg"]),
        ("[out](../elsewhere.md) [web](https://example.org/x)", ["../elsewhere.md"]),
        (
            "[gallery](docs/generated/gallery/none.rst) [all](docs/generated/gallery/index.rst)",
            ["docs/generated/gallery/none.rst"],
        ),
        ("[ref][1]\n\n[1]: missing.md", ["missing.md"]),
        ("`[code](missing.md)`\n\n```\n[code](missing.md)\n```\n", []),
    ],
)
def test_planted_dead_link_is_found(text, expected):
    assert dead(ROOT / "PLANTED.md", text) == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_dead_links(page):
    assert dead(page, page.read_text()) == []


def missing(text: str) -> list[str]:
    """Files and names in a text that do not exist."""
    places = {name: ROOT / "src" / name if name.startswith("pacbayes/") else ROOT / name for name in FILE.findall(text)}
    return [name for name, place in places.items() if not place.exists()] + [
        name for name in NAME.findall(text) if resolve(name) is None
    ]


def resolve(name: str) -> object | None:
    """Object of a dotted name; None if it does not exist."""
    home, _, last = name.rpartition(".")
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return getattr(resolve(home), last, None) if home else None


def test_planted_missing_names_are_found():
    there = "`src/pacbayes/bounds`, `pacbayes/bounds/bound.py`, `pacbayes.bounds.Distance.ratio` and `results/.cache`"
    assert missing(there) == []
    gone = "`tests/none.py`, `pacbayes/none/`, `pacbayes.none.bound`, `pacbayes.bounds.Distance.beta`"
    assert missing(gone) == re.findall("`(.*?)`", gone)


# The changelog mentions removed names.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_files_and_names_mentioned_exist(page):
    assert missing(page.read_text()) == []
