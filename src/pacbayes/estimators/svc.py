"""The paper's stochastic support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pacbayes.bounds.distance import Distance
from pacbayes.certificates.rules.vote_trials import VoteTrials
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation, candidates_of, cross_score, cross_validate
from pacbayes.classifiers.svm.folds import (
    folds_at_once,
    landmark_answers_in_fold,
    landmark_scores_in_fold,
    svm_answers_in_fold,
    svm_scores_in_fold,
)
from pacbayes.classifiers.svm.kernel import NYSTROEM
from pacbayes.classifiers.svm.landmarks import N_COMPONENTS
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.svm_set import svm_set
from pacbayes.data.copies import equal_labelled_rows
from pacbayes.data.division import check_duplicates
from pacbayes.data.labels import check_complete
from pacbayes.data.preparing import check_prepare
from pacbayes.data.rows import check_values, pick_rows
from pacbayes.data.samples import check_rows
from pacbayes.data.unusable import (
    ENCODE,
    ENCODE_FIRST,
    IN_PREPARE,
    check_finite,
    in_pipeline,
    naming_column,
    naming_remedy,
)
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.draws import draw_key
from pacbayes.estimators.prediction.svm_voters import SharedVoters
from pacbayes.estimators.prediction.voters import EachVoters, Voters
from pacbayes.estimators.questions.asked import CrossScores, check_copies, check_slices
from pacbayes.estimators.training.training_choices import CROSS_VALIDATION
from pacbayes.estimators.whole_fits import whole_or_not_at_all
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_not_masked, narrow_labels
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import at_most_cores, one_thread

#: The grid used where none is given: 201 values, evenly spread on the logarithmic scale.
DEFAULT_LAMBDAS = tuple(np.logspace(-2, 2, 201).tolist())


class StochasticSVC(CertifiedClassifier):
    r"""Support vector machines for many :math:`\lambda` as one classifier with a certificate.

    Half of the rows (see `validation_size`) train a machine for every :math:`\lambda`, with :math:`C = 1/\lambda`, and
    propose, by cross-validation, how to predict with them; the others count errors, of the proposals and of every
    machine.  The posterior `q` over the machines minimises the bound

    .. math:: B(q) = f\Big(\sum_i q_i \hat l_i,\; \sum_i q_i \ln\frac{q_i}{p_i}\Big)

    over all posteriors, with proof.  Proposals and posterior share `delta` (see `hedge`); of each way of predicting the
    rule with the smallest bound predicts, and `certificate_` says what follows.  There is no refit on all rows: its
    result would have no certificate.

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
    validation_size : float or int
        Fraction or number of validation rows (with groups, of groups).
    duplicates : {"keep", "together"}
        Rows equal in features and class.  "keep": each is a draw of its own, which is right where rows meet by chance.
        "together": they are one example that was copied after sampling, stay on one side of the division, and are
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
        The rest, :math:`(1 - h)\delta`, is for what the training rows propose.  1 is the posterior alone, as in the
        paper; 0 is hold-out, without `posterior_`.  "auto" is 0.1 where there is a proposal, else 1: with independent
        splits, where every row validates some machine, and with ``cv=None``.
    class_share : float
        The share of delta that is kept for limits by class, and in `slices`: ``certificate_.by_class``.  0 for none;
        0.2 is sensible.  Needs a proposal, and there are none for a posterior that wins.
    max_error : float, optional
        A target for the share of errors among answered examples: the classifier answers only where it is sure enough
        (see `answers`), and `certificate_` is about these.  It is tested for the proposal, at the whole of delta.
    voting : {"stochastic", "majority", "best"}
        How to predict; read when predicting.  "stochastic": for each row a machine drawn by a keyed hash of the row, so
        that a row's label does not depend on the rows around it.  "majority": a weighted vote.  "best": one machine.
    cv : int or None
        Folds of the cross-validation within the training rows that proposes, and that the hold-out baseline rests on
        (with ``hedge=1`` it has at most 50 of the machines); None for neither.
    n_jobs : int, optional
        Threads for training; None for all cores.
    checkpoint : path of a directory, optional
        For independent splits, as for `svm_set`.
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
    vote_errors_ : int, GroupErrors or None
        Errors of the majority vote on the validation rows; where the vote is the posterior's, its certificate is not
        computed from them.  None with independent splits, where no row validates all machines.
    vote_risk_ : float or None
        The same as a share, rounded up.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    StochasticClassifier : The same for any scikit-learn estimator.
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
    With probability at least 95 % over the sample, the stochastic classifier with its key errs on at most
    6.5 % of new examples.
    >>> clf.set_params(voting="majority").predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        lambdas: ArrayLike | None = None,
        *,
        kernel: str = "rbf",
        gamma: float | str = "sigest",
        n_components: int = N_COMPONENTS,
        scale: bool | str = True,
        prepare: Any = None,
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
        self.class_share = class_share
        self.max_error = max_error
        self.voting = voting
        self.cv = cv
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    @whole_or_not_at_all
    @progress("fitting", None)
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, slices: ArrayLike | None = None) -> Self:
        """Train the machines, find the posterior and its certificates.

        Parameters
        ----------
        X : array_like of shape (N, d)
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
        self._check_choices()
        check_duplicates(self.duplicates, groups)
        self._forget()
        rows, labels = self._checked(X, check_complete(narrow_labels(y)))
        parts = check_slices(slices, labels.size, self.class_share, groups, self.max_error)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if parts is not None and self.duplicates == "together":
            check_copies(parts, equal_labelled_rows(rows, codes))
        seed = self._seed()
        with naming_remedy(rows, self._remedy()):
            classifiers = svm_set(
                rows,
                labels,
                DEFAULT_LAMBDAS if self.lambdas is None else self.lambdas,
                kernel=self.kernel,
                gamma=self.gamma,
                n_components=self.n_components,
                scale=self.scale,
                prepare=self.prepare,
                split=self.split,
                validation_size=self.validation_size,
                groups=groups,
                duplicates=self.duplicates,
                keep_error_rows=self._keeps_error_rows(groups),
                n_jobs=self.n_jobs,
                random_state=seed,
                checkpoint=self.checkpoint,
            )
        self._cross_validated = self._cross_validate(classifiers, codes, seed)
        shared = self.split == "shared"
        assert classifiers.splits is not None
        train, validation = classifiers.splits(0) if shared else (None, None)
        # With independent splits a kernel width comes from rows that validate other machines.
        params = classifiers.params if shared else [{"lambda": setting["lambda"]} for setting in classifiers.params]
        key = draw_key(seed)
        self._remember(rows, key)
        return self._certify_trained_set(
            classifiers.without_data(),
            params,
            None if train is None else lambda: (pick_rows(rows, train), labels[train]),
            None if validation is None else lambda: (self._asked_rows(pick_rows(rows, validation)), codes[validation]),
            key,
            codes,
            slices=parts,
            cross_scores=None if train is None else self._cross_scores(classifiers, codes[train], seed),
        )

    def _cross_validate(
        self, classifiers: ClassifierSet, codes: NDArray[np.int64], seed: int
    ) -> CrossValidation | None:
        """Return what cross-validation within the training rows counted."""
        members = classifiers.members
        if not isinstance(members, SharedMembers) or self.cv is None:
            return None
        splits = members.task.splits
        train = splits(0)[0]
        with one_thread(), at_most_cores(members.task.jobs):
            on_landmarks = members.task.kernel == NYSTROEM
            in_fold = landmark_answers_in_fold if on_landmarks else svm_answers_in_fold
            answers_in_fold = in_fold(members, codes[train])
            # A path costs little more with all lambdas; a baseline alone needs no more than some of them.
            number, rng = len(classifiers), generator(seed, Purpose.FOLDS)
            every = self.hedge_ < 1.0 or (isinstance(self.prior, str) and self.prior == CROSS_VALIDATION)
            candidates = np.arange(number) if every else candidates_of(number)
            units, together = splits.units_of(train), 1 if on_landmarks else folds_at_once(train.size, self.cv)
            trials = None if self.hedge_ == 1.0 else VoteTrials(codes[train], candidates.size)
            return cross_validate(answers_in_fold, candidates, codes[train], self.cv, rng, units, together, trials)

    def _cross_scores(self, classifiers: ClassifierSet, codes: NDArray[np.int64], seed: int) -> CrossScores:
        """Return how the mean decisions of machines with some weights score the training rows in cross-validation."""
        members, folds = classifiers.members, self.cv

        def scores(weights: FloatArray) -> FloatArray:
            assert isinstance(members, SharedMembers)
            assert folds is not None
            splits = members.task.splits
            with one_thread():
                on_landmarks = members.task.kernel == NYSTROEM
                in_fold = (landmark_scores_in_fold if on_landmarks else svm_scores_in_fold)(members, codes, weights)
                units = splits.units_of(splits(0)[0])
                return cross_score(in_fold, self.classes_.size, codes, folds, generator(seed, Purpose.FOLDS), units)

        return scores

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return rows and labels: numbers, or with `prepare` rows as they are."""
        check_not_masked("X", X)
        if self.prepare is None:
            with naming_column(X, self._encode()):
                rows, labels = validate_data(
                    self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=False
                )
            check_finite(rows, X, self._remedy())
            check_classification_targets(labels)
            return rows, labels
        check_prepare(self.prepare, self.split)
        validate_data(self, X, y, skip_check_array=True)
        rows, labels = check_rows(X, y)
        check_values(rows)
        return rows, labels

    def _validated(self, X: Any) -> AskedRows:
        check_not_masked("X", X)
        if self._prepares():
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._asked_rows(X)
        with naming_column(X, self._encode()):
            rows = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        check_finite(rows, X, self._remedy())
        return AskedRows(rows)

    def _asked_rows(self, rows: Any) -> AskedRows:
        """Return rows beside what the machines take: prepared where that is needed."""
        members = self.classifiers_.members
        assert isinstance(members, SharedMembers)
        return AskedRows(rows, members.numbers(rows)) if self._prepares() else AskedRows(rows)

    def _prepares(self) -> bool:
        """Return whether rows were prepared when this was fitted, whatever `prepare` is now."""
        members = self.classifiers_.members
        return isinstance(members, SharedMembers) and members.task.prepare is not None

    def _encode(self) -> str:
        """Say where text is turned into numbers."""
        return (
            ENCODE
            if self.split == "shared"
            else ENCODE_FIRST.replace("estimator", "estimator of a StochasticClassifier")
        )

    def _remedy(self) -> str:
        return IN_PREPARE if self.split == "shared" else in_pipeline(SVC())

    def _voters(self) -> Voters:
        members = self.classifiers_.members
        if isinstance(members, SharedMembers):
            return SharedVoters(members, self.classes_.size)
        return EachVoters(self.classifiers_, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # What is prepared may be anything that the transformer takes: missing values, text, sparse rows.
        if hasattr(self.prepare, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.prepare).input_tags
        return tags
