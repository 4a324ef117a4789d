"""The tables and figures by the names `pacbayes reproduce` knows."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from pacbayes.numeric.checks import check_choice
from pacbayes.paper.output import Output
from pacbayes.paper.workspace import Workspace

#: What each name makes; in this order they are made.
DESCRIPTIONS = {
    "datasets": "details of the data sets",
    "constants": "I_lin and I_sq against 2 sqrt(m), tables and figures",
    "main": "bounds and test errors, five distances, nine data sets, 1990 classifiers",
    "small-lambda": "the same for the grid of 500 that reaches down to 1e-5",
    "fp-vs-solver": "kl: fixed point, Ipopt and certified minimum for 50 to 1990 classifiers",
    "ccp": "kl: the convex-concave procedure, as printed and corrected",
    "support-squared": "support of the optimal posterior, squared",
    "support-kl": "support of the optimal posterior, kl",
    "support-pinsker": "support of the optimal posterior, Pinsker",
    "support-ch": "support of the optimal posterior, ch",
    "concentration": "Herfindahl-Hirschman index of the posteriors",
    "risk-curves": "validation and test error against lambda",
    "no-best-lambda": "Mammographic: no lambda is best on every sample",
    "robustness": "Transfusion: both sides of the linear and squared bound over samples",
    "protocols": "what the protocol's open choices change",
    "outline": "the paper's outline of its results, each cell with a verdict",
    "claims": "each claim of the paper, yes or no",
}
_FIGURES = ("risk-curves", "no-best-lambda", "robustness")
_OTHERS = {"datasets": "dataset_table", "ccp": "ccp_starts", "protocols": "protocol_comparison"}


def load(name: str) -> Callable[[Workspace], Output]:
    """Return the function that makes a table or figure."""
    check_choice("name", name, DESCRIPTIONS)
    if name.startswith("support-"):
        return partial(import_module("pacbayes.paper.tables.support").reproduce, distance=name.removeprefix("support-"))
    folder = "figures" if name in _FIGURES else "tables"
    module = _OTHERS.get(name, name.replace("-", "_"))
    function: Callable[[Workspace], Output] = import_module(f"pacbayes.paper.{folder}.{module}").reproduce
    return function
