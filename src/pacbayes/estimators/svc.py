"""The paper's stochastic support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from pacbayes._utils.units import resolve_n_jobs
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.compatibility import python_words
from pacbayes.certificates.decisions import Abstain
from pacbayes.certificates.voting import BITS, vote_sums
from pacbayes.data.dataset import check_no_missing_labels, check_same_order
from pacbayes.data.preprocessing import ENCODE, IMPUTE_IN_PREPROCESSOR, add_remedy_to_errors
from pacbayes.data.split import SHARED
from pacbayes.ensemble.families import SVMs
from pacbayes.ensemble.members import Coding
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.recipe import PAPER_CONSTRAINTS, SHARED_CONSTRAINTS, Recipe
from pacbayes.estimators.rows import Advice
from pacbayes.svm.kernel import Gamma
from pacbayes.svm.landmarks import N_COMPONENTS

# Parameters passed on to `SVMs`, which validates them.
_SVM_PARAMETERS = ("kernel", "gamma", "n_components", "scale")
#: The default grid: 201 values, evenly spaced on a logarithmic scale.
DEFAULT_LAMBDAS = tuple(np.logspace(-2, 2, 201).tolist())
#: The grid of Sahu and Hemachandra (2019): 0.1, 0.11, ..., 19.99.
PAPER_LAMBDAS = tuple(np.round(0.1 + 0.01 * np.arange(1990), 2).tolist())

#: Parameters of `StochasticSVC.paper_settings`.
PAPER_SETTINGS: dict[str, Any] = {
    "lambdas": PAPER_LAMBDAS,
    "gamma": "sigest",
    "scale": "kernlab",
    "split": "independent",
    "validation_size": 0.5,
    "distance": "kl",
    "delta": 0.01,
    "constant": "paper",
    "hedge": 1,
    "voting": "stochastic",
    "cv": None,
}


class StochasticSVC(CertifiedModel):
    r"""Stochastic support vector classifier with an optimal PAC-Bayesian posterior.

    The training set (see `validation_size`) trains an SVM with :math:`C = 1/\lambda` for every :math:`\lambda`; the
    validation set counts their errors.  The posterior `q` over the SVMs minimises the bound

    .. math:: B(q) = f\Big(\sum_i q_i \hat l_i,\; \sum_i q_i \ln\frac{q_i}{p_i}\Big)

    over all posteriors, with a proof of optimality.  If `hedge` is below 1, cross-validation within the training set
    also fixes a primary rule for each voting.  Primary rules and posterior share `delta`, and each voting predicts with
    the rule that has the smallest bound.

    Parameters
    ----------
    lambdas : array_like of shape (H,), optional
        Regularisation parameters, by default 201 values from 0.01 to 100.  They must be fixed before the data are seen.
    kernel, gamma, n_components, scale
        As for `svm_set`; ``kernel="nystroem"`` is for tens of thousands of rows and more.  Scaling, kernel width and
        landmarks come from the training rows only.
    preprocessor : scikit-learn transformer, optional
        Preprocessor for a shared split, such as imputation or one-hot encoding, cloned and fitted on the training rows
        only.  X may then be a data frame with strings and missing values.
    split : {"shared", "independent"}
        One training and validation set for all SVMs, or a separate random split for each, as in the paper.  Splits are
        not stratified: the training set would reveal the class counts of the validation set, and the two would not be
        independent.
    validation_size : float, int or "auto"
        Fraction or number of validation rows (with groups, of groups); "auto" as for `CertifiedClassifier`.
    duplicates : {"keep", "together", "independent"}
        How to treat rows that are equal in features and class.  "keep" treats each as an independent draw; `fit` warns
        if some look copied, and rejects a user-defined split with more duplicates on both sides than chance explains.
        "independent" does the same without these checks, if you know that equal rows are independent draws.  "together"
        treats them as one example that was copied after sampling: they stay on one side of the split and count once in
        validation, and the certificate is for new distinct examples.
    prior : "uniform", "cross-validation", array_like of shape (H,), or callable
        "cross-validation", for a shared split, sets Gibbs weights of the cross-validation errors within the training
        set.  ``callable(params)`` gets a list of dicts, one for each SVM; with a shared split,
        ``callable(params, X_train, y_train)`` also gets the training rows.  Both return weights that sum to one.
    distance : str, Distance, or list of these
        One of `DISTANCES`; "catoni", for a shared split, which is `pacbayes.bounds.Catoni` with a parameter from
        cross-validation within the training set; or a distance object such as ``Catoni(0.4)``.  Several distances share
        `delta` equally, and the smallest bound is used.
    delta : float
        One minus the confidence: the certificate is wrong with at most this probability.
    constant : {"exact", "paper"}
        See `log_constant`.
    hedge : float or "auto"
        Share `h` of `delta` for choices made on the validation set: the posterior, Occam bounds of single SVMs, other
        votes.  The primary rules, which are fixed on the training set, have :math:`(1 - h)\delta`.  1, the default, is
        the posterior only, as in the paper; 0 is holdout, without `posterior_`.  "auto" is 0.02 if there is a primary
        rule, and 1 otherwise: with independent splits, where every row is a validation row of some SVM, and with
        ``cv=None``.
    metrics : tuple
        Further metrics to bound, jointly with the error rate, in ``certificate_.metrics``: names such as "error" (of
        each class and slice), "recall", "precision" and "f1" (of each class, or of `pos_label`), and `Cost` objects;
        docs/what-to-certify.md lists all.  They require a primary rule, that is a `hedge` below 1, and are not
        available if the posterior has the smallest bound.
    metrics_share : float
        Share of `delta` for the bounds on metrics, if there are any; they divide it equally.
    pos_label : label, optional
        Positive class.  Recall, precision, F1 and specificity are bounded for this class only, which tightens the
        bounds.
    max_error : float, optional
        Selective classification: maximum error rate of accepted predictions.  The classifier abstains unless it is
        confident enough (see `accepts`), and `certificate_` is for accepted predictions.  The primary rule is tested
        with all of `delta`, which requires a `hedge` below 1.
    voting : {"stochastic", "majority", "best", "soft", "auto"}
        How to predict; read by `predict`.  "stochastic" draws an SVM for each row by a keyed hash of the row, so that
        the prediction does not depend on the rest of the batch, "majority" takes a weighted majority vote, "best" uses
        a single SVM, and "soft", if `hedge` is below 1, predicts the class with the highest mean calibrated
        probability.  "auto": see `CertifiedClassifier`.
    cv : int or None
        Number of folds of the cross-validation within the training set, which fixes the primary rules and the holdout
        baseline (with ``hedge=1``, of at most 50 SVMs).  None disables both.
    n_jobs : int, optional
        Number of training threads; None for all cores.
    checkpoint : path of a directory, optional
        As for `svm_set`; predictions of the cross-validation are stored too.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of the split, of the kernel width and of the key of the draws.  None seeds each `fit` differently.

    Attributes
    ----------
    certificate_ : Certificate
        The certificate of `voting_`.
    certificates_ : dict of Certificate
        Certificates by voting; each is valid on its own, not jointly.
    hedge_ : float
        The share of `delta_` reserved for choices made on the validation set.
    primary_ : dict of ndarray of shape (H,)
        Weights of the primary rules by voting; empty if `hedge_` is 1.
    posterior_ : Posterior
        The optimal posterior at level ``hedge_ * delta_``; absent if `hedge_` is 0.  Weights of posteriors and primary
        rules are multiples of 2**-52, so that draws and votes follow them exactly.
    weights_ : ndarray of shape (H,)
        Weights of the rule that `voting` predicts with.
    prior_ : ndarray of shape (H,)
        Prior weights.
    has_uniform_prior_ : bool
        Whether the prior is the uniform default.
    delta_, distances_ : float, tuple of str
        `delta` and `distance` of the fit, for which the certificates hold.
    classifiers_ : ClassifierSet
        The SVMs with their validation predictions.
    best_index_ : int
        Index of the SVM used by ``voting="best"``.
    best_params_, best_estimator_
        Parameters of this SVM, and the SVM itself.
    cv_results_ : dict
        Results of the cross-validation within the training set, if any.
    majority_class_
        Majority class of the training rows, the baseline of every certificate.
    vote_errors_ : int or None
        Number of validation errors of the majority vote.  If the vote is that of the posterior, its certificate does
        not follow from them.  None with independent splits, which share no validation set.
    vote_risk_ : float or None
        Validation error rate of the majority vote, rounded up; with groups, the mean over groups.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    CertifiedClassifier : Certifies any classifiers, with the smaller bounds of primary rules.
    Certificate : Guaranteed bounds and their assumptions.
    svm_set : Train the SVMs without a certificate.
    optimal_posterior : Compute the posterior only.
    save : Save a fitted model.
    write_report : Write an HTML report on a fitted model.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk bounds for the majority vote: from a
       PAC-Bayesian analysis to a learning algorithm", Journal of Machine Learning Research 16, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import StochasticSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = StochasticSVC(random_state=0).fit(X, y)
    >>> print(clf.certificate_)
    With 95 % confidence, the error rate of the stochastic classifier on new examples is at most 8.7 %.
    3.0 % errors on 284 validation rows, averaged over the classifiers. Majority-class baseline (1): at most 38.8 %.
    Assumes that rows are independent (see explain()).
    >>> clf.set_params(voting="majority").predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints = (
        SHARED_CONSTRAINTS
        | PAPER_CONSTRAINTS
        | dict.fromkeys(("lambdas", *_SVM_PARAMETERS), "no_validation")
        | {
            "preprocessor": [HasMethods(["fit", "transform", "get_params"]), None],
            "max_error": [Interval(Real, 0, 1, closed="neither"), None],
        }
    )

    def __init__(
        self,
        lambdas: ArrayLike | None = None,
        *,
        kernel: str = "rbf",
        gamma: Gamma = "sigest",
        n_components: int = N_COMPONENTS,
        scale: bool | str = True,
        preprocessor: Any = None,
        split: str = "shared",
        validation_size: float | int | str = 0.5,
        duplicates: str = "keep",
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        constant: str = "exact",
        hedge: float | str = 1,
        metrics: Any = (),
        metrics_share: float = 0.2,
        pos_label: Any = None,
        max_error: float | None = None,
        voting: str = "stochastic",
        cv: int | None = 5,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ) -> None:
        self.lambdas = lambdas
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.scale = scale
        self.preprocessor = preprocessor
        self.split = split
        self.validation_size = validation_size
        self.duplicates = duplicates
        self.prior = prior
        self.distance = distance
        self.delta = delta
        self.constant = constant
        self.hedge = hedge
        self.metrics = metrics
        self.metrics_share = metrics_share
        self.pos_label = pos_label
        self.max_error = max_error
        self.voting = voting
        self.cv = cv
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    @classmethod
    def paper_settings(cls, **params: Any) -> Self:
        r"""Estimator with the settings of Sahu and Hemachandra (2019).

        1990 SVMs with :math:`\lambda` = 0.1, 0.11, ..., 19.99 and :math:`C = 1/\lambda`, an RBF kernel with the width
        of `sigest`, columns scaled like `ksvm` of kernlab does, a split into halves for each SVM, :math:`\delta` =
        0.01, the paper's constant, and the posterior alone, without primary rules or a holdout baseline.

        Parameters
        ----------
        **params
            Parameters that differ from the paper's, such as ``distance="pinsker"`` or ``split="shared"``.

        Examples
        --------
        >>> clf = StochasticSVC.paper_settings(distance="pinsker", random_state=0)
        >>> len(clf.lambdas), clf.delta, clf.split, clf.constant
        (1990, 0.01, 'independent', 'paper')
        """
        return cls(**PAPER_SETTINGS | params)

    def expected_error(self, X: Any, y: ArrayLike) -> float:
        r"""Average error rate of the stochastic classifier on labelled rows, over the draws of its SVMs.

        The paper's average test error :math:`T = \sum_i q_i \hat l_i`, in which every SVM predicts every row.
        ``1 - score(X, y)`` with ``voting="stochastic"`` is the error rate of one draw for each row, which scatters
        around this average.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)

        Returns
        -------
        float
            Computed exactly and rounded once.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = StochasticSVC(random_state=0).fit(X[:400], y[:400])
        >>> print(f"{clf.expected_error(X[400:], y[400:]):.4f} {1 - clf.score(X[400:], y[400:]):.4f}")
        0.0364 0.0237
        """
        check_is_fitted(self)
        members, parts = self._fitted.members, self._fitted.weights("stochastic")
        voters, coding = np.flatnonzero(parts), Coding(members.classes)
        with add_remedy_to_errors(X, self._advice.fill):
            preprocessed = members.preprocess(self._validate_input(X))
        check_same_order(X=X, y=y)
        y_true = np.asarray(check_no_missing_labels(y))
        votes = vote_sums(members, preprocessed, voters, parts[voters], coding)
        check_consistent_length(votes, y_true)
        # Exact sums, because Python integers do not overflow.
        right = sum(sum(map(int, votes[y_true == label, code])) for code, label in enumerate(coding.labels))
        return float(1 - Fraction(right, y_true.size << BITS))

    def _recipe(self) -> Recipe:
        params = self.get_params(deep=False)
        lambdas = params.pop("lambdas")
        svms = SVMs(
            DEFAULT_LAMBDAS if lambdas is None else lambdas, **{name: params.pop(name) for name in _SVM_PARAMETERS}
        )
        max_error = params.pop("max_error")
        return Recipe(
            candidates=[("svm", svms)],
            decision=None if max_error is None else Abstain(max_error),
            refit=False,
            numeric=self.preprocessor is None,
            **params | {"n_jobs": resolve_n_jobs(self.n_jobs)},
        )

    @staticmethod
    def _format_parameter(name: str, *value: Any) -> str:
        return python_words("max_error", value[0].max_error) if name == "decision" else python_words(name, *value)

    @property
    def _requires_numeric_input(self) -> bool:
        # Use the preprocessor of the fit, not the current parameter.
        return getattr(self._fitted.members, "preprocessor", None) is None

    @property
    def _advice(self) -> Advice:
        if self.split == SHARED:
            return Advice(IMPUTE_IN_PREPROCESSOR, ENCODE)
        return Advice(IMPUTE_IN_PREPROCESSOR.replace("(", "(split='shared', ", 1), f"Set split='shared'. {ENCODE}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The preprocessor determines which inputs are valid: missing values, strings, sparse rows.
        if hasattr(self.preprocessor, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.preprocessor).input_tags
        return tags
