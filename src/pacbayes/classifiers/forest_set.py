"""The classifiers of a forest that is trained on all rows, each with its answers to its out-of-bag rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.classifiers.bags import FORESTS, check_bagged, fit_bagging, fit_forest
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.evidence import check_evidence_fits
from pacbayes.classifiers.members import Estimators
from pacbayes.classifiers.trained import Trained
from pacbayes.data.division import out_of_bag_division
from pacbayes.data.labelled import Labelled, check_rows, check_two_classes
from pacbayes.data.preparing import check_trained_here
from pacbayes.runtime.seeds import seed_of


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
    StochasticClassifier : With ``split="out-of-bag"``: the set, its posterior and its certificates in one.

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
        check_two_classes(data)
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
