"""Forests and bags of rows for any classifier: what they must be like so that out-of-bag rows validate, and growing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes.classifiers.candidates import Candidates
from pacbayes.data.rows import pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches
from pacbayes.numeric.arrays import Labels
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import one_thread
from pacbayes.runtime.units import run_units

Bits = NDArray[np.uint8]
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


@dataclass(frozen=True, eq=False)
class Grown:
    """The fitted classifiers of a forest, with the rows in the bag of each."""

    estimators: list[Any]
    #: Packed bits, shape (H, ceil(N / 8)).
    bags: Bits
    #: The rows drawn for each bag.
    draws: int


def check_bagged(forest: Any) -> None:
    """Raise unless a forest draws bags of rows without looking at labels, and leaves some out.

    Examples
    --------
    >>> check_bagged(ExtraTreesClassifier())
    Traceback (most recent call last):
    ValueError: forest must have bootstrap=True, so that each tree leaves rows out; got ExtraTreesClassifier()
    """
    # Subclasses may draw as they like: imbalanced-learn's forests look at the labels.
    if type(forest) not in (*FORESTS, BaggingClassifier):
        raise TypeError(
            "forest must be a RandomForestClassifier, an ExtraTreesClassifier or a BaggingClassifier itself, no "
            f"subclass and no pipeline around it, got {type(forest).__name__}; what prepares rows belongs inside: "
            "BaggingClassifier(make_pipeline(...))"
        )
    if forest.warm_start:
        raise ValueError("forest must have warm_start=False: classifiers of an earlier fit may have seen other rows")
    if type(forest) is BaggingClassifier:
        if forest.max_features != 1.0 or forest.bootstrap_features:
            raise ValueError(
                "forest must give every classifier all columns (max_features=1.0, bootstrap_features=False), got "
                f"max_features={forest.max_features!r}, bootstrap_features={forest.bootstrap_features!r}"
            )
        return
    if not forest.bootstrap:
        raise ValueError(f"forest must have bootstrap=True, so that each tree leaves rows out; got {forest!r}")
    if forest.class_weight is not None:
        raise ValueError(
            f"forest must have class_weight=None, got {forest.class_weight!r}: weights of classes let labels decide "
            "which rows are drawn, and out-of-bag rows are then no fair sample"
        )


def _packed_bag(rows: NDArray[Any], n_rows: int) -> Bits:
    """Return which of so many rows were drawn at least once, packed."""
    inside = np.zeros(n_rows, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)


def fit_forest(forest: Any, X: Any, y: Labels, n_jobs: int | None, seed: int) -> Grown:
    """Grow the trees of scikit-learn's own forests on all rows.

    A forest hands every tree all rows, with the number of times each was drawn as its weight.  A tree looks at rows of
    positive weight only: rows and labels out of its bag may be replaced by anything, and it stays the same to the last
    bit (tests/classifiers/test_forest_set.py does that, for every version of scikit-learn it runs with).
    """
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
    bags = np.stack([_packed_bag(rows, n) for rows in drawn])
    return Grown([_on_labels(tree, grown) for tree in grown.estimators_], bags, len(drawn[0]))


def _on_labels(tree: Any, grown: Any) -> Any:
    """Return a tree that says labels as the user has them: inside a forest it says their numbers."""
    tree.classes_ = grown.classes_
    if hasattr(grown, "feature_names_in_"):
        tree.feature_names_in_ = grown.feature_names_in_
    return tree


@dataclass(frozen=True)
class BaggingTask:
    """Rows, unfitted classifiers, and how bags are drawn: what belongs to the i-th depends on the seed and i only."""

    candidates: Candidates
    X: Any
    y: Labels
    draws: int
    replace: bool
    seed: int

    def drawn(self, i: int) -> NDArray[np.int64]:
        """Return the rows of the i-th bag, sorted, as often as they were drawn."""
        rows = generator(self.seed, Purpose.BAGS, i).choice(self.y.size, self.draws, replace=self.replace)
        return np.sort(rows).astype(np.int64)


def fit_bagging(bagging: Any, X: Any, y: Labels, n_jobs: int | None, seed: int) -> Grown:
    """Train the classifiers, each on the rows of its bag; it has never seen the others."""
    base = DecisionTreeClassifier() if bagging.estimator is None else bagging.estimator
    seed = seed if bagging.random_state is None else int(generator(bagging.random_state, Purpose.BAGS).integers(2**63))
    candidates = Candidates(None, [{"estimator": base}] * bagging.n_estimators, seed)
    task = BaggingTask(candidates, X, y, _draws(bagging, y.size), bool(bagging.bootstrap), seed)
    jobs = bagging.n_jobs if n_jobs is None else n_jobs
    found = run_units(_fit_one, task, len(candidates), "classifiers of the forest", jobs)
    estimators = [one for one, _ in found]
    some = pick_rows(X, few_rows(y))
    warn_of_batches(estimators, lambda i: some)
    return Grown(estimators, np.stack([bag for _, bag in found]), task.draws)


def _draws(bagging: Any, n: int) -> int:
    """Return how many rows a bag draws, or raise where it cannot leave any out."""
    size = bagging.max_samples
    draws = n if size is None else int(size) if isinstance(size, int | np.integer) else max(int(size * n), 1)
    if draws < 1 or (not bagging.bootstrap and draws >= n):
        raise ValueError(
            f"forest must leave rows out of every bag: with bootstrap={bagging.bootstrap}, max_samples={size!r} draws "
            f"{draws} of {n} rows"
        )
    return draws


def _fit_one(task: BaggingTask, i: int) -> tuple[Any, Bits]:
    """Train the i-th classifier on its bag; return it with the bag."""
    rows, one = task.drawn(i), task.candidates[i]
    with one_thread():
        try:
            one.fit(pick_rows(task.X, rows), task.y[rows])
        except MemoryError:
            raise
        except Exception as error:  # whatever somebody's classifier raises goes on, with a note
            error.add_note(
                f"This is classifier {i} of the forest. Its bag is not drawn again: bags that depend on labels would "
                "make the out-of-bag rows no fair sample."
            )
            raise
    return one, _packed_bag(rows, task.y.size)
