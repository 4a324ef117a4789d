"""Everything needed to do it again, parameters, versions and fingerprints, and whether the grid was wide enough."""

import math
import platform
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import pacbayes
from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL, cut, format_value
from pacbayes.data.division import DISTINCT
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# Longer names, and names beyond these many, are cut.
_LONGEST_NAME, _MOST_NAMES = 400, 200
_COPIES = "validation rows that equal a training row in features and class"
# The end of a grid is this share of its values, one at least; a grid of fewer values than the next has no ends.
_END, _FEWEST = 0.1, 5
# What is remarked on: at least this share of the weight there.
_MOST_WEIGHT = 0.5


def parameter_table(view: ReportView) -> TextTable:
    """Table of the parameters, as they were fitted where the certificate follows from them."""
    rows = [(name, format_value(value)) for name, value in as_fitted(view.model).get_params(deep=False).items()]
    kind = type(view.model).__name__
    caption = f"Parameters of {kind}: those behind the certificate as they were fitted, others as set"
    return TextTable(caption, ("parameter", "value"), rows)


def as_fitted(model: CertifiedModel) -> CertifiedModel:
    """Copy a model with the parameters from which its certificate follows: others may be set, or in its file, since.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> as_fitted(clf.set_params(delta=0.5)).delta
    0.05
    """
    plan = model._fitted.plan
    fixed = {name: getattr(plan, name) for name in ("delta", "constant", "hedge", "limits_share", "target")} | {
        "split": plan.division.kind,
        "duplicates": "together" if plan.division.unit == DISTINCT else "keep",
        "prior": "uniform" if plan.prior is None else plan.prior,
        "distance": plan.distance[0] if len(plan.distance) == 1 else list(plan.distance),
        "limits": tuple(question.cost or question.name for question in plan.limits),
        "pos_label": plan.positive,
        "max_error": getattr(plan.target, "max_error", None),
        "refit": plan.refit is not None,
        "cv": None if plan.cross_validation is None else int(plan.cross_validation.sizes.size),
    }
    shown = copy(model)
    for name in fixed.keys() & vars(model).keys():
        setattr(shown, name, fixed[name])
    return shown


def data_table(view: ReportView) -> TextTable:
    """Table of the rows and classifiers, with the fingerprints of rows that were handed in."""
    model, classifiers, division = view.model, view.classifiers, view.plan.division
    counted = PLURAL[division.unit]
    for_each = "" if division.kind == "shared" else " for each classifier, drawn for it alone"
    all_rows = f" (of the certified classifier; the refit: all {division.n_train + division.m})"
    trained = f"{division.n_train}{for_each}{all_rows if view.certificate.refit else ''}"
    notes, hashes = [""] * len(model.classes_), ["not given; write_report(..., data=(X, y)) adds it"] * 2
    if view.data is not None:
        counts = np.unique(view.data[1], return_counts=True)[1]
        notes, hashes = [f" ({count} rows)" for count in counts], [fingerprint(part) for part in view.data]
    names, converged = getattr(model, "feature_names_in_", None), classifiers.converged
    rows = {
        "rows": division.n_rows,
        f"training {counted}": "not here" if division.trained_elsewhere else trained,
        f"validation {counted} m": f"{division.m}{for_each}",
        _COPIES: "not known" if classifiers.copies is None else classifiers.copies,
        "classes": format_names(model.classes_.tolist(), notes),
        "columns": getattr(model, "n_features_in_", None),
        "names of columns": None if names is None else format_names(names.tolist()),
        "classifiers": len(classifiers),
        "classifiers left out because they could not be trained": len(classifiers.dropped) or None,
        "support vector machines that did not converge": None if converged is None else np.count_nonzero(~converged),
        "SHA-256 of the rows": hashes[0],
        "SHA-256 of the labels": hashes[1],
        # What a second run has to find again.
        "SHA-256 of validation errors and weights": fingerprint([classifiers.counted.errors, view.weights]),
    }
    caption = "Data. Fingerprints depend on values, types and memory layout (pacbayes._utils.values)."
    cells = [(name, str(value)) for name, value in rows.items() if value is not None]
    return TextTable(caption, ("what", "value"), cells)


