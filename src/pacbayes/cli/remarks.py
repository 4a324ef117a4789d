"""Remarks on parameters whose best values may lie outside of their grid."""

import math
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes.report.view import ReportView

# Fraction of the values of a grid at each end, and the minimum number of values of a grid with ends.
_END, _MIN_VALUES = 0.1, 5
# Minimum weight at an end of the grid for a remark.
_MIN_WEIGHT = 0.5


def grid_remarks(view: ReportView) -> list[str]:
    """Remarks on parameters whose best values may lie outside of their grid.

    There is a remark if at least half of the weight is on the smallest or largest tenth of the values, including, on a
    path, neighbours with equal risks.  Families are considered separately.  Remarks do not affect certificates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import StochasticSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wide = ReportView.from_model(StochasticSVC([0.3, 1, 3, 10, 30, 100], hedge=1, random_state=0).fit(X, y))
    >>> print(grid_remarks(wide)[0].partition(";")[0])
    90 % of the weight is at the smallest of 6 values of lambda (0.3)
    >>> grid_remarks(ReportView.from_model(StochasticSVC([0.3, 1, 3], random_state=0).fit(X, y)))
    []
    """
    params, risks, remarks = view.classifiers.params, view.classifiers.risks, list[str]()
    candidates = [setting.get("candidate") for setting in params]
    for candidate in dict.fromkeys(candidates):
        members = [i for i, c in enumerate(candidates) if c == candidate]
        for name in params[members[0]]:
            values = [params[i].get(name) for i in members]
            if all(_is_number(value) for value in values):
                label = name.rpartition("__")[2] + ("" if candidate is None else f" of {candidate}")
                remarks += _remark_on_ends(label, np.array(values, float), view.weights[members], risks[members])
    return remarks


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _remark_on_ends(name: str, values: FloatArray, weights: FloatArray, risks: FloatArray) -> list[str]:
    distinct = np.unique(values)
    if distinct.size < _MIN_VALUES:
        return []
    tenth = max(1, int(_END * distinct.size))
    for which, ordered, beyond in (("smallest", distinct, "below"), ("largest", distinct[::-1], "above")):
        if float(weights[np.isin(values, ordered[:tenth])].sum()) >= _MIN_WEIGHT:
            end = ordered[: _size_of_end(ordered, tenth, values, risks)]
            share = 100.0 * float(weights[np.isin(values, end)].sum())
            place = f"{end[0]:.4g}" if end.size == 1 else f"{end.min():.4g} to {end.max():.4g}"
            count = which if end.size == 1 else f"{end.size} {which}"
            return [
                f"{share:.0f} % of the weight is at the {count} of {distinct.size} values of {name} "
                f"({place}); there may be better classifiers {beyond} them. Use a wider grid on new data only: the "
                "certificate does not cover a grid chosen after seeing these results."
            ]
    return []


def _size_of_end(ordered: FloatArray, size: int, values: FloatArray, risks: FloatArray) -> int:
    """Count the values at an end of the grid, including neighbours on a path with the same risk."""
    if ordered.size != values.size:
        return size
    along_path = risks[np.argsort(values)] if ordered[0] < ordered[-1] else risks[np.argsort(-values)]
    while size < ordered.size and along_path[size] == along_path[size - 1]:
        size += 1
    return size
