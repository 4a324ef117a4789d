"""Bags of rows for any classifier: each is trained on the rows of its bag and has never seen the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from pacbayes.classifiers.forest.bags import Grown, packed_bag, packed_wrong, rows_outside
from pacbayes.classifiers.grid.candidates import Candidates
from pacbayes.classifiers.packed_errors import Bits
from pacbayes.classifiers.wrong_rows import wrong_rows
from pacbayes.data.rows import pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches
from pacbayes.numeric.arrays import Labels
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import one_thread
from pacbayes.runtime.units import run_units


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
    """Train the classifiers, each on its bag, and count their errors out of it."""
    base = DecisionTreeClassifier() if bagging.estimator is None else bagging.estimator
    seed = seed if bagging.random_state is None else int(generator(bagging.random_state, Purpose.BAGS).integers(2**63))
    candidates = Candidates(None, [{"estimator": base}] * bagging.n_estimators, seed)
    task = BaggingTask(candidates, X, y, _draws(bagging, y.size), bool(bagging.bootstrap), seed)
    jobs = bagging.n_jobs if n_jobs is None else n_jobs
    found = run_units(_fit_one, task, len(candidates), "classifiers of the forest", jobs)
    estimators = [one for one, _, _ in found]
    some = pick_rows(X, few_rows(y))
    warn_of_batches(estimators, lambda i: some)
    return Grown(estimators, np.stack([bag for _, bag, _ in found]), np.stack([out for _, _, out in found]), task.draws)


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


def _fit_one(task: BaggingTask, i: int) -> tuple[Any, Bits, Bits]:
    """Train the i-th classifier on its bag; return it with the bag and its errors out of it."""
    rows, n = task.drawn(i), task.y.size
    bag = packed_bag(rows, n)
    outside = rows_outside(bag, n)
    one = task.candidates[i]
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
        errors = np.zeros(0, dtype=bool)
        if outside.size:
            errors = wrong_rows(one, pick_rows(task.X, outside), task.y[outside], f"classifier {i}.predict")
    return one, bag, packed_wrong(errors, outside, n)