def format_names(names: Sequence[Any], notes: Sequence[str] = ()) -> str:
    """Return names from the data in a list of bearable length, each with its note.

    Examples
    --------
    >>> format_names(["a", "b" * 500], [" (3 rows)", " (4 rows)"])[:20], format_names(range(1000))[-26:]
    ('a (3 rows), bbbbbbbb', '198, 199, … and 800 others')
    """
    shown = [cut(str(name), _LONGEST_NAME) for name in names[:_MOST_NAMES]]
    listed = [name + note for name, note in zip(shown, notes or [""] * len(shown), strict=False)]
    return ", ".join(listed) + (f", … and {len(names) - len(shown)} others" if len(shown) < len(names) else "")


def versions() -> dict[str, str]:
    """Return the versions of everything that may change a result, and the kind of machine.

    Examples
    --------
    >>> list(versions())
    ['pacbayes', 'Python', 'numpy', 'scipy', 'scikit-learn', 'numba', 'machine']
    """
    return {
        "pacbayes": pacbayes.__version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def version_table() -> TextTable:
    """Return versions and date."""
    rows = [*versions().items(), ("written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))]
    return TextTable("Versions of the software that wrote this page", ("what", "version"), rows)


def grid_remarks(view: ReportView) -> list[str]:
    """Return a remark for every parameter whose best values may lie beyond its grid.

    At least half of the weight is on the smallest, or largest, tenth of the values; on a path it is said with
    the neighbours that err as often.  Each family has a grid of its own.  No remark changes a certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import StochasticSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wide = ReportView.of(StochasticSVC([0.3, 1, 3, 10, 30, 100], hedge=1, random_state=0).fit(X, y))
    >>> print(grid_remarks(wide)[0].partition(";")[0])
    90 % of the weight is at the smallest of 6 values of lambda (0.3)
    >>> grid_remarks(ReportView.of(StochasticSVC([0.3, 1, 3], random_state=0).fit(X, y)))
    []
    """
    params, risks, remarks = view.classifiers.params, view.classifiers.risks, list[str]()
    families = [one.get("candidate") for one in params]
    for family in dict.fromkeys(families):
        members = [i for i, other in enumerate(families) if other == family]
        for name in params[members[0]]:
            values = [params[i].get(name) for i in members]
            if all(_is_number(value) for value in values):
                of = name.rpartition("__")[2] + ("" if family is None else f" of {family}")
                remarks += _remark_on_ends(of, np.array(values, float), view.weights[members], risks[members])
    return remarks


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _remark_on_ends(name: str, values: FloatArray, weights: FloatArray, risks: FloatArray) -> list[str]:
    distinct = np.unique(values)
    if distinct.size < _FEWEST:
        return []
    tenth = max(1, int(_END * distinct.size))
    for which, ordered, beyond in (("smallest", distinct, "below"), ("largest", distinct[::-1], "above")):
        if float(weights[np.isin(values, ordered[:tenth])].sum()) >= _MOST_WEIGHT:
            end = ordered[: _size_of_end(ordered, tenth, values, risks)]
            share = 100.0 * float(weights[np.isin(values, end)].sum())
            place = f"{end[0]:.4g}" if end.size == 1 else f"{end.min():.4g} to {end.max():.4g}"
            count = which if end.size == 1 else f"{end.size} {which}"
            return [
                f"{share:.0f} % of the weight is at the {count} of {distinct.size} values of {name} "
                f"({place}); there may be better classifiers {beyond} them. A wider grid is for other data: one chosen "
                "after seeing this, on the same data, is not covered by the certificate."
            ]
    return []


def _size_of_end(ordered: FloatArray, number: int, values: FloatArray, risks: FloatArray) -> int:
    """Return the number of values at an end, with the neighbours on a path that err as often as the last of them."""
    if ordered.size != values.size:
        return number
    along = risks[np.argsort(values)] if ordered[0] < ordered[-1] else risks[np.argsort(-values)]
    while number < ordered.size and along[number] == along[number - 1]:
        number += 1
    return number
