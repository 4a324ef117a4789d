"""The classifiers of a forest that is trained on all rows, each with its answers to its out-of-bag rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array

from pacbayes.classifiers.candidates import Candidates
from pacbayes.classifiers.classifier_set import ClassifierSet, Trained
from pacbayes.classifiers.evidence import check_evidence_fits
from pacbayes.classifiers.members import Estimators
from pacbayes.data.division import out_of_bag_division
from pacbayes.data.labelled import Labelled, check_rows, check_same_order, check_training_labels
from pacbayes.data.preparing import check_trained_here
from pacbayes.data.rows import pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches
from pacbayes.numeric.arrays import FloatArray, Labels
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator, seed_of
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


def leaves_rows_out(forest: Any) -> bool:
    """Return whether a classifier is a forest of scikit-learn's own whose trees leave rows out."""
    return type(forest) in FORESTS and bool(forest.bootstrap) and not forest.warm_start


def fit_out_of_bag(forest: Any, X: Any, y: Labels, arguments: dict[str, Any]) -> FloatArray:
    """Fit a forest; return its probabilities of the training rows by the trees that did not see them, (n, classes).

    NaN for a row that no tree left out.  The forest is left as its own `fit` would leave it.
    """
    asked = forest.oob_score
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        with np.errstate(invalid="ignore"):
            forest.set_params(oob_score=True).fit(X, y, **arguments)
    found = np.asarray(forest.oob_decision_function_, dtype=np.float64)
    # Where no tree left a row out older versions say zero for all classes.
    found = np.where(found.sum(axis=1, keepdims=True) > 0.0, found, np.nan)
    forest.set_params(oob_score=asked)
    if not asked:
        del forest.oob_score_, forest.oob_decision_function_
    return found


def _packed_bag(rows: NDArray[Any], n_rows: int) -> Bits:
    """Return which of so many rows were drawn at least once, packed."""
    inside = np.zeros(n_rows, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)


