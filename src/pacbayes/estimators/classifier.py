"""Any scikit-learn classifier with a grid of settings, under a posterior with a certificate."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from pacbayes.bounds.distance import Distance
from pacbayes.classifiers.classifier_set import Trained
from pacbayes.classifiers.forest_set import ForestFamily, check_bagged
from pacbayes.classifiers.grid_set import GridFamily
from pacbayes.classifiers.members import number_of_rows
from pacbayes.data.division import OUT_OF_BAG, SPLITS, DivisionChoices
from pacbayes.data.labelled import Labelled, check_rows
from pacbayes.data.labels import check_complete
from pacbayes.data.rows import check_values, pickable_rows
from pacbayes.data.unusable import ENCODE_FIRST, in_pipeline, naming_column
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.from_fitted import certify_fitted
from pacbayes.numeric.checks import narrow_labels


class StochasticClassifier(CertifiedModel):
    r"""A grid of classifiers as one classifier with a certificate.

    Where `GridSearchCV` picks one setting, this trains every setting on one part of the rows, lets cross-validation
    within that part propose how to predict, counts errors on the other part, finds the posterior `q` over the settings
    that minimises the bound

    .. math:: B(q) = f\Big(\sum_i q_i \hat l_i,\; \sum_i q_i \ln\frac{q_i}{p_i}\Big)

    and says in `certificate_` what follows for whichever has the smaller bound (see `hedge`).  Preprocessing belongs
    in the estimator, a `Pipeline`: then it is fitted on training rows alone.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        Cloned, never fitted itself; None where `param_grid` is a list of estimators.  With ``split="out-of-bag"`` a
        forest, as for `forest_set`.
    param_grid : dict, list of dicts, or list of estimators
        As for `grid_set`.  Part of the prior: fix it beforehand.  None with ``split="out-of-bag"``.
    n_iter : int, optional
        Settings to draw from `param_grid`; None for all of them.
    split : {"shared", "independent", "out-of-bag"}
        As for `StochasticSVC`; or, for a forest, no division at all: its classifiers are trained on bags of all rows,
        and each is validated by the rows that its bag left out.  ``voting="majority"`` is then the hard vote of the
        whole forest, with weights by its tandem bound; nothing is proposed (``hedge`` is 1), the prior must not depend
        on the data, and nothing is proved about other weights of the vote.  No row is lost to validation, but the bound
        is several times that of a vote fixed on training rows: docs/choosing.md has the numbers.
    validation_size, duplicates, prior, distance, delta, constant, hedge, class_share, max_error, voting
        As for `StochasticSVC`.  The rows are divided without looking at the labels.
    error_score : {"raise", "drop"}
        What to do with a classifier that cannot be fitted; see `grid_set`.
    cv : int or None
        Folds of the cross-validation within the training rows that proposes, and that the hold-out baseline rests on.
        At most 50 of the settings take part, evenly spread; a proposed vote has weights for these alone.  It takes
        about `cv` times as long as the training; None leaves it out.
    n_jobs : int, optional
        Workers of joblib's backend, as everywhere in scikit-learn.
    checkpoint : path of a directory, optional
        As for `grid_set`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For the split, the classifiers and the key of the draws.  None draws all of them anew in each `fit`.

    Attributes
    ----------
    certificate_, certificates_, posterior_, prior_, has_uniform_prior_, delta_, distances_, classifiers_
        As for `StochasticSVC`.
    hedge_, proposal_, weights_
        As for `StochasticSVC`.
    vote_errors_, vote_risk_, constant_label_
        As for `StochasticSVC`.
    best_index_, best_params_, best_estimator_, cv_results_
        As for `StochasticSVC`.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn, the latter two where the rows have features or names.

    See Also
    --------
    StochasticSVC : Support vector machines, many times faster.
    Certificate : What is guaranteed.
    grid_set : The classifiers alone.
    save : Keep a fitted model.
    write_report : A page about a fitted model.

    Notes
    -----
    With ``voting="stochastic"`` a row is hashed by its values: numbers as float64, anything else as its text.  Equal
    rows get the same classifier, in whatever container they come.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk bounds for the majority vote: from a
       PAC-Bayesian analysis to a learning algorithm", Journal of Machine Learning Research 16, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pacbayes import StochasticClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = StochasticClassifier(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4]}, random_state=0).fit(X, y)
    >>> print(clf.certificate_)
    With probability at least 95 % over the sample, the stochastic classifier with its key errs on at most
    9.0 % of new examples.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        n_iter: int | None = None,
        split: str = "shared",
        validation_size: float | int = 0.5,
        duplicates: str = "keep",
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        constant: str = "exact",
        hedge: float | str = "auto",
        class_share: float = 0.0,
        max_error: float | None = None,
        voting: str = "stochastic",
        error_score: str = "raise",
        cv: int | None = 3,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.split = split
        self.validation_size = validation_size
        self.duplicates = duplicates
        self.prior = prior
        self.distance = distance
        self.delta = delta
        self.constant = constant
        self.hedge = hedge
        self.class_share = class_share
        self.max_error = max_error
        self.voting = voting
        self.error_score = error_score
        self.cv = cv
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    _splits = (*SPLITS, OUT_OF_BAG)

    def _check_choices(self) -> None:
        if self.estimator is None and self.param_grid is None:
            raise ValueError(
                "there is nothing to train: estimator and param_grid are None, as from_fitted leaves them; give both, "
                "or call StochasticClassifier.from_fitted with fitted classifiers"
            )
        super()._check_choices()
        if self.split != OUT_OF_BAG:
            if self.param_grid is None:
                raise ValueError(
                    "param_grid must be given, a dict, a list of dicts or a list of estimators; only a forest with "
                    f"split={OUT_OF_BAG!r} needs none"
                )
            return
        check_bagged(self.estimator)
        usual = {"param_grid": None, "n_iter": None, "checkpoint": None, "duplicates": "keep", "error_score": "raise"}
        for name, value in usual.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name} must be {value!r} with split={OUT_OF_BAG!r}: the classifiers are those of one forest, "
                    f"trained on bags of all rows; got {getattr(self, name)!r}"
                )

    def _check_asked(self, groups: Any, slices: Any) -> None:
        super()._check_asked(groups, slices)
        if groups is not None and self.split == OUT_OF_BAG:
            raise ValueError(f"groups must be None with split={OUT_OF_BAG!r}: bags are drawn row by row")

    def _labelled(self, X: Any, y: Any, groups: Any, slices: Any) -> Labelled:
        X, y = pickable_rows(X), check_complete(narrow_labels(y))
        validate_data(self, X, y, skip_check_array=True)
        rows, labels = check_rows(X, y)
        if labels.size < 2:
            raise ValueError("X must hold at least two rows, got 1 sample")
        check_values(rows)
        return Labelled.checked(rows, labels, groups, slices)

    def _train(self, data: Labelled, groups: Any, seed: int) -> Trained:
        if self.split == OUT_OF_BAG:
            return ForestFamily.checked(self.estimator).train(data, n_jobs=self.n_jobs, random_state=seed)
        family = GridFamily.checked(self.estimator, self.param_grid, self.n_iter, self.error_score, self.split)
        choices = DivisionChoices(self.split, self.validation_size, groups, self.duplicates)
        return family.train(data, choices, n_jobs=self.n_jobs, random_state=seed, checkpoint=self.checkpoint)

    def _working(self, data: Labelled) -> AbstractContextManager[None]:
        return naming_column(data.rows, ENCODE_FIRST)

    @classmethod
    def from_fitted(
        cls,
        estimators: Iterable[Any],
        X_val: Any,
        y_val: ArrayLike,
        *,
        proposal: Any = None,
        groups: ArrayLike | None = None,
        duplicates: str = "keep",
        most_frequent: Any = None,
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        constant: str = "exact",
        hedge: float | str = "auto",
        class_share: float = 0.0,
        max_error: None = None,
        voting: str = "stochastic",
        random_state: Any = None,
    ) -> Self:
        """Make a fitted estimator of classifiers that were trained elsewhere, on other rows than these.

        It predicts, certifies, reports and is saved as one that was fitted here.  A clone of it has no classifiers and
        nothing to train.

        Parameters
        ----------
        estimators : iterable of fitted classifiers
            Anything with a method `predict`.  None may depend on a validation row: not through training, nor scaling,
            early stopping or the choice which are on the list.  What `copy.deepcopy` copies of them is certified,
            and stays as it is whatever is done to them later; a warning names those that it does not copy.
        X_val : array_like, sparse matrix, data frame or list of m rows
            Rows that all count errors; handed to the classifiers as they are.
        y_val : array_like of shape (m,)
            Their labels.
        proposal : int or array_like of shape (H,), optional
            What you would use without looking at these rows: the number of one classifier, or weights of a vote.  It is
            tested with most of `delta`, and its certificate is then nearly that of a hold-out.
        groups, duplicates
            Which of these rows are one draw, as for `fit`.
        most_frequent : label, optional
            The most frequent class of the training rows, for the baseline of always answering it; left out without, as
            these rows must not choose it.
        prior, distance, delta, constant, voting, random_state
            As for the estimator; neither prior nor distance can come from training rows.
        hedge : float or "auto"
            The share of `delta` kept for what these rows may show; "auto" is 0.1 with a proposal and 1 without.
        class_share : float
            As for the estimator, where there is a proposal.
        max_error : None
            Refused: from which confidence on to answer comes from training rows, which are not here.

        Returns
        -------
        StochasticClassifier
            Fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from pacbayes import StochasticClassifier
        >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.5, random_state=0)
        >>> fitted = [one.fit(X, y) for one in (GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0))]
        >>> clf = StochasticClassifier.from_fitted(fitted, X_val, y_val, proposal=0, voting="best", random_state=0)
        >>> print(clf.certificate_)
        With probability at least 95 % over the sample, the best single classifier errs on at most 9.4 % of new
        examples.
        """
        model = cls(
            None,
            None,
            cv=None,
            duplicates=duplicates,
            prior=prior,
            distance=distance,
            delta=delta,
            constant=constant,
            hedge=hedge,
            class_share=class_share,
            max_error=max_error,
            voting=voting,
            random_state=random_state,
        )
        facts = {"proposal": proposal, "groups": groups, "most_frequent": most_frequent}
        return model._take(certify_fitted(model, estimators, pickable_rows(X_val), y_val, **facts))

    def _validated(self, X: Any) -> Any:
        rows = pickable_rows(X)
        if number_of_rows(rows) == 0:
            raise ValueError("X must hold at least one row, got none")
        if hasattr(self, "n_features_in_") and np.ndim(rows) == 1:
            raise ValueError(f"X must have {self.n_features_in_} columns, got one dimension. Reshape your data.")
        validate_data(self, rows, reset=False, skip_check_array=True)
        return rows

    def _remedy(self) -> str:
        return in_pipeline(self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags
