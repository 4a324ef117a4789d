"""What `pacbayes certify` says beside its tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.certify import POSTERIOR
from pacbayes.certificates.rules.rule import PROPOSAL
from pacbayes.certificates.units import PLURAL
from pacbayes.classifiers.params import format_params
from pacbayes.data.reading import listed
from pacbayes.report.view import ReportView


def role(view: ReportView) -> str:
    """Say who answers, and what the certificate rests on, in one sentence."""
    classifiers, distance, tried = view.classifiers, view.posterior.distance, len(view.chosen_among)
    how = f"distance {distance}" if tried == 1 else f"the best of {tried} distances, {distance}"
    if view.certificate.rule == PROPOSAL:
        how = f"as {view.proposed}"
    elif view.certificate.rule != POSTERIOR:
        how = f"{view.certificate.rule}, of several rules the one with the smallest bound"
    counted = PLURAL[classifiers.unit].replace("rows", "examples")
    how += f", delta {view.delta:g}; {classifiers.m} validation {counted}"
    number = len(classifiers)
    if number == 1:
        return f"There is a single classifier ({how})."
    if view.only_classifier is not None:
        params = format_params(classifiers.params[view.only_classifier])
        return f"One of {number} classifiers gives all the answers, number {view.only_classifier}: {params} ({how})."
    if view.voting == "majority":
        return f"All {number} classifiers vote on every new example, with the {view.weight_name}s below ({how})."
    return f"For every new example one of {number} classifiers is drawn, with the {view.weight_name}s below ({how})."


def unknown_classes(labels: NDArray[Any], view: ReportView) -> list[str]:
    """Return what to say of test examples whose class no classifier can know."""
    unknown = ~np.isin(labels, view.model.classes_)
    if not unknown.any():
        return []
    names = sorted({str(label) for label in labels[unknown].tolist()})
    return [
        f"{np.count_nonzero(unknown)} of {len(labels)} test examples have a class that the data lacks "
        f"({listed(names, 5)}): each counts as an error."
    ]


def no_class(said: NDArray[Any], classes: NDArray[Any], name: str) -> tuple[int, list[str]]:
    """Return how many predictions are no class, and what to say of them.

    Examples
    --------
    >>> no_class(np.array(["a", "x", "x"], dtype=object), np.array(["a", "b"], dtype=object), "old")
    (2, ["2 of 3 predictions of 'old' are no class of the target ('x'): they count as errors."])
    """
    known = set(classes.tolist())
    others = [text for text in said.tolist() if text not in known]
    shown = listed(sorted(set(others)), 5)
    line = f"{len(others)} of {said.size} predictions of {name!r} are no class of the target ({shown})"
    return len(others), [f"{line}: they count as errors."] if others else []
