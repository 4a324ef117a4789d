"""The tables and figures by the names `pacbayes reproduce` knows."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from pacbayes._utils.checks import check_choice
from pacbayes.paper.output import Output, Row
from pacbayes.paper.workspace import Workspace

#: What each name makes; in this order they are made.
DESCRIPTIONS = {
    "datasets": "details of the data sets",
    "constants": "I_lin and I_sq against 2 sqrt(m), tables and figures",
    "main": "Table 2: bounds and test errors, five distances, nine data sets, 1990 classifiers",
    "small-lambda": "the same for the grid of 500 that reaches down to 1e-5",
    "fp-vs-solver": "Table 3, kl: fixed point, Ipopt and certified minimum for 50 to 1990 classifiers",
    "ccp": "kl: the convex-concave procedure, as printed and corrected",
    "support-squared": "support of the optimal posterior, squared",
    "support-kl": "support of the optimal posterior, kl",
    "support-pinsker": "support of the optimal posterior, Pinsker",
    "support-ch": "support of the optimal posterior, ch",
    "concentration": "Herfindahl-Hirschman index of the posteriors",
    "risk-curves": "validation and test error against lambda",
    "no-best-lambda": "Mammographic: no lambda is best on every sample",
    "robustness": "Transfusion: both sides of the linear and squared bound over samples",
    "starts": "the fixed point from 20 random starts: does it end in one point?",
    "posteriors": "pictures: weight over lambda, the Gibbs curve, bounds by number of classifiers",
    "divergences": "smallest bounds by KL and by chi-square, at delta .01 and .05",
    "protocols": "what the protocol's open choices change",
    "outline": "Table 1: the paper's outline of its results, each cell with a verdict",
    "claims": "each claim of the paper, yes or no",
}
# Where each is made, by a function of its name.
_MODULES = {
    "bound_tables": ("main", "small-lambda", "concentration"),
    "solvers": ("fp-vs-solver", "ccp"),
    "support": ("support-squared", "support-kl", "support-pinsker", "support-ch"),
    "theory": ("constants", "outline"),
    "open_choices": ("datasets", "protocols"),
    "figures": ("risk-curves", "no-best-lambda", "robustness"),
    "posterior_tables": ("starts", "posteriors", "divergences"),
    "claims": ("claims",),
}
#: Tables with rows for each data set, which can be computed for one of them.
BY_DATASET = (
    "main", "small-lambda", "concentration", "fp-vs-solver", "ccp", "support-squared", "support-kl", "support-pinsker",
    "support-ch", "risk-curves", "starts", "posteriors", "divergences",
)  # fmt: skip


def load(name: str) -> Callable[[Workspace], Output]:
    """Look up the function that makes a table or figure."""
    function: Callable[..., Output] = _function(name)
    return partial(function, distance=name.removeprefix("support-")) if name.startswith("support-") else function


def load_text(name: str) -> Callable[[Workspace, list[Row]], str]:
    """Look up the function that makes the text of a table of its rows, as the CSV file has them."""
    text: Callable[[Workspace, list[Row]], str] = _function(name, "_text")
    return text


def _function(name: str, ending: str = "") -> Any:
    check_choice("name", name, DESCRIPTIONS)
    (module,) = (module for module, names in _MODULES.items() if name in names)
    stem = "support" if module == "support" else name.replace("-", "_")
    return getattr(import_module(f"pacbayes.paper.{module}"), stem + ending)