def fit_forest(forest: Any, X: Any, y: Labels, n_jobs: int | None, seed: int) -> Grown:
    """Grow the trees of scikit-learn's own forests on all rows.

    A forest hands every tree all rows, with the number of times each was drawn as its weight.  A tree looks at rows of
    positive weight only: rows and labels out of its bag may be replaced by anything, and it stays the same to the last
    bit (tests/classifiers/test_trees.py does that, for every version of scikit-learn it runs with).
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
    trees = _without_gaps_outside(grown, X, y) if isinstance(grown, ExtraTreesClassifier) else grown.estimators_
    return Grown([_on_labels(tree, grown) for tree in trees], bags, len(drawn[0]))


def _without_gaps_outside(grown: Any, X: Any, y: Labels) -> list[Any]:
    """Return extra trees, grown anew where a column has gaps out of the bag and none in it.

    Older versions of scikit-learn ask all rows whether a column has gaps, and extra trees draw other random numbers
    then.  Grown with the rows out of its bag set to zero, a tree cannot know; in versions without that fault it is the
    same tree.
    """
    trees = list(grown.estimators_)
    if issparse(X):  # a forest takes no gaps there
        return trees
    rows = check_array(X, dtype=np.float32, ensure_all_finite="allow-nan")
    gaps = np.isnan(rows)
    for i, drawn in enumerate(grown.estimators_samples_):
        times = np.bincount(drawn, minlength=y.size)
        inside = times > 0
        if (gaps.any(axis=0) & ~gaps[inside].any(axis=0)).any():
            seen = np.where(inside[:, np.newaxis], rows, np.float32(0.0))
            trees[i] = clone(trees[i]).fit(seen, np.searchsorted(grown.classes_, y), sample_weight=times)
    return trees


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


def forest_set(
    forest: Any, X: Any, y: ArrayLike, *, n_jobs: int | None = None, random_state: Any = None
) -> ClassifierSet:
    r"""Train a forest on all rows and count the errors of each of its classifiers on its out-of-bag rows.

    Each classifier is trained on a bag of rows, drawn at random without a look at rows or labels, and measured on the
    :math:`m_i` rows that its bag left out.  So no row is lost to validation: what the bounds say is about the vote of
    the forest that has seen them all.  It is the hard vote, in which every classifier has one vote (or the weight it is
    given); ``forest.predict`` averages probabilities and is not covered.

    Parameters
    ----------
    forest : RandomForestClassifier, ExtraTreesClassifier with ``bootstrap=True``, or BaggingClassifier
        Cloned, never fitted itself; exactly of these classes.  The trees of the first two are those that the clone's
        ``fit`` grows.  Each classifier of a `BaggingClassifier` is trained on the rows of its bag and no others:
        scikit-learn's own ``fit`` hands all rows, with weights, to estimators that take weights, and a scaling or a
        binning would see the out-of-bag rows.  Preprocessing belongs inside of it: ``BaggingClassifier(pipeline)``.
        ``class_weight`` must be None: weights of classes make labels decide which rows are drawn.
    X : array_like, sparse matrix or data frame of N rows
        Handed to the classifiers as it is, rows picked.
    y : array_like of shape (N,)
        Labels of two or more classes.
    n_jobs : int, optional
        Workers; None for what the forest says.  The result is the same for any number.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For bags and classifiers, where the forest has ``random_state=None``; an integer there stays.

    Returns
    -------
    ClassifierSet
        With `error_rows` and `validated_rows` for `vote_bound` and `optimal_vote`; columns are all rows.  `m` is the
        least number of out-of-bag rows of a classifier, `m_each` has that of each, which `risks` are shares of.

    See Also
    --------
    vote_bound : The bound of the forest's hard vote, or of one with other weights.
    optimal_vote : Weights with a small bound.
    CertifiedClassifier : With ``split="out-of-bag"``: the set, its posterior and its certificates in one.

    Notes
    -----
    That the bounds hold, although every row trains some classifiers and validates others, is proved in
    docs/mathematics.md (equation (own-rows)).  They need the rows to be independent draws.

    References
    ----------
    .. [1] L. Breiman, "Out-of-bag estimation", technical report, University of California, Berkeley, 1996.
    .. [2] S. S. Lorenzen, C. Igel and Y. Seldin, "On PAC-Bayesian bounds for random forests", Machine Learning 108,
       2019.
    .. [3] A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second order PAC-Bayesian bounds for the weighted majority
       vote", NeurIPS, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from pacbayes import forest_set, vote_bound
    >>> X, y = load_digits(return_X_y=True)
    >>> trees = forest_set(RandomForestClassifier(50), X, y % 2, random_state=0)
    >>> uniform = np.full(len(trees), 1 / len(trees))
    >>> bound = vote_bound(uniform, trees.error_rows, len(y), validated=trees.validated_rows)
    >>> len(trees), bool(600 < trees.m < 700), bool(bound < 0.5)
    (50, True, True)
    """
    family = ForestFamily.checked(forest)
    check_same_order(X=X, y=y)
    data = Labelled.checked(*check_rows(X, y))
    return family.train(data, n_jobs=n_jobs, random_state=random_state).as_set(data, n_jobs)


@dataclass(frozen=True, eq=False)
class ForestFamily:
    """The classifiers of a forest, each trained on a bag of all rows."""

    forest: Any

    @classmethod
    def checked(cls, forest: Any) -> ForestFamily:
        """Raise before any work unless the bags of a forest leave rows out without a look at labels."""
        check_bagged(forest)
        check_trained_here("forest", forest)
        return cls(forest)

    def train(self, data: Labelled, *, n_jobs: int | None, random_state: Any) -> Trained:
        """Train the forest; its bags, drawn while it grows, are the division."""
        check_training_labels(data)
        number = self.forest.n_estimators
        check_evidence_fits(number, data.number)
        seed = seed_of(random_state)
        fit = fit_forest if isinstance(self.forest, FORESTS) else fit_bagging
        grown = fit(self.forest, data.rows, data.labels, n_jobs, seed)
        inside = np.bitwise_count(grown.bags).sum(axis=1, dtype=np.int64)
        if inside.max() == data.number:
            raise ValueError(
                f"every classifier needs an out-of-bag row, but the bag of classifier {int(inside.argmax())} holds all "
                f"{data.number} rows: give more rows, or fewer draws (max_samples)"
            )
        division = out_of_bag_division(grown.bags, data.number, grown.draws, seed)
        members = Estimators(grown.estimators, [{"number": i} for i in range(number)], data.classes)
        return Trained(members, data.count_copies(division, number))
