"""Any scikit-learn classifier with a grid of settings, under a posterior with a certificate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from pacbayes.bounds.distance import Distance
from pacbayes.classifiers.forest.bags import check_bagged
from pacbayes.classifiers.forest.forest_set import forest_set
from pacbayes.classifiers.grid.grid_set import grid_set
from pacbayes.data.copies import equal_labelled_rows
from pacbayes.data.division import OUT_OF_BAG, SPLITS, check_duplicates
from pacbayes.data.labels import check_complete
from pacbayes.data.rows import check_values, pick_rows, pickable_rows
from pacbayes.data.samples import check_rows
from pacbayes.data.unusable import ENCODE_FIRST, in_pipeline, naming_column, naming_remedy
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.estimators.from_fitted import certify_fitted
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.draws import draw_key
from pacbayes.estimators.prediction.voters import EachVoters, Voters, number_of_rows
from pacbayes.estimators.questions.asked import check_copies, check_slices
from pacbayes.estimators.training.grid_folds import GridFolds
from pacbayes.estimators.whole_fits import whole_or_not_at_all
from pacbayes.numeric.checks import narrow_labels
from pacbayes.runtime.progress import progress


class StochasticClassifier(CertifiedClassifier):
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

    @whole_or_not_at_all
    @progress("fitting", None)
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, slices: ArrayLike | None = None) -> Self:
        """Train the classifiers, find the posterior and its certificates.

        Parameters
        ----------
        X : array_like, sparse matrix, data frame or list of N rows
            Handed to the estimator as it is, rows picked.
        y : array_like of shape (N,)
            Labels of two or more classes.
        groups : array_like of shape (N,), optional
            The group of every row: a patient, a site.  Rows of a group stay on one side of the division and in one
            fold, `validation_size` is a share or number of groups, and one loss is counted for each: its share of
            errors.  The certificate is then about the mean over new groups of their error rates, not about rows.

        slices : array_like of shape (N,), optional
            With `class_share`: a value for every row (a site, a device), and the certificate has a limit for the
            rows of each beside those by class; a pandas Series gives them its name.

        Returns
        -------
        self
        """
        if self.estimator is None and self.param_grid is None:
            raise ValueError(
                "there is nothing to train: estimator and param_grid are None, as from_fitted leaves them; give both, "
                "or call StochasticClassifier.from_fitted with fitted classifiers"
            )
        self._check_choices()
        check_duplicates(self.duplicates, groups)
        if groups is not None and self.split == OUT_OF_BAG:
            raise ValueError(f"groups must be None with split={OUT_OF_BAG!r}: bags are drawn row by row")
        self._forget()
        X, y = pickable_rows(X), check_complete(narrow_labels(y))
        validate_data(self, X, y, skip_check_array=True)
        rows, labels = check_rows(X, y)
        if labels.size < 2:
            raise ValueError("X must hold at least two rows, got 1 sample")
        check_values(rows)
        parts = check_slices(slices, labels.size, self.class_share, groups, self.max_error)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if parts is not None and self.duplicates == "together":
            check_copies(parts, equal_labelled_rows(rows, codes))
        seed = self._seed()
        key = draw_key(seed)
        self._remember(rows, key)
        if self.split == OUT_OF_BAG:
            with naming_remedy(rows, self._remedy()):
                trees = forest_set(self.estimator, rows, labels, n_jobs=self.n_jobs, random_state=seed)
            return self._certify_trained_set(trees, trees.params, None, None, key, codes)
        with naming_remedy(rows, self._remedy()), naming_column(rows, ENCODE_FIRST):
            classifiers = grid_set(
                self.estimator,
                self.param_grid,
                rows,
                labels,
                n_iter=self.n_iter,
                split=self.split,
                validation_size=self.validation_size,
                groups=groups,
                duplicates=self.duplicates,
                error_score=self.error_score,
                keep_error_rows=self._keeps_error_rows(groups),
                n_jobs=self.n_jobs,
                random_state=seed,
                checkpoint=self.checkpoint,
            )
        assert classifiers.splits is not None
        train, validation = classifiers.splits(0) if self.split == "shared" else (None, None)
        if train is not None:
            folds = GridFolds(classifiers, rows, labels, codes, self.classes_, self.cv, self.n_jobs, seed)
            self._cross_validated = folds.validated(votes=self.hedge_ < 1.0)
        return self._certify_trained_set(
            classifiers,
            classifiers.params,
            None if train is None else lambda: (pick_rows(rows, train), labels[train]),
            None if validation is None else lambda: (AskedRows(pick_rows(rows, validation)), codes[validation]),
            key,
            codes,
            slices=parts,
            cross_scores=None if train is None else folds.scores,
        )

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
        certify_fitted(model, estimators, pickable_rows(X_val), y_val, **facts)
        return model

    def _validated(self, X: Any) -> AskedRows:
        rows = pickable_rows(X)
        if number_of_rows(rows) == 0:
            raise ValueError("X must hold at least one row, got none")
        if hasattr(self, "n_features_in_") and np.ndim(rows) == 1:
            raise ValueError(f"X must have {self.n_features_in_} columns, got one dimension. Reshape your data.")
        validate_data(self, rows, reset=False, skip_check_array=True)
        return AskedRows(rows)

    def _remedy(self) -> str:
        return in_pipeline(self.estimator)

    def _voters(self) -> Voters:
        return EachVoters(self.classifiers_, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags
