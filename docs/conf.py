"""Sphinx settings: `make docs` builds the pages into build/docs.  Nothing is fetched, and no page needs a network."""

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.sorting import ExplicitOrder

import pacbayes

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "pacbayes"
author = "The pacbayes developers"
copyright = author
version = release = pacbayes.__version__

extensions = [
    # Markdown as with myst_parser, and notebooks, which are run.
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # MathJax from a package instead of a server.
    "sphinx-mathjax-offline",
]
# results/claims.md is the same text, and a page.
exclude_patterns = ["claims.md", "generated/gallery/*.py", "generated/gallery/*.ipynb"]

# -- Markdown ------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# -- Notebooks -----------------------------------------------------------------------------------------------------
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# The commands of a notebook write files.
nb_execution_in_temp = True

# -- API -----------------------------------------------------------------------------------------------------------
# A name in single backticks links to what it names, where that is documented; `q` and `L` stay letters.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", r".*")]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Attributes are described in the docstrings; methods are listed page by page.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- Examples ------------------------------------------------------------------------------------------------------
# A question each, in the order in which they come up; then for those who bring classifiers or study the bounds.
GALLERY = [
    "error_rate",
    "which_errors",
    "abstention",
    "recall_of_90",
    "new_model_better",
    "batch",
    "monitoring",
    "how_many_rows",
    "seeds",
    "own_classifiers",
    "certified_svm",
    "five_bounds",
    "forest_out_of_bag",
    "training_prior",
    "conjecture",
    "validation_size",
]
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "generated/gallery",
    # All run but the two that take longest; their pages show the pictures of the repository.
    "filename_pattern": r"examples/(?!seeds|validation_size)\w+\.py$",
    "within_subsection_order": ExplicitOrder([f"{name}.py" for name in GALLERY]),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    # What a cell prints says enough: no box with the name of an object below each picture.
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "copyfile_regex": "",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- HTML ----------------------------------------------------------------------------------------------------------
html_theme = "furo"
html_title = "pacbayes"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}


def copy_results(_app: Any) -> None:
    """Make pages of the committed results, which live outside of this folder; their figures come along."""
    pages = HERE / "generated" / "results"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "results", pages, ignore=shutil.ignore_patterns(".cache", "*.csv", "README.md"))


def point_to_pages(_app: Any, name: str, source: list[str]) -> None:
    """Rewrite links that are right in the repository but lead out of this folder, or to what is copied into it."""
    # In a folder of docs/ a link that begins with ../ stays inside.
    if name.startswith("notebooks/"):
        return
    text = source[0]
    if name.startswith("generated/results/"):
        text = text.replace("](../results/", "](").replace("](../docs/", "](../../")
    else:
        text = text.replace("](../results/README.md)", "](reproduction.md)")
        text = text.replace("](../results/", "](generated/results/").replace(
            "](claims.md)", "](generated/results/claims.md)"
        )
    # Other files of the repository are named, not linked.
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./(?!\.\./)([^)#]+\.(?:py|md|csv|cff))\)", r"\1 (`\2`)", text)


def setup(app: Any) -> None:
    """Connect the two functions above."""
    app.connect("builder-inited", copy_results, priority=100)
    app.connect("source-read", point_to_pages)
