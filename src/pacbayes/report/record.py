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
    caption = (
        f"Parameters of {type(view.model).__name__}: those behind the certificate as they were fitted, others as set"
    )
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
    fixed = {
        "split": plan.division.kind,
        "duplicates": "together" if plan.division.unit == DISTINCT else "keep",
        "prior": "uniform" if plan.prior is None else plan.prior,
        "distance": plan.distance[0] if len(plan.distance) == 1 else list(plan.distance),
        "delta": plan.delta,
        "constant": plan.constant,
        "hedge": plan.hedge,
        "limits": tuple(question.cost or question.name for question in plan.limits),
        "limits_share": plan.limits_share,
        "pos_label": plan.positive,
        "target": plan.target,
        "max_error": getattr(plan.target, "max_error", None),
        "refit": plan.refit is not None,
        "cv": None if plan.cross_validation is None else int(plan.cross_validation.sizes.size),
    }
    shown = copy(model)
    for name in fixed.keys() & vars(model).keys():
        setattr(shown, name, fixed[name])
    return shown


def data_table(view: ReportView) -> TextTable:
    """Return what is known about the rows, with their fingerprint if they were given."""
    model, classifiers = view.model, view.classifiers
    splits = classifiers.splits
    assert splits is not None
    counted = PLURAL[splits.unit]
    for_each = "" if view.is_shared else " for each classifier, drawn for it alone"
    refit = (
        f" (of the certified classifier; the refit: all {splits.n_train + splits.m})" if view.certificate.refit else ""
    )
    rows = [
        ("rows", str(splits.n_rows)),
        (f"training {counted}", "not here" if splits.trained_elsewhere else f"{splits.n_train}{for_each}{refit}"),
        (f"validation {counted} m", f"{splits.m}{for_each}"),
        (_COPIES, "not known" if classifiers.copies is None else str(classifiers.copies)),
        ("classes", _classes(view)),
    ]
    if hasattr(model, "n_features_in_"):
        rows.append(("columns", str(model.n_features_in_)))
    if hasattr(model, "feature_names_in_"):
        rows.append(("names of columns", format_names(model.feature_names_in_.tolist())))
    rows.append(("classifiers", str(len(classifiers))))
    if classifiers.dropped:
        rows.append(("classifiers left out because they could not be trained", str(len(classifiers.dropped))))
    if classifiers.converged is not None:
        unfinished = int(np.count_nonzero(~classifiers.converged))
        rows.append(("support vector machines that did not converge", str(unfinished)))
    given = "not given; write_report(..., data=(X, y)) adds it"
    X, y = (None, None) if view.data is None else view.data
    rows.append(("SHA-256 of the rows", given if X is None else fingerprint(X)))
    rows.append(("SHA-256 of the labels", given if y is None else fingerprint(y)))
    rows.append(("SHA-256 of validation errors and weights", _result_fingerprint(view)))
    caption = "Data. Fingerprints depend on values, types and memory layout (pacbayes._utils.values)."
    return TextTable(caption, ("what", "value"), rows)


def _result_fingerprint(view: ReportView) -> str:
    """Return the fingerprint of what a second run has to find again."""
    return fingerprint([view.classifiers.counted.errors, view.weights])


def _classes(view: ReportView) -> str:
    classes = view.model.classes_
    if view.data is None:
        return format_names(classes.tolist())
    _, counts = np.unique(view.data[1], return_counts=True)
    return format_names(classes.tolist(), [f" ({count} rows)" for count in counts.tolist()])


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


def version_table(now: datetime | None = None) -> TextTable:
    """Return versions and date."""
    rows = [
        *versions().items(),
        ("written", (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")),
    ]
    return TextTable("Versions of the software that wrote this page", ("what", "version"), rows)


def grid_remarks(view: ReportView) -> list[str]:
    """Return a remark for every parameter whose best values may lie beyond its grid.

    At least half of the weight is on the smallest, or largest, tenth of the values; on a path it is said with
    the neighbours that err as often.  Each family has its own grid.  No remark changes a certificate.

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
    remarks: list[str] = []
    families = [one.get("candidate") for one in view.classifiers.params]
    for family in dict.fromkeys(families):
        own = [i for i, other in enumerate(families) if other == family]
        weights, risks = view.weights[own], view.classifiers.risks[own]
        for name in view.classifiers.params[own[0]]:
            values = [view.classifiers.params[i].get(name) for i in own]
            if all(_is_number(value) for value in values):
                of = name.rpartition("__")[2] + ("" if family is None else f" of {family}")
                remarks += _remark_on_ends(of, np.array(values, dtype=np.float64), weights, risks)
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
