"""A remark where most of the weight sits at an end of the grid."""

import math
from typing import Any

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.report.view import ReportView

#: The end of a grid is this share of its values, one at least; a grid of fewer values than the next has no ends.
END, FEWEST = 0.1, 5
#: What is remarked on: at least this share of the weight there.
MOST_WEIGHT = 0.5


def grid_remarks(view: ReportView) -> list[str]:
    """Return a remark for every parameter whose best values may lie beyond its grid.

    At least half of the weight is on the smallest, or largest, tenth of the values; on a path it is said with
    the neighbours that err as often.  No remark changes a certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import StochasticSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wide = ReportView.of(StochasticSVC([0.3, 1, 3, 10, 30, 100], hedge=1, random_state=0).fit(X, y))
    >>> print(grid_remarks(wide)[0].partition(";")[0])
    90 % of the posterior weight is at the smallest of 6 values of lambda (0.3)
    >>> grid_remarks(ReportView.of(StochasticSVC([0.3, 1, 3], random_state=0).fit(X, y)))
    []
    """
    params, weights, risks = view.classifiers.params, view.weights, view.classifiers.risks
    remarks = []
    for name in params[0]:
        values = [setting.get(name) for setting in params]
        if all(_is_number(value) for value in values):
            of = name.rpartition("__")[2]
            remarks += _remark(of, view.weight_name, np.array(values, dtype=np.float64), weights, risks)
    return remarks


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _remark(name: str, weight_name: str, values: FloatArray, weights: FloatArray, risks: FloatArray) -> list[str]:
    distinct = np.unique(values)
    if distinct.size < FEWEST:
        return []
    tenth = max(1, int(END * distinct.size))
    for which, ordered, beyond in (("smallest", distinct, "below"), ("largest", distinct[::-1], "above")):
        if float(weights[np.isin(values, ordered[:tenth])].sum()) >= MOST_WEIGHT:
            end = ordered[: _equal_from(ordered, tenth, values, risks)]
            share = 100.0 * float(weights[np.isin(values, end)].sum())
            place = f"{end[0]:.4g}" if end.size == 1 else f"{end.min():.4g} to {end.max():.4g}"
            count = which if end.size == 1 else f"{end.size} {which}"
            return [
                f"{share:.0f} % of the {weight_name} is at the {count} of {distinct.size} values of {name} "
                f"({place}); there may be better classifiers {beyond} them. A wider grid is for other data: one chosen "
                "after seeing this, on the same data, is not covered by the certificate."
            ]
    return []


def _equal_from(ordered: FloatArray, number: int, values: FloatArray, risks: FloatArray) -> int:
    """Return the number of values at an end, with the neighbours on a path that err as often as the last of them."""
    if ordered.size != values.size:
        return number
    along = risks[np.argsort(values)] if ordered[0] < ordered[-1] else risks[np.argsort(-values)]
    while number < ordered.size and along[number] == along[number - 1]:
        number += 1
    return number
