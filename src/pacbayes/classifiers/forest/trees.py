"""scikit-learn's own forests: all trees grown by their `fit`, errors counted on the rows that each left out.

A forest hands every tree all rows, with the number of times each was drawn as its weight.  A tree looks at rows of
positive weight only: rows and labels out of its bag may be replaced by anything, and it stays the same to the last bit
(tests/classifiers/forest/test_trees.py does that, for every version of scikit-learn it runs with).
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from pacbayes.classifiers.forest.bags import Grown, packed_bag, packed_wrong, rows_outside
from pacbayes.classifiers.wrong_rows import wrong_rows
from pacbayes.data.rows import pick_rows
from pacbayes.numeric.arrays import Labels
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator


def fit_forest(forest: Any, X: Any, y: Labels, n_jobs: int | None, seed: int) -> Grown:
    """Grow the trees on all rows and count their errors out of the bag."""
    grown = clone(forest)
    settings: dict[str, Any] = {"oob_score": False}
    if grown.random_state is None:
        settings["random_state"] = int(generator(seed, Purpose.GROWING).integers(2**31 - 1))
    if n_jobs is not None:
        settings["n_jobs"] = n_jobs
    n = y.size
    with progress("growing the forest", None):
        grown.set_params(**settings).fit(X, y)
    drawn = grown.estimators_samples_
    bags = np.stack([packed_bag(rows, n) for rows in drawn])
    wrong = np.empty_like(bags)
    trees = [_on_labels(tree, grown) for tree in grown.estimators_]
    with progress("counting out-of-bag errors", len(trees)) as advance:
        for i, tree in enumerate(trees):
            outside = rows_outside(bags[i], n)
            errors = np.zeros(0, dtype=bool)
            if outside.size:
                errors = wrong_rows(tree, pick_rows(X, outside), y[outside], f"tree {i}.predict")
            wrong[i] = packed_wrong(errors, outside, n)
            advance(1)
    return Grown(trees, bags, wrong, len(drawn[0]))


def _on_labels(tree: Any, grown: Any) -> Any:
    """Return a tree that says labels as the user has them: inside a forest it says their numbers."""
    tree.classes_ = grown.classes_
    if hasattr(grown, "feature_names_in_"):
        tree.feature_names_in_ = grown.feature_names_in_
    return tree
