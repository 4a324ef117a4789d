"""Expected time and memory of training, from the number of rows, columns and classes.

The constants were set by hand, from times on the open data sets of `benchmarks/bench_large.py`; data on which boosting
stops early, or trees are small, take less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from pacbayes._utils.memory import format_bytes
from pacbayes._utils.progress import print_notice
from pacbayes.ensemble.candidates import GridFamily
from pacbayes.ensemble.portfolio import Size
from pacbayes.ensemble.svm_pilot import LANDMARKS, exceeds_row_limit, has_exact_kernels
from pacbayes.ensemble.svm_set import SvmFamily

# Shorter work is not announced.
_LONG_SECONDS = 10.0
# Iterations after which boosting with early stopping usually stops, times the learning rate.
_STEPS = 12.0


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time, and bytes."""

    seconds: float
    size: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.size + other.size)


def estimate_cost(family: SvmFamily | GridFamily, size: Size, refits: float) -> Cost:
    """Estimate the cost of a family that is trained, and cross-validated at `refits` times the cost; 0 if unknown.

    Examples
    --------
    >>> from pacbayes.ensemble.portfolio import make_named_family
    >>> size = Size(100_000, 10)
    >>> boosting = GridFamily("boosting", None, make_named_family("boosting", None, size))
    >>> 1.0 < estimate_cost(boosting, size, 1.0).seconds < 1000.0
    True
    """
    if isinstance(family, SvmFamily):
        return _svm_cost(family, size, refits)
    if family.estimator is not None or not isinstance(family.param_grid, list):
        return Cost(0.0, 0.0)
    models = [model.steps[-1][1] if isinstance(model, Pipeline) else model for model in family.param_grid]
    costs = [
        _COST_FUNCTIONS[type(model).__name__](model, size)
        for model in models
        if type(model).__name__ in _COST_FUNCTIONS
    ]
    rows = 8.0 * size.rows * size.columns
    total = sum((Cost(cost.seconds * (1.0 + refits), cost.size) for cost in costs), Cost(0.0, 0.0))
    return Cost(total.seconds, total.size + 2.0 * rows) if costs else total


def estimate_total_cost(families: Sequence[SvmFamily | GridFamily], size: Size, refits: float, jobs: int) -> Cost:
    """Estimate the seconds with `jobs` workers, and the bytes."""
    total = sum((estimate_cost(family, size, refits) for family in families), Cost(0.0, 0.0))
    return Cost(total.seconds / jobs, total.size)


def announce_cost(families: Sequence[SvmFamily | GridFamily], size: Size, refits: float, jobs: int) -> None:
    """Print the expected time and memory of long training, on stderr."""
    cost = estimate_total_cost(families, size, refits, jobs)
    if cost.seconds > _LONG_SECONDS:
        long = f"{cost.seconds / 60:.0f} minutes" if cost.seconds > 100 else f"{cost.seconds:.0f} seconds"
        number = f"{size.rows} rows, {size.columns} columns and {size.classes} classes"
        print_notice(f"training on {number} will take about {long} and {format_bytes(int(cost.size))} of memory")


def _boosting_cost(model: Any, size: Size) -> Cost:
    iterations = model.max_iter if not model.early_stopping else min(model.max_iter, _STEPS / model.learning_rate)
    trees = iterations * (1 if size.classes == 2 else size.classes)
    leaves, columns = model.max_leaf_nodes / 31.0, min(size.columns, 500)
    per_tree = 1e-3 * leaves**0.6 * (1.0 + columns / 20.0) / 1.5 + 5e-9 * leaves**0.4 * size.rows * columns
    return Cost(trees * per_tree, float(size.rows * columns + 100 * trees * model.max_leaf_nodes))


def _make_forest_cost(per_step: float) -> Callable[[Any, Size], Cost]:
    def cost(model: Any, size: Size) -> Cost:
        rows = min(size.rows, model.max_samples or size.rows)
        steps = model.n_estimators * rows * math.log2(rows + 1) * math.sqrt(size.columns)
        # A leaf for every few rows; a node has about 60 bytes and the shares of the classes.
        return Cost(per_step * steps, 0.3 * model.n_estimators * rows * (60.0 + 8.0 * size.classes))

    return cost


def _logistic_cost(model: Any, size: Size) -> Cost:
    return Cost(2e-7 * size.rows * size.columns * (1 if size.classes == 2 else size.classes), 0.0)


def _neighbours_cost(model: Any, size: Size) -> Cost:
    # Queries of out-of-fold rows, in a tree that helps little in many dimensions.
    queries = min(size.rows, 20_000)
    per_query = 2e-8 * min(size.columns, 500) * size.rows ** min(1.0, 0.4 + 0.03 * size.columns)
    return Cost(0.5 * queries * per_query, 8.0 * size.rows * size.columns)


_COST_FUNCTIONS: dict[str, Callable[[Any, Size], Cost]] = {
    "HistGradientBoostingClassifier": _boosting_cost,
    "RandomForestClassifier": _make_forest_cost(4e-8),
    "ExtraTreesClassifier": _make_forest_cost(2e-8),
    "LogisticRegression": _logistic_cost,
    "KNeighborsClassifier": _neighbours_cost,
}


def _svm_cost(family: SvmFamily, size: Size, refits: float) -> Cost:
    pairs = size.classes * (size.classes - 1) / 2.0
    if family.subsample:
        if family.optional and exceeds_row_limit(size.rows, size.classes):
            return Cost(0.0, 0.0)
        # Three widths and seven costs in three folds of 2000 rows; then four SVMs for each pair, or two on landmarks.
        if has_exact_kernels(size.rows, size.classes):
            svms, memory = 3.2e-10 * (size.rows * 2.0 / size.classes) ** 2.6 * pairs, 10.0 * size.rows**2
        else:
            svms, memory = 1e-4 * size.rows * (size.classes - 1), 16.0 * size.rows * LANDMARKS
        return Cost(3.0 + 0.003 * pairs + (1.0 + refits) * (svms + 3e-4 * pairs), memory)
    products = family.n_svms / 130.0 * 2.5e-9 * size.rows**2.6
    return Cost(products * (1.0 + 0.6 * refits), 10.0 * size.rows**2)
