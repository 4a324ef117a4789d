"""The paper's stochastic support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from pacbayes._utils.units import jobs_of
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.compatibility import python_words
from pacbayes.certificates.decisions import Abstain
from pacbayes.data.division import SHARED
from pacbayes.data.preprocessing import ENCODE, IN_PREPARE
from pacbayes.ensemble.families import SVMs
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.recipe import PAPER_CONSTRAINTS, SHARED_CONSTRAINTS, Recipe
from pacbayes.estimators.rows import Advice
from pacbayes.svm.kernel import Gamma
from pacbayes.svm.landmarks import N_COMPONENTS

# The parameters that are those of `SVMs`; their values are checked there.
_OF_MACHINES = ("kernel", "gamma", "n_components", "scale")
#: The grid used where none is given: 201 values, evenly spread on the logarithmic scale.
DEFAULT_LAMBDAS = tuple(np.logspace(-2, 2, 201).tolist())


class StochasticSVC(CertifiedModel):
    r"""Support vector machines for many :math:`\lambda` as one classifier with a certificate.

    Half of the rows (see `validation_size`) train a machine for every :math:`\lambda`, with :math:`C = 1/\lambda`; the
    others count the errors of each.  The posterior `q` over the machines minimises the bound

    .. math:: B(q) = f\Big(\sum_i q_i \hat l_i,\; \sum_i q_i \ln\frac{q_i}{p_i}\Big)

    over all posteriors, with proof, and `certificate_` says what follows.  With a `hedge` below 1 the training rows
    propose, by cross-validation, how to predict with the machines; proposals and posterior share `delta`, and of each
    way of predicting the rule with the smallest bound predicts.

    Parameters
    ----------
    lambdas : array_like of shape (H,), optional
        Regularisation parameters; by default 201 values from 0.01 to 100.  Part of the prior: fix them beforehand.
    kernel, gamma, n_components, scale
        As for `svm_set`; ``kernel="nystroem"`` is for tens of thousands of rows and more.  Scaling, kernel width and
        landmarks come from the training rows alone.
    prepare : scikit-learn transformer, optional
        For a shared split: what turns the rows into numbers (imputation, one-hot columns), cloned and fitted on the
        training rows alone.  X may then be a data frame with text and missing values.
    split : {"shared", "independent"}
        One training and validation sample for all machines, or for each its own (the paper's).  The rows are divided
        without looking at the labels: in a stratified split the training rows would tell the class counts of the
        validation rows, and the two would not be independent.
    validation_size : float, int or "auto"
        Fraction or number of validation rows (with groups, of groups); "auto" as for `CertifiedClassifier`.
    duplicates : {"keep", "together", "independent"}
        Equal rows.  "keep": each is a draw of its own; `fit` warns where rows equal in features and class look copied,
        and refuses a division of your own with more equal rows on both sides than chance explains.  "independent": the
        same without these checks, for equal rows that you know to be separate draws.  "together": rows equal in
        features and class are one example that was copied after sampling, stay on one side of the division, and are
        validated once; the certificate is then about new originals.
    prior : "uniform", "cross-validation", array_like of shape (H,), or callable
        "cross-validation", for a shared split: Gibbs weights of the errors in cross-validation within the training
        rows.  ``callable(params)`` gets a list of dicts, one for each machine; with a shared split
        ``callable(params, X_train, y_train)`` also the training rows.  Both return weights that sum to one.
    distance : str, Distance, or list of these
        One of `DISTANCES`, "catoni" (`pacbayes.bounds.Catoni` with a parameter from cross-validation within the
        training rows, for a shared split), or a distance itself, such as ``Catoni(0.4)``.  Of several, `delta` is
        divided among them and the smallest bound is used.
    delta : float
        The certificate fails with at most this probability.
    constant : {"exact", "paper"}
        See `log_constant`.
    hedge : float or "auto"
        The share of `delta` kept for what the validation rows may show: the posterior, Occam's choice, other votes.
        The rest, :math:`(1 - h)\delta`, is for what the training rows propose.  1, the default, is the posterior alone,
        as in the paper; 0 is hold-out, without `posterior_`.  "auto" is 0.02 where there is a proposal, else 1: with
        independent splits, where every row validates some machine, and with ``cv=None``.
    limits : tuple
        Other risks that limits are wanted of, at once with the bound: ``certificate_.limits``.  Names such as "error"
        (of every class, and in `slices`), "recall", "precision" and "f1" (of every class, or of `pos_label`), and
        `Cost`; docs/what-to-certify.md lists all.  They need a proposal, that is a `hedge` below 1, and there are none
        for a posterior that wins.
    limits_share : float
        The share of delta that limits have, where some are asked for; each of them has an equal part.
    pos_label : label, optional
        The only class whose recall, precision, F1 and specificity are wanted: its limits are tighter then.
    max_error : float, optional
        A target for the share of errors among answered examples: the classifier answers only where it is sure enough
        (see `answers`), and `certificate_` is about these.  It is tested for the proposal, at the whole of delta, and
        needs a `hedge` below 1.
    voting : {"stochastic", "majority", "best", "soft", "auto"}
        How to predict; read when predicting.  "stochastic": for each row a machine drawn by a keyed hash of the row, so
        that a row's label does not depend on the rows around it.  "majority": a weighted vote.  "best": one machine.
        "soft", where `hedge` is below 1: a vote by mean calibrated probabilities.  "auto": see `CertifiedClassifier`.
    cv : int or None
        Folds of the cross-validation within the training rows that proposes, and that the hold-out baseline rests on
        (with ``hedge=1`` it has at most 50 of the machines); None for neither.
    n_jobs : int, optional
        Threads for training; None for all cores.
    checkpoint : path of a directory, optional
        As for `svm_set`; predictions in cross-validation are kept too.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For the split, the kernel width and the key of the draws.  None draws all of them anew in each `fit`.

    Attributes
    ----------
    certificate_ : Certificate
        For the chosen `voting`.
    certificates_ : dict of Certificate
        By voting.  Each holds alone.
    hedge_ : float
        The share of `delta_` that was kept for what the validation rows may show.
    proposal_ : dict of ndarray of shape (H,)
        By voting, the weights that the training rows proposed; empty where `hedge_` is 1.
    posterior_ : Posterior
        The best one at level ``hedge_ * delta_``; there is none where `hedge_` is 0.  Weights, here and in proposals,
        are multiples of 2**-52, so that draws and votes follow them exactly.
    weights_ : ndarray of shape (H,)
        With which `voting` predicts: of the rule that its certificate is for.
    prior_ : ndarray of shape (H,)
    has_uniform_prior_ : bool
        Whether it is the uniform one.
    delta_, distances_ : float, tuple of str
        `delta` and `distance` as they were when fitted, which the certificates are for.
    classifiers_ : ClassifierSet
    best_index_ : int
        The machine used by ``voting="best"``.
    best_params_, best_estimator_
        Its parameters and the machine itself.
    cv_results_ : dict
        Of the cross-validation within the training rows, where there was one.
    constant_label_
        The class most frequent among the training rows, which every certificate is compared with.
    vote_errors_ : int or None
        Validation rows that the majority vote gets wrong; where the vote is the posterior's, its certificate is not
        computed from them.  None with independent splits, where no row validates all machines.
    vote_risk_ : float or None
        Its share of errors, rounded up; with groups the mean over these.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    CertifiedClassifier : Any classifiers, and the smaller bounds of what the training rows propose.
    Certificate : What is guaranteed.
    svm_set : The machines alone.
    optimal_posterior : The posterior alone.
    save : Keep a fitted model.
    write_report : A page about a fitted model.

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
    With probability at least 95 %, the stochastic classifier errs on at most 8.7 % of new examples.
    Its classifiers erred on 3.0 % of 284 validation rows, on average.
    Majority class of the training rows (1): error rate at most 38.8 %.
    explain() says what this rests on.
    >>> clf.set_params(voting="majority").predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints = (
        SHARED_CONSTRAINTS
        | PAPER_CONSTRAINTS
        | dict.fromkeys(("lambdas", *_OF_MACHINES), "no_validation")
        | {
            "prepare": [HasMethods(["fit", "transform", "get_params"]), None],
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
        prepare: Any = None,
        split: str = "shared",
        validation_size: float | int | str = 0.5,
        duplicates: str = "keep",
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        constant: str = "exact",
        hedge: float | str = 1,
        limits: Any = (),
        limits_share: float = 0.2,
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
        self.prepare = prepare
        self.split = split
        self.validation_size = validation_size
        self.duplicates = duplicates
        self.prior = prior
        self.distance = distance
        self.delta = delta
        self.constant = constant
        self.hedge = hedge
        self.limits = limits
        self.limits_share = limits_share
        self.pos_label = pos_label
        self.max_error = max_error
        self.voting = voting
        self.cv = cv
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        params = self.get_params(deep=False)
        lambdas = params.pop("lambdas")
        machines = SVMs(
            DEFAULT_LAMBDAS if lambdas is None else lambdas, **{name: params.pop(name) for name in _OF_MACHINES}
        )
        max_error = params.pop("max_error")
        return Recipe(
            candidates=[("svm", machines)],
            target=None if max_error is None else Abstain(max_error),
            refit=False,
            numeric=self.prepare is None,
            **params | {"n_jobs": jobs_of(self.n_jobs)},
        )

    @staticmethod
    def _words(name: str, *value: Any) -> str:
        return python_words("max_error", value[0].max_error) if name == "target" else python_words(name, *value)

    @property
    def _takes_numbers(self) -> bool:
        # Whether rows were prepared when this was fitted, whatever `prepare` is now.
        return getattr(self._fitted.members, "prepare", None) is None

    @property
    def _advice(self) -> Advice:
        if self.split == SHARED:
            return Advice(IN_PREPARE, ENCODE)
        return Advice(IN_PREPARE.replace("(", "(split='shared', ", 1), f"Set split='shared'. {ENCODE}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # What is prepared may be anything that the transformer takes: missing values, text, sparse rows.
        if hasattr(self.prepare, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.prepare).input_tags
        return tags
