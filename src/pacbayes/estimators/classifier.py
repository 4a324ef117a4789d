"""Classifier of any candidates, trained on one part of the rows and certified on the other."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _BaseComposition

from pacbayes.bounds.distance import Distance
from pacbayes.certificates.decisions import Abstain, Decision, PredictionSet, Threshold
from pacbayes.certificates.levels import AUTO
from pacbayes.data.preprocessing import ENCODE_FIRST, ENCODE_PREPROCESSOR, IMPUTE_IN_PREPROCESSOR, suggest_imputation
from pacbayes.data.rows import to_indexable
from pacbayes.ensemble.families import Grid, SVMs, get_input_tags, has_name, name_candidates
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.from_fitted import certify_fitted
from pacbayes.estimators.recipe import SHARED_CONSTRAINTS, Recipe
from pacbayes.estimators.rows import Advice


class CertifiedClassifier(_BaseComposition, CertifiedModel):  # type: ignore[misc]  # no types in scikit-learn
    r"""Classifier with a guaranteed upper bound on its error rate.

    The training set trains the candidates, calibrates their probabilities by cross-validation and fixes a vote; the
    validation set counts the errors of that vote.  Because the vote is fixed before validation, its bound is the
    Clopper-Pearson upper confidence bound:

    .. math:: P\big(R \le B(k, m, \delta)\big) \ge 1 - \delta

    for its true error rate `R`, after `k` errors on `m` rows.

    Parameters
    ----------
    candidates : str, estimator, family, or list of these
        "auto" for all of "svm", "forest", "boosting", "logistic" and "neighbours" that suit the size of the
        data; one of these names, or "lightgbm", "xgboost" or "catboost" where installed; any scikit-learn
        classifier; `SVMs` or `Grid` for several settings of a classifier; or a list with one family per item.
        In a list of (name, candidate) pairs, `set_params` reaches the candidates.  The list must be fixed
        before the data are seen.
    preprocessor : "auto", None or scikit-learn transformer
        Preprocessor of the built-in families (named ones and `SVMs`), cloned and fitted on training rows only.  "auto"
        imputes medians and encodes dates, categories and text if X is a data frame with other columns than integers.
        Your estimators and grids get the rows as passed to `fit`.
    voting : {"auto", "soft", "majority", "best", "stochastic"}
        How to predict; read by `predict`.  "soft" predicts the class with the highest mean calibrated probability,
        "majority" takes a weighted majority vote, "best" uses a single classifier, and "stochastic" draws a classifier
        for each row by a keyed hash of the row.  "auto" (see `voting_`) is "soft" if cross-validation provides scores,
        "best" for `from_fitted`, and "stochastic" otherwise.
    delta : float
        One minus the confidence: the certificate is wrong with at most this probability.
    validation_size : "auto", float or int
        Fraction or number of validation rows (with groups, of groups).  "auto" is half of up to 1000 rows, and a
        decreasing fraction of more: :math:`\min(1/2, (1000/n)^{0.18}/2)`.
    duplicates, prior, distance, metrics, metrics_share
        As for `StochasticSVC`.
    decision : Abstain, Threshold, PredictionSet or None
        Decision rule that is certified instead of the overall error rate, with all of `delta`.
        ``Abstain(max_error=0.02)`` accepts only confident predictions, at most 2 % of which are wrong (see `accepts`).
        ``Threshold(recall=0.9)``, or a bound on precision or false alarms, is for a soft vote between two classes:
        `predict` returns `pos_label` if its probability is at least a threshold for which the requirements hold.
        ``PredictionSet(coverage=0.9)`` adds sets of classes, of which at least 90 % contain the true class (see
        `predict_set`).
    pos_label : label, optional
        Positive class of a `Threshold`, by default the second class; for metrics, as for `StochasticSVC`.
    hedge : float or "auto"
        Share of `delta` for choices made on the validation set: single classifiers, the posterior, other votes.  The
        primary rules, which are fixed on the training set, have the rest.  "auto" is 0.02 if there is a primary rule,
        and 1 otherwise.  A soft vote has no alternatives and uses all of `delta` unless the hedge is 1; with a
        `Threshold` or a `PredictionSet`, the hedge is 0.
    refit : bool
        Train again on all rows after certification.  `predict` uses the refitted vote if its highest mean probability
        leads by more than 0.2, and the certified vote otherwise.  The certificate then bounds the rate of predictions
        that are wrong and `covered`, which means that the certified vote agrees with them.
    cv : int, "auto" or None
        Number of folds of the cross-validation within the training set, which calibrates probabilities and fixes the
        primary rules.  "auto" is 5 up to 3000 training rows and 3 up to 20 000; beyond, one part of at least 4000
        training rows is held out instead.  At most 50 evenly spaced settings of a grid take part.  None disables both.
    time_limit : float, optional
        Seconds.  Families are trained one by one while time is left, the most promising first; the first one is trained
        in any case.  The result depends on the speed of the computer and cannot be reproduced.  Without a limit, the
        expected time and memory of training that will take more than ten seconds are printed.
    n_jobs : int, optional
        Number of workers of joblib's backend, as in scikit-learn.  If all families are built-in, workers are threads
        and None means all cores.
    checkpoint : path of a directory, optional
        Directory of finished classifiers, including those of folds: repeating an interrupted call resumes from it.  All
        but SVMs are stored as pickles, see `grid_set`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of the split, of the classifiers and of the key of the draws.  None seeds each `fit` differently.

    Attributes
    ----------
    certificate_, certificates_
        The certificate of `voting_`, and all certificates by voting.
    voting_ : str
        The voting that `voting` resolves to.
    posterior_, prior_, has_uniform_prior_, delta_, distances_, classifiers_
        As for `StochasticSVC`.
    hedge_, primary_, weights_
        As for `StochasticSVC`.
    vote_errors_, vote_risk_, majority_class_
        As for `StochasticSVC`.
    best_index_, best_params_, best_estimator_, cv_results_
        As for `StochasticSVC`.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn, the latter two if the rows have features or feature names.

    See Also
    --------
    SVMs : Support vector machines with several kernel widths, as candidates.
    Abstain : Selective classification with a bound on the error rate of accepted predictions.
    Threshold : Decision threshold with bounds on recall, precision or the false-alarm rate.
    PredictionSet : Prediction sets with a certified coverage.
    Grid : All settings of a parameter grid, as candidates.
    StochasticSVC : The paper's stochastic support vector machine.
    Certificate : Guaranteed bounds and their assumptions.
    save : Save a fitted model.
    write_report : Write an HTML report on a fitted model.

    Notes
    -----
    The prediction for a row depends on that row only.  Probabilities are rounded to multiples of :math:`2^{-20}` and
    added in a fixed order, because the last bits of other libraries' results may depend on the rest of the batch.  With
    ``voting="stochastic"`` a row is hashed by its values: numbers as float64, anything else as a string.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
       methods", Advances in Large Margin Classifiers, 1999.
    .. [2] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import CertifiedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = CertifiedClassifier("svm", random_state=0).fit(X, y)
    >>> print(clf.certificate_)
    With 95 % confidence, the error rate of this classifier on new examples is at most 5.1 %.
    8 errors on 284 validation rows. Majority-class baseline (1): at most 38.8 %.
    Assumes that rows are independent (see explain()).
    >>> clf.predict_proba(X[:1]).round(2)
    array([[0.95, 0.05]])
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "candidates": "no_validation",
        "preprocessor": [HasMethods(["fit", "transform", "get_params"]), StrOptions({AUTO}), None],
        "decision": [Abstain, Threshold, PredictionSet, None],
        "refit": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        candidates: Any = "auto",
        *,
        preprocessor: Any = "auto",
        voting: str = "auto",
        delta: float = 0.05,
        validation_size: float | int | str = "auto",
        duplicates: str = "keep",
        hedge: float | str = "auto",
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        metrics: Any = (),
        metrics_share: float = 0.2,
        decision: Decision | None = None,
        pos_label: Any = None,
        refit: bool = False,
        cv: int | str | None = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.preprocessor = preprocessor
        self.voting = voting
        self.delta = delta
        self.validation_size = validation_size
        self.duplicates = duplicates
        self.hedge = hedge
        self.prior = prior
        self.distance = distance
        self.metrics = metrics
        self.metrics_share = metrics_share
        self.decision = decision
        self.pos_label = pos_label
        self.refit = refit
        self.cv = cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters, those of named candidates as ``name__parameter``."""
        named = self._has_named_candidates()
        params: dict[str, Any] = self._get_params("candidates", deep=deep) if named else super().get_params(deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of named candidates."""
        if "candidates" in params:
            self.candidates = params.pop("candidates")
        if self._has_named_candidates():
            self._set_params("candidates", **params)
        else:
            super().set_params(**params)
        return self

    def _has_named_candidates(self) -> bool:
        """Whether all candidates are (name, candidate) pairs, as scikit-learn's compositions require."""
        return isinstance(self.candidates, list) and len(self.candidates) > 0 and all(map(has_name, self.candidates))

    def _recipe(self) -> Recipe:
        if isinstance(self.candidates, list):
            self._validate_names([candidate[0] for candidate in self.candidates if has_name(candidate)])
        return Recipe(**super().get_params(deep=False))

    @classmethod
    def from_fitted(
        cls,
        estimators: Any,
        X_val: Any,
        y_val: ArrayLike,
        *,
        primary: Any = None,
        groups: ArrayLike | None = None,
        duplicates: str = "keep",
        most_frequent: Any = None,
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        hedge: float | str = "auto",
        metrics: Any = (),
        metrics_share: float = 0.2,
        pos_label: Any = None,
        decision: PredictionSet | None = None,
        voting: str = "auto",
        random_state: Any = None,
    ) -> Self:
        """Certify prefit classifiers on a validation set.

        The result is a fitted estimator.  Its clones are unfitted and have no candidates to train.

        Parameters
        ----------
        estimators : fitted classifier, or iterable of fitted classifiers
            Anything with a `predict` method.  A single classifier gets a Clopper-Pearson bound.  The classifiers must
            not depend on the validation set: not through training, scaling, early stopping or model selection.  They
            are copied with `copy.deepcopy`, so that later changes do not affect the certified model; a warning names
            those that cannot be copied.
        X_val : array_like, sparse matrix, data frame or list of m rows
            Validation set, passed to the classifiers unchanged.
        y_val : array_like of shape (m,)
            Labels of the validation set.
        primary : int or array_like of shape (H,), optional
            Primary rule, fixed before validation: the index of a classifier, or the weights of a vote.  It is tested
            with most of `delta`, so that its bound is close to a holdout bound.
        groups, duplicates
            Groups of the validation rows, and how to treat equal rows, as for `fit`.
        most_frequent : label, optional
            Majority class of the training rows, for the majority-class baseline.  There is no baseline without it,
            because it must not be determined on the validation set.
        prior, distance, delta, voting, random_state
            As for the estimator, but prior and distance cannot use training rows.
        hedge : float or "auto"
            Share of `delta` for choices made on the validation set.  "auto" is 0.02 with a primary rule, 1 without, and
            0 for a single classifier, which is its own primary rule.
        metrics, metrics_share, pos_label
            As for the estimator; they require a primary rule.
        decision : PredictionSet or None
            Prediction sets from the probabilities of classifiers with `predict_proba`: of the primary one, or their
            mean, weighted by `primary`.  `predict` returns the most probable class.  Other decisions are not supported:
            their thresholds are chosen on training rows, which are not available.

        Returns
        -------
        CertifiedClassifier
            Fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from pacbayes import CertifiedClassifier
        >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.5, random_state=0)
        >>> fitted = [GaussianNB().fit(X, y), DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)]
        >>> clf = CertifiedClassifier.from_fitted(fitted, X_val, y_val, primary=0, voting="best", random_state=0)
        >>> print(clf.certificate_)
        With 95 % confidence, the error rate of the best single classifier on new examples is at most 9.3 %.
        18 errors on 285 validation rows.
        Assumes that rows are independent (see explain()).
        """
        model = cls(
            None,
            preprocessor=None,
            cv=None,
            duplicates=duplicates,
            prior=prior,
            distance=distance,
            delta=delta,
            hedge=hedge,
            metrics=metrics,
            metrics_share=metrics_share,
            pos_label=pos_label,
            decision=decision,
            voting=voting,
            random_state=random_state,
        )
        options = {"primary": primary, "groups": groups, "most_frequent": most_frequent}
        return model._set_fitted(certify_fitted(model, estimators, to_indexable(X_val), y_val, **options))

    # -- advice and tags ---------------------------------------------------------------------------------------------

    def _user_estimators(self) -> list[Any]:
        """Estimators that get the rows unchanged; [None] if they are prefit."""
        if self.candidates is None:
            return [None]
        candidates = [c for _, c in name_candidates(self.candidates) if not isinstance(c, str | SVMs)]
        return [getattr(c, "estimator", c) if isinstance(c, Grid) else c for c in candidates]

    @property
    def _advice(self) -> Advice:
        user_estimators = self._user_estimators()
        if user_estimators:
            return Advice(suggest_imputation(user_estimators[0]), ENCODE_FIRST)
        return Advice(IMPUTE_IN_PREPROCESSOR.replace("StochasticSVC", "CertifiedClassifier"), ENCODE_PREPROCESSOR)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.candidates is not None:
            tags.input_tags = get_input_tags(self.candidates, self.preprocessor)
        return tags
