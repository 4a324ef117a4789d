"""Models of earlier formats: 1 and 2 stored certificates and words, 3 knew no rules beside the posterior."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pacbayes.certificates.certificate import Baseline, Certificate
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.svm.independent import IndependentMembers
from pacbayes.classifiers.svm.trained import Trained
from pacbayes.estimators.questions.asked import Asked
from pacbayes.estimators.training.prior import PRIORS

# The last with certificates and words, which are computed now, and the first with rules beside the posterior.
LAST, RULES = 2, 4
_CHOSEN = re.compile(r"classifier (\d{1,9}) \(.*, chosen among .* by (\d{1,6})-fold ", re.DOTALL)
_NUMBERS = ("bound", "lower", "delta", "m", "empirical_risk", "kl")


def from_early(fitted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Certificate]]:
    """Return attributes as they are stored now, the posterior's facts, and the certificates of the file."""
    facts = dict(fitted)
    posterior, stored = facts.pop("posterior_"), facts.pop("certificates_")
    facts.setdefault("_cross_validated", _choice(facts.pop("_hold_out")))
    words = facts.pop("_assumptions")
    given = "uniform" if facts["_uniform"] else "given"
    facts["_prior_kind"] = next((kind for kind, said in PRIORS.items() if said in words), given)
    facts.setdefault("_constant", None)
    facts.setdefault("vote_errors_", None)
    for name, value in {"group_errors": None, "test_group_errors": None, "copies": None}.items():
        facts["classifiers_"].__dict__.setdefault(name, value)
    members = facts["classifiers_"]._members
    if isinstance(members, IndependentMembers):
        facts["classifiers_"]._members = replace(members, trained=[_by_kind(one) for one in members.trained])
    return facts, {name: getattr(posterior, name) for name in ("weights", "distance", "constant")}, stored


def with_rules(fitted: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as they are stored now, of a model that had all of delta for its posterior."""
    facts = dict(fitted)
    return facts | {"_asked": Asked(), "hedge_": 1.0, "_rules": (), "_vote_errors": facts.pop("vote_errors_")}


def _by_kind(one: Trained) -> Trained:
    """Return a machine with an array of errors, by the kind of row: in format 1 they were a number."""
    return replace(one, errors=np.atleast_1d(np.asarray(one.errors)))


def _choice(baseline: Baseline) -> CrossValidation | None:
    """Return which classifier the hold-out baseline is for: it was stored in words only, and the counts were not.

    Examples
    --------
    >>> found = _choice(Baseline(0.1, 0.05, "classifier 7 (lambda = 2), chosen among all 40 by 3-fold validation"))
    >>> found.first, found.sizes
    (7, array([0, 0, 0]))
    """
    found = _CHOSEN.match(baseline.note) if baseline.bound is not None else None
    if found is None:
        return None
    sizes = np.zeros(int(found[2]), dtype=np.int64)
    return CrossValidation(np.array([int(found[1])]), sizes[None, :], sizes)


def check_agree(stored: dict[str, Certificate], computed: dict[str, Certificate]) -> None:
    """Raise unless certificates have the same numbers, up to what another version of SciPy may round."""
    same = set(stored) == set(computed) and all(_agree(stored[name], computed[name]) for name in computed)
    if not same:
        raise ValueError("it was changed after it was saved: its certificates do not follow from its errors")


def _agree(stored: Certificate, computed: Certificate) -> bool:
    exact = ("not_valid", "unit", "copies")
    return all(getattr(stored, name) == getattr(computed, name) for name in exact) and all(
        left == right or (left is not None and right is not None and math.isclose(left, right, rel_tol=1e-9))
        for name in _NUMBERS
        for left, right in [(getattr(stored, name), getattr(computed, name))]
    )
